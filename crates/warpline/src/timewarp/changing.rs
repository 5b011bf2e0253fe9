//! The change from one way to save states to another, in the middle of a run (`--saving auto`).
//!
//! A worker that [finds](super::choosing) sparse copies much cheaper says so in its next report,
//! and every worker of the run changes to them when it adopts the outcome of that round.
//!
//! Called by [`new_gvt`](super::new_gvt) once per round, and for the report.
//!
//! # Invariants
//!
//! - **CHOICE-A.** When a worker changes, nothing that it has handled will be undone: it has undone
//!   all that can be. So no record is saved in one way and restored in the other. LPs that leave it
//!   in the same round leave before it changes, and have no such record either; their new worker
//!   may have changed before, or will when it adopts that round.

use warpline_core::{LogicalProcess, Model};
use warpline_memory::enter_platform;

use super::{
    choosing::{Counts, WORD},
    gvt::{Bound, Outcome},
    history::NONE,
    worker::TimeWarpWorker,
};
use crate::{StateSaving, handling};

/// Note of a report: sparse copies would be much cheaper for this worker.
const SPARSE: u64 = 1 << 5;

impl<M: Model> TimeWarpWorker<'_, M> {
    /// At a new GVT: looks at what saving takes.
    pub(super) fn look_at_saving(&mut self) {
        let is_by_field = M::Lp::SAVING.is_by_field();
        if !is_by_field && const { !handling::copies_much::<M>() } {
            return;
        }
        let Some(choice) = self.log.saving.choice.as_mut().filter(|choice| choice.measures) else {
            return;
        };
        let now = Counts {
            events: self.statistics.processed,
            rollbacks: self.statistics.rollbacks(),
            words: self.sender.undo_log.back(),
            handling: self.optional.meter.handling(),
        };
        let (history, lps) = (&self.log.history, &self.lps);
        let recent = (history.front()..history.back()).rev().filter(|&at| !history[at].undone);
        let states = recent.filter_map(|at| lps.get(history[at].event.lp().index()));
        let time = || {
            let _platform = self.shared.memory.is_some().then(enter_platform);
            handling::time_copies(states.map(|lp| &lp.state))
        };
        choice.look(is_by_field, now, time);
    }

    /// What this worker says of it in its report.
    pub(super) fn note_of_saving(&self) -> u64 {
        let wants = self.log.saving.choice.as_ref().is_some_and(|choice| choice.wants_sparse);
        if wants { SPARSE } else { 0 }
    }

    /// Whether this worker is to change to sparse copies. If so, it undoes all that can be undone;
    /// the event that GVT has reached cannot (CHOICE-A).
    pub(super) fn prepares_to_change(&mut self, outcome: Outcome) -> bool {
        let changes = self.log.saving.choice.is_some() && outcome.notes & SPARSE != 0;
        if changes {
            self.roll_back_all(self.clock.gvt.next());
        }
        changes
    }

    /// From here on copies are sparse.
    pub(super) fn change_to_sparse_copies(&mut self) {
        let (history, gvt) = (&mut self.log.history, self.clock.gvt);
        for at in history.front()..history.back() {
            let record = &mut history[at];
            debug_assert!(
                record.undone || Bound(record.event.key.words()) <= gvt,
                "CHOICE-A: {:?} may be undone",
                record.event
            );
            record.next = NONE;
        }
        let log = &mut self.sender.undo_log;
        log.drop_before(log.back());
        self.log.saving.become_sparse(self.lps.len());
        self.optional.is_plain = false;
        self.flow.keep_more();
    }

    /// How this worker has saved states, and what that has cost, for the report; if it was to find
    /// that out.
    pub(super) fn remark_on_saving(&self) -> Option<String> {
        if self.shared.settings.engine.saving != StateSaving::Auto {
            return None;
        }
        let events = self.statistics.processed.max(1) as f64;
        if self.log.saving.is_sparse() {
            let (copied, coasted) = (self.log.saving.copied as f64, self.log.saving.coasted as f64);
            let tuning = self.log.saving.tuning.as_ref()?;
            let [copy, coast] = [&tuning.copy, &tuning.coast].map(|mean| 1e9 * mean.seconds());
            return Some(format!(
                "a copy of a state took {copy:.0} ns, so copies were sparse from some GVT on, and \
                 events handled again where a copy was missing: {:.2} copies and {:.3} such \
                 events for each event, {:.0} ns in all (--saving copy copies before each event)",
                copied / events,
                coasted / events,
                (copied * copy + coasted * coast) / events
            ));
        }
        let choice = self.log.saving.choice.as_ref()?;
        if M::Lp::SAVING.is_by_field() {
            let words = self.sender.undo_log.back() as f64 / events;
            let about = 1e9 * WORD * words;
            return (words >= 1.0).then(|| {
                format!("the undo log took {words:.1} words for each event, about {about:.0} ns")
            });
        }
        (choice.tuning.copy.samples() > 0).then(|| {
            let copy = 1e9 * choice.tuning.copy.seconds();
            format!("states were copied before each event, which took {copy:.0} ns")
        })
    }
}

#[cfg(test)]
mod tests {
    use warpline_core::{Context, LpId, VirtualTime};

    use super::*;
    use crate::{
        Sequential, Simulation, TimeWarp,
        run::Ranks,
        settings::Settings,
        timewarp::{choosing::Choice, shared::TimeWarpShared, statistics::Statistics, turn::End},
    };

    /// LPs whose states derive `Clone`, and remember what came.
    #[derive(Debug)]
    struct Remembering;

    #[derive(Clone, Debug, PartialEq)]
    struct Memory(Vec<u64>);

    impl Model for Remembering {
        type Lp = Memory;
        type Output = Vec<Memory>;

        fn name(&self) -> &'static str {
            "remembering"
        }

        fn lp_count(&self) -> usize {
            6
        }

        fn make_lp(&self, _: LpId) -> Memory {
            Memory(Vec::new())
        }

        fn reduce(&self, lps: impl Iterator<Item = Memory>) -> Vec<Memory> {
            lps.collect()
        }
    }

    impl LogicalProcess for Memory {
        type Model = Remembering;
        type Message = u64;
        type Summary = Self;

        fn start(&mut self, _: &Remembering, cx: &mut impl Context<u64>) {
            cx.send(cx.me(), 0.5, u64::from(cx.me().get()));
        }

        fn handle(&mut self, model: &Remembering, message: &u64, cx: &mut impl Context<u64>) {
            self.0.push(*message);
            let (delay, to) = (cx.rng().exponential(1.0), cx.rng().below(model.lp_count() as u64));
            cx.send(LpId::new(to as u32), delay, message + self.0.len() as u64);
        }

        fn finish(self, _: &Remembering, _: VirtualTime) -> Self {
            self
        }
    }

    /// Workers change from copies to sparse copies in the middle of a run, though only one of them
    /// wants to, and what is committed is what it would have been. (`simulated` changes from the
    /// undo log. Red if a worker changes only if it wants to itself.)
    #[test]
    fn workers_change_together() {
        let end = 200.0;
        let oracle = Simulation::new(Remembering).engine(Sequential::default()).end(end).run();
        let engine = TimeWarp { workers: 2, batch: 4, ..TimeWarp::default() };
        let settings = Settings { end, engine, ..Settings::default() };
        let ranks = Ranks::alone();
        let shared = TimeWarpShared::new(&Remembering, &settings, &ranks, None, None)
            .expect("good settings");
        let mut workers = [0, 1].map(|me| TimeWarpWorker::new(&Remembering, &shared, me, &ranks));
        for worker in &mut workers {
            worker.start(|| false).expect("no LP fails");
            worker.log.saving.choice = Some(Choice::by_seed(None));
        }
        let mut ended = [None; 2];
        for turn in 0.. {
            if turn == 20 {
                workers[1].log.saving.choice = Some(Choice::by_seed(Some(7)));
            }
            for (worker, ended) in workers.iter_mut().zip(&mut ended) {
                if ended.is_none() {
                    // One runs ahead of the other.
                    (0..=turn % 3).for_each(|_| *ended = ended.or_else(|| worker.turn().err()));
                }
            }
            if ended.iter().all(Option::is_some) {
                break;
            }
        }
        assert_eq!(ended, [Some(End::Finished); 2]);
        for worker in &workers {
            let Statistics { committed, rolled_back, .. } = worker.statistics;
            assert!(worker.log.saving.is_sparse() && rolled_back > 0, "{:?}", worker.statistics);
            let is_sparse = worker.me == 0 || worker.log.saving.copied < committed;
            assert!(
                is_sparse && worker.log.saving.copied > 0,
                "{} copies",
                worker.log.saving.copied
            );
        }
        let oracle = oracle.expect("no LP fails");
        let mut lps: Vec<_> = workers.into_iter().flat_map(|worker| worker.lps).collect();
        lps.sort_by_key(|lp| lp.id);
        assert!(lps.into_iter().map(|lp| lp.state).eq(oracle.output));
    }
}

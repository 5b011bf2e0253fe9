//! What workers leave at the end of a run that another engine goes on with: their LPs, and the
//! events that are not committed.
//!
//! Called by [`reporting`](super::reporting), for each worker that ends and then for all of them.
//! Everything below GVT is committed then, and nothing else was handled, or all of that was undone
//! (CUT-A). So an event is in a pending set, among those that an LP waits for, in the mail, or in
//! the backlog of what other ranks have sent; and perhaps it is canceled by an anti-message that is
//! in the mail, too. Of several ranks, each leaves its part: nothing is on its way between them,
//! because the run ends a round of GVT later.

use warpline_core::Model;

use super::{event::Event, saving::Lp, shared::TimeWarpShared, turn::End, worker::TimeWarpWorker};
use crate::{
    cut::{Cut, LeftEvent, Whole},
    event::{self, Buffer, Inline},
    handling::{self, Value},
    pending::PendingSet,
};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Takes out all events that are not committed, with the numbers of their LPs, if they are to
    /// be left to another engine.
    pub(super) fn take_pending(&mut self, end: End) -> Vec<Event> {
        let mut left = Vec::new();
        if !self.leaves_pending(end) {
            return left;
        }
        debug_assert!(self.aside.canceled.is_empty(), "CUT-A: a canceled event is left");
        debug_assert_eq!(
            self.log.history.len(),
            0,
            "CUT-A: an event is neither committed nor undone"
        );
        left.reserve(self.sender.pending.len() + self.aside.waiting.len());
        self.sender.pending.drain_into(&mut left);
        self.aside.waiting.drain_into(&mut left);
        for event in &mut left {
            *event = event.with_to(self.lps[event.lp().index()].id);
        }
        left
    }

    /// The same for events of other ranks that have found no buffers here.
    pub(super) fn take_backlog(&mut self, end: End) -> Vec<LeftEvent<M>> {
        if !self.leaves_pending(end) {
            return Vec::new();
        }
        self.drain_backlog()
    }

    /// Whether a worker that ends so leaves its pending events to another engine. (A stage that has
    /// come to the end of the run need not take a million of them out of its pending sets; and no
    /// engine goes on where LPs were never made: their events have no receiver.)
    pub(super) fn leaves_pending(&self, end: End) -> bool {
        let goes_on = self.shared.is_stage && end == End::Interrupted;
        (self.shared.settings.leaves_cut || goes_on)
            && end != End::Failed
            && !self.flow.has_begun_short()
    }
}

impl<M: Model> TimeWarpShared<M> {
    /// The cut that all workers have left: their LPs in the order of their numbers, and `left`,
    /// what was in their pending sets and in the mail, and in their backlogs.
    pub(super) fn cut(
        &mut self,
        lps: Vec<Lp<M::Lp>>,
        (left, mut backlog): (Vec<Event>, Vec<LeftEvent<M>>),
        log_end: u64,
    ) -> Whole<M> {
        let all = left.len();
        let mut canceled: Vec<_> = left.iter().filter_map(|event| event.cancels()).collect();
        canceled.sort_unstable();
        let is_left =
            |event: &Event| event.cancels().is_none() && canceled.binary_search(event).is_err();
        let mut pending: Vec<LeftEvent<M>> =
            left.into_iter().filter(is_left).map(|event| self.take_message(event)).collect();
        debug_assert_eq!(
            all,
            pending.len() + 2 * canceled.len(),
            "CUT-A: an anti-message cancels nothing, or twice"
        );
        pending.append(&mut backlog);
        debug_assert!(
            lps.is_sorted_by(|one, next| one.id < next.id),
            "CUT-A: LPs are out of order"
        );
        let lps = lps.into_iter().map(|Lp { state, core, .. }| handling::Lp { state, core });
        Whole(Cut { lps: lps.collect(), pending, log_end })
    }

    fn take_message(&mut self, event: Event) -> LeftEvent<M> {
        debug_assert!(event.cancels().is_none(), "CUT-A: an anti-message has no message");
        let message = self.arena.take(event.buffer());
        let message = Inline::store(Value(message), &mut Vec::new());
        event::Event { key: event.key, to: event.to(), io: event.io().into(), message }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{
        TimeWarp,
        run::{Left, Outcome, Ranks},
        settings::{Placement, Settings},
        timewarp::{all_workers::conclude, holding_back::tests::toy, reporting::result},
        watch::Watch,
    };

    /// A worker is stopped before it has made its LPs, and another has sent events to them.
    fn check_stop_at_start(is_stage: bool, leaves_cut: bool) {
        let placement = Placement::RoundRobin;
        let engine = TimeWarp { workers: 2, placement, ..TimeWarp::default() };
        let settings = Settings { engine, leaves_cut, ..Settings::default() };
        let (toy, ranks) = (toy(), Ranks::alone());
        let shared =
            TimeWarpShared::new(&toy, &settings, &ranks, None, None).expect("good settings");
        let mut shared = TimeWarpShared { is_stage, ..shared };
        let mut workers = [0, 1].map(|me| TimeWarpWorker::new(&toy, &shared, me, &ranks));
        workers[0].start(|| false).expect("no LP fails");
        workers[1].start(|| true).expect("no LP fails");
        workers[0].flow.stop();
        shared.request_gvt();
        let mut ended = [None; 2];
        while ended.contains(&None) {
            for (worker, ended) in workers.iter_mut().zip(&mut ended) {
                *ended = ended.or_else(|| worker.turn().err());
            }
        }
        assert_eq!(ended, [Some(End::Interrupted); 2]);
        let results: Vec<_> =
            workers.into_iter().map(|worker| result(worker, End::Interrupted)).collect();
        assert!(results[0].lps.len() == 4 && results[1].lps.is_empty(), "other LPs were made");
        assert!(results[1].pending > 0, "no event has come for LPs that were never made");
        let (watch, started) = (&mut Watch::default(), Instant::now());
        let results = (results, None, Vec::new());
        let outcome = conclude(&toy, &mut shared, results, watch, started, &ranks);
        let Outcome::Done(done) = outcome else { panic!("the run has failed") };
        assert!(done.interrupted);
        match done.left {
            Left::Cut(whole, _) if is_stage => {
                assert!(whole.0.lps.len() == 4 && whole.0.pending.is_empty());
            }
            Left::Lps(lps) if !is_stage => assert_eq!(lps.into_iter().count(), 4),
            _ => panic!("what is left is of the wrong kind"),
        }
    }

    /// CUT-A: events whose receivers were never made are left to nobody. (Red without
    /// `has_begun_short` in `leaves_pending`.)
    #[test]
    fn a_stop_at_the_start_leaves_no_events() {
        for (is_stage, leaves_cut) in [(true, false), (false, true), (true, true), (false, false)] {
            check_stop_at_start(is_stage, leaves_cut);
        }
    }
}

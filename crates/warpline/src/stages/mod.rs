//! A run in stages, each on one of several candidates: an engine with a number of workers, in a
//! placement that shares the load.
//!
//! A stage begins with the [`Cut`] that the stage before it has left, and ends at the end of the
//! run, when [`Choice`] wants another candidate, or when [`LoadSharing`] wants LPs to move. Both
//! look at the stage that goes on; they are the only parts that decide, and they know nothing of
//! models and engines. All candidates commit the same events, so the stages' order never changes
//! what is committed.
//!
//! Called by the engines that can hand over: [`auto`](crate::auto), which chooses engines, and
//! those that choose only how many workers they use. Each of them is the [`Carrier`] of its stages.
//!
//! # Invariants
//!
//! - CUT-A, in [`cut`](crate::cut): between two stages nothing is speculative.

mod candidate;
mod choice;
#[cfg(test)]
pub(crate) mod simulated;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpline_core::{LpId, Model, VirtualTime};

use crate::{
    ConfigError, Details, EngineKind, Placement, Totals, WorkerLimit,
    counted::{counted, named_rates},
    crowd,
    cut::{Cut, Ended, Stage, Whole},
    event::{Buffer, Event, Message},
    load_sharing::{LoadSharing, Loads},
    placement::LpDirectory,
    report::PartSums,
    run::{self, Failure, Outcome, Run},
    settings::Balance,
    watch::{Hint, Progress, Watch},
};
pub(crate) use candidate::{Candidate, Candidates, Forecast, Traits, uncrowded};
pub(crate) use choice::Choice;

/// Carries out stages on the engines of its candidates.
pub(crate) trait Carrier<M: Model, B> {
    fn carry(
        &mut self,
        task: Task<M, B>,
        watch: &mut Watch<'_>,
    ) -> Result<Stage<M, Event<B>>, Failure>;
}

/// A stage that is to be carried out.
pub(crate) struct Task<M: Model, B> {
    /// The candidate, and its number.
    pub(crate) candidate: Candidate,
    pub(crate) number: usize,
    pub(crate) placement: Placement,
    pub(crate) pin: bool,
    /// What it begins with, unless it begins the run.
    pub(crate) cut: Option<Cut<M::Lp, Event<B>>>,
    /// Where its workers note how much they have to do.
    pub(crate) loads: Option<Arc<Loads>>,
}

/// Who has chosen the engine of the first candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chooser {
    /// The user named it: another candidate has to be much faster.
    User,
    /// Nobody; what trials show decides.
    Trials,
}

/// What decides how long stages are, and what they run on.
pub(crate) struct Deciding {
    chooser: Chooser,
    pub(crate) choice: Choice,
    pub(crate) sharing: LoadSharing,
    candidates: Vec<Candidate>,
    /// The user's limit.
    limit: Option<WorkerLimit>,
    /// Windows without rollbacks have given up, and must not run any more.
    has_given_up: bool,
}

impl Deciding {
    /// For a run on these candidates.
    pub(crate) fn on(
        candidates: &Candidates,
        chooser: Chooser,
        balance: Balance,
        seed: u64,
    ) -> Self {
        let Candidates { ref all, may_have_much, wider, is_shared, lookahead, .. } = *candidates;
        let count = all.len();
        assert!(count > 0, "nothing can run the model");
        let choice = match chooser {
            Chooser::User => Choice::preferring_the_first(count),
            Chooser::Trials => Choice::new(count),
        };
        let choice = choice.on_shared_cores(is_shared).between(|number| {
            let Candidate { engine, workers } = all[number];
            let has_windows = !matches!(engine, EngineKind::Sequential | EngineKind::TimeWarp);
            (workers, has_windows, engine == EngineKind::Speculative)
        });
        let choice = if may_have_much { choice.with_windows_waiting() } else { choice };
        let choice = choice.with_wider(wider).with_lookahead(lookahead);
        let sharing = LoadSharing::new(balance, seed);
        let candidates = all.clone();
        Self { chooser, choice, sharing, candidates, limit: None, has_given_up: false }
    }

    /// The last stage has ended because windows without rollbacks cannot go on.
    fn note_given_up(&mut self) {
        self.has_given_up = true;
        self.bar();
    }

    /// Bars who must not run.
    fn bar(&mut self) {
        let most = self.limit.as_ref().map_or(usize::MAX, WorkerLimit::workers);
        let Self { candidates, choice, has_given_up, .. } = self;
        choice.allow(|number| {
            let Candidate { engine, workers } = candidates[number];
            // Time Warp has fewer threads then.
            let is_allowed = workers <= most || engine == EngineKind::TimeWarp && most > 1;
            is_allowed && !(*has_given_up && engine == EngineKind::Conservative)
        });
    }

    /// Whether the stage is over.
    fn look(&mut self, progress: &Progress, hint: Hint) -> bool {
        if self.limit.is_some() {
            self.bar();
        }
        // Both look: what the other one wants is no reason not to see how far the run is.
        self.choice.note(hint);
        let chooses = self.choice.look(progress);
        let shares = self.choice.is_counting() && self.sharing.look(progress.wall.as_secs_f64());
        chooses || shares
    }
}

/// Carries out a run on this rank alone, from its start to its end.
pub(crate) fn carry_out<M: Model, B: Buffer<Message<M>>>(
    run: &Run<'_, M>,
    from: Option<Whole<M>>,
    (chooser, balance): (Chooser, Balance),
    candidates: &dyn Fn() -> Candidates,
    carrier: &mut dyn Carrier<M, B>,
    watch: &mut Watch<'_>,
) -> Ended<M> {
    let make = |_| {
        run.settings.validate()?;
        balance.validate()?;
        Ok((candidates(), run.model.lp_count()))
    };
    run.carry_out(make, |(candidates, lps), _| {
        let mut deciding = Deciding::on(candidates, chooser, balance, run.settings.seed);
        deciding.limit.clone_from(&watch.limit);
        deciding.choice.note_lps(*lps, size_of::<M::Lp>());
        candidates.forecast.into_iter().for_each(|forecast| deciding.choice.foresee(forecast));
        let deciding = Arc::new(Mutex::new(deciding));
        let start = from.as_ref().map_or_else(Start::default, Start::of);
        if balance != Balance::Off {
            let looks = Arc::clone(&deciding);
            watch.stage_end = Some(Box::new(move |progress, hint| {
                lock(&looks).look(&start.since(progress), hint)
            }));
        }
        let begin_stage = || lock(&deciding).choice.begin_stage();
        let stages = Stages::new(run, &candidates.all, &deciding);
        let outcome = stages.run(from.map(Whole::into_cut), watch, &begin_stage, carrier);
        watch.stage_end = None;
        let (mut stage, sums) = match outcome {
            Ok(done) => done,
            Err(failure) => return Outcome::failed(failure),
        };
        sums.remark(&candidates.all, &lock(&deciding), &mut stage.details.remarks);
        let workers = run.settings.workers;
        let fewer = uncrowded(workers, run.ranks.cores());
        stage.details.remarks.extend(crowd::remark("worker", workers, fewer));
        let ids = (0..stage.cut.lps.len()).map(LpId::from_index);
        Outcome::at_end(stage, ids, &run.settings)
    })
}

/// Where a run begins: what was done before it tells nothing about how long it will take.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    time: f64,
    committed: u64,
}

impl Start {
    fn of<M: Model>(whole: &Whole<M>) -> Self {
        let times = whole.0.pending.iter().map(|event| event.key.time_value());
        Self { time: times.reduce(f64::min).unwrap_or(0.0), committed: whole.0.committed() }
    }

    /// The progress from there on.
    fn since(self, progress: &Progress) -> Progress {
        debug_assert!(
            progress.committed_events >= self.committed,
            "CUT-A: {} events are committed of {}",
            progress.committed_events,
            self.committed
        );
        let after = |time: VirtualTime| VirtualTime::new((time.get() - self.time).max(0.0));
        Progress {
            virtual_time: after(progress.virtual_time).unwrap_or_default(),
            end: after(progress.end).unwrap_or(progress.end),
            committed_events: progress.committed_events - self.committed,
            ..*progress
        }
    }
}

fn lock(deciding: &Mutex<Deciding>) -> MutexGuard<'_, Deciding> {
    deciding.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run in stages.
pub(crate) struct Stages<'r, M: Model> {
    run: &'r Run<'r, M>,
    candidates: &'r [Candidate],
    deciding: &'r Mutex<Deciding>,
    /// Placements that took long to find, by the number of workers.
    placements: Vec<(usize, Placement)>,
}

impl<'r, M: Model> Stages<'r, M> {
    pub(crate) const fn new(
        run: &'r Run<'r, M>,
        candidates: &'r [Candidate],
        deciding: &'r Mutex<Deciding>,
    ) -> Self {
        Self { run, candidates, deciding, placements: Vec::new() }
    }

    /// The user's placement for this number of workers, which may be fewer than the settings say.
    fn placement(&mut self, workers: usize) -> Result<Placement, ConfigError> {
        let (model, placement) = (self.run.model, self.run.settings.placement);
        if workers == self.run.settings.workers {
            return Ok(placement.clone());
        }
        if let Some((_, known)) = self.placements.iter().find(|(count, _)| *count == workers) {
            return Ok(known.clone());
        }
        let placement = match placement {
            Placement::Table(_) => {
                crowd::among_fewer(placement, self.run.settings.workers, workers)
            }
            Placement::Graph(_) => {
                let (lps, here) = (model.lp_count(), 0..workers);
                let directory = LpDirectory::new(model, lps, placement, workers, here)?;
                let worker = |worker| worker as u32;
                Placement::Table(directory.partition().into_iter().map(worker).collect())
            }
            simple => return Ok(simple.clone()),
        };
        self.placements.push((workers, placement.clone()));
        Ok(placement)
    }

    /// Runs stage after stage, each on the candidate that `begin_stage` names. Returns the last
    /// one, with what all of them have counted.
    pub(crate) fn run<B>(
        mut self,
        mut cut: Option<Cut<M::Lp, Event<B>>>,
        watch: &mut Watch<'_>,
        begin_stage: &dyn Fn() -> usize,
        carrier: &mut dyn Carrier<M, B>,
    ) -> Result<(Stage<M, Event<B>>, Sums), Failure> {
        let mut sums = Sums { committed: vec![0; self.candidates.len()], ..Sums::default() };
        let committed_before = cut.as_ref().map_or(0, Cut::committed);
        let mut log_end = cut.as_ref().map_or(0, |cut| cut.log_end);
        loop {
            let number = begin_stage();
            let task = run::at_start(&self.run.settings, || Ok(self.task(number, cut.take())?))?;
            if let Some(timeline) = &watch.timeline {
                timeline.begin_stage(task.candidate.to_string());
            }
            let mut stage = carrier.carry(task, watch)?;
            sums.add(number, &stage.totals, std::mem::take(&mut stage.details));
            let is_stopped = watch.stopped();
            let is_left = |event: &Event<B>| event.key.time_value() < self.run.settings.end;
            stage.interrupted &= is_stopped || stage.cut.pending.iter().any(is_left);
            if stage.interrupted {
                sums.reached = sums.reached.max(stage.last_time);
                stage.last_time = sums.reached;
            }
            if stage.interrupted && !is_stopped {
                let committed = stage.cut.committed();
                let counted = committed_before + sums.parts.totals.committed_events;
                assert_eq!(committed, counted, "CUT-A: lost or doubled");
                if stage.has_given_up {
                    lock(self.deciding).note_given_up();
                }
                // An engine without undo logs does not know where those before it ended.
                log_end = stage.cut.log_end.max(log_end);
                cut = Some(Cut { log_end, ..stage.cut });
                continue;
            }
            self.observe_end(&stage, &sums.parts.totals, watch);
            stage.cut.log_end = stage.cut.log_end.max(log_end);
            (stage.totals, stage.details) = (sums.parts.totals.clone(), sums.parts.details());
            return Ok((stage, sums));
        }
    }

    /// What is to be carried out on a candidate.
    fn task<B>(
        &mut self,
        number: usize,
        cut: Option<Cut<M::Lp, Event<B>>>,
    ) -> Result<Task<M, B>, ConfigError> {
        debug_assert!(number < self.candidates.len(), "there is no candidate {number}");
        debug_assert!(
            cut.as_ref().is_none_or(|cut| cut.lps.len() == self.run.model.lp_count()),
            "CUT-A: an LP was not handed over"
        );
        let candidate = self.candidates[number];
        let workers = candidate.workers;
        let (loads, placement) = {
            let Deciding { choice, sharing, .. } = &mut *lock(self.deciding);
            sharing.begin_stage(workers, choice.time())
        };
        let placement = placement.map_or_else(|| self.placement(workers), Ok)?;
        // Fewer workers than cores are better off where the system puts them.
        let pin = self.run.settings.pin && workers == self.run.settings.workers;
        Ok(Task { candidate, number, placement, pin, cut, loads })
    }

    /// Lets the observer look for the last time; it comes too late to interrupt anything.
    fn observe_end<E>(&self, last: &Stage<M, E>, totals: &Totals, watch: &mut Watch<'_>) {
        let end = VirtualTime::new(self.run.settings.end).ok();
        let _ = watch.observe(&Progress {
            virtual_time: end.filter(|_| !last.interrupted).unwrap_or(last.last_time),
            end: end.unwrap_or(VirtualTime::MAX),
            committed_events: totals.committed_events,
            processed_events: totals.processed_events,
            wall: self.run.started.elapsed(),
        });
    }
}

/// What all stages have counted.
#[derive(Default)]
pub(crate) struct Sums {
    parts: PartSums,
    /// Committed events by candidate.
    pub(crate) committed: Vec<u64>,
    /// All events up to this time are committed.
    reached: VirtualTime,
}

impl Sums {
    fn add(&mut self, candidate: usize, totals: &Totals, details: Details) {
        self.parts.add(totals, details);
        self.committed[candidate] += totals.committed_events;
        debug_assert_eq!(
            self.committed.iter().sum::<u64>(),
            self.parts.totals.committed_events,
            "CUT-A: the stages do not add up to the run"
        );
    }

    /// Says what was chosen, why, and what the trials cost; and which LPs moved. Where engines were
    /// chosen, what one of them says of itself is left out.
    fn remark(&self, candidates: &[Candidate], deciding: &Deciding, remarks: &mut Vec<String>) {
        let choice = &deciding.choice;
        let chose_engines = deciding.chooser != Chooser::User;
        if chose_engines {
            remarks.clear();
        }
        if chose_engines || self.committed.iter().filter(|&&events| events > 0).count() > 1 {
            remarks.insert(0, self.remark_on_choice(candidates, choice));
        }
        remarks.extend(deciding.sharing.statistics().remark());
    }

    fn remark_on_choice(&self, candidates: &[Candidate], choice: &Choice) -> String {
        let share = |events: u64| events as f64 / self.parts.totals.committed_events.max(1) as f64;
        let most = self.committed.iter().copied().enumerate().max_by_key(|&(_, events)| events);
        let (most, events) = most.unwrap_or_default();
        let mut text =
            format!("{} ran {:.0} % of the events", candidates[most], 100.0 * share(events));
        let rates = candidates.iter().enumerate();
        text += &named_rates(
            rates.filter_map(|(number, one)| Some((one.to_string(), choice.rate(number)?))),
        );
        let (trials, cost) = (choice.trials() as usize, 100.0 * choice.share_of_trials());
        let counted = counted(trials, "trial");
        text += &match choice.cost_of_untried().map(|cost| 1e3 * cost) {
            Some(cost) => format!("; no trial, because one would probably have lost {cost:.1} ms"),
            None if trials == 0 => "; no trial".to_owned(),
            // (A trial that wins costs nothing.)
            None if cost < 0.05 => format!("; {counted} took hardly any time"),
            None => format!("; {counted} took {cost:.1} % of the time"),
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Whether another candidate is tried within 25 ms of a run of a second.
    fn tries(chooser: Chooser) -> bool {
        let model = Traits { lps: 1000, lookahead: None, copies_much: false, copies_little: false };
        let candidates = Candidate::all(2, (2, 2), model, 1e3);
        let mut deciding = Deciding::on(&candidates, chooser, Balance::On, 1);
        deciding.choice.begin_stage();
        (1..100_u64).any(|step| {
            let wall = Duration::from_micros(250 * step);
            let committed_events = 2500 * step;
            deciding.choice.look(&Progress {
                virtual_time: VirtualTime::new(1e3 * wall.as_secs_f64()).expect("a time"),
                end: VirtualTime::new(1e3).expect("a time"),
                committed_events,
                processed_events: committed_events,
                wall,
            })
        })
    }

    /// `auto` tries others soon, whichever engine begins; one that the user has named works alone
    /// for a while. (Red if that is guessed from the candidates: of a model without a lookahead,
    /// `auto` has the same as the speculative engine.)
    #[test]
    fn only_an_engine_that_was_named_is_preferred() {
        assert!(tries(Chooser::Trials));
        assert!(!tries(Chooser::User));
    }
}

//! A run that goes on on the sequential engine while that is faster than all workers together.
//!
//! Where events are tiny and most come from another worker, or where few LPs have events at the
//! same time, several workers of Time Warp commit fewer events per second than one that works
//! [alone](super::alone). So the run is in [`stages`]: it begins on all workers, and one works
//! alone from where trials show that this is faster; now and then all are tried again. As for
//! a single worker, this is so only where no setting was changed that the sequential engine does
//! not read: what somebody sets is what they get.
//!
//! Called by [`run`](mod@super::run).

use std::{sync::Arc, time::Instant};

use warpline_core::Model;

use super::{
    all_workers::{all_workers, conclude},
    refusals::{own_error, refuse_what_the_model_lacks},
    reporting::WorkerResult,
    shared::TimeWarpShared,
    turn::End,
};
use crate::{
    EngineKind,
    cut::{Ended, Stage, Whole},
    event::{Boxed, Buffer, Event, INLINE_BYTES_MAX, Inline, Message},
    panics,
    run::{
        Conclusion, Failure, FailureOrder, Left, Outcome, Ranks, Run, at_start, failed_at_start,
    },
    sequential,
    settings::{Balance, Placement, Sequential, Settings, TimeWarp},
    stages::{self, Candidate, Candidates, Carrier, Chooser, Task, uncrowded},
    watch::Watch,
};

/// Whether a run with these settings may hand over.
pub(super) fn suits(settings: &Settings<TimeWarp>, watch: &Watch<'_>, ranks: &Ranks<'_>) -> bool {
    let engine = &settings.engine;
    let has_changed_nothing = engine.may_be_sequential(ranks.count())
        && engine.balance == Balance::On
        && settings.memory.is_none()
        // Who draws what workers do wants to see them.
        && watch.timeline.is_none();
    has_changed_nothing && uncrowded(engine.workers, ranks.cores()) == engine.workers
}

/// Runs `model` from its start to its end.
pub(super) fn run<M: Model>(
    model: &M,
    settings: &Settings<TimeWarp>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        execute::<M, Inline<_>>(model, settings, watch, ranks, from)
    } else {
        execute::<M, Boxed<_>>(model, settings, watch, ranks, from)
    }
}

fn execute<M: Model, B: Buffer<Message<M>>>(
    model: &M,
    settings: &Settings<TimeWarp>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    let run = Run { model, settings: settings.parallel(), ranks, started: Instant::now() };
    let workers = settings.engine.workers;
    let candidates = || candidates(workers, ranks.idle_cores(workers, model.lp_count()));
    let deciding = (Chooser::User, settings.engine.balance);
    let mut both = Both { run: &run, settings, moved: None };
    stages::carry_out::<M, B>(&run, from, deciding, &candidates, &mut both, watch)
}

/// All workers, and one that works alone.
fn candidates(workers: usize, idle: usize) -> Candidates {
    let together = Candidate { engine: EngineKind::TimeWarp, workers };
    let alone = Candidate { engine: EngineKind::Sequential, workers: 1 };
    let all = vec![together, alone];
    Candidates { is_shared: idle < workers, ..all.into() }
}

/// Carries out stages on all workers, and on one that works alone.
struct Both<'r, M: Model> {
    run: &'r Run<'r, M>,
    settings: &'r Settings<TimeWarp>,
    /// Where LPs were when all workers ended last.
    moved: Option<Arc<[u32]>>,
}

impl<M: Model, B: Buffer<Message<M>>> Carrier<M, B> for Both<'_, M> {
    fn carry(
        &mut self,
        task: Task<M, B>,
        watch: &mut Watch<'_>,
    ) -> Result<Stage<M, Event<B>>, Failure> {
        let Task { candidate, placement, pin, cut, .. } = task;
        let &Run { model, ranks, started, .. } = self.run;
        if candidate.engine == EngineKind::Sequential {
            let settings = self.settings.with(Sequential::default());
            return sequential::stage(EngineKind::TimeWarp, model, &settings, watch, started, cut)
                .map_err(failed_at_start);
        }
        debug_assert_eq!(candidate.engine, EngineKind::TimeWarp, "A16: a candidate is named so");
        let placement = self.moved.take().map_or(placement, Placement::Table);
        let engine = TimeWarp { placement, pin, ..self.settings.engine.clone() };
        let settings = self.settings.with(engine);
        let make = || {
            refuse_what_the_model_lacks(model, &settings)?;
            let from = cut.map(Whole::of);
            let shared = TimeWarpShared::new(model, &settings, ranks, None, from)?;
            Ok(TimeWarpShared { is_stage: true, ..shared })
        };
        let mut shared = at_start(&settings.parallel(), make)?;
        let results = all_workers(model, &shared, watch, started, ranks);
        // Where the run has come to its end, nobody asks.
        if results.0.iter().any(|worker| worker.end == End::Interrupted) {
            self.moved = places(&results.0, shared.directory.lp_count());
        }
        let outcome = conclude(model, &mut shared, results, watch, started, ranks);
        // What is left belongs to the model, too.
        let dropped = panics::catch(move || drop(shared));
        dropped.map_err(|fault| failure(FailureOrder::End, own_error(fault, &settings)))?;
        stage(outcome)
    }
}

/// By LP, the worker that had it at the end, if all had one.
fn places<M: Model>(results: &[WorkerResult<M>], lps: usize) -> Option<Arc<[u32]>> {
    let mut places = vec![u32::MAX; lps];
    for worker in results {
        for lp in &worker.lps {
            places[lp.id.index()] = worker.me as u32;
        }
    }
    let is_complete = places.iter().all(|&worker| worker != u32::MAX);
    is_complete.then(|| places.into())
}

fn failure(order: FailureOrder, error: crate::RunError) -> Failure {
    Some(Box::new((order, error)))
}

/// What all workers have left for the next stage.
fn stage<M: Model, B: Buffer<Message<M>>>(
    outcome: Outcome<M>,
) -> Result<Stage<M, Event<B>>, Failure> {
    let Conclusion { interrupted, last_time, totals, details, left } = match outcome {
        Outcome::Done(conclusion) => conclusion,
        Outcome::Failed(order, error) => return Err(failure(order, error)),
        Outcome::Stopped => return Err(None),
    };
    let Left::Cut(whole, _) = left else { unreachable!("CUT-A: a stage has left no cut") };
    let cut = whole.into_cut();
    Ok(Stage { interrupted, has_given_up: false, last_time, totals, details, cut })
}

#[cfg(test)]
mod tests {
    //! # Mutations, found by the first seeds
    //!
    //! - `leaves_pending` says no where a stage ends, or `Both::carry` begins without the cut:
    //!   another digest.

    use warpline_core::{LpId, Stream};

    use super::*;
    use crate::{
        simulated::{
            Dice, Truth,
            model::{Note, Toy},
            named, on_all_cores, seeds, toy,
        },
        stages::simulated::play,
    };

    /// One run, decided by the seed. Returns the number of stages.
    fn simulate(seed: u64) -> u64 {
        let mut dice = Dice(Stream::for_lp(seed, LpId::new(0)));
        let mut toy = toy(&mut dice, true);
        toy.budget += dice.pick(&[0, 20, 60]);
        let end = dice.pick(&[0.0, 2.5, 6.0, 1e9, 1e9, f64::INFINITY]);
        let placement = if dice.one_in(2) { Placement::Model } else { Placement::RoundRobin };
        let workers = dice.pick(&[2, 3]);
        let engine = TimeWarp { workers, placement, pin: false, ..TimeWarp::default() };
        let settings = Settings { seed, end, engine, ..Settings::default() };
        let truth = Truth::new(&toy, settings.with(Sequential::default()));
        let stop = dice.one_in(6).then(|| dice.0.below(20));
        let stages = if dice.one_in(4) {
            run::<Boxed<Note>>(&toy, &settings, &truth, dice, stop)
        } else {
            run::<Inline<Note>>(&toy, &settings, &truth, dice, stop)
        };
        assert_eq!(Arc::strong_count(&toy.token), 1, "messages that were never dropped");
        stages
    }

    fn run<B: Buffer<Note>>(
        toy: &Toy,
        settings: &Settings<TimeWarp>,
        truth: &Truth,
        dice: Dice,
        stop: Option<u64>,
    ) -> u64 {
        let ranks = Ranks::alone();
        let parallel = settings.parallel();
        let run = Run { model: toy, settings: parallel, ranks: &ranks, started: Instant::now() };
        let mut both = Both { run: &run, settings, moved: None };
        let candidates = candidates(settings.engine.workers, settings.engine.workers);
        play::<B>(&run, (&candidates, Balance::On), truth, dice, stop, &mut both)
    }

    /// CUT-A: wherever all workers hand over to one that works alone, and it to them, the run
    /// agrees with the sequential engine.
    #[test]
    fn runs_that_hand_over_agree_with_the_sequential_engine() {
        let seeds = seeds(1_000);
        if let Some(stages) = on_all_cores(0..u64::MAX, seeds, |seed| named(seed, simulate)) {
            assert!(stages > 2 * seeds, "hardly any hand-overs: {stages} stages");
        }
    }
}

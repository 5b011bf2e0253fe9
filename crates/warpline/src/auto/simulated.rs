//! Runs that change engines where a seed decides: after any look at the clock, to any candidate.
//!
//! The oracle is the sequential engine: same digest, same outputs in the same order, same error.
//! The workers run on threads of their own, so a stage does not end at the same event each time;
//! but wherever it does, the run has to agree. What the schedule of workers can do to the
//! speculative engine is in `speculative/simulated.rs`.
//!
//! # Mutations, each found by the first thousand seeds
//!
//! - `WindowWorker::start` leaves out the pending events (CONS-C), or `SpeculativeWorker::start`
//!   does ("RESIZE-B").
//! - `Calendar::drain_into` leaves out the later blocks: another digest.
//! - `LadderQueue::drain_into` leaves out the late events, the calendar, or the top: "CUT-A: lost
//!   or doubled".
//! - `Cut::divide` gives LPs to the next worker: "RESIZE-B".
//! - `Cut::divide` or `Cut::unite` leaves out where logs have ended, `Stages::run` forgets it after
//!   a stage without logs, or `SpeculativeWorker::start` begins its log at 1: "UNDO-A", "UNDO-C".
//! - `Sequential::resume` begins to count anew: "attempt to subtract with overflow".
//! - `sequential::stage` shows the monitor no board: "another stage than sequential".
//! - `Stages::run` begins another stage although nothing is left: another "time of the last event".

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use warpline_core::{LpId, Stream};

use super::*;
use crate::{
    Placement, RunError,
    monitor::Monitor,
    run::Outcome,
    simulated::{
        Dice, Truth,
        model::{Note, Toy},
        on_all_cores, toy,
    },
    stages::{Chooser, Deciding, Stages, Traits},
};

/// The seeds that the test runs; `SIMULATED_SEEDS` says how many others.
const SEEDS: u64 = 1_000;

/// One run, decided by the seed. Returns the number of stages.
fn simulate(seed: u64) -> u64 {
    let mut dice = Dice(Stream::for_lp(seed, LpId::new(0)));
    let mut toy = toy(&mut dice, true);
    toy.budget += dice.pick(&[0, 20, 60]);
    toy.declares_lookahead = dice.one_in(2);
    let end = dice.pick(&[0.0, 2.5, 6.0, 1e9, 1e9, f64::INFINITY]);
    let table = (0..toy.habits.len()).map(|lp| (lp as u32 * 5) % 3).collect::<Vec<_>>();
    let placements = [Placement::Model, Placement::RoundRobin, Placement::Table(table.into())];
    let placement = placements[dice.0.below(3) as usize].clone();
    // In every other run, LPs move from stage to stage, wherever chance sends them.
    let balance = if dice.one_in(2) { Balance::Randomly(0.3) } else { Balance::On };
    let engine = Auto { workers: 3, placement, pin: false, balance, ..Auto::default() };
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

fn run<B: Buffer<Note> + Send>(
    toy: &Toy,
    settings: &Settings<Auto>,
    truth: &Truth,
    dice: Dice,
    stop: Option<u64>,
) -> u64 {
    let workers = settings.engine.workers;
    let candidates = Candidate::all(workers, (workers, workers), Traits::of(toy), settings.end);
    let ranks = Ranks::alone();
    let run =
        Run { model: toy, settings: settings.parallel(), ranks: &ranks, started: Instant::now() };
    let deciding = Mutex::new(Deciding::on(
        &candidates,
        Chooser::Trials { is_shared: false },
        settings.engine.balance,
        1,
    ));
    let candidates = &*candidates.all;
    let stages = Stages::new(&run, candidates, &deciding);
    let mut engines = EveryEngine { run: &run, settings, widths: FoundWidths::default() };
    let (stopped, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    let dice = Arc::new(Mutex::new(dice));
    let looks = Arc::clone(&dice);
    let patience = looks.lock().expect("no panic in here").pick(&[1, 2, 5, 20]);
    let monitor = Monitor::default();
    let mut watch =
        Watch { stop: Some(&stopped), monitor: Some(monitor.clone()), ..Watch::default() };
    let current = AtomicUsize::new(0);
    watch.stage_end = Some(Box::new(|progress, _| {
        // Ordering: Relaxed; a number that this thread has written.
        let candidate = &candidates[current.load(Ordering::Relaxed)];
        assert_eq!(monitor.workers().len(), candidate.workers, "another stage than {candidate}");
        // A stage does not end before all LPs are made.
        if progress.committed_events == 0 {
            return false;
        }
        // Ordering: Relaxed; a flag and a count, here and below.
        if stop.is_some_and(|stop| begun.load(Ordering::Relaxed) > stop) {
            stopped.store(true, Ordering::Relaxed);
        }
        let ends =
            begun.load(Ordering::Relaxed) < 60 && looks.lock().expect("no panic").one_in(patience);
        if ends {
            deciding.lock().expect("no panic in here").sharing.end_stage();
        }
        ends
    }));
    let begin_stage = || {
        begun.fetch_add(1, Ordering::Relaxed);
        let next = dice.lock().expect("no panic in here").0.below(candidates.len() as u64) as usize;
        current.store(next, Ordering::Relaxed);
        next
    };
    let outcome = stages.run::<B>(None, &mut watch, &begin_stage, &mut engines);
    drop(watch);
    let log = std::mem::take(&mut *toy.log.lock().expect("no panic in here"));
    match outcome {
        Ok((stage, _)) if stage.interrupted => {
            assert!(stop.is_some());
            assert!(truth.log.outputs.starts_with(&log.outputs), "{:?}", log.outputs);
        }
        Ok((stage, sums)) => {
            let ids = (0..stage.cut.lps.len()).map(LpId::from_index);
            let Outcome::Done(done) = Outcome::at_end(stage, ids, &settings.parallel()) else {
                panic!("LPs can be dropped")
            };
            let expected = truth.result.as_ref().expect("the sequential run ended well, too");
            assert_eq!(
                (done.totals.digest, done.totals.committed_events),
                (expected.0, expected.1)
            );
            assert_eq!(sums.committed.iter().sum::<u64>(), expected.1);
            if settings.end == f64::INFINITY {
                assert_eq!(done.last_time, expected.2, "the time of the last event");
            }
            assert_eq!(log.outputs, truth.log.outputs);
            assert_eq!(log.blocking.len(), truth.log.blocking.len());
        }
        Err(failure) => {
            let found = failure.map(|failure| failure.1);
            let told = found.as_ref().map(ToString::to_string);
            let (Some(RunError::Model(found)), Err(RunError::Model(expected))) =
                (found, &truth.result)
            else {
                panic!("{told:?}, but the sequential run ended with {:?}", truth.result);
            };
            let place = |place: &warpline_core::Place| (place.lp, place.event);
            assert_eq!(place(&found.place), place(&expected.place), "{found}");
            assert_eq!(found.fault, expected.fault);
            assert_eq!(log.outputs, truth.log.outputs, "{found}");
        }
    }
    begun.load(Ordering::Relaxed)
}

/// CUT-A: wherever the engines change, the run agrees with the sequential engine.
#[test]
fn runs_that_change_engines_agree_with_the_sequential_engine() {
    let seeds = std::env::var("SIMULATED_SEEDS").ok().and_then(|seeds| seeds.parse().ok());
    let seeds = seeds.unwrap_or(SEEDS);
    let named = |seed: u64| {
        std::panic::catch_unwind(|| simulate(seed)).unwrap_or_else(|payload| {
            eprintln!("this was seed {seed}: SIMULATED_SEED={seed} repeats it");
            std::panic::resume_unwind(payload)
        })
    };
    if let Some(stages) = on_all_cores(0..seeds, named) {
        assert!(stages > 2 * seeds, "hardly any hand-overs: {stages} stages");
    }
}

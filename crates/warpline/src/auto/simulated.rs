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

use std::sync::Arc;

use warpline_core::{LpId, Stream};

use super::*;
use crate::{
    Placement,
    simulated::{
        Dice, Truth,
        model::{Note, Toy},
        named, on_all_cores, seeds, toy,
    },
    stages::{Traits, simulated::play},
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
    let Auto { workers, balance, .. } = settings.engine;
    let candidates = Candidate::all(workers, (workers, workers), Traits::of(toy), settings.end);
    let ranks = Ranks::alone();
    let run =
        Run { model: toy, settings: settings.parallel(), ranks: &ranks, started: Instant::now() };
    let mut engines = EveryEngine { run: &run, settings, widths: FoundWidths::default() };
    play::<B>(&run, (&candidates, balance), truth, dice, stop, &mut engines)
}

/// CUT-A: wherever the engines change, the run agrees with the sequential engine.
#[test]
fn runs_that_change_engines_agree_with_the_sequential_engine() {
    let seeds = seeds(SEEDS);
    if let Some(stages) = on_all_cores(0..u64::MAX, seeds, |seed| named(seed, simulate)) {
        assert!(stages > 2 * seeds, "hardly any hand-overs: {stages} stages");
    }
}

//! The speculative engine commits what the sequential one does: every model, at every number of
//! workers, with windows of any width.
//!
//! Digests cover the keys, the order and the random streams of all committed events; the results of
//! the models are compared to the last bit.
//!
//! # Mutations of the engine, each seen red
//!
//! - `SpeculativeWorker::redo_next` sends what is new in a window before the anti-messages of the
//!   next one: the hypercube commits something else
//! - `SpeculativeWorker::redo_next` does not change the LP's copy from before the next window:
//!   "RESIZE-B"
//! - `SpeculativeSender::late_in` looks at the oldest window only: "SPEC-C"
//!
//! Not found here: `SpeculativeWorker::settle` puts what is left of a batch behind newer late
//! events, and does not sort a batch, which costs time only.

mod matrix;

use matrix::{crowded, exactly, jammed, owners};
use warpline::{
    AnyModel, Balance, Engine, Sequential, Simulation, Speculative, Width, digest::CommitDigest,
};
use warpline_models::{
    catalog::ModelParams, hypercube::HypercubeParams, pcs::PcsParams, phold::PholdParams,
    traffic::TrafficParams,
};

/// The digest, the number of committed events, the bits of the end time, and the results.
type Outcome = (CommitDigest, u64, u64, String);

fn run(model: AnyModel, engine: impl Into<Engine>, seed: u64, end: f64) -> Outcome {
    let report = Simulation::new(model).engine(engine).seed(seed).end(end).run();
    let report = report.expect("a sound run");
    let end = report.end_time.get().to_bits();
    (report.digest, report.committed_events, end, exactly(&report.output))
}

/// Models with their ends: with and without zero delays and ties, with much and little activity,
/// with small and large messages.
fn cases() -> Vec<(&'static str, ModelParams, f64)> {
    let phold = PholdParams { lps: 96, population: 300, remote: 0.5, ..PholdParams::default() };
    let ticks = PholdParams { lookahead: 1.0, mean: 0.0, ..phold.clone() };
    let few = PholdParams { lps: 5, population: 2, remote: 1.0, ..phold.clone() };
    let payload = PholdParams { payload: 512, lps: 40, population: 80, ..phold.clone() };
    let cube = HypercubeParams { dimension: 5, messages: 96, ..HypercubeParams::default() };
    let pcs =
        PcsParams { cells: "6x6".parse().expect("a grid"), portables: 400, ..PcsParams::default() };
    let traffic = jammed();
    let restless = TrafficParams { speed_max: f64::INFINITY, ..traffic.clone() };
    let mut cases = vec![
        ("phold", ModelParams::from(phold), 30.0),
        ("phold on ticks", ModelParams::from(ticks), 20.0),
        ("phold with two events", ModelParams::from(few), 3_000.0),
        ("phold with messages", ModelParams::from(payload), 30.0),
        ("hypercube", ModelParams::from(cube.clone()), 30.0),
        // With windows of 30, an LP sends the event of a key from one window and then from
        // another.
        ("hypercube, a short run", ModelParams::from(cube), 12.0),
        ("pcs", ModelParams::from(pcs), 30.0),
        ("traffic", ModelParams::from(traffic.clone()), 1_500.0),
        ("traffic without lookahead", ModelParams::from(restless), 1_500.0),
        ("network", ModelParams::from(crowded()), 3e7),
    ];
    cases.extend(owners(0.0));
    cases
}

#[test]
fn commits_what_the_sequential_engine_does() {
    for (name, params, end) in cases() {
        for seed in 1..=2 {
            let model = || params.model().expect("sound parameters");
            let oracle = run(model(), Sequential::default(), seed, end);
            for workers in [1, 2, 3, 5] {
                for width in [
                    Width::Auto,
                    Width::Fixed(1e-3),
                    Width::Fixed(0.1),
                    Width::Fixed(1.0),
                    Width::Fixed(30.0),
                    Width::Fixed(1e6),
                ] {
                    let (pin, balance) = (false, Balance::Off);
                    let engine =
                        Speculative { workers, width, pin, balance, ..Speculative::default() };
                    let found = run(model(), engine, seed, end);
                    assert_eq!(found, oracle, "{name}, {workers} workers, {width:?}, seed {seed}");
                }
            }
        }
    }
}

/// Windows that are 4, 16 and 64 times as wide as is best are given up before they waste much. Said
/// by counts, because a rate depends on the machine.
#[test]
fn forced_widths_waste_a_bounded_amount() {
    let phold = PholdParams { lps: 256, population: 256, remote: 1.0, ..PholdParams::default() };
    let local = PholdParams { lps: 512, population: 2048, remote: 0.1, ..PholdParams::default() };
    let many = PholdParams { lps: 2048, population: 8192, remote: 0.5, ..PholdParams::default() };
    let pcs = PcsParams {
        cells: "8x8".parse().expect("a grid"),
        portables: 1600,
        ..PcsParams::default()
    };
    let cases: [(&str, ModelParams, f64, f64); 4] = [
        ("phold", phold.into(), 100.0, 0.1),
        ("phold, mostly local", local.into(), 10.0, 0.1),
        ("phold, many events", many.into(), 4.0, 0.05),
        ("pcs", pcs.into(), 20.0, 0.7),
    ];
    for (name, params, end, best) in cases {
        let model = || params.model().expect("sound parameters");
        let oracle = run(model(), Sequential::default(), 1, end);
        for workers in [1, 2, 3] {
            for times in [1.0, 4.0, 16.0, 64.0] {
                let width = Width::Fixed(best * times);
                let (pin, balance) = (false, Balance::Off);
                let engine = Speculative { workers, width, pin, balance, ..Speculative::default() };
                let mut simulation = Simulation::new(model()).engine(engine).seed(1).end(end);
                let report = simulation.run().expect("a sound run");
                let what = format!("{name}, {workers} workers, {times} times the width");
                let (processed, committed) = (report.processed_events, report.committed_events);
                // The widest window holds the whole run; two such windows may be given up.
                assert!(processed < 10 * committed, "{processed} for {committed}: {what}");
                assert_eq!(report.digest, oracle.0, "{what}");
            }
        }
    }
}

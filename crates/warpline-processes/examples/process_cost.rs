//! What processes cost beside hand-written events: the same models, with the same digests, in turn
//! on each engine with one worker per core. It prints medians of wall time per event, and of their
//! ratio in each round; as `crowd`, what an event costs with 10 000 processes that wait at each of
//! four sites beside one with 10; and, as `stations`, what `auto` gains by all cores on closed
//! networks of so many stations: the sequential engine's time, its own, and the quotient.
//!
//! ```sh
//! cargo run --release -p warpline-processes --features measurements --example process_cost
//! ```

#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::time::Instant;

use warpline::{Auto, Engine, Model, Sequential, Simulation, Speculative, TimeWarp};
use warpline_processes::Processes;

use closed_network::Network;

#[path = "hand_written/bank.rs"]
mod bank;
#[path = "closed_network.rs"]
#[allow(dead_code, reason = "what the example prints is of no use here")]
mod closed_network;
#[path = "hand_written/network.rs"]
mod network;

const ROUNDS: usize = 7;

fn main() {
    let only: Vec<_> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
    let bank = bank::Bank {
        branches: 64,
        tellers: 5,
        interarrival: 0.2,
        service: 1.0,
        patience: 2.0,
        walk: 0.5,
        way: 0.5,
    };
    let network = Network { stations: 256, customers: 4 * 256, service: 1.0, way: 0.5 };
    for (name, engine) in engines().into_iter().filter(|(name, _)| is_wanted(name)) {
        crowd(name, &engine);
        let bank = || bank.clone();
        compare("bank", name, &engine, 1500.0, || Processes::new(bank()), || bank::ByHand(bank()));
        let net = || network.clone();
        compare(
            "network",
            name,
            &engine,
            2500.0,
            || Processes::new(net()),
            || network::ByHand(net()),
        );
    }
    if is_wanted("auto") {
        for (stations, end) in [(64, 100_000.0), (256, 30_000.0), (1024, 8000.0)] {
            all_cores(stations, end);
        }
    }
}

/// What all cores gain under `auto`, in runs of about half a second.
fn all_cores(stations: usize, end: f64) {
    let network =
        || Processes::new(Network { stations, customers: 4 * stations, service: 1.0, way: 1.0 });
    let (mut one, mut all, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (alone, digest) = time(network(), Sequential::default().into(), end);
        let (together, same) = time(network(), Auto::default().into(), end);
        assert_eq!(digest, same, "{stations} stations: both commit the same events");
        one.push(alone);
        all.push(together);
        ratios.push(alone / together);
    }
    let [one, all, ratio] = [one, all, ratios].map(median);
    println!("stations {stations:<12} {one:6.1} ns  {all:6.1} ns  {ratio:5.2}");
}

/// What an event costs with many customers at each of a few stations, by what it costs with few.
fn crowd(name: &str, engine: &Engine) {
    let station =
        |each: usize| Network { stations: 4, customers: 4 * each, service: 1.0, way: 0.5 };
    let (mut few, mut many, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (with_few, _) = time(Processes::new(station(10)), engine.clone(), 50_000.0);
        let (with_many, _) = time(Processes::new(station(10_000)), engine.clone(), 50_000.0);
        few.push(with_few);
        many.push(with_many);
        ratios.push(with_many / with_few);
    }
    let [few, many, ratio] = [few, many, ratios].map(median);
    println!("crowd    {name:<12} {many:6.1} ns  {few:6.1} ns  {ratio:5.2}");
}

fn engines() -> [(&'static str, Engine); 3] {
    [
        ("sequential", Sequential::default().into()),
        ("time warp", TimeWarp::default().into()),
        ("speculative", Speculative::default().into()),
    ]
}

/// Runs both models in turn.
fn compare<A: Model, B: Model>(
    model: &str,
    name: &str,
    engine: &Engine,
    end: f64,
    processes: impl Fn() -> A,
    by_hand: impl Fn() -> B,
) {
    let (mut with, mut without, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (nanos, digest) = time(processes(), engine.clone(), end);
        let (nanos_by_hand, digest_by_hand) = time(by_hand(), engine.clone(), end);
        assert_eq!(digest, digest_by_hand, "{model}: both commit the same events");
        with.push(nanos);
        without.push(nanos_by_hand);
        ratios.push(nanos / nanos_by_hand);
    }
    let [with, without, ratio] = [with, without, ratios].map(median);
    println!("{model:<8} {name:<12} {with:6.1} ns  {without:6.1} ns  {ratio:5.2}");
}

fn time<M: Model>(model: M, engine: Engine, end: f64) -> (f64, warpline::digest::CommitDigest) {
    let mut simulation = Simulation::new(model).engine(engine).seed(7).end(end);
    let begin = Instant::now();
    let report = simulation.run().expect("a run");
    (begin.elapsed().as_nanos() as f64 / report.committed_events as f64, report.digest)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

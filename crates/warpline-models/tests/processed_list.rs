//! Fossil collection keeps up with every kind of state saving: sparse copies keep records longer,
//! but not for ever. Two workers do not drift further apart than their caches hold.
//!
//! Mutations that turn this red: `may_drop` looks at the next record only; `may_drop` always says
//! no; `HISTORY_MAX` of 4096.

use warpline::{
    Simulation, TimeWarp,
    settings::{CheckpointInterval, Instrumentation, Pool, StateSaving},
};
use warpline_models::{catalog::Parameters, phold::PholdParams};

#[test]
fn the_processed_list_stays_short() {
    let params = PholdParams { lps: 64, population: 256, ..PholdParams::default() };
    let savings = [
        StateSaving::COPY,
        StateSaving::Copy { interval: CheckpointInterval::Every(2) },
        StateSaving::Copy { interval: CheckpointInterval::Every(64) },
        StateSaving::Copy { interval: CheckpointInterval::Auto },
        StateSaving::Reverse,
    ];
    for saving in savings {
        for pool in [Pool::PARTITIONED, Pool::ON_THE_FLY] {
            for workers in [1, 2] {
                let phold = params.clone().model().expect("the parameters are valid");
                let engine = TimeWarp {
                    workers,
                    saving,
                    pool: pool.clone(),
                    instrumentation: Instrumentation::AS_IF_MANY,
                    ..TimeWarp::default()
                };
                let mut simulation = Simulation::new(phold).engine(engine).end(400.0);
                let report = simulation.run().expect("the run succeeds");
                let peak = peak(&report.details.counters);
                // The events of a few rounds of GVT, and of 64 LPs since their last copies.
                let enough = 4 * 1024 + 64 * 64 + 4096;
                assert!(
                    peak <= enough && report.committed_events > 5 * enough,
                    "{saving:?}, {pool:?}, {workers} worker(s): {peak} records at the \
                     peak of {} events",
                    report.committed_events
                );
            }
        }
    }
}

/// Two workers do not drift further apart than their caches hold, whatever the batch is. They take
/// turns on one thread, so the peak is the same in each run.
#[test]
fn two_workers_stay_near_each_other() {
    for (lps, population, batch) in [(64, 256, 64), (1024, 16_384, 64), (64, 4096, 128)] {
        let params = PholdParams { lps, population, remote: 0.1, ..PholdParams::default() };
        let phold = params.model().expect("the parameters are valid");
        let instrumentation = Instrumentation::IN_TURN;
        let engine = TimeWarp { workers: 2, batch, instrumentation, ..TimeWarp::default() };
        let end = 100_000.0 / population as f64;
        let report = Simulation::new(phold).engine(engine).end(end).run().expect("sound");
        let peak = peak(&report.details.counters);
        // A full list holds back only what comes after its records: some events come before them.
        let enough = 512 + batch as u64;
        assert!((512..=enough).contains(&peak), "{lps} LPs, batch {batch}: {peak} records");
    }
}

/// The most records of a worker.
fn peak(counters: &[(&str, u64)]) -> u64 {
    let peak = counters.iter().find(|(name, _)| *name == "processed_list_peak");
    peak.expect("the length is counted").1
}

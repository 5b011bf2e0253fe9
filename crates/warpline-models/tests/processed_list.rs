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
                let counters = &report.details.counters;
                let peak = counters.iter().find(|(name, _)| *name == "processed_list_peak");
                let peak = peak.expect("the length is counted").1;
                // The events of half a round of GVT, where another worker may be behind, and some
                // that GVT has reached, which no limit stops; or those of a few rounds, and of 64
                // LPs since their last copies.
                let is_near = workers == 2 && saving == StateSaving::COPY;
                let enough = if is_near { 2 * 512 } else { 4 * 1024 + 64 * 64 + 4096 };
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

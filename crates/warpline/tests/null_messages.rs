//! Null messages and deadlock recovery commit what the sequential engine commits, on graphs of every kind.

mod watchdog;
mod web;

use proptest::{collection::vec, prelude::*, sample::select};
use warpline::{Engine, Report, RunError, Simulation, Synchronization};
use web::Web;

/// The algorithms that go along links.
const MODES: [Synchronization; 3] = [
    Synchronization::NullMessages,
    Synchronization::NullMessagesOnDemand,
    Synchronization::DeadlockRecovery,
];

type Outcome = Result<Report<Vec<(u64, u64)>>, RunError>;

fn simulation(
    web: &Web,
    mode: Synchronization,
    workers: usize,
    capacity: usize,
) -> Simulation<'static, Web> {
    Simulation::new(web.clone())
        .engine(Engine::Conservative)
        .synchronization(mode)
        .workers(workers)
        .edge_capacity(capacity)
        .pin(false)
}

fn told(run: &Outcome) -> Result<impl PartialEq + std::fmt::Debug, String> {
    match run {
        Ok(report) => Ok((
            report.digest,
            report.committed_events,
            report.end_time,
            report.output.clone(),
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// A run and the sequential engine's commit the same, and write the same.
fn check(web: &Web, mode: Synchronization, workers: usize, capacity: usize, end: f64) {
    let oracle = web.apart();
    let expected = Simulation::new(oracle.clone()).end(end).run();
    let web = web.apart();
    let run = watchdog::run(simulation(&web, mode, workers, capacity).end(end));
    let context = format!("{mode}, {workers} workers, capacity {capacity}, end {end}");
    assert_eq!(told(&run), told(&expected), "{context}");
    assert_eq!(*web.lines.lock().unwrap(), *oracle.lines.lock().unwrap(), "{context}");
}

#[test]
fn a_ring() {
    for mode in MODES {
        for workers in [1, 2, 4] {
            for capacity in [1, 2, 8, 64] {
                for lookahead in [0.0, 0.5] {
                    check(&Web::ring(6, lookahead), mode, workers, capacity, f64::INFINITY);
                    check(&Web::ring(6, lookahead), mode, workers, capacity, 7.5);
                }
            }
        }
    }
}

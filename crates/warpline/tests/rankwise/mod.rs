//! Runs on several ranks, each a thread, and a watchdog over all of them.

use std::{sync::mpsc, thread, time::Duration};

use warpline::{Report, RunError, Runnable, Simulation, ranks::Transport};
use warpline_net::network;

/// The result of a rank's run.
pub(crate) type Outcome<M> = Result<Option<Report<<M as Runnable>::Output>>, RunError>;

/// No run of the tests takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs one simulation on each rank, and returns their results.
pub(crate) fn run<M: Runnable + Send + 'static>(
    workers: usize,
    simulations: Vec<Simulation<'static, M>>,
) -> Vec<Outcome<M>> {
    let ends = network(simulations.len(), workers + 1);
    let outcomes = run_on(ends, simulations);
    let outcome = |outcome: Option<_>| outcome.expect("no rank panics");
    outcomes.into_iter().map(outcome).collect()
}

/// The same on the given ends of a network; the outcome is `None` for a rank that panics.
pub(crate) fn run_on<M: Runnable + Send + 'static, T: Transport + 'static>(
    ends: Vec<T>,
    simulations: Vec<Simulation<'static, M>>,
) -> Vec<Option<Outcome<M>>> {
    let (done, outcomes) = mpsc::channel();
    let ranks = simulations.len();
    for (rank, (end, mut simulation)) in ends.into_iter().zip(simulations).enumerate() {
        let done = done.clone();
        // Left behind when it hangs. If no receiver is left, the test has failed already.
        thread::spawn(move || {
            let outcome = simulation.run_across(&end);
            if matches!(outcome, Err(RunError::Net(_))) {
                // Others may wait for this rank: see `run_across`.
                end.abandon();
            }
            drop(done.send((rank, outcome)));
        });
    }
    drop(done);
    let mut all: Vec<_> = (0..ranks).map(|_| None).collect();
    loop {
        match outcomes.recv_timeout(PATIENCE) {
            Ok((rank, outcome)) => all[rank] = Some(outcome),
            Err(mpsc::RecvTimeoutError::Disconnected) => return all,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let still: Vec<_> = (0..ranks).filter(|&rank| all[rank].is_none()).collect();
                panic!("ranks {still:?} have not ended after {PATIENCE:?}")
            }
        }
    }
}

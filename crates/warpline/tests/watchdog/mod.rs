//! A watchdog for runs: a run that does not end fails its test, and names the worker that all
//! others wait for.
//!
//! The run has a thread of its own, which is left behind when it hangs.

use std::{
    panic,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::Duration,
};

use warpline::{
    Report, RunError, Runnable, Simulation,
    monitor::{Monitor, WorkerStatus},
};

/// The result of a run.
pub(crate) type Outcome<M> = Result<Report<<M as Runnable>::Output>, RunError>;

/// No run of the tests takes this long, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// This long after a look at a run that hangs, a second look shows which workers have moved.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A run in progress.
pub(crate) struct Running<M: Runnable> {
    pub(crate) monitor: Monitor,
    outcome: Receiver<Outcome<M>>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a run.
pub(crate) fn start<M: Runnable + Send + 'static>(
    simulation: Simulation<'static, M>,
) -> Running<M> {
    let monitor = Monitor::default();
    let mut simulation = simulation.monitor(&monitor);
    let (done, outcome) = mpsc::channel();
    // If no receiver is left, the test has failed already.
    let thread = thread::spawn(move || drop(done.send(simulation.run())));
    Running { monitor, outcome, thread: Some(thread) }
}

impl<M: Runnable> Running<M> {
    /// Waits for the end of the run.
    pub(crate) fn end_within(mut self, patience: Duration) -> Outcome<M> {
        if let Some(outcome) = self.wait(patience) {
            return outcome;
        }
        let before = self.monitor.workers();
        self.wait(LOOK_AGAIN).unwrap_or_else(|| {
            panic!("no end after {patience:?}: {}", diagnosis(&before, &self.monitor))
        })
    }

    fn wait(&mut self, patience: Duration) -> Option<Outcome<M>> {
        match self.outcome.recv_timeout(patience) {
            Ok(outcome) => Some(outcome),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => match self.thread.take().map(JoinHandle::join) {
                Some(Err(payload)) => panic::resume_unwind(payload),
                _ => unreachable!("the thread sends before it ends"),
            },
        }
    }
}

/// The workers that have made no progress since `before`, and the status of all workers.
pub(crate) fn diagnosis(before: &[WorkerStatus], monitor: &Monitor) -> String {
    let stands_still = |(then, now): &(&WorkerStatus, WorkerStatus)| {
        then.is_awaited && now.is_awaited && then.gvt_reports == now.gvt_reports
    };
    let both = before.iter().zip(monitor.workers());
    let still: Vec<_> = both.filter(stands_still).map(|(_, now)| now.worker.to_string()).collect();
    if still.is_empty() {
        format!("no worker stands still, but the run gets nowhere\n{monitor}")
    } else {
        format!("worker {} stands still\n{monitor}", still.join(", "))
    }
}

/// Runs a simulation under the watchdog.
pub(crate) fn run<M: Runnable + Send + 'static>(simulation: Simulation<'static, M>) -> Outcome<M> {
    start(simulation).end_within(PATIENCE)
}

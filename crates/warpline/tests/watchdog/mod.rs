//! A watchdog for runs: one that does not end fails its test, and says which worker everybody waits for.
//!
//! The run has a thread of its own, which is left behind when it hangs.

use std::{
    panic,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::Duration,
};

use warpline::{Model, Monitor, Report, RunError, Simulation};

/// What a run comes to.
pub(crate) type Outcome<M> = Result<Report<<M as Model>::Output>, RunError>;

/// No run of the tests takes this long, on however busy a machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A run under way.
pub(crate) struct Running<M: Model> {
    pub(crate) monitor: Monitor,
    outcome: Receiver<Outcome<M>>,
    thread: JoinHandle<()>,
}

/// Starts a run.
pub(crate) fn start<M: Model + 'static>(simulation: Simulation<'static, M>) -> Running<M> {
    let monitor = Monitor::default();
    let mut simulation = simulation.monitor(&monitor);
    let (done, outcome) = mpsc::channel();
    // Nobody may be left to tell: then the test has failed already.
    let thread = thread::spawn(move || drop(done.send(simulation.run())));
    Running { monitor, outcome, thread }
}

impl<M: Model> Running<M> {
    /// Waits for the end of the run.
    pub(crate) fn end_within(self, patience: Duration) -> Outcome<M> {
        match self.outcome.recv_timeout(patience) {
            Ok(outcome) => outcome,
            Err(RecvTimeoutError::Timeout) => {
                panic!("the run has not ended after {patience:?}:\n{}", self.monitor)
            }
            Err(RecvTimeoutError::Disconnected) => match self.thread.join() {
                Err(payload) => panic::resume_unwind(payload),
                Ok(()) => unreachable!("the thread sends before it ends"),
            },
        }
    }
}

/// Runs a simulation under the watchdog.
pub(crate) fn run<M: Model + 'static>(simulation: Simulation<'static, M>) -> Outcome<M> {
    start(simulation).end_within(PATIENCE)
}

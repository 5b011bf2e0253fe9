//! How many workers a run may use, changed while it goes on: [`WorkerLimit`].

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The most workers (threads) that a run may use from now on. It can be changed at any time, from
/// any thread, and never changes what is committed.
///
/// Engines that cannot change their number of workers keep it: the sequential engine, null
/// messages, and runs on several ranks; with [`Balance::Off`](crate::Balance::Off), engines with
/// windows do so, too.
///
/// ```no_run
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::{Simulation, TimeWarp, WorkerLimit};
///
/// let limit = WorkerLimit::default();
/// let engine = TimeWarp { workers: 8, ..TimeWarp::default() };
/// let mut simulation = Simulation::new(model).end(1e6).engine(engine).worker_limit(&limit);
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         std::thread::sleep(std::time::Duration::from_secs(60));
///         limit.set_workers(2);
///     });
///     simulation.run()
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct WorkerLimit(Arc<AtomicUsize>);

impl Default for WorkerLimit {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(usize::MAX)))
    }
}

impl WorkerLimit {
    /// At most this many workers work from now on, as soon as the engine looks; at least one does.
    pub fn set_workers(&self, workers: usize) {
        // Ordering: Relaxed, here and below; the number publishes nothing.
        self.0.store(workers.max(1), Ordering::Relaxed);
    }

    /// How many may work.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

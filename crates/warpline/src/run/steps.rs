//! What an engine does in the frame of a run, without the type of what its workers share: so that
//! the frame is compiled once for a model, and not for each engine.

use std::time::Instant;

use crate::RunError;

/// The steps of a run between its beginning and its end: what they share is made from an `A`, and
/// the work on it ends with an `O`. Each is taken at most once.
pub(super) trait Steps<A, O> {
    fn make(&mut self, from: A) -> Result<(), RunError>;
    /// Nothing if nothing was made.
    fn work(&mut self, started: Instant) -> Option<O>;
    fn drop_shared(&mut self);
}

/// Those of an engine, whose workers share an `S`.
pub(super) struct EngineSteps<F, W, S> {
    make: Option<F>,
    work: Option<W>,
    shared: Option<S>,
}

impl<F, W, S> EngineSteps<F, W, S> {
    pub(super) const fn new(make: F, work: W) -> Self {
        Self { make: Some(make), work: Some(work), shared: None }
    }
}

impl<A, O, F, W, S> Steps<A, O> for EngineSteps<F, W, S>
where
    F: FnOnce(A) -> Result<S, RunError>,
    W: FnOnce(&mut S, Instant) -> O,
{
    fn make(&mut self, from: A) -> Result<(), RunError> {
        self.shared = self.make.take().map(|make| make(from)).transpose()?;
        Ok(())
    }

    fn work(&mut self, started: Instant) -> Option<O> {
        debug_assert!(self.make.is_none(), "work begins before anything was made");
        let work = self.work.take()?;
        Some(work(self.shared.as_mut()?, started))
    }

    fn drop_shared(&mut self) {
        self.shared = None;
    }
}

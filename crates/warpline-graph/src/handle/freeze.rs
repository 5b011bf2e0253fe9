//! Freezing: all workers stop sending, and everything in transit arrives.
//!
//! Each worker that stops sends all others a marker, which overtakes nothing. A worker that has the
//! markers of all others has received all that they have sent (GRAPH-C). An item that comes after a
//! marker was sent by a worker that has unfrozen already; it is kept apart until this worker
//! unfreezes, too. No worker can be ahead by more than that, because the next freeze needs this
//! worker's marker.

use std::collections::VecDeque;

use super::EventGraph;
use crate::item::Item;

/// The progress of a freeze at one worker.
#[derive(Debug)]
pub(super) struct Freezing<E> {
    /// Whether this worker has stopped sending.
    stopped: bool,
    /// By worker: whether its marker has arrived.
    closed: Vec<bool>,
    markers: usize,
    /// By worker: the items that came after its marker.
    kept: Vec<VecDeque<Item<E>>>,
}

impl<E> Freezing<E> {
    pub(super) fn new(workers: usize) -> Self {
        let kept = (0..workers).map(|_| VecDeque::new()).collect();
        Self { stopped: false, closed: vec![false; workers], markers: 0, kept }
    }

    #[inline]
    pub(super) const fn has_stopped(&self) -> bool {
        self.stopped
    }

    #[inline]
    pub(super) fn is_closed(&self, worker: usize) -> bool {
        self.closed[worker]
    }

    pub(super) fn close(&mut self, worker: usize) {
        self.closed[worker] = true;
        self.markers += 1;
    }

    pub(super) fn keep(&mut self, worker: usize, item: Item<E>) {
        self.kept[worker].push_back(item);
    }
}

impl<E> EventGraph<'_, E> {
    /// Whether another worker freezes the graph, so that this one has to freeze it, too.
    #[inline]
    #[must_use]
    pub const fn is_freeze_requested(&self) -> bool {
        self.freezing.markers > 0 && !self.freezing.stopped
    }

    /// Begins to freeze (Freeze): this worker sends nothing from now on. All workers have to call
    /// it.
    pub fn freeze(&mut self) {
        if !std::mem::replace(&mut self.freezing.stopped, true) {
            let me = self.me;
            for worker in (0..self.plan.workers()).filter(|&worker| worker != me) {
                self.dispatch(worker, Item::Marker);
            }
            self.flush();
        }
    }

    /// Whether this worker has stopped sending: it is frozen, or waits for the others' markers.
    #[inline]
    #[must_use]
    pub const fn is_freezing(&self) -> bool {
        self.freezing.stopped
    }

    /// Whether everything that was sent to this worker has arrived (GRAPH-C).
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.freezing.stopped && self.freezing.markers + 1 == self.plan.workers()
    }

    /// Allows sending again (UnFreeze), once the graph [`is_frozen`](Self::is_frozen).
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn unfreeze(&mut self) {
        assert!(self.is_frozen(), "unfreeze was called before the graph was frozen");
        self.freezing.stopped = false;
        self.freezing.markers = 0;
        self.freezing.closed.fill(false);
        for worker in 0..self.freezing.kept.len() {
            // The marker of the next freeze may be among them; items after it are kept again.
            let mut kept = std::mem::take(&mut self.freezing.kept[worker]);
            while let Some(item) = kept.pop_front() {
                self.admit(worker, item);
            }
            if self.freezing.kept[worker].is_empty() {
                self.freezing.kept[worker] = kept;
            }
        }
    }
}

//! A priority queue that cannot cancel: what a pending set is made of by
//! [`Canceling`](super::Canceling).

use super::Entry;

/// A priority queue without cancellation, which [`Canceling`](super::Canceling) adds.
pub trait MinQueue<E: Entry>: Default {
    /// Adds an entry.
    fn push(&mut self, entry: E);
    /// Removes a least entry and returns it.
    fn pop_min(&mut self) -> Option<E>;
    /// Shows the entry that [`pop_min`](Self::pop_min) would remove.
    fn peek_min(&mut self) -> Option<&E>;
    /// Moves all entries to `entries`, in any order.
    fn drain_into(&mut self, entries: &mut Vec<E>) {
        entries.extend(std::iter::from_fn(|| self.pop_min()));
    }
    /// The number of entries.
    fn count(&self) -> usize;
    /// Shows an entry that will probably be removed after `distance` others, if that is cheap.
    fn near(&self, _distance: usize) -> Option<&E> {
        None
    }
}

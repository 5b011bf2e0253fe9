//! Cancellation for any queue: the removal of an entry is noted, and the entry is dropped when it
//! comes to the front.
//!
//! The removed entries are kept in a second heap. The queue's front is canceled exactly when it
//! equals the least removed entry, because all removed entries are in the queue, too. When most of
//! the queue's entries are canceled, it is rebuilt without them.
//!
//! # Invariants
//!
//! - **CANCEL-A.** As multisets, `removed` is contained in `queue`.
//! - **CANCEL-B.** No removed entry is before `least_removed`. So an entry that is cheap to look at
//!   ([`MinQueue::near`]) and before that time tells that the front is a live one.

use super::{DaryHeap, Entry, MinQueue, PendingSet};

/// A [`MinQueue`] made into a [`PendingSet`].
#[derive(Debug)]
pub struct Canceling<Q, E> {
    queue: Q,
    removed: DaryHeap<E>,
    /// The time of the least removed entry, or infinity (CANCEL-B).
    least_removed: f64,
}

impl<Q: Default, E> Default for Canceling<Q, E> {
    fn default() -> Self {
        Self { queue: Q::default(), removed: DaryHeap::default(), least_removed: f64::INFINITY }
    }
}

/// Fewer canceled entries than this are not worth a rebuild.
const COMPACT_MIN: usize = 1024;

impl<Q: MinQueue<E>, E: Entry> Canceling<Q, E> {
    /// Rebuilds the queue from its live entries. At least as many entries are dropped as are moved,
    /// so a removal pays for it with a constant number of moves.
    #[inline(never)]
    fn compact(&mut self) {
        debug_assert!(self.removed.count() <= self.queue.count(), "more was removed than is there");
        let mut live = Q::default();
        while let Some(entry) = self.pop() {
            live.push(entry);
        }
        debug_assert_eq!(self.removed.count(), 0, "CANCEL-A: what was removed was not there");
        self.queue = live;
    }

    /// Whether the front may be a canceled entry. Mostly its time tells that it is not.
    #[inline(always)]
    fn may_be_canceled(&self) -> bool {
        // An entry that is near is the front, or comes after it.
        self.queue.near(0).is_none_or(|near| near.time() >= self.least_removed)
    }

    /// Drops canceled entries from the front until the front is a live one.
    #[inline(never)]
    fn settle(&mut self) {
        while let Some(least) = self.removed.peek_min() {
            if self.queue.peek_min() != Some(least) {
                break;
            }
            let (removed, dropped) = (self.removed.pop_min(), self.queue.pop_min());
            debug_assert!(removed == dropped, "CANCEL-A: a live entry is dropped");
        }
        self.least_removed = self.removed.peek_min().map_or(f64::INFINITY, Entry::time);
    }
}

/// Takes entries out of those from `start` on, each once. It does not depend on the queue, so that
/// it is compiled once for all queues.
fn take_out<E: Entry>(entries: &mut Vec<E>, start: usize, mut removed: Vec<E>) {
    removed.sort_unstable();
    let mut found = vec![false; removed.len()];
    let drained = entries.split_off(start);
    entries.extend(drained.into_iter().filter(|entry| {
        let first = removed.partition_point(|other| other < entry);
        let equal = removed[first..].iter().take_while(|other| *other == entry).count();
        let place = found[first..first + equal].iter().position(|found| !found);
        place.inspect(|place| found[first + place] = true).is_none()
    }));
    debug_assert!(found.iter().all(|&found| found), "CANCEL-A: it was not there");
}

impl<Q: MinQueue<E>, E: Entry> PendingSet<E> for Canceling<Q, E> {
    #[inline(always)]
    fn insert(&mut self, entry: E) {
        self.queue.push(entry);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<E> {
        debug_assert!(
            self.removed.peek_min().is_none_or(|least| least.time() >= self.least_removed),
            "CANCEL-B: a canceled entry would be handled"
        );
        if self.removed.count() > 0 && self.may_be_canceled() {
            self.settle();
        }
        self.queue.pop_min()
    }

    #[inline]
    fn peek(&mut self) -> Option<&E> {
        if self.removed.count() > 0 {
            self.settle();
        }
        self.queue.peek_min()
    }

    fn remove(&mut self, entry: E) {
        self.least_removed = self.least_removed.min(entry.time());
        self.removed.push(entry);
        if self.removed.count() > COMPACT_MIN && self.removed.count() > self.queue.count() / 2 {
            self.compact();
        }
    }

    /// The canceled ones are looked up among those that are drained, so nothing has to be popped
    /// in order.
    fn drain_into(&mut self, entries: &mut Vec<E>) {
        let start = entries.len();
        self.queue.drain_into(entries);
        let mut removed = Vec::new();
        self.removed.drain_into(&mut removed);
        self.least_removed = f64::INFINITY;
        if removed.is_empty() {
            return;
        }
        take_out(entries, start, removed);
    }

    #[inline]
    fn len(&self) -> usize {
        debug_assert!(
            self.removed.count() <= self.queue.count(),
            "CANCEL-A: more removed than there"
        );
        self.queue.count() - self.removed.count()
    }

    #[inline]
    fn upcoming(&self, distance: usize) -> Option<&E> {
        self.queue.near(distance)
    }
}

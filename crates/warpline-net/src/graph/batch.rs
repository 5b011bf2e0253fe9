//! Message aggregation within a rank: items for another worker gather in a list until there are enough of them.
//!
//! Used by handles, once per other worker of the rank. Between ranks an [`Outbox`](crate::Outbox) does the same.

use super::item::Item;
use crate::Aggregation;

/// The bytes that an adaptive batch begins with, has at least, and at most.
const THRESHOLD: usize = 1 << 10;
const THRESHOLD_MIN: usize = 1 << 7;
const THRESHOLD_MAX: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Batch<E> {
    pub(super) items: Vec<Item<E>>,
    /// So many items are enough.
    threshold: usize,
    adapts: bool,
}

impl<E> Batch<E> {
    pub(super) fn new(aggregation: Aggregation) -> Self {
        let bytes = match aggregation {
            Aggregation::Off => 0,
            Aggregation::Bytes(bytes) => bytes,
            Aggregation::Adaptive => THRESHOLD,
        };
        let adapts = aggregation == Aggregation::Adaptive;
        Self { items: Vec::new(), threshold: Self::items_of(bytes), adapts }
    }

    const fn items_of(bytes: usize) -> usize {
        bytes.div_ceil(size_of::<Item<E>>())
    }

    /// Puts in an item; says whether there are enough now.
    #[inline]
    pub(super) fn put(&mut self, item: Item<E>) -> bool {
        self.items.push(item);
        let is_full = self.items.len() >= self.threshold;
        if is_full && self.adapts {
            self.threshold = (2 * self.threshold).min(Self::items_of(THRESHOLD_MAX));
        }
        is_full
    }

    /// The items are about to be posted although they are not enough.
    pub(super) fn flush(&mut self) {
        if self.adapts && 4 * self.items.len() < self.threshold {
            self.threshold = (self.threshold / 2).max(Self::items_of(THRESHOLD_MIN));
        }
    }
}

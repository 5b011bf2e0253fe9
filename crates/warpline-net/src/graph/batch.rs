//! Message aggregation within a rank: items for another worker gather in a list until there are
//! enough of them.
//!
//! Used by handles, once per other worker of the rank. Between ranks an [`Outbox`](crate::Outbox)
//! does the same.

use super::item::Item;
use crate::{Aggregation, outbox::Threshold};

#[derive(Debug)]
pub(super) struct Batch<E> {
    pub(super) items: Vec<Item<E>>,
    threshold: Threshold,
}

impl<E> Batch<E> {
    pub(super) fn new(aggregation: Aggregation) -> Self {
        Self { items: Vec::new(), threshold: Threshold::new(aggregation) }
    }

    const fn bytes(&self) -> usize {
        self.items.len() * size_of::<Item<E>>()
    }

    /// Puts in an item; says whether there are enough now.
    #[inline]
    pub(super) fn put(&mut self, item: Item<E>) -> bool {
        self.items.push(item);
        self.threshold.is_reached(self.bytes())
    }

    /// The items are about to be posted although they are not enough.
    pub(super) fn flush(&mut self) {
        self.threshold.is_not_awaited(self.bytes());
    }
}

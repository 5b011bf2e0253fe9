//! Message aggregation within a rank: items for another worker gather in a list until they are
//! enough to be posted.
//!
//! Used by handles, once per other worker of the rank. Between ranks an
//! [`Outbox`](warpline_net::Outbox) does the same.

use warpline_net::{Aggregation, Threshold};

use crate::item::Item;

/// The items that one worker has gathered for another one.
#[derive(Debug)]
pub(crate) struct Batch<E> {
    pub(crate) items: Vec<Item<E>>,
    threshold: Threshold,
}

impl<E> Batch<E> {
    pub(crate) fn new(aggregation: Aggregation) -> Self {
        Self { items: Vec::new(), threshold: Threshold::new(aggregation) }
    }

    const fn bytes(&self) -> usize {
        self.items.len() * size_of::<Item<E>>()
    }

    /// Adds an item; returns whether the batch should be posted now.
    #[inline]
    pub(crate) fn put(&mut self, item: Item<E>) -> bool {
        self.items.push(item);
        self.threshold.is_reached(self.bytes())
    }

    /// Notes that the batch is posted before it is full.
    pub(crate) fn flush(&mut self) {
        self.threshold.is_not_awaited(self.bytes());
    }
}

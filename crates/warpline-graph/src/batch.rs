//! Message aggregation within a rank: items for another worker gather in a list until there are
//! enough of them.
//!
//! Used by handles, once per other worker of the rank. Between ranks an [`Outbox`](warpline_net::Outbox)
//! does the same.

use warpline_net::{Aggregation, Threshold};

use crate::item::Item;

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

    /// Puts in an item; says whether there are enough now.
    #[inline]
    pub(crate) fn put(&mut self, item: Item<E>) -> bool {
        self.items.push(item);
        self.threshold.is_reached(self.bytes())
    }

    /// The items are about to be posted although they are not enough.
    pub(crate) fn flush(&mut self) {
        self.threshold.is_not_awaited(self.bytes());
    }
}

//! The order in which a worker handles the events of a window: LP after LP, so that each LP is
//! loaded into the cache once.
//!
//! [`WindowWorker`](super::worker::WindowWorker) makes a schedule for each bucket that it takes
//! from the calendar.

use warpline_core::EventKey;

use crate::{
    event::{
        Bucket,
        by_lp::{self, Item, SortByLp},
    },
    local_lp::LocalLp,
};

/// The item's event.
#[inline]
pub(super) fn event<E>(bucket: &Bucket<E>, item: Item) -> &E {
    bucket.get(by_lp::place(item))
}

/// The schedule of one bucket; kept from window to window for its memory.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    sort: SortByLp,
    sorted: Vec<Item>,
}

impl Schedule {
    /// Makes the schedule of a bucket. Its events are for the `lps` LPs from index `first` on;
    /// `local_of` returns the index of an event's LP.
    pub(super) fn plan<E>(
        &mut self,
        bucket: &Bucket<E>,
        [first, lps]: [usize; 2],
        local_of: impl Fn(&E) -> LocalLp,
    ) {
        self.sorted.clear();
        let item = |event: &E, place| by_lp::item(local_of(event), place);
        self.sort.sort(bucket.slices(), item, [first, lps], &mut self.sorted);
        debug_assert_eq!(self.sorted.len(), bucket.len(), "CONS-C: an event is lost");
    }

    /// How many events there are.
    pub(super) const fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The events from a place on.
    pub(super) fn rest(&self, place: usize) -> &[Item] {
        &self.sorted[place..]
    }

    /// The items of one of `lps`: see [`by_lp::group`].
    #[inline]
    pub(super) fn group<L>(
        &mut self,
        place: usize,
        key: impl Fn(Item) -> EventKey,
        lps: &[L],
    ) -> &[Item] {
        by_lp::group(&mut self.sorted, place, key, lps)
    }
}

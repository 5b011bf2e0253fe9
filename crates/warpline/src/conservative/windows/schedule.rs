//! The order in which a worker handles the events of a window: LP after LP, so that each LP is
//! loaded into the cache once.
//!
//! [`Worker`](super::worker::Worker) makes a schedule for each bucket that it takes from the
//! calendar.

use warpline_core::EventKey;

use crate::event::Bucket;

/// An event of a window: the upper half is its LP's place at this worker, the lower half is the
/// event's place in the bucket.
pub(super) type Item = u64;

/// Above this number of LPs per event, sorting the items is faster than counting them by LP.
const SPARSE: usize = 8;

/// The schedule of one bucket; kept from window to window for its memory.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    items: Vec<Item>,
    sorted: Vec<Item>,
    /// By LP: where its next item goes.
    places: Vec<u32>,
}

/// The place of the item's event in its bucket.
#[inline]
pub(super) const fn place(item: Item) -> usize {
    item as u32 as usize
}

/// The item's event.
#[inline]
pub(super) fn event<E>(bucket: &Bucket<E>, item: Item) -> &E {
    bucket.get(place(item))
}

/// The item's LP, by its place at the worker.
#[inline]
pub(super) const fn local(item: Item) -> usize {
    (item >> 32) as usize
}

impl Schedule {
    /// Makes the schedule of a bucket. Its events are for the `lps` LPs from place `first` on;
    /// `local_of` returns the place of an event's LP.
    pub(super) fn plan<E>(
        &mut self,
        bucket: &Bucket<E>,
        [first, lps]: [usize; 2],
        local_of: impl Fn(&E) -> u32,
    ) {
        self.items.clear();
        let item = |(event, place)| u64::from(local_of(event)) << 32 | place;
        self.items.extend(bucket.iter().zip(0..).map(item));
        if lps > SPARSE * self.items.len() {
            self.items.sort_unstable();
            std::mem::swap(&mut self.items, &mut self.sorted);
        } else {
            self.count(first, lps);
        }
    }

    /// Sorts the items by LP with a counting sort.
    fn count(&mut self, first: usize, lps: usize) {
        self.places.clear();
        self.places.resize(lps, 0);
        for &item in &self.items {
            self.places[local(item) - first] += 1;
        }
        let mut before = 0;
        for place in &mut self.places {
            before += std::mem::replace(place, before);
        }
        self.sorted.clear();
        self.sorted.resize(self.items.len(), 0);
        for &item in &self.items {
            let place = &mut self.places[local(item) - first];
            self.sorted[*place as usize] = item;
            *place += 1;
        }
    }

    /// How many events there are.
    pub(super) const fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The items of the LP whose first item is at `place`, in the order of their keys.
    #[inline]
    pub(super) fn group(&mut self, place: usize, key: impl Fn(Item) -> EventKey) -> &[Item] {
        let lp = local(self.sorted[place]);
        let len = self.sorted[place..].iter().take_while(|&&item| local(item) == lp).count();
        let group = &mut self.sorted[place..place + len];
        match group {
            [_] => {}
            // Most LPs have one or two events in a window.
            [a, b] => {
                if key(*b) < key(*a) {
                    std::mem::swap(a, b);
                }
            }
            _ => group.sort_unstable_by_key(|&item| key(item)),
        }
        group
    }
}

//! The order of work in a window: LP after LP, so that each is loaded into the cache once.

use warpline_core::EventKey;

use super::calendar::Bucket;

/// An event of a window: its LP's place at this worker in the upper half, its own place in the
/// lower.
pub(super) type Item = u64;

/// Counting by LP pays when there are at least so many LPs for each event; sorting pays otherwise.
const SPARSE: usize = 8;

/// See the module; kept from window to window for its memory.
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
    /// Makes the schedule of a bucket; `local_of` says at which place an event's LP is: one of `lps`
    /// from `first` on.
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

    /// Sorts the items by LP, by counting them.
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

    /// The items of the LP whose first one is at `place`, in the order of their keys.
    #[inline]
    pub(super) fn group(&mut self, place: usize, key: impl Fn(Item) -> EventKey) -> &[Item] {
        let lp = local(self.sorted[place]);
        let len = self.sorted[place..].iter().take_while(|&&item| local(item) == lp).count();
        let group = &mut self.sorted[place..place + len];
        match group {
            [_] => {}
            // Most have one or two.
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

//! Events of a list by LP: a worker handles LP after LP, so that each is in the cache once loaded.
//!
//! The windows of the conservative engine and those of the speculative engine are sorted so.

use warpline_core::EventKey;
use warpline_memory::prefetch_ends;

use crate::{local_lp::LocalLp, sorting};

/// An event of a list: the upper half is its LP's index at this worker, the lower half is the
/// event's place in the list.
pub(crate) type Item = u64;

/// Above this number of LPs per event, sorting the items is faster than counting them by LP.
const SPARSE: usize = 8;

/// How many events later the LP is that is fetched while one is handled. Where windows have an
/// event for few of many LPs, each of these is a miss: windows that speculate are a sixth faster
/// with this on 300 000 LPs.
const AHEAD: usize = 8;

/// The item of an event.
#[inline]
pub(crate) fn item(local: LocalLp, place: usize) -> Item {
    debug_assert!(u32::try_from(place).is_ok(), "place {place} changes the LP");
    u64::from(local.get()) << 32 | place as u64
}

/// The place of the item's event in its list.
#[inline]
pub(crate) const fn place(item: Item) -> usize {
    item as u32 as usize
}

/// The item's LP.
#[inline]
pub(crate) const fn local(item: Item) -> LocalLp {
    LocalLp::new((item >> 32) as u32)
}

/// Sorts items by LP; kept for its memory.
#[derive(Debug, Default)]
pub(crate) struct SortByLp {
    items: Vec<Item>,
    /// By LP: where its next item goes.
    places: Vec<u32>,
}

impl SortByLp {
    /// Appends the items of `slices` of events to `sorted`, by LP: those that `item` makes of an
    /// event and its place, which for each slice is counted from a number on. They are for the
    /// `lps` LPs from index `first` on.
    ///
    /// Over the events of a slice, the compiler makes a loop without a branch. Over those of an
    /// iterator that flattens slices it makes one that takes five times as many instructions.
    pub(crate) fn sort<'e, E: 'e>(
        &mut self,
        slices: impl Iterator<Item = (usize, &'e [E])>,
        item: impl Fn(&E, usize) -> Item,
        [first, lps]: [usize; 2],
        sorted: &mut Vec<Item>,
    ) {
        self.items.clear();
        for (from, events) in slices {
            self.items.extend(events.iter().zip(from..).map(|(event, place)| item(event, place)));
        }
        if lps > SPARSE * self.items.len() {
            self.items.sort_unstable();
            sorted.extend_from_slice(&self.items);
        } else {
            self.count(first, lps, sorted);
        }
    }

    /// Sorts the items with a counting sort.
    fn count(&mut self, first: usize, lps: usize, sorted: &mut Vec<Item>) {
        self.places.clear();
        self.places.resize(lps, 0);
        for &item in &self.items {
            self.places[local(item).index() - first] += 1;
        }
        let mut before = 0;
        for place in &mut self.places {
            before += std::mem::replace(place, before);
        }
        let start = sorted.len();
        sorted.resize(start + self.items.len(), 0);
        let sorted = &mut sorted[start..];
        for &item in &self.items {
            let place = &mut self.places[local(item).index() - first];
            sorted[*place as usize] = item;
            *place += 1;
        }
        debug_assert!(sorted.is_sorted_by_key(|&item| local(item)), "an LP has two groups");
    }
}

/// The items of the LP whose first item is at `place` of sorted items, in the order of their keys.
/// Starts to load the one of `lps` that comes some events later.
#[inline]
pub(crate) fn group<'s, L>(
    sorted: &'s mut [Item],
    place: usize,
    key: impl Fn(Item) -> EventKey,
    lps: &[L],
) -> &'s [Item] {
    if let Some(&later) = sorted.get(place + AHEAD)
        && let Some(lp) = lps.get(local(later).index())
    {
        prefetch_ends(lp);
    }
    let lp = local(sorted[place]);
    debug_assert!(place == 0 || local(sorted[place - 1]) < lp, "a group begins within another");
    let len = sorted[place..].iter().take_while(|&&item| local(item) == lp).count();
    let group = &mut sorted[place..place + len];
    match group {
        [_] => {}
        // Most LPs have one or two events in a window.
        [a, b] => {
            if key(*b) < key(*a) {
                std::mem::swap(a, b);
            }
        }
        _ => sorting::by_key(group, key),
    }
    group
}

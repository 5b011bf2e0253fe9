//! Many short lists in one memory: each list is made of chunks, which go from list to list.
//!
//! The speculative engine has a list for each part of virtual time and of a worker's LPs. Most
//! lists are empty most of the time, so memory that stayed with a list would be several times that
//! of the items; and items are appended to lists in any order, so all that one append reads is one
//! word of the list and the end of its last chunk.
//!
//! # Invariants
//!
//! - **LIST-A.** A chunk belongs to one list or is spare. A list of `n` items has `n / ITEMS`
//!   chunks, rounded up. Each but the last one is full; the first items of the last one are
//!   initialized, and no others.

#![expect(unsafe_code, reason = "items lie in uninitialized memory, and are moved out in blocks")]

use std::{fmt, mem::needs_drop, ptr::NonNull};

use crate::{
    prefetch::prefetch_at,
    slab::{ITEMS, PLACE_BITS, Slab},
};

/// No chunk.
const NONE: u32 = u32::MAX;
/// The size of a cache line.
const LINE: usize = 64;

/// A list.
#[derive(Clone, Copy)]
struct Head {
    /// Its last chunk.
    last: u32,
    /// How many items it has.
    len: u32,
}

const EMPTY: Head = Head { last: NONE, len: 0 };

/// A fixed number of lists, which share their memory.
pub struct Lists<T> {
    heads: Box<[Head]>,
    /// As many lists again, which were set aside.
    aside: Box<[Head]>,
    slabs: Vec<Slab<T>>,
    /// By chunk: the next one of its list, after the last one the first; or the next spare one.
    next: Vec<u32>,
    /// The spare chunk that was used last.
    spare: u32,
    /// The first chunk of the last slab that was never used, by its place.
    fresh: usize,
}

impl<T> Lists<T> {
    /// This number of empty lists.
    #[must_use]
    pub fn new(lists: usize) -> Self {
        let heads: Box<[Head]> = vec![EMPTY; lists].into();
        let (aside, fresh) = (heads.clone(), Slab::<T>::CHUNKS);
        Self { heads, aside, slabs: Vec::new(), next: Vec::new(), spare: NONE, fresh }
    }

    /// How many items a list has.
    #[inline]
    #[must_use]
    pub fn len(&self, list: usize) -> usize {
        self.heads[list].len as usize
    }

    /// Whether a list has no items.
    #[inline]
    #[must_use]
    pub fn is_empty(&self, list: usize) -> bool {
        self.heads[list].len == 0
    }

    /// The place of an item in a chunk.
    #[inline]
    fn place(&self, chunk: u32, item: usize) -> NonNull<T> {
        debug_assert!(item < ITEMS, "LIST-A: a chunk has no item {item}");
        let slab = &self.slabs[(chunk >> PLACE_BITS) as usize];
        let place = (chunk & ((1 << PLACE_BITS) - 1)) as usize;
        // SAFETY: numbers of chunks come from `fresh_chunk`, so the slab has this one; and a chunk
        // has `ITEMS` items.
        unsafe { slab.memory().add(place * ITEMS + item) }
    }

    /// Appends an item. `make` makes it in its place: an item that is assembled elsewhere in small
    /// stores, and then copied by large loads, takes longer than all the rest.
    #[inline(always)]
    pub fn push(&mut self, list: usize, make: impl FnOnce() -> T) {
        let Head { last, len } = self.heads[list];
        let item = len as usize % ITEMS;
        let chunk = if item == 0 { self.spare_chunk(len) } else { last };
        let place = self.place(chunk, item);
        // SAFETY: the chunk is the list's or was spare, and the place is after the list's items, so
        // nothing is there (LIST-A). If `make` panics, the list is as it was.
        unsafe { place.write(make()) };
        if item == 0 {
            self.link(last, chunk);
        }
        debug_assert_ne!(chunk, NONE, "LIST-A: an item without a chunk");
        self.heads[list] = Head { last: chunk, len: len + 1 };
        // Before the next item of this list there are hundreds for others, so its cache line would
        // not be in any near cache.
        prefetch_at(place.as_ptr().wrapping_byte_add(LINE));
    }

    /// Takes a spare chunk for a list with this number of items.
    #[inline]
    fn spare_chunk(&mut self, len: u32) -> u32 {
        let chunk = self.spare;
        if chunk == NONE || len > u32::MAX - ITEMS as u32 {
            return self.fresh_chunk(len);
        }
        self.spare = self.next[chunk as usize];
        debug_assert_ne!(self.spare, chunk, "LIST-A: a spare chunk is linked to itself");
        chunk
    }

    #[cold]
    #[inline(never)]
    fn fresh_chunk(&mut self, len: u32) -> u32 {
        assert!(len <= u32::MAX - ITEMS as u32, "a list has less than 2^32 items");
        if self.fresh == Slab::<T>::CHUNKS {
            assert!(self.slabs.len() < 1 << (32 - PLACE_BITS) as usize, "less than 2^32 chunks");
            self.slabs.push(Slab::new(!self.slabs.is_empty()));
            self.next.resize(self.slabs.len() << PLACE_BITS, NONE);
            self.fresh = 0;
        }
        debug_assert!(self.fresh < Slab::<T>::CHUNKS, "LIST-A: a chunk beyond its slab");
        self.fresh += 1;
        ((self.slabs.len() - 1) << PLACE_BITS | (self.fresh - 1)) as u32
    }

    /// Puts a chunk after the last one of a list.
    #[inline]
    fn link(&mut self, last: u32, chunk: u32) {
        debug_assert_ne!(last, chunk, "LIST-A: a chunk is linked to itself");
        let first = if last == NONE {
            chunk
        } else {
            std::mem::replace(&mut self.next[last as usize], chunk)
        };
        self.next[chunk as usize] = first;
    }

    /// Empties a list, without its items, which belong to the caller from here on.
    #[inline]
    fn reset(&mut self, list: usize) {
        let Head { last, .. } = std::mem::replace(&mut self.heads[list], EMPTY);
        if last != NONE {
            let first = std::mem::replace(&mut self.next[last as usize], self.spare);
            debug_assert_ne!(first, NONE, "LIST-A: the chunks of a list are no ring");
            self.spare = first;
        }
    }

    /// The chunks of a list in their order, each with its number of items.
    fn chunks(&self, list: usize) -> impl Iterator<Item = (u32, usize)> {
        let Head { last, len } = self.heads[list];
        let mut chunk = last;
        (0..len as usize).step_by(ITEMS).map(move |before| {
            chunk = self.next[chunk as usize];
            (chunk, (len as usize - before).min(ITEMS))
        })
    }

    /// Moves all items of a list to the end of `target`, in their order.
    #[inline]
    pub fn move_to(&mut self, list: usize, target: &mut Vec<T>) {
        let Head { last, len } = self.heads[list];
        if len == 0 {
            return;
        }
        debug_assert_ne!(last, NONE, "LIST-A: a list with items has no chunk");
        target.reserve(len as usize);
        let mut chunk = last;
        let mut left = len as usize;
        while left > 0 {
            chunk = self.next[chunk as usize];
            let items = left.min(ITEMS);
            let (from, end) = (self.place(chunk, 0), target.len());
            let to = target.spare_capacity_mut().as_mut_ptr().cast::<T>();
            // SAFETY: the chunk has that many items (LIST-A), and `target` has room for all items
            // of the list. The items belong to `target` now: nothing between here and
            // `reset` panics or reads them.
            unsafe { to.copy_from_nonoverlapping(from.as_ptr(), items) };
            // SAFETY: these items were just written.
            unsafe { target.set_len(end + items) };
            left -= items;
        }
        self.reset(list);
    }

    /// The items of a list, in their order.
    pub fn iter(&self, list: usize) -> impl Iterator<Item = &T> {
        let items = move |(chunk, items)| (0..items).map(move |item| self.place(chunk, item));
        // SAFETY: the first items of a chunk are initialized (LIST-A), and nobody changes them
        // while the lists are borrowed.
        self.chunks(list).flat_map(items).map(|place| unsafe { place.as_ref() })
    }

    /// Sets all lists aside, so that their items can be sorted into new lists without taking the
    /// memory twice. Nothing may be there from before.
    pub fn set_aside(&mut self) {
        assert!(self.aside.iter().all(|head| head.len == 0), "lists are aside already");
        std::mem::swap(&mut self.heads, &mut self.aside);
    }

    /// Moves all items of a list that was set aside to the end of `target`, in their order.
    pub fn move_aside_to(&mut self, list: usize, target: &mut Vec<T>) {
        std::mem::swap(&mut self.heads, &mut self.aside);
        self.move_to(list, target);
        std::mem::swap(&mut self.heads, &mut self.aside);
    }

    /// Puts a list back that was set aside, in exchange for the list that is in its place.
    pub fn exchange(&mut self, list: usize) {
        debug_assert_eq!(
            self.heads.len(),
            self.aside.len(),
            "as many lists are aside as there are"
        );
        std::mem::swap(&mut self.heads[list], &mut self.aside[list]);
    }

    /// Takes out the first item of a list that fits, and puts the last one in its place.
    pub fn take(&mut self, list: usize, fits: impl Fn(&T) -> bool) -> Option<T> {
        let mut items =
            self.chunks(list).flat_map(|(chunk, items)| (0..items).map(move |item| (chunk, item)));
        // SAFETY: the first items of a chunk are initialized (LIST-A).
        let (chunk, item) =
            items.find(|&(chunk, item)| fits(unsafe { self.place(chunk, item).as_ref() }))?;
        drop(items);
        let Head { last, len } = self.heads[list];
        debug_assert!(len > 0 && last != NONE, "LIST-A: an item of an empty list was found");
        let (place, end) = (self.place(chunk, item), self.place(last, (len - 1) as usize % ITEMS));
        // SAFETY: both are items of the list, or the same one. One of them goes to the caller, and
        // the list loses the last place.
        let found = unsafe { place.read() };
        // SAFETY: as above; source and target may be the same.
        unsafe { place.copy_from(end, 1) };
        self.heads[list].len -= 1;
        if ((len - 1) as usize).is_multiple_of(ITEMS) {
            self.unlink_last(list);
        }
        Some(found)
    }

    /// Keeps the items of a list for which `keep` says so, in their order. If it panics, the items
    /// are leaked.
    pub fn retain(&mut self, list: usize, mut keep: impl FnMut(&T) -> bool) {
        let Head { last, len } = std::mem::replace(&mut self.heads[list], EMPTY);
        let (mut from, mut to, mut kept) = (last, last, 0);
        for item in 0..len as usize {
            if item % ITEMS == 0 {
                from = self.next[from as usize];
            }
            let place = self.place(from, item % ITEMS);
            // SAFETY: the list had this item (LIST-A), and it was not moved yet.
            if !keep(unsafe { place.as_ref() }) {
                // SAFETY: as above; nothing reads the place any more.
                unsafe { place.drop_in_place() };
                continue;
            }
            if kept % ITEMS == 0 {
                to = self.next[to as usize];
            }
            // SAFETY: as many items were kept as there are places before this one, so the target is
            // this place or one whose item was dropped or moved.
            unsafe { place.copy_to(self.place(to, kept % ITEMS), 1) };
            kept += 1;
        }
        debug_assert!(kept <= len as usize, "LIST-A: more items were kept than there were");
        self.heads[list] = Head { last, len: kept as u32 };
        if kept == 0 {
            self.reset(list);
        } else if to != last {
            let first = std::mem::replace(&mut self.next[last as usize], self.spare);
            self.spare = std::mem::replace(&mut self.next[to as usize], first);
            self.heads[list].last = to;
        }
    }

    /// Makes the last chunk of a list spare, which is empty.
    fn unlink_last(&mut self, list: usize) {
        let Head { last, len } = self.heads[list];
        if len == 0 {
            return self.reset(list);
        }
        debug_assert_ne!(self.next[last as usize], last, "LIST-A: its only chunk has items");
        let mut before = last;
        while self.next[before as usize] != last {
            before = self.next[before as usize];
        }
        self.next[before as usize] = std::mem::replace(&mut self.next[last as usize], self.spare);
        self.spare = last;
        self.heads[list].last = before;
    }
}

impl<T> fmt::Debug for Lists<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lists").field("lists", &self.heads.len()).finish_non_exhaustive()
    }
}

impl<T> Drop for Lists<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            for list in 0..self.heads.len() {
                let mut items = Vec::new();
                self.move_to(list, &mut items);
                self.move_aside_to(list, &mut items);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;

    /// What is done with a list.
    #[derive(Clone, Copy, Debug)]
    enum Action {
        Push(usize),
        Take(usize, u32),
        Move(usize),
        Retain(usize, u32),
        Aside,
    }

    fn action() -> impl Strategy<Value = Action> {
        prop_oneof![
            40 => (0..3_usize).prop_map(Action::Push),
            4 => (0..3_usize, 0..100_u32).prop_map(|(list, item)| Action::Take(list, item)),
            1 => (0..3_usize).prop_map(Action::Move),
            2 => (0..3_usize, 0..50_u32).prop_map(|(list, item)| Action::Retain(list, item)),
            1 => Just(Action::Aside),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: if cfg!(miri) { 4 } else { 256 },
            // Miri does not let it look for files.
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        /// LIST-A: lists behave as vectors, and no item is dropped twice or never.
        #[test]
        fn lists_are_like_vectors(actions in prop::collection::vec(action(), 0..400)) {
            let marker = Rc::new(());
            let (mut lists, mut vectors) = (Lists::new(3), [(); 3].map(|()| Vec::new()));
            for (number, action) in (0_u32..).zip(actions) {
                match action {
                    Action::Push(list) => {
                        lists.push(list, || (number % 50, Rc::clone(&marker)));
                        vectors[list].push(number % 50);
                    }
                    Action::Take(list, item) => {
                        let found = lists.take(list, |(other, _)| *other == item);
                        let vector: &mut Vec<u32> = &mut vectors[list];
                        let place = vector.iter().position(|other| *other == item);
                        let expected = place.map(|place| vector.swap_remove(place));
                        prop_assert_eq!(found.map(|(item, _)| item), expected);
                    }
                    Action::Move(list) => {
                        let mut items = Vec::new();
                        lists.move_to(list, &mut items);
                        let items: Vec<_> = items.iter().map(|(item, _)| *item).collect();
                        prop_assert_eq!(items, std::mem::take(&mut vectors[list]));
                    }
                    Action::Retain(list, least) => {
                        lists.retain(list, |(item, _)| *item >= least);
                        vectors[list].retain(|item| *item >= least);
                    }
                    Action::Aside => {
                        lists.set_aside();
                        lists.push(0, || (0, Rc::clone(&marker)));
                        lists.exchange(0);
                        let mut items = Vec::new();
                        lists.move_aside_to(0, &mut items);
                        prop_assert_eq!(items.len(), 1);
                        (1..3).for_each(|list| lists.move_aside_to(list, &mut items));
                        let moved = items.into_iter().skip(1).map(|(item, _)| item);
                        prop_assert!(moved.eq(vectors[1..].iter_mut().flat_map(std::mem::take)));
                    }
                }
                for (list, vector) in vectors.iter().enumerate() {
                    prop_assert_eq!(lists.len(list), vector.len());
                    prop_assert_eq!(lists.is_empty(list), vector.is_empty());
                    prop_assert!(lists.iter(list).map(|(item, _)| item).eq(vector));
                }
                let left: usize = vectors.iter().map(Vec::len).sum();
                prop_assert_eq!(Rc::strong_count(&marker), left + 1);
            }
            drop(lists);
            prop_assert_eq!(Rc::strong_count(&marker), 1);
        }
    }

    /// Chunks of lists that were emptied are used again: no slab is added.
    #[test]
    fn memory_is_used_again() {
        let mut lists = Lists::new(2);
        let mut target = Vec::new();
        for round in 0..10 {
            let items = Slab::<[u64; 64]>::CHUNKS * ITEMS / 2;
            (0..items).for_each(|item| lists.push(item % 2, || [item as u64; 64]));
            (0..2).for_each(|list| lists.move_to(list, &mut target));
            assert_eq!(lists.slabs.len(), 1, "round {round}");
            target.clear();
        }
    }

    /// If making an item fails, the list stays as it was.
    #[test]
    fn a_panic_leaves_the_list() {
        let mut lists = Lists::new(1);
        for count in [0, 1, ITEMS - 1] {
            (lists.len(0)..count).for_each(|item| lists.push(0, || item));
            let lists = std::panic::AssertUnwindSafe(&mut lists);
            let fails = || { lists }.0.push(0, || std::panic::resume_unwind(Box::new(())));
            assert!(std::panic::catch_unwind(fails).is_err());
        }
        let mut items = Vec::new();
        lists.move_to(0, &mut items);
        assert!(items.into_iter().eq(0..ITEMS - 1));
    }
}

//! A worker's pending events, by slot and tile.
//!
//! Events are appended to the bucket of their slot and tile, in no order, and taken out once, when
//! the window that has the slot is opened. Events of late slots wait in one list, which is looked
//! through now and then.
//!
//! # Invariants
//!
//! - **SLOT-A.** An event is in the bucket of its slot and tile if its slot is less than [`SLOTS`]
//!   slots after the first one; or else in the far list, or it was there at the last look, which
//!   was less than [`LOOK_EVERY`] slots ago.

use super::event::{Event, annihilate};
use crate::event::{Bucket, SpareChunks};

/// Slots with buckets of their own.
const SLOTS: u64 = 256;
/// The far list is looked through each time that this number of slots has passed.
const LOOK_EVERY: u64 = SLOTS / 4;

/// Pending events by slot and tile.
#[derive(Debug)]
pub(super) struct Calendar<B> {
    tiles: usize,
    /// By slot modulo [`SLOTS`], then by tile.
    buckets: Vec<Bucket<Event<B>>>,
    spares: SpareChunks<Event<B>>,
    /// No event is in a slot before this one.
    first: u64,
    far: Vec<Event<B>>,
    /// Anti-messages for events of the far list.
    far_antis: Vec<Event<B>>,
    /// When the first slot is this one, the far list is looked through.
    next_look: u64,
    len: u64,
}

impl<B> Calendar<B> {
    pub(super) fn new(tiles: usize) -> Self {
        let buckets = (0..SLOTS as usize * tiles).map(|_| Bucket::default()).collect();
        let spares = SpareChunks::default();
        let (far, far_antis) = (Vec::new(), Vec::new());
        Self { tiles, buckets, spares, first: 0, far, far_antis, next_look: LOOK_EVERY, len: 0 }
    }

    /// How many events are pending.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    pub(super) const fn tiles(&self) -> usize {
        self.tiles
    }

    #[inline]
    fn index(&self, slot: u64, tile: usize) -> usize {
        (slot % SLOTS) as usize * self.tiles + tile
    }

    #[inline]
    fn is_near(&self, slot: u64) -> bool {
        slot.wrapping_sub(self.first) < SLOTS
    }

    /// Inserts the event that `make` makes.
    #[inline]
    pub(super) fn insert(&mut self, slot: u64, tile: usize, make: impl FnOnce() -> Event<B>) {
        debug_assert!(slot >= self.first, "SLOT-A: slot {slot} is over, {} is first", self.first);
        self.len += 1;
        if self.is_near(slot) {
            let index = self.index(slot, tile);
            self.spares.append(&mut self.buckets[index], make);
        } else {
            self.far.push(make());
        }
    }

    /// Takes out the event of an anti-message and returns it; if it is in the far list, that
    /// happens at the next look.
    #[cold]
    pub(super) fn cancel(&mut self, slot: u64, tile: usize, anti: Event<B>) -> Option<Event<B>> {
        if self.is_near(slot) {
            let index = self.index(slot, tile);
            if let Some(event) = self.remove(index, &anti) {
                return Some(event);
            }
        }
        self.far_antis.push(anti);
        None
    }

    /// Takes the event of an anti-message out of a bucket. There is one event of its key at a time
    /// (SPEC-C).
    fn remove(&mut self, index: usize, anti: &Event<B>) -> Option<Event<B>> {
        let bucket = &mut self.buckets[index];
        let place = bucket.iter().position(|event| event.is(&anti.key, anti.to))?;
        self.len -= 1;
        self.spares.swap_remove(bucket, place)
    }

    /// Moves the events of a slot and tile to the end of `log`.
    #[inline]
    pub(super) fn take(&mut self, slot: u64, tile: usize, log: &mut Vec<Event<B>>) {
        let index = self.index(slot, tile);
        let bucket = &mut self.buckets[index];
        self.len -= bucket.len() as u64;
        bucket.move_to(log);
        self.spares.reclaim(bucket);
    }

    /// Takes note that all slots before `first` are over. `tile_of` says where an event belongs.
    #[inline]
    pub(super) fn advance(&mut self, first: u64, tile_of: impl Fn(&Event<B>) -> (u64, usize)) {
        self.first = first;
        if first >= self.next_look {
            self.look(tile_of);
        }
    }

    /// Looks through the far list.
    #[cold]
    fn look(&mut self, tile_of: impl Fn(&Event<B>) -> (u64, usize)) {
        self.next_look = self.first + LOOK_EVERY;
        let mut far = std::mem::take(&mut self.far);
        if !self.far_antis.is_empty() {
            self.len -= annihilate(&mut far, &mut self.far_antis) as u64;
            debug_assert!(self.far_antis.is_empty(), "SPEC-C: they come after their events");
        }
        let first = self.first;
        for event in far.extract_if(.., |event| tile_of(event).0 - first < SLOTS) {
            let (slot, tile) = tile_of(&event);
            let index = self.index(slot, tile);
            self.spares.append(&mut self.buckets[index], || event);
        }
        self.far = far;
    }

    /// Moves all events to `pending`, and begins anew.
    pub(super) fn empty(&mut self, pending: &mut Vec<Event<B>>) {
        for bucket in &mut self.buckets {
            bucket.move_to(pending);
            self.spares.reclaim(bucket);
        }
        // Here, because a second event of their key may be in a list already (SPEC-C).
        annihilate(&mut self.far, &mut self.far_antis);
        debug_assert!(self.far_antis.is_empty(), "SPEC-C: they come after their events");
        pending.append(&mut self.far);
        self.len = 0;
    }

    /// Lets the calendar begin at this slot. It is empty.
    pub(super) fn restart(&mut self, first: u64) {
        self.first = first;
        self.next_look = first.saturating_add(LOOK_EVERY);
    }
}

//! A worker's pending events, by slot and tile.
//!
//! Events are appended to the bucket of their slot and tile, in no order, and taken out once, when
//! the window that has the slot is opened. Events of late slots wait in one list, which is looked
//! through now and then; events that are due at the end of the run or later wait in another one.
//!
//! # Invariants
//!
//! - **SLOT-A.** An event is in the bucket of its slot and tile if its slot is less than [`SLOTS`]
//!   slots after the first one; or else in the far list, or it was there at the last look, which
//!   was less than [`LOOK_EVERY`] slots ago.

use warpline_core::EventKey;
use warpline_memory::Lists;

use super::{
    event::{Event, annihilate, annihilate_in},
    grid::NEVER,
};

/// Slots with buckets of their own; few in tests, so that events get into the far list.
const SLOTS: u64 = if cfg!(test) { 64 } else { 256 };
/// The far list is looked through each time that this number of slots has passed.
const LOOK_EVERY: u64 = SLOTS / 4;
const _: () = assert!(LOOK_EVERY < SLOTS, "SLOT-A: a slot has its turn between two looks");

/// Pending events by slot and tile.
#[derive(Debug)]
pub(super) struct Calendar<B> {
    tiles: usize,
    /// By slot modulo [`SLOTS`], then by tile; then the events that are never handled.
    buckets: Lists<Event<B>>,
    /// No event is in a slot before this one.
    first: u64,
    far: Vec<Event<B>>,
    /// Anti-messages for events of the far list, and for those that are never handled.
    far_antis: Vec<Event<B>>,
    never_antis: Vec<Event<B>>,
    /// An anti-message that has found no event.
    stray: Option<EventKey>,
    /// When the first slot is this one, the far list is looked through.
    next_look: u64,
    len: u64,
}

impl<B> Calendar<B> {
    pub(super) fn new(tiles: usize) -> Self {
        let buckets = Lists::new(SLOTS as usize * tiles + 1);
        Self {
            tiles,
            buckets,
            first: 0,
            far: Vec::new(),
            far_antis: Vec::new(),
            never_antis: Vec::new(),
            stray: None,
            next_look: LOOK_EVERY,
            len: 0,
        }
    }

    /// How many events are pending.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// How many anti-messages wait for the next look.
    pub(super) const fn antis(&self) -> u64 {
        (self.far_antis.len() + self.never_antis.len()) as u64
    }

    pub(super) const fn tiles(&self) -> usize {
        self.tiles
    }

    #[inline]
    fn index(&self, slot: u64, tile: usize) -> usize {
        debug_assert!(tile < self.tiles, "SLOT-A: tile {tile} is in the next slot");
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
            self.buckets.push(index, make);
        } else {
            self.insert_far(slot, make());
        }
    }

    /// The list of the events that are never handled.
    const fn never(&self) -> usize {
        SLOTS as usize * self.tiles
    }

    #[inline(never)]
    fn insert_far(&mut self, slot: u64, event: Event<B>) {
        if slot == NEVER {
            self.buckets.push(self.never(), || event);
        } else {
            self.far.push(event);
        }
    }

    /// Takes out the event of an anti-message and returns it; if it is not in a bucket of its own,
    /// that happens later.
    #[cold]
    pub(super) fn cancel(&mut self, slot: u64, tile: usize, anti: Event<B>) -> Option<Event<B>> {
        if slot == NEVER {
            self.never_antis.push(anti);
            return None;
        }
        if self.is_near(slot) {
            // There is one event of its key at a time (SPEC-C).
            let index = self.index(slot, tile);
            if let Some(event) = self.buckets.take(index, |event| event.is(&anti.key, anti.to)) {
                self.len -= 1;
                return Some(event);
            }
        }
        self.far_antis.push(anti);
        None
    }

    /// Moves the events of a slot and tile to the end of `log`.
    #[inline]
    pub(super) fn take(&mut self, slot: u64, tile: usize, log: &mut Vec<Event<B>>) {
        let index = self.index(slot, tile);
        debug_assert!(self.is_near(slot), "SLOT-A: slot {slot} has no bucket");
        debug_assert!(self.buckets.len(index) as u64 <= self.len, "SLOT-A: more than the count");
        self.len -= self.buckets.len(index) as u64;
        self.buckets.move_to(index, log);
    }

    /// Takes note that all slots before `first` are over. `tile_of` says where an event belongs.
    #[inline]
    pub(super) fn advance(&mut self, first: u64, tile_of: impl Fn(&Event<B>) -> (u64, usize)) {
        debug_assert!(first >= self.first, "SLOT-A: slots went back");
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
            let strays = self.far_antis.drain(..);
            self.stray = strays.map(|anti| anti.key).next().or(self.stray);
        }
        let first = self.first;
        for event in far.extract_if(.., |event| tile_of(event).0 - first < SLOTS) {
            let (slot, tile) = tile_of(&event);
            let index = self.index(slot, tile);
            self.buckets.push(index, || event);
        }
        self.far = far;
    }

    /// Lets the anti-messages that wait for that take their events away, before a second event of
    /// their key comes into the same list (SPEC-C).
    pub(super) fn annihilate(&mut self) {
        if !self.far_antis.is_empty() {
            self.len -= annihilate(&mut self.far, &mut self.far_antis) as u64;
        }
        if !self.never_antis.is_empty() {
            let never = self.never();
            let retain = |keep: &mut dyn FnMut(&Event<B>) -> bool| self.buckets.retain(never, keep);
            self.len -= annihilate_in(retain, &mut self.never_antis) as u64;
        }
        let strays = self.far_antis.drain(..).chain(self.never_antis.drain(..));
        self.stray = strays.map(|anti| anti.key).next().or(self.stray);
        debug_assert_eq!(self.antis(), 0, "SPEC-C: an anti-message is left");
    }

    /// Takes out an anti-message that has found no event, if there was any: it comes after its
    /// event (SPEC-C), so its sender has not sent that.
    #[inline]
    pub(super) const fn take_stray(&mut self) -> Option<EventKey> {
        self.stray.take()
    }

    /// All events that are due before the end.
    pub(super) fn due(&self) -> impl Iterator<Item = &Event<B>> {
        (0..self.never()).flat_map(|list| self.buckets.iter(list)).chain(&self.far)
    }

    /// All events.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Event<B>> {
        self.due().chain(self.buckets.iter(self.never()))
    }

    /// Begins again at the slot `first` of another grid, with the valid events; all of them are if
    /// there is no `is_valid`.
    pub(super) fn rebuild(
        &mut self,
        first: u64,
        is_valid: Option<impl Fn(&Event<B>) -> bool>,
        tile_of: impl Fn(&Event<B>) -> (u64, usize),
    ) {
        debug_assert!(self.far_antis.is_empty() && self.never_antis.is_empty(), "SPEC-C: all used");
        self.restart(first);
        self.len = 0;
        let far = std::mem::take(&mut self.far);
        self.buckets.set_aside();
        let (never, mut events) = (self.never(), far);
        self.buckets.exchange(never);
        if let Some(is_valid) = &is_valid {
            self.buckets.retain(never, is_valid);
        }
        self.len += self.buckets.len(never) as u64;
        for list in 0..=never {
            for event in events.drain(..) {
                if is_valid.as_ref().is_none_or(|is_valid| is_valid(&event)) {
                    let (slot, tile) = tile_of(&event);
                    self.insert(slot, tile, || event);
                }
            }
            // The last one is empty.
            self.buckets.move_aside_to(list, &mut events);
        }
        debug_assert_eq!(self.len, self.iter().count() as u64, "SPEC-D: an event is not counted");
    }

    /// Moves all events to `pending`, and begins anew.
    pub(super) fn empty(&mut self, pending: &mut Vec<Event<B>>) {
        self.annihilate();
        pending.reserve(self.len as usize);
        for list in 0..self.never() {
            self.buckets.move_to(list, pending);
        }
        pending.append(&mut self.far);
        self.buckets.move_to(self.never(), pending);
        debug_assert!(pending.len() as u64 >= self.len, "SPEC-D: an event is lost");
        self.len = 0;
    }

    /// Lets the calendar begin at this slot, without events.
    fn restart(&mut self, first: u64) {
        self.first = first;
        self.next_look = first.saturating_add(LOOK_EVERY);
    }
}

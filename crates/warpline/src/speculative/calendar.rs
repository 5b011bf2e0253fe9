//! A worker's pending events, by slot and tile.
//!
//! Events are appended to the list of their slot and tile, in no order, and taken out once, when
//! the window that has the slot is opened. Events of late slots wait in the list of their group of
//! slots, until the group is near; those of later groups wait in one list, which is sorted again
//! now and then. So an event is moved three times at most, however late it is (Varghese and Lauck,
//! *Hashed and Hierarchical Timing Wheels*, 1987: a wheel of slots and one of groups). Events that
//! are due at the end of the run or later have a list of their own.
//!
//! # Invariants
//!
//! - **SLOT-A.** An event is in the list of its slot and tile if its slot is before `near_until`,
//!   which is at most [`SLOTS`] and more than [`SLOTS`] - [`GROUP`] slots after the first one.
//! - **SLOT-B.** Any other one is in the list of its group if that is before `grouped_until`, or
//!   else in that of the later ones. Its anti-message is in the list that belongs to that one.

use std::mem;

use warpline_core::EventKey;
use warpline_memory::Lists;

use super::{
    event::{Event, annihilate_in},
    grid::NEVER,
};

/// Slots with lists of their own; few in tests, so that events are late.
const SLOTS: u64 = if cfg!(test) { 64 } else { 256 };
/// The slots of a group.
const GROUP: u64 = SLOTS / 4;
/// Groups with lists of their own; few in tests, likewise.
const GROUPS: u64 = if cfg!(test) { 4 } else { 256 };
/// The lists of events that are not near.
const LATE_LISTS: usize = GROUPS as usize + 2;

/// Pending events by slot and tile.
#[derive(Debug)]
pub(super) struct Calendar<B> {
    tiles: usize,
    /// By slot modulo [`SLOTS`], then by tile; then by group modulo [`GROUPS`]; then the later
    /// events, and those that are never handled; then the anti-messages for groups, for later
    /// events and for those that are never handled.
    lists: Lists<Event<B>>,
    /// No event is in a slot before this one.
    first: u64,
    /// The first slot without lists of its own.
    near_until: u64,
    /// The first group without a list of its own.
    grouped_until: u64,
    /// Kept for their memory: events that are near now, and anti-messages of a list.
    near: Vec<Event<B>>,
    antis_of_list: Vec<Event<B>>,
    /// An anti-message that has found no event.
    stray: Option<EventKey>,
    len: u64,
    antis: u64,
}

impl<B> Calendar<B> {
    pub(super) fn new(tiles: usize) -> Self {
        let lists = SLOTS as usize * tiles + 2 * LATE_LISTS;
        let mut calendar = Self {
            tiles,
            lists: Lists::new(lists),
            first: 0,
            near_until: 0,
            grouped_until: 0,
            near: Vec::new(),
            antis_of_list: Vec::new(),
            stray: None,
            len: 0,
            antis: 0,
        };
        calendar.restart(0);
        calendar
    }

    /// How many events are pending.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// How many anti-messages wait for their events to be near.
    pub(super) const fn antis(&self) -> u64 {
        self.antis
    }

    pub(super) const fn tiles(&self) -> usize {
        self.tiles
    }

    #[inline]
    fn index(&self, slot: u64, tile: usize) -> usize {
        debug_assert!(tile < self.tiles, "SLOT-A: tile {tile} is in the next slot");
        (slot % SLOTS) as usize * self.tiles + tile
    }

    /// The list of a group.
    const fn group(&self, group: u64) -> usize {
        SLOTS as usize * self.tiles + (group % GROUPS) as usize
    }

    /// The list of later events.
    const fn later(&self) -> usize {
        self.never() - 1
    }

    /// The list of the events that are never handled. All that are due are in lists before it.
    const fn never(&self) -> usize {
        SLOTS as usize * self.tiles + LATE_LISTS - 1
    }

    /// The list of the events of a slot that is not near.
    const fn late(&self, slot: u64) -> usize {
        debug_assert!(slot >= self.near_until, "SLOT-A: a near slot has lists of its own");
        match slot {
            NEVER => self.never(),
            _ if slot / GROUP < self.grouped_until => self.group(slot / GROUP),
            _ => self.later(),
        }
    }

    /// Inserts the event that `make` makes.
    #[inline(always)]
    pub(super) fn insert(&mut self, slot: u64, tile: usize, make: impl FnOnce() -> Event<B>) {
        debug_assert!(slot >= self.first, "SLOT-A: slot {slot} is over, {} is first", self.first);
        self.len += 1;
        if slot < self.near_until {
            let index = self.index(slot, tile);
            self.lists.push(index, make);
        } else {
            self.insert_late(slot, make());
        }
    }

    #[inline(never)]
    fn insert_late(&mut self, slot: u64, event: Event<B>) {
        self.lists.push(self.late(slot), || event);
    }

    /// Takes out the event of an anti-message and returns it; if it is not in a list of its slot,
    /// that happens later.
    #[cold]
    pub(super) fn cancel(&mut self, slot: u64, tile: usize, anti: Event<B>) -> Option<Event<B>> {
        if slot < self.near_until {
            // There is one event of its key at a time (SPEC-C).
            let index = self.index(slot, tile);
            let event = self.lists.take(index, |event| event.is(&anti.key, anti.to));
            self.len -= u64::from(event.is_some());
            self.stray = if event.is_none() { Some(anti.key) } else { self.stray };
            return event;
        }
        self.antis += 1;
        self.lists.push(self.late(slot) + LATE_LISTS, || anti);
        None
    }

    /// Moves the events of a slot and tile to the end of `log`.
    #[inline]
    pub(super) fn take(&mut self, slot: u64, tile: usize, log: &mut Vec<Event<B>>) {
        let index = self.index(slot, tile);
        debug_assert!((self.first..self.near_until).contains(&slot), "SLOT-A: no list of {slot}");
        debug_assert!(self.lists.len(index) as u64 <= self.len, "SLOT-A: more than the count");
        self.len -= self.lists.len(index) as u64;
        self.lists.move_to(index, log);
    }

    /// Takes note that all slots before `first` are over. `tile_of` says where an event belongs.
    #[inline]
    pub(super) fn advance(&mut self, first: u64, tile_of: impl Fn(&Event<B>) -> (u64, usize)) {
        debug_assert!(first >= self.first, "SLOT-A: slots went back");
        self.first = first;
        if near_until(first) > self.near_until {
            self.approach(tile_of);
        }
    }

    /// Moves the events of the groups that are near now to the lists of their slots.
    #[cold]
    fn approach(&mut self, tile_of: impl Fn(&Event<B>) -> (u64, usize)) {
        let (from, until) = (self.near_until / GROUP, near_until(self.first) / GROUP);
        self.near_until = near_until(self.first);
        let mut near = mem::take(&mut self.near);
        for group in from..until.min(self.grouped_until) {
            self.take_late(self.group(group), &mut near);
        }
        if until + GROUPS / 2 > self.grouped_until {
            // They may be many, so their memory is not kept.
            let mut later = Vec::new();
            self.take_late(self.later(), &mut later);
            self.grouped_until = until + GROUPS;
            later.into_iter().for_each(|event| self.insert_again(event, &tile_of));
        }
        near.drain(..).for_each(|event| self.insert_again(event, &tile_of));
        self.near = near;
        debug_assert!(until <= self.grouped_until, "SLOT-B: a near group is with the later ones");
    }

    /// Moves the events of a list that are not canceled to the end of `events`. They are not
    /// counted any more.
    fn take_late(&mut self, list: usize, events: &mut Vec<Event<B>>) {
        self.annihilate_in(list);
        self.len -= self.lists.len(list) as u64;
        self.lists.move_to(list, events);
    }

    fn insert_again(&mut self, event: Event<B>, tile_of: impl Fn(&Event<B>) -> (u64, usize)) {
        let (slot, tile) = tile_of(&event);
        self.insert(slot, tile, || event);
    }

    /// Lets the anti-messages for a list of events that are not near take these away.
    fn annihilate_in(&mut self, list: usize) {
        debug_assert!(list + LATE_LISTS > self.never(), "SLOT-B: {list} has no anti-messages");
        let mut antis = mem::take(&mut self.antis_of_list);
        self.lists.move_to(list + LATE_LISTS, &mut antis);
        if !antis.is_empty() {
            self.antis -= antis.len() as u64;
            let gone = annihilate_in(|keep| self.lists.retain(list, keep), &mut antis);
            self.len -= gone as u64;
            self.stray = antis.drain(..).map(|anti| anti.key).next().or(self.stray);
        }
        self.antis_of_list = antis;
    }

    /// Lets the anti-messages that wait for that take their events away, before a second event of
    /// their key comes into the same list (SPEC-C).
    pub(super) fn annihilate(&mut self) {
        if self.antis > 0 {
            let never = self.never();
            (never + 1 - LATE_LISTS..=never).for_each(|list| self.annihilate_in(list));
        }
        debug_assert_eq!(self.antis, 0, "SPEC-C: an anti-message is left");
    }

    /// Takes out an anti-message that has found no event, if there was any: it comes after its
    /// event (SPEC-C), so its sender has not sent that.
    #[inline]
    pub(super) const fn take_stray(&mut self) -> Option<EventKey> {
        self.stray.take()
    }

    /// All events that are due before the end.
    pub(super) fn due(&self) -> impl Iterator<Item = &Event<B>> {
        (0..self.never()).flat_map(|list| self.lists.iter(list))
    }

    /// All events.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Event<B>> {
        (0..=self.never()).flat_map(|list| self.lists.iter(list))
    }

    /// Begins again at the slot `first` of another grid, with the valid events; all of them are if
    /// there is no `is_valid`.
    pub(super) fn rebuild(
        &mut self,
        first: u64,
        is_valid: Option<impl Fn(&Event<B>) -> bool>,
        tile_of: impl Fn(&Event<B>) -> (u64, usize),
    ) {
        debug_assert_eq!(self.antis, 0, "SPEC-C: an anti-message is left");
        self.restart(first);
        self.len = 0;
        self.lists.set_aside();
        let never = self.never();
        self.lists.exchange(never);
        if let Some(is_valid) = &is_valid {
            self.lists.retain(never, is_valid);
        }
        self.len += self.lists.len(never) as u64;
        let mut events = Vec::new();
        for list in 0..never {
            self.lists.move_aside_to(list, &mut events);
            for event in events.drain(..) {
                if is_valid.as_ref().is_none_or(|is_valid| is_valid(&event)) {
                    self.insert_again(event, &tile_of);
                }
            }
        }
        debug_assert_eq!(self.len, self.iter().count() as u64, "SPEC-D: an event is not counted");
    }

    /// Moves all events to `pending`, and begins anew.
    pub(super) fn empty(&mut self, pending: &mut Vec<Event<B>>) {
        self.annihilate();
        pending.reserve(self.len as usize);
        (0..=self.never()).for_each(|list| self.lists.move_to(list, pending));
        debug_assert!(pending.len() as u64 >= self.len, "SPEC-D: an event is lost");
        self.len = 0;
    }

    /// Lets the calendar begin at this slot, without events.
    fn restart(&mut self, first: u64) {
        (self.first, self.near_until) = (first, near_until(first));
        self.grouped_until = self.near_until / GROUP + GROUPS;
    }
}

/// The first slot without lists of its own, if this one is the first of all.
const fn near_until(first: u64) -> u64 {
    (first / GROUP + SLOTS / GROUP) * GROUP
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warpline_core::{LpId, VirtualTime};

    use super::{super::event::Parity, *};

    const TILES: usize = 2;

    fn event(slot: u64, tile: usize, sequence: u64, message: Option<u64>) -> Event<u64> {
        Event {
            key: EventKey::new(
                VirtualTime::new(slot as f64).expect("a time"),
                0,
                LpId::new(0),
                sequence,
            ),
            to: LpId::from_index(tile),
            io: None,
            sent_in: Parity::of(0),
            message,
        }
    }

    /// Slots of one unit of time, up to the end of the run.
    fn place(event: &Event<u64>) -> (u64, usize) {
        const END: u64 = 2_000;
        let slot = event.key.time_value() as u64;
        (if slot < END { slot } else { NEVER }, event.to.index())
    }

    /// What is done with a calendar.
    #[derive(Clone, Copy, Debug)]
    enum Action {
        /// Insert an event this many slots after the first one.
        Insert { after: u64, tile: usize },
        /// Cancel one of the events; and perhaps send the key again, as another event.
        Cancel { which: usize, again: bool },
        /// This many slots are over.
        Advance { slots: u64 },
        /// All anti-messages that wait are used.
        Annihilate,
        /// Begin again with the same slots.
        Rebuild,
    }

    fn action() -> impl Strategy<Value = Action> {
        let after = prop_oneof![0..40_u64, 0..200_u64, 0..2_500_u64];
        prop_oneof![
            6 => (after, 0..TILES).prop_map(|(after, tile)| Action::Insert { after, tile }),
            2 => (any::<usize>(), any::<bool>())
                .prop_map(|(which, again)| Action::Cancel { which, again }),
            3 => prop_oneof![0..20_u64, 0..400_u64].prop_map(|slots| Action::Advance { slots }),
            1 => Just(Action::Annihilate),
            1 => Just(Action::Rebuild),
        ]
    }

    /// Takes the events of the slots up to `until`, as windows do, a few slots at a time.
    fn advance(calendar: &mut Calendar<u64>, until: u64, taken: &mut Vec<u64>) {
        while calendar.first < until {
            let end = until.min(calendar.first + 24);
            let mut log = Vec::new();
            for slot in calendar.first..end {
                (0..TILES).for_each(|tile| calendar.take(slot, tile, &mut log));
            }
            for event in log {
                assert!((calendar.first..end).contains(&place(&event).0), "SLOT-A: {event:?}");
                taken.extend(event.message);
            }
            calendar.advance(end, place);
        }
    }

    proptest! {
        /// Each event is taken in its slot, once, unless it was canceled, however late it is.
        #[test]
        fn each_event_is_taken_in_its_slot(actions in prop::collection::vec(action(), 1..200)) {
            let mut calendar = Calendar::new(TILES);
            let (mut live, mut taken, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            for (number, action) in (0_u64..).zip(actions) {
                match action {
                    Action::Insert { after, tile } => {
                        let sent = event(calendar.first + after, tile, number, Some(number));
                        let (slot, tile) = place(&sent);
                        live.push((sent.key, tile, number));
                        calendar.insert(slot, tile, || sent);
                    }
                    Action::Cancel { which, again } if !live.is_empty() => {
                        let (key, tile, _) = live.swap_remove(which % live.len());
                        let with = |message| Event { key, ..event(0, tile, 0, message) };
                        let (slot, tile) = place(&with(None));
                        calendar.cancel(slot, tile, with(None));
                        if again {
                            live.push((key, tile, number));
                            calendar.insert(slot, tile, || with(Some(number)));
                        }
                    }
                    Action::Cancel { .. } => {}
                    Action::Advance { slots } => {
                        let until = (calendar.first + slots).min(1_999);
                        let is_over = |(key, ..): &(EventKey, usize, u64)| {
                            (key.time_value() as u64) < until
                        };
                        expected.extend(live.extract_if(.., |event| is_over(event)).map(|e| e.2));
                        advance(&mut calendar, until, &mut taken);
                    }
                    Action::Annihilate => calendar.annihilate(),
                    Action::Rebuild => {
                        calendar.annihilate();
                        let all = None::<fn(&Event<u64>) -> bool>;
                        calendar.rebuild(calendar.first, all, place);
                    }
                }
                prop_assert_eq!(calendar.take_stray(), None);
                taken.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(&taken, &expected);
                prop_assert_eq!(calendar.len() - calendar.antis(), live.len() as u64);
            }
            let mut left = Vec::new();
            calendar.empty(&mut left);
            let mut left: Vec<_> = left.into_iter().filter_map(|event| event.message).collect();
            left.sort_unstable();
            let mut all: Vec<_> = live.into_iter().map(|(.., message)| message).collect();
            all.sort_unstable();
            prop_assert_eq!(left, all);
        }
    }
}

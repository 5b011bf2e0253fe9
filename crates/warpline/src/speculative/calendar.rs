//! A worker's pending events, by slot and tile.
//!
//! Events are appended to the list of their slot and tile, in no order, and taken out once, when
//! the window that has the slot is opened. Events of late slots wait in the list of their group of
//! slots, until the group is near; those of late groups wait in one list, which is looked through
//! now and then. So an event is moved three times at most, however late it is (Varghese and Lauck,
//! *Hashed and Hierarchical Timing Wheels*, 1987: a wheel of slots and one of groups). Events that
//! are due at the end of the run or later have a list of their own.
//!
//! # Invariants
//!
//! - **SLOT-A.** An event is in the list of its slot and tile if its slot is before `near_until`,
//!   which is less than [`SLOTS`] and more than [`SLOTS`] - 2 [`GROUP`] slots after the first one.
//! - **SLOT-B.** Any other one is in the list of its group if that is before `grouped_until`, or
//!   else in the later list; and so are anti-messages, which therefore are where their events are.

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

/// Says of an event whether it stays.
type Keep<'k, B> = dyn FnMut(&Event<B>) -> bool + 'k;

/// Pending events by slot and tile.
#[derive(Debug)]
pub(super) struct Calendar<B> {
    tiles: usize,
    /// By slot modulo [`SLOTS`], then by tile; then by group modulo [`GROUPS`]; then the events
    /// that are never handled; then the anti-messages for groups, likewise.
    lists: Lists<Event<B>>,
    /// No event is in a slot before this one.
    first: u64,
    /// The first slot without lists of its own.
    near_until: u64,
    /// The first group without a list of its own.
    grouped_until: u64,
    later: Vec<Event<B>>,
    /// Anti-messages for later events, and for those that are never handled.
    later_antis: Vec<Event<B>>,
    never_antis: Vec<Event<B>>,
    /// Kept for their memory: events that are near now, and anti-messages of a group.
    near: Vec<Event<B>>,
    antis_of_group: Vec<Event<B>>,
    /// An anti-message that has found no event.
    stray: Option<EventKey>,
    len: u64,
    antis: u64,
}

impl<B> Calendar<B> {
    pub(super) fn new(tiles: usize) -> Self {
        let lists = SLOTS as usize * tiles + 1 + 2 * GROUPS as usize;
        let mut calendar = Self {
            tiles,
            lists: Lists::new(lists),
            first: 0,
            near_until: 0,
            grouped_until: 0,
            later: Vec::new(),
            later_antis: Vec::new(),
            never_antis: Vec::new(),
            near: Vec::new(),
            antis_of_group: Vec::new(),
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

    /// The list of the events that are never handled. All that are due are in lists before it, or
    /// later.
    const fn never(&self) -> usize {
        SLOTS as usize * self.tiles + GROUPS as usize
    }

    /// The list of the anti-messages for a group.
    const fn group_antis(&self, group: u64) -> usize {
        self.never() + 1 + (group % GROUPS) as usize
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
        let group = slot / GROUP;
        if slot == NEVER {
            self.lists.push(self.never(), || event);
        } else if group < self.grouped_until {
            self.lists.push(self.group(group), || event);
        } else {
            self.later.push(event);
        }
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
        let group = slot / GROUP;
        if slot == NEVER {
            self.never_antis.push(anti);
        } else if group < self.grouped_until {
            self.lists.push(self.group_antis(group), || anti);
        } else {
            self.later_antis.push(anti);
        }
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
        let mut near = std::mem::take(&mut self.near);
        for group in from..until.min(self.grouped_until) {
            self.annihilate_group(group);
            self.lists.move_to(self.group(group), &mut near);
        }
        if until + GROUPS / 2 > self.grouped_until {
            self.annihilate_later();
            self.grouped_until = until + GROUPS;
            let is_grouped = |event: &mut Event<B>| tile_of(event).0 / GROUP < until + GROUPS;
            let mut later = std::mem::take(&mut self.later);
            later.extract_if(.., is_grouped).for_each(|event| self.move_in(event, &tile_of));
            self.later = later;
        }
        near.drain(..).for_each(|event| self.move_in(event, &tile_of));
        self.near = near;
        debug_assert!(until <= self.grouped_until, "SLOT-B: a near group is with the later ones");
    }

    /// Inserts an event that was taken from a list of later ones.
    fn move_in(&mut self, event: Event<B>, tile_of: impl Fn(&Event<B>) -> (u64, usize)) {
        let (slot, tile) = tile_of(&event);
        debug_assert!(
            slot / GROUP < self.grouped_until,
            "SLOT-B: slot {slot} is a later one still"
        );
        self.len -= 1;
        self.insert(slot, tile, || event);
    }

    /// Lets the anti-messages for a group take their events away.
    fn annihilate_group(&mut self, group: u64) {
        debug_assert!(group < self.grouped_until, "SLOT-B: {group} has no list of its own");
        let (events, list) = (self.group(group), self.group_antis(group));
        if !self.lists.is_empty(list) {
            let mut antis = std::mem::take(&mut self.antis_of_group);
            self.lists.move_to(list, &mut antis);
            self.annihilate_in(&mut antis, |lists, _, keep| lists.retain(events, keep));
            self.antis_of_group = antis;
        }
    }

    fn annihilate_later(&mut self) {
        if !self.later_antis.is_empty() {
            let mut antis = std::mem::take(&mut self.later_antis);
            self.annihilate_in(&mut antis, |_, later, keep| later.retain(keep));
            self.later_antis = antis;
        }
    }

    /// Lets anti-messages take their events away, among those that `retain` goes through.
    fn annihilate_in(
        &mut self,
        antis: &mut Vec<Event<B>>,
        retain: impl FnOnce(&mut Lists<Event<B>>, &mut Vec<Event<B>>, &mut Keep<'_, B>),
    ) {
        debug_assert!(self.antis >= antis.len() as u64, "SPEC-C: more anti-messages than came");
        self.antis -= antis.len() as u64;
        let (lists, later) = (&mut self.lists, &mut self.later);
        self.len -= annihilate_in(|keep| retain(lists, later, keep), antis) as u64;
        self.stray = antis.drain(..).map(|anti| anti.key).next().or(self.stray);
    }

    /// Lets the anti-messages that wait for that take their events away, before a second event of
    /// their key comes into the same list (SPEC-C).
    pub(super) fn annihilate(&mut self) {
        if self.antis > 0 {
            let groups = self.grouped_until - GROUPS..self.grouped_until;
            groups.for_each(|group| self.annihilate_group(group));
            self.annihilate_later();
            let (never, mut antis) = (self.never(), std::mem::take(&mut self.never_antis));
            self.annihilate_in(&mut antis, |lists, _, keep| lists.retain(never, keep));
            self.never_antis = antis;
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
        (0..self.never()).flat_map(|list| self.lists.iter(list)).chain(&self.later)
    }

    /// All events.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Event<B>> {
        self.due().chain(self.lists.iter(self.never()))
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
        let later = std::mem::take(&mut self.later);
        self.lists.set_aside();
        let (never, mut events) = (self.never(), later);
        self.lists.exchange(never);
        if let Some(is_valid) = &is_valid {
            self.lists.retain(never, is_valid);
        }
        self.len += self.lists.len(never) as u64;
        for list in 0..never {
            self.insert_valid(&mut events, is_valid.as_ref(), &tile_of);
            self.lists.move_aside_to(list, &mut events);
        }
        self.insert_valid(&mut events, is_valid.as_ref(), &tile_of);
        debug_assert_eq!(self.len, self.iter().count() as u64, "SPEC-D: an event is not counted");
    }

    /// Inserts those of the events that are valid.
    fn insert_valid(
        &mut self,
        events: &mut Vec<Event<B>>,
        is_valid: Option<&impl Fn(&Event<B>) -> bool>,
        tile_of: impl Fn(&Event<B>) -> (u64, usize),
    ) {
        let valid = events.drain(..).filter(|event| is_valid.is_none_or(|valid| valid(event)));
        for event in valid {
            let (slot, tile) = tile_of(&event);
            self.insert(slot, tile, || event);
        }
    }

    /// Moves all events to `pending`, and begins anew.
    pub(super) fn empty(&mut self, pending: &mut Vec<Event<B>>) {
        self.annihilate();
        pending.reserve(self.len as usize);
        (0..self.never()).for_each(|list| self.lists.move_to(list, pending));
        pending.append(&mut self.later);
        self.lists.move_to(self.never(), pending);
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

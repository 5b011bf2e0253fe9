//! A window: what a worker keeps of it until it is committed.
//!
//! It has the events that LPs handled in it, and a record for each LP, which restores the LP as it
//! was before its first event in the window: by a copy of the state, or by a point in the worker's
//! undo log if the fields save what they change ([`Saving`](warpline_core::Saving)). There is no
//! log of what was sent: an LP that is rolled back handles its old events again to find out
//! ([`rollback`](super::rollback)).
//!
//! # Invariants
//!
//! - **SPEC-E.** With two open windows the undo log is a stack for each LP: its point in the newer
//!   window lies behind all that it wrote in the older one. So an LP is undone in the newer window
//!   first, and whatever it handles in the older one after that gives it a new point in the newer
//!   one.

use std::{
    mem::{self, needs_drop},
    ops::Range,
};

use warpline_core::{EventKey, Io, LogicalProcess, UndoLog, VirtualTime};

use super::{
    event::Event,
    record::{Record, Saved},
};
use crate::{
    event::by_lp::{self, Item},
    handling::{Core, Lp},
    local_lp::LocalLp,
    sorting,
};

/// No place.
const NONE: u32 = u32::MAX;
/// The bit of a [`Place`] in the list of added events.
const ADDED: u32 = 1 << 31;

/// An event that came when its LP had been handled.
#[derive(Debug)]
struct Added<B> {
    event: Event<B>,
    /// The LP's added event before this one.
    before: u32,
}

/// How an LP has come through its events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Executed {
    /// How many it has handled.
    pub(super) events: u64,
    /// The last one, or the one at which it stopped.
    pub(super) last: Option<EventKey>,
    /// Whether it stopped at a blocking I/O event.
    pub(super) is_stopped: bool,
}

/// Where an event of a window is: in its log, or among its added events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(u32);

/// One window of one worker.
#[derive(Debug)]
pub(super) struct Window<L: LogicalProcess, B> {
    pub(super) number: u64,
    /// The slot after the last one.
    pub(super) end: u64,
    /// Events that were there when their tile was opened, or first came to an LP later.
    pub(super) log: Vec<Event<B>>,
    /// The events of the log by LP.
    pub(super) order: Vec<Item>,
    added: Vec<Added<B>>,
    /// Of the LPs that were handled, `handled` of them. Those behind are of earlier windows: new
    /// copies go into the memory of their old ones.
    records: Vec<Record<L>>,
    handled: usize,
    /// Where the undo log was before its first record: no record has a point before that.
    log_begin: u64,
    /// By LP: where its record is. If that is the record of another LP, or none, it has none.
    places: Vec<u32>,
    /// Executions of events that stand.
    pub(super) standing: i64,
    /// LPs that stopped, and at which events.
    pub(super) stopped: Vec<(LocalLp, EventKey)>,
    /// Non-blocking I/O events that LPs sent to themselves within the window.
    pub(super) outputs: Vec<Event<B>>,
    /// What the copies of its records own, where memory is limited.
    pub(super) copied: u64,
}

impl<L: LogicalProcess, B> Window<L, B> {
    pub(super) fn new(lps: usize) -> Self {
        Self {
            number: 0,
            end: 0,
            log: Vec::new(),
            order: Vec::new(),
            added: Vec::new(),
            records: Vec::new(),
            handled: 0,
            log_begin: UndoLog::NONE,
            places: vec![NONE; lps],
            standing: 0,
            stopped: Vec::new(),
            outputs: Vec::new(),
            copied: 0,
        }
    }

    /// Whether the LP was handled in this window.
    #[inline]
    pub(super) fn has(&self, local: LocalLp) -> bool {
        let place = self.places[local.index()] as usize;
        place < self.handled && self.records[place].local == local
    }

    /// Whether an LP was handled.
    pub(super) fn is_begun(&self) -> bool {
        self.handled > 0
    }

    /// How many events of others it has.
    pub(super) fn len(&self) -> u64 {
        (self.log.len() + self.added.len()) as u64
    }

    /// How many events and emptied places of events it has.
    pub(super) fn held(&self) -> u64 {
        self.len() + self.outputs.len() as u64
    }

    /// The copy of an LP that was handled, if states are copied.
    pub(super) fn copy_of(&self, local: LocalLp) -> Option<&L> {
        debug_assert!(self.has(local), "the LP has handled nothing in window {}", self.number);
        match &self.records[self.places[local.index()] as usize].saved {
            Saved::Copy(copy) => Some(copy),
            Saved::Point(_) | Saved::Sparse => None,
        }
    }

    /// Drops the copies of records of earlier windows, whose memory new ones could have used.
    /// Returns what they owned.
    pub(super) fn drop_copies(&mut self) -> u64 {
        debug_assert!(!self.is_begun(), "a window is undone from its copies");
        if const { needs_drop::<L>() } && const { !L::SAVING.is_by_field() } {
            self.records.clear();
        }
        mem::take(&mut self.copied)
    }

    /// How many LPs were handled.
    pub(super) const fn handled(&self) -> usize {
        self.handled
    }

    /// One of those that were handled.
    pub(super) fn local(&self, at: usize) -> LocalLp {
        debug_assert!(at < self.handled, "{at} is none of {} records", self.handled);
        self.records[at].local
    }

    /// Whether the copy of an LP that was handled is among the sparse ones.
    #[inline]
    pub(super) fn is_sparse(&self, local: LocalLp) -> bool {
        debug_assert!(self.has(local), "the LP has handled nothing in window {}", self.number);
        let place = self.places[local.index()] as usize;
        matches!(self.records[place].saved, Saved::Sparse)
    }

    /// What was saved of an LP beside its state.
    pub(super) fn core_of(&self, local: LocalLp) -> &Core {
        debug_assert!(self.has(local), "the LP has handled nothing in window {}", self.number);
        &self.records[self.places[local.index()] as usize].core
    }

    /// Whether an LP that was handled has stopped at an event, and the last one that it has handled
    /// or stopped at.
    pub(super) fn end_of(&self, local: LocalLp) -> (bool, Option<EventKey>) {
        debug_assert!(self.has(local), "the LP has handled nothing in window {}", self.number);
        let record = &self.records[self.places[local.index()] as usize];
        (record.is_stopped, record.last)
    }

    /// The record of an LP that has one.
    pub(super) fn record(&mut self, local: LocalLp) -> &mut Record<L> {
        debug_assert!(self.has(local), "the LP has handled nothing in window {}", self.number);
        &mut self.records[self.places[local.index()] as usize]
    }

    /// Begins the record of an LP, with these events in the order, and saves the LP; but not its
    /// state if that `is_sparse`.
    #[inline]
    pub(super) fn touch(
        &mut self,
        local: LocalLp,
        lp: &Lp<L>,
        events: Range<usize>,
        undo_log: &mut UndoLog,
        is_sparse: bool,
    ) {
        debug_assert!(!self.has(local), "SPEC-A: the LP has a record in window {}", self.number);
        debug_assert!(events.end <= self.order.len(), "events beyond the order");
        if const { L::SAVING.is_by_field() } && self.handled == 0 {
            self.log_begin = undo_log.back();
        }
        self.places[local.index()] = self.handled as u32;
        let (start, len) = (events.start as u32, events.len() as u32);
        if let Some(record) = self.records.get_mut(self.handled) {
            if is_sparse {
                record.saved = Saved::Sparse;
                record.core.clone_from(&lp.core);
            } else {
                record.save(lp, undo_log);
            }
            (record.local, record.start, record.len) = (local, start, len);
            (record.added, record.last, record.is_stopped) = (NONE, None, false);
        } else {
            let saved = if is_sparse { Saved::Sparse } else { Saved::new(&lp.state, undo_log) };
            let (core, added, last) = (lp.core.clone(), NONE, None);
            let record = Record { saved, core, local, start, len, added, last, is_stopped: false };
            self.records.push(record);
        }
        self.handled += 1;
    }

    /// The LP goes on in this window.
    #[inline]
    pub(super) fn resume(&self, local: LocalLp, undo_log: &mut UndoLog) {
        debug_assert!(self.has(local), "the LP has handled nothing in window {}", self.number);
        let record = &self.records[self.places[local.index()] as usize];
        if const { L::SAVING.is_by_field() }
            && let Saved::Point(point) = record.saved
        {
            undo_log.resume(point);
        }
    }

    /// The LP as it is now is the LP before the window.
    pub(super) fn save_again(&mut self, local: LocalLp, lp: &Lp<L>, undo_log: &mut UndoLog) {
        if self.is_sparse(local) {
            self.record(local).core.clone_from(&lp.core);
        } else {
            self.record(local).save(lp, undo_log);
        }
    }

    /// Restores the LP as it was before the window, for something before the window.
    pub(super) fn restore(&mut self, local: LocalLp, lp: &mut Lp<L>, undo_log: &mut UndoLog) {
        self.record(local).restore(lp, undo_log);
    }

    /// Restores the LP as it was before the window, which it goes through again.
    pub(super) fn rewind(&mut self, local: LocalLp, lp: &mut Lp<L>, undo_log: &mut UndoLog) {
        self.record(local).rewind(lp, undo_log);
    }

    /// The first position of the undo log that this window needs, if it needs any.
    #[inline]
    pub(super) fn log_begin(&self) -> Option<u64> {
        self.is_begun().then_some(self.log_begin)
    }

    /// Notes how the LP has come through its events; adds to what it has handled before.
    #[inline]
    pub(super) fn executed(&mut self, local: LocalLp, executed: Executed) {
        debug_assert!(
            executed.events == 0 || executed.last.is_some(),
            "SPEC-A: none of {} events was the last",
            executed.events
        );
        self.standing += executed.events as i64;
        let record = self.record(local);
        if executed.last.is_some() {
            record.last = executed.last;
        }
        if executed.is_stopped {
            self.note_stop(local);
        }
    }

    #[cold]
    fn note_stop(&mut self, local: LocalLp) {
        let record = self.record(local);
        record.is_stopped = true;
        let last = record.last;
        debug_assert!(last.is_some(), "RESIZE-A: an LP has stopped at no event");
        self.stopped.extend(last.map(|at| (local, at)));
    }

    /// Forgets how the LP has come through its events, before it handles them again.
    pub(super) fn forget(&mut self, local: LocalLp) {
        let record = self.record(local);
        record.last = None;
        if record.is_stopped {
            record.is_stopped = false;
            self.stopped.retain(|&(other, _)| other != local);
        }
    }

    /// Adds an event of an LP that was handled.
    pub(super) fn add(&mut self, local: LocalLp, event: Event<B>) -> Place {
        let place = self.added.len() as u32;
        let before = mem::replace(&mut self.record(local).added, place);
        debug_assert!(before == NONE || before < place, "the chain of an LP leads forward");
        debug_assert!(place < ADDED, "more events are added than have numbers");
        self.added.push(Added { event, before });
        Place(place | ADDED)
    }

    #[inline]
    pub(super) fn event(&self, place: Place) -> &Event<B> {
        let Place(place) = place;
        if place & ADDED == 0 {
            &self.log[place as usize]
        } else {
            &self.added[(place & !ADDED) as usize].event
        }
    }

    /// Takes away the event of this key, if it is at one of these places, which are in the order of
    /// the events' keys; returns its message.
    pub(super) fn take(&mut self, key: EventKey, places: &[Place]) -> Option<B> {
        debug_assert!(
            !cfg!(test) || places.is_sorted_by_key(|&place| self.event(place).key),
            "SPEC-C: events of an LP are out of order"
        );
        let first = places.partition_point(|&place| self.event(place).key < key);
        let mut alike = places[first..].iter().take_while(|&&place| self.event(place).key == key);
        let &Place(place) = alike.find(|&&place| !self.event(place).is_anti())?;
        let event = if place & ADDED == 0 {
            &mut self.log[place as usize]
        } else {
            &mut self.added[(place & !ADDED) as usize].event
        };
        event.message.take()
    }

    /// Forgets the added events of an LP that were taken away: an LP that many send to may get and
    /// lose thousands of them, and its others are gathered for each rollback.
    pub(super) fn unlink_taken(&mut self, local: LocalLp) {
        let mut next = mem::replace(&mut self.record(local).added, NONE);
        let mut last: Option<u32> = None;
        while let Some(&Added { ref event, before }) = self.added.get(next as usize) {
            debug_assert!(before == NONE || before < next, "the chain of an LP leads forward");
            if !event.is_anti() {
                match last {
                    Some(last) => self.added[last as usize].before = next,
                    None => self.record(local).added = next,
                }
                last = Some(next);
            }
            next = before;
        }
        if let Some(last) = last {
            self.added[last as usize].before = NONE;
        }
    }

    /// Collects the places of an LP's events, in the order of their keys.
    pub(super) fn gather(&self, local: LocalLp, places: &mut Vec<Place>) {
        places.clear();
        let Record { start, len, added, .. } = self.records[self.places[local.index()] as usize];
        debug_assert!(self.has(local), "the LP has handled nothing in window {}", self.number);
        let order = &self.order[start as usize..(start + len) as usize];
        places.extend(order.iter().map(|&item| Place(by_lp::place(item) as u32)));
        let mut next = added;
        while let Some(added) = self.added.get(next as usize) {
            places.push(Place(next | ADDED));
            next = added.before;
        }
        // Events that were taken away have left their places.
        places.retain(|&place| !self.event(place).is_anti());
        sorting::by_key(places, |place| self.event(place).key);
        // A model that is not saved whole may bring two of one key: only the engine's tests ask.
        debug_assert!(
            !cfg!(test)
                || places.windows(2).all(|pair| self.event(pair[0]).key < self.event(pair[1]).key),
            "SPEC-C: two events with one key"
        );
    }

    /// Moves the events of all LPs to `pending`, and restores the LPs.
    pub(super) fn undo(
        &mut self,
        lps: &mut [Lp<L>],
        pending: &mut Vec<Event<B>>,
        undo_log: &mut UndoLog,
    ) {
        for record in &mut self.records[..self.handled] {
            let lp = &mut lps[record.local.index()];
            match &mut record.saved {
                Saved::Copy(copy) => mem::swap(&mut lp.state, copy),
                saved @ Saved::Point(_) => saved.restore(&mut lp.state, undo_log),
                // It was restored before (`restore_sparse`).
                Saved::Sparse => {}
            }
            lp.core.clone_from(&record.core);
        }
        let added = self.added.drain(..).map(|added| added.event);
        pending.extend(self.log.drain(..).chain(added).filter(|event| !event.is_anti()));
        self.clear(drop);
    }

    /// Empties the window after its events are committed or gone. Messages go to `recycle`.
    #[inline]
    pub(super) fn clear(&mut self, mut recycle: impl FnMut(B)) {
        let added = self.added.drain(..).map(|added| added.event);
        self.log.drain(..).chain(added).filter_map(|event| event.message).for_each(&mut recycle);
        self.standing = 0;
        self.order.clear();
        // No LP has a record any more.
        self.handled = 0;
        self.stopped.clear();
        self.outputs.clear();
    }

    /// The time of the last event that was handled.
    pub(super) fn last_time(&self) -> VirtualTime {
        let last = self.records[..self.handled]
            .iter()
            .filter_map(|record| record.last)
            .map(|key| key.time());
        last.max().unwrap_or(VirtualTime::ZERO)
    }

    /// Takes the non-blocking I/O events that were handled.
    #[cold]
    pub(super) fn take_outputs(&mut self, outputs: &mut Vec<Event<B>>) {
        outputs.append(&mut self.outputs);
        let added = self.added.iter_mut().map(|added| &mut added.event);
        for event in self.log.iter_mut().chain(added) {
            if event.io.is_some() && !event.is_anti() {
                debug_assert_eq!(event.io, Some(Io::NonBlocking), "RESIZE-A: {:?}", event.key);
                let message = event.message.take();
                outputs.push(Event { message, ..*event });
            }
        }
    }
}

#[cfg(test)]
mod tests;

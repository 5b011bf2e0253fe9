//! The processed list: events that a worker has handled and not yet committed, and what they sent.
//!
//! The paper has one list per LP; this is one log per worker, in the order in which events were
//! handled, with a chain through it for each LP. Records are written and reclaimed in sequence, so
//! that the part in use stays in the cache; and fossil collection takes whole stretches from the
//! front, without a look at LPs without committed records.
//!
//! # Invariants
//!
//! - **HIST-A.** Following `prev` from an LP's `last` gives its handled events by descending keys
//!   and descending positions, down to the first position before the front. Several may have one
//!   key for a while: an LP that was rolled back sends again under the same sequence numbers, and
//!   all but one of these events will be annihilated.
//! - **HIST-B.** What a record sent lies in `sent` from its `sent_from` to the next record's.
//! - **HIST-C.** An undone record stays until the front or the back of the log reaches it, and has
//!   nothing in `sent` that is still to be canceled.
//! - **HIST-D.** [`SentLog::uncommitted`] counts what records sent that are not undone.
//!
//! # References
//!
//! GTW, section 3.2. Direct cancellation: Fujimoto, *Time Warp on a shared memory multiprocessor*,
//! Transactions of the Society for Computer Simulation 6(3), 1989.

use std::ops::{Index, IndexMut, Range};

use warpline_core::{LpDigest, LpId, Stream};
use warpline_memory::Ticket;

use super::{event::Event, gvt::Bound};
use crate::{handling::Core, placement::WorkerId};

/// No position.
pub(super) const NONE: u64 = u64::MAX;

/// An event that was handled.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) event: Event,
    /// The LP as it was before, apart from its state.
    pub(super) before: Core,
    /// The record of the LP's event before this one.
    pub(super) prev: u64,
    /// The record of the LP's next event, where copies are sparse; otherwise not kept.
    pub(super) next: u64,
    pub(super) sent_from: u64,
    /// Where what it wrote begins in the undo log, if its LP's tracked fields write there.
    pub(super) undo_from: u64,
    pub(super) undone: bool,
    /// Whether the state before was copied.
    pub(super) copied: bool,
    /// Whether the message has left its buffer: that of a committed non-blocking I/O event is with
    /// the I/O stage, and that of an LP that has moved may have been given out before.
    pub(super) delivered: bool,
    /// If the buffer was returned early.
    pub(super) returned: Option<Ticket>,
}

/// An event that was sent, as its sender remembers it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) event: Event,
    /// The worker that it was sent to; the receiver may have moved on since.
    pub(super) worker: WorkerId,
}

/// A queue in which each item keeps its position; positions are never used again.
#[derive(Debug)]
pub(super) struct Ring<T> {
    items: Vec<T>,
    /// Fills places that are not used yet.
    filler: T,
    front: u64,
    back: u64,
}

/// The least capacity of a ring that is not empty.
const RING_MIN: usize = 64;

impl<T: Clone> Ring<T> {
    fn new(filler: T) -> Self {
        Self { items: Vec::new(), filler, front: 0, back: 0 }
    }

    pub(super) const fn back(&self) -> u64 {
        self.back
    }

    pub(super) const fn front(&self) -> u64 {
        self.front
    }

    pub(super) const fn len(&self) -> usize {
        (self.back - self.front) as usize
    }

    #[inline]
    const fn place(&self, at: u64) -> usize {
        at as usize & (self.items.len().wrapping_sub(1))
    }

    /// The next place, to be overwritten field by field; it holds an older item. An item that is
    /// put together elsewhere and copied would be slower: loads that span several stores stall.
    #[inline]
    fn next(&mut self) -> (u64, &mut T) {
        if self.len() == self.items.len() {
            self.grow();
        }
        debug_assert!(self.len() < self.items.len(), "HIST: no place is left in the ring");
        debug_assert!(self.back < NONE, "HIST: positions have run out");
        let (at, place) = (self.back, self.place(self.back));
        self.back += 1;
        (at, &mut self.items[place])
    }

    /// Doubles the capacity.
    #[cold]
    fn grow(&mut self) {
        let capacity = (2 * self.items.len()).max(RING_MIN);
        let mut items = vec![self.filler.clone(); capacity];
        for at in self.front..self.back {
            let place = self.place(at);
            std::mem::swap(&mut items[at as usize & (capacity - 1)], &mut self.items[place]);
        }
        debug_assert!(items.len().is_power_of_two(), "HIST: a position has no place by a mask");
        self.items = items;
    }

    /// Drops all items before `front`.
    #[inline]
    pub(super) fn drop_before(&mut self, front: u64) {
        debug_assert!((self.front..=self.back).contains(&front), "HIST: the front left the ring");
        self.front = front;
    }

    /// Drops all items from `back` on. Their positions are used again, as no one refers to them.
    pub(super) fn drop_from(&mut self, back: u64) {
        debug_assert!((self.front..=self.back).contains(&back), "HIST: the back left the ring");
        self.back = back;
    }

    /// How many places there are; parallel vectors have as many.
    pub(super) const fn capacity(&self) -> usize {
        self.items.len()
    }
}

impl<T: Clone> Index<u64> for Ring<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: u64) -> &T {
        debug_assert!((self.front..self.back).contains(&at), "HIST: no position {at}");
        &self.items[self.place(at)]
    }
}

impl<T: Clone> IndexMut<u64> for Ring<T> {
    #[inline]
    fn index_mut(&mut self, at: u64) -> &mut T {
        debug_assert!((self.front..self.back).contains(&at), "HIST: no position {at}");
        let place = self.place(at);
        &mut self.items[place]
    }
}

/// The notes of what a worker's events have sent, in the order of sending.
#[derive(Debug)]
pub(super) struct SentLog {
    sent: Ring<Sent>,
    /// How many of them were sent by events that were undone.
    taken_back: usize,
}

impl SentLog {
    pub(super) fn new() -> Self {
        let filler = Sent { event: Event::FILLER, worker: WorkerId::default() };
        Self { sent: Ring::new(filler), taken_back: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, event: Event, worker: WorkerId) {
        let (_, sent) = self.sent.next();
        sent.event = event;
        sent.worker = worker;
    }

    #[inline]
    pub(super) const fn back(&self) -> u64 {
        self.sent.back()
    }

    /// How many messages were sent by events that are neither committed nor undone.
    pub(super) const fn uncommitted(&self) -> usize {
        debug_assert!(self.taken_back <= self.sent.len(), "HIST-D: more is taken back than sent");
        self.sent.len() - self.taken_back
    }

    /// Notes that these messages were taken back. They stay in the log.
    pub(super) fn take_back(&mut self, sends: &Range<u64>) {
        debug_assert!(sends.start <= sends.end, "HIST-B: sends that end before they begin");
        debug_assert!(
            sends.is_empty() || self.sent.front() <= sends.start && sends.end <= self.sent.back(),
            "HIST-C: {sends:?} cannot be taken back any more"
        );
        self.taken_back += (sends.end - sends.start) as usize;
    }

    /// Notes that these messages, which were taken back, leave the log.
    pub(super) fn forget_taken_back(&mut self, sends: &Range<u64>) {
        debug_assert!(
            (sends.end - sends.start) as usize <= self.taken_back,
            "HIST-D: sends are forgotten that were not taken back"
        );
        self.taken_back -= (sends.end - sends.start) as usize;
    }

    #[cfg(test)]
    pub(super) const fn front(&self) -> u64 {
        self.sent.front()
    }

    pub(super) fn get(&self, at: u64) -> Sent {
        self.sent[at]
    }

    #[inline]
    pub(super) fn drop_before(&mut self, front: u64) {
        self.sent.drop_before(front);
        debug_assert!(self.taken_back <= self.sent.len(), "HIST-D: what was taken back has left");
    }

    pub(super) fn drop_from(&mut self, back: u64) {
        self.sent.drop_from(back);
        debug_assert!(self.taken_back <= self.sent.len(), "HIST-D: what was taken back has left");
    }
}

impl Default for Ring<Record> {
    fn default() -> Self {
        let rng = Stream::for_lp(0, LpId::new(0));
        Self::new(Record {
            event: Event::FILLER,
            before: Core { rng, sent: 0, digest: LpDigest::new() },
            prev: NONE,
            next: NONE,
            sent_from: 0,
            undo_from: 0,
            undone: true,
            copied: false,
            delivered: false,
            returned: None,
        })
    }
}

impl Ring<Record> {
    /// Adds the record of an event that is about to be handled.
    #[inline]
    pub(super) fn push(&mut self, event: Event, before: &Core, prev: u64, sent_from: u64) -> u64 {
        debug_assert!(
            !self.is_live(prev) || self[prev].sent_from <= sent_from,
            "HIST-B: a record sends before the one before it"
        );
        let (at, record) = self.next();
        debug_assert!(prev == NONE || prev < at, "HIST-A: a chain leads forward");
        record.event = event;
        record.before.rng.clone_from(&before.rng);
        record.before.sent = before.sent;
        record.before.digest = before.digest;
        record.prev = prev;
        record.next = NONE;
        record.sent_from = sent_from;
        record.undone = false;
        record.copied = false;
        record.delivered = false;
        record.returned = None;
        at
    }

    /// Whether a record is not committed yet. Positions before the front are of committed records.
    #[inline]
    pub(super) const fn is_live(&self, at: u64) -> bool {
        debug_assert!(at == NONE || at < self.back, "HIST-A: a record that is not there yet");
        at >= self.front && at != NONE
    }

    /// The greatest key of a record that is not undone.
    pub(super) fn reach(&self) -> Bound {
        let records = (self.front..self.back).map(|at| &self[at]).filter(|record| !record.undone);
        records.map(|record| Bound(record.event.key.words())).max().unwrap_or(Bound::ZERO)
    }

    /// The record that was added last.
    pub(super) fn last(&self) -> Option<&Record> {
        (self.len() > 0).then(|| &self[self.back - 1])
    }

    /// The positions of what a record sent.
    pub(super) fn sends(&self, at: u64, sent: &SentLog) -> Range<u64> {
        let end = if at + 1 < self.back { self[at + 1].sent_from } else { sent.back() };
        self[at].sent_from..end
    }

    /// The record of `event` in the chain that ends with `last`, if it was handled.
    pub(super) fn find(&self, last: u64, event: &Event) -> Option<u64> {
        let mut at = last;
        while self.is_live(at) && self[at].event.key >= event.key {
            if self[at].event == *event {
                return Some(at);
            }
            at = self[at].prev;
        }
        None
    }
}

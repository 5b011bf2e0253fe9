//! Fossil collection: events below GVT are committed, and their buffers are free again.
//!
//! `block` collects all of it at every new GVT, from the front of the log on (GTW, section 3.2).
//! `on-the-fly` is for the buffers what Fujimoto and Panesar describe (*Buffer management in
//! shared-memory Time Warp systems*, PADS 1995, section 6): a processed buffer returns to its pool
//! at once, with its key, and the allocator compares that with GVT ([`Buffers::return_early`]). A
//! rollback takes it back. Records are collected as with `block`.
//!
//! The log is in the order of handling, which is that of keys but for rollbacks. A record at or
//! above GVT at the front holds up those behind it until GVT has passed it, too.
//!
//! # Invariants
//!
//! - **FOSSIL-A.** The buffer of a record that may be undone or coasted over was not given out: the
//!   pool's horizon is GVT, or where copies are sparse the least key of a record in the log, if
//!   that is less.
//! - **FOSSIL-B.** A buffer is returned once for each time that its event was processed: the record
//!   has the ticket until the event is undone, or the record is collected or moves.

use std::mem::needs_drop;

use warpline_core::{Io, Model};
#[cfg(doc)]
use warpline_memory::Buffers;

use super::{Message, gvt::Bound, heap, history::Record, io::Undelivered, worker::TimeWarpWorker};
use crate::pending::Entry;

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Whether no event will be rolled back any more.
    pub(super) fn is_final(&self) -> bool {
        self.clock.gvt.reaches(self.shared.end)
    }

    /// Collects the records that GVT has committed.
    pub(super) fn fossil_collect(&mut self) {
        if self.optional.is_plain {
            while self.drop_front::<false>() {}
        } else {
            while self.drop_front::<true>() {}
        }
        self.forget_sent();
        self.forget_writes();
        if self.store.is_on_the_fly {
            self.set_horizon();
        }
    }

    /// Drops the notes of what the collected records had sent.
    #[inline]
    fn forget_sent(&mut self) {
        let (history, sent) = (&self.log.history, &mut self.sender.sent);
        let is_empty = history.len() == 0;
        let front = if is_empty { sent.back() } else { history[history.front()].sent_from };
        sent.drop_before(front);
        debug_assert!(
            !is_empty || sent.uncommitted() == 0,
            "HIST-D: nothing is uncommitted but what was sent"
        );
    }

    /// Collects the record at the front, but for the notes of what it had sent. Returns false if no
    /// record may go.
    #[inline]
    fn drop_front<const FULL: bool>(&mut self) -> bool {
        if self.log.history.len() == 0 {
            return false;
        }
        let at = self.log.history.front();
        let record = &self.log.history[at];
        if !record.undone {
            let event = record.event;
            let is_below = event.key.words()[0] < self.clock.gvt.0[0]
                || Bound(event.key.words()) < self.clock.gvt;
            if !is_below || FULL && !self.log.saving.may_drop(at, &self.log.history, self.clock.gvt)
            {
                return false;
            }
            self.statistics.committed += 1;
            self.statistics.last_time = self.statistics.last_time.max(event.time());
            let is_output = !event.is_ordinary() && event.io() == Some(Io::NonBlocking);
            if is_output {
                self.take_output(at);
            } else if FULL && self.store.is_on_the_fly {
                self.store.returned -= usize::from(record.returned.is_some());
            } else {
                self.free(&event);
            }
        } else {
            self.forget_undone(at);
        }
        if FULL {
            self.log.saving.forget(at, &self.store.buffers);
        }
        self.log.history.drop_before(at + 1);
        true
    }

    /// Forgets what an undone record had sent; it leaves the log.
    pub(super) fn forget_undone(&mut self, at: u64) {
        let sends = self.log.history.sends(at, &self.sender.sent);
        self.sender.sent.forget_taken_back(&sends);
    }

    /// Returns the buffer of an event that was processed, unless its message is to be put out.
    pub(super) fn return_early(&mut self, at: u64) {
        let event = self.log.history[at].event;
        if event.io() == Some(Io::NonBlocking) {
            return;
        }
        let (from, buffer) = (self.sender_of(&event), event.buffer());
        let outside = match const { needs_drop::<Message<M>>() } {
            true => heap::of_message::<M>(self.store.buffers.get(buffer)),
            false => 0,
        };
        debug_assert!(self.log.history[at].returned.is_none(), "FOSSIL-B: it was returned before");
        let ticket = self.store.buffers.return_early(buffer, from, event.key.words(), outside);
        self.log.history[at].returned = Some(ticket);
        self.store.returned += 1;
    }

    /// Takes the buffer of a record's event back, if it was returned early. Returns false if it was
    /// given out again.
    #[inline]
    pub(super) fn take_back_buffer(&mut self, at: u64) -> bool {
        let Record { event, returned, .. } = &mut self.log.history[at];
        let Some(ticket) = returned.take() else { return true };
        debug_assert!(
            self.store.returned > 0,
            "FOSSIL-B: a buffer was returned once and taken twice"
        );
        self.store.returned -= 1;
        self.store.buffers.take_back(event.buffer(), ticket, event.key.words())
    }

    /// Lets the pool give out the buffers that no rollback needs (FOSSIL-A).
    pub(super) fn set_horizon(&mut self) {
        let mut horizon = self.clock.gvt;
        if self.log.saving.is_sparse() {
            let records = self.log.history.front()..self.log.history.back();
            let records = records.map(|at| &self.log.history[at]).filter(|record| !record.undone);
            horizon =
                records.fold(horizon, |least, record| least.min(Bound(record.event.key.words())));
        }
        self.store.buffers.set_horizon(horizon.0);
    }

    /// How many buffers that were returned early are of events whose records are gone: they are as
    /// good as free.
    pub(super) fn returned_free(&self) -> usize {
        self.store.buffers.early_count().saturating_sub(self.store.returned)
    }

    /// Takes the message of a committed non-blocking I/O event, unless that was done before.
    fn take_output(&mut self, at: u64) {
        let Record { event, delivered, undone, .. } = &mut self.log.history[at];
        debug_assert!(
            !*undone && Bound(event.key.words()) < self.clock.gvt,
            "{event:?} is not final"
        );
        if !std::mem::replace(delivered, true) {
            let (event, id) = (*event, self.lps[event.lp().index()].id);
            let from = self.sender_of(&event);
            let bytes = heap::of_message::<M>(self.store.buffers.get(event.buffer()));
            self.log.outputs.push((event.key, id, self.store.buffers.take(event.buffer(), from)));
            // The message is not in its buffer any more; it is handled soon.
            self.store.buffers.refund_outside(bytes);
        }
    }

    /// Hands committed outputs to the stage that puts those of all workers in order: all of them,
    /// also those in the log behind a record that is not committed. At the end of a run, `last`
    /// says that this worker will not come again.
    pub(super) fn deliver_outputs(&mut self, last: bool) -> Result<(), Undelivered> {
        if self.statistics.outputs > 0 {
            for at in self.log.history.front()..self.log.history.back() {
                let Record { event, undone, .. } = &self.log.history[at];
                let is_output = event.io() == Some(Io::NonBlocking) && !undone;
                if is_output && Bound(event.key.words()) < self.clock.gvt {
                    self.take_output(at);
                }
            }
        }
        let ranks = self.other_ranks();
        let Self { model, shared, me, clock, log, .. } = self;
        shared.io.deliver(model, (*me, last), clock.gvt, &shared.arena, &mut log.outputs, ranks)
    }
}

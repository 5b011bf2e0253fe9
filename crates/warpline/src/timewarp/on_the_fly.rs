//! On-the-fly fossil collection: the buffer of an event is given back as soon as it was processed.
//!
//! The buffer returns to its pool with the key of its event, and the allocator compares that with
//! GVT ([`Buffers::return_early`]); a rollback takes it back (Fujimoto and Panesar, *Buffer
//! management in shared-memory Time Warp systems*, PADS 1995, section 6). Records are collected as
//! without it. Called by the hooks of [`policy`](super::policy), by
//! [`fossil_collection`](super::fossil_collection), and by whatever undoes or moves an event.
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

use super::{Message, gvt::Bound, heap, history::Record, worker::TimeWarpWorker};

impl<M: Model> TimeWarpWorker<'_, M> {
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

    /// The record at a position is collected, whose buffer may have been returned.
    pub(super) fn forget_returned(&mut self, at: u64) {
        self.store.returned -= usize::from(self.log.history[at].returned.is_some());
    }
}

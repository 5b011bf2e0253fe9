//! How a worker returns a buffer before its message is done with, takes it back, and gives it out
//! again ([`pool::early`](crate::pool::early)).

use std::{
    mem::needs_drop,
    sync::atomic::{AtomicU32, Ordering},
};

use super::{Arena, BufferId, Buffers, Unfilled};
use crate::{
    pool::{
        PoolSide,
        early::{Returned, Stamp, Ticket},
    },
    slots::{NOBODY, RETURNED, STALE, Slot},
    trace::BufferAction,
};

impl<T: Send + Sync> Buffers<'_, T> {
    /// Returns a buffer that this worker owns to the pool, with its message. It is given out again
    /// once the horizon is above `stamp`; until then the worker can take it back. Worker `from`
    /// sent the message, which takes `outside` bytes outside of its buffer: they are in use no
    /// longer when the message is dropped.
    ///
    /// # Panics
    ///
    /// If this worker does not own the buffer, has returned it, or there is no worker `from`.
    #[inline]
    pub fn return_early(
        &mut self,
        id: BufferId,
        from: usize,
        stamp: Stamp,
        outside: usize,
    ) -> Ticket {
        assert!(from < self.arena.pool.plan.workers, "there is no worker {from}");
        if !Arena::<T>::TRIVIAL {
            let slot = self.owned(id);
            self.trace(id, BufferAction::Free, size_of::<AtomicU32>());
            // Ordering: Relaxed; only this worker acts on the mark. `&mut self` ends all references
            // to the message (ARENA-E).
            slot.owner.store(self.owner | RETURNED, Ordering::Relaxed);
        }
        self.pool.get_mut().early.add(id.0, from, stamp, outside)
    }

    /// Takes back a buffer that was returned early. Returns false if it was given out again.
    #[must_use]
    pub fn take_back(&mut self, id: BufferId, ticket: Ticket, stamp: Stamp) -> bool {
        let found = self.pool.get_mut().early.remove(ticket, id.0, stamp);
        if found && !Arena::<T>::TRIVIAL {
            // Ordering: Relaxed; as in `return_early`.
            self.returned(id).owner.store(self.owner, Ordering::Relaxed);
        }
        found
    }

    /// Whether a buffer that was returned early can still be taken back.
    #[must_use]
    pub fn has_returned(&self, id: BufferId, ticket: Ticket, stamp: Stamp) -> bool {
        // SAFETY: as in `acquire`; the lists run no foreign code.
        unsafe { &*self.pool.get() }.early.find(ticket, id.0, stamp)
    }

    /// The message in a buffer that this worker owns, returned early or not. A buffer that was
    /// returned may be given out while others are borrowed; so this needs `&mut self`, where
    /// [`get`](Self::get) does not.
    ///
    /// # Panics
    ///
    /// If the buffer is not this worker's, or not filled.
    #[must_use]
    pub fn get_returned(&mut self, id: BufferId) -> &T {
        if Arena::<T>::TRIVIAL {
            return self.arena.representative();
        }
        let slot = self.returned(id);
        self.trace(id, BufferAction::Read, size_of::<Slot<T>>());
        // SAFETY: the buffer is filled, and this worker owns it (ARENA-B, edge ARENA-1). Only
        // methods of this worker give it out, and the reference borrows all of them (ARENA-E).
        unsafe { &*slot.message() }
    }

    /// Sets the horizon: buffers that were returned early with stamps below it may be given out.
    #[inline]
    pub fn set_horizon(&mut self, horizon: Stamp) {
        self.pool.get_mut().early.set_horizon(horizon);
    }

    /// How many buffers were returned early, and neither taken back nor given out.
    #[must_use]
    pub fn early_count(&self) -> usize {
        // SAFETY: as in `acquire`; the lists run no foreign code.
        unsafe { &*self.pool.get() }.early.len()
    }

    /// Takes a buffer for a message to worker `to` out of the pool.
    #[inline]
    pub(super) fn acquire(&self, to: usize) -> Option<BufferId> {
        // SAFETY: no reference to the pool outlives a method of this type, no method runs foreign
        // code while it holds one, and the type is not `Sync`.
        let side = unsafe { &mut *self.pool.get() };
        if side.early.is_empty() { side.acquire(to).map(BufferId) } else { self.acquire_early(to) }
    }

    /// The same where buffers were returned early: they come after those that are free at once, and
    /// before those of others.
    fn acquire_early(&self, to: usize) -> Option<BufferId> {
        // SAFETY: as in `acquire`.
        let side = unsafe { &mut *self.pool.get() };
        if !side.has_free(to)
            && let Some(returned) = side.early.first(to)
        {
            return Some(self.give_out(returned));
        }
        if let Some(id) = side.acquire(to) {
            return Some(BufferId(id));
        }
        let mut place = side.early.begin(to);
        let returned = side.early.next(&mut place)?;
        Some(self.give_out(returned))
    }

    /// Drops the message of a buffer that was returned early. The caller has the buffer then, as if
    /// it came from the pool.
    fn give_out(&self, returned: Returned) -> BufferId {
        let Returned { buffer, list: to, outside } = returned;
        let id = BufferId(buffer);
        if !Arena::<T>::TRIVIAL {
            let slot = self.returned(id);
            let then = if needs_drop::<T>() { NOBODY } else { STALE };
            // Ordering: Relaxed; as in `disown`.
            slot.owner.store(then, Ordering::Relaxed);
            // A panic in the destructor leaves the buffer free.
            let unfilled = Unfilled { buffers: self, id, to };
            if needs_drop::<T>() {
                // SAFETY: this worker owned the filled buffer, which no other one reaches before it
                // is in the pool; and no reference to the message is left (ARENA-E).
                unsafe { slot.message().drop_in_place() };
            }
            std::mem::forget(unfilled);
        }
        if outside > 0 {
            self.refund_outside(outside);
        }
        id
    }

    /// Frees the buffers that were returned early and are below the horizon: so that the pool can
    /// use them for another purpose than the next message. Returns whether there may be any.
    #[cold]
    pub(super) fn free_returned(&self) -> bool {
        // SAFETY: as in `acquire`, here and below: `give_out` runs foreign code.
        let side = || unsafe { &mut *self.pool.get() };
        if side().early.is_empty() {
            return false;
        }
        for list in 0..side().early.lists() {
            let mut place = side().early.begin(list);
            while let Some(returned) = side().early.next(&mut place) {
                let id = self.give_out(returned);
                side().release(id.0, list);
            }
        }
        true
    }

    /// Frees buffers that were returned early from lists that have gained too many.
    #[cold]
    fn free_surplus(&self) {
        // SAFETY: as in `free_returned`.
        let side = || unsafe { &mut *self.pool.get() };
        for list in 0..side().early.lists() {
            for _ in 0..side().surplus(list) {
                let Some(returned) = side().early.first(list) else { break };
                let id = self.give_out(returned);
                side().release(id.0, list);
            }
        }
    }

    /// Lets the pool restore the balance between workers; call it after each fossil collection. If
    /// some worker is `short` of buffers, the pool keeps none that belong to other workers.
    pub fn redistribute(&mut self, short: bool) {
        if short {
            self.free_returned();
        } else if self.early_count() > 0 {
            self.free_surplus();
        }
        self.pool.get_mut().redistribute(short);
    }

    /// Gives all free buffers to the stock, because there is a shortage.
    pub fn give_up(&mut self) {
        self.free_returned();
        self.pool.get_mut().give_up();
    }

    /// The slot of a buffer that this worker owns, returned early or not.
    fn returned(&self, id: BufferId) -> &Slot<T> {
        let slot = self.arena.slot(id).expect("ARENA-B: no such buffer");
        // Ordering: Acquire, edge ARENA-1. Required for soundness.
        let owner = slot.owner.load(Ordering::Acquire);
        let is_mine = owner & !RETURNED == self.owner;
        assert!(is_mine, "ARENA-B: worker {} touched a buffer of {owner}", self.owner);
        slot
    }
}

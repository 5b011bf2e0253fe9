//! How a worker fills a buffer: with a message that is moved into it, or that is written where it
//! lies.

use std::{mem::needs_drop, sync::atomic::Ordering};

use super::{Arena, BufferId, Buffers, Unfilled};
use crate::{
    slots::{NOBODY, STALE, Slot},
    trace::BufferAction,
};

impl<T: Send + Sync> Buffers<'_, T> {
    /// Fills a free buffer with the result of `make`, and makes worker `to` its owner. Returns
    /// `None`, without a call of `make`, if the pool has no buffer for this worker and receiver.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    #[inline]
    pub fn fill_with(&self, to: usize, make: impl FnOnce() -> T) -> Option<BufferId> {
        assert!(to < self.arena.pool.plan.workers, "there is no worker {to}");
        let id = self.acquire(to)?;
        // `make` is foreign code: it may panic, which must not lose the buffer, and it may call
        // this method again.
        let unfilled = Unfilled { buffers: self, id, to };
        if Arena::<T>::TRIVIAL {
            let message = make();
            self.arena.representative.get_or_init(|| message);
            std::mem::forget(unfilled);
            return Some(id);
        }
        let slot = self.arena.slot_to_fill(id);
        self.trace(id, BufferAction::Fill { to: to as u32 }, size_of::<Slot<T>>());
        debug_assert!(
            // Ordering: Relaxed; as in `fill_over`.
            matches!(slot.owner.load(Ordering::Relaxed), NOBODY | STALE),
            "ARENA-A: a filled buffer was in the pool"
        );
        // SAFETY: the buffer is out of the pool, so no other worker reaches it, and it has no
        // message (ARENA-A, POOL-A).
        unsafe { slot.message().write(make()) };
        // Ordering: Release, edge ARENA-1.
        slot.owner.store(self.owner_at_first(to), Ordering::Release);
        std::mem::forget(unfilled);
        Some(id)
    }

    /// Fills a free buffer like [`fill_with`](Self::fill_with), but lets `write` write over the
    /// message that it had before, if it has one; otherwise, or to replace it, `write` returns one.
    /// Messages with a destructor are always returned.
    ///
    /// # Panics
    ///
    /// If there is no such worker, or `write` returns no message though it had none to write over.
    #[inline]
    pub fn fill_over(
        &self,
        to: usize,
        write: impl FnOnce(Option<&mut T>) -> Option<T>,
    ) -> Option<BufferId> {
        const NO_MESSAGE: &str = "there is no message to write over";
        if Arena::<T>::TRIVIAL || needs_drop::<T>() {
            return self.fill_with(to, || write(None).expect(NO_MESSAGE));
        }
        assert!(to < self.arena.pool.plan.workers, "there is no worker {to}");
        let id = self.acquire(to)?;
        let unfilled = Unfilled { buffers: self, id, to };
        let slot = self.arena.slot_to_fill(id);
        self.trace(id, BufferAction::Fill { to: to as u32 }, size_of::<Slot<T>>());
        // Ordering: Relaxed; the buffer came from its last owner by edge ARENA-2.
        let owner = slot.owner.load(Ordering::Relaxed);
        debug_assert!(matches!(owner, NOBODY | STALE), "ARENA-A: a filled buffer was in the pool");
        let message = if owner == STALE {
            // SAFETY: the message is valid (ARENA-D), and the buffer is out of the pool, so no
            // other worker reaches it, and this one only through this reference.
            write(Some(unsafe { &mut *slot.message() }))
        } else {
            Some(write(None).expect(NO_MESSAGE))
        };
        if let Some(message) = message {
            // SAFETY: as above; a message that is there has no destructor.
            unsafe { slot.message().write(message) };
        }
        // Ordering: Release, edge ARENA-1.
        slot.owner.store(self.owner_at_first(to), Ordering::Release);
        std::mem::forget(unfilled);
        Some(id)
    }
}

//! What a worker counts beside the buffers that it fills: its free buffers, those that it reserves,
//! and memory outside of buffers.
//!
//! The engine calls it; the pools keep the accounts.

use super::Buffers;
use crate::pool::PoolSide;

impl<T: Send + Sync> Buffers<'_, T> {
    /// The number of free buffers that other workers do not take unless there is a shortage.
    #[must_use]
    pub fn free_count(&self) -> usize {
        // SAFETY: as in `acquire`.
        unsafe { &*self.pool.get() }.free()
    }

    /// Whether this worker may use `bytes` bytes outside of buffers, for what a message or a saved
    /// state owns on the heap: they count toward the limit of the pool, as buffers that are not
    /// used ([`PoolPlan::worth`](crate::PoolPlan::worth)).
    #[inline]
    #[must_use]
    pub fn ensure_outside(&self, bytes: usize) -> bool {
        // SAFETY: as in `acquire`; the pool runs no foreign code.
        let ensure = || unsafe { &mut *self.pool.get() }.ensure(bytes);
        ensure() || (self.free_returned() && ensure())
    }

    /// Notes that this worker uses `bytes` bytes more outside of buffers, whether it may or not.
    #[inline]
    pub fn charge_outside(&self, bytes: usize) {
        // SAFETY: as in `acquire`; the pool runs no foreign code.
        unsafe { &mut *self.pool.get() }.charge(bytes);
    }

    /// Notes that `bytes` bytes outside of buffers are in use no longer. Another worker may have
    /// been charged for them.
    #[inline]
    pub fn refund_outside(&self, bytes: usize) {
        // SAFETY: as in `acquire`; the pool runs no foreign code.
        unsafe { &mut *self.pool.get() }.refund(bytes);
    }

    /// The number of buffers out of the pool that hold no message: those that are reserved, and
    /// those that pay for memory outside of buffers.
    #[must_use]
    pub fn withheld_count(&self) -> usize {
        // SAFETY: as in `acquire`; the pool runs no foreign code.
        unsafe { &*self.pool.get() }.withheld()
    }

    /// Reserves `count` buffers: so many sends of this worker find a buffer, to whatever worker.
    /// Returns false, and reserves none, if there are fewer.
    #[must_use]
    pub fn reserve(&mut self, count: usize) -> bool {
        self.pool.get_mut().reserve(count)
            || (self.free_returned() && self.pool.get_mut().reserve(count))
    }

    /// Frees the reserved buffers that were not used.
    pub fn end_reserve(&mut self) {
        self.pool.get_mut().end_reserve();
    }
}

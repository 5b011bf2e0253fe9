//! What is left in buffers after all workers have given up theirs: an engine moves it out, for
//! another engine to go on with. The invariants are those of [`arena`](super).

use std::{ptr, sync::atomic::Ordering};

use super::{Arena, BufferId, Buffers};
use crate::{
    pool::PoolSide,
    slots::{NOBODY, STALE},
};

impl<T: Send + Sync> Arena<T> {
    /// Moves the message out of a filled buffer, after all workers have given up their buffers. The
    /// buffer does not return to the pool.
    ///
    /// # Panics
    ///
    /// If the buffer is not filled.
    #[must_use]
    pub fn take(&mut self, id: BufferId) -> T {
        if Self::TRIVIAL {
            // Required for soundness: no more values come out than are in buffers (ARENA-F).
            assert!(self.moved_out < self.filled_at_end(), "ARENA-B: more messages than were sent");
            self.moved_out += 1;
            // SAFETY: a value without size and destructor, as was put into a buffer and forgotten;
            // no more of them are moved out than were put in.
            return unsafe { ptr::read(self.representative()) };
        }
        let slot = self.slot(id).expect("ARENA-B: no such buffer was ever filled");
        // Ordering: Relaxed; `&mut self`: no other thread reaches the arena any more.
        let owner = slot.owner.swap(NOBODY, Ordering::Relaxed);
        // Required for soundness: there is a message that nobody else moves or drops (ARENA-B).
        assert!(!matches!(owner, NOBODY | STALE), "ARENA-B: buffer {} is not filled", id.0);
        // SAFETY: the buffer was filled, and no worker has `Buffers` that could reach it.
        unsafe { slot.message().read() }
    }

    /// How many buffers hold a message, after all workers have given up theirs.
    fn filled_at_end(&self) -> usize {
        // Ordering: Relaxed; the threads of the workers have ended.
        let (ended, idle) = (self.ended.load(Ordering::Relaxed), self.idle.load(Ordering::Relaxed));
        // Required for soundness: what a worker has not told of would count as filled (ARENA-F).
        assert_eq!(ended, self.pool.plan.workers, "ARENA-F: a worker has its buffers");
        let issued = self.issued() as usize;
        let spare = self.available() - (self.limit_now() as usize - issued);
        issued - idle - spare
    }
}

/// Tells the arena which of this worker's buffers hold no message (ARENA-F).
impl<T> Drop for Buffers<'_, T> {
    fn drop(&mut self) {
        let side = self.pool.get_mut();
        let idle = side.free() + side.withheld() + side.early.len();
        // Ordering: Relaxed; see `filled_at_end`.
        self.arena.idle.fetch_add(idle, Ordering::Relaxed);
        self.arena.ended.fetch_add(1, Ordering::Relaxed);
    }
}

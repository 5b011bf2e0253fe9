//! Who owns a filled buffer: the worker that it was filled for, the next one that it was passed on
//! to, or, where messages have no owner at first, the one that claims it.
//!
//! Called by workers for mail that is for them, and for LPs that move. The invariants are those of
//! [`arena`](super).

use std::sync::atomic::Ordering;

use super::{Arena, BufferId, Buffers, owner_word};
use crate::slots::{RETURNED, Slot, UNCLAIMED};

impl<T: Send + Sync> Buffers<'_, T> {
    /// Makes worker `to` the owner of a buffer that this worker owns; the message stays as it is.
    ///
    /// # Panics
    ///
    /// If this worker does not own the buffer, it is not filled, or there is no worker `to`.
    pub fn pass_on(&mut self, id: BufferId, to: usize) {
        assert!(to < self.arena.pool.plan.workers, "there is no worker {to}");
        if !Arena::<T>::TRIVIAL {
            // Ordering: Release, edge ARENA-1. This worker has the message by an acquire, so the
            // next owner has it by both edges; `&mut self` ends all references to it.
            self.owned(id).owner.store(owner_word(to), Ordering::Release);
        }
    }

    /// Whether this worker owns the buffer, returned early or not; always true if messages are not
    /// stored.
    #[must_use]
    pub fn owns(&self, id: BufferId) -> bool {
        // Ordering: Relaxed; nothing is read through the answer.
        let is_mine = |slot: &Slot<T>| slot.owner.load(Ordering::Relaxed) & !RETURNED == self.owner;
        Arena::<T>::TRIVIAL || self.arena.slot(id).is_some_and(is_mine)
    }

    /// Makes this worker the owner of a buffer that was filled for another worker than the one
    /// that filled it, in an arena of [unclaimed](Arena::unclaimed) messages. Says whether it does:
    /// no worker had claimed the buffer before. Always true if messages are not stored.
    #[must_use]
    pub fn claim(&mut self, id: BufferId) -> bool {
        Arena::<T>::TRIVIAL
            || self.arena.slot(id).is_some_and(|slot| {
                // Ordering: Acquire, edge ARENA-1; on failure nothing is read. Required for
                // soundness: of several workers that claim a buffer, one becomes the owner.
                slot.owner
                    .compare_exchange(UNCLAIMED, self.owner, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            })
    }

    /// The owner word of a message for worker `to`.
    #[inline]
    pub(super) const fn owner_at_first(&self, to: usize) -> u32 {
        let owner = owner_word(to);
        debug_assert!(owner & RETURNED == 0, "ARENA-E: the word says that it was returned");
        if self.arena.unclaimed && owner != self.owner { UNCLAIMED } else { owner }
    }

    #[inline]
    pub(super) fn owned(&self, id: BufferId) -> &Slot<T> {
        let slot = self.arena.slot(id).expect("ARENA-B: no such buffer");
        // Ordering: Acquire, edge ARENA-1. Required for soundness.
        let owner = slot.owner.load(Ordering::Acquire);
        assert!(owner == self.owner, "ARENA-B: worker {} touched a buffer of {owner}", self.owner);
        slot
    }
}

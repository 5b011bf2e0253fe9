//! The memory budget for pending events: what each of them takes, and what its message owns on the
//! heap. Without a limit nothing is counted.
//!
//! Senders reserve memory, and workers release it when events are handled.

use std::sync::atomic::{AtomicU64, Ordering};

use warpline_core::{Model, Place};

use super::error_context::ErrorContext;
use crate::{HeapMemory, RunError, handling::Halt};

/// The budget for pending events, shared by all workers of a rank.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    /// The limit in bytes, and what one event takes of it.
    limit: Option<u64>,
    event_bytes: u64,
    /// What pending events take, if there is a limit. Ordering: Relaxed everywhere; counts.
    taken: AtomicU64,
    /// What their messages own, a part of that; and the most that was found of both.
    owned: AtomicU64,
    owned_peak: AtomicU64,
    taken_peak: AtomicU64,
}

impl MemoryBudget {
    pub(super) fn new(limit: Option<u64>, event_bytes: u64) -> Self {
        let [taken, owned, owned_peak, taken_peak] = [(); 4].map(|()| AtomicU64::new(0));
        Self { limit, event_bytes, taken, owned, owned_peak, taken_peak }
    }

    /// Counts events that were pending when the engine began, and what their messages own.
    pub(super) fn take_over(&self, events: usize, owned: u64) {
        self.taken.fetch_add(events as u64 * self.event_bytes + owned, Ordering::Relaxed);
        self.owned.fetch_add(owned, Ordering::Relaxed);
    }

    /// Whether there is a limit.
    #[inline]
    pub(super) const fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Whether half of the memory is taken. A window releases what it has handled at its end, and
    /// most models send about as much meanwhile.
    pub(super) fn is_half_taken(&self) -> bool {
        self.limit.is_some_and(|limit| self.taken.load(Ordering::Relaxed) > limit / 2)
    }

    /// Reserves memory for one more event, whose message owns some. If there is too little, the
    /// code that sends it is cut off.
    #[inline]
    pub(super) fn reserve(&self, context: &mut ErrorContext, owned: u64) {
        let Some(limit) = self.limit else { return };
        let more = self.event_bytes + owned;
        if self.taken.fetch_add(more, Ordering::Relaxed) + more > limit {
            self.taken.fetch_sub(more, Ordering::Relaxed);
            context.halt(Halt::OutOfBuffers);
        }
        if owned > 0 {
            self.owned.fetch_add(owned, Ordering::Relaxed);
        }
    }

    /// Releases the memory of this number of events, whose messages owned so much.
    #[inline]
    pub(super) fn release(&self, events: usize, owned: u64) {
        if self.limit.is_none() {
            return;
        }
        let less = events as u64 * self.event_bytes + owned;
        let taken = self.taken.fetch_sub(less, Ordering::Relaxed);
        debug_assert!(taken >= less, "{less} of {taken} bytes released");
        if owned > 0 {
            let before = self.owned.fetch_sub(owned, Ordering::Relaxed);
            debug_assert!(before >= owned, "{owned} of {before} bytes of messages released");
            self.owned_peak.fetch_max(before, Ordering::Relaxed);
            self.taken_peak.fetch_max(taken, Ordering::Relaxed);
        }
    }

    /// What messages owned at the peak, for the report.
    pub(super) fn heap_memory<M: Model>(&self) -> HeapMemory {
        match self.limit {
            None => HeapMemory::not_counted::<M>(false),
            Some(_) => {
                // A stage may end before it releases anything.
                let now = self.owned.load(Ordering::Relaxed);
                let taken = self.taken.load(Ordering::Relaxed);
                debug_assert!(now <= taken, "messages own {now} of the {taken} bytes taken");
                let peak = self.owned_peak.load(Ordering::Relaxed).max(now);
                HeapMemory::counted::<M>(false, peak)
            }
        }
    }

    /// The most memory that was taken, if messages that own some were counted.
    pub(super) fn peak(&self) -> Option<u64> {
        let peak = self.taken_peak.load(Ordering::Relaxed);
        (peak > 0).then_some(peak)
    }

    /// The failure of a run that exceeds the budget.
    pub(super) fn out_of_buffers(&self, place: Place) -> RunError {
        debug_assert!(self.is_limited(), "memory was refused, and there is no limit");
        RunError::OutOfBuffers {
            place,
            limit: self.limit.unwrap_or(u64::MAX),
            events: self.limit.map_or(0, |limit| limit / self.event_bytes),
            event_bytes: self.event_bytes,
        }
    }
}

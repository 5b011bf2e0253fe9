//! The memory budget for pending events.

use std::sync::atomic::{AtomicUsize, Ordering};

use warpline_core::Place;

use super::common::ErrorContext;
use crate::{RunError, handling::Halt};

/// The budget for pending events, shared by all workers of a rank.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    /// The limit in bytes, and what one event takes of it.
    bytes: Option<u64>,
    event_bytes: u64,
    /// The most events that may be pending, if there is a limit.
    events: Option<usize>,
    /// The number of pending events, if there is a limit.
    pending: AtomicUsize,
}

impl MemoryBudget {
    pub(super) fn new(bytes: Option<u64>, event_bytes: u64) -> Self {
        let events = bytes.map(|bytes| bytes / event_bytes);
        let events = events.map(|events| usize::try_from(events).unwrap_or(usize::MAX));
        Self { bytes, event_bytes, events, pending: AtomicUsize::new(0) }
    }

    /// Counts the events that were pending when the engine began.
    pub(super) fn take_over(&self, events: usize) {
        // Ordering: Relaxed; a count.
        self.pending.fetch_add(events, Ordering::Relaxed);
    }

    /// Whether there is a limit.
    #[inline]
    pub(super) const fn is_limited(&self) -> bool {
        self.events.is_some()
    }

    /// Reserves memory for one more event. If there is none, the code that sends it is cut off.
    #[inline]
    pub(super) fn reserve(&self, context: &mut ErrorContext) {
        if let Some(events) = self.events {
            // Ordering: Relaxed; a count, here and below.
            if self.pending.fetch_add(1, Ordering::Relaxed) >= events {
                self.pending.fetch_sub(1, Ordering::Relaxed);
                context.halt(Halt::OutOfBuffers);
            }
        }
    }

    /// Releases the memory of this number of events.
    #[inline]
    pub(super) fn release(&self, events: usize) {
        if self.events.is_some() {
            let pending = self.pending.fetch_sub(events, Ordering::Relaxed);
            debug_assert!(pending >= events, "{events} of {pending} pending events released");
        }
    }

    /// The failure of a run that exceeds the budget.
    pub(super) fn out_of_buffers(&self, place: Place) -> RunError {
        RunError::OutOfBuffers {
            place,
            limit: self.bytes.unwrap_or(u64::MAX),
            events: self.events.unwrap_or_default() as u64,
            event_bytes: self.event_bytes,
        }
    }
}

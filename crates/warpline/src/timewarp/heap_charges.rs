//! What messages and states own on the heap is charged to the memory of their worker.
//!
//! Called where messages are made and states are saved, if memory is limited.

use std::mem::needs_drop;

use warpline_core::Model;

use super::{
    Message,
    event::Event,
    heap::{of_message, of_state},
    worker::TimeWarpWorker,
};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Whether there is memory for what is saved of an LP before an event.
    #[inline]
    pub(super) fn has_memory_to_save(&mut self, event: &Event) -> bool {
        if self.log.saving.is_logging() {
            return !self.store.is_limited || self.can_log();
        }
        if !const { needs_drop::<M::Lp>() } {
            return true;
        }
        let bytes = of_state(&self.lps[event.lp().index()].state);
        bytes == 0 || self.store.buffers.ensure_outside(bytes)
    }

    /// Frees the buffer of an event, and its message.
    #[inline]
    pub(super) fn free(&mut self, event: &Event) {
        debug_assert!(event.cancels().is_none(), "an anti-message has no buffer of its own");
        let from = self.sender_of(event);
        if const { needs_drop::<Message<M>>() } {
            let bytes = of_message::<M>(self.store.buffers.get(event.buffer()));
            self.store.buffers.free(event.buffer(), from);
            if bytes > 0 {
                self.store.buffers.refund_outside(bytes);
            }
        } else {
            self.store.buffers.free(event.buffer(), from);
        }
    }
}

//! Accounts of the heap that messages, saved states and undo logs own, for the memory limit. Kept
//! where messages are sent and states are saved.
//!
//! The model says how much that is ([`LogicalProcess::heap_bytes`] and
//! [`LogicalProcess::message_heap_bytes`]); tracked fields know what their logs take. The pool
//! keeps the accounts ([`Buffers::ensure_outside`]): what is refused there is a shortage of buffers
//! like any other, and is answered like any other ([`cancelback`](super::cancelback)). Nothing of
//! this is compiled for types without a destructor, which own nothing.
//!
//! # Invariants
//!
//! - **OWNED-A.** A message is charged for when it gets its buffer, and no longer when it leaves
//!   it; a copy of a state, from when it is made until it is dropped or overwritten.
//! - **OWNED-B.** With a memory limit, only records in the log have copies: what is saved of an
//!   event is freed when the event is committed or undone.

use std::mem::needs_drop;

use warpline_core::{LogicalProcess, Model};
use warpline_memory::Buffers;

use super::{Message, event::Event, saving::Lp, worker::Worker};

/// What the memory of the run asks of copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyRules {
    /// Whether memory is limited, so that no copy is kept for its memory (OWNED-B).
    pub(super) is_limited: bool,
    /// Whether LPs have memory of their own: then a copy of one is not made in that of another.
    pub(super) apart: bool,
}

/// What a message owns.
#[inline]
pub(super) fn of_message<M: Model>(message: &Message<M>) -> usize {
    if const { needs_drop::<Message<M>>() } { M::Lp::message_heap_bytes(message) } else { 0 }
}

/// What a state owns, without its tracked fields.
#[inline]
pub(super) fn of_state<L: LogicalProcess>(state: &L) -> usize {
    if const { needs_drop::<L>() } { state.heap_bytes() } else { 0 }
}

/// What the undo logs of an LP take.
fn of_logs<L: LogicalProcess>(lp: &mut Lp<L>) -> usize {
    let mut bytes = 0;
    lp.state.tracked(&mut |field| bytes += field.log_bytes());
    bytes
}

/// Puts a number of bytes in the place of another in the account of a worker.
#[inline]
pub(super) fn recharge<T: Send + Sync>(buffers: &Buffers<'_, T>, before: usize, after: usize) {
    if after > before {
        buffers.charge_outside(after - before);
    } else if after < before {
        buffers.refund_outside(before - after);
    }
}

impl<M: Model> Worker<'_, M> {
    /// Whether there is memory for what is saved of an LP before an event, and for its undo logs to
    /// grow, which makes them twice as large and moves them.
    #[inline]
    pub(super) fn can_save(&mut self, event: &Event) -> bool {
        if !const { needs_drop::<M::Lp>() } {
            return true;
        }
        let logs = self.log_bytes(event.lp);
        let lp = &self.lps[event.lp as usize];
        let bytes = of_state(&lp.state);
        (bytes == 0 && !lp.is_tracked) || self.buffers.ensure_outside(bytes + 2 * logs)
    }

    /// What the undo logs of an LP take, where that is counted.
    #[inline]
    pub(super) fn log_bytes(&mut self, lp: u32) -> usize {
        if !const { needs_drop::<M::Lp>() } || !self.is_limited {
            return 0;
        }
        let lp = &mut self.lps[lp as usize];
        if lp.is_tracked { of_logs(lp) } else { 0 }
    }

    /// Notes that the undo logs of an LP took `before` bytes.
    #[inline]
    pub(super) fn recharge_logs(&mut self, lp: u32, before: usize) {
        if const { needs_drop::<M::Lp>() } && self.is_limited {
            let after = self.log_bytes(lp);
            recharge(&self.buffers, before, after);
        }
    }

    /// Frees what logs keep of committed events, in a shortage.
    pub(super) fn shrink_logs(&mut self) {
        if !const { needs_drop::<M::Lp>() } {
            return;
        }
        let committed = self.history.front();
        for lp in 0..self.lps.len() as u32 {
            let before = self.log_bytes(lp);
            if before > 0 {
                let forget = |field: &mut dyn warpline_core::Undo| field.forget(committed);
                self.lps[lp as usize].state.tracked(&mut |field| forget(field));
                self.recharge_logs(lp, before);
            }
        }
    }

    /// Frees the buffer of an event, and its message.
    #[inline]
    pub(super) fn free(&mut self, event: &Event) {
        debug_assert!(event.cancels().is_none(), "an anti-message has no buffer of its own");
        let from = self.sender_of(event);
        if const { needs_drop::<Message<M>>() } {
            let bytes = of_message::<M>(self.buffers.get(event.buffer()));
            self.buffers.free(event.buffer(), from);
            if bytes > 0 {
                self.buffers.refund_outside(bytes);
            }
        } else {
            self.buffers.free(event.buffer(), from);
        }
    }
}

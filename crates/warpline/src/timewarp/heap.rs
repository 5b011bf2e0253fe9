//! Accounts of the heap that messages, saved states and undo logs own, for the memory limit. Kept
//! where messages are sent and states are saved.
//!
//! The model says how much that is ([`LogicalProcess::heap_bytes`] and
//! [`LogicalProcess::message_heap_bytes`]); undo logs [know it](super::logging). The pool keeps
//! the accounts ([`Buffers::ensure_outside`]): what is refused there is a shortage of buffers
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

use super::Message;

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

/// What a state owns.
#[inline]
pub(super) fn of_state<L: LogicalProcess>(state: &L) -> usize {
    if const { needs_drop::<L>() } { state.heap_bytes() } else { 0 }
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

//! What is saved of an LP that moves to another worker: it goes with the LP's records.
//!
//! Called by [`moves`](super::super::moves), which hands LPs over.

use warpline_core::Model;
use warpline_memory::Buffers;

use super::{
    super::{
        Message, heap,
        history::{Record, Ring},
    },
    BEFORE_COPY, Copies, Saving,
};
use crate::local_lp::LocalLp;

/// What is saved of an LP before one event.
#[derive(Debug)]
pub(in super::super) struct Saved<L> {
    copy: Option<L>,
    note: u64,
}

/// The last copies of an LP that moves to another worker, if copies are sparse.
#[derive(Debug)]
pub(in super::super) struct SparseCopies(Option<Copies>);

impl<M: Model> Saving<M> {
    /// Takes out what is saved with the record at a position, which leaves this worker.
    pub(in super::super) fn take(&mut self, at: u64, copied: bool) -> Saved<M::Lp> {
        if self.is_logging() {
            return Saved { copy: None, note: 0 };
        }
        let place = at as usize & (self.copies.len() - 1);
        let copy = if copied { self.copies[place].take() } else { None };
        debug_assert!(!copied || copy.is_some(), "SAVE-A: a record that says so has no copy");
        Saved { copy, note: self.notes.get(place).copied().unwrap_or_default() }
    }

    /// Puts in what is saved with the record that has just come to the back of `history`.
    pub(in super::super) fn put(
        &mut self,
        history: &Ring<Record>,
        at: u64,
        saved: Saved<M::Lp>,
        buffers: &Buffers<'_, Message<M>>,
    ) {
        if self.is_logging() {
            return;
        }
        if self.copies.len() < history.capacity() {
            self.grow(history, at, buffers);
        }
        debug_assert_eq!(saved.copy.is_some(), history[at].copied, "SAVE-A: record {at}");
        if saved.copy.is_some() {
            let place = at as usize & (self.copies.len() - 1);
            let old = std::mem::replace(&mut self.copies[place], saved.copy);
            heap::recharge(buffers, old.as_ref().map_or(0, heap::of_state), 0);
        }
        self.note(at, saved.note);
    }

    /// Removes the LP with this index; the last one gets its index.
    pub(in super::super) fn remove_lp(&mut self, lp: LocalLp) -> SparseCopies {
        SparseCopies(self.sparse.as_mut().map(|sparse| sparse.swap_remove(lp.index())))
    }

    /// Adds an LP after the last one. Its records are at other positions now, which `position`
    /// finds. None of them counts as released: if they are undone, positions are used again.
    pub(in super::super) fn add_lp(
        &mut self,
        copies: SparseCopies,
        position: impl Fn(u64) -> Option<u64>,
    ) {
        debug_assert!(self.sparse.is_some() || copies.0.is_none(), "CHOICE-A: workers differ");
        let Some(sparse) = &mut self.sparse else { return };
        let moved = match copies.0.and_then(|copies| Some((copies, position(copies.at)?))) {
            Some((copies, at)) => Copies { at, released: 0, ..copies },
            // SAVE-A: without a copy that it knows of, the next record has one.
            None => Copies { at: 0, since: BEFORE_COPY, released: 0 },
        };
        sparse.push(moved);
    }
}

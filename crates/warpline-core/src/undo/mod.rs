//! State that is saved field by field: one undo log for all LPs of a worker.
//!
//! An engine that undoes events has an [`UndoLog`], which it hands to handlers through
//! [`Context::undo`](crate::Context::undo). A [tracked](crate::Tracked) field writes its old value
//! there before it changes, and keeps the position of its last entry; an entry has the position of
//! the field's entry before it. To undo, an engine calls [`State::undo_to`] with a position, and
//! each field walks its own chain down to there. No field has a number, no entry names its field,
//! and the order in which fields are undone does not matter.
//!
//! The other fields of a state, its plain ones, are saved together in one entry for each event (or,
//! in the speculative engine, for each window): [`State::save_plain`]. If all fields that change
//! are tracked, a write costs what it writes, and nothing is copied at all.
//!
//! # Invariants
//!
//! - **UNDO-A.** Positions count words, begin at 1, and grow along the log. Those from the log's
//!   front on hold entries; an entry never moves within its log.
//! - **UNDO-B.** What an LP writes between two calls of [`UndoLog::begin`] for it lies at or after
//!   the position that the first one returned; what it wrote before lies before that position.
//! - **UNDO-C.** A field's last entry is in the log of the worker that has the LP, or before the
//!   front of that log. So a log that takes LPs over begins behind the logs that they were in
//!   ([`UndoLog::starting_at`]), or they are [rebased](State::rebase).
//! - **UNDO-D.** The old value is in the log before the field changes: a handler that panics in the
//!   middle of an event can be undone.
//!
//! # References
//!
//! The incrementally checkpointed state of GTW (Das, Fujimoto, Panesar, Allison and Hybinette 1994,
//! section 2.1). There the model calls a procedure before it writes, and may forget to; here the
//! only way to write is through a method that saves.

mod log;
mod owned;
mod saving;
mod value;

use std::fmt::Debug;

pub use log::{Entry, Moves, Segment, UndoLog};
pub use owned::Owned;
pub use saving::Saving;
pub use value::Value;

/// A tracked field, as its state uses it: a container such as [`Tracked`](crate::Tracked), or a
/// vector, an array or an option of them; or a part of a state that derives [`State`] itself, and
/// has no plain fields.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not save what is written to it",
    label = "not a tracked field",
    note = "a type of your own derives `State`, and has no plain fields: each is in a `Tracked…`, \
            or `#[state(nested)]`, or `#[state(fixed)]`"
)]
pub trait Undo {
    /// Undoes what was written at `point` of the log and after it, and returns how many entries
    /// that were.
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize;

    /// Finds its entries where they have moved to.
    fn rebase(&mut self, moves: &Moves);

    /// The bytes that the contents own on the heap.
    fn heap_bytes(&self) -> usize;
}

/// The state of an LP whose fields say how they are saved.
/// [`#[derive(State)]`](derive@crate::State) writes it.
///
/// Every field is of one of three kinds:
///
/// - *tracked*: it saves what changes, when it changes;
/// - *plain*: it is saved with the other plain ones, before each event or each window;
/// - *fixed*: nothing changes it after [`Model::make_lp`](crate::Model::make_lp), so nothing saves
///   it.
///
/// A field belongs to its state for ever: a handler does not put another container in its place
/// (`self.queue = TrackedDeque::default()`) and does not swap two of them, because then the entries
/// of the old one are lost. The check of saving finds that.
pub trait State: Clone + Sized {
    /// Whether there are plain fields.
    const HAS_PLAIN: bool;

    /// Saves the plain fields at the end of the log, in one entry.
    fn save_plain(&self, log: &mut UndoLog);

    /// Restores the plain fields from the entry at `point`. Each entry is restored at most once:
    /// what a value owns is taken out of the log.
    fn restore_plain(&mut self, point: u64, log: &mut UndoLog);

    /// Undoes what the tracked fields wrote at `point` of the log and after it, and returns how
    /// many entries that were.
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize;

    /// Lets the tracked fields find their entries where they have moved to.
    fn rebase(&mut self, moves: &Moves);

    /// The bytes that the state owns on the heap, apart from what is fixed: a copy of it takes as
    /// many.
    fn heap_bytes(&self) -> usize;

    /// Shows every field with its name, for checks that say which one is wrong.
    fn fields(&self, visit: &mut dyn FnMut(&'static str, &dyn Debug));
}

impl<T: Undo> Undo for Vec<T> {
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        self.iter_mut().map(|field| field.undo_to(point, log)).sum()
    }

    fn rebase(&mut self, moves: &Moves) {
        self.iter_mut().for_each(|field| field.rebase(moves));
    }

    fn heap_bytes(&self) -> usize {
        let own = crate::heap_block(self.capacity() * size_of::<T>());
        own + self.iter().map(T::heap_bytes).sum::<usize>()
    }
}

impl<T: Undo, const N: usize> Undo for [T; N] {
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        self.iter_mut().map(|field| field.undo_to(point, log)).sum()
    }

    fn rebase(&mut self, moves: &Moves) {
        self.iter_mut().for_each(|field| field.rebase(moves));
    }

    fn heap_bytes(&self) -> usize {
        self.iter().map(T::heap_bytes).sum()
    }
}

impl<T: Undo> Undo for Option<T> {
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        self.as_mut().map_or(0, |field| field.undo_to(point, log))
    }

    fn rebase(&mut self, moves: &Moves) {
        self.iter_mut().for_each(|field| field.rebase(moves));
    }

    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, T::heap_bytes)
    }
}

impl<T: Undo> Undo for Box<T> {
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        (**self).undo_to(point, log)
    }

    fn rebase(&mut self, moves: &Moves) {
        (**self).rebase(moves);
    }

    fn heap_bytes(&self) -> usize {
        crate::heap_block(size_of::<T>()) + (**self).heap_bytes()
    }
}

//! State that is saved incrementally: each event saves only what it changes.
//!
//! A model puts its large fields into containers whose methods take the context where they change
//! something, and save what undoes the change first; so no handler can forget to save. An engine
//! that saves incrementally copies an LP [`shallow`]ly, without the contents of its tracked fields,
//! and calls [`Undo`] to let these fields undo their own changes.
//!
//! | container | like | what one change saves |
//! |---|---|---|
//! | [`Tracked`] | any value | the whole value, once per event |
//! | [`TrackedVec`] | `Vec` | one element |
//! | [`TrackedDeque`] | `VecDeque`: a queue | one element |
//! | [`TrackedMap`] | `BTreeMap` | one entry |
//!
//! A container finds what it has saved last, and no more: an element that an event writes twice in
//! a row is saved once, one that it writes again after another change is saved again. (GTW saves
//! once per event; to know that of every element, each would need a note of the event, which every
//! engine would carry along.)
//!
//! # Invariants
//!
//! - **TRACK-A.** A log holds, for each event that changed something and can be undone, what
//!   restores the contents from before the event; events are in ascending order.
//! - **TRACK-B.** A field without its contents (in a shallow copy) is never read: the engine puts
//!   the contents back before a handler sees it. A field that
//!   [`LogicalProcess::tracked`](crate::LogicalProcess::tracked) does not pass stays empty, and the
//!   next access panics and says why.
//!
//! # References
//!
//! The incrementally checkpointed state of GTW (Das et al. 1994, section 2.1).

mod deque;
mod field;
mod map;
mod value;
mod vec;

#[cfg(test)]
mod tests;

use std::any::Any;

pub use deque::TrackedDeque;
pub use field::shallow;
pub use map::TrackedMap;
pub use value::Tracked;
pub use vec::TrackedVec;

/// The operations of a tracked field that an engine calls.
pub trait Undo {
    /// Undoes the changes of event `event` and of later ones.
    fn undo_to(&mut self, event: u64);

    /// Gives the events that can be undone other numbers, in the same order; those that get none
    /// cannot be undone any more.
    fn renumber(&mut self, number: &mut dyn FnMut(u64) -> Option<u64>);

    /// The bytes that the log of changes takes, without what the saved values own on the heap.
    fn log_bytes(&self) -> usize;

    /// Drops what undoes the changes of events before `committed`, and its memory.
    fn forget(&mut self, committed: u64);

    /// Takes the contents out, to put them into the same field of a shallow copy.
    fn take_contents(&mut self) -> Box<dyn Any + Send>;

    /// Puts in the contents that [`take_contents`](Self::take_contents) took out of the same field
    /// of another copy.
    fn put_contents(&mut self, contents: Box<dyn Any + Send>);
}

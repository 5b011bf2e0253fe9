//! Tracked fields: containers that save what an event changes, and no more.
//!
//! A model puts its large fields into containers whose methods take the context where they change
//! something, and save what undoes the change first, in the worker's [undo log](crate::undo); so no
//! handler can forget to save. In an engine that undoes nothing, they are what they contain, and
//! one word more.
//!
//! | container | like | what one change saves |
//! |---|---|---|
//! | [`Tracked`] | any value | the whole value, once per event |
//! | [`TrackedVec`] | `Vec` | one element |
//! | [`TrackedDeque`] | `VecDeque`: a queue | one element |
//! | [`TrackedHeap`] | `BinaryHeap`, with the least element first | the elements that move |
//! | [`TrackedMap`], [`TrackedSet`] | `BTreeMap`, `BTreeSet` | one entry |
//! | [`TrackedHashMap`] | `HashMap`, without an order | one entry |
//!
//! GTW saves an element once per event. A [`Tracked`] value does so (once per window, in the
//! speculative engine): its last entry tells. Elements of the others are saved at each write. To
//! know that an element was written before in this event, each would carry a word along in every
//! engine, which costs more than a second entry now and then.
//!
//! # Invariants
//!
//! - **TRACK-A.** Undoing the entries of a field, the last one first, gives the contents from
//!   before each of them; also their layout, where a handler could see it (a heap's order of equal
//!   elements).
//! - **TRACK-B.** A copy of a field has no entries: what is undone is the field that has changed.

mod deque;
mod entries;
mod field;
mod hash_map;
mod heap;
mod map;
mod set;
mod value;
mod vec;

#[cfg(test)]
mod tests;

pub use deque::TrackedDeque;
pub use hash_map::TrackedHashMap;
pub use heap::TrackedHeap;
pub use map::TrackedMap;
pub use set::TrackedSet;
pub use value::Tracked;
pub use vec::TrackedVec;

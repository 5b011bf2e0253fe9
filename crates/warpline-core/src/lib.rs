//! The vocabulary of Warpline: the types that a model and an engine share.
//!
//! Model authors use this crate through `warpline`, which re-exports what a model needs. Every
//! engine depends on it, and it depends on no engine: it starts no threads, reads no clock and no
//! file, and has no unsafe code.
//!
//! # Reading order
//!
//! 1. [`VirtualTime`] and [`EventKey`]: when events happen, and in which order.
//! 2. [`LogicalProcess`], [`Model`] and [`Context`]: how a model is written.
//! 3. [`Stream`]: random numbers that are rolled back together with the LP that drew them.
//! 4. [`State`](trait@State), with [`Tracked`] fields, and [`Reversal`]: two ways to undo an event
//!    without a copy of the whole LP.
//! 5. [`Statistics`](trait@Statistics) and [`Results`]: what a model observes and reports.
//! 6. [`CommitDigest`]: shows that two runs committed the same events.
//! 7. [`Wire`]: turns messages into bytes and back, for runs on several ranks.
//! 8. [`Fault`] and [`ModelError`]: the mistakes of models, and how they are reported.

#![forbid(unsafe_code)]

mod context;
#[doc(hidden)]
pub mod derived;
mod digest;
mod fault;
mod heap;
mod ids;
mod key;
mod mix;
mod model;
mod picture;
mod random;
mod results;
mod reversal;
pub mod statistics;
mod time;
mod tracked;
pub mod undo;
mod wire;

pub use context::{Context, Io, IoContext};
pub use digest::{CommitDigest, LpDigest};
pub use fault::{Discrepancy, Fault, ModelError, Place};
pub use heap::heap_block;
pub use ids::LpId;
pub use key::{EventKey, STEP_MAX};
pub use mix::mix;
pub use model::{Collected, Difference, Link, LogicalProcess, Model, NOT_ADAPTED, Wires};
pub use picture::{Picture, Shape};
pub use random::{Discrete, Empirical, Stream, TableError};
pub use results::{Figure, FigureKind, Results};
pub use reversal::Reversal;
pub use statistics::{
    Counter, Level, Statistics, Tally, TrackedHistogram, TrackedQuantiles, TrackedSeries,
};
pub use time::{InvalidTime, VirtualTime};
pub use tracked::{
    Tracked, TrackedDeque, TrackedHashMap, TrackedHeap, TrackedMap, TrackedSet, TrackedVec,
};
pub use undo::{Saving, State, Undo, UndoLog, Value};
// The macros have the names of the traits that they implement.
pub use warpline_derive::{State, Statistics, Value};
pub use wire::{Wire, WireError, append_words, take_bytes, take_words};

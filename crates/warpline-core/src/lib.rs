//! The vocabulary of Warpline: what a model and an engine say to each other.
//!
//! Model authors reach this crate through `warpline`, which re-exports all of it. Engines depend on
//! it and it depends on none of them: it knows nothing of threads, clocks, files or machines, and
//! it has no unsafe code.
//!
//! # Reading order
//!
//! 1. [`VirtualTime`] and [`EventKey`]: when things happen, and in which order.
//! 2. [`LogicalProcess`], [`Model`] and [`Context`]: how a model is written.
//! 3. [`Stream`]: random numbers that are rolled back together with the process that drew them.
//! 4. [`CommitDigest`]: how two runs are shown to have committed the same events.
//! 5. [`Wire`]: how messages travel between machines.
//! 6. [`Fault`] and [`ModelError`]: what a model can do wrong, and how it is told.

#![forbid(unsafe_code)]

mod context;
mod digest;
mod fault;
mod ids;
mod key;
mod model;
mod random;
mod reversal;
mod time;
mod tracked;
mod wire;

pub use context::{Context, Io, IoContext};
pub use digest::{CommitDigest, LpDigest, mix};
pub use fault::{Discrepancy, Fault, ModelError, Place};
pub use ids::LpId;
pub use key::{EventKey, STEP_MAX};
pub use model::{Link, LogicalProcess, Model};
pub use random::Stream;
pub use reversal::Reversal;
pub use time::{InvalidTime, VirtualTime};
pub use tracked::{Tracked, TrackedVec, Undo, UndoPoint, shallow};
pub use wire::{Wire, WireError, Wires, take_bytes};

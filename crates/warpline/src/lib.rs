//! Warpline: parallel discrete-event simulation that gives the same answer on every engine.
//!
//! A model is written once, as logical processes that send each other timestamped events, and runs
//! unchanged on any engine. This crate is the only one that a model's author names.
//!
//! The README has a whole model of 30 lines; `examples/queueing_network.rs` has one with several
//! kinds of LPs.
//!
//! At the root are the names that the author of a model needs, and those of a run. The modules have
//! the rest, by subject.
//!
//! # What is promised
//!
//! - **Same answer.** The engine, the pending set and the machine never change which events are
//!   committed; equal [digests](report::Totals::digest) show it.
//! - **Errors of a model name the place**: the LP, the virtual time, the event, the engine and the
//!   seed ([`ModelError`]). A handler's panic is reported the same way.
//! - **Bounded memory**: [`Simulation::memory`] limits the event buffers, and a model that needs
//!   more ends with an error that says so.

#![forbid(unsafe_code)]

#[doc(hidden)]
pub use warpline_core::derived;

/// The README's example, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the page about sessions, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/sessions.md")]
struct SessionsPage;

/// The programs of the page about replications, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/output-analysis.md")]
struct OutputAnalysisPage;

/// The example of the page about ranks, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/ranks.md")]
struct RanksPage;

/// The programs of the guide, compiled and run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/first-model.md")]
struct FirstModelPage;

/// What is wrong on purpose, and what is said of it.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/right.md")]
struct RightPage;

/// A run, event by event.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/wrong.md")]
struct WrongPage;

pub mod any_model;
mod auto;
mod checks;
mod conservative;
mod counted;
mod crowd;
mod cut;
mod engines;
pub mod error;
mod event;
pub mod files;
mod handling;
mod load_sharing;
mod local_lp;
pub mod monitor;
mod names;
mod ordered_slab;
mod panics;
pub mod pending;
pub mod picture;
mod placement;
mod profile;
mod remote_event;
pub mod replication;
pub mod report;
mod run;
mod scheduling;
mod sequential;
pub mod session;
pub mod settings;
#[cfg(test)]
mod simulated;
mod simulation;
mod sorting;
mod speculative;
mod stages;
mod sync;
mod thread_ranks;
pub mod timeline;
mod timewarp;
mod tuning;
pub mod warm_up;
mod warming;
mod watch;
mod worker_limit;

pub use any_model::{AnyModel, Only, Runnable};
pub use error::{ConfigError, RunError};
pub use report::{HeapMemory, Report};
pub use session::Session;
pub use settings::{
    Auto, Balance, Conservative, Engine, Intervals, Profile, ReverseCheck, SavingCheck, Sequential,
    Speculative, TimeWarp, Width,
};
pub use simulation::Simulation;
pub use warpline_core::{
    Collected, Context, Counter, Difference, Discrete, Empirical, EventKey, Figure, FigureKind, Io,
    IoContext, Level, Link, LogicalProcess, LpId, Model, ModelError, Results, Reversal, Saving,
    State, Statistics, Stream, TableError, Tally, Tracked, TrackedDeque, TrackedHashMap,
    TrackedHeap, TrackedHistogram, TrackedMap, TrackedQuantiles, TrackedSeries, TrackedSet,
    TrackedVec, Value, VirtualTime,
};
pub use watch::Progress;
pub use worker_limit::WorkerLimit;

pub mod digest {
    //! Digests of what a run commits, and of what a model hashes.

    pub use warpline_core::{CommitDigest, LpDigest, mix};
}

pub mod nodes {
    //! The machine's NUMA nodes, and the allocator for memory on them.

    pub use warpline_memory::{
        MemoryPolicy, Node, NodeAllocator, Topology, TopologyError, on_exhausted,
    };
}

pub mod ranks {
    //! How ranks reach each other, for [`Simulation::run_across`](crate::Simulation::run_across).

    pub use warpline_net::{NetError, Transport};
}

pub mod state {
    //! How states are saved by field, for those who write [`State`](trait@crate::State) by hand, or
    //! a container of their own; and what a model says about the memory that it owns on the heap.

    pub use warpline_core::{
        heap_block,
        undo::{Entry, Moves, Owned, Undo, UndoLog},
    };
}

pub mod statistics {
    //! Statistics: what a model observes of itself, and how it is told.

    pub use warpline_core::statistics::*;
}

pub mod time {
    //! The limits of virtual time.

    pub use warpline_core::STEP_MAX;
}

pub mod trace {
    //! Accesses to event buffers, which [`trace`](crate::settings::Instrumentation::trace) tells.

    pub use warpline_memory::{BufferAccess, BufferAction, BufferTrace};
}

pub mod wire {
    //! How messages and summaries travel between ranks, as bytes.

    pub use warpline_core::{Wire, WireError, Wires, take_bytes};
}

// What the modules of this crate import from its root.
use monitor::Monitor;
use pending::PendingKind;
use report::{Details, Totals};
use settings::{
    CheckpointInterval, EngineKind, Placement, StateSaving, StateSavingKind, SynchronizationKind,
};

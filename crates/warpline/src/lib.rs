//! Warpline: parallel discrete-event simulation that gives the same answer on every engine.
//!
//! A model is written once, as logical processes that send each other timestamped events, and runs
//! unchanged on any engine. This crate is the only one that a model's author names.
//!
//! The README has a whole model of 30 lines; `examples/queueing_network.rs` has one with several
//! kinds of processes.
//!
//! # What is promised
//!
//! - **Same answer.** The engine, the pending set and the machine never change which events are
//!   committed; equal [digests](Report::digest) show it.
//! - **Errors of a model name the place**: the process, the virtual time, the event, the engine and
//!   the seed ([`ModelError`]). A handler's panic is reported the same way.
//! - **Bounded memory**: [`Simulation::memory`] limits the event buffers, and a model that needs
//!   more ends with an error that says so.

#![forbid(unsafe_code)]

/// The README's example, compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod any_model;
mod conservative;
mod engines;
mod error;
mod event;
mod handling;
mod monitor;
mod names;
mod panics;
pub mod pending;
mod placement;
mod remote_event;
mod replication;
mod report;
mod reverse_check;
mod run;
mod sequential;
mod settings;
mod simulation;
mod sync;
mod timewarp;
mod watch;

pub use any_model::{AnyModel, AnyOutput, Runnable};
pub use error::{ConfigError, RunError};
pub use monitor::{Activity, Monitor, WorkerStatus};
pub use pending::PendingKind;
pub use replication::{Estimate, Replications};
pub use report::{Details, Figure, Report, Results, Totals};
pub use settings::{
    Cancellation, CheckpointInterval, Conservative, Engine, EngineKind, FossilCollection,
    Placement, Pool, PoolKind, ReverseCheck, Sequential, StateSaving, StateSavingKind,
    Synchronization, SynchronizationKind, TimeWarp,
};
pub use simulation::Simulation;
pub use warpline_core::{
    CommitDigest, Context, Discrepancy, EventKey, Fault, Io, IoContext, Link, LogicalProcess,
    LpDigest, LpId, Model, ModelError, Place, Reversal, STEP_MAX, Stream, Tracked, TrackedVec,
    Undo, UndoPoint, VirtualTime, Wire, WireError, Wires, mix, take_bytes,
};
pub use warpline_memory::{BufferAccess, BufferAction, BufferTrace};
pub use warpline_net::{Aggregation, NetError, Transport};
pub use watch::Progress;

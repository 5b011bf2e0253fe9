//! Warpline: parallel discrete-event simulation that gives the same answer on every engine.
//!
//! A model is written once, as logical processes that send each other timestamped events, and runs
//! unchanged on any engine. This crate is the only one that a model's author names.
//!
//! # A whole model
//!
//! PHOLD, the field's usual benchmark: each event sends one event, after an exponential delay, to a
//! process drawn at random.
//!
//! ```
//! use warpline::{Context, LogicalProcess, LpId, Model, Simulation, VirtualTime};
//!
//! struct Phold { lps: usize, events_per_lp: usize, mean: f64 }
//!
//! #[derive(Clone)]
//! struct Node { handled: u64 }
//!
//! impl Model for Phold {
//!     type Lp = Node;
//!     type Output = u64;
//!     fn name(&self) -> &'static str { "phold" }
//!     fn lp_count(&self) -> usize { self.lps }
//!     fn make_lp(&self, _: LpId) -> Node { Node { handled: 0 } }
//!     fn reduce(&self, handled: impl Iterator<Item = u64>) -> u64 { handled.sum() }
//! }
//!
//! impl LogicalProcess for Node {
//!     type Model = Phold;
//!     type Message = ();
//!     type Summary = u64;
//!     fn start(&mut self, phold: &Phold, cx: &mut impl Context<()>) {
//!         for _ in 0..phold.events_per_lp { self.handle(phold, &(), cx); }
//!         self.handled = 0;
//!     }
//!     fn handle(&mut self, phold: &Phold, _: &(), cx: &mut impl Context<()>) {
//!         self.handled += 1;
//!         let to = LpId::from_index(cx.rng().below(phold.lps as u64) as usize);
//!         let delay = cx.rng().exponential(phold.mean);
//!         cx.send(to, delay, ());
//!     }
//!     fn finish(self, _: &Phold, _: VirtualTime) -> u64 { self.handled }
//! }
//!
//! let report = Simulation::new(Phold { lps: 64, events_per_lp: 4, mean: 1.0 }).end(100.0).run()?;
//! assert_eq!(report.output, report.committed_events);
//! # Ok::<(), warpline::RunError>(())
//! ```
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

mod admission;
mod error;
mod panics;
pub mod pending;
mod replication;
mod report;
mod sequential;
mod simulation;

pub use error::{ConfigError, RunError};
pub use pending::PendingKind;
pub use replication::{Estimate, Replications};
pub use report::{Figure, Progress, Report, Results};
pub use simulation::{Engine, Simulation};
pub use warpline_core::{
    CommitDigest, Context, EventKey, Fault, Link, LogicalProcess, LpDigest, LpId, Model,
    ModelError, Place, STEP_MAX, Stream, VirtualTime, mix,
};

//! How a run is set up: plain data that engines read, and the names of their choices.
//!
//! [`Simulation::engine`](crate::Simulation::engine) takes an [`Engine`]. What only one engine
//! reads is in the value of that engine, so that a setting that it does not read cannot be written.
//! Where a policy has values of its own, an enum carries them, and another one, whose name ends in
//! `Kind`, has the names.
//!
//! Nothing of an engine is imported here, so every module may import this one.

mod auto;
mod balance;
mod conservative;
mod engine;
mod intervals;
mod parallel;
mod placement;
mod profile;
mod speculative;
mod timewarp;
mod timewarp_groups;

use crate::ConfigError;

pub use auto::Auto;
pub use balance::Balance;
pub use conservative::{Conservative, Synchronization, SynchronizationKind};
pub use engine::{Engine, EngineKind, ReverseCheck, SavingCheck, Sequential};
pub use intervals::Intervals;
pub(crate) use parallel::Parallel;
pub use placement::{MemoryPlacement, Placement, Weights};
pub use profile::{Cost, Profile};
pub use speculative::{Speculative, Width};
pub use timewarp::{CheckpointInterval, StateSaving, StateSavingKind, TimeWarp};
pub use timewarp_groups::{FlowControl, Instrumentation, MailQueue, Numa};
pub use warpline_graph::{NodeScheduler, ReadyNode, Schedule};
pub use warpline_memory::{PairSizes, Parts, Pool, PoolKind, Quota, UnknownPool};
pub use warpline_net::Aggregation;

impl From<UnknownPool> for ConfigError {
    fn from(unknown: UnknownPool) -> Self {
        Self::new("pool", &unknown.name, unknown.allowed())
    }
}

/// The settings of a run: what every engine reads, and what the engine `E` does.
#[derive(Clone, Debug)]
pub(crate) struct Settings<E = Engine> {
    pub(crate) seed: u64,
    /// Infinite for a run without an end.
    pub(crate) end: f64,
    /// Where the statistics begin anew; 0 if they are those of the whole run.
    pub(crate) warm_up: f64,
    /// The most bytes of event buffers; `None` for no limit.
    pub(crate) memory: Option<u64>,
    /// Whether the run leaves a cut at its end, for another one to go on with.
    pub(crate) leaves_cut: bool,
    pub(crate) engine: E,
}

impl<E: Default> Default for Settings<E> {
    fn default() -> Self {
        let (end, engine) = (f64::INFINITY, E::default());
        Self { seed: 1, end, warm_up: 0.0, memory: None, leaves_cut: false, engine }
    }
}

impl<E> Settings<E> {
    /// The same settings for another engine.
    pub(crate) const fn with<F>(&self, engine: F) -> Settings<F> {
        let &Self { seed, end, warm_up, memory, leaves_cut, .. } = self;
        Settings { seed, end, warm_up, memory, leaves_cut, engine }
    }

    /// The end as a number; infinite for a run without one.
    pub(crate) fn checked_end(&self) -> Result<f64, ConfigError> {
        let ok = self.end >= 0.0;
        ConfigError::check(ok, "end", self.end, "a virtual time of 0 or more")?;
        Ok(self.end)
    }
}

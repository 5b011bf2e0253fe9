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

use std::{fmt, sync::Arc};

use warpline_core::{Model, VirtualTime};

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
    /// Whether it has an output instead, if it is interrupted.
    pub(crate) reports_if_stopped: bool,
    /// The virtual time of the cut that it begins with; 0 without one.
    pub(crate) begun: f64,
    /// What stands for the parameters of a model that does not tell its own.
    pub(crate) parameters: Option<AnyParameters>,
    pub(crate) engine: E,
}

/// The parameters of a model, whose type is forgotten; they can be printed.
pub(crate) type AnyParameters = Arc<dyn fmt::Debug + Send + Sync>;

impl<E: Default> Default for Settings<E> {
    fn default() -> Self {
        let (end, engine) = (f64::INFINITY, E::default());
        Self {
            seed: 1,
            end,
            warm_up: 0.0,
            memory: None,
            leaves_cut: false,
            reports_if_stopped: false,
            begun: 0.0,
            parameters: None,
            engine,
        }
    }
}

impl<E> Settings<E> {
    /// The same settings for another engine.
    pub(crate) fn with<F>(&self, engine: F) -> Settings<F> {
        let &Self { seed, end, warm_up, memory, leaves_cut, reports_if_stopped, begun, .. } = self;
        let parameters = self.parameters.clone();
        Settings {
            seed,
            end,
            warm_up,
            memory,
            leaves_cut,
            reports_if_stopped,
            begun,
            parameters,
            engine,
        }
    }

    /// The parameters of a model, as a checkpoint has them: its own, if it tells any.
    pub(crate) fn parameters_of<'m, M: Model>(&'m self, model: &'m M) -> &'m dyn fmt::Debug {
        match &self.parameters {
            Some(given) if format!("{:?}", model.parameters()) == "()" => &**given,
            _ => model.parameters(),
        }
    }

    /// The time at which a run is over that has come to `last`, or was asked to end.
    pub(crate) fn ended_at(&self, last: VirtualTime, interrupted: bool) -> VirtualTime {
        ended_at((self.begun, self.end), last, interrupted)
    }

    /// The end as a number; infinite for a run without one.
    pub(crate) fn checked_end(&self) -> Result<f64, ConfigError> {
        let ok = self.end >= 0.0;
        ConfigError::check(ok, "end", self.end, "a virtual time of 0 or more")?;
        Ok(self.end)
    }
}

/// The time at which a run is over that has come to `last`, or was asked to end.
fn ended_at((begun, end): (f64, f64), last: VirtualTime, interrupted: bool) -> VirtualTime {
    let asked_for = if interrupted { None } else { VirtualTime::new(end).ok() };
    // What begins with a cut has come as far as that, also if it commits nothing.
    let begun = VirtualTime::new(begun).unwrap_or_default();
    asked_for.unwrap_or(last.max(begun))
}

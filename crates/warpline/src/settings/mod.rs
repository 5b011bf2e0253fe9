//! How a run is set up: plain data that engines read, and the names of their choices.
//!
//! [`Simulation`](crate::Simulation) fills it in. Nothing of an engine is imported here, so every
//! module may import this one.

mod engine;
mod placement;
mod pool;
mod synchronization;
mod timewarp;

use warpline_net::Aggregation;

use crate::{ConfigError, PendingKind};

pub use engine::Engine;
pub use placement::Placement;
pub use pool::PoolKind;
pub use synchronization::Synchronization;
pub(crate) use timewarp::TimeWarp;
pub use timewarp::{Cancellation, CheckpointInterval, FossilCollection, StateSaving};

/// The settings that engines read.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) end: f64,
    pub(crate) pending: PendingKind,
    pub(crate) memory: Option<u64>,
    pub(crate) placement: Placement,
    pub(crate) aggregation: Aggregation,
    pub(crate) synchronization: Synchronization,
    pub(crate) edge_capacity: usize,
    pub(crate) timewarp: TimeWarp,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            end: f64::INFINITY,
            pending: PendingKind::default(),
            memory: None,
            placement: Placement::default(),
            synchronization: Synchronization::default(),
            edge_capacity: 64,
            aggregation: Aggregation::default(),
            timewarp: TimeWarp::default(),
        }
    }
}

impl Settings {
    /// The end as a number; infinite for a run without one.
    pub(crate) fn checked_end(&self) -> Result<f64, ConfigError> {
        let ok = self.end >= 0.0;
        ConfigError::check(ok, "end", self.end, "a virtual time of 0 or more")?;
        Ok(self.end)
    }
}

//! What the frame of a parallel run reads of the settings, whichever engine runs.

use super::{
    Auto, Conservative, EngineKind, Placement, Settings, Speculative, SynchronizationKind, TimeWarp,
};
use crate::ConfigError;

/// The most workers of one rank.
const WORKERS_MAX: usize = 1024;

/// The settings that both parallel engines have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parallel<'s> {
    pub(crate) engine: EngineKind,
    pub(crate) seed: u64,
    /// Infinite for a run without an end.
    pub(crate) end: f64,
    pub(crate) workers: usize,
    pub(crate) placement: &'s Placement,
    pub(crate) pin: bool,
    /// The algorithm of the conservative engine.
    pub(crate) synchronization: Option<SynchronizationKind>,
}

impl Parallel<'_> {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        from_one("workers", self.workers, WORKERS_MAX)
    }
}

impl Settings<TimeWarp> {
    pub(crate) const fn parallel(&self) -> Parallel<'_> {
        let TimeWarp { workers, placement, pin, .. } = &self.engine;
        Parallel {
            engine: EngineKind::TimeWarp,
            seed: self.seed,
            end: self.end,
            workers: *workers,
            placement,
            pin: *pin,
            synchronization: None,
        }
    }
}

impl Settings<Auto> {
    pub(crate) const fn parallel(&self) -> Parallel<'_> {
        let Auto { workers, placement, pin } = &self.engine;
        Parallel {
            engine: EngineKind::Auto,
            seed: self.seed,
            end: self.end,
            workers: *workers,
            placement,
            pin: *pin,
            synchronization: None,
        }
    }
}

impl Settings<Speculative> {
    pub(crate) const fn parallel(&self) -> Parallel<'_> {
        let Speculative { workers, placement, pin, .. } = &self.engine;
        Parallel {
            engine: EngineKind::Speculative,
            seed: self.seed,
            end: self.end,
            workers: *workers,
            placement,
            pin: *pin,
            synchronization: None,
        }
    }
}

impl Settings<Conservative> {
    pub(crate) const fn parallel(&self) -> Parallel<'_> {
        let Conservative { workers, placement, pin, synchronization, .. } = &self.engine;
        Parallel {
            engine: EngineKind::Conservative,
            seed: self.seed,
            end: self.end,
            workers: *workers,
            placement,
            pin: *pin,
            synchronization: Some(synchronization.kind()),
        }
    }
}

/// Refuses a number that is 0 or above `max`.
pub(super) fn from_one(key: &str, value: usize, max: usize) -> Result<(), ConfigError> {
    let allowed = format!("from 1 to {max}");
    ConfigError::check((1..=max).contains(&value), key, value, &allowed)
}

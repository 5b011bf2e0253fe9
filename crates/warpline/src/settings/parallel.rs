//! What the frame of a parallel run reads of the settings, whichever engine runs.

use warpline_core::VirtualTime;

use super::{
    Auto, Conservative, EngineKind, MemoryPlacement, Placement, Settings, Speculative,
    SynchronizationKind, TimeWarp, ended_at,
};
use crate::ConfigError;

/// The most workers of one rank.
const WORKERS_MAX: usize = 1024;

/// The settings that all parallel engines have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parallel<'s> {
    pub(crate) engine: EngineKind,
    pub(crate) seed: u64,
    /// Infinite for a run without an end.
    pub(crate) end: f64,
    pub(crate) workers: usize,
    pub(crate) placement: &'s Placement,
    pub(crate) pin: bool,
    /// Whether the run leaves a cut, and no output.
    pub(crate) leaves_cut: bool,
    /// Whether it has an output instead, if it is interrupted.
    pub(crate) reports_if_stopped: bool,
    /// The virtual time of the cut that it begins with; 0 without one.
    pub(crate) begun: f64,
    pub(crate) memory_placement: MemoryPlacement,
    /// The algorithm of the conservative engine.
    pub(crate) synchronization: Option<SynchronizationKind>,
}

impl Parallel<'_> {
    /// The time at which a run is over that has come to `last`, or was asked to end.
    pub(crate) fn ended_at(&self, last: VirtualTime, interrupted: bool) -> VirtualTime {
        ended_at((self.begun, self.end), last, interrupted)
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        ConfigError::from_one("workers", self.workers, WORKERS_MAX)?;
        let placement = self.memory_placement;
        let ok = placement != MemoryPlacement::Lp || self.engine == EngineKind::TimeWarp;
        let allowed = "off, worker or auto: only LPs of Time Warp have memory of their own";
        ConfigError::check(ok, "memory-placement", placement, allowed)
    }
}

impl<E> Settings<E> {
    /// The settings of an engine with this number of workers, in this placement.
    const fn of<'s>(
        &'s self,
        engine: EngineKind,
        workers: usize,
        placement: &'s Placement,
        (pin, memory_placement): (bool, MemoryPlacement),
    ) -> Parallel<'s> {
        let &Self { seed, end, leaves_cut, reports_if_stopped, begun, .. } = self;
        Parallel {
            engine,
            seed,
            end,
            workers,
            placement,
            pin,
            leaves_cut,
            reports_if_stopped,
            begun,
            memory_placement,
            synchronization: None,
        }
    }
}

impl Settings {
    /// The settings of one worker, for what is done between two runs.
    pub(crate) fn parallel(&self) -> Parallel<'_> {
        self.of(self.engine.kind(), 1, &Placement::Model, (false, MemoryPlacement::default()))
    }
}

impl Settings<Auto> {
    pub(crate) const fn parallel(&self) -> Parallel<'_> {
        let Auto { workers, placement, pin, memory_placement, .. } = &self.engine;
        self.of(EngineKind::Auto, *workers, placement, (*pin, *memory_placement))
    }
}

impl Settings<TimeWarp> {
    pub(crate) const fn parallel(&self) -> Parallel<'_> {
        let TimeWarp { workers, placement, pin, numa, .. } = &self.engine;
        self.of(EngineKind::TimeWarp, *workers, placement, (*pin, numa.memory_placement))
    }
}

impl Settings<Speculative> {
    pub(crate) const fn parallel(&self) -> Parallel<'_> {
        let Speculative { workers, placement, pin, memory_placement, .. } = &self.engine;
        self.of(EngineKind::Speculative, *workers, placement, (*pin, *memory_placement))
    }
}

impl Settings<Conservative> {
    pub(crate) const fn parallel(&self) -> Parallel<'_> {
        let Conservative { workers, placement, pin, memory_placement, synchronization, .. } =
            &self.engine;
        let synchronization = Some(synchronization.kind());
        let engine = EngineKind::Conservative;
        Parallel {
            synchronization,
            ..self.of(engine, *workers, placement, (*pin, *memory_placement))
        }
    }
}

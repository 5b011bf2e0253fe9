//! The engines: their names, and the settings that each of them reads.

use super::{Auto, Conservative, Intervals, Placement, Profile, Speculative, TimeWarp};
use crate::{PendingKind, names::names};

names! {
    /// The engines by name. Every engine commits the same events.
    #[non_exhaustive]
    pub enum EngineKind as "engine", default Sequential;
    /// The engine that is best for the model and the machine, as trials during the run show.
    Auto = "auto";
    /// One event after the other in the order of their keys: the oracle for all other engines.
    Sequential = "sequential";
    /// Workers handle only events that no earlier one can precede any more, so nothing is ever
    /// undone. Only for models that declare a [`lookahead`](warpline_core::Model::lookahead) or
    /// [`links`](warpline_core::Model::links).
    Conservative = "conservative";
    /// Time Warp: workers run ahead of each other, and undo what turns out to have been too early.
    TimeWarp = "timewarp";
    /// Workers handle all events of a short window of virtual time before they know all of them,
    /// and repair what was wrong before the window is committed.
    Speculative = "speculative";
    /// The sequential engine, but every event runs forward, back and forward again: finds the first
    /// LP and field that a reverse handler does not restore.
    ReverseCheck = "reverse-check";
    /// The sequential engine, but every event is undone by what was saved of the state, and handled
    /// again: finds the first LP and field that is not as it was.
    SavingCheck = "saving-check";
    /// The sequential engine, which also finds how fast the model could run in parallel.
    Profile = "profile";
    /// The sequential engine, which also finds the result of each interval of virtual time.
    Intervals = "intervals";
}

/// What executes the events, with its settings. Every engine commits the same events.
///
/// [`Simulation::engine`](crate::Simulation::engine) takes the settings of an engine, or its
/// [kind](EngineKind) for the default settings.
#[derive(Clone, Debug)]
pub enum Engine {
    /// Whatever is best.
    Auto(Auto),
    /// One event after the other.
    Sequential(Sequential),
    /// Workers that never undo anything.
    Conservative(Conservative),
    /// Workers that run ahead of each other.
    TimeWarp(TimeWarp),
    /// Workers that handle a window early, and repair it.
    Speculative(Speculative),
    /// The check of reverse handlers.
    ReverseCheck(ReverseCheck),
    /// The check of saving.
    SavingCheck(SavingCheck),
    /// How fast the model could run in parallel.
    Profile(Profile),
    /// The results of intervals of virtual time.
    Intervals(Intervals),
}

/// The sequential engine: one event after the other, in the order of their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequential {
    /// The pending event set.
    pub pending: PendingKind,
}

/// The check of reverse handlers. It is slow: a short run of a small model finds what there is to
/// find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReverseCheck;

/// The check of saving: copies of states, and fields that save what they change. It is slow: a
/// short run of a small model finds what there is to find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SavingCheck;

impl Engine {
    /// Its name.
    #[must_use]
    pub const fn kind(&self) -> EngineKind {
        match self {
            Self::Auto(_) => EngineKind::Auto,
            Self::Sequential(_) => EngineKind::Sequential,
            Self::Conservative(_) => EngineKind::Conservative,
            Self::TimeWarp(_) => EngineKind::TimeWarp,
            Self::Speculative(_) => EngineKind::Speculative,
            Self::ReverseCheck(_) => EngineKind::ReverseCheck,
            Self::SavingCheck(_) => EngineKind::SavingCheck,
            Self::Profile(_) => EngineKind::Profile,
            Self::Intervals(_) => EngineKind::Intervals,
        }
    }

    /// How many workers (threads) of each rank handle events.
    #[must_use]
    pub const fn workers(&self) -> usize {
        match self {
            Self::Auto(engine) => engine.workers,
            Self::Conservative(engine) => engine.workers,
            Self::TimeWarp(engine) => engine.workers,
            Self::Speculative(engine) => engine.workers,
            Self::Sequential(_)
            | Self::ReverseCheck(_)
            | Self::SavingCheck(_)
            | Self::Profile(_)
            | Self::Intervals(_) => 1,
        }
    }

    /// Which worker has which LPs, for an engine that reads it.
    pub(crate) const fn placement_mut(&mut self) -> Option<&mut Placement> {
        match self {
            Self::Auto(engine) => Some(&mut engine.placement),
            Self::Conservative(engine) => Some(&mut engine.placement),
            Self::TimeWarp(engine) => Some(&mut engine.placement),
            Self::Speculative(engine) => Some(&mut engine.placement),
            Self::Sequential(_)
            | Self::ReverseCheck(_)
            | Self::SavingCheck(_)
            | Self::Profile(_)
            | Self::Intervals(_) => None,
        }
    }

    /// The same engine, with workers that are not bound to cores: several runs at the same time
    /// would all be bound to the same cores.
    #[must_use]
    pub fn unpinned(mut self) -> Self {
        match &mut self {
            Self::Auto(engine) => engine.pin = false,
            Self::Conservative(engine) => engine.pin = false,
            Self::TimeWarp(engine) => engine.pin = false,
            Self::Speculative(engine) => engine.pin = false,
            Self::Sequential(_)
            | Self::ReverseCheck(_)
            | Self::SavingCheck(_)
            | Self::Profile(_)
            | Self::Intervals(_) => {}
        }
        self
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::Sequential(Sequential::default())
    }
}

/// The engine with its default settings.
impl From<EngineKind> for Engine {
    fn from(kind: EngineKind) -> Self {
        let engine: Self = match kind {
            EngineKind::Auto => Auto::default().into(),
            EngineKind::Sequential => Sequential::default().into(),
            EngineKind::Conservative => Conservative::default().into(),
            EngineKind::TimeWarp => TimeWarp::default().into(),
            EngineKind::Speculative => Speculative::default().into(),
            EngineKind::ReverseCheck => ReverseCheck.into(),
            EngineKind::SavingCheck => SavingCheck.into(),
            EngineKind::Profile => Profile::default().into(),
            EngineKind::Intervals => Intervals::default().into(),
        };
        debug_assert_eq!(engine.kind(), kind, "A16: a name stands for another engine");
        engine
    }
}

impl From<Auto> for Engine {
    fn from(engine: Auto) -> Self {
        Self::Auto(engine)
    }
}

impl From<Sequential> for Engine {
    fn from(engine: Sequential) -> Self {
        Self::Sequential(engine)
    }
}

impl From<Conservative> for Engine {
    fn from(engine: Conservative) -> Self {
        Self::Conservative(engine)
    }
}

impl From<TimeWarp> for Engine {
    fn from(engine: TimeWarp) -> Self {
        Self::TimeWarp(engine)
    }
}

impl From<Speculative> for Engine {
    fn from(engine: Speculative) -> Self {
        Self::Speculative(engine)
    }
}

impl From<ReverseCheck> for Engine {
    fn from(engine: ReverseCheck) -> Self {
        Self::ReverseCheck(engine)
    }
}

impl From<SavingCheck> for Engine {
    fn from(engine: SavingCheck) -> Self {
        Self::SavingCheck(engine)
    }
}

impl From<Profile> for Engine {
    fn from(engine: Profile) -> Self {
        Self::Profile(engine)
    }
}

impl From<Intervals> for Engine {
    fn from(engine: Intervals) -> Self {
        Self::Intervals(engine)
    }
}

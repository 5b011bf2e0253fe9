//! The settings of the conservative engine, and the names of its algorithms.

use warpline_graph::Schedule;
use warpline_net::Aggregation;

use super::{Balance, MemoryPlacement, Placement};
use crate::names::names;

/// The conservative engine: workers handle only events that no earlier one can precede any more.
///
/// It needs a model that declares a [`lookahead`](warpline_core::Model::lookahead) or
/// [`links`](warpline_core::Model::links).
///
/// ```no_run
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::{Conservative, Simulation, settings::{Schedule, Synchronization}};
///
/// let synchronization = Synchronization::NullMessages {
///     edge_capacity: 16,
///     schedule: Schedule::SIMULATION_TIME,
/// };
/// let engine = Conservative { workers: 4, synchronization, ..Conservative::default() };
/// let report = Simulation::new(model).end(100.0).engine(engine).run()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Conservative {
    /// How many workers (threads) share the LPs, of each rank if there are several.
    pub workers: usize,
    /// How workers know what they may handle.
    pub synchronization: Synchronization,
    /// Which worker has which LPs.
    pub placement: Placement,
    /// Several ranks: how many bytes of messages to one worker are sent together.
    pub aggregation: Aggregation,
    /// Whether workers are bound to cores, where there are enough of them.
    pub pin: bool,
    /// Where the memory of workers is, if they are bound to cores.
    pub memory_placement: MemoryPlacement,
    /// Windows on one rank: whether LPs move to other workers, and fewer workers work where that is
    /// faster.
    pub balance: Balance,
}

impl Default for Conservative {
    fn default() -> Self {
        Self {
            workers: 2,
            synchronization: Synchronization::default(),
            placement: Placement::default(),
            aggregation: Aggregation::default(),
            pin: true,
            memory_placement: MemoryPlacement::Off,
            balance: Balance::default(),
        }
    }
}

names! {
    /// The conservative algorithms by name.
    #[non_exhaustive]
    pub enum SynchronizationKind as "synchronization", default Auto;
    /// Windows for a model that declares a [`lookahead`](warpline_core::Model::lookahead) above 0,
    /// null messages for one that declares its [`links`](warpline_core::Model::links).
    Auto = "auto";
    /// All workers handle the same window of virtual time, and then meet at a barrier. Needs a
    /// lookahead above 0.
    Windows = "windows";
    /// Each LP goes on as far as its links allow (Chandy, Misra and Bryant), and tells the
    /// receivers of its events how far it has come. Needs links.
    NullMessages = "null-messages";
    /// The same, but an LP tells a receiver only when the receiver waits and asks for it.
    NullMessagesOnDemand = "null-messages-on-demand";
    /// The same, but LPs do not tell each other at all: when all of them wait, the engine finds the
    /// first event of all.
    DeadlockRecovery = "deadlock-recovery";
}

/// How the workers of the conservative engine know what they may handle: an algorithm, with what it
/// reads.
///
/// An edge capacity is the number of events that a link holds which are not handled yet, 1 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Synchronization {
    /// Windows if the model has a lookahead above 0, null messages otherwise.
    Auto {
        /// Events that a link holds; read if null messages are sent.
        edge_capacity: usize,
        /// Which ready LP of a worker has the next turn; read if null messages are sent.
        schedule: Schedule,
    },
    /// All workers handle the same window of virtual time.
    Windows,
    /// Each LP tells the receivers of its events how far it has come.
    NullMessages {
        /// Events that a link holds.
        edge_capacity: usize,
        /// Which ready LP of a worker has the next turn.
        schedule: Schedule,
    },
    /// An LP tells a receiver how far it has come when the receiver asks.
    NullMessagesOnDemand {
        /// Events that a link holds.
        edge_capacity: usize,
        /// Which ready LP of a worker has the next turn.
        schedule: Schedule,
    },
    /// When all LPs wait, the engine finds the first event of all.
    DeadlockRecovery {
        /// Events that a link holds.
        edge_capacity: usize,
        /// Which ready LP of a worker has the next turn.
        schedule: Schedule,
    },
}

impl Synchronization {
    /// How many events a link holds by default.
    pub const EDGE_CAPACITY: usize = 64;

    /// The algorithm of that name; with links that hold this many events, if it has links, and with
    /// the default schedule.
    #[must_use]
    pub const fn new(kind: SynchronizationKind, edge_capacity: usize) -> Self {
        Self::scheduled(kind, edge_capacity, Schedule::SIMULATION_TIME)
    }

    /// The same with a schedule of the user's choice.
    #[must_use]
    pub const fn scheduled(
        kind: SynchronizationKind,
        edge_capacity: usize,
        schedule: Schedule,
    ) -> Self {
        match kind {
            SynchronizationKind::Auto => Self::Auto { edge_capacity, schedule },
            SynchronizationKind::Windows => Self::Windows,
            SynchronizationKind::NullMessages => Self::NullMessages { edge_capacity, schedule },
            SynchronizationKind::NullMessagesOnDemand => {
                Self::NullMessagesOnDemand { edge_capacity, schedule }
            }
            SynchronizationKind::DeadlockRecovery => {
                Self::DeadlockRecovery { edge_capacity, schedule }
            }
        }
    }

    /// Its name.
    #[must_use]
    pub const fn kind(self) -> SynchronizationKind {
        match self {
            Self::Auto { .. } => SynchronizationKind::Auto,
            Self::Windows => SynchronizationKind::Windows,
            Self::NullMessages { .. } => SynchronizationKind::NullMessages,
            Self::NullMessagesOnDemand { .. } => SynchronizationKind::NullMessagesOnDemand,
            Self::DeadlockRecovery { .. } => SynchronizationKind::DeadlockRecovery,
        }
    }

    /// How many events a link holds; `None` for an algorithm without links.
    #[must_use]
    pub const fn edge_capacity(self) -> Option<usize> {
        match self {
            Self::Windows => None,
            Self::Auto { edge_capacity, .. }
            | Self::NullMessages { edge_capacity, .. }
            | Self::NullMessagesOnDemand { edge_capacity, .. }
            | Self::DeadlockRecovery { edge_capacity, .. } => Some(edge_capacity),
        }
    }

    /// Which ready LP of a worker has the next turn; `None` for an algorithm without links.
    #[must_use]
    pub const fn schedule(self) -> Option<Schedule> {
        match self {
            Self::Windows => None,
            Self::Auto { schedule, .. }
            | Self::NullMessages { schedule, .. }
            | Self::NullMessagesOnDemand { schedule, .. }
            | Self::DeadlockRecovery { schedule, .. } => Some(schedule),
        }
    }
}

impl Default for Synchronization {
    fn default() -> Self {
        SynchronizationKind::default().into()
    }
}

/// The algorithm of that name, with the default edge capacity if it has edges.
impl From<SynchronizationKind> for Synchronization {
    fn from(kind: SynchronizationKind) -> Self {
        Self::new(kind, Self::EDGE_CAPACITY)
    }
}

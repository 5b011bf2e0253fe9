//! The settings of Time Warp, and the names of its policies.

use std::{fmt, str::FromStr, time::Duration};

use warpline_core::VirtualTime;
use warpline_memory::{BufferTrace, PairSizes, Pool, PoolPlan, Worth};
use warpline_net::Aggregation;

use super::{Balance, MemoryPlacement, Placement, parallel::from_one};
use crate::{ConfigError, PendingKind, names::names};

/// The most events that are handled between two looks at the inbox.
const BATCH_MAX: usize = 65_536;
/// The most page migration daemons.
const DAEMONS_MAX: usize = 1024;

/// Time Warp: workers run ahead of each other, and undo what turns out to have been too early.
///
/// ```no_run
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::{Simulation, TimeWarp};
///
/// let engine = TimeWarp { workers: 4, batch: 32, ..TimeWarp::default() };
/// let report = Simulation::new(model).end(100.0).engine(engine).run()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct TimeWarp {
    /// How many workers (threads) share the LPs, of each rank if there are several.
    pub workers: usize,
    /// Which worker has which LPs.
    pub placement: Placement,
    /// Several ranks: how many bytes of messages to one worker are sent together.
    pub aggregation: Aggregation,
    /// Whether LPs move to other workers while the run goes on. On several ranks they cannot.
    pub balance: Balance,
    /// Whether workers are bound to cores, where there are enough of them. They let go of a core
    /// that another program wants, too.
    pub pin: bool,
    /// Where the memory of workers is, if they are bound to cores.
    pub memory_placement: MemoryPlacement,
    /// How many threads move the pages of LPs that have come to another NUMA node, if LPs have
    /// memory of their own (*NUMA Time Warp*, section 3.4). Without any, pages stay where they are.
    pub migration_daemons: usize,
    /// How long these threads sleep between two looks.
    pub migration_period: Duration,
    /// Where mail for other workers waits.
    pub mail: MailQueue,
    /// The pending event set.
    pub pending: PendingKind,
    /// How many events a worker handles between two looks at its inbox (GTW, 3.6.3).
    pub batch: usize,
    /// In units of virtual time: no event further than this ahead of global virtual time is
    /// handled. Infinite for no limit.
    pub window: f64,
    /// Whether workers that roll back much are held back.
    pub throttle: bool,
    /// The simulated time barrier at the start (GTW, 2.3); a model moves it by
    /// [`IoContext::set_time_barrier`](crate::IoContext::set_time_barrier).
    pub time_barrier: Option<VirtualTime>,
    /// How the states of LPs are saved.
    pub saving: StateSaving,
    /// When the buffers of committed events are reclaimed.
    pub fossil_collection: FossilCollection,
    /// How many events a worker processes before it asks for global virtual time.
    pub gvt_interval: usize,
    /// After fossil collection a worker waits while it has less than the first fraction of its
    /// buffers free, and until it expects to reclaim the second (F_free1 and F_free2 of GTW, 3.4).
    /// Read where memory is limited.
    pub free_fractions: [f64; 2],
    /// A worker that has fewer free buffers than this asks for global virtual time (buffer paper,
    /// 3.4); 0 for one that waits until it needs a buffer and finds none. Read where memory is
    /// limited.
    pub few_buffers: usize,
    /// Where free buffers are kept.
    pub pool: Pool,
    /// Partitioned pools where memory is limited: the sizes for each pair of workers, of each rank;
    /// `None` for equal parts.
    pub pair_sizes: Option<PairSizes>,
    /// Whether all workers take turns on the calling thread. That is slow, but such a run repeats
    /// itself exactly, rollbacks and all: for the search for bugs, and for traces.
    pub in_turn: bool,
    /// Whether a worker that is alone does all that one of many does: keeps records, saves states
    /// and finds global virtual time. Otherwise it works as the sequential engine does, which GTW
    /// has for its aim (section 3.6.1), because nobody can send it a straggler. For measurements
    /// and tests.
    pub as_if_many: bool,
    /// Is told every access to an event buffer.
    pub trace: Option<BufferTrace>,
    /// Whether the time that each part of the engine takes is measured, which slows the run down a
    /// little.
    pub measure_costs: bool,
}

impl Default for TimeWarp {
    fn default() -> Self {
        Self {
            workers: 2,
            placement: Placement::default(),
            aggregation: Aggregation::default(),
            balance: Balance::Off,
            pin: true,
            memory_placement: MemoryPlacement::Off,
            migration_daemons: 0,
            migration_period: Duration::from_secs(1),
            mail: MailQueue::Worker,
            pending: PendingKind::default(),
            batch: 64,
            window: f64::INFINITY,
            throttle: true,
            time_barrier: None,
            saving: StateSaving::default(),
            fossil_collection: FossilCollection::default(),
            gvt_interval: 1024,
            free_fractions: [0.1, 0.2],
            few_buffers: 0,
            pool: Pool::default(),
            pair_sizes: None,
            in_turn: false,
            as_if_many: false,
            trace: None,
            measure_costs: false,
        }
    }
}

impl TimeWarp {
    /// Refuses settings that no run on this number of ranks can have.
    pub(crate) fn validate(&self, ranks: usize) -> Result<(), ConfigError> {
        self.balance.validate()?;
        let balance = |ok, allowed| ConfigError::check(ok, "balance", self.balance, allowed);
        let ok = ranks == 1 || self.balance == Balance::Off;
        balance(ok, "off with Time Warp on several ranks")?;
        self.validate_migration()?;
        self.validate_pair_sizes()?;
        self.validate_fossil_collection()?;
        from_one("batch", self.batch, BATCH_MAX)?;
        from_one("gvt-interval", self.gvt_interval, 1 << 30)?;
        if let StateSaving::Copy { interval: CheckpointInterval::Every(events) } = self.saving {
            from_one("checkpoint-interval", events as usize, 1 << 20)?;
        }
        ConfigError::check(self.window >= 0.0, "window", self.window, "0 or more")?;
        let fraction = |key, fraction| {
            let ok = (0.0..=1.0).contains(&fraction);
            ConfigError::check(ok, key, fraction, "a fraction, from 0 to 1")
        };
        let [free1, free2] = self.free_fractions;
        fraction("free1", free1)?;
        fraction("free2", free2)?;
        self.pool.fraction().map_or(Ok(()), |(key, share)| fraction(key, share))
    }

    fn validate_pair_sizes(&self) -> Result<(), ConfigError> {
        let Some(sizes) = &self.pair_sizes else { return Ok(()) };
        let (key, workers) = ("pair-sizes", sizes.workers());
        let check = |ok, allowed: &str| {
            ConfigError::check(ok, key, format!("a table for {workers} worker(s)"), allowed)
        };
        let has_parts = matches!(self.pool, Pool::Partitioned { local_share: None });
        check(has_parts, "left out unless pool is `partitioned`, without a local-share")?;
        check(workers == self.workers, &format!("a table for all {} workers", self.workers))
    }

    fn validate_fossil_collection(&self) -> Result<(), ConfigError> {
        let fossil = self.fossil_collection;
        let is_by_pairs = matches!(self.pool, Pool::Partitioned { .. });
        let ok = is_by_pairs || fossil != FossilCollection::OnTheFly;
        let allowed = "block unless the pool is `partitioned`";
        ConfigError::check(ok, "fossil", fossil, allowed)
    }

    fn validate_migration(&self) -> Result<(), ConfigError> {
        let daemons = self.migration_daemons;
        let check = |ok, allowed| ConfigError::check(ok, "migration-daemons", daemons, allowed);
        let has_homes = self.memory_placement == MemoryPlacement::Lp;
        check(daemons == 0 || has_homes, "0 unless memory-placement is `lp`")?;
        check(daemons <= DAEMONS_MAX, "up to 1024")?;
        let period = self.migration_period;
        let seconds = period.as_secs_f64();
        ConfigError::check(!period.is_zero(), "migration-period", seconds, "above 0 seconds")
    }

    /// Whether LPs move. Workers that take turns share their load already, and what is measured
    /// would keep such a run from repeating itself.
    pub(crate) fn moves_lps(&self) -> bool {
        let moves = match self.balance {
            Balance::Off => false,
            Balance::On => !self.in_turn,
            Balance::Randomly(_) => true,
        };
        moves && self.workers > 1
    }

    /// Whether the only worker of the only rank works as the sequential engine does. What is traced
    /// and what is measured is Time Warp's, so is a run in turns, and memory on a node is for a
    /// worker that is bound to a core.
    pub(crate) fn is_alone(&self, ranks: usize) -> bool {
        let observed =
            self.as_if_many || self.in_turn || self.measure_costs || self.trace.is_some();
        let is_placed = self.memory_placement != MemoryPlacement::Off;
        self.workers == 1 && ranks == 1 && !observed && !is_placed
    }

    /// How the pool is made, with at most `limit` buffers.
    pub(crate) fn pool_plan(&self, limit: Option<u32>, worth: Worth) -> PoolPlan {
        let keep = 2 * self.gvt_interval + 256;
        let pair_sizes = self.pair_sizes.clone();
        PoolPlan { pool: self.pool, workers: self.workers, limit, keep, pair_sizes, worth }
    }
}

names! {
    /// How Time Warp saves the states of LPs, by name (GTW, section 2.1).
    pub enum StateSavingKind as "saving", default Copy;
    /// The state is copied before every event, but for its [`Tracked`](crate::Tracked) fields,
    /// which save what is changed; or the whole state, before every few events.
    Copy = "copy";
    /// Nothing is saved: the model's reverse handler undoes. A sparse copy is kept for handlers
    /// that were cut off in their middle.
    Reverse = "reverse";
}

/// How Time Warp saves the states of LPs, with what the policy reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateSaving {
    /// The state is copied: before every event without its [`Tracked`](crate::Tracked) fields,
    /// which save what is changed; or before every few events, with them.
    Copy {
        /// How often.
        interval: CheckpointInterval,
    },
    /// Nothing is saved: the model's reverse handler undoes. A sparse copy is kept for handlers
    /// that were cut off in their middle.
    Reverse,
}

impl StateSaving {
    /// The state is copied before every event, without its tracked fields.
    pub const COPY: Self = Self::Copy { interval: CheckpointInterval::Every(1) };

    /// Its name.
    #[must_use]
    pub const fn kind(self) -> StateSavingKind {
        match self {
            Self::Copy { .. } => StateSavingKind::Copy,
            Self::Reverse => StateSavingKind::Reverse,
        }
    }

    /// Whether the state of an LP is copied before each of its events.
    pub(crate) const fn copies_all(self) -> bool {
        matches!(self, Self::Copy { interval: CheckpointInterval::Every(1) })
    }
}

impl Default for StateSaving {
    fn default() -> Self {
        Self::COPY
    }
}

/// The policy of that name; copies are made before every event.
impl From<StateSavingKind> for StateSaving {
    fn from(kind: StateSavingKind) -> Self {
        match kind {
            StateSavingKind::Copy => Self::COPY,
            StateSavingKind::Reverse => Self::Reverse,
        }
    }
}

names! {
    /// Where events for LPs of another worker wait, in Time Warp.
    pub enum MailQueue as "mail", default Worker;
    /// In the worker's inbox, which takes blocks of them (the MsgQ of GTW).
    Worker = "worker";
    /// With the LP, in its bottom half, so that they follow it to another NUMA node (*NUMA Time
    /// Warp*, section 3.3).
    BottomHalf = "bottom-half";
}

names! {
    /// When Time Warp reclaims the buffers of committed events.
    pub enum FossilCollection as "fossil", default Block;
    /// All of them whenever global virtual time has advanced (GTW, section 3.2).
    Block = "block";
    /// As soon as an event was processed: its buffer is used again once global virtual time has
    /// passed the event (Fujimoto and Panesar 1995, section 6). With
    /// [`Pool::Partitioned`].
    OnTheFly = "on-the-fly";
}

/// How many events of an LP Time Warp handles between two copies of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckpointInterval {
    /// Always this many; 1 copies before every event.
    Every(u32),
    /// As many as is best for the rates and costs that the run shows.
    Auto,
}

impl Default for CheckpointInterval {
    fn default() -> Self {
        Self::Every(1)
    }
}

impl fmt::Display for CheckpointInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(events) => fmt::Display::fmt(events, f),
            Self::Auto => f.pad("auto"),
        }
    }
}

impl FromStr for CheckpointInterval {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(events) if events > 0 => Ok(Self::Every(events)),
            _ if text == "auto" => Ok(Self::Auto),
            _ => Err(ConfigError::new("checkpoint-interval", text, "1 or more, or `auto`")),
        }
    }
}

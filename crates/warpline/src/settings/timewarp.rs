//! The settings of Time Warp, and the names of its policies.

use std::{fmt, str::FromStr};

use warpline_memory::{Parts, Pool, PoolPlan, Worth};
use warpline_net::Aggregation;

use super::{Balance, FlowControl, Instrumentation, Numa, Placement};
use crate::{ConfigError, PendingKind, counted::counted, names::names};

/// The most events that are handled between two looks at the inbox.
const BATCH_MAX: usize = 65_536;

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
    /// Whether LPs move to other workers while the run goes on. On several ranks they stay, however
    /// uneven their loads are.
    pub balance: Balance,
    /// Whether workers are bound to cores, where there are enough of them. They let go of a core
    /// that another program wants, too.
    pub pin: bool,
    /// What there is for machines with several NUMA nodes.
    pub numa: Numa,
    /// The pending event set.
    pub pending: PendingKind,
    /// How many events a worker handles between two looks at its inbox (GTW, 3.6.3).
    pub batch: usize,
    /// In units of virtual time: no event further than this ahead of global virtual time is
    /// handled. Infinite for no limit.
    pub window: f64,
    /// The other limits on optimism.
    pub flow_control: FlowControl,
    /// How many events a worker processes before it asks for global virtual time.
    pub gvt_interval: usize,
    /// How the states of LPs are saved.
    pub saving: StateSaving,
    /// Where free buffers are kept, and when those of committed events are reclaimed.
    pub pool: Pool,
    /// What watches the run.
    pub instrumentation: Instrumentation,
}

impl Default for TimeWarp {
    fn default() -> Self {
        Self {
            workers: 2,
            placement: Placement::default(),
            aggregation: Aggregation::default(),
            balance: Balance::default(),
            pin: true,
            numa: Numa::default(),
            pending: PendingKind::default(),
            batch: 64,
            window: f64::INFINITY,
            flow_control: FlowControl::default(),
            gvt_interval: 1024,
            saving: StateSaving::default(),
            pool: Pool::default(),
            instrumentation: Instrumentation::default(),
        }
    }
}

impl TimeWarp {
    /// Refuses settings that no run on this number of ranks can have.
    pub(crate) fn validate(&self, ranks: usize) -> Result<(), ConfigError> {
        self.balance.validate()?;
        let balance = |ok, allowed| ConfigError::check(ok, "balance", self.balance, allowed);
        let ok = ranks == 1 || !matches!(self.balance, Balance::Randomly(_));
        balance(ok, "on or off with Time Warp on several ranks")?;
        self.numa.validate()?;
        self.validate_pair_sizes()?;
        ConfigError::from_one("batch", self.batch, BATCH_MAX)?;
        ConfigError::from_one("gvt-interval", self.gvt_interval, 1 << 30)?;
        if let StateSaving::Copy { interval: CheckpointInterval::Every(events) } = self.saving {
            ConfigError::from_one("checkpoint-interval", events as usize, 1 << 20)?;
        }
        ConfigError::check(self.window >= 0.0, "window", self.window, "0 or more")?;
        let fraction = |key, fraction| {
            let ok = (0.0..=1.0).contains(&fraction);
            ConfigError::check(ok, key, fraction, "a fraction, from 0 to 1")
        };
        fraction("free1", self.flow_control.free1)?;
        fraction("free2", self.flow_control.free2)?;
        self.pool.fractions().into_iter().try_for_each(|(key, share)| fraction(key, share))
    }

    fn validate_pair_sizes(&self) -> Result<(), ConfigError> {
        let Pool::Partitioned { parts: Parts::Sizes(sizes), .. } = &self.pool else {
            return Ok(());
        };
        let table = format!("a table for {}", counted(sizes.workers(), "worker"));
        let allowed = format!("a table for {}", counted(self.workers, "worker"));
        ConfigError::check(sizes.workers() == self.workers, "sizes", table, &allowed)
    }

    /// Whether LPs move. Workers that take turns share their load already, and what is measured
    /// would keep such a run from repeating itself.
    pub(crate) fn moves_lps(&self, ranks: usize) -> bool {
        let moves = match self.balance {
            Balance::Off => false,
            Balance::On => !self.instrumentation.in_turn,
            Balance::Randomly(_) => true,
        };
        moves && self.workers > 1 && ranks == 1
    }

    /// Whether the only worker of the only rank works as the sequential engine does. It does not if
    /// a setting that this engine would not read differs from its default: what somebody sets is
    /// what they get. (What has no meaning for a single worker does not count.)
    pub(crate) fn is_alone(&self, ranks: usize) -> bool {
        self.workers == 1 && self.may_be_sequential(ranks)
    }

    /// Whether no setting that the sequential engine would not read differs from its default.
    pub(crate) fn may_be_sequential(&self, ranks: usize) -> bool {
        let default = Self::default();
        let Self {
            workers: _, placement: _, aggregation: _, balance: _, pin: _, pending: _, ..
        } = self;
        let Self { numa, batch, window, flow_control, gvt_interval, saving, pool, .. } = self;
        let has_default_policies = (numa, batch, flow_control, gvt_interval, saving, pool)
            == (
                &default.numa,
                &default.batch,
                &default.flow_control,
                &default.gvt_interval,
                &default.saving,
                &default.pool,
            );
        let is_default = has_default_policies && window.is_infinite();
        ranks == 1 && is_default && !self.instrumentation.is_on()
    }

    /// How the pool is made, with at most `limit` buffers.
    pub(crate) fn pool_plan(&self, limit: Option<u32>, worth: Worth) -> PoolPlan {
        let keep = 2 * self.gvt_interval + 256;
        PoolPlan { pool: self.pool.clone(), workers: self.workers, limit, keep, worth }
    }
}

names! {
    /// How Time Warp saves the states of LPs, by name (GTW, section 2.1).
    pub enum StateSavingKind as "saving", default Auto;
    /// As `copy`, until the run has measured that sparse copies are much cheaper.
    Auto = "auto";
    /// The state is copied before every event, but for its [`Tracked`](crate::Tracked) fields,
    /// which save what is changed; or the whole state, before every few events.
    Copy = "copy";
    /// Nothing is saved: the model's reverse handler undoes. A sparse copy is kept for handlers
    /// that were cut off in their middle.
    Reverse = "reverse";
}

/// How Time Warp saves the states of LPs, with what the policy reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StateSaving {
    /// As [`COPY`](Self::COPY), until the run has measured that it is much cheaper to copy states
    /// before every few events only. A run with a memory limit, on several ranks, or whose workers
    /// take turns does not measure it.
    #[default]
    Auto,
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
            Self::Auto => StateSavingKind::Auto,
            Self::Copy { .. } => StateSavingKind::Copy,
            Self::Reverse => StateSavingKind::Reverse,
        }
    }

    /// Whether a run begins with a copy of the state of an LP before each of its events.
    pub(crate) const fn copies_all(self) -> bool {
        matches!(self, Self::Auto | Self::Copy { interval: CheckpointInterval::Every(1) })
    }
}

/// The policy of that name; copies are made before every event.
impl From<StateSavingKind> for StateSaving {
    fn from(kind: StateSavingKind) -> Self {
        match kind {
            StateSavingKind::Auto => Self::Auto,
            StateSavingKind::Copy => Self::COPY,
            StateSavingKind::Reverse => Self::Reverse,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::{
        super::{MailQueue, MemoryPlacement},
        *,
    };

    /// A16: a single worker does what its settings say. It is the sequential engine only if they
    /// say nothing that this engine would not read.
    #[test]
    fn a_policy_keeps_time_warp_at_work() {
        let of = || TimeWarp { workers: 1, ..TimeWarp::default() };
        let saving = StateSaving::Copy { interval: CheckpointInterval::Every(2) };
        let flow_control = FlowControl { few_buffers: 1, ..FlowControl::default() };
        let numa = Numa { mail: MailQueue::BottomHalf, ..Numa::default() };
        let unread = [
            TimeWarp { batch: 65, ..of() },
            TimeWarp { window: 1e300, ..of() },
            TimeWarp { flow_control, ..of() },
            TimeWarp { saving, ..of() },
            TimeWarp { gvt_interval: 1, ..of() },
            TimeWarp { pool: Pool::RECEIVER, ..of() },
            TimeWarp { numa, ..of() },
            TimeWarp { numa: Numa::new(MemoryPlacement::Lp), ..of() },
            TimeWarp { instrumentation: Instrumentation::AS_IF_MANY, ..of() },
            TimeWarp { instrumentation: Instrumentation::IN_TURN, ..of() },
            TimeWarp { workers: 2, ..of() },
        ];
        for engine in unread {
            assert!(!engine.is_alone(1), "{engine:?}");
        }
        // What the sequential engine reads, too, and what one worker has no use for.
        let pending = PendingKind::Heap;
        let read = TimeWarp { pending, pin: false, balance: Balance::On, ..of() };
        assert!(read.is_alone(1) && !read.is_alone(2), "{read:?}");
    }
}

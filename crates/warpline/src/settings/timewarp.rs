//! The settings of Time Warp, and the names of its policies.

use std::{fmt, str::FromStr};

use warpline_core::VirtualTime;
use warpline_memory::{BufferTrace, Pool, PoolPlan};

use super::PoolKind;
use crate::{ConfigError, names::names};

/// The most workers of one run.
pub(crate) const WORKERS_MAX: usize = 1024;
/// The most events that are handled between two looks at the inbox.
pub(crate) const BATCH_MAX: usize = 65_536;

/// What a run with Time Warp reads besides what every engine reads.
#[derive(Clone, Debug)]
pub(crate) struct TimeWarp {
    pub(crate) workers: usize,
    pub(crate) batch: usize,
    pub(crate) window: f64,
    pub(crate) throttle: bool,
    pub(crate) barrier: Option<VirtualTime>,
    pub(crate) saving: StateSaving,
    pub(crate) checkpoint_interval: CheckpointInterval,
    pub(crate) cancellation: Cancellation,
    pub(crate) fossil_collection: FossilCollection,
    pub(crate) gvt_interval: usize,
    pub(crate) free_fractions: [f64; 2],
    pub(crate) pool: PoolKind,
    pub(crate) global_share: f64,
    pub(crate) local_share: Option<f64>,
    pub(crate) local_pool: bool,
    /// Whether workers take turns on one thread.
    pub(crate) in_turn: bool,
    pub(crate) trace: Option<BufferTrace>,
    pub(crate) pin: bool,
    pub(crate) costs: bool,
}

impl Default for TimeWarp {
    fn default() -> Self {
        Self {
            workers: 2,
            batch: 64,
            window: f64::INFINITY,
            throttle: true,
            barrier: None,
            saving: StateSaving::default(),
            checkpoint_interval: CheckpointInterval::default(),
            cancellation: Cancellation::default(),
            fossil_collection: FossilCollection::default(),
            gvt_interval: 1024,
            free_fractions: [0.1, 0.2],
            pool: PoolKind::default(),
            global_share: 0.3,
            local_share: None,
            local_pool: false,
            in_turn: false,
            trace: None,
            pin: true,
            costs: false,
        }
    }
}

impl TimeWarp {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let from_one = |key, value, max| {
            let allowed = format!("from 1 to {max}");
            ConfigError::check((1..=max).contains(&value), key, value, &allowed)
        };
        from_one("workers", self.workers, WORKERS_MAX)?;
        from_one("batch", self.batch, BATCH_MAX)?;
        from_one("gvt-interval", self.gvt_interval, 1 << 30)?;
        if let CheckpointInterval::Every(events) = self.checkpoint_interval {
            from_one("checkpoint-interval", events as usize, 1 << 20)?;
        }
        ConfigError::check(self.window >= 0.0, "window", self.window, "0 or more")?;
        let [free1, free2] = self.free_fractions;
        let (global, local) = (self.global_share, self.local_share.unwrap_or_default());
        let fractions =
            [("free1", free1), ("free2", free2), ("global-share", global), ("local-share", local)];
        for (key, fraction) in fractions {
            let ok = (0.0..=1.0).contains(&fraction);
            ConfigError::check(ok, key, fraction, "a fraction, from 0 to 1")?;
        }
        Ok(())
    }

    /// How the pool is made, with at most `limit` buffers.
    pub(crate) fn pool_plan(&self, limit: Option<u32>) -> PoolPlan {
        let pool = match self.pool {
            PoolKind::Sender => Pool::Sender { global_share: self.global_share },
            PoolKind::Receiver => Pool::Receiver { local_pool: self.local_pool },
            PoolKind::Partitioned => Pool::Partitioned { local_share: self.local_share },
            PoolKind::Adaptive => Pool::Adaptive,
        };
        PoolPlan { pool, workers: self.workers, limit, keep: 2 * self.gvt_interval + 256 }
    }

    /// Whether the state is copied before every event of an LP.
    pub(crate) const fn copies_all(&self) -> bool {
        use {
            CheckpointInterval::Every,
            StateSaving::{Copy, Incremental},
        };
        matches!((self.saving, self.checkpoint_interval), (Incremental, _) | (Copy, Every(1)))
    }
}

names! {
    /// How Time Warp saves the states of processes (GTW, section 2.1).
    pub enum StateSaving as "saving", default Copy;
    /// The whole state is copied, before every event or every few of them.
    Copy = "copy";
    /// The whole state without its [`Tracked`](crate::Tracked) fields is copied before every event;
    /// those save what is written to them.
    Incremental = "incremental";
    /// Nothing is saved: the model's reverse handler undoes. A sparse copy is kept for handlers
    /// that were cut off in their middle.
    Reverse = "reverse";
}

names! {
    /// When Time Warp cancels the events that an undone event sent.
    pub enum Cancellation as "cancellation", default Aggressive;
    /// At once.
    Aggressive = "aggressive";
    /// Once the event is handled again and does not send the same. The model has to tell messages
    /// apart ([`identity`](crate::LogicalProcess::identity)).
    Lazy = "lazy";
}

names! {
    /// When Time Warp reclaims the buffers of committed events.
    pub enum FossilCollection as "fossil", default Block;
    /// All of them whenever global virtual time has advanced (GTW, section 3.2).
    Block = "block";
    /// A few of them before each event is handled (Fujimoto and Panesar 1995, section 6).
    OnTheFly = "on-the-fly";
}

/// How many events of a process Time Warp handles between two copies of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckpointInterval {
    /// Always so many; 1 copies before every event.
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

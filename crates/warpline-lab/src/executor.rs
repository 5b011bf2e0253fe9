//! The engines of the laboratory's runs with their settings, and a run by one of them.
//!
//! `sampling` runs them here, on threads, `mpi` runs [`Ranks`] as processes, and `network` runs
//! those that have a [`Network`].

use std::{sync::atomic::AtomicBool, time::Duration};

use warpline::{
    AnyModel, Balance, Engine, Report, RunError, Simulation,
    digest::CommitDigest,
    pending::PendingKind,
    settings::{
        Aggregation, FlowControl, Instrumentation, MemoryPlacement, Numa, Parts, Pool, PoolKind,
        Synchronization, SynchronizationKind,
    },
};

/// The engine of a run, with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Executor {
    /// The sequential engine.
    Sequential(PendingKind),
    /// The conservative engine.
    Conservative(Conservative),
    /// Time Warp.
    TimeWarp(TimeWarp),
    /// Several ranks.
    Ranks(Ranks),
}

/// An engine on several ranks: processes that talk over MPI, or threads of this process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// How many there are.
    pub count: usize,
    /// What each of them runs.
    pub engine: RankEngine,
    /// The network between them, if they are threads that talk over one that takes time.
    pub network: Option<Network>,
}

/// How long messages between ranks take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// From the time when a parcel is sent to the time when it arrives.
    pub latency: Duration,
    /// What sending a parcel takes its sender.
    pub start_up: Duration,
}

/// An engine that runs on several ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RankEngine {
    /// The conservative engine; its workers are those of a rank.
    Conservative(Conservative),
    /// Time Warp with its default settings, one worker at each rank.
    TimeWarp,
}

/// The conservative engine and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conservative {
    /// Threads, which share the LPs.
    pub workers: usize,
    /// How workers find out which events are safe.
    pub synchronization: SynchronizationKind,
    /// The most events that a link holds before they are handled.
    pub edge_capacity: usize,
    /// When messages to a worker of another rank are sent.
    pub aggregation: Aggregation,
}

impl Conservative {
    /// Null messages, or windows, with the engine's other defaults.
    #[must_use]
    pub fn new(workers: usize, synchronization: SynchronizationKind) -> Self {
        let aggregation = Aggregation::default();
        Self { workers, synchronization, edge_capacity: 64, aggregation }
    }

    fn engine(self) -> Engine {
        let Self { workers, synchronization, edge_capacity, aggregation, .. } = self;
        let synchronization = Synchronization::new(synchronization, edge_capacity);
        let defaults = warpline::Conservative::default();
        warpline::Conservative { workers, synchronization, aggregation, ..defaults }.into()
    }
}

/// Time Warp and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeWarp {
    /// Threads, which share the LPs.
    pub workers: usize,
    /// The kind of buffer pool.
    pub pool: PoolKind,
    /// Partitioned pools: whether buffers return as soon as their events were processed.
    pub on_the_fly: bool,
    /// The most bytes of event buffers; `None` is no limit.
    pub memory: Option<u64>,
    /// Events that a worker processes before it requests GVT; `None` is the engine's default.
    pub gvt_interval: Option<usize>,
    /// The part of its buffers that a worker of a partitioned pool keeps for sends to itself;
    /// `None` is an equal part for each receiver.
    pub local_share: Option<f64>,
    /// Whether flow control slows down workers that roll back much or have few free buffers.
    pub flow_control: bool,
    /// Where the memory of workers is.
    pub memory_placement: MemoryPlacement,
    /// Page migration daemons, which wake up every second.
    pub migration_daemons: usize,
    /// Whether LPs move.
    pub balance: Balance,
}

impl TimeWarp {
    /// Time Warp with the engine's defaults.
    #[must_use]
    pub const fn new(workers: usize, pool: PoolKind) -> Self {
        Self {
            workers,
            pool,
            on_the_fly: false,
            memory: None,
            gvt_interval: None,
            local_share: None,
            flow_control: true,
            memory_placement: MemoryPlacement::Off,
            migration_daemons: 0,
            balance: Balance::Off,
        }
    }

    fn engine(self) -> Engine {
        let Self { workers, gvt_interval, local_share, on_the_fly, .. } = self;
        let defaults = warpline::TimeWarp::default();
        let pool = match self.pool {
            PoolKind::Partitioned => {
                let parts = local_share.map_or(Parts::Equal, Parts::LocalShare);
                Pool::Partitioned { parts, on_the_fly }
            }
            other => other.into(),
        };
        let gvt_interval = gvt_interval.unwrap_or(defaults.gvt_interval);
        warpline::TimeWarp {
            workers,
            pool,
            gvt_interval,
            numa: Numa {
                migration_daemons: self.migration_daemons,
                ..Numa::new(self.memory_placement)
            },
            flow_control: match self.flow_control {
                true => defaults.flow_control,
                false => FlowControl::OFF,
            },
            // The figures are about what Time Warp costs, as the papers have it.
            instrumentation: Instrumentation::AS_IF_MANY,
            balance: self.balance,
            ..defaults
        }
        .into()
    }
}

impl Executor {
    /// The number of threads that it keeps busy.
    #[must_use]
    pub const fn workers(self) -> usize {
        match self {
            Self::Sequential(_) => 1,
            Self::Conservative(Conservative { workers, .. })
            | Self::TimeWarp(TimeWarp { workers, .. }) => workers,
            Self::Ranks(ranks) => ranks.workers(),
        }
    }

    /// Runs a model on threads of this process; `None` if the run was interrupted.
    pub(crate) fn run(
        self,
        model: AnyModel,
        end: f64,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Outcome>, RunError> {
        let mut simulation =
            Simulation::new(model).engine(self.engine()).seed(seed).end(end).stop_when(stop);
        if let Self::TimeWarp(TimeWarp { memory: Some(bytes), .. }) = self {
            simulation = simulation.memory(bytes);
        }
        let report = match self {
            Self::Ranks(Ranks { count, .. }) => simulation.run_on_ranks(count)?,
            _ => simulation.run()?,
        };
        Ok(Outcome::of(&report))
    }

    /// The engine with its settings.
    pub(crate) fn engine(self) -> Engine {
        match self {
            Self::Sequential(pending) => warpline::Sequential { pending }.into(),
            Self::Conservative(conservative)
            | Self::Ranks(Ranks { engine: RankEngine::Conservative(conservative), .. }) => {
                conservative.engine()
            }
            Self::TimeWarp(time_warp) => time_warp.engine(),
            Self::Ranks(Ranks { engine: RankEngine::TimeWarp, .. }) => {
                warpline::TimeWarp { workers: 1, ..warpline::TimeWarp::default() }.into()
            }
        }
    }
}

impl Ranks {
    const fn workers(self) -> usize {
        match self.engine {
            RankEngine::Conservative(Conservative { workers, .. }) => self.count * workers,
            RankEngine::TimeWarp => self.count,
        }
    }

    /// The flags of the command for this engine.
    pub(crate) fn flags(self) -> Vec<String> {
        let conservative = match self.engine {
            RankEngine::TimeWarp => {
                return vec!["--engine=timewarp".to_owned(), "--workers=1".to_owned()];
            }
            RankEngine::Conservative(conservative) => conservative,
        };
        let Conservative { workers, synchronization, edge_capacity, aggregation } = conservative;
        let mut flags = vec![
            "--engine=conservative".to_owned(),
            format!("--workers={workers}"),
            format!("--synchronization={synchronization}"),
        ];
        // Windows have no edges, and send everything at their end.
        if synchronization != SynchronizationKind::Windows {
            flags.push(format!("--edge-capacity={edge_capacity}"));
            flags.push(format!("--aggregation={aggregation}"));
        }
        flags
    }
}

/// The results of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) committed: u64,
    pub(crate) digest: CommitDigest,
    /// Committed events per second of wall time.
    pub(crate) rate: f64,
    /// Committed by processed events.
    pub(crate) efficiency: f64,
    pub(crate) null_messages: u64,
    pub(crate) deadlocks: u64,
    /// LPs that went to another worker.
    pub(crate) moved_lps: u64,
    /// Segments whose pages were moved to another node.
    pub(crate) realigned: u64,
}

impl Outcome {
    /// Of a run that was not interrupted.
    pub(crate) fn of<O>(report: &Report<O>) -> Option<Self> {
        let counter = |wanted: &str| {
            let counters = &report.details.counters;
            counters.iter().find(|(name, _)| *name == wanted).map_or(0, |&(_, count)| count)
        };
        (!report.interrupted).then(|| Self {
            committed: report.committed_events,
            digest: report.digest,
            rate: report.events_per_second(),
            efficiency: report.efficiency(),
            null_messages: counter("null_messages"),
            deadlocks: counter("deadlocks"),
            moved_lps: counter("moved_lps"),
            realigned: counter("segments_realigned"),
        })
    }
}

//! The engines of the laboratory's runs with their settings, and a run by one of them.
//!
//! `sampling` runs them here, on threads, and `mpi` runs [`Ranks`] as processes.

use std::sync::atomic::AtomicBool;

use warpline::{
    AnyModel, Balance, Engine, Report, RunError, Simulation,
    digest::CommitDigest,
    pending::PendingKind,
    settings::{
        Aggregation, FlowControl, Instrumentation, MemoryPlacement, Numa, Pool, Synchronization,
        SynchronizationKind,
    },
};

use crate::network::{self, Network};

/// The engine of a run, with its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Executor {
    /// The sequential engine.
    Sequential(PendingKind),
    /// The conservative engine.
    Conservative(Conservative),
    /// Time Warp.
    TimeWarp(TimeWarp),
    /// The speculative engine with its default settings, and this many workers.
    Speculative(usize),
    /// The engine `auto` with its default settings, and at most this many workers.
    Auto(usize),
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
#[derive(Clone, Debug, PartialEq)]
pub struct TimeWarp {
    /// Threads, which share the LPs.
    pub workers: usize,
    /// The buffer pool.
    pub pool: Pool,
    /// The most memory of event buffers; `None` is no limit.
    pub limit: Option<Limit>,
    /// Events that a worker processes before it requests GVT.
    pub gvt_interval: usize,
    /// Events that a worker handles between two looks at its inbox.
    pub batch: usize,
    /// What holds workers back.
    pub flow_control: FlowControl,
    /// Whether the workers take turns on one thread, so that a run repeats itself.
    pub in_turn: bool,
    /// Where the memory of workers is.
    pub memory_placement: MemoryPlacement,
    /// Page migration daemons, which wake up every second.
    pub migration_daemons: usize,
    /// Whether LPs move.
    pub balance: Balance,
}

/// A limit of the memory of event buffers, of all workers together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// In bytes.
    Bytes(u64),
    /// In buffers of the model's size, with what the engine keeps for each.
    Buffers(u64),
}

/// So many events that GVT is computed when buffers run short, as in both papers: then all of the
/// memory is used in turn, and no other limit holds a worker back before buffers do.
pub const GVT_WHEN_SHORT: usize = 1 << 24;

impl TimeWarp {
    /// Time Warp with the engine's defaults.
    #[must_use]
    pub fn new(workers: usize, pool: impl Into<Pool>) -> Self {
        let defaults = warpline::TimeWarp::default();
        Self {
            workers,
            pool: pool.into(),
            limit: None,
            gvt_interval: defaults.gvt_interval,
            batch: defaults.batch,
            flow_control: defaults.flow_control,
            in_turn: false,
            memory_placement: MemoryPlacement::Off,
            migration_daemons: 0,
            balance: Balance::Off,
        }
    }

    /// The same with a limit that is reached: GVT is computed when buffers run short.
    #[must_use]
    pub fn short_of(self, limit: Limit) -> Self {
        Self { limit: Some(limit), gvt_interval: GVT_WHEN_SHORT, ..self }
    }

    fn engine(self) -> Engine {
        let Self { workers, pool, gvt_interval, batch, flow_control, .. } = self;
        warpline::TimeWarp {
            workers,
            pool,
            gvt_interval,
            batch,
            flow_control,
            numa: Numa {
                migration_daemons: self.migration_daemons,
                ..Numa::new(self.memory_placement)
            },
            // The figures are about what Time Warp costs, as the papers have it.
            instrumentation: match self.in_turn {
                true => Instrumentation::IN_TURN,
                false => Instrumentation::AS_IF_MANY,
            },
            balance: self.balance,
            ..warpline::TimeWarp::default()
        }
        .into()
    }
}

impl Executor {
    /// The number of threads that it keeps busy: one, where workers take turns.
    pub(crate) const fn threads(&self) -> usize {
        match self {
            Self::TimeWarp(TimeWarp { in_turn: true, .. }) => 1,
            _ => self.workers(),
        }
    }

    /// The number of its workers.
    #[must_use]
    pub const fn workers(&self) -> usize {
        match self {
            Self::Sequential(_) => 1,
            Self::Conservative(Conservative { workers, .. })
            | Self::TimeWarp(TimeWarp { workers, .. })
            | Self::Speculative(workers)
            | Self::Auto(workers) => *workers,
            Self::Ranks(ranks) => ranks.workers(),
        }
    }

    /// Runs a model on threads of this process; `None` if the run was interrupted.
    pub(crate) fn run(
        &self,
        model: AnyModel,
        end: f64,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Outcome>, RunError> {
        let mut simulation = Simulation::new(model)
            .engine(self.clone().engine())
            .seed(seed)
            .end(end)
            .stop_when(stop);
        if let Self::TimeWarp(TimeWarp { limit: Some(limit), .. }) = self {
            let bytes = match limit {
                Limit::Bytes(bytes) => *bytes,
                Limit::Buffers(buffers) => buffers * simulation.event_bytes(),
            };
            simulation = simulation.memory(bytes);
        }
        let report = match self {
            &Self::Ranks(Ranks { count, network: Some(network), .. }) => {
                simulation.run_on_ends(network::ends(network, count))?
            }
            Self::Ranks(Ranks { count, .. }) => simulation.run_on_ranks(*count)?,
            _ => simulation.run()?,
        };
        Ok(Outcome::of(&report))
    }

    /// The engine with its settings.
    fn engine(self) -> Engine {
        match self {
            Self::Sequential(pending) => warpline::Sequential { pending }.into(),
            Self::Conservative(conservative)
            | Self::Ranks(Ranks { engine: RankEngine::Conservative(conservative), .. }) => {
                conservative.engine()
            }
            Self::TimeWarp(time_warp) => time_warp.engine(),
            Self::Speculative(workers) => {
                warpline::Speculative { workers, ..warpline::Speculative::default() }.into()
            }
            Self::Auto(workers) => warpline::Auto { workers, ..warpline::Auto::default() }.into(),
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
    /// Computations of GVT.
    pub(crate) gvt_rounds: u64,
    /// Turns of all workers of Time Warp.
    pub(crate) turns: u64,
    /// The part of the events that the sender's own worker has handled.
    pub(crate) local_share: Option<f64>,
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
            gvt_rounds: report.gvt_rounds,
            turns: counter("turns"),
            local_share: report.details.local_share,
            moved_lps: counter("moved_lps"),
            realigned: counter("segments_realigned"),
        })
    }
}

//! The flags of `run`, `sweep` and `info`, and the help that comes from them.

use std::{path::PathBuf, sync::atomic::AtomicBool};

use clap::{
    Args, FromArgMatches, ValueEnum, builder::PossibleValuesParser, builder::TypedValueParser,
};
use warpline::{
    AnyModel, Auto, Conservative, Engine, Intervals, Sequential, Simulation, Speculative, TimeWarp,
    files::Files, pending::PendingKind, replication::Precision, settings::EngineKind,
};
use warpline_models::catalog::RunSetup;

use crate::{
    checkpoint_args::CheckpointArgs,
    failure::Failure,
    profile_args::ProfileArgs,
    ranks::RankArgs,
    system,
    timewarp_args::TimeWarpArgs,
    values::{Bytes, Vary, WindowWidth, end_time, flag_of, one_to, precision},
};

/// Flags that say where and how a run prints, and not what it is, and switches that do.
pub(crate) const PRINTING: [&str; 5] = ["config", "format", "output", "report", "statistics"];
pub(crate) const PRINTING_SWITCHES: [&str; 1] = ["quiet"];
/// Flags of the trace, a file beside the report; calls from another language have them, too.
pub(crate) const TRACING: [&str; 2] = ["trace", "trace-memory"];

/// What every run has: flags of `run` and of `sweep`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct CommonArgs {
    /// Engine that executes the events
    #[arg(
        long,
        value_name = "NAME",
        default_value_t = EngineKind::Auto,
        value_parser = engines()
    )]
    pub(crate) engine: EngineKind,
    /// Virtual time at which the run ends [default: the model's]
    #[arg(long, value_name = "T", value_parser = |text: &str| end_time(text, None))]
    pub(crate) end: Option<f64>,
    /// Virtual time at which the statistics begin anew: what happens before is left out
    #[arg(
        long,
        value_name = "T",
        default_value_t = 0.0,
        hide_default_value = true,
        conflicts_with_all = ["find_warmup", "critical_path"],
        value_parser = |text: &str| end_time(text, None)
    )]
    pub(crate) warmup: f64,
    /// Seed of all random streams
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Pending event set
    #[arg(long, value_name = "NAME", default_value_t, value_parser = pending_sets())]
    pub(crate) pending: PendingKind,
    /// Most memory that the buffers of pending events may take: 500000, 64MiB, 2GiB [default: no
    /// limit]
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<Bytes>,
    /// Speculative engine: the width of windows in units of virtual time, auto, or from:WIDTH to
    /// let it find itself from there
    #[arg(long, value_name = "WIDTH", default_value_t, help_heading = "Speculative engine")]
    pub(crate) width: WindowWidth,
    #[command(flatten)]
    pub(crate) timewarp: TimeWarpArgs,
    #[command(flatten)]
    pub(crate) ranks: RankArgs,
    #[command(flatten)]
    pub(crate) profile: ProfileArgs,
    /// Independent replications, run in parallel
    #[arg(
        long,
        help_heading = "Replications",
        value_name = "R",
        default_value_t = 1,
        value_parser = one_to::<1_000_000>
    )]
    pub(crate) replications: usize,
    /// Run on the engine `intervals`: sequentially, and find from the results of N equal intervals
    /// how long the beginning lasts that is not typical [default: 250]
    #[arg(
        long,
        help_heading = "Analysis",
        value_name = "N",
        num_args = 0..=1,
        default_missing_value = "250",
        value_parser = one_to::<1_000_000>,
        conflicts_with = "critical_path"
    )]
    pub(crate) find_warmup: Option<usize>,
    /// Most replications or sweep points to run at one time [default: as many as there are cores
    /// for the workers of each]
    #[arg(long, help_heading = "Replications", value_name = "N", value_parser = one_to::<1024>)]
    pub(crate) jobs: Option<usize>,
    /// TOML file with any of these flags as keys; flags that are typed win
    #[arg(long, help_heading = "Run", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// File for the report [default: standard output]
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Show no progress
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl CommonArgs {
    /// The flags of a run that is told nothing but its engine.
    pub(crate) fn of(engine: EngineKind) -> Result<Self, clap::Error> {
        let command = Self::augment_args(clap::Command::new("run"));
        let line = ["run".to_owned(), format!("--engine={engine}")];
        Self::from_arg_matches(&command.try_get_matches_from(line)?)
    }

    /// The files that a run with these flags reads and writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reading("config", self.config.as_deref())
            .reading("pool", self.timewarp.policies.pool.file.as_deref())
            .reading("placement", self.ranks.placement.file.as_deref())
            .reading("placement-weights", self.ranks.placement_weights.file.as_deref())
            .writing("output", self.output.as_deref())
    }

    /// The engine of the run: the one that is named, unless `--critical-path` or `--find-warmup`
    /// asks for its own.
    pub(crate) fn kind(&self) -> EngineKind {
        match self.engine {
            EngineKind::Auto | EngineKind::Sequential if self.profile.critical_path.is_some() => {
                EngineKind::Profile
            }
            EngineKind::Auto | EngineKind::Sequential if self.find_warmup.is_some() => {
                EngineKind::Intervals
            }
            engine => engine,
        }
    }

    /// What has chosen the engine of the run, as it is typed.
    pub(crate) fn engine_in_words(&self) -> String {
        let kind = self.kind();
        if kind == self.engine { format!("--engine {kind}") } else { flag_of(kind) }
    }

    /// A failure of the run, which names what has chosen the engine as it is typed.
    pub(crate) fn as_typed(&self, failure: Failure) -> Failure {
        let kind = self.kind();
        if kind == self.engine { failure } else { failure.of_typed(kind) }
    }

    /// What a model is made for, if nothing is to be seen of it but its report.
    pub(crate) const fn setup(&self, seed: u64) -> RunSetup {
        RunSetup { seed, end: self.end, records: true, pictures: false, resumes: false }
    }

    /// The threads that each of this number of runs keeps busy.
    pub(crate) fn threads(&self, runs: usize) -> usize {
        match self.kind() {
            EngineKind::Sequential
            | EngineKind::ReverseCheck
            | EngineKind::SavingCheck
            | EngineKind::Profile
            | EngineKind::Intervals => 1,
            // Runs that go on at one time use cores better than the workers of one run do.
            EngineKind::Auto if self.timewarp.workers.is_none() => {
                (system::cores() / runs.max(1)).max(1)
            }
            _ => self.timewarp.workers() * self.ranks.ranks,
        }
    }

    /// How many of this number of runs go on at one time if each keeps this many threads busy.
    pub(crate) fn jobs_of(&self, threads: usize, runs: usize) -> usize {
        self.jobs.unwrap_or_else(|| (system::cores() / threads).max(1)).min(runs).max(1)
    }

    /// The workers of a run on a parallel engine, when this many runs go on at one time.
    pub(crate) fn workers_beside(&self, jobs: usize) -> usize {
        match self.kind() {
            EngineKind::Auto => {
                let share = (system::cores() / jobs).max(1);
                self.timewarp.workers.unwrap_or(share)
            }
            _ => self.timewarp.workers(),
        }
    }

    /// The engine with its settings, when this many runs go on at one time: the workers of several
    /// runs would all be bound to the same cores.
    pub(crate) fn engine(&self, jobs: usize) -> Engine {
        let (ranks, pending) = (&self.ranks, self.pending);
        let (workers, policies) = (self.workers_beside(jobs), &self.timewarp.policies);
        let (pin, memory_placement) =
            (policies.pin, policies.memory_placement.value.memory_placement);
        let engine = match self.kind() {
            EngineKind::Auto => {
                let (placement, balance) = (ranks.placement(), ranks.balance());
                Auto { workers, placement, pin, memory_placement, balance }.into()
            }
            EngineKind::Sequential => Sequential { pending }.into(),
            EngineKind::Conservative => {
                Conservative { memory_placement, ..ranks.conservative(workers, pin) }.into()
            }
            EngineKind::TimeWarp => {
                let (placement, aggregation, balance) =
                    (ranks.placement(), ranks.aggregation, ranks.balance());
                let time_warp = self.timewarp.time_warp();
                TimeWarp { pending, placement, aggregation, balance, ..time_warp }.into()
            }
            EngineKind::Speculative => {
                let (WindowWidth(width), placement) = (self.width, ranks.placement());
                let measure_costs = self.timewarp.costs;
                let balance = ranks.balance();
                Speculative {
                    workers,
                    width,
                    placement,
                    pin,
                    memory_placement,
                    measure_costs,
                    balance,
                }
                .into()
            }
            EngineKind::Profile => self.profile.profile().into(),
            EngineKind::Intervals => {
                Intervals { count: self.find_warmup.unwrap_or(Intervals::COUNT) }.into()
            }
            other => Engine::from(other),
        };
        if jobs == 1 { engine } else { engine.unpinned() }
    }

    /// Where the statistics of a model begin; `None` if it has none that could begin anew.
    pub(crate) fn warm_up_of(&self, model: &AnyModel) -> Option<f64> {
        model.has_statistics().then_some(self.warmup)
    }

    /// A simulation with these settings, which `stop` ends.
    pub(crate) fn simulation<'a>(
        &self,
        model: AnyModel,
        end: f64,
        stop: &'a AtomicBool,
    ) -> Simulation<'a, AnyModel> {
        let simulation =
            Simulation::new(model).engine(self.engine(1)).seed(self.seed).end(end).stop_when(stop);
        let simulation = simulation.warm_up(self.warmup);
        match self.memory {
            Some(Bytes(bytes)) => simulation.memory(bytes),
            None => simulation,
        }
    }
}

/// The flags of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Form of the report
    #[arg(long, help_heading = "Output", value_enum, default_value_t)]
    pub(crate) format: RunFormat,
    /// File for a page about the run: HTML with plots, that needs no other file
    #[arg(long, help_heading = "Output", value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// File for a table of the model's statistics over time and by bins: .csv, .json or .parquet
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) statistics: Option<PathBuf>,
    /// File for a trace of what each worker does, for ui.perfetto.dev
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Most memory for a trace while the run goes on; of long runs it shows parts [default: 4MiB]
    #[arg(long, help_heading = "Output", value_name = "BYTES", requires = "trace")]
    pub(crate) trace_memory: Option<Bytes>,
    /// Run again on the sequential engine (from there: with another pending set) and compare what
    /// was committed
    #[arg(long, help_heading = "Run", conflicts_with_all = ["replications", "precision"])]
    pub(crate) verify: bool,
    /// Replications until the 95 % confidence interval of a result, or of all results, tells its
    /// value to this part: `5%`, `calls:5%`. At most 1000, or what --replications says
    #[arg(long, help_heading = "Analysis", value_name = "[RESULT:]P%", value_parser = precision)]
    pub(crate) precision: Option<Precision>,
    #[command(flatten)]
    pub(crate) checkpoints: CheckpointArgs,
}

/// The most replications with `--precision`, unless `--replications` says otherwise.
const MOST_REPLICATIONS: usize = 1000;

impl RunArgs {
    /// The files that a run with these flags reads and writes.
    pub(crate) fn files(&self) -> Files {
        let files = self.checkpoints.files(self.common.files());
        files
            .writing("report", self.report.as_deref())
            .writing("statistics", self.statistics.as_deref())
            .writing("trace", self.trace.as_deref())
    }

    /// How many replications there may be; 1 is a single run.
    pub(crate) fn most_replications(&self) -> usize {
        match self.common.replications {
            1 if self.precision.is_some() => MOST_REPLICATIONS,
            count => count,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object
    Json,
    /// A row for each replication, as comma-separated values
    Csv,
    /// The same rows, in a Parquet file
    Parquet,
}

impl RunFormat {
    /// The format of the table, if it is one.
    pub(crate) const fn of_table(self) -> Option<TableFormat> {
        match self {
            Self::Text | Self::Json => None,
            Self::Csv => Some(TableFormat::Csv),
            Self::Parquet => Some(TableFormat::Parquet),
        }
    }
}

/// The flags of `info`.
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Model to describe [default: name all]
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Form of the description
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: InfoFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum InfoFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per model, in a list where all are named
    Json,
}

/// The flags of `sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// A flag and the values it takes in turn, as KEY=V1,V2,… or KEY=FROM:TO or KEY=FROM:TO:STEP;
    /// may be repeated
    #[arg(long, help_heading = "Sweep", value_name = "KEY=V1,V2", required = true)]
    pub(crate) vary: Vec<Vary>,
    /// Checkpoint that all runs go on with, so that a warm-up is paid once: the futures of `branch`
    #[arg(
        long,
        help_heading = "Sweep",
        value_name = "FILE",
        conflicts_with_all = ["replications", "resume"]
    )]
    pub(crate) from: Option<PathBuf>,
    /// Go on after the rows that --output has, of the same command, and leave their runs out
    #[arg(long, help_heading = "Output", requires = "output")]
    pub(crate) resume: bool,
    /// Form of the rows [default: csv; on a terminal text]
    #[arg(long, help_heading = "Output", value_enum)]
    pub(crate) format: Option<TableFormat>,
}

/// The flags of `branch`.
#[derive(Debug, Args)]
pub(crate) struct BranchArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// Virtual time at which the futures begin
    #[arg(
        long,
        help_heading = "Branches",
        value_name = "T",
        required_unless_present = "from",
        value_parser = |text: &str| end_time(text, None)
    )]
    pub(crate) at: Option<f64>,
    /// Checkpoint with which the futures begin, in place of a past: a warm-up is paid once
    #[arg(
        long,
        help_heading = "Branches",
        value_name = "FILE",
        conflicts_with_all = ["at", "replications"]
    )]
    pub(crate) from: Option<PathBuf>,
    /// A flag and the values it has in the futures, as KEY=V1,V2,… or KEY=FROM:TO or
    /// KEY=FROM:TO:STEP; may be repeated
    #[arg(long, help_heading = "Branches", value_name = "KEY=V1,V2", required = true)]
    pub(crate) vary: Vec<Vary>,
    /// Form of the results: text, with differences between futures, or a row for each future
    /// [default: csv; on a terminal text]
    #[arg(long, help_heading = "Output", value_enum)]
    pub(crate) format: Option<TableFormat>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Comma-separated values under a header
    #[default]
    Csv,
    /// One JSON object per line
    Json,
    /// A Parquet file, which is written at the end
    Parquet,
    /// For people: what varies, the results and the time, in a table at the end
    Text,
}

fn engines() -> impl TypedValueParser<Value = EngineKind> {
    PossibleValuesParser::new(EngineKind::ALL.iter().map(|engine| engine.name()))
        .try_map(|name| name.parse::<EngineKind>())
}

fn pending_sets() -> impl TypedValueParser<Value = PendingKind> {
    PossibleValuesParser::new(PendingKind::ALL.iter().map(|kind| kind.name()))
        .try_map(|name| name.parse::<PendingKind>())
}

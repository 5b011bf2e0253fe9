//! Runs on several ranks: threads of this process (`--ranks`), or the processes that `mpirun` has
//! started; and the flags of the conservative engine.

use std::{path::Path, str::FromStr, sync::Arc};

use clap::Args;
use warpline::{
    AnyModel, Balance, Conservative, Report, RunError, Simulation,
    any_model::{AnyOutput, AnySession},
    files,
    settings::{Aggregation, Placement, Schedule, Synchronization, SynchronizationKind, Weights},
};
use warpline_net::{MpiError, NetError, launched_by_mpi};

use crate::{
    failure::Failure,
    values::{FromFile, named, one_to},
};

/// Where the processes of the model are, and how ranks talk.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Parallel engines")]
pub(crate) struct RankArgs {
    /// Ranks, as threads of this process; with mpirun, its processes are the ranks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = one_to::<1024>)]
    pub(crate) ranks: usize,
    /// Run more workers, on all ranks together, than four for each core
    #[arg(long)]
    pub(crate) oversubscribe: bool,
    /// Which worker has which processes: model, blocks, round-robin, graph (few links between
    /// workers), the number of a worker for each process (0,0,1,1), or a file with one in each line
    #[arg(long, value_name = "NAME|N,N|FILE", default_value = "model", value_parser = placement)]
    pub(crate) placement: FromFile<Placement>,
    /// How much processes weigh, for the placements blocks and graph: equal, trial (as many as each
    /// has events at the beginning), trial:EVENTS, or a file with a number in each line, one line
    /// per process
    #[arg(long, value_name = "NAME|FILE", default_value = "equal", value_parser = weights)]
    pub(crate) placement_weights: FromFile<Weights>,
    /// Whether LPs move to other workers where those have less to do, and fewer workers work where
    /// that is faster (default: on; with Time Warp: off)
    #[arg(long, value_name = "on|off")]
    pub(crate) balance: Option<Balance>,
    /// How the conservative engine's workers know what they may handle
    #[arg(
        long,
        help_heading = "Conservative engine",
        value_name = "NAME",
        default_value_t,
        value_parser = named(SynchronizationKind::ALL, SynchronizationKind::name)
    )]
    pub(crate) synchronization: SynchronizationKind,
    /// With null messages: events that a link holds which are not handled yet
    #[arg(
        long,
        help_heading = "Conservative engine",
        value_name = "N",
        default_value_t = 64,
        value_parser = one_to::<1_000_000>
    )]
    pub(crate) edge_capacity: usize,
    /// With null messages: which of a worker's processes that are ready has the next turn:
    /// simulation-time, fifo or lifo
    #[arg(long, help_heading = "Conservative engine", value_name = "NAME", default_value_t)]
    pub(crate) scheduler: Schedule,
    /// Bytes of messages to one worker of another rank that are sent together: auto, off, or a
    /// number
    #[arg(long, value_name = "BYTES", default_value_t)]
    pub(crate) aggregation: Aggregation,
}

impl RankArgs {
    /// Which worker has which LPs.
    pub(crate) fn placement(&self) -> Placement {
        let weights = || self.placement_weights.value.clone();
        match &self.placement.value {
            Placement::Blocks(_) => Placement::Blocks(weights()),
            Placement::Graph(_) => Placement::Graph(weights()),
            other => other.clone(),
        }
    }

    /// Whether LPs move, for the engines that hand over a whole run.
    pub(crate) fn balance(&self) -> Balance {
        self.balance.unwrap_or_default()
    }

    /// The conservative engine with these settings.
    pub(crate) fn conservative(&self, workers: usize, pin: bool) -> Conservative {
        let Self { synchronization, edge_capacity, scheduler, .. } = *self;
        Conservative {
            workers,
            synchronization: Synchronization::scheduled(synchronization, edge_capacity, scheduler),
            placement: self.placement(),
            aggregation: self.aggregation,
            pin,
            balance: self.balance(),
            ..Conservative::default()
        }
    }
}

/// The worker of each LP, here or in a file with one per line, or a name.
fn placement(text: &str) -> Result<FromFile<Placement>, String> {
    match text {
        "model" => return Ok(Placement::Model.into()),
        "blocks" => return Ok(Placement::Blocks(Weights::Equal).into()),
        "round-robin" => return Ok(Placement::RoundRobin.into()),
        "graph" => return Ok(Placement::Graph(Weights::Equal).into()),
        _ => {}
    }
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',') {
        return Ok(Placement::Table(placement_table(&text.replace(',', "\n"))?).into());
    }
    let contents = files::read_text(text.as_ref(), files::LIMIT).map_err(|error| {
        format!("neither model, blocks, round-robin or graph nor a file that can be read ({error})")
    })?;
    let value = Placement::Table(placement_table(&contents)?);
    Ok(FromFile { value, file: Some(text.into()) })
}

/// The worker of each LP, one in each line.
pub(crate) fn placement_table(contents: &str) -> Result<Arc<[u32]>, String> {
    numbers(contents, "the number of a worker")
}

/// The weight of each LP, one in each line.
pub(crate) fn weight_table(contents: &str) -> Result<Arc<[u64]>, String> {
    numbers(contents, &format!("a weight: a whole number from 0 to {}", u64::MAX))
}

/// The numbers of a file with one in each line.
fn numbers<T: FromStr>(contents: &str, what: &str) -> Result<Arc<[T]>, String> {
    let number = |(line, text): (usize, &str)| {
        let number = text.trim().parse();
        number.map_err(|_| format!("line {}: `{text}` is not {what}", line + 1))
    };
    contents.lines().enumerate().map(number).collect()
}

/// The weights of processes: a name, or a file with one number per line.
fn weights(text: &str) -> Result<FromFile<Weights>, String> {
    match text.split_once(':') {
        None if text == "equal" => return Ok(Weights::Equal.into()),
        None if text == "trial" => return Ok(Weights::Trial { events: None }.into()),
        Some(("trial", number)) => {
            let events = number.parse().ok().filter(|&events| events > 0);
            let says = || format!("`{number}` is not a number of events, 1 or more");
            return Ok(Weights::Trial { events: Some(events.ok_or_else(says)?) }.into());
        }
        _ => {}
    }
    let contents = files::read_text(text.as_ref(), files::LIMIT).map_err(|error| {
        format!("neither equal, trial nor trial:EVENTS nor a file that can be read ({error})")
    })?;
    let table = weight_table(&contents).map_err(|error| format!("{text}, {error}"))?;
    Ok(FromFile { value: Weights::Table(table), file: Some(text.into()) })
}

/// How many processes `mpirun` has started, if this is one of several.
fn processes() -> Option<usize> {
    launched_by_mpi().filter(|&processes| processes > 1)
}

/// Whether this is one of several processes that `mpirun` has started.
pub(crate) fn is_one_of_many() -> bool {
    processes().is_some()
}

/// Refuses a command that several MPI processes cannot carry out together.
pub(crate) fn refuse_mpi_for(command: &str) -> Result<(), Failure> {
    match processes() {
        Some(processes) => Err(Failure::Configuration(format!(
            "`{command}` is for a single process, but mpirun has started {processes}"
        ))),
        None => Ok(()),
    }
}

/// Where the ranks of this run are.
pub(crate) enum Launch {
    /// This many ranks, all in this process.
    Here(usize),
    /// This process is one of several.
    Mpi(warpline_net::MpiTransport),
}

impl Launch {
    /// Joins the others that `mpirun` has started, if it has; `workers` are those of each rank.
    pub(crate) fn new(args: &RankArgs, workers: usize) -> Result<Self, Failure> {
        let Some(processes) = processes() else { return Ok(Self::Here(args.ranks)) };
        if args.ranks > 1 {
            let message =
                format!("--ranks has no place in a run of {processes} processes under mpirun");
            return Err(Failure::Configuration(message));
        }
        Self::join(workers + 1)
    }

    /// Joins the others, each with this number of ports. What keeps it from that is mostly the
    /// library that it found.
    fn join(ports: usize) -> Result<Self, Failure> {
        let transport = warpline_net::MpiTransport::connect(ports);
        transport.map(Self::Mpi).map_err(|error| match error {
            NetError::Mpi(MpiError::Failed { .. }) => RunError::Net(error).into(),
            NetError::Mpi(error) => Failure::Configuration(error.to_string()),
            other => RunError::Net(other).into(),
        })
    }

    /// For runs that are dealt to processes as wholes: joins the others that `mpirun` has started,
    /// if it has.
    pub(crate) fn of_whole_runs() -> Result<Self, Failure> {
        if is_one_of_many() { Self::join(1) } else { Ok(Self::Here(1)) }
    }

    /// The way to the other processes, if there are any.
    pub(crate) fn transport(&self) -> Option<&dyn warpline::ranks::Transport> {
        match self {
            Self::Here(_) => None,
            Self::Mpi(transport) => Some(transport),
        }
    }

    /// Whether this process writes the report.
    pub(crate) fn is_first(&self) -> bool {
        match self {
            Self::Here(_) => true,
            Self::Mpi(transport) => warpline::ranks::Transport::rank(transport) == 0,
        }
    }

    /// Ends all ranks before the run: this one cannot take part, and the others would wait for it.
    pub(crate) fn give_up(&self, failure: Failure) -> Failure {
        match self {
            Self::Here(_) => failure,
            Self::Mpi(transport) => {
                failure.report();
                transport.abort(2)
            }
        }
    }

    /// Reports a failure while the other ranks wait: once one of them has ended, a launcher may end
    /// this process before it has said anything.
    pub(crate) fn reported(&self, failure: Failure) -> Failure {
        match self {
            Self::Here(_) => failure,
            Self::Mpi(_) => {
                failure.report();
                Failure::Silent
            }
        }
    }

    /// Refuses a flag that works on a single rank only.
    pub(crate) fn refuse_for(&self, flag: &str) -> Result<(), Failure> {
        match self {
            Self::Here(1) => Ok(()),
            _ => Err(Failure::Configuration(format!("{flag} takes a run on a single rank"))),
        }
    }

    /// Runs the simulation; there is no report where another process has it.
    pub(crate) fn run(
        &self,
        simulation: &mut Simulation<'_, AnyModel>,
    ) -> Result<Option<Report<AnyOutput>>, Failure> {
        let report = match self {
            Self::Here(1) => simulation.run().map(Some),
            Self::Here(ranks) => simulation.run_on_ranks(*ranks).map(Some),
            Self::Mpi(transport) => simulation.run_across(transport),
        };
        report.map_err(|error| self.failure(error))
    }

    /// Begins a session, or goes on with a checkpoint. Where another process has the session, this
    /// one has served it.
    pub(crate) fn session<'a>(
        &'a self,
        simulation: Simulation<'a, AnyModel>,
        checkpoint: Option<&Path>,
    ) -> Result<Option<Box<dyn AnySession<'a> + 'a>>, Failure> {
        let session = match (self, checkpoint) {
            (Self::Here(ranks), None) => simulation.ranks(*ranks).session().map(Some),
            (Self::Here(ranks), Some(path)) => simulation.ranks(*ranks).resume(path).map(Some),
            (Self::Mpi(transport), path) => simulation.session_across(transport, path),
        };
        session.map_err(|error| self.failure(error))
    }

    /// Rank 0 reports the error; the other ranks fail without a message. Ranks that cannot talk any
    /// more are all ended here.
    pub(crate) fn failure(&self, error: RunError) -> Failure {
        if let (Self::Mpi(transport), RunError::Net(error)) = (self, &error)
            // Otherwise rank 0 has informed the other ranks, and reports to the user.
            && !matches!(error, NetError::Ended { .. })
        {
            crate::failure::print_error(error);
            transport.abort(1);
        }
        let is_one_of_many = !matches!(self, Self::Here(1));
        match error {
            _ if !self.is_first() => Failure::Silent,
            RunError::Config(_) | RunError::Rank { .. } | RunError::Net(_) => error.into(),
            other if is_one_of_many => Failure::Run(format!("rank 0: {other}")),
            other => other.into(),
        }
    }
}

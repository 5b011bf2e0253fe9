//! What only Warpline's own command has: the models that it ships, `bench`, `lab`, `circuit`, and a
//! demonstration. Not compiled into a command for other models (the feature `shipped`).
//!
//! Called by [`application`](crate::application).

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::{
    bench::{self, BenchArgs, SpinArgs},
    circuit::{self, CircuitArgs},
    failure::Failure,
    help,
    lab::{self, LabArgs},
    reads::{self, Unread},
};

/// A parsed command line of one of these.
pub(crate) enum Request {
    /// With the flags that were typed and are not read.
    Bench(Box<BenchArgs>, Vec<Unread>),
    Lab(LabArgs),
    Circuit(CircuitArgs),
    Spin(SpinArgs),
}

/// What the help says last.
pub(crate) const DEMO: &str =
    "Without a command, `warpline` runs a wireless network for a few seconds.";

/// Adds them to a command.
pub(crate) fn add_to(command: Command) -> Command {
    let bench = help::arrange(BenchArgs::augment_args(Command::new("bench")), "bench")
        .about("Measure the engines on the standard workloads, as ratios to bare loops");
    let lab = lab_command()
        .about("Measure the papers' figures again: tables, plots, and whether they agree");
    let circuit = CircuitArgs::augment_args(Command::new("circuit"))
        .about("Write a circuit for other simulators");
    let spin = SpinArgs::augment_args(Command::new("spin")).hide(true).about(
        "Keep a core busy until standard input ends: what `bench --busy` disturbs others with",
    );
    command.subcommand(bench).subcommand(lab).subcommand(circuit).subcommand(spin)
}

impl Request {
    /// The request in a parsed command line, if it is for one of these.
    pub(crate) fn of(name: &str, matches: &ArgMatches) -> Result<Option<Self>, clap::Error> {
        Ok(Some(match name {
            "bench" => {
                let mut args = BenchArgs::from_arg_matches(matches)?;
                let unread = args.unread(matches)?;
                reads::note_policies(matches, &mut args.policies);
                Self::Bench(Box::new(args), unread)
            }
            "lab" => Self::Lab(LabArgs::from_arg_matches(matches)?),
            "circuit" => Self::Circuit(CircuitArgs::from_arg_matches(matches)?),
            "spin" => Self::Spin(SpinArgs::from_arg_matches(matches)?),
            _ => return Ok(None),
        }))
    }

    pub(crate) fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Bench(args, unread) => {
                reads::refuse(unread)?;
                bench::execute(&args)
            }
            Self::Lab(args) => lab::execute(&args),
            Self::Circuit(args) => circuit::execute(&args),
            Self::Spin(args) => bench::spin(&args),
        }
    }
}

/// The parser of the flags of `lab`.
pub(crate) fn lab_command() -> Command {
    LabArgs::augment_args(Command::new("lab"))
}

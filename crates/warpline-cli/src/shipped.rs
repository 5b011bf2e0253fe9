//! What only Warpline's own command has: the models that it ships, `bench`, `lab`, `circuit`, and a
//! demonstration. Not compiled into a command for other models (the feature `shipped`).
//!
//! Called by [`application`](crate::application).

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::{
    bench::{self, BenchArgs, SpinArgs},
    circuit::{self, CircuitArgs},
    demonstration::Demonstration,
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

/// What it does without a subcommand: three days of the GTW paper's network.
pub(crate) const DEMONSTRATION: Demonstration = Demonstration {
    title: "three days of a wireless network: 64 x 32 cells, 50 000 portables",
    arguments: &["run", "pcs", "--warmup=60", "--end=4320"],
    call: "cargo run --release --",
    next: &[
        ("run pcs --mobility high", "portables that move five times as often"),
        ("run pcs --engine timewarp", "on every core, with the same answer"),
        ("run pcs --end 300 --replications 8", "with confidence intervals"),
        ("run phold --lps 65536 --population 1048576 --end 10", ""),
        ("sweep pcs --end 300 --vary channels=8,10,12", ""),
        ("bench W1 W2", "how fast it is on this machine"),
        ("run pcs --help", "everything that can be set"),
    ],
    more: "",
};

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

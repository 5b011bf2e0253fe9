//! What only Warpline's own command has: the models that it ships, `bench`, `lab`, `circuit`, and a
//! demonstration. Not compiled into a command for other models (the feature `shipped`).
//!
//! Called by [`application`](crate::application), and from another language.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Value, json};

use crate::{
    Application,
    args::PRINTING_SWITCHES,
    bench::{self, BenchArgs, SpinArgs},
    call::CallError,
    circuit::{self, CircuitArgs},
    configuration::{flags_of, unknown},
    failure::Failure,
    help,
    lab::{self, LabArgs},
    progress::Caller,
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
    let lab = LabArgs::augment_args(Command::new("lab"))
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

impl Application {
    /// Warpline's own command.
    #[must_use]
    pub fn warpline() -> Self {
        Self { models: warpline_models::ALL.to_vec(), is_warpline: true }
    }

    /// Measures a figure of the laboratory; the settings are the flags of `warpline lab`. Returns
    /// the paths of the files it has written, none if the caller has ended it.
    ///
    /// # Errors
    ///
    /// What the command would have ended with.
    pub fn call_lab(
        figure: &str,
        settings: toml::Table,
        caller: Caller<'_>,
    ) -> Result<Vec<PathBuf>, CallError> {
        let measure = || {
            let known: Vec<_> = lab::all().map(|(name, _)| name.to_owned()).collect();
            if !known.iter().any(|name| name == figure) {
                return Err(Failure::Configuration(unknown("figure", figure, &known)));
            }
            let mut words = flags_of(&lab_command(), settings, &PRINTING_SWITCHES)?;
            words.push(figure.into());
            let args = LabArgs::from_arg_matches(&lab_command().try_get_matches_from(words)?)?;
            lab::called(&args, caller)
        };
        Ok(measure()?)
    }

    /// The figures of the laboratory: a list of objects.
    #[must_use]
    pub fn figures() -> Value {
        lab::all().map(|(figure, title)| json!({ "figure": figure, "title": title })).collect()
    }
}

/// The parser of the flags of `lab`.
pub(crate) fn lab_command() -> Command {
    LabArgs::augment_args(Command::new("lab"))
}

//! The command for a list of models: the parser of its command line.

#[cfg(test)]
mod documents;

use clap::{ArgGroup, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use warpline_models::catalog::{Entry, ModelParams, TimeUnit};

#[cfg(feature = "shipped")]
use crate::shipped;
use crate::{
    args::{BranchArgs, InfoArgs, RunArgs, SweepArgs},
    checkpoints::CheckpointCommand,
    clashes,
    demonstration::Demonstration,
    failure::Failure,
    help,
    manual::{self, CompletionsArgs, ManArgs},
    nodes::NodesArgs,
    reads::{self, Unread},
    values::{WindowWidth, end_time, window},
};

/// Statuses that the command ends with, for its help.
const STATUSES: &str = "Exit status: 0 done, 1 the run failed, 2 bad usage, 3 --verify found a \
                        difference, 4 --precision was not reached, 130 interrupted (143 by \
                        SIGTERM, 129 by SIGHUP).";

/// The command for a list of models.
#[derive(Clone)]
pub struct Application {
    pub(crate) models: Vec<&'static dyn Entry>,
    /// What it does without a subcommand, instead of printing its help.
    pub(crate) demonstration: Option<Demonstration>,
    /// Whether this is Warpline's own command, with a benchmark and a laboratory.
    is_warpline: bool,
}

/// A parsed command line; for runs, also the flags that were typed and are not read.
pub(crate) enum Request {
    /// Nothing.
    None,
    Run(ModelParams, RunArgs, Vec<Unread>),
    Sweep(ModelParams, SweepArgs, Vec<Unread>),
    Branch(ModelParams, BranchArgs, Vec<Unread>),
    Info(InfoArgs),
    Nodes(NodesArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    Checkpoint(CheckpointCommand),
    #[cfg(feature = "shipped")]
    Shipped(shipped::Request),
}

impl Application {
    /// The command for these models.
    #[must_use]
    pub fn new(models: &[&'static dyn Entry]) -> Self {
        Self { models: models.to_vec(), demonstration: None, is_warpline: false }
    }

    /// The command, with what it does without a subcommand.
    #[must_use]
    pub fn demonstrating(self, demonstration: Demonstration) -> Self {
        Self { demonstration: Some(demonstration), ..self }
    }

    /// Warpline's own command.
    #[cfg(feature = "shipped")]
    #[must_use]
    pub fn warpline() -> Self {
        let demonstration = Some(shipped::DEMONSTRATION);
        Self { models: warpline_models::ALL.to_vec(), demonstration, is_warpline: true }
    }

    /// The parser of the command line.
    pub(crate) fn command(&self) -> Command {
        let run = Command::new("run").about("Run a model and report its results");
        let sweep = Command::new("sweep").about(
            "Run a model for every combination of lists of parameter values, one row per run",
        );
        let branch = Command::new("branch").about(
            "Run a model to a point of virtual time, and from there with every combination of \
             values",
        );
        let analyze = Command::new("analyze").about(
            "Find how precise results are, how long a run warms up, or how fast it could run",
        );
        // The texts come last: the types of the flags have texts of their own.
        let info = InfoArgs::augment_args(Command::new("info"))
            .about("Say what a model's parameters, results and workloads are, or name the models");
        let nodes = NodesArgs::augment_args(Command::new("nodes"))
            .about("Show the NUMA nodes: their cores, their memory, and where workers would run");
        let checkpoint = CheckpointCommand::augment_subcommands(Command::new("checkpoint"))
            .about("Say what is in a checkpoint of a run")
            .subcommand_required(true)
            .arg_required_else_help(true);
        let command = Command::new(self.name())
            .about("Parallel discrete-event simulation: one model, any engine, the same answer")
            .version(env!("CARGO_PKG_VERSION"))
            .max_term_width(100)
            .args_override_self(true)
            .subcommand(self.with_models::<RunArgs>(run))
            .subcommand(self.with_models::<SweepArgs>(sweep))
            .subcommand(self.with_models::<BranchArgs>(branch))
            .subcommand(self.with_models::<RunArgs>(analyze))
            .subcommand(self.with_choice_of_model(info))
            .subcommand(nodes)
            .subcommand(checkpoint);
        let command = manual::add_to(command);
        #[cfg(feature = "shipped")]
        let command = if self.is_warpline { shipped::add_to(command) } else { command };
        match self.demonstration {
            Some(it) => command.after_help(format!("{}\n{STATUSES}", it.help(&self.name()))),
            None => {
                command.subcommand_required(true).arg_required_else_help(true).after_help(STATUSES)
            }
        }
    }

    /// Refuses models that cannot be on one command line with its flags. Those of Warpline's own
    /// command are checked by a test: each time that it starts, that would take 1.6 ms of 12.
    pub(crate) fn refuse_clashes(&self) -> Result<(), Failure> {
        if self.is_warpline { Ok(()) } else { clashes::refuse(&self.models) }
    }

    /// The name of the command: `warpline`, or that of the program.
    pub(crate) fn name(&self) -> String {
        let program = std::env::current_exe().ok().filter(|_| !self.is_warpline);
        let stem = program.as_deref().and_then(|program| program.file_stem()?.to_str());
        stem.unwrap_or("warpline").to_owned()
    }

    /// A command with a subcommand for each model, which has the flags of `C` beside its own.
    fn with_models<C: Args>(&self, command: Command) -> Command {
        let call = command.get_name().to_owned();
        let command = command.args_override_self(true).subcommand_required(true);
        let command = command.after_help(help::epilogue(&self.name(), &call));
        let command = command.subcommand_value_name("MODEL").subcommand_help_heading("Models");
        command.arg_required_else_help(true).subcommands(self.models.iter().map(|model| {
            let own = Command::new(model.name())
                .args_override_self(true)
                .allow_negative_numbers(true)
                .next_help_heading(format!("Model {}", model.name()));
            let end =
                format!("Virtual time at which the run ends [default: {}]", model.end_in_words());
            let all = C::augment_args(model.augment(own).next_help_heading(None::<&str>))
                .about(model.about())
                .mut_arg("end", |arg| arg.help(end));
            let all = with_unit(all, model.time_unit());
            let all = if call == "analyze" { all.group(analysis()) } else { all };
            help::arrange(all, &call)
        }))
    }

    /// A command whose argument `model` is one of the models.
    fn with_choice_of_model(&self, command: Command) -> Command {
        let names: Vec<_> = self.models.iter().map(|model| model.name()).collect();
        command.mut_arg("model", |arg| {
            arg.value_parser(clap::builder::PossibleValuesParser::new(names))
        })
    }

    /// The request in a parsed command line.
    pub(crate) fn request(&self, matches: &ArgMatches) -> Result<Request, clap::Error> {
        #[cfg(feature = "shipped")]
        if let Some((name, flags)) = matches.subcommand()
            && let Some(request) = shipped::Request::of(name, flags)?
        {
            return Ok(Request::Shipped(request));
        }
        Ok(match matches.subcommand() {
            None => Request::None,
            Some(("run" | "analyze", run)) => {
                let (params, mut args, matches) = self.model::<RunArgs>(run)?;
                let unread = reads::unread(matches, &args.common);
                reads::note_policies(matches, &mut args.common.timewarp.policies);
                Request::Run(params, args, unread)
            }
            Some(("sweep", sweep)) => {
                let (params, mut args, matches) = self.model::<SweepArgs>(sweep)?;
                let unread = reads::unread(matches, &args.common);
                reads::note_policies(matches, &mut args.common.timewarp.policies);
                if args.from.is_none() {
                    return Ok(Request::Sweep(params, args, unread));
                }
                let SweepArgs { common, vary, from, format, .. } = args;
                let args = BranchArgs { common, at: None, from, vary, format };
                Request::Branch(params, args, unread)
            }
            Some(("branch", branch)) => {
                let (params, mut args, matches) = self.model::<BranchArgs>(branch)?;
                let unread = reads::unread(matches, &args.common);
                reads::note_policies(matches, &mut args.common.timewarp.policies);
                Request::Branch(params, args, unread)
            }
            Some(("info", info)) => Request::Info(InfoArgs::from_arg_matches(info)?),
            Some(("checkpoint", checkpoint)) => {
                Request::Checkpoint(CheckpointCommand::from_arg_matches(checkpoint)?)
            }
            Some(("completions", completions)) => {
                Request::Completions(CompletionsArgs::from_arg_matches(completions)?)
            }
            Some(("man", man)) => Request::Man(ManArgs::from_arg_matches(man)?),
            Some((_, nodes)) => Request::Nodes(NodesArgs::from_arg_matches(nodes)?),
        })
    }

    /// The model with this name.
    pub(crate) fn entry(&self, name: &str) -> Option<&'static dyn Entry> {
        self.models.iter().copied().find(|model| model.name() == name)
    }

    /// The chosen model, the flags of the command, and the matches that have both.
    fn model<'m, C: FromArgMatches>(
        &self,
        matches: &'m ArgMatches,
    ) -> Result<(ModelParams, C, &'m ArgMatches), clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, matches) = matches.subcommand().ok_or_else(missing)?;
        let entry = self.entry(name).ok_or_else(missing)?;
        Ok((entry.parse(matches)?, C::from_arg_matches(matches)?, matches))
    }
}

/// The command, with the unit in which its times are read.
fn with_unit(command: Command, unit: Option<TimeUnit>) -> Command {
    command.mut_args(|arg| match arg.get_id().as_str() {
        "end" | "at" | "warmup" => arg.value_parser(move |text: &str| end_time(text, unit)),
        "window" | "time_barrier" => arg.value_parser(move |text: &str| window(text, unit)),
        "width" => arg.value_parser(move |text: &str| WindowWidth::read(text, unit)),
        _ => arg,
    })
}

/// What `analyze` is to find: at least one of these.
fn analysis() -> ArgGroup {
    ArgGroup::new("analysis")
        .args(["precision", "find_warmup", "critical_path"])
        .required(true)
        .multiple(true)
}

impl std::fmt::Debug for Application {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.models.iter().map(|model| model.name()).collect();
        f.debug_struct("Application").field("models", &names).finish_non_exhaustive()
    }
}

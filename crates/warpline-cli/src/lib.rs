//! The `warpline` command, as a library: the author of a model gets the command for it.
//!
//! ```no_run
//! use std::{ffi::OsString, process::ExitCode};
//!
//! use warpline_cli::entry;
//! use warpline_models::phold::PholdParams;
//!
//! fn main() -> ExitCode {
//!     warpline_cli::main(&[entry::<PholdParams>()])
//! }
//! ```
//!
//! A model's author implements [`Parameters`]; `examples/bank.rs` has a whole one. The command then
//! has `run`, `sweep` and `info` for it, with all engines, `--verify`, replications, configuration
//! files and help.
//!
//! Exit status: 0 done, 1 the run failed, 2 bad usage or configuration, 3 `--verify` found a
//! difference, 4 `--precision` was not reached, 128 and the number of the signal if one ended it:
//! 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "shipped"),
    expect(dead_code, reason = "what only `bench` asks of flags is written beside the flags")
)]

mod application;
mod args;
#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "shipped")]
mod bench;
mod call;
#[cfg(feature = "shipped")]
mod call_lab;
mod checkpoint_args;
mod checkpoints;
#[cfg(feature = "shipped")]
mod circuit;
mod clashes;
mod configuration;
mod demonstration;
mod failure;
mod format;
mod help;
mod info;
mod interrupt;
mod keywords;
#[cfg(feature = "shipped")]
mod lab;
mod manual;
mod memory;
mod nodes;
mod open;
mod output;
mod oversubscription;
mod page;
mod policy_values;
mod profile_args;
mod progress;
mod ranks;
#[cfg(feature = "shipped")]
#[doc(hidden)]
pub mod readers;
mod reads;
mod refusals;
mod report;
mod run;
mod series;
#[cfg(feature = "shipped")]
mod shipped;
mod statistics;
mod sweep;
mod system;
mod table;
mod timewarp_args;
mod trace;
mod values;
mod warm_up;

use std::{ffi::OsString, process::ExitCode};

use application::Request;
use failure::Failure;
use output::Output;

pub use application::Application;
#[cfg(feature = "arrow")]
pub use arrow::record_batch;
pub use call::{CallError, Command};
pub use demonstration::Demonstration;
pub use open::OpenSession;
pub use progress::{Caller, Status};
pub use warpline_models::catalog::{
    Domain, Entry, ModelParams, Parameters, Recorded, Recording, Refusal, TimeUnit, entry,
};

/// Runs the command for these models on the command line of this process.
#[must_use]
pub fn main(models: &[&'static dyn Entry]) -> ExitCode {
    Application::new(models).main()
}

impl Application {
    /// Carries out the command line of this process.
    #[must_use]
    pub fn main(&self) -> ExitCode {
        ExitCode::from(self.main_with(std::env::args_os().collect()))
    }

    /// Carries out a command line, whose first word is the program, and returns the exit status.
    #[must_use]
    pub fn main_with(&self, words: Vec<OsString>) -> u8 {
        interrupt::watch();
        memory::tell_when_exhausted();
        match self.execute(words) {
            Ok(()) => interrupt::status().unwrap_or(0),
            Err(failure) => failure.report(),
        }
    }

    fn execute(&self, words: Vec<OsString>) -> Result<(), Failure> {
        self.refuse_clashes()?;
        if let Some(text) = help::asked(&self.name(), &self.models, &words)? {
            return Output::open(None)?.write(&text);
        }
        let (words, matches) = configuration::parse(self, words)?;
        match self.request(&matches)? {
            Request::None => self
                .demonstration
                .map_or(Ok(()), |demonstration| run::demonstrate(self, &demonstration)),
            Request::Run(params, args, unread) => {
                reads::refuse(unread)?;
                run::execute(self, &words, &params, &args)
            }
            Request::Sweep(_, args, _) => sweep::execute(self, &words, &args),
            Request::Branch(params, args, _) => {
                sweep::branch::execute(self, &words, &params, &args)
            }
            Request::Info(args) => info::execute(self, &args),
            Request::Nodes(args) => nodes::execute(&args),
            Request::Completions(args) => manual::complete(self.command(), &args),
            Request::Man(args) => manual::write(self.command(), &args),
            Request::Checkpoint(command) => checkpoints::execute(&command),
            #[cfg(feature = "shipped")]
            Request::Shipped(request) => request.execute(),
        }
    }
}

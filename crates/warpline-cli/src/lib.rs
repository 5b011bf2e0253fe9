//! The `warpline` command, as a library: the author of a model gets the command for it.
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use warpline_cli::entry;
//! use warpline_models::phold::PholdParams;
//!
//! fn main() -> ExitCode {
//!     warpline_cli::main(&[entry::<PholdParams>()])
//! }
//! ```
//!
//! A model's author implements [`Parameters`]; `examples/bank.rs` has a whole one. The command then has
//! `run`, `sweep` and `info` for it, with all engines, `--verify`, replications, configuration files and
//! help.
//!
//! Exit status: 0 done, 1 the run failed, 2 bad usage or configuration, 3 `--verify` found a
//! difference, 130 interrupted.

#![forbid(unsafe_code)]

mod application;
mod args;
mod bench;
mod configuration;
mod failure;
mod info;
mod interrupt;
mod lab;
mod output;
mod progress;
mod ranks;
mod reads;
mod report;
mod run;
mod sweep;
mod system;
mod timewarp_args;

use std::process::ExitCode;

pub use application::Application;
pub use warpline_models::catalog::{Domain, Entry, ModelParams, Parameters, entry};

/// Runs the command for these models on the command line of this process.
#[must_use]
pub fn main(models: &[&'static dyn Entry]) -> ExitCode {
    Application::new(models).main()
}

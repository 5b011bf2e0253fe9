//! The `warpline` command: runs models, sweeps their parameters, measures the engines, makes the
//! papers' figures again.
//!
//! Without arguments it runs the network of the GTW paper for a few seconds and says what to try
//! next. Exit status: 0 done, 1 the run failed, 2 bad usage or configuration, 3 `--verify` found a
//! difference, 130 interrupted.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod configuration;
mod failure;
mod interrupt;
mod lab;
mod output;
mod progress;
mod ranks;
mod report;
mod run;
mod sweep;
mod system;
mod timewarp_args;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::{
    args::{Cli, Command},
    failure::Failure,
};

fn main() -> ExitCode {
    interrupt::watch();
    match execute() {
        Ok(()) if interrupt::requested() => ExitCode::from(130),
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn execute() -> Result<(), Failure> {
    let (words, matches) = configuration::parse(std::env::args_os().collect())?;
    match Cli::from_arg_matches(&matches)?.command {
        None => run::demo(),
        Some(Command::Run { model }) => run::execute(model),
        Some(Command::Sweep { model }) => sweep::execute(&words, model),
        Some(Command::Bench(bench)) => bench::execute(&bench),
        Some(Command::Lab(lab)) => lab::execute(&lab),
        Some(Command::Spin(spin)) => bench::spin(&spin),
    }
}

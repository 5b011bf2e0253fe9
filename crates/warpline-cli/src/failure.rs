//! Why the command did not do what was asked, and the exit status that says so.

use std::{fmt, process::ExitCode};

use warpline::{ConfigError, RunError};

/// The ways to fail; each has its exit status.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was typed does not parse; also `--help`, which is no failure.
    Usage(clap::Error),
    /// A setting or a file that cannot be used.
    Configuration(String),
    /// The run failed.
    Run(String),
    /// `--verify` found a difference.
    Difference(String),
    /// Another process tells what went wrong.
    Silent,
    /// Whoever reads our output has seen enough; there is nobody to tell.
    ReaderGone,
}

impl Failure {
    /// The same failure, said to be one of several runs'.
    pub(crate) fn of(self, run: &str) -> Self {
        match self {
            Self::Run(message) => Self::Run(format!("{run}: {message}")),
            Self::Configuration(message) => Self::Configuration(format!("{run}: {message}")),
            other => other,
        }
    }

    /// Says on standard error what happened.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Usage(error) => {
                // Nobody is left to tell if this cannot be printed.
                let _ = error.print();
                ExitCode::from(if error.use_stderr() { 2 } else { 0 })
            }
            Self::Configuration(message) => fail(2, &message),
            Self::Run(message) => fail(1, &message),
            Self::Difference(message) => fail(3, &message),
            Self::Silent => ExitCode::FAILURE,
            Self::ReaderGone => ExitCode::SUCCESS,
        }
    }
}

fn fail(status: u8, message: &dyn fmt::Display) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(status)
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::Usage(error)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Configuration(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Config(error) => error.into(),
            other => Self::Run(other.to_string()),
        }
    }
}

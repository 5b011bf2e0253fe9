//! The ways in which a command fails, and their exit statuses.

use std::{
    error::Error,
    fmt,
    io::{self, Write},
    num::{IntErrorKind, ParseFloatError, ParseIntError},
};

use clap::error::{ContextKind, ContextValue};
use warpline::{ConfigError, RunError, files::SameFile};

/// The ways to fail; each has its exit status.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line does not parse; also `--help`, which is no failure.
    Usage(clap::Error),
    /// A setting or a file that cannot be used.
    Configuration(String),
    /// The run failed.
    Run(String),
    /// An engine ended the run; in a sweep, with the name of the run.
    Engine { run: Option<String>, error: Box<RunError> },
    /// `--verify` found a difference.
    Difference(String),
    /// Another rank reports what went wrong.
    Silent,
    /// The reader of our output has closed it, so there is nothing to report.
    ReaderGone,
}

impl Failure {
    /// The same failure, with the name of the run, for one of several runs.
    pub(crate) fn of(self, run: &str) -> Self {
        match self {
            Self::Run(message) => Self::Run(format!("{run}: {message}")),
            Self::Engine { error, .. } => Self::Engine { run: Some(run.to_owned()), error },
            Self::Configuration(message) => Self::Configuration(format!("{run}: {message}")),
            other => other,
        }
    }

    /// A model that cannot be made.
    pub(crate) fn refused(error: warpline_models::catalog::Refusal) -> Self {
        Self::Configuration(error.to_string())
    }

    /// What happened, in words.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Usage(error) => what_is_wrong(error),
            Self::Configuration(text) | Self::Run(text) | Self::Difference(text) => text.clone(),
            Self::Engine { run: Some(run), error } => format!("{run}: {error}"),
            Self::Engine { run: None, error } => error.to_string(),
            Self::Silent | Self::ReaderGone => "the run has no report".to_owned(),
        }
    }

    /// Prints the message on standard error, and returns the exit status.
    pub(crate) fn report(self) -> u8 {
        let status = match &self {
            Self::Usage(error) => {
                // If standard error is closed, the message is lost.
                let _ = error.print();
                return if error.use_stderr() { 2 } else { 0 };
            }
            Self::Silent => return 1,
            Self::ReaderGone => return 0,
            Self::Configuration(_) => 2,
            Self::Run(_) | Self::Engine { .. } => 1,
            Self::Difference(_) => 3,
        };
        print_error(&self.message());
        status
    }
}

/// What is wrong with a key or its value, where nobody has typed a flag: in a configuration file or a
/// call.
pub(crate) fn what_is_wrong(error: &clap::Error) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) if !text.is_empty() => Some(text.as_str()),
        _ => None,
    };
    if let (Some(flag), Some(value), Some(must)) =
        (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue), demand(error))
    {
        let key = flag.trim_start_matches('-').split([' ', '=']).next().unwrap_or(flag);
        return format!("`{key}` is '{value}', {must}");
    }
    // The first paragraph; the others are about the command line.
    let text = error.to_string();
    text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default().to_owned()
}

/// What a value must be.
fn demand(error: &clap::Error) -> Option<String> {
    if let Some(ContextValue::Strings(words)) = error.get(ContextKind::ValidValue) {
        return Some(format!("but must be one of {}", words.join(", ")));
    }
    let source = error.source()?;
    let must = if let Some(whole) = source.downcast_ref::<ParseIntError>() {
        match whole.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "but must be a smaller number",
            _ => "but must be a whole number",
        }
    } else if source.is::<ParseFloatError>() {
        "but must be a number"
    } else {
        return Some(format!("which cannot be: {source}"));
    };
    Some(must.to_owned())
}

/// Prints the message on standard error in one write: the pieces of two writes may end up apart,
/// because `mpirun` puts its own lines between what it forwards.
pub(crate) fn print_error(message: &dyn fmt::Display) {
    // If standard error is closed, the message is lost.
    let _ = io::stderr().write_all(format!("error: {message}\n").as_bytes());
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        Self::Usage(error)
    }
}

impl From<SameFile> for Failure {
    fn from(error: SameFile) -> Self {
        Self::Configuration(error.to_string())
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
            error => Self::Engine { run: None, error: Box::new(error) },
        }
    }
}

//! The ways in which a command fails, and their exit statuses.

use std::{
    error::Error,
    fmt,
    io::{self, IsTerminal, Write},
    num::{IntErrorKind, ParseFloatError, ParseIntError},
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use warpline::{ConfigError, RunError, files::SameFile, settings::EngineKind};

use crate::values::flag_of;

/// The ways to fail; each has its exit status.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line does not parse; also `--help`, which is no failure.
    Usage(clap::Error),
    /// A setting or a file that cannot be used.
    Configuration(String),
    /// The run failed.
    Run(String),
    /// An engine ended the run; in a sweep, with the name of the run; with the engine, if a flag of
    /// another name has chosen it.
    Engine { run: Option<String>, error: Box<RunError>, typed: Option<EngineKind> },
    /// `--verify` found a difference.
    Difference(String),
    /// The results are not as precise as `--precision` asks for.
    NotPrecise(String),
    /// More than one of these.
    Several(Vec<Failure>),
    /// Another rank reports what went wrong.
    Silent,
    /// The reader of our output has closed it, so there is nothing to report.
    ReaderGone,
}

impl Failure {
    /// Fails if standard output is closed, so that what is printed would be lost.
    pub(crate) fn if_nobody_reads() -> Result<(), Self> {
        if warpline_memory::standard_output_was_closed() {
            let what = "standard output could not be written: it is closed";
            let remedy = "redirect it to a file or a pipe";
            return Err(Self::Run(format!("{what}\n  what to do: {remedy}")));
        }
        Ok(())
    }

    /// The same failure, with the name of the run, for one of several runs.
    pub(crate) fn of(self, run: &str) -> Self {
        match self {
            Self::Run(message) => Self::Run(format!("{run}: {message}")),
            Self::Engine { error, typed, .. } => {
                Self::Engine { run: Some(run.to_owned()), error, typed }
            }
            Self::Configuration(message) => Self::Configuration(format!("{run}: {message}")),
            other => other,
        }
    }

    /// The same failure on an engine that a flag of another name has chosen.
    pub(crate) fn of_typed(self, engine: EngineKind) -> Self {
        match self {
            Self::Engine { run, error, .. } => Self::Engine { run, error, typed: Some(engine) },
            other => other,
        }
    }

    /// What a command ends with after these failures, of which none kept it from going on.
    pub(crate) fn of_all(mut failures: Vec<Self>) -> Result<(), Self> {
        let all = failures.len();
        failures.retain(|failure| !matches!(failure, Self::ReaderGone));
        match failures.len() {
            // Several runs may find out that the reader has gone.
            0 if all > 0 => Err(Self::ReaderGone),
            0 => Ok(()),
            1 => Err(failures.remove(0)),
            _ => Err(Self::Several(failures)),
        }
    }

    /// The failure that decides about the status.
    pub(crate) fn gravest(&self) -> &Self {
        match self {
            Self::Several(all) => {
                // What is there and not precise is the least of what may have happened.
                let gravity = |one: &&Self| (!matches!(one, Self::NotPrecise(_)), one.status());
                all.iter().map(Self::gravest).max_by_key(gravity).unwrap_or(self)
            }
            one => one,
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
            Self::Configuration(text)
            | Self::Run(text)
            | Self::Difference(text)
            | Self::NotPrecise(text) => text.clone(),
            Self::Engine { run, error, typed } => {
                let mut text = error.to_string();
                if let Some(engine) = *typed {
                    let flag = flag_of(engine);
                    text = text
                        .replace(&format!("  run: engine {engine},"), &format!("  run: {flag},"));
                }
                run.as_ref().map_or(text.clone(), |run| format!("{run}: {text}"))
            }
            Self::Several(all) => all.iter().map(Self::message).collect::<Vec<_>>().join("\n"),
            Self::Silent | Self::ReaderGone => "the run has no report".to_owned(),
        }
    }

    /// Prints the message on standard error, and returns the exit status.
    pub(crate) fn report(self) -> u8 {
        match &self {
            Self::Usage(error) => return answer(error, self.status()),
            Self::Several(all) => {
                let status = self.status();
                for one in all {
                    print_error(&one.message());
                }
                return status;
            }
            Self::Silent | Self::ReaderGone => {}
            _ => print_error(&self.message()),
        }
        self.status()
    }

    /// The exit status.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Usage(error) => {
                if error.use_stderr() {
                    2
                } else {
                    0
                }
            }
            Self::ReaderGone => 0,
            Self::Silent | Self::Run(_) | Self::Engine { .. } => 1,
            Self::Configuration(_) => 2,
            Self::Difference(_) => 3,
            Self::NotPrecise(_) => 4,
            Self::Several(_) => self.gravest().status(),
        }
    }
}

/// Prints what the parser has to say, which may be the help that was asked for: then it is an
/// error if it cannot be written.
fn answer(error: &clap::Error, status: u8) -> u8 {
    if error.kind() == ErrorKind::ValueValidation {
        let text = error.render();
        let is_terminal = io::stderr().is_terminal();
        let text = if is_terminal { text.ansi().to_string() } else { text.to_string() };
        // If standard error is closed, the message is lost.
        let _ = io::stderr().write_all(in_our_words(&text).as_bytes());
        return status;
    }
    if status == 0
        && let Err(closed) = Failure::if_nobody_reads()
    {
        return closed.report();
    }
    let printed = error.print().and_then(|()| io::stdout().flush());
    match printed {
        // If standard error is closed, the message is lost.
        _ if status != 0 => status,
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            print_error(&format!("standard output could not be written: {error}"));
            1
        }
        _ => 0,
    }
}

/// What is wrong with a key or its value, where nobody has typed a flag: in a configuration file or
/// a call.
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

/// A text of the parser, with our words for what the standard library says of numbers.
fn in_our_words(text: &str) -> String {
    const WORDS: [(&str, &str); 5] = [
        ("invalid digit found in string", "expected a whole number, 0 or more"),
        ("cannot parse integer from empty string", "expected a whole number, 0 or more"),
        ("invalid float literal", "expected a number"),
        ("cannot parse float from empty string", "expected a number"),
        ("number too large to fit in target type", "the number is too large"),
    ];
    WORDS.iter().fold(text.to_owned(), |text, (theirs, ours)| text.replace(theirs, ours))
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
            RunError::Branch(error) => Self::Configuration(error.to_string()),
            error => Self::Engine { run: None, error: Box::new(error), typed: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many runs have found that the reader has gone, nothing is printed; and it hides no
    /// failure. Red if only one of several is dropped, or all are without a failure.
    #[test]
    fn a_reader_that_has_gone_is_no_failure_beside_others() {
        let gone = |count| std::iter::repeat_with(|| Failure::ReaderGone).take(count);
        assert!(Failure::of_all(Vec::new()).is_ok());
        for count in 1..4 {
            let all = Failure::of_all(gone(count).collect());
            assert!(matches!(all, Err(Failure::ReaderGone)), "{all:?}");
            let failed = gone(count).chain([Failure::Run("it failed".to_owned())]);
            let all = Failure::of_all(failed.collect());
            assert!(matches!(all, Err(Failure::Run(_))), "{all:?}");
        }
    }
}

//! Why the waveforms of a run could not be written; the command prints it.

use std::{
    io,
    path::{Path, PathBuf},
};

use warpline::files::{Mark, PartialFile, SameFile, remedy_of_going_on};

/// Why the outputs of a run could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A file cannot be created.
    #[error(
        "{} cannot be written: {source}\n  what to do: choose another place for this file",
        path.display()
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written to its end.
    #[error(
        "{} could not be written: {source}\n  \
         what to do: make room on the disk, or save fewer nets",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of a run that goes on is not as that run has left it.
    #[error(
        "{} cannot be gone on with: {source}\n  what to do: {}",
        path.display(),
        remedy_of_going_on(path, source)
    )]
    GoOn {
        /// The file.
        path: PathBuf,
        /// The system's error, or what is wrong with the file.
        source: io::Error,
    },
    /// A run goes on with other outputs than it had.
    #[error(
        "the checkpoint is of a run with other outputs: {0}\n  \
         what to do: ask for the files and nets that it had"
    )]
    Other(&'static str),
    /// Something could not be recorded, so that a run cannot go on from here.
    #[error("what was recorded is not complete: {0}")]
    Incomplete(String),
    /// A raw file is asked for where one cannot go back and write the number of points.
    #[error(
        "{} is not a regular file, and a raw file cannot be written to anything else\n  \
         what to do: give the name of a file",
        path.display()
    )]
    NotAFile {
        /// The place that was given.
        path: PathBuf,
    },
    /// Two outputs have the same file.
    #[error(transparent)]
    Twice(#[from] SameFile),
    /// A step or threshold is no positive number of seconds, or no voltage.
    #[error("the {what} is {value}\n  what to do: give {allowed}")]
    Number {
        /// What it is for.
        what: &'static str,
        /// The number that was given.
        value: f64,
        /// Numbers that are allowed.
        allowed: &'static str,
    },
    /// A plot of no net, or of more nets than one can read.
    #[error("a plot of {count} nets is asked for\n  what to do: choose 1 to {most} nets")]
    PlottedNets {
        /// How many nets were chosen.
        count: usize,
        /// The most that can be drawn.
        most: usize,
    },
    /// A plot whose file name does not say what kind of picture it is.
    #[error(
        "{} names no kind of picture\n  what to do: give a name that ends in .svg or .png",
        path.display()
    )]
    PictureKind {
        /// The file.
        path: PathBuf,
    },
    /// A plot is asked for, and this build draws none.
    #[error("this build draws no plots\n  what to do: build it with `--features plots`")]
    NoPlots,
    /// The plot could not be drawn.
    #[error("the plot could not be drawn: {reason}")]
    Plot {
        /// The drawing library's error.
        reason: String,
    },
    /// A sample is not a point of a waveform, or comes after a later one.
    #[error(
        "the sample of net `{net}` at {time:e} s with {value} V and {slope:e} V/s came at {now:e} \
         s\n  what to do: this is a bug in Warpline; please report it"
    )]
    Sample {
        /// The net.
        net: String,
        /// The time of the sample (s).
        time: f64,
        /// Its voltage (V).
        value: f64,
        /// Its slope (V/s).
        slope: f64,
        /// The time of the sample before it, of any net (s).
        now: f64,
    },
}

/// Creates a file, or opens that of a run that goes on, or says that it cannot be.
pub(super) fn open(path: &Path, goes_on: bool) -> Result<PartialFile, OutputError> {
    let failed = |source| {
        let path = path.to_owned();
        match goes_on {
            true => OutputError::GoOn { path, source },
            false => OutputError::Create { path, source },
        }
    };
    PartialFile::open(path, goes_on).map_err(failed)
}

/// How far a file is written.
pub(super) fn mark(file: &mut PartialFile) -> Result<Mark, OutputError> {
    file.mark().map_err(|source| not_gone_on(file, source))
}

/// The error that a file had with which a run goes on.
pub(super) fn not_gone_on(file: &PartialFile, source: io::Error) -> OutputError {
    OutputError::GoOn { path: file.path().to_owned(), source }
}

/// The error that writing a file had.
pub(super) fn failed(file: &PartialFile, source: io::Error) -> OutputError {
    OutputError::Write { path: file.path().to_owned(), source }
}

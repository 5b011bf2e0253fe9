//! Why the waveforms of a run could not be written; the command prints it.

use std::{
    io,
    path::{Path, PathBuf},
};

use warpline::files::{PartialFile, SameFile};

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

/// Creates a file, or says that it cannot be written.
pub(super) fn create(path: &Path) -> Result<PartialFile, OutputError> {
    let failed = |source| OutputError::Create { path: path.to_owned(), source };
    PartialFile::create(path).map_err(failed)
}

/// The error that writing a file had.
pub(super) fn failed(file: &PartialFile, source: io::Error) -> OutputError {
    OutputError::Write { path: file.path().to_owned(), source }
}

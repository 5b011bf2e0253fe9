//! Why a figure could not be made.

use std::{io, path::PathBuf};

use warpline::{CommitDigest, ConfigError, RunError};

/// Why a figure could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The directory for the results cannot be made or written.
    #[error(
        "the directory {} cannot be written: {source}\n  what to do: choose another one with \
         --output",
        path.display()
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{} could not be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A parameter is not allowed.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A run failed.
    #[error("{what}: {source}")]
    Run {
        /// Figure, curve and place on the x axis.
        what: String,
        /// Why.
        source: Box<RunError>,
    },
    /// Two runs of the same model committed different events: a bug in an engine.
    #[error(
        "{what} committed other events (digest {digest}) than {other} (digest {expected})\n  \
         what to do: this is a bug in Warpline; please report it"
    )]
    Differs {
        /// Figure, curve and place on the x axis of the later run.
        what: String,
        /// What it committed.
        digest: CommitDigest,
        /// The earlier run.
        other: String,
        /// What that one committed.
        expected: CommitDigest,
    },
    /// A machine could not replay a trace.
    #[error("a trace could not be replayed: {reason}")]
    Trace {
        /// Why.
        reason: String,
    },
    /// The plot could not be drawn.
    #[cfg(feature = "plots")]
    #[error("the plot `{title}` could not be drawn: {reason}")]
    Plot {
        /// The plot's title.
        title: String,
        /// What the drawing library says.
        reason: String,
    },
    /// The watch said to stop.
    #[error("interrupted")]
    Interrupted,
}

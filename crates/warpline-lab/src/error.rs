//! The errors of the laboratory; the command prints them.

use std::{io, path::PathBuf};

use warpline::{ConfigError, RunError, digest::CommitDigest};

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
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{} could not be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is none of results, or a document does not fit to one.
    #[error("{}: {reason}", path.display())]
    Results {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A parameter has a value that is not allowed.
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
    /// A run over MPI failed.
    #[error(
        "{what}: the run over MPI failed: {reason}\n  what to do: see that `mpirun` is installed; \
         a build without the feature `mpi` takes threads for ranks"
    )]
    Mpi {
        /// Figure, curve and place on the x axis.
        what: String,
        /// What the command or `mpirun` said.
        reason: String,
    },
    /// Two runs of the same model committed different events: a bug in an engine.
    #[error(
        "{what} committed other events (digest {digest}) than {other} (digest {expected})\n  \
         what to do: this is a bug in Warpline; please report it"
    )]
    Differs {
        /// Figure, curve and place on the x axis of the later run.
        what: String,
        /// The digest of its events.
        digest: CommitDigest,
        /// The earlier run.
        other: String,
        /// The digest of that run's events.
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
        /// The drawing library's error.
        reason: String,
    },
    /// The [`Watch`](crate::Watch) asked to stop.
    #[error("interrupted")]
    Interrupted,
}

//! Why a run was refused, or why it failed.

use std::path::PathBuf;

pub use warpline_core::{Discrepancy, Fault, ModelError, Place};
pub use warpline_net::NetError;

/// A setting that is not allowed: which one, what it was, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is {value}, but must be {allowed}")]
pub struct ConfigError {
    /// The name of the setting, as the command line and configuration files spell it.
    pub key: String,
    /// The value that was given.
    pub value: String,
    /// What is allowed instead.
    pub allowed: String,
}

impl ConfigError {
    /// Says that `key` was `value` and what is `allowed`.
    pub fn new(key: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        Self { key: key.into(), value: value.to_string(), allowed: allowed.into() }
    }

    /// Refuses a value unless `allowed` holds.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn check(ok: bool, key: &str, value: impl ToString, allowed: &str) -> Result<(), Self> {
        if ok { Ok(()) } else { Err(Self::new(key, value, allowed)) }
    }

    /// Refuses a number that is 0 or above `max`.
    pub(crate) fn from_one(key: &str, value: usize, max: usize) -> Result<(), Self> {
        Self::check((1..=max).contains(&value), key, value, &format!("from 1 to {max}"))
    }
}

/// Why a checkpoint could not be written, or not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct CheckpointError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong, and what to do.
    pub what: String,
}

/// Why a run has no branch: what the model does not say yet, or why it may not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct BranchError {
    /// What is wrong, and what to add to the model.
    pub what: String,
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A setting was refused before anything ran.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The model made a mistake.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The pending events need more memory than was allowed.
    #[error(
        "out of event buffers: {place} sent one event too many: {events} pending events of \
         {event_bytes} bytes each, or fewer that own memory on the heap, fill the {limit} bytes \
         that are allowed\n  run: {}\n  \
         what to do: raise --memory, or look for an LP that sends more events than are handled",
        place.run()
    )]
    OutOfBuffers {
        /// Where it happened.
        place: Place,
        /// The bytes allowed.
        limit: u64,
        /// The events pending.
        events: u64,
        /// The size of the buffer of one event.
        event_bytes: u64,
    },
    /// Another rank of the run failed.
    #[error("rank {rank}: {error}")]
    Rank {
        /// Which one.
        rank: usize,
        /// What it said.
        error: String,
    },
    /// A checkpoint could not be written, or not be read.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// There is no such branch.
    #[error(transparent)]
    Branch(#[from] BranchError),
    /// Ranks cannot talk to each other any more.
    #[error("{_0}\n  what to do: {}", after_failed_network(_0))]
    Net(#[from] NetError),
}

fn after_failed_network(error: &NetError) -> &'static str {
    match error {
        NetError::Malformed { .. } => {
            "run the same build on all ranks; and see with the engine `saving-check` on one rank \
             whether `Model::wires` reads what it writes"
        }
        _ => "see what that rank printed last; a run ends when it loses a rank",
    }
}

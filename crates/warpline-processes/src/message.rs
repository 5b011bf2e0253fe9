//! What is sent from site to site, and by a site to itself.
//!
//! Every event has the size of the largest message, so these are small.

use serde::{Deserialize, Serialize};

/// The contents of an event; `P` is a process that travels.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message<P> {
    /// A wait is over, if the process still waits.
    #[doc(hidden)]
    Wake {
        /// Where the process is.
        slot: u32,
        /// Which of its waits it is.
        generation: u32,
    },
    /// A process arrives.
    #[doc(hidden)]
    Arrive {
        /// Its number, with a mark if it was never anywhere before.
        entity: u64,
        /// The process.
        process: P,
    },
    /// A row of the event log.
    #[doc(hidden)]
    Log {
        /// The number of the process.
        entity: u64,
        /// Which kind of process it is.
        kind: u16,
        /// Which facility it is at.
        facility: u16,
        /// What happens.
        what: What,
    },
}

/// A part of a number that no process has: the sites count to less.
pub(crate) const NEW: u64 = 1 << 31;

/// What happens to a process, for the event log.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is a row of the event log")]
pub enum What {
    Arrives,
    Queues,
    GivesUp,
    Uses,
    Releases,
    Travels,
    Departs,
}

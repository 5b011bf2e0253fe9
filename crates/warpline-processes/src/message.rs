//! What is sent from site to site, and by a site to itself.

use serde::{Deserialize, Serialize};

use crate::{World, event_log::Record, process::ProcessKind};

/// The contents of an event.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Message<W: World> {
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
        /// Its number.
        entity: u64,
        /// Whether it was never anywhere before.
        is_new: bool,
        /// The process.
        process: <W::Process as ProcessKind<W>>::Carried,
    },
    /// A record of the event log.
    #[doc(hidden)]
    Log(Record),
}

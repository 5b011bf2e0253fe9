//! The log of a worker: what undoes and what commits the events that it has handled.
//!
//! Called by whatever handles, undoes or commits an event. The undo log of tracked fields itself is
//! with the [`TimeWarpSender`](super::sending::TimeWarpSender), because handlers write it.

use warpline_core::{EventKey, LpId, Model};
use warpline_memory::Taken;

use super::{
    Message,
    history::{Record, Ring},
    log_account::LogAccount,
    saving::Saving,
};

/// The log of one worker.
pub(super) struct Log<M: Model> {
    /// A record for each event that was handled and is not committed: the paper's processed list.
    pub(super) history: Ring<Record>,
    /// The copies of states.
    pub(super) saving: Saving<M>,
    /// What the undo log is charged for, where that counts, and the most that an event has written.
    pub(super) account: LogAccount,
    /// Whether the handler of the event at the back of the processed list runs.
    pub(super) handling: bool,
    /// Non-blocking I/O events that were committed, on their way to the model.
    pub(super) outputs: Vec<(EventKey, LpId, Taken<Message<M>>)>,
}

impl<M: Model> Log<M> {
    pub(super) fn new(saving: Saving<M>) -> Self {
        Self {
            history: Ring::default(),
            saving,
            account: LogAccount::default(),
            handling: false,
            outputs: Vec::new(),
        }
    }
}

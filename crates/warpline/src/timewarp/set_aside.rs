//! Events of a worker that are in no pending set and will not be handled now.
//!
//! Called by the main loop, which annihilates the one kind and looks after the other.

use super::{event::Event, waiting::Waiting};

/// The events that one worker has set aside.
#[derive(Default)]
pub(super) struct SetAside {
    /// Events to be annihilated: the paper's CanQ.
    pub(super) canceled: Vec<Event>,
    /// Events of LPs that wait.
    pub(super) waiting: Waiting,
}

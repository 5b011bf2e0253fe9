//! The event log: what happens to each process, as a table.

use serde::{Deserialize, Serialize};
use warpline::{LpId, VirtualTime};

use crate::World;

/// A record of the event log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    entity: u64,
}

/// Where an event log goes to.
#[derive(Debug)]
pub struct EventLog {}

impl EventLog {
    pub(crate) fn write<W: World>(&self, _: &W, _: LpId, _: VirtualTime, _: &Record) {}
}

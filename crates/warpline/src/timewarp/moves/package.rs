//! An LP on its way to another worker, with all that belongs to it.
//!
//! Called by [`handover`](super::super::moving).

use warpline_core::{Model, undo::Segment};

use super::super::{
    event::Event,
    gvt::Bound,
    history::{Record, Sent},
    saving::{Lp, Saved, SparseCopies},
};
use crate::timeline::Stamp;

/// An LP on its way, with all that belongs to it.
#[derive(Debug)]
pub(in crate::timewarp) struct Package<M: Model> {
    pub(in crate::timewarp) lp: Lp<M::Lp>,
    pub(in crate::timewarp) copies: SparseCopies,
    /// Its records, the earliest first. Each has the place in `sent` where its notes begin.
    pub(in crate::timewarp) records: Vec<Record>,
    /// Where they were.
    pub(in crate::timewarp) positions: Vec<u64>,
    pub(in crate::timewarp) saved: Vec<Saved<M::Lp>>,
    /// What its events wrote to the undo log, if they did.
    pub(in crate::timewarp) writes: Vec<Option<Segment>>,
    pub(in crate::timewarp) sent: Vec<Sent>,
    /// With the LP's number.
    pub(in crate::timewarp) pending: Vec<Event>,
    /// Where each of them comes from, if there is a timeline.
    pub(in crate::timewarp) origins: Vec<Stamp>,
}

impl<M: Model> Package<M> {
    /// The least of the pending events.
    pub(in crate::timewarp) fn least(&self) -> Bound {
        self.pending.iter().map(|event| Bound(event.key.words())).min().unwrap_or(Bound::NEVER)
    }

    /// All that an LP takes along is there, each part for each record or event.
    pub(in crate::timewarp) fn check(&self) {
        debug_assert!(
            [self.saved.len(), self.writes.len(), self.positions.len()] == [self.records.len(); 3],
            "MOVE-B: {} of {} records have what was saved",
            self.saved.len(),
            self.records.len()
        );
        debug_assert!(
            [0, self.pending.len()].contains(&self.origins.len()),
            "an event has the origin of another"
        );
    }

    /// The events whose messages are in their buffers.
    pub(in crate::timewarp) fn events(&self) -> impl Iterator<Item = &Event> {
        let handled = self.records.iter().filter(|record| !record.delivered);
        self.pending.iter().chain(handled.map(|record| &record.event))
    }
}

#[cfg(test)]
impl<M: Model> Package<M> {
    pub(in crate::timewarp) fn pending(&self) -> &[Event] {
        &self.pending
    }

    /// How many events have left their buffers.
    pub(in crate::timewarp) fn delivered(&self) -> u64 {
        self.records.iter().filter(|record| record.delivered).count() as u64
    }

    /// How many events the LP has sent.
    pub(in crate::timewarp) const fn sent(&self) -> u64 {
        self.lp.core.sent
    }
}

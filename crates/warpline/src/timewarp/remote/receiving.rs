//! The remote events that a worker has received: which of them may yet be canceled, and which wait
//! for a buffer.
//!
//! Called by [`ranks`](crate::timewarp::ranks), where messages arrive.

use std::collections::BTreeMap;

use super::{Counts, message::RemoteMessage};
use crate::{
    ordered_slab::{self, OrderedSlab},
    timewarp::{event::Event, gvt::Bound},
};

/// The key and the serial number, by which an anti-message finds its event.
pub(in crate::timewarp) type Name = (Bound, u32);
ordered_slab::key!(Name);

/// The events that a worker has received from other ranks.
pub(in crate::timewarp) struct Incoming<T> {
    /// Events that have arrived and may yet be canceled.
    pub(in crate::timewarp) arrived: BTreeMap<Name, Event>,
    /// Events without buffers.
    pub(in crate::timewarp) backlog: OrderedSlab<Name, RemoteMessage<T>>,
    pub(in crate::timewarp) counts: Counts,
}

impl<T> Incoming<T> {
    pub(in crate::timewarp) fn new() -> Self {
        Self { arrived: BTreeMap::new(), backlog: OrderedSlab::new(), counts: Counts::default() }
    }

    /// The least key in the backlog.
    pub(in crate::timewarp) fn least(&self) -> Bound {
        self.backlog.first().map_or(Bound::NEVER, |((key, _), _)| *key)
    }

    /// How many events are in the backlog.
    pub(in crate::timewarp) fn backlog(&self) -> usize {
        self.backlog.len()
    }

    /// The serial number of an event that has arrived.
    pub(in crate::timewarp) fn serial_of(&self, event: &Event) -> Option<u32> {
        let key = Bound(event.key.words());
        let mut of_key = self.arrived.range((key, 0)..=(key, u32::MAX));
        of_key.find(|(_, arrived)| *arrived == event).map(|(name, _)| name.1)
    }

    /// Drops the notes of events below GVT.
    pub(in crate::timewarp) fn on_gvt(&mut self, gvt: Bound) {
        while let Some(first) = self.arrived.first_entry()
            && first.key().0 < gvt
        {
            first.remove();
        }
        debug_assert!(self.least() >= gvt, "GVT has passed an event that waits for a buffer");
    }
}

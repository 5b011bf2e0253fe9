//! The events of LPs that wait until GVT reaches one of them: a blocking I/O event, or an event
//! whose handler failed. Filled when events are handled, and emptied at each new GVT.
//!
//! A *blocking* I/O event makes its LP wait (GTW, section 2.2): the event and every later event of
//! the LP are kept in [`Waiting`] until GVT has reached it, or an earlier event for the LP comes. A
//! handler that failed makes its LP wait in the same way. If GVT reaches the event, the failure was
//! real.
//!
//! GVT is a key, so it reaches one event at a time: of all blocking I/O events of a run, at all
//! workers, a round of GVT lets one be handled, and they are handled in the order of their keys, as
//! the sequential engine does. GTW's processors handle all that are at or below GVT, which is a
//! time there; their order among each other is then open. Here an event at the same time with a
//! lesser key may still come to any other LP that waits, and a handler that is called once must not
//! be too early. Models with many blocking I/O events at one time pay for it with a round each.
//!
//! # Invariants
//!
//! - **WAIT-A.** The handler of a blocking I/O event is called once.

use std::collections::BTreeMap;

use warpline_core::Fault;

use super::{event::Event, gvt::Bound};
use crate::local_lp::LocalLp;

/// Why an LP waits.
#[derive(Debug)]
pub(super) enum Reason {
    /// The event is a blocking I/O event.
    Io,
    /// The handler of the event failed, perhaps because of a state that will be rolled back.
    Failed(Fault),
}

/// An LP that waits for an event, with the later events that have come meanwhile.
#[derive(Debug)]
struct Blocked {
    event: Event,
    reason: Reason,
    later: Vec<Event>,
}

/// The LPs of a worker that wait (the paper's I/O queue).
#[derive(Debug, Default)]
pub(super) struct Waiting(BTreeMap<LocalLp, Blocked>);

impl Waiting {
    /// Makes the LP of `event` wait for it.
    pub(super) fn block(&mut self, event: Event, reason: Reason) {
        let blocked = Blocked { event, reason, later: Vec::new() };
        let before = self.0.insert(event.lp(), blocked);
        debug_assert!(before.is_none(), "an LP waits for one event at a time");
    }

    /// Keeps an event for an LP that waits; returns it if it is earlier than the event that the LP
    /// waits for.
    pub(super) fn keep(&mut self, event: Event) -> Result<(), Event> {
        match self.0.get_mut(&event.lp()) {
            Some(blocked) if event > blocked.event => {
                blocked.later.push(event);
                Ok(())
            }
            _ => Err(event),
        }
    }

    /// Ends the wait of an LP: hands out all its events, including the one that it waited for.
    pub(super) fn unblock(&mut self, lp: LocalLp, mut sink: impl FnMut(Event)) {
        if let Some(blocked) = self.remove(lp) {
            debug_assert!(
                blocked.later.iter().all(|later| later.key >= blocked.event.key),
                "GVT: an event that is kept comes before the one that its LP waits for"
            );
            sink(blocked.event);
            blocked.later.into_iter().for_each(sink);
        }
    }

    /// Takes out the event that its LP waits for, and ends the wait; false if it waits for another.
    pub(super) fn take(&mut self, event: &Event, sink: impl FnMut(Event)) -> bool {
        if self.0.get(&event.lp()).is_none_or(|blocked| blocked.event != *event) {
            return false;
        }
        if let Some(blocked) = self.remove(event.lp()) {
            blocked.later.into_iter().for_each(sink);
        }
        true
    }

    /// The code of a tree is compiled here, not with each model.
    fn remove(&mut self, lp: LocalLp) -> Option<Blocked> {
        self.0.remove(&lp)
    }

    /// Moves all events that are kept here to `events`.
    pub(super) fn drain_into(&mut self, events: &mut Vec<Event>) {
        for Blocked { event, later, .. } in std::mem::take(&mut self.0).into_values() {
            events.push(event);
            events.extend(later);
        }
    }

    /// Whether an LP waits.
    pub(super) fn holds(&self, lp: LocalLp) -> bool {
        self.0.contains_key(&lp)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out a later event of an LP that waits; false if it is none.
    pub(super) fn remove_later(&mut self, event: &Event) -> bool {
        let Some(blocked) = self.0.get_mut(&event.lp()) else { return false };
        let place = blocked.later.iter().position(|later| later == event);
        place.map(|place| blocked.later.swap_remove(place)).is_some()
    }

    /// The least of the events that are waited for: those kept are later than these.
    pub(super) fn least(&self) -> Bound {
        let keys = self.0.values().map(|blocked| Bound(blocked.event.key.words()));
        keys.min().unwrap_or(Bound::NEVER)
    }

    /// The event that GVT has reached, if an LP waits for it, and why.
    pub(super) fn reached(&self, gvt: Bound) -> Option<(Event, &Reason)> {
        let mut all = self.0.values();
        let blocked = all.find(|blocked| Bound(blocked.event.key.words()) == gvt)?;
        Some((blocked.event, &blocked.reason))
    }

    /// All events that are kept here.
    #[cfg(test)]
    pub(super) fn all(&self) -> impl Iterator<Item = &Event> {
        self.0.values().flat_map(|blocked| std::iter::once(&blocked.event).chain(&blocked.later))
    }

    /// How many events are kept here.
    pub(super) fn len(&self) -> usize {
        self.0.values().map(|blocked| 1 + blocked.later.len()).sum()
    }
}

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

use warpline_core::{Fault, LogicalProcess, Model};

use super::{
    event::Event,
    gvt::Bound,
    worker::{End, Worker},
};
use crate::{
    panics,
    pending::{Entry, PendingSet},
    timeline::Phase,
};

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
pub(super) struct Waiting(BTreeMap<u32, Blocked>);

impl Waiting {
    /// Makes the LP of `event` wait for it.
    pub(super) fn block(&mut self, event: Event, reason: Reason) {
        let blocked = Blocked { event, reason, later: Vec::new() };
        let before = self.0.insert(event.lp, blocked);
        debug_assert!(before.is_none(), "an LP waits for one event at a time");
    }

    /// Keeps an event for an LP that waits; returns it if it is earlier than the event that the LP
    /// waits for.
    pub(super) fn keep(&mut self, event: Event) -> Result<(), Event> {
        match self.0.get_mut(&event.lp) {
            Some(blocked) if event > blocked.event => {
                blocked.later.push(event);
                Ok(())
            }
            _ => Err(event),
        }
    }

    /// Ends the wait of an LP: hands out all its events, including the one that it waited for.
    pub(super) fn unblock(&mut self, lp: u32, mut sink: impl FnMut(Event)) {
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
        if self.0.get(&event.lp).is_none_or(|blocked| blocked.event != *event) {
            return false;
        }
        if let Some(blocked) = self.remove(event.lp) {
            blocked.later.into_iter().for_each(sink);
        }
        true
    }

    /// The code of a tree is compiled here, not with each model.
    fn remove(&mut self, lp: u32) -> Option<Blocked> {
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
    pub(super) fn holds(&self, lp: u32) -> bool {
        self.0.contains_key(&lp)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out a later event of an LP that waits; false if it is none.
    pub(super) fn remove_later(&mut self, event: &Event) -> bool {
        let Some(blocked) = self.0.get_mut(&event.lp) else { return false };
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

impl<M: Model> Worker<'_, M> {
    /// Makes an LP wait for `event`.
    pub(super) fn block(&mut self, event: Event, reason: Reason) {
        debug_assert!((event.lp as usize) < self.lps.len(), "MOVE-A: the LP is not here");
        self.aside.waiting.block(event, reason);
        self.lps[event.lp as usize].last_time = f64::INFINITY;
    }

    /// Ends the wait of an LP; its events are pending again.
    pub(super) fn unblock(&mut self, lp: u32) {
        let pending = &mut self.sender.pending;
        self.aside.waiting.unblock(lp, |event| pending.insert(event));
        self.settle_last_time(lp);
    }

    /// Sets the time of an LP's last event by its processed list.
    pub(super) fn settle_last_time(&mut self, lp: u32) {
        debug_assert!(
            !self.aside.waiting.holds(lp),
            "an event for an LP that waits would be handled"
        );
        let lp = &mut self.lps[lp as usize];
        let live = self.log.history.is_live(lp.last);
        // A committed event is below every event that may still come.
        lp.last_time = if live { self.log.history[lp.last].event.time() } else { 0.0 };
    }

    /// Handles the event that GVT has reached, if an LP waits for it, or fails with it. An event at
    /// GVT itself may still be canceled, but only by mail that was sent before GVT was known. So
    /// this is called after the mail was received.
    pub(super) fn meet_gvt(&mut self) -> Result<(), End> {
        if let Some((event, Reason::Io)) = self.aside.waiting.reached(self.clock.gvt) {
            self.handle_io(event);
        }
        // A blocking I/O event that has failed just now is not handled again, either (WAIT-A).
        let Some((event, Reason::Failed(fault))) = self.aside.waiting.reached(self.clock.gvt)
        else {
            return Ok(());
        };
        let fault = fault.clone();
        self.fail(Some(self.lps[event.lp as usize].id), Some(event.key), fault);
        self.end_as_failed()
    }

    /// Handles the blocking I/O event that GVT has reached. Its handler is called once, because it
    /// may do what cannot be undone: so with limited memory, buffers for all that it may send are
    /// reserved first (WAIT-A). If there are too few, it waits for the next GVT.
    fn handle_io(&mut self, event: Event) {
        let message = self.store.buffers.get(event.buffer());
        let most = panics::catch(|| M::Lp::io_sends_max(self.model, message));
        // A panic there is one in the handler, too.
        let most = most.unwrap_or_default();
        if self.store.is_limited && !self.store.buffers.reserve(most) {
            return self.starve();
        }
        self.sender.must_send = Some(most);
        let pending = &mut self.sender.pending;
        let waited = self.aside.waiting.take(&event, |later| pending.insert(later));
        debug_assert!(waited, "WAIT-A: {event:?} is handled and still waited for");
        self.settle_last_time(event.lp);
        self.begin_phase(Phase::BlockingIo);
        let outcome = panics::catch(|| self.handle::<true>(event));
        // SAVE-B.
        self.log.saving.copy_next(event.lp);
        if let Err(fault) = outcome {
            self.cut_off(fault);
        }
        self.end_phase(1, event.time());
        self.sender.must_send = None;
        self.store.buffers.end_reserve();
    }
}

//! Step 3 of the main loop: the smallest unprocessed events are handled.
//!
//! Called by [`TimeWarpWorker::handle_batch`], for a whole batch at a time (GTW, 3.6.3). A handler
//! that panics or fails is cut off, and its event undone; if GVT reaches the event, the failure was
//! real.
//!
//! The loop is compiled twice: see [`policy`](super::policy).

use warpline_core::{Fault, Io, LogicalProcess, Model};
use warpline_memory::{prefetch_ends, switch_to_platform};

use super::{
    costs::Part,
    event::Event,
    gvt::Bound,
    policy::{Full, Plain, Policy},
    saving::Lp,
    sink::Sending,
    waiting::Reason,
    worker::TimeWarpWorker,
};
use crate::{
    handling::{Cause, Core, Halt, Handling},
    panics,
    pending::{Entry, PendingSet},
};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Handles events, the least first, until a batch is full or none may be handled. Returns how
    /// many.
    pub(super) fn process(&mut self) -> usize {
        let batch = self.flow.batch();
        debug_assert!(batch > 0, "a batch of no events");
        debug_assert!(self.aside.canceled.is_empty(), "TW-B: a canceled event could be handled");
        let mut handled = 0;
        while handled < batch {
            let before = handled;
            let outcome = panics::catch(|| match self.optional.is_plain {
                true => self.process_events::<Plain>(batch, &mut handled),
                false => self.process_events::<Full>(batch, &mut handled),
            });
            let Err(fault) = outcome else { break };
            self.cut_off(fault);
            if self.flow.is_starved() {
                break;
            }
            handled = handled.max(before + 1);
        }
        debug_assert!(handled <= batch, "the remote events of a batch may exceed the credit");
        self.note_reach();
        handled
    }

    /// Notes how far the processed list reaches. Events of a batch are handled in ascending order,
    /// so the last one says it.
    fn note_reach(&mut self) {
        if let Some(last) = self.log.history.last() {
            self.flow.note_record(Bound(last.event.key.words()));
        }
        debug_assert!(
            !self.flow.is_full() || self.log.history.reach() <= self.flow.reach(),
            "FLOW-B: a record is beyond the reach of the processed list"
        );
    }

    fn process_events<P: Policy>(&mut self, batch: usize, handled: &mut usize) {
        while *handled < batch {
            P::begin_event(self);
            let timed = self.optional.meter.begin();
            let Some(event) = self.sender.pending.pop() else { return };
            P::end_part(&mut self.sender, Part::Pending);
            if event.time() >= self.flow.limit() && !self.may_handle(&event) {
                self.sender.pending.file(event);
                return;
            }
            self.prefetch();
            let in_order = event.time() > self.lps[event.lp().index()].last_time;
            if (in_order && event.is_ordinary()) || self.is_next(event, in_order) {
                if !P::can_save(self, &event) {
                    self.put_off(event);
                    return;
                }
                self.handle::<P>(event);
                *handled += 1;
                if let Some(since) = timed {
                    self.optional.meter.end(&mut self.lps[event.lp().index()].work, since);
                }
            }
        }
    }

    /// Whether an event at or beyond the limit may be handled all the same. The event that GVT has
    /// reached always may, if it is before the end.
    #[cold]
    fn may_handle(&mut self, event: &Event) -> bool {
        let key = Bound(event.key.words());
        let first = self.clock.gvt == key && self.flow.may_try();
        event.time() < self.shared.end && (first || self.flow.may_handle(self.shared, key))
    }

    /// Starts to load the LPs and messages of the next events into the cache: one event more for
    /// each that is handled, and a few at once when the pending set has just sorted its next
    /// events.
    #[inline]
    fn prefetch(&mut self) {
        self.sender.prefetched = self.sender.prefetched.saturating_sub(1);
        while self.sender.prefetched < self.sender.prefetch_ahead
            && let Some(next) = self.sender.pending.upcoming(self.sender.prefetched)
        {
            if let Some(lp) = self.lps.get(next.lp().index()) {
                prefetch_ends(lp);
            }
            self.store.buffers.prefetch(next.buffer());
            self.sender.prefetched += 1;
        }
    }

    /// There is no memory for what is to be saved before an event: it waits for GVT.
    #[cold]
    fn put_off(&mut self, event: Event) {
        self.sender.pending.file(event);
        self.starve();
    }

    /// There is no memory for what an event needs: no event is handled until GVT has been computed.
    pub(super) fn starve(&mut self) {
        let quota = self.quota();
        self.flow.starve(self.statistics.processed, quota);
        self.flow.note_cut_off();
    }

    /// Handles an event.
    #[inline]
    pub(super) fn handle<P: Policy>(&mut self, event: Event) {
        debug_assert!(
            P::FULL || self.optional.is_plain,
            "PLAIN-A: the run has parts that are not asked for"
        );
        debug_assert!(!self.log.handling, "an event is handled within another");
        debug_assert!(
            self.clock.gvt <= Bound(event.key.words()) || self.may_have_got_changed_keys(),
            "TW-C: {event:?} is below GVT, {:?}",
            self.clock.gvt
        );
        debug_assert!(event.time() < self.shared.end, "{event:?} is not before the end");
        debug_assert!(!self.aside.waiting.holds(event.lp()), "WAIT-A: the LP of {event:?} waits");
        let lp = &mut self.lps[event.lp().index()];
        debug_assert!(
            !self.log.history.is_live(lp.last) || self.log.history[lp.last].event.key <= event.key,
            "TW-A: {event:?} was not found to be a straggler"
        );
        let at = self.log.history.push(event, &lp.core, lp.last, self.sender.sent.back());
        P::enter_lp(&self.sender, lp.id);
        let is_logging = P::is_logging(&self.log.saving);
        if is_logging {
            self.log.history[at].undo_from =
                M::Lp::SAVING.begin(&lp.state, &mut self.sender.undo_log);
        } else {
            let (saving, history) = (&mut self.log.saving, &mut self.log.history);
            P::copy(saving, lp, (history, at), &self.store.buffers);
        }
        (lp.last, lp.last_time) = (at, event.time());
        lp.work.count();
        P::end_part(&mut self.sender, Part::Saving);
        self.log.handling = true;
        let message = self.store.buffers.get(event.buffer());
        let Lp { state, core: Core { rng, sent, digest }, id, .. } = lp;
        let cause = Cause::event(&event.key, *id);
        let (sender, buffers) = (&mut self.sender, &self.store.buffers);
        let sink = Sending::<M, P>::new(sender, buffers, is_logging);
        let mut cx = Handling { cause, rng, sent, sink };
        if event.is_ordinary() {
            state.handle(self.model, message, &mut cx);
        } else if event.io() == Some(Io::Blocking) {
            cx.handle_io(state, self.model, message);
        } else {
            self.statistics.outputs += 1;
        }
        let note = cx.sink.note;
        P::leave_lp(&self.sender);
        digest.commit(&event.key, M::Lp::fingerprint(self.model, message));
        debug_assert!(
            self.log.history[at].sent_from <= self.sender.sent.back(),
            "HIST-B: sends lost"
        );
        self.log.handling = false;
        self.statistics.processed += 1;
        P::handled(self, at, note);
    }

    /// A handler did not come to its end. Undoes what it did; the event waits for a buffer, or for
    /// GVT to confirm the failure.
    #[cold]
    pub(super) fn cut_off(&mut self, fault: Fault) {
        assert!(
            std::mem::take(&mut self.log.handling),
            "Warpline has a bug: worker {} found that {fault}",
            self.me
        );
        if self.sender.memory.is_some() {
            switch_to_platform();
        }
        debug_assert!(self.log.history.len() > 0, "what was cut off has no record");
        let event = self.log.history[self.log.history.back() - 1].event;
        self.statistics.processed += 1;
        self.charge_log();
        match self.sender.cut_off.reason(fault) {
            Halt::OutOfBuffers => {
                debug_assert!(event.is_ordinary(), "WAIT-A: {event:?} would be handled again");
                self.undo_cut_off(&event, None);
                self.starve();
            }
            Halt::Fault(fault) => {
                self.undo_cut_off(&event, Some(&event));
                self.block(event, Reason::Failed(fault));
            }
            Halt::Stopped => unreachable!("nothing but a start is cut off for that"),
        }
    }
}

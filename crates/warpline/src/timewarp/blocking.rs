//! An LP waits, and goes on.
//!
//! Called when a handler cannot go on, and at every new GVT.

use warpline_core::{LogicalProcess, Model};

use super::{event::Event, policy::Full, turn::End, waiting::Reason, worker::TimeWarpWorker};
use crate::{local_lp::LocalLp, panics, pending::Entry, timeline::Phase};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Makes an LP wait for `event`.
    pub(super) fn block(&mut self, event: Event, reason: Reason) {
        debug_assert!(event.lp().index() < self.lps.len(), "MOVE-A: the LP is not here");
        self.aside.waiting.block(event, reason);
        self.lps[event.lp().index()].last_time = f64::INFINITY;
    }

    /// Ends the wait of an LP; its events are pending again.
    pub(super) fn unblock(&mut self, lp: LocalLp) {
        let pending = &mut self.sender.pending;
        self.aside.waiting.unblock(lp, |event| pending.file(event));
        self.settle_last_time(lp);
    }

    /// Sets the time of an LP's last event by its processed list.
    pub(super) fn settle_last_time(&mut self, lp: LocalLp) {
        debug_assert!(
            !self.aside.waiting.holds(lp),
            "an event for an LP that waits would be handled"
        );
        let lp = &mut self.lps[lp.index()];
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
        self.fail(Some(self.lps[event.lp().index()].id), Some(event.key), fault);
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
        let waited = self.aside.waiting.take(&event, |later| pending.file(later));
        debug_assert!(waited, "WAIT-A: {event:?} is handled and still waited for");
        self.settle_last_time(event.lp());
        self.begin_phase(Phase::BlockingIo);
        let outcome = panics::catch(|| self.handle::<Full>(event));
        // SAVE-B.
        self.log.saving.copy_next(event.lp());
        if let Err(fault) = outcome {
            self.cut_off(fault);
        }
        self.end_phase(1, event.time());
        self.sender.must_send = None;
        self.store.buffers.end_reserve();
    }
}

//! Anti-messages: events that were sent too early are canceled.
//!
//! Cancellation is direct: a record knows the events that its event sent, and each of them is
//! canceled itself, in the pending set or in the processed list where it is by then (GTW, 3.1). An
//! event at the same worker goes onto the list of canceled events (the paper's CanQ) at once; for
//! any other, an anti-message follows the event by mail. Rollbacks that follow from others are
//! worked off from that list, so that a long chain of them does not nest.

use warpline_core::Model;

use super::{event::Event, gvt::Bound, history::Sent, worker::TimeWarpWorker};
use crate::{
    pending::{Entry, PendingSet},
    timeline::Cause,
};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Step 2 of the main loop: annihilates all canceled events, and what follows from that.
    pub(super) fn cancel(&mut self) {
        while let Some(event) = self.aside.canceled.pop() {
            self.annihilate(event);
        }
    }

    /// Removes a canceled event, wherever it is.
    fn annihilate(&mut self, event: Event) {
        debug_assert!(event.cancels().is_none(), "an anti-message is annihilated by itself");
        debug_assert!(
            self.clock.gvt <= Bound(event.key.words()) || self.may_have_got_changed_keys(),
            "TW-C: {event:?}, below GVT, is canceled"
        );
        self.statistics.annihilated += 1;
        if !self.remove_waiting(&event) {
            let lp = &self.lps[event.lp().index()];
            let maybe_handled = event.time() <= lp.last_time;
            if maybe_handled && self.log.history.find(lp.last, &event).is_some() {
                self.statistics.secondary_rollbacks += 1;
                let (lp, to) = (event.lp(), Bound(event.key.words()));
                let undo = |worker: &mut Self| worker.roll_back(lp, to, Some(&event));
                self.recording_rollback(Cause::AntiMessage, (lp, to), Some(&event), undo);
            } else {
                self.note_annihilated(&event);
                self.sender.pending.remove(event);
            }
        } else {
            self.note_annihilated(&event);
        }
        self.free(&event);
    }

    /// Takes out an event that its LP waits for, or that waits with its LP; false if it is none.
    fn remove_waiting(&mut self, event: &Event) -> bool {
        let pending = &mut self.sender.pending;
        if self.aside.waiting.take(event, |later| pending.file(later)) {
            self.settle_last_time(event.lp());
            return true;
        }
        self.aside.waiting.remove_later(event)
    }

    /// Cancels an event that was sent.
    pub(super) fn take_back(&mut self, sent: Sent) {
        self.note_canceled(&sent);
        let anti = sent.event.anti();
        debug_assert!(anti.cancels().is_some(), "an anti-message cancels nothing");
        if sent.worker == self.sender.id {
            self.file_mail(anti);
            return;
        }
        self.statistics.anti_messages += 1;
        match self.shared.directory.local(sent.worker) {
            Some(worker) => self.sender.post_anti(worker, anti),
            None => self.sender.send_remote(sent.worker, anti, None),
        }
    }
}

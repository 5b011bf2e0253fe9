//! Rollback and cancellation: undoing what was handled too early, and all that came of it.
//!
//! Called by the main loop for stragglers and for cancelled events, and by cancelback. Cancellation
//! is direct: a record knows the events that its event sent, and each of them is cancelled itself,
//! in the pending set or in the processed list where it is by then (GTW, 3.1). Rollbacks that
//! follow from others are worked off from a list, so that a long chain of them does not nest.

use warpline_core::Model;

use super::{
    costs::Part,
    event::Event,
    gvt::Bound,
    history::{NONE, Sent},
    worker::Worker,
};
use crate::pending::{Entry, PendingSet};

impl<M: Model> Worker<'_, M> {
    /// Step 2 of the main loop: annihilates all cancelled events, and what follows from that.
    pub(super) fn cancel(&mut self) {
        while let Some(event) = self.cancelled.pop() {
            self.annihilate(event);
        }
    }

    /// Takes an event out of the world, wherever it is.
    fn annihilate(&mut self, event: Event) {
        self.statistics.annihilated += 1;
        if !self.remove_waiting(&event) {
            let lp = &self.lps[event.lp as usize];
            let maybe_handled = event.time() <= lp.last_time;
            if maybe_handled && self.history.find(lp.last, &event).is_some() {
                self.statistics.secondary_rollbacks += 1;
                self.roll_back(event.lp, Bound(event.key.words()), Some(&event));
            } else {
                self.desk.pending.remove(event);
            }
        }
        if !self.held.is_empty() {
            // It will not be handled again, so it will not send again either. Its rollback, above,
            // may have held something.
            for held in self.held.remove(&event.buffer().get()).unwrap_or_default() {
                self.take_back(held.sent);
            }
        }
        self.buffers.free(event.buffer(), self.sender_of(&event));
    }

    /// Takes out an event that its LP waits for, or that waits with its LP; false if it is none.
    fn remove_waiting(&mut self, event: &Event) -> bool {
        let pending = &mut self.desk.pending;
        if self.waiting.take(event, |later| pending.insert(later)) {
            self.settle_last_time(event.lp);
            return true;
        }
        self.waiting.remove_later(event)
    }

    /// Undoes every event of an LP at or after `to`. They become pending again, but for the one
    /// that is annihilated.
    pub(super) fn roll_back(&mut self, lp: u32, to: Bound, annihilated: Option<&Event>) {
        self.undo(lp, to, annihilated, false);
    }

    /// Undoes the event whose handler was cut off in its middle.
    pub(super) fn undo_cut_off(&mut self, event: &Event, annihilated: Option<&Event>) {
        self.undo(event.lp, Bound(event.key.words()), annihilated, true);
        self.cancel();
    }

    fn undo(&mut self, lp: u32, to: Bound, annihilated: Option<&Event>, cut_off: bool) {
        if self.waiting.holds(lp) {
            self.unblock(lp);
        }
        self.desk.costs.enter(Part::Rollback);
        let (mut at, mut first) = (self.lps[lp as usize].last, NONE);
        while self.history.is_live(at) && Bound(self.history[at].event.key.words()) >= to {
            if cut_off && first != NONE {
                // Another one under the same key (HIST-A), handled before.
                break;
            }
            self.unsend(at, cut_off);
            let record = &mut self.history[at];
            record.undone = true;
            if annihilated != Some(&record.event) {
                self.desk.pending.insert(record.event);
            }
            self.statistics.rolled_back += 1;
            (first, at) = (at, record.prev);
        }
        if first != NONE {
            let (lp, history) = (&mut self.lps[lp as usize], &mut self.history);
            self.saving.restore(self.model, lp, first, cut_off, history, &self.buffers);
            lp.last = at;
        }
        self.settle_last_time(lp);
        self.trim();
        self.desk.costs.leave(Part::Rollback);
    }

    /// Takes back what a record's event sent, or holds it until the event is handled again.
    fn unsend(&mut self, at: u64, cut_off: bool) {
        let sends = self.history.sends(at, &self.desk.sent);
        let event = self.history[at].event;
        if self.desk.lazy {
            let sent = sends.map(|place| self.desk.sent.held(place));
            let held = self.held.entry(event.buffer().get()).or_default();
            held.extend(sent);
            if cut_off {
                held.append(&mut self.desk.resend);
            }
            return;
        }
        for place in sends.rev() {
            self.take_back(self.desk.sent.get(place));
        }
    }

    /// Cancels an event that was sent.
    fn take_back(&mut self, sent: Sent) {
        if sent.worker == self.desk.id {
            self.cancelled.push(sent.event);
            return;
        }
        self.statistics.anti_messages += 1;
        match self.shared.directory.local(sent.worker) {
            Some(worker) => self.desk.post(worker, sent.event.anti()),
            None => self.desk.send_away(sent.worker, sent.event.anti(), None),
        }
    }

    /// Lazy cancellation: an event was handled again, and did not send all of what it sent before.
    #[cold]
    pub(super) fn cancel_not_resent(&mut self) {
        for held in std::mem::take(&mut self.desk.resend) {
            self.take_back(held.sent);
        }
        self.cancel();
    }

    /// Cancels all that lazy cancellation holds.
    fn cancel_held(&mut self) {
        for (_, held) in std::mem::take(&mut self.held) {
            for held in held {
                self.take_back(held.sent);
            }
        }
        self.cancel();
    }

    /// Undoes every event at or after `to`, of all LPs, and cancels what they sent.
    pub(super) fn roll_back_all(&mut self, to: Bound) {
        for lp in 0..self.lps.len() {
            let last = self.lps[lp].last;
            if self.history.is_live(last) && Bound(self.history[last].event.key.words()) >= to {
                self.statistics.secondary_rollbacks += 1;
                self.roll_back(lp as u32, to, None);
                self.cancel();
            }
        }
        self.cancel_held();
        self.desk.flush();
    }

    /// Undoes everything that is not committed.
    pub(super) fn undo_everything(&mut self) {
        self.roll_back_all(self.gvt);
        self.collect_all();
    }

    /// Drops undone records from the back of the log.
    fn trim(&mut self) {
        while self.history.len() > 0 && self.history[self.history.back() - 1].undone {
            let back = self.history.back() - 1;
            self.desk.sent.drop_from(self.history[back].sent_from);
            self.history.drop_from(back);
        }
    }
}

//! Rollback: undoing events that were handled too early.
//!
//! Called for stragglers ([`straggler`](super::straggler)), for canceled events that were handled
//! already ([`anti_messages`](super::anti_messages)), and by [`cancelback`](super::cancelback).
//! What undone events had sent is canceled, which may roll other LPs back.

use warpline_core::Model;

use super::{
    costs::Part, event::Event, gvt::Bound, history::NONE, log_account::undo_writes,
    worker::TimeWarpWorker,
};
use crate::{local_lp::LocalLp, timeline::Cause};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Undoes every event of an LP at or after `to`. They become pending again, but for the one
    /// that is annihilated.
    pub(super) fn roll_back(&mut self, lp: LocalLp, to: Bound, annihilated: Option<&Event>) {
        self.undo(lp, to, annihilated, false);
    }

    /// Undoes the event whose handler was cut off in its middle.
    pub(super) fn undo_cut_off(&mut self, event: &Event, annihilated: Option<&Event>) {
        let (lp, to) = (event.lp(), Bound(event.key.words()));
        let undo = |worker: &mut Self| worker.undo(lp, to, annihilated, true);
        self.recording_rollback(Cause::CutOff, (lp, to), None, undo);
        self.cancel();
    }

    fn undo(&mut self, lp: LocalLp, to: Bound, annihilated: Option<&Event>, cut_off: bool) {
        if self.aside.waiting.holds(lp) {
            self.unblock(lp);
        }
        self.sender.costs.enter(Part::Rollback);
        debug_assert!(!self.log.handling, "a rollback within a handler");
        let (mut at, mut first) = (self.lps[lp.index()].last, NONE);
        let before = self.statistics.rolled_back;
        let (gvt, changed_keys) = (self.clock.gvt, self.may_have_got_changed_keys());
        while self.log.history.is_live(at) && Bound(self.log.history[at].event.key.words()) >= to {
            if cut_off && first != NONE {
                // Another one under the same key (HIST-A), handled before.
                break;
            }
            self.unsend(at);
            let is_there = self.take_back_buffer(at);
            assert!(
                is_there,
                "FOSSIL-A: the buffer of {:?} was given out",
                self.log.history[at].event
            );
            let record = &mut self.log.history[at];
            debug_assert!(!record.undone, "HIST-C: {:?} is undone twice", record.event);
            debug_assert_eq!(record.event.lp(), lp, "HIST-A: the chain leads to another LP");
            debug_assert!(
                Bound(record.event.key.words()) >= gvt || changed_keys,
                "TW-C: {:?} was committed and is undone",
                record.event
            );
            record.undone = true;
            if annihilated != Some(&record.event) {
                self.sender.pending.file(record.event);
            }
            self.statistics.rolled_back += 1;
            (first, at) = (at, record.prev);
        }
        if first != NONE {
            let (lp, history) = (&mut self.lps[lp.index()], &mut self.log.history);
            let _application = self.sender.memory.map(|memory| memory.enter(lp.id));
            let (model, buffers) = (self.model, &mut self.store.buffers);
            let restored = if self.log.saving.is_logging() {
                undo_writes(lp, &history[first], &mut self.sender.undo_log);
                Ok(())
            } else {
                self.log.saving.restore(model, lp, first, cut_off, history, buffers)
            };
            lp.last = at;
            lp.work.undo((self.statistics.rolled_back - before) as i32);
            if let Err((event, fault)) = restored {
                self.shared.fail(self.me, Some(lp.id), Some(event), fault);
            }
            self.charge_log();
        }
        self.settle_last_time(lp);
        self.trim();
        self.sender.costs.leave(Part::Rollback);
    }

    /// Takes back the events that a record's event sent.
    fn unsend(&mut self, at: u64) {
        let sends = self.log.history.sends(at, &self.sender.sent);
        self.sender.sent.take_back(&sends);
        for place in sends.rev() {
            self.take_back(self.sender.sent.get(place));
        }
    }

    /// Undoes every event at or after `to`, of all LPs, and cancels what they sent.
    pub(super) fn roll_back_all(&mut self, to: Bound) {
        for lp in (0..self.lps.len()).map(LocalLp::from_index) {
            let last = self.lps[lp.index()].last;
            if self.log.history.is_live(last)
                && Bound(self.log.history[last].event.key.words()) >= to
            {
                self.statistics.secondary_rollbacks += 1;
                let undo = |worker: &mut Self| worker.roll_back(lp, to, None);
                self.recording_rollback(Cause::Horizon, (lp, to), None, undo);
                self.cancel();
            }
        }
        debug_assert!(
            (self.log.history.front()..self.log.history.back())
                .map(|at| &self.log.history[at])
                .all(|record| { record.undone || Bound(record.event.key.words()) < to }),
            "HIST-A: an event at or after {to:?} was not undone"
        );
        self.flow.note_rollback_of_all(to);
        self.sender.flush();
    }

    /// Undoes all events that are not committed.
    pub(super) fn undo_everything(&mut self) {
        self.roll_back_all(self.clock.gvt);
        self.fossil_collect();
        debug_assert_eq!(
            self.log.history.len(),
            0,
            "TW-B: an event is neither committed nor undone"
        );
    }

    /// Drops undone records from the back of the log.
    pub(super) fn trim(&mut self) {
        while self.log.history.len() > 0 && self.log.history[self.log.history.back() - 1].undone {
            let back = self.log.history.back() - 1;
            self.forget_undone(back);
            self.sender.sent.drop_from(self.log.history[back].sent_from);
            self.drop_undone_writes(back);
            self.log.saving.forget(back, &self.store.buffers);
            self.log.history.drop_from(back);
        }
    }
}

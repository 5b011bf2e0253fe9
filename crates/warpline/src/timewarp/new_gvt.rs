//! A worker's steps in a computation of GVT: it asks for one, reports its bound, and acts on the
//! new GVT (commits, moves LPs, takes events back).
//!
//! Called once per turn by the main loop. The algorithm itself is in [`gvt`](super::gvt).

use warpline_core::Model;

use super::{
    costs::Part,
    flow::Flow,
    gvt::{Bound, Outcome},
    turn::End,
    worker::TimeWarpWorker,
};
use crate::{pending::PendingSet, timeline::Phase};

/// An idle worker requests GVT once in this many turns.
const IDLE_TURNS: u32 = 8;

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Looks after GVT, at the beginning of a turn. Returns whether the turn has to report.
    pub(super) fn notice_gvt(&mut self) -> Result<bool, End> {
        let must_report = self.sender.gvt.notice(&self.shared.gvt);
        if let Some(outcome) = self.sender.gvt.adopt(&self.shared.gvt) {
            self.begin_phase(Phase::Gvt);
            let adopted = self.adopt(outcome);
            self.note_gauges();
            self.end_phase(0, self.clock.gvt.time());
            adopted?;
        }
        Ok(must_report)
    }

    /// Takes over a new GVT, and answers it.
    fn adopt(&mut self, outcome: Outcome) -> Result<(), End> {
        if outcome.gvt < self.clock.gvt {
            return self.refuse_gvt(outcome);
        }
        self.end_if_closed()?;
        self.take_in_awaited();
        self.sender.costs.begin();
        debug_assert!(!self.log.handling, "GVT changes within an event");
        let advanced = self.clock.gvt < outcome.gvt;
        self.statistics.history_peak = self.statistics.history_peak.max(self.log.history.len());
        self.clock.gvt = outcome.gvt;
        self.recording_commits(Self::fossil_collect);
        self.sender.costs.end(Part::Fossil);
        self.on_remote_gvt();
        let last = self.is_final() || Flow::says_stop(outcome) || Flow::says_failed(outcome);
        if let Err(undelivered) = self.deliver_outputs(last) {
            self.shared.fail_in_output(self.me, undelivered);
            return if last { self.close(End::Failed) } else { self.end_as_failed() };
        }
        if Flow::says_failed(outcome) {
            return self.close(End::Failed);
        }
        if self.clock.gvt.reaches(self.shared.end) {
            // A worker that was told to stop at its start may have left out all events.
            let is_cut_short = self.flow.has_begun_short();
            return self.close(if is_cut_short { End::Interrupted } else { End::Finished });
        }
        if Flow::says_stop(outcome) {
            self.undo_everything();
            return self.close(End::Interrupted);
        }
        if let Err(event) = self.relieve(outcome, advanced) {
            self.fail_for_lack_of_buffers(self.lps[event.lp().index()].id, Some(event.key));
            return self.end_as_failed();
        }
        self.clock.is_new = true;
        let (events, rolled_back, rollbacks) = self.statistics.since_last_gvt();
        self.log.saving.tune(events, rollbacks);
        self.look_at_saving();
        self.flow.on_gvt(self.shared, self.clock.gvt, events, rolled_back);
        self.hold_back();
        let changes_saving = self.prepares_to_change(outcome);
        self.on_gvt_moves(outcome);
        if changes_saving {
            self.change_to_sparse_copies();
        }
        self.check_consistency();
        Ok(())
    }

    /// The GVT cut of this worker: reports the least key that it may still handle.
    pub(super) fn report(&mut self) {
        let least = self.least();
        debug_assert!(
            least >= self.clock.gvt || self.may_have_got_changed_keys(),
            "TW-C: {least:?} is below GVT, {:?}",
            self.clock.gvt
        );
        self.show(least);
        self.cut_remote();
        let (of_flow, of_moves) = (self.flow.notes(), self.announce_moves());
        let of_saving = self.note_of_saving();
        debug_assert_eq!(of_flow & of_moves, 0, "two notes of a report are the same bit");
        debug_assert_eq!((of_flow | of_moves) & of_saving, 0, "two notes are the same bit");
        self.sender.gvt.report(&self.shared.gvt, least, of_flow | of_moves | of_saving);
        self.show_report();
    }

    /// The least key that this worker may still handle.
    pub(super) fn least(&mut self) -> Bound {
        debug_assert!(self.aside.canceled.is_empty(), "GVT: canceled events are handled before");
        let pending =
            self.sender.pending.peek().map_or(Bound::NEVER, |event| Bound(event.key.words()));
        let kept = self.optional.moves.least();
        pending.min(self.aside.waiting.least()).min(kept).min(self.least_of_backlog())
    }

    /// Requests a computation of GVT when enough events were processed since the last one, or none
    /// can be processed.
    pub(super) fn request_gvt_if_due(&mut self, worked: bool) {
        self.clock.idle_turns = if worked { 0 } else { self.clock.idle_turns + 1 };
        let due = self.statistics.processed - self.clock.requested_at >= self.clock.interval
            || (worked && self.has_few_buffers());
        if due || (self.clock.idle_turns + 1).is_multiple_of(IDLE_TURNS) || self.flow.is_starved() {
            self.clock.requested_at = self.statistics.processed;
            self.shared.request_gvt();
        }
    }
}

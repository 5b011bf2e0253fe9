//! How a run ends for a worker: GVT has reached the end, the run was interrupted, or it failed.

use warpline_core::{EventKey, Fault, LpId, Model, ModelError, Place};

use super::{io::Undelivered, shared::TimeWarpShared, turn::End, worker::TimeWarpWorker};
use crate::{EngineKind, RunError, run::FailureOrder};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// The run fails, with a failure that was noted: no event is handled any more.
    pub(super) fn end_as_failed(&mut self) -> Result<(), End> {
        self.flow.fail();
        self.leave_if_over()
    }

    /// Leaves the run if it cannot go on.
    pub(super) fn go_on(&mut self) -> Result<(), End> {
        self.advance_remote();
        self.leave_if_over()
    }

    fn leave_if_over(&mut self) -> Result<(), End> {
        if self.shared.cannot_go_on() { Err(self.leave()) } else { Ok(()) }
    }

    /// The run has failed at some worker. Events that are committed by then still count.
    fn leave(&mut self) -> End {
        if let Some(outcome) = self.sender.gvt.adopt(&self.shared.gvt) {
            self.receive_lps();
            self.clock.gvt = outcome.gvt.max(self.clock.gvt);
            self.fossil_collect();
        }
        if let Err(undelivered) = self.deliver_outputs(true) {
            self.shared.fail_in_output(self.me, undelivered);
        }
        End::Failed
    }

    /// Ends the run with a mistake of the model that is final.
    pub(super) fn fail(&self, lp: Option<LpId>, event: Option<EventKey>, fault: Fault) {
        self.shared.fail(self.me, lp, event, fault);
    }

    /// Ends the run because `lp` needs a buffer, and none can be reclaimed.
    pub(super) fn fail_for_lack_of_buffers(&self, lp: LpId, event: Option<EventKey>) {
        let order = event.map_or(FailureOrder::Start(lp), FailureOrder::Event);
        let error = RunError::OutOfBuffers {
            place: self.shared.place(self.me, Some(lp), event),
            limit: self.shared.settings.memory.unwrap_or(u64::MAX),
            events: u64::from(self.shared.arena.limit()),
            event_bytes: TimeWarpShared::<M>::buffer_bytes(&self.shared.settings.engine),
        };
        self.shared.failure.note(order, error);
    }
}

impl<M: Model> TimeWarpShared<M> {
    /// Notes a mistake of the model that was found at worker `me`.
    pub(super) fn fail(&self, me: usize, lp: Option<LpId>, event: Option<EventKey>, fault: Fault) {
        let order = match (event, lp) {
            (Some(key), _) => FailureOrder::Event(key),
            (None, lp) => FailureOrder::Start(lp.unwrap_or_default()),
        };
        let place = self.place(me, lp, event);
        self.failure.note(order, ModelError { fault, place }.into());
    }

    /// Notes at worker `me` that I/O events cannot be handled.
    pub(super) fn fail_in_output(&self, me: usize, undelivered: Undelivered) {
        match undelivered {
            Undelivered::Failed(key, lp, fault) => self.fail(me, Some(lp), Some(key), fault),
            Undelivered::Net(error) => self.lose_network(error),
        }
    }

    fn place(&self, worker: usize, lp: Option<LpId>, event: Option<EventKey>) -> Place {
        let engine = EngineKind::TimeWarp.name();
        Place { lp, event, engine, worker, seed: self.settings.seed }
    }
}

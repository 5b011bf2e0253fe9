//! Stragglers: events that arrive after their LP has handled a later one.
//!
//! Called by [`processing`](super::processing) for every event that is not simply the next one of
//! its LP. A straggler rolls its LP back ([`rollback`](super::rollback)), and is handled then. An
//! event is found to be a straggler when it is taken from the pending set, not when it is received
//! (TW-A): one rollback then serves all stragglers of an LP that have arrived by now.

use warpline_core::{Io, Model};

use super::{event::Event, gvt::Bound, waiting::Reason, worker::TimeWarpWorker};
use crate::timeline::Cause;

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Whether an event is to be handled now that may be a straggler (if it is not `in_order`), be
    /// for an LP that waits, or be an I/O event.
    #[cold]
    pub(super) fn is_next(&mut self, event: Event, in_order: bool) -> bool {
        if !in_order {
            if self.aside.waiting.holds(event.lp()) {
                if self.aside.waiting.keep(event).is_ok() {
                    return false;
                }
                self.unblock(event.lp());
            }
            let last = self.lps[event.lp().index()].last;
            debug_assert!(
                !self.log.history.is_live(last) || !self.log.history[last].undone,
                "HIST-A: the last record of an LP is undone"
            );
            if self.log.history.is_live(last) && self.log.history[last].event.key > event.key {
                self.statistics.primary_rollbacks += 1;
                let (lp, to) = (event.lp(), Bound(event.key.words()));
                let undo = |worker: &mut Self| worker.roll_back(lp, to, None);
                self.recording_rollback(Cause::Straggler, (lp, to), Some(&event), undo);
                self.cancel();
            }
        }
        if event.io() == Some(Io::Blocking) {
            self.block(event, Reason::Io);
            return false;
        }
        true
    }
}

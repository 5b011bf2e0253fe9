//! Fossil collection: what lies below GVT is committed, and its buffers are free again.
//!
//! `block` collects all of it at every new GVT, from the front of the log on (GTW, section 3.2).
//! `on-the-fly` leaves it there, and takes two records away before each event that is handled
//! (Fujimoto and Panesar, *Buffer management in shared-memory Time Warp systems*, PADS 1995,
//! section 6): the work is spread, and a buffer is used again while it is in the cache.
//!
//! The log is in the order of handling, which is that of keys but for rollbacks. A record at or above
//! GVT at the front holds up those behind it until GVT has passed it, too.

use warpline_core::{EventKey, Fault, LpId, Model};

use super::{event::Kind, gvt::Bound, worker::Worker};
use crate::pending::Entry;

/// Records that are collected on the fly before an event makes another.
const ON_THE_FLY: usize = 2;

impl<M: Model> Worker<'_, M> {
    /// Collects what a new GVT has committed.
    pub(super) fn fossil_collect(&mut self) {
        if !self.on_the_fly || self.must_collect_all() {
            while self.drop_front() {}
        }
        self.buffers.give_up_beyond(self.flow.keep());
    }

    /// Even on the fly, all is collected where somebody waits for it: for outputs, for memory, or for
    /// the end of the run.
    fn must_collect_all(&self) -> bool {
        let at_end = !(self.gvt.time() < self.shared.end);
        at_end || self.statistics.outputs > 0 || self.flow.is_squeezed() || self.flow.stops()
    }

    /// Collects a few records.
    #[inline]
    pub(super) fn collect_some(&mut self) {
        for _ in 0..ON_THE_FLY {
            if !self.drop_front() {
                break;
            }
        }
    }

    /// Collects the record at the front; false if there is none that may go.
    #[inline]
    fn drop_front(&mut self) -> bool {
        if self.history.len() == 0 {
            return false;
        }
        let at = self.history.front();
        let record = &self.history[at];
        if !record.undone {
            let event = record.event;
            if Bound(event.key.words()) >= self.gvt || !self.saving.may_drop(at, &self.history) {
                return false;
            }
            self.statistics.committed += 1;
            self.statistics.last_time = self.statistics.last_time.max(event.time());
            if event.is_ordinary() || event.kind() != Kind::NonBlockingIo {
                self.buffers.free(event.buffer());
            } else {
                let id = self.lps[event.lp as usize].id;
                self.outputs.push((event.key, id, self.buffers.take(event.buffer())));
            }
        }
        let sends = self.history.sends(at, &self.desk.sent);
        self.desk.sent.drop_before(sends.end);
        self.history.drop_before(at + 1);
        true
    }

    /// Hands committed outputs to the stage that puts those of all workers in order.
    pub(super) fn deliver_outputs(&mut self) -> Result<(), (EventKey, LpId, Fault)> {
        let Self { model, shared, me, gvt, outputs, .. } = self;
        shared.io.deliver(model, *me, *gvt, &shared.arena, outputs)
    }
}

//! Fossil collection: events below GVT are committed, and their buffers are free again.
//!
//! All of it is collected at every new GVT, from the front of the log on (GTW, section 3.2; the
//! pool's name for it is `block`). Buffers may be free earlier: [`on_the_fly`](super::on_the_fly).
//!
//! The log is in the order of handling, which is that of keys but for rollbacks. A record at or
//! above GVT at the front holds up those behind it until GVT has passed it, too.

use warpline_core::{Io, Model};

use super::{
    gvt::Bound,
    heap,
    history::Record,
    io::Undelivered,
    policy::{Full, Plain, Policy},
    worker::TimeWarpWorker,
};
use crate::pending::Entry;

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Whether no event will be rolled back any more.
    pub(super) fn is_final(&self) -> bool {
        self.clock.gvt.reaches(self.shared.end)
    }

    /// Collects the records that GVT has committed.
    pub(super) fn fossil_collect(&mut self) {
        if self.optional.is_plain {
            while self.drop_front::<Plain>() {}
        } else {
            while self.drop_front::<Full>() {}
        }
        self.forget_sent();
        self.forget_writes();
        if self.store.is_on_the_fly {
            self.set_horizon();
        }
    }

    /// Drops the notes of what the collected records had sent.
    #[inline]
    fn forget_sent(&mut self) {
        let (history, sent) = (&self.log.history, &mut self.sender.sent);
        let is_empty = history.len() == 0;
        let front = if is_empty { sent.back() } else { history[history.front()].sent_from };
        sent.drop_before(front);
        debug_assert!(
            !is_empty || sent.uncommitted() == 0,
            "HIST-D: nothing is uncommitted but what was sent"
        );
    }

    /// Collects the record at the front, but for the notes of what it had sent. Returns false if no
    /// record may go.
    #[inline]
    fn drop_front<P: Policy>(&mut self) -> bool {
        if self.log.history.len() == 0 {
            return false;
        }
        let at = self.log.history.front();
        let record = &self.log.history[at];
        if !record.undone {
            let event = record.event;
            let is_below = event.key.words()[0] < self.clock.gvt.0[0]
                || Bound(event.key.words()) < self.clock.gvt;
            if !is_below || !P::may_drop(self, at) {
                return false;
            }
            self.statistics.committed += 1;
            if self.statistics.last_time < event.time() {
                self.statistics.last_time = event.time();
            }
            let is_output = !event.is_ordinary() && event.io() == Some(Io::NonBlocking);
            if is_output {
                self.take_output(at);
            } else {
                P::free(self, at, &event);
            }
        } else {
            self.forget_undone(at);
        }
        P::drop(self, at);
        self.log.history.drop_before(at + 1);
        true
    }

    /// Forgets what an undone record had sent; it leaves the log.
    pub(super) fn forget_undone(&mut self, at: u64) {
        let sends = self.log.history.sends(at, &self.sender.sent);
        self.sender.sent.forget_taken_back(&sends);
    }

    /// Takes the message of a committed non-blocking I/O event, unless that was done before.
    fn take_output(&mut self, at: u64) {
        let Record { event, delivered, undone, .. } = &mut self.log.history[at];
        debug_assert!(
            !*undone && Bound(event.key.words()) < self.clock.gvt,
            "{event:?} is not final"
        );
        if !std::mem::replace(delivered, true) {
            let (event, id) = (*event, self.lps[event.lp().index()].id);
            let from = self.sender_of(&event);
            let bytes = heap::of_message::<M>(self.store.buffers.get(event.buffer()));
            self.log.outputs.push((event.key, id, self.store.buffers.take(event.buffer(), from)));
            // The message is not in its buffer any more; it is handled soon.
            self.store.buffers.refund_outside(bytes);
        }
    }

    /// Hands committed outputs to the stage that puts those of all workers in order: all of them,
    /// also those in the log behind a record that is not committed. At the end of a run, `last`
    /// says that this worker will not come again.
    pub(super) fn deliver_outputs(&mut self, last: bool) -> Result<(), Undelivered> {
        if self.statistics.outputs > 0 {
            for at in self.log.history.front()..self.log.history.back() {
                let Record { event, undone, .. } = &self.log.history[at];
                let is_output = event.io() == Some(Io::NonBlocking) && !undone;
                if is_output && Bound(event.key.words()) < self.clock.gvt {
                    self.take_output(at);
                }
            }
        }
        let ranks = self.other_ranks();
        let Self { model, shared, me, clock, log, .. } = self;
        shared.io.deliver(model, (*me, last), clock.gvt, &shared.arena, &mut log.outputs, ranks)
    }
}

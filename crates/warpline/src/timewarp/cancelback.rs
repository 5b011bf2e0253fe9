//! Cancelback: what workers do when buffers run out (Jefferson 1990; GTW, section 3.4).
//!
//! Called at every new GVT. A worker that lacks a buffer is *starved*, and says so in its report.
//! All workers see the same outcome of the round, so they answer in step with each other, without
//! any further message.
//!
//! Other ranks have buffers of their own. A remote event that finds no buffer waits in the backlog
//! of its receiver: never more than a share of the buffers of every other worker, for the last two
//! rounds. Its worker is short of buffers, and the workers of all ranks answer: each takes back
//! what it has sent from far ahead.

use warpline_core::Model;

use super::{
    event::Event,
    flow::Flow,
    gvt::{Bound, Outcome},
    shortage::{PATIENCE, SQUEEZES, STUCK},
    worker::TimeWarpWorker,
};
use crate::{pending::PendingSet, timeline::Phase};

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Answers a shortage of buffers, in step with all other workers that it concerns: they see the
    /// same outcomes.
    ///
    /// If GVT has advanced, fossil collection has just helped, and the pool distributes the buffers
    /// that it reclaimed. If that did not last, the squeeze begins.
    ///
    /// # Errors
    ///
    /// The event that GVT has reached, if there is no buffer even for what it sends; or one from
    /// another rank that finds no buffer though nothing is left that could be undone.
    pub(super) fn relieve(&mut self, outcome: Outcome, advanced: bool) -> Result<(), Event> {
        self.flow.allow_retry();
        self.store.buffers.note_uncommitted(self.sender.sent.uncommitted());
        let pending = self.sender.pending.len() + self.aside.waiting.len();
        self.store.buffers.note_in_use(pending + self.log.history.len() - self.store.returned);
        // Where the pool keeps the buffers of workers apart, others need not suffer from a
        // shortage, as long as GVT advances.
        let is_clogged = Flow::says_clogged(outcome);
        let concerns =
            self.flow.is_starved() || self.store.buffers.is_common() || !advanced || is_clogged;
        let is_short = Flow::says_short(outcome) && concerns;
        // A round in which the worker tried again has no shortage yet, and says nothing.
        let is_stuck = !advanced || is_clogged;
        let shortage = &mut self.flow.shortage;
        shortage.stuck = if is_stuck { shortage.stuck + u32::from(is_short) } else { 0 };
        if !is_short {
            self.store.buffers.redistribute(Flow::says_short(outcome));
            shortage.ease(advanced);
            return Ok(());
        }
        shortage.calm = 0;
        let starved = self.flow.end_starvation();
        if advanced && !Flow::says_short_again(outcome) {
            self.store.buffers.redistribute(true);
            return Ok(());
        }
        self.squeeze(advanced);
        match self.event_at_gvt() {
            Some(event) if starved && self.flow.shortage.hopeless > PATIENCE => return Err(event),
            _ => {}
        }
        // Even where GVT advances: the backlog would become longer and longer.
        let first = self.first_of_backlog().filter(|_| self.flow.shortage.is_tightest());
        let rounds = &mut self.flow.shortage.hopeless_backlog;
        *rounds = if first.is_some() { *rounds + 1 } else { 0 };
        first.filter(|_| *rounds > PATIENCE).map_or(Ok(()), Err)
    }

    /// Makes room by *cancelback* (Jefferson 1990): the events sent from furthest ahead are taken
    /// back by their senders, which roll back to before they sent them. Here the senders do it by
    /// themselves, beyond a time that comes closer to GVT each round. The time ahead of GVT stays
    /// that short for a while, or the same would happen again. In the end nothing is left but what
    /// a sequential run would have, and if that does not fit, nothing will.
    fn squeeze(&mut self, advanced: bool) {
        if self.flow.shortage.squeezes == 0 || self.flow.shortage.unsqueezed == 0.0 {
            self.flow.shortage.unsqueezed = self.farthest() - self.clock.gvt.time();
        }
        let shortage = &mut self.flow.shortage;
        debug_assert!(shortage.unsqueezed >= 0.0, "handled events are before GVT: {shortage:?}");
        if shortage.is_tightest() {
            shortage.hopeless = if advanced { 0 } else { shortage.hopeless + 1 };
        } else {
            shortage.squeezes += 1;
        }
        debug_assert!(shortage.squeezes <= SQUEEZES, "the tightest squeeze became tighter");
        if self.flow.shortage.squeezes > 1 {
            self.cancel_back();
        }
        if self.flow.shortage.is_tightest() {
            self.fossil_collect();
        }
        self.shrink_log();
        if self.store.buffers.is_common() || self.flow.shortage.stuck >= STUCK {
            self.store.buffers.give_up();
        } else {
            self.store.buffers.redistribute(true);
        }
    }

    /// This worker's pending event that GVT has reached.
    fn event_at_gvt(&mut self) -> Option<Event> {
        let at_gvt = |event: &Event| Bound(event.key.words()) == self.clock.gvt;
        let pending = self.sender.pending.peek().copied().filter(at_gvt);
        let waiting = || self.aside.waiting.reached(self.clock.gvt).map(|(event, _)| event);
        pending.or_else(waiting).or_else(|| self.first_of_backlog().filter(at_gvt))
    }

    /// Undoes the events beyond the squeezed window, and takes back what they sent.
    fn cancel_back(&mut self) {
        let to = match self.flow.shortage.squeezed() {
            Some(squeezed) if squeezed > 0.0 => {
                Bound([(self.clock.gvt.time() + squeezed).to_bits(), 0, 0])
                    .max(self.clock.gvt.next())
            }
            // Not the event that GVT has reached: it may be a blocking I/O event, just handled.
            _ => self.clock.gvt.next(),
        };
        let before = self.statistics.rolled_back;
        self.begin_phase(Phase::Cancelback);
        self.roll_back_all(to);
        let taken_back = self.statistics.rolled_back - before;
        self.statistics.cancelbacks += taken_back;
        self.end_phase(taken_back, to.time());
    }
}

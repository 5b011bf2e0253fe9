//! What a worker tells the timeline of the run, if there is one.
//!
//! Called by the main loop ([`worker`](super::worker)) when the worker goes from one thing to
//! another, and never per event.

use warpline_core::Model;

use super::worker::NullMessageWorker;
use crate::{
    event::{Buffer, Message},
    monitor::Activity,
    timeline::Phase,
};

impl<M: Model, B: Buffer<Message<M>>> NullMessageWorker<'_, M, B> {
    /// The worker goes to another phase, if it is not in it.
    #[inline]
    pub(super) fn go_to(&mut self, phase: Phase) {
        if self.trace.as_ref().is_some_and(|trace| trace.phase != phase) {
            self.change(Some(phase));
        }
    }

    /// It has nothing to do until something arrives.
    #[inline]
    pub(super) fn go_to_wait(&mut self) {
        self.go_to(Phase::Waiting(Activity::OnChannels));
    }

    /// The worker ends, and hands in what it has written.
    pub(super) fn end_trace(&mut self) {
        self.change(None);
        self.trace = None;
    }

    #[cold]
    fn change(&mut self, next: Option<Phase>) {
        let Some(trace) = &mut self.trace else { return };
        let counted = [self.tally.committed, self.tally.deadlocks];
        let before = std::mem::replace(&mut trace.before, counted);
        debug_assert!(before[0] <= counted[0] && before[1] <= counted[1], "counts went back");
        let [events, deadlocks] = [0, 1].map(|at| counted[at] - before[at]);
        trace.recorder.count = self.tally.null_messages;
        let last = self.send_buffer.error_context.event;
        let time = last.filter(|_| events > 0).map_or(f64::NAN, |key| key.time_value());
        let events = if trace.phase == Phase::DeadlockDetection { deadlocks } else { events };
        match next {
            Some(next) => trace.recorder.change(events, time, next),
            None => trace.recorder.end_last(events, time),
        }
        trace.phase = next.unwrap_or(trace.phase);
    }
}

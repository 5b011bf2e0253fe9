//! The main loop of a sequential run: slice after slice, each between two looks at the clock.

use warpline_core::Model;

use super::{Execution, SLICE_EVENTS_MAX, Sequential, Stopped};
use crate::{
    RunError,
    event::{Buffer, Event, Message},
    pending::PendingSet,
    timeline::{Phase, Recorder},
    watch::{Hint, Timer, Watch},
};

impl<M, B, S, X> Sequential<'_, M, B, S, X>
where
    M: Model,
    B: Buffer<Message<M>>,
    S: PendingSet<Event<B>>,
    X: Execution<M>,
{
    /// Runs to the bound, an error, or an interruption; returns whether it was cut. The timeline,
    /// if there is one, is told of each slice.
    pub(super) fn advance_to_bound(&mut self, watch: &mut Watch<'_>) -> Result<bool, RunError> {
        let mut recorder = watch.timeline.as_ref().and_then(|timeline| timeline.lend(0, 0));
        let mut told = self.committed;
        if let Some(recorder) = &mut recorder {
            recorder.begin(Phase::Batch);
        }
        let interrupted = self.advance_slices(watch, recorder.as_deref_mut(), &mut told);
        if let Some(mut recorder) = recorder {
            recorder.end(self.committed - told, self.now.get());
        }
        interrupted
    }

    /// The recorder has been told of this number of events.
    fn advance_slices(
        &mut self,
        watch: &mut Watch<'_>,
        mut recorder: Option<&mut Recorder>,
        told: &mut u64,
    ) -> Result<bool, RunError> {
        let mut timer = Timer::new(self.started, SLICE_EVENTS_MAX);
        loop {
            if watch.stopped() {
                return Ok(true);
            }
            if self.guard(|run| run.advance(timer.slice()))? == Stopped::AtBound {
                return Ok(false);
            }
            timer.look();
            if let Some(recorder) = recorder.as_deref_mut() {
                let events = self.committed - std::mem::replace(told, self.committed);
                recorder.change(events, self.now.get(), Phase::Batch);
            }
            self.show();
            let progress = self.progress();
            if watch.ends_leg(&progress, Hint::Handling(None))
                || timer.takes_observation() && watch.observe(&progress).is_break()
            {
                return Ok(true);
            }
        }
    }

    /// Shows a monitor how far a leg has come.
    pub(super) fn show(&self) {
        if let Some(board) = &self.board {
            board[0].report(0, self.now, (self.committed - self.counted_before, 0));
        }
    }
}

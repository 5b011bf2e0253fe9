//! The main loop of a sequential run: slice after slice, each between two looks at the clock.
//!
//! In a run that changes engines, it also measures what a copy of a state takes, now and then: who
//! handles events early has to copy states, unless their fields save what changes.

use warpline_core::Model;
use warpline_memory::processor_time;

use super::{Execution, SLICE_EVENTS_MAX, Sequential, Stopped};
use crate::{
    RunError,
    event::{Buffer, Event, Message},
    handling,
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
        let mut recorded = self.committed;
        if let Some(recorder) = &mut recorder {
            recorder.begin(Phase::Batch);
        }
        let interrupted = self.advance_slices(watch, recorder.as_deref_mut(), &mut recorded);
        if let Some(mut recorder) = recorder {
            recorder.end(self.committed - recorded, self.now.get());
        }
        interrupted
    }

    /// The recorder has been told of this number of events.
    fn advance_slices(
        &mut self,
        watch: &mut Watch<'_>,
        mut recorder: Option<&mut Recorder>,
        recorded: &mut u64,
    ) -> Result<bool, RunError> {
        let mut timer = Timer::new(self.started, SLICE_EVENTS_MAX);
        let mut copies = Copies::default();
        loop {
            if watch.stopped() {
                return Ok(true);
            }
            if self.guard(|run| run.advance(timer.slice()))? == Stopped::AtBound {
                return Ok(false);
            }
            timer.look();
            if let Some(recorder) = recorder.as_deref_mut() {
                let events = self.committed - std::mem::replace(recorded, self.committed);
                recorder.change(events, self.now.get(), Phase::Batch);
            }
            self.show();
            let progress = self.progress();
            if const { handling::copies_much::<M>() } && watch.stage_end.is_some() {
                copies.look(|| self.time_copies());
            }
            let pending = self.sender.pending.len() as u64;
            // (Only who changes engines asks: it is a system call.)
            let ran = watch.stage_end.as_ref().and_then(|_| processor_time());
            let hint = Hint::Sequential { pending, copying: copies.each(), ran };
            if watch.ends_stage(&progress, hint)
                || timer.takes_observation() && watch.observe(&progress).is_break()
            {
                return Ok(true);
            }
        }
    }

    /// Times copies of the state of the LP that was handled last.
    fn time_copies(&self) -> (u32, f64) {
        let state = self.current.map(|(lp, _)| &self.lps[lp.index()].state);
        handling::time_copies(state.into_iter().cycle())
    }

    /// Shows a monitor how far a stage has come.
    pub(super) fn show(&self) {
        if let Some(board) = &self.board {
            board[0].report(0, self.now, (self.committed - self.counted_before, 0));
        }
    }
}

/// What copies of states take.
#[derive(Debug, Default)]
struct Copies {
    looks: u32,
    made: u32,
    seconds: f64,
}

impl Copies {
    /// At a look at the clock: measures copies, ever more rarely. `time` makes some and returns how
    /// many, and the seconds that took.
    fn look(&mut self, time: impl FnOnce() -> (u32, f64)) {
        self.looks += 1;
        if !self.looks.is_power_of_two() {
            return;
        }
        let (made, seconds) = time();
        self.made += made;
        self.seconds += seconds;
        debug_assert!(self.seconds >= 0.0, "copies take no less than no time");
    }

    /// The seconds that one takes, if one was made.
    fn each(&self) -> Option<f64> {
        (self.made > 0).then(|| self.seconds / f64::from(self.made))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// States are copied rarely, however many looks there are; a state that cannot be copied takes
    /// for ever. (Red if each look copies.)
    #[test]
    fn copies_are_few() {
        let (count, mut copies) = (Cell::new(0), Copies::default());
        assert_eq!(copies.each(), None);
        for _ in 0..1 << 12 {
            copies.look(|| {
                count.set(count.get() + 1);
                (2, 1e-6)
            });
        }
        assert!(count.get() <= 13, "{count:?}");
        assert!(copies.each().is_some_and(|each| each < 1e-6));
        copies.looks = 0;
        copies.look(|| (1, f64::INFINITY));
        assert_eq!(copies.each(), Some(f64::INFINITY));
    }
}

//! The main loop of a sequential run: slice after slice, each between two looks at the clock.
//!
//! In a run that changes engines, it also measures what a copy of a state takes, now and then, and
//! how many events come from other LPs: who handles events early has to copy states, unless their
//! fields save what changes, and some of them too early, unless LPs only send to themselves.

use warpline_core::{EventKey, LpId, Model};
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
        let (mut copies, mut senders) = (Copies::default(), Senders::default());
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
            let pending = self.sender.pending.len() as u64;
            if const { handling::copies_much::<M>() } && watch.stage_end.is_some() {
                copies.look(|| self.time_copies());
                senders.look(self.current, self.committed > 2 * pending);
            }
            // (Only who changes engines asks: it is a system call.)
            let ran = watch.stage_end.as_ref().and_then(|_| processor_time());
            let (copying, remote) = (copies.each(), senders.remote());
            let hint = Hint::Sequential { pending, copying, remote, ran };
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

/// Who has sent the events that were handled last before looks at the clock.
#[derive(Debug, Default)]
struct Senders {
    seen: u32,
    others: u32,
}

impl Senders {
    /// So many have to be seen.
    const ENOUGH: u32 = 32;

    /// At a look at the clock, when an LP has handled this event. The first events of a run tell
    /// nothing: an LP sends them to itself.
    fn look(&mut self, last: Option<(LpId, Option<EventKey>)>, tells: bool) {
        if let Some((lp, Some(key))) = last.filter(|_| tells) {
            self.seen += 1;
            self.others += u32::from(key.sender() != lp);
        }
        debug_assert!(self.others <= self.seen, "more events of others than events");
    }

    /// The share of events that another LP has sent.
    fn remote(&self) -> Option<f64> {
        (self.seen >= Self::ENOUGH).then(|| f64::from(self.others) / f64::from(self.seen))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use warpline_core::VirtualTime;

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

    /// A share is known when enough events were seen, of those that tell something. (Red if the
    /// first ones are counted, or all LPs as others.)
    #[test]
    fn senders_are_compared_with_receivers() {
        let event = |sender| EventKey::new(VirtualTime::ZERO, 0, LpId::new(sender), 1);
        let mut senders = Senders::default();
        for look in 0..2 * Senders::ENOUGH {
            senders.look(Some((LpId::new(0), Some(event(look % 4)))), look >= Senders::ENOUGH);
            senders.look(Some((LpId::new(0), None)), true);
            assert_eq!(senders.remote().is_some(), look == 2 * Senders::ENOUGH - 1);
        }
        assert_eq!(senders.remote(), Some(0.75));
    }
}

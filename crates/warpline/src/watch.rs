//! How a run is watched from outside: the observer that sees its progress, the flag that stops it,
//! and the handle of a [`Monitor`].
//!
//! [`Simulation`](crate::Simulation) fills in the [`Watch`]; the first worker of each engine has it
//! and asks a [`Timer`] when to look at the clock.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use warpline_core::VirtualTime;

use crate::{
    WorkerLimit,
    monitor::{Board, Monitor},
    timeline::Timeline,
};

/// How long a loop works between two looks at the clock, if a single step does not take longer.
const SLICE: Duration = Duration::from_micros(250);
/// How often the observer is called.
const OBSERVE_EVERY: Duration = Duration::from_millis(50);

/// How far a run has come, for [`Simulation::observe`](crate::Simulation::observe).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// The virtual time reached; nothing below it can change any more.
    pub virtual_time: VirtualTime,
    /// The end of the run; [`VirtualTime::MAX`] when none was given.
    pub end: VirtualTime,
    /// Events committed so far.
    pub committed_events: u64,
    /// Events processed so far.
    pub processed_events: u64,
    /// Wall time so far.
    pub wall: Duration,
}

/// Called now and then with the progress; breaking ends the run, marked as interrupted.
pub(crate) type Observer<'a> = Box<dyn FnMut(&Progress) -> ControlFlow<()> + Send + 'a>;

/// What an engine tells of itself, beside the progress.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Hint {
    /// The run begins with about this number of events for each worker. If windows have a given
    /// width, each has about so many of them, and there are so many windows before the end.
    Pending { events: u64, window: Option<(u64, u64)> },
    /// Of an engine with windows: the events per second of a worker while it handles events and
    /// does nothing else, if that is measured; about how many it has pending; and by which factor
    /// the rate may rise until the width of its windows is found.
    Windows { handling: Option<f64>, pending: u64, may_gain: f64 },
    /// What the sequential engine has pending; the seconds that a copy of a state takes, and the
    /// share of events that another LP has sent, if that is measured; and how long its thread has
    /// run so far, if that is known.
    Sequential { pending: u64, copying: Option<f64>, remote: Option<f64>, ran: Option<Duration> },
}

/// Called at each look at the clock; returns whether the stage is over.
pub(crate) type StageEnd<'a> = Box<dyn FnMut(&Progress, Hint) -> bool + Send + 'a>;

/// Sees the progress of a run, and may end it early.
#[derive(Default)]
pub(crate) struct Watch<'a> {
    pub(crate) observer: Option<Observer<'a>>,
    pub(crate) stop: Option<&'a AtomicBool>,
    pub(crate) monitor: Option<Monitor>,
    pub(crate) limit: Option<WorkerLimit>,
    pub(crate) timeline: Option<Timeline>,
    /// Whether the observer has ended the run.
    pub(crate) is_ended: bool,
    /// Says whether an engine is to hand over, in a run that changes engines.
    pub(crate) stage_end: Option<StageEnd<'a>>,
    /// In a session, what the steps before have done.
    pub(crate) session: Option<Before>,
}

/// What the progress tells beside that of the step of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    /// The end of the whole run.
    pub(crate) end: VirtualTime,
    /// The wall time that the steps before have taken.
    pub(crate) wall: Duration,
    /// How many events they have committed, if the engine does not know.
    pub(crate) events: u64,
    /// How long this step will probably take, if that is known.
    pub(crate) step: Option<Duration>,
}

impl Watch<'_> {
    /// Whether the run was told to stop.
    pub(crate) fn stopped(&self) -> bool {
        // Ordering: Relaxed; the flag publishes nothing but itself.
        self.is_ended || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// How many workers may work.
    pub(crate) fn workers_allowed(&self) -> usize {
        self.limit.as_ref().map_or(usize::MAX, WorkerLimit::workers)
    }

    /// Shows the progress; breaks if the run is to end.
    pub(crate) fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        let mut progress = *progress;
        if let Some(Before { end, wall, events, .. }) = self.session {
            (progress.end, progress.wall) = (end, progress.wall + wall);
            progress.committed_events += events;
            progress.processed_events += events;
        }
        let observe = |observer: &mut Observer<'_>| observer(&progress);
        let flow = self.observer.as_mut().map_or(ControlFlow::Continue(()), observe);
        self.is_ended |= flow.is_break();
        flow
    }

    /// Lets the monitor, if there is one, show this board from now on.
    pub(crate) fn show(&self, board: &Board) {
        if let Some(monitor) = &self.monitor {
            monitor.attach(board);
        }
    }

    /// Called at each look at the clock; returns whether the engine is to hand over its cut.
    pub(crate) fn ends_stage(&mut self, progress: &Progress, hint: Hint) -> bool {
        self.stage_end.as_mut().is_some_and(|ends| ends(progress, hint))
    }
}

/// Decides when a loop looks at the clock: about four times a millisecond, however long its steps
/// take, because a look may cost more than a step.
#[derive(Debug)]
pub(crate) struct Timer {
    started: Instant,
    looked: Instant,
    observed: Instant,
    /// Steps until the next look, and between two looks.
    left: u32,
    slice: u32,
    slice_max: u32,
    /// The last look came while the loop waited, which says nothing about its steps.
    has_waited: bool,
}

impl Timer {
    /// A timer that lets at most `slice_max` steps pass between two looks, in a run that has
    /// `started` now or before.
    pub(crate) fn new(started: Instant, slice_max: u32) -> Self {
        debug_assert!(slice_max > 0, "the clock would be looked at before each step");
        let now = Instant::now();
        let (looked, observed, left, slice) = (now, now, 1, 1);
        Self { started, looked, observed, left, slice, slice_max, has_waited: false }
    }

    /// Counts a step; says whether it is time to [`look`](Self::look).
    #[inline]
    pub(crate) const fn is_due(&mut self) -> bool {
        debug_assert!(self.left > 0, "the timer was due, and nobody has looked");
        self.left -= 1;
        self.left == 0
    }

    /// How many steps may pass until the next look, for a loop that takes them in one go.
    pub(crate) const fn slice(&self) -> u32 {
        self.slice
    }

    /// Says whether it is time to [`look`](Self::look_in_wait), for a loop that has nothing to do.
    #[inline]
    pub(crate) fn is_due_in_wait(&self) -> bool {
        self.looked.elapsed() >= SLICE
    }

    /// Looks at the clock while the loop waits for something.
    pub(crate) fn look_in_wait(&mut self) -> Instant {
        (self.looked, self.has_waited) = (Instant::now(), true);
        self.looked
    }

    /// Looks at the clock, and decides after how many steps to look again.
    pub(crate) fn look(&mut self) -> Instant {
        let now = Instant::now();
        let (since, has_waited) = (now - self.looked, std::mem::take(&mut self.has_waited));
        self.slice = match since < SLICE {
            true if has_waited => self.slice,
            true => self.slice_max.min(2 * self.slice),
            // Steps may have become a thousand times longer.
            false => {
                let fitting = u128::from(self.slice) * SLICE.as_nanos() / since.as_nanos();
                1.max((self.slice / 2).min(fitting as u32))
            }
        };
        debug_assert!(self.slice >= 1 && self.slice <= self.slice_max, "a slice out of bounds");
        (self.looked, self.left) = (now, self.slice);
        now
    }

    /// Whether the observer was due at the last look. If so, it is not due again for a while.
    pub(crate) fn takes_observation(&mut self) -> bool {
        debug_assert!(self.observed <= self.looked, "observed at a look that is still to come");
        let is_due = self.looked - self.observed >= OBSERVE_EVERY;
        if is_due {
            self.observed = self.looked;
        }
        is_due
    }

    /// Wall time since the start of the run.
    pub(crate) fn wall(&self) -> Duration {
        self.started.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks become rarer while steps are short, up to the maximum, and frequent again when a step
    /// takes long. (Seen red: a wait counts as steps; a late look halves the slice, however late.)
    #[test]
    fn looks_at_the_clock_adapt_to_the_steps() {
        let mut timer = Timer::new(Instant::now(), 8);
        assert!(timer.is_due(), "the first step is followed by a look");
        for slice in [2, 4, 8, 8] {
            // A look that follows at once is early, unless this thread is off its core meanwhile.
            timer.looked = Instant::now() + SLICE;
            timer.look();
            assert_eq!(timer.slice(), slice);
            assert!((1..slice).all(|_| !timer.is_due()) && timer.is_due());
        }
        // What a wait says is not taken for steps.
        timer.slice = 4;
        timer.look_in_wait();
        timer.looked = Instant::now() + SLICE;
        assert!(!timer.is_due_in_wait());
        timer.look();
        assert_eq!(timer.slice(), 4);
        for (slices, slice) in [(1, 2), (1, 1), (1, 1)] {
            timer.looked = Instant::now() - slices * SLICE;
            assert!(timer.is_due_in_wait());
            timer.look();
            assert_eq!(timer.slice(), slice);
        }
        (timer.slice, timer.looked) = (8, Instant::now() - 100 * SLICE);
        timer.look();
        assert_eq!(timer.slice(), 1, "steps that are 100 times longer");
        timer.observed = timer.looked;
        assert!(!timer.takes_observation());
        std::thread::sleep(OBSERVE_EVERY);
        timer.look();
        assert!(timer.takes_observation() && !timer.takes_observation());
    }
}

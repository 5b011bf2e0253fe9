//! How fast a model could run in parallel: the critical path of its events, and list schedules.
//!
//! The engine `profile` is the sequential engine with a [`Profiler`]: that is told of each event
//! before and after it is handled. An event follows the event before it at its LP and the event
//! that sent it; so the events are a graph without circles, and their keys are an order in which
//! each comes after those that it follows (KEY-A).
//!
//! | module     | what it has                                                |
//! |------------|------------------------------------------------------------|
//! | `causes`   | which event sent an event                                  |
//! | `clock`    | what an event costs                                        |
//! | `chain`    | the longest chain: a bound for any number of workers       |
//! | `window`   | the newest events, as a graph                              |
//! | `schedule` | what a number of workers needs for the events, as a schedule |
//!
//! After O. Berry and D. Jefferson, "Critical path analysis of distributed simulation" (1985).
//!
//! # Invariants
//!
//! - **PROFILE-A.** What is found depends on the events and their costs alone, and not on the
//!   machine if every event costs 1.

mod causes;
mod chain;
mod clock;
mod schedule;
#[cfg(test)]
mod tests;
mod window;

use std::ops::Range;

use rayon::prelude::*;
use warpline_core::{EventKey, LpId};

use crate::{
    report::{CriticalPath, Speedup},
    settings::Profile,
};
use causes::Causes;
use chain::Chain;
use clock::Clock;
use schedule::Schedule;
use window::Window;

/// The numbers of workers that there are schedules for.
const WORKERS: [usize; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// The events that schedules see at one time: about 70 MB for all of them.
const PLACES: usize = 1 << 18;

/// Finds the critical path of the events that it is told of.
#[derive(Debug)]
pub(crate) struct Profiler {
    settings: Profile,
    clock: Clock,
    causes: Causes,
    chain: Chain,
    window: Window,
    /// For each number of workers: any worker handles any event, and each has LPs of its own.
    schedules: Vec<[Schedule; 2]>,
}

impl Profiler {
    pub(crate) fn new(settings: Profile) -> Self {
        Self::with_window(settings, PLACES)
    }

    fn with_window(settings: Profile, places: usize) -> Self {
        Self {
            settings,
            clock: Clock::new(settings.cost),
            causes: Causes::default(),
            chain: Chain::new(settings.latency),
            window: Window::new(places),
            schedules: Vec::new(),
        }
    }

    /// Called once, before the first event: how many LPs there are.
    pub(crate) fn prepare(&mut self, lps: usize) {
        let (latency, places) = (self.settings.latency, self.window.places());
        let schedules = WORKERS.iter().map(|&workers| {
            let free = Schedule::free(workers, latency, places);
            [free, Schedule::placed(workers, latency, places, lps)]
        });
        self.schedules = schedules.collect();
    }

    /// An event is handled from now on.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.clock.begin();
    }

    /// The event has been handled: its LP, and the numbers of the events that it sent.
    pub(crate) fn end(&mut self, key: &EventKey, to: LpId, sent: &Range<u64>) {
        let cost = self.clock.end();
        self.note(key, to, sent, cost);
    }

    fn note(&mut self, key: &EventKey, to: LpId, sent: &Range<u64>, cost: u64) {
        // What an LP sends to itself comes after the LP's event before it anyway.
        let cause = self.causes.take(key).filter(|_| key.sender() != to);
        let link = self.chain.add(to, cost, cause);
        self.causes.add(to, sent, link.itself);
        self.window.push(to, cost, link.before, cause.map(|cause| cause.number));
        if self.window.is_full() {
            self.schedule(self.window.middle());
        }
    }

    /// Lets all schedules do the events before this one, which leave the window.
    fn schedule(&mut self, end: u64) {
        let Self { window, schedules, .. } = self;
        let all = schedules.par_iter_mut().flatten();
        all.for_each(|schedule| schedule.run(window, end));
        window.leave(end);
        // This thread may have slept meanwhile.
        self.clock.look();
    }

    /// What was found; called once, when there are no more events.
    pub(crate) fn result(&mut self) -> CriticalPath {
        self.schedule(self.window.end);
        let &Chain { events, work, length, .. } = &self.chain;
        debug_assert!(
            self.schedules.iter().flatten().all(|schedule| {
                schedule.length.saturating_mul(schedule.workers as u64) >= work
            }),
            "SCHEDULE-B: a worker has handled two events at a time"
        );
        let speedup = |[free, placed]: &[Schedule; 2]| Speedup {
            workers: free.workers,
            speedup: CriticalPath::ratio(work, free.length),
            placed: CriticalPath::ratio(work, placed.length),
        };
        let speedups = self.schedules.iter().map(speedup).collect();
        CriticalPath { settings: self.settings, events, work, length, speedups }
    }
}

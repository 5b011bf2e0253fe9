//! The load of each LP of a worker, measured while it handles events; load sharing decides by it
//! which LPs move.
//!
//! Called by the main loop: each event of an LP is counted, one in [`TIMED`] is timed, and at every
//! new GVT the worker shows what it has committed. What counts is work that stays. A worker with
//! little to do runs ahead and has its events undone, and all workers look busy then; but what they
//! commit lies in the same stretch of virtual time, so the one with the most of it holds the others
//! up (Glazer and Tropper 1993: processor time by virtual time advanced).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use crate::load_sharing::is_suspicious;

/// One of this many events is timed: two looks at the clock cost about as much as an event.
const TIMED: u32 = 251;
/// What an LP's events take is known from the timed ones; and the mean of its worker counts as this
/// many of them, so that a few say little.
const PRIOR: f64 = 4.0;
/// An LP is slow if more than one in this many of its timed events take suspiciously long.
const OFTEN: u32 = 8;
/// The mean of a worker is that of its last timed events, this many.
const MEMORY: u64 = 1_024;

/// What an LP has done since the measurement began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    /// Events handled and not undone. (Less than zero if what was undone was handled before.)
    events: i32,
    timed: u32,
    /// What the timed events took.
    nanoseconds: f32,
    /// Timed events that took suspiciously long.
    suspicious: u32,
}

impl Work {
    /// An event is handled.
    #[inline]
    pub(super) const fn count(&mut self) {
        self.events = self.events.wrapping_add(1);
    }

    /// So many events were undone.
    pub(super) const fn undo(&mut self, events: i32) {
        self.events = self.events.wrapping_sub(events);
    }

    #[cfg(test)]
    pub(super) const fn events(&self) -> i32 {
        self.events
    }

    /// Whether it is the LP that takes so long, and not another program.
    const fn is_often_slow(&self) -> bool {
        debug_assert!(self.suspicious <= self.timed, "more events were slow than were timed");
        self.suspicious > 1 && self.suspicious > self.timed / OFTEN
    }

    /// Nanoseconds in all, if an event of its worker takes `usual` ones.
    pub(super) fn load(&self, usual: f64) -> f64 {
        debug_assert!(usual >= 0.0, "an event takes {usual} ns");
        let each = f64::from(self.nanoseconds) + PRIOR * usual;
        f64::from(self.events.max(0)) * each / (f64::from(self.timed) + PRIOR)
    }
}

/// What a worker has committed, for all to see.
#[derive(Debug, Default)]
pub(super) struct Load {
    events: AtomicU64,
    /// The bits of nanoseconds.
    nanoseconds: AtomicU64,
}

impl Load {
    /// Events, and the nanoseconds that they took.
    pub(super) fn get(&self) -> (u64, f64) {
        // Ordering: Relaxed; estimates, which publish nothing.
        let nanoseconds = self.nanoseconds.load(Ordering::Relaxed);
        (self.events.load(Ordering::Relaxed), f64::from_bits(nanoseconds))
    }

    pub(super) fn set(&self, events: u64, nanoseconds: f64) {
        debug_assert!(nanoseconds >= 0.0, "{events} events took {nanoseconds} ns");
        // Ordering: Relaxed, see `get`.
        self.events.store(events, Ordering::Relaxed);
        self.nanoseconds.store(nanoseconds.to_bits(), Ordering::Relaxed);
    }
}

/// Measures what one worker does.
#[derive(Debug)]
pub(super) struct Meter {
    /// Events until the next one that is timed.
    left: u32,
    /// Events from one that is timed to the next.
    every: u32,
    timed: u64,
    /// Nanoseconds per event, on average.
    pub(super) each: f64,
    /// Events committed, and the nanoseconds that they took.
    committed: u64,
    nanoseconds: f64,
}

impl Meter {
    /// A meter that looks at no clock unless it `times`; all events take the same then.
    pub(super) const fn new(times: bool) -> Self {
        let every = if times { TIMED } else { u32::MAX };
        Self { left: every, every, timed: 0, each: 1.0, committed: 0, nanoseconds: 0.0 }
    }

    /// The next event begins: says since when, if it is timed.
    #[inline]
    pub(super) fn begin(&mut self) -> Option<Instant> {
        self.left -= 1;
        if self.left > 0 {
            return None;
        }
        self.left = self.every;
        Some(Instant::now())
    }

    /// A timed event of an LP ends.
    #[cold]
    pub(super) fn end(&mut self, work: &mut Work, since: Instant) {
        let spent = since.elapsed();
        let mut nanoseconds = spent.as_nanos() as f64;
        work.timed += 1;
        if self.timed > 0 && is_suspicious(spent, self.each) {
            work.suspicious += 1;
            if !work.is_often_slow() {
                // The worker has probably lost its core for a while.
                nanoseconds = self.each;
            }
        }
        work.nanoseconds += nanoseconds as f32;
        self.timed += 1;
        self.each += (nanoseconds - self.each) / self.timed.min(MEMORY) as f64;
    }

    /// What an event takes, in seconds, if events are timed.
    pub(super) fn handling(&self) -> Option<f64> {
        (self.timed > 0).then_some(1e-9 * self.each)
    }

    /// So many events are committed in all. Returns what is to be shown.
    pub(super) fn commit(&mut self, committed: u64) -> (u64, f64) {
        self.nanoseconds += (committed - self.committed) as f64 * self.each;
        self.committed = committed;
        (self.committed, self.nanoseconds)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn after(meter: &mut Meter, work: &mut Work, spent: Duration) {
        meter.end(work, Instant::now() - spent);
    }

    /// One event in so many is timed, and none without a clock.
    #[test]
    fn some_events_are_timed() {
        let timed = |times| {
            let mut meter = Meter::new(times);
            (0..10 * TIMED).filter(|_| meter.begin().is_some()).count()
        };
        assert_eq!((timed(true), timed(false)), (10, 0));
    }

    /// An LP's load is its events, by what they take; events that were undone do not count.
    #[test]
    fn load_is_what_stays() {
        let mut work = Work::default();
        (0..10).for_each(|_| work.count());
        work.undo(4);
        assert_eq!(work.load(100.0), 600.0);
        (work.timed, work.nanoseconds) = (4, 4.0 * 300.0);
        assert_eq!(work.load(100.0), 6.0 * 200.0);
        work.undo(7);
        assert_eq!(work.load(100.0), 0.0);
    }

    /// A core that was lost for a while says nothing of the LP; an LP that is always slow does.
    #[test]
    fn one_long_event_is_not_a_load() {
        let (mut meter, mut work) = (Meter::new(true), Work::default());
        let long = Duration::from_secs(1);
        after(&mut meter, &mut work, Duration::ZERO);
        let usual = meter.each;
        after(&mut meter, &mut work, long);
        assert_eq!(meter.each, usual);
        after(&mut meter, &mut work, long);
        assert!(meter.each >= 1e9 / 3.0, "{meter:?}");
    }

    /// A core that is lost again and again does not make its worker look busy.
    #[test]
    fn lost_cores_are_no_load() {
        let (mut meter, mut works) = (Meter::new(true), [Work::default(); 40]);
        for turn in 0..100_usize {
            works.iter_mut().for_each(|work| after(&mut meter, work, Duration::ZERO));
            after(&mut meter, &mut works[turn % 40], Duration::from_secs(1));
        }
        assert!(meter.each < 1e6, "{meter:?}");
    }

    /// What was committed is shown in nanoseconds.
    #[test]
    fn commits_are_work() {
        let mut meter = Meter::new(true);
        meter.each = 50.0;
        assert_eq!(meter.commit(10), (10, 500.0));
        meter.each = 100.0;
        assert_eq!(meter.commit(20), (20, 1500.0));
        let load = Load::default();
        load.set(20, 1500.0);
        assert_eq!(load.get(), (20, 1500.0));
    }
}

//! What an event costs: always the same, or the time that its handler takes.
//!
//! Another program that takes the processor for some milliseconds would make an event of 50 ns the
//! greater part of the critical path. So the time of a long event is compared with the processor
//! time of this thread, and what that lacks is not counted.

use std::time::{Duration, Instant};

use warpline_memory::processor_time;

use crate::settings::Cost;

/// The shortest event of which the processor time is asked for, which takes time itself.
const LONG: Duration = Duration::from_micros(20);

/// Events between two looks at the processor time, at the most.
const LOOK_EVERY: u32 = 256;

/// What an event costs.
#[derive(Debug)]
pub(super) enum Clock {
    /// The same for every event.
    Constant,
    /// The time that it takes.
    Time(Stopwatch),
}

/// Measures the time that events take.
#[derive(Debug)]
pub(super) struct Stopwatch {
    begin: Instant,
    /// What looking at the clock takes.
    own: Duration,
    /// The last look at the processor time.
    looked: Instant,
    ran: Option<Duration>,
    /// The events since then.
    events: u32,
}

impl Clock {
    pub(super) fn new(cost: Cost) -> Self {
        match cost {
            Cost::Events => Self::Constant,
            Cost::Time => Self::Time(Stopwatch::new()),
        }
    }

    /// An event begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        if let Self::Time(watch) = self {
            watch.begin();
        }
    }

    /// The event is over: what it has cost.
    #[inline]
    pub(super) fn end(&mut self) -> u64 {
        match self {
            Self::Constant => 1,
            Self::Time(watch) => u64::try_from(watch.end().as_nanos()).unwrap_or(u64::MAX).max(1),
        }
    }

    /// Time that was lost up to now has nothing to do with events.
    pub(super) fn look(&mut self) {
        if let Self::Time(watch) = self {
            watch.lost();
        }
    }
}

impl Stopwatch {
    fn new() -> Self {
        // The median of many.
        let mut all: Vec<_> = (0..1001).map(|_| Instant::now().elapsed()).collect();
        all.sort_unstable();
        let (now, ran) = (Instant::now(), processor_time());
        Self { begin: now, own: all[all.len() / 2], looked: now, ran, events: 0 }
    }

    fn begin(&mut self) {
        self.events += 1;
        debug_assert!(self.events <= LOOK_EVERY, "the stopwatch was not looked at");
        if self.events == LOOK_EVERY {
            self.lost();
        }
        self.begin = Instant::now();
    }

    fn end(&mut self) -> Duration {
        let time = self.begin.elapsed().saturating_sub(self.own);
        if time < LONG { time } else { time.saturating_sub(self.lost()) }
    }

    /// The time since the last look in which this thread did not run.
    fn lost(&mut self) -> Duration {
        let (now, ran) = (Instant::now(), processor_time());
        let wall = now - self.looked;
        let own = ran.zip(self.ran).map_or(wall, |(ran, before)| ran.saturating_sub(before));
        (self.looked, self.ran, self.events) = (now, ran, 0);
        wall.saturating_sub(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an event costs is more than nothing and without what the clock itself takes.
    #[test]
    fn the_clock_takes_little() {
        let mut clock = Clock::new(Cost::Time);
        let cost = |_| {
            clock.begin();
            clock.end()
        };
        let mut costs: Vec<_> = (0..1001).map(cost).collect();
        costs.sort_unstable();
        assert!(costs[0] >= 1 && costs[500] < 1000, "{} ns", costs[500]);
        assert_eq!(Clock::new(Cost::Events).end(), 1);
    }

    /// A thread that does not run in the middle of an event costs nothing; one that does costs all
    /// of it.
    #[test]
    #[cfg(target_os = "linux")]
    fn lost_time_is_not_counted() {
        const TIME: Duration = Duration::from_millis(30);
        let of = |event: fn()| {
            let mut clock = Clock::new(Cost::Time);
            clock.begin();
            event();
            u128::from(clock.end())
        };
        let parked = of(|| std::thread::park_timeout(TIME));
        assert!(parked < TIME.as_nanos() / 2, "{parked} ns");
        let busy = of(|| {
            let started = processor_time().expect("known on Linux");
            while processor_time().is_some_and(|ran| ran - started < TIME) {}
        });
        assert!(busy > TIME.as_nanos() * 9 / 10, "{busy} ns");
    }
}

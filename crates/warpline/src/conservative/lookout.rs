//! Looks at the clock now and then, shows the progress of a run, and hears whether it is to stop.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use warpline_core::VirtualTime;

use crate::{Progress, simulation::Watch};

/// How long a worker works between two looks at the clock, if a single event does not take longer.
const SLICE: Duration = Duration::from_millis(1);
/// Questions between two looks at the clock, at the most.
const SLICE_MAX: u32 = 4096;
/// How often the observer is called.
const OBSERVE_EVERY: Duration = Duration::from_millis(50);

/// One worker's; only the first one's has somebody to show the progress to.
pub(super) struct Lookout<'a, 'w> {
    watch: &'a mut Watch<'w>,
    stop: &'a AtomicBool,
    committed: &'a AtomicU64,
    end: VirtualTime,
    now: VirtualTime,
    started: Instant,
    looked: Instant,
    observed: Instant,
    /// Questions until the next look, and between the last two.
    left: u32,
    slice: u32,
}

impl<'a, 'w> Lookout<'a, 'w> {
    pub(super) fn new(
        watch: &'a mut Watch<'w>,
        stop: &'a AtomicBool,
        committed: &'a AtomicU64,
        end: VirtualTime,
        started: Instant,
    ) -> Self {
        let (looked, observed, now) = (started, started, VirtualTime::ZERO);
        Self { watch, stop, committed, end, now, started, looked, observed, left: 1, slice: 1 }
    }

    /// Notes the time before which everything is handled.
    pub(super) fn reaches(&mut self, grid: super::calendar::Grid, window: u64) {
        self.now = VirtualTime::new(grid.start(window)).unwrap_or(self.now).max(self.now);
    }

    /// Whether the run is to stop, as far as is known.
    pub(super) fn stopped(&self) -> bool {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether the run is to stop; looks at the clock now and then.
    #[inline]
    pub(super) fn says_stop(&mut self) -> bool {
        self.left -= 1;
        if self.left == 0 {
            self.look();
        }
        self.stopped()
    }

    #[cold]
    fn look(&mut self) {
        let now = Instant::now();
        let is_early = now - self.looked < SLICE;
        self.slice = if is_early { SLICE_MAX.min(2 * self.slice) } else { 1.max(self.slice / 2) };
        (self.looked, self.left) = (now, self.slice);
        let mut stops = self.watch.stopped();
        if now - self.observed >= OBSERVE_EVERY {
            self.observed = now;
            stops |= self.watch.observe(&self.progress(self.now)).is_break();
        }
        if stops {
            // Ordering: Relaxed, as in `stopped`.
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// The last look; it comes too late to interrupt anything.
    pub(super) fn observe_end(&mut self, time: VirtualTime) {
        let _ = self.watch.observe(&self.progress(time));
    }

    fn progress(&self, virtual_time: VirtualTime) -> Progress {
        // Ordering: Relaxed; a count for people.
        let committed = self.committed.load(Ordering::Relaxed);
        let (end, wall) = (self.end, self.started.elapsed());
        Progress {
            virtual_time,
            end,
            committed_events: committed,
            processed_events: committed,
            wall,
        }
    }
}

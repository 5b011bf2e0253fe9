//! Looks at the clock now and then, shows the progress of a run, and hears whether it is to stop.

use std::{
    any::Any,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use warpline_core::{Model, VirtualTime};

use super::algorithm::{Common, Stop};
use crate::{
    panics,
    watch::{Progress, Timer, Watch},
};

/// Questions between two looks at the clock, at the most.
const SLICE_MAX: u32 = 4096;
/// A run that is to stop does so at the end of a window, unless that takes longer than this: then
/// it is cut off within.
const GRACE: Duration = Duration::from_millis(200);

/// One worker's; only the first one's has somebody to show the progress to.
pub(super) struct Lookout<'a, 'w> {
    watch: &'a mut Watch<'w>,
    stop: &'a Stop,
    committed: &'a AtomicU64,
    end: VirtualTime,
    now: VirtualTime,
    timer: Timer,
    stopped: Option<Instant>,
    /// A panic of the observer's: it is not the model's.
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a, 'w> Lookout<'a, 'w> {
    pub(super) fn new<M: Model, B>(
        watch: &'a mut Watch<'w>,
        common: &'a Common<'_, M, B>,
        started: Instant,
    ) -> Self {
        let Common { stop, committed, .. } = common;
        let end = common.end_time();
        Self {
            watch,
            stop,
            committed,
            end,
            now: VirtualTime::ZERO,
            timer: Timer::new(started, SLICE_MAX),
            stopped: None,
            panic: None,
        }
    }

    /// Notes a time before which everything is handled.
    pub(super) fn reaches(&mut self, time: f64) {
        self.now = VirtualTime::new(time).unwrap_or(self.now).max(self.now);
    }

    /// Whether the window is to be cut off.
    pub(super) fn is_cut_off(&self) -> bool {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.stop.at_once.load(Ordering::Relaxed)
    }

    /// Looks at the clock now and then; says whether the window is to be cut off.
    #[inline]
    pub(super) fn cuts_off(&mut self) -> bool {
        if self.timer.is_due() {
            self.look();
        }
        self.is_cut_off()
    }

    #[cold]
    fn look(&mut self) {
        let now = self.timer.look();
        let mut stops = self.stopped.is_some() || self.watch.stopped();
        if !stops && self.timer.takes_observation() {
            let progress = self.progress(self.now);
            let observe = || panics::outside(|| self.watch.observe(&progress));
            stops = match catch_unwind(AssertUnwindSafe(observe)) {
                Ok(flow) => flow == ControlFlow::Break(()),
                Err(panic) => {
                    self.panic = Some(panic);
                    true
                }
            };
        }
        if stops {
            let since = *self.stopped.get_or_insert(now);
            // Ordering: Relaxed; these publish nothing but themselves.
            self.stop.soon.store(true, Ordering::Relaxed);
            if now - since > GRACE {
                self.stop.at_once.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Goes on with a panic of the observer's, if there was one.
    pub(super) fn resume_panic(&mut self) {
        if let Some(panic) = self.panic.take() {
            std::panic::resume_unwind(panic);
        }
    }

    /// The last look; it comes too late to interrupt anything.
    pub(super) fn observe_end(&mut self, time: VirtualTime) {
        let _ = self.watch.observe(&self.progress(time));
    }

    fn progress(&self, virtual_time: VirtualTime) -> Progress {
        // Ordering: Relaxed; a count for people.
        let committed = self.committed.load(Ordering::Relaxed);
        let (end, wall) = (self.end, self.timer.wall());
        Progress {
            virtual_time,
            end,
            committed_events: committed,
            processed_events: committed,
            wall,
        }
    }
}

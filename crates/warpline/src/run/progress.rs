//! The progress monitor: it looks at the clock now and then, shows the progress of the run, and
//! notices that the run is to stop.
//!
//! Every worker has one and calls it all the time; only that of the first worker of a rank has an
//! observer and a stop flag ([`Watch`]). The others hear of the end through [`Stop`].

use std::{
    any::Any,
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use warpline_core::VirtualTime;

use crate::{
    panics,
    timeline::LentRecorder,
    watch::{Hint, Progress, Timer, Watch},
};

/// A worker that waits looks at the clock each time, but for the first few.
const WAITS_SHORT: u32 = 64;
/// A run that is to stop does so at the end of its window. If that takes longer than this, the
/// window is cut off.
const GRACE: Duration = Duration::from_millis(200);

/// Whether the run is to end early.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    /// At the end of the window.
    pub(crate) soon: AtomicBool,
    /// Within the window.
    pub(crate) at_once: AtomicBool,
}

/// The time is measured that the events of one window in this number take.
const MEASURED: u64 = 8;
/// If there are at least so many events.
const MEASURED_LEAST: u64 = 32;
/// From look to look, what was measured counts this much less: half after 16 looks.
const HANDLING_KEEP: f64 = 0.9576;

/// How long a worker takes to handle events, not counting what it waits and repairs.
#[derive(Clone, Copy, Debug, Default)]
struct Handling {
    events: f64,
    seconds: f64,
}

impl Handling {
    /// Events per second, of late.
    fn rate(&mut self) -> Option<f64> {
        let rate = (self.events > 0.0 && self.seconds > 0.0).then(|| self.events / self.seconds);
        self.events *= HANDLING_KEEP;
        self.seconds *= HANDLING_KEEP;
        rate
    }
}

/// One worker's progress monitor.
pub(crate) struct ProgressMonitor<'a, 'w> {
    watch: &'a mut Watch<'w>,
    stop: &'a Stop,
    committed: &'a AtomicU64,
    end: VirtualTime,
    now: VirtualTime,
    timer: Timer,
    stopped: Option<Instant>,
    handling: Handling,
    pending: u64,
    may_gain: f64,
    /// A panic of the observer. It is not the model's, so it goes to the caller of the run.
    panic: Option<Box<dyn Any + Send>>,
}

impl<'a, 'w> ProgressMonitor<'a, 'w> {
    pub(crate) fn new(
        watch: &'a mut Watch<'w>,
        stop: &'a Stop,
        committed: &'a AtomicU64,
        end: VirtualTime,
        timer: Timer,
    ) -> Self {
        Self {
            watch,
            stop,
            committed,
            end,
            now: VirtualTime::ZERO,
            timer,
            stopped: None,
            handling: Handling::default(),
            pending: 0,
            may_gain: 1.0,
            panic: None,
        }
    }

    /// What a worker is to write down what it does with, if it is.
    pub(crate) fn recorder(&self, rank: usize, worker: usize) -> Option<LentRecorder> {
        self.watch.timeline.as_ref()?.lend(rank, worker)
    }

    /// The run begins, and the worker has so many events: see [`Hint::Pending`].
    #[cold]
    pub(crate) fn note_pending(&mut self, events: u64, window: Option<(u64, u64)>) {
        let progress = self.progress(self.now);
        if self.watch.ends_stage(&progress, Hint::Pending { events, window }) {
            // Ordering: Relaxed, as below.
            self.stop.soon.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the time is measured that the worker takes to handle the events of a window: those
    /// of one window in a few.
    pub(crate) const fn measures(&self, window: u64) -> bool {
        self.watch.stage_end.is_some() && window % MEASURED == 2
    }

    /// The worker has handled so many events since then, and has done nothing else.
    pub(crate) fn note_handling(&mut self, events: u64, since: Instant) {
        if events < MEASURED_LEAST {
            // Most of that is the clock's.
            return;
        }
        self.handling.events += events as f64;
        self.handling.seconds += since.elapsed().as_secs_f64();
    }

    /// Notes how many events the worker has pending, at the beginning of a window.
    #[inline]
    pub(crate) const fn holds(&mut self, pending: u64) {
        self.pending = pending;
    }

    /// Notes by which factor the rate may rise until the width of windows is found.
    pub(crate) const fn may_gain(&mut self, may_gain: f64) {
        self.may_gain = may_gain;
    }

    /// Notes a time before which everything is handled.
    pub(crate) fn reaches(&mut self, time: f64) {
        self.now = VirtualTime::new(time).unwrap_or(self.now).max(self.now);
    }

    /// The time before which everything is handled.
    pub(crate) const fn reached(&self) -> VirtualTime {
        self.now
    }

    /// Whether the window is to be cut off.
    pub(crate) fn is_cut_off(&self) -> bool {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.stop.at_once.load(Ordering::Relaxed)
    }

    /// Looks at the clock now and then; returns whether the window is to be cut off.
    #[inline]
    pub(crate) fn cuts_off(&mut self) -> bool {
        if self.timer.is_due() {
            self.look();
        }
        self.is_cut_off()
    }

    /// Looks at the clock now and then; returns whether the run is to stop.
    #[inline]
    pub(crate) fn is_to_stop(&mut self) -> bool {
        if self.timer.is_due() {
            self.look();
        }
        // Ordering: Relaxed; it publishes nothing but itself.
        self.stop.soon.load(Ordering::Relaxed)
    }

    /// Called instead while the worker has nothing to do, for the `waited`-th time in a row. One of
    /// these times may take as long as another program has the core, so they are not counted.
    #[inline]
    pub(crate) fn waits(&mut self, waited: u32) -> bool {
        if waited >= WAITS_SHORT && self.timer.is_due_in_wait() {
            let now = self.timer.look_in_wait();
            self.look_at(now);
        }
        // Ordering: Relaxed; it publishes nothing but itself.
        self.stop.soon.load(Ordering::Relaxed)
    }

    #[cold]
    fn look(&mut self) {
        let now = self.timer.look();
        self.look_at(now);
    }

    #[cold]
    fn look_at(&mut self, now: Instant) {
        let mut stops = self.stopped.is_some() || self.watch.stopped();
        let progress = self.progress(self.now);
        let Self { pending, may_gain, .. } = *self;
        let hint = Hint::Windows { handling: self.handling.rate(), pending, may_gain };
        if self.watch.ends_stage(&progress, hint) {
            // Ordering: Relaxed, as below. What was handled of the window is kept.
            self.stop.soon.store(true, Ordering::Relaxed);
        }
        if !stops && self.timer.takes_observation() {
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

    /// Resumes a panic of the observer, if there was one.
    pub(crate) fn resume_panic(&mut self) {
        if let Some(panic) = self.panic.take() {
            std::panic::resume_unwind(panic);
        }
    }

    /// The last look; it comes too late to interrupt anything.
    pub(crate) fn observe_end(&mut self, time: VirtualTime) {
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

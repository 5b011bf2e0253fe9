//! The observer of a thread: it shows the progress of the run, and tells the workers when it is to
//! stop. Only that of the first thread has something to look at.
//!
//! Called by [`run`](mod@super::run), while workers start and after each of their turns.

use std::{sync::atomic::Ordering, time::Instant};

use warpline_core::Model;

use super::{
    gvt::Bound, shared::TimeWarpShared, thread_count::ThreadCount, worker::TimeWarpWorker,
};
use crate::{
    pending::PendingSet,
    watch::{Hint, Timer, Watch},
};

/// Turns between two looks at the clock, at the most; and whether the worker's core is its own.
pub(super) const SLICE_TURNS_MAX: u32 = 64;

/// Shows the progress of the run, now and then.
pub(super) struct Observer<'a, 'w, M: Model> {
    shared: &'a TimeWarpShared<M>,
    watch: &'a mut Watch<'w>,
    started: Instant,
    timer: Timer,
    stops: bool,
    pub(super) thread_count: Option<ThreadCount>,
    /// How many threads are to work, but for the user's limit; and with it.
    threads: usize,
    at_work: usize,
}

impl<'a, 'w, M: Model> Observer<'a, 'w, M> {
    pub(super) fn new(
        shared: &'a TimeWarpShared<M>,
        watch: &'a mut Watch<'w>,
        started: Instant,
        thread_count: Option<ThreadCount>,
        threads: usize,
    ) -> Self {
        let timer = Timer::new(started, SLICE_TURNS_MAX);
        Self {
            shared,
            watch,
            started,
            timer,
            stops: false,
            thread_count,
            threads,
            at_work: threads,
        }
    }

    /// Whether the run is to stop, for workers that start. Only the first thread's watch knows.
    pub(super) fn is_to_stop(&self) -> bool {
        if self.watch.stopped() {
            // Ordering: Relaxed, here and below; it publishes nothing but itself.
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Called after a turn of a worker. The first worker calls the observer now and then, and tells
    /// the others if the run is to stop. Says how many threads are to work, if that changes.
    #[inline]
    pub(super) fn observe(&mut self, worker: &mut TimeWarpWorker<'_, M>) -> Option<usize> {
        if worker.me != 0 {
            return None;
        }
        let threads = if self.timer.is_due() { self.look(worker) } else { None };
        if self.stops || self.watch.stopped() {
            // Ordering: Relaxed; it publishes nothing but itself. Others may still start.
            self.shared.stop.store(true, Ordering::Relaxed);
            worker.flow.stop();
            // Events that take long would put off the next round for as long.
            self.shared.request_gvt();
        }
        threads
    }

    /// Looks at the clock.
    fn look(&mut self, worker: &TimeWarpWorker<'_, M>) -> Option<usize> {
        self.timer.look();
        let gvt = worker.clock.gvt;
        let progress = |before| self.shared.progress(gvt, self.started, before);
        if self.timer.takes_observation() {
            self.stops |= self.watch.observe(&progress(self.shared.shown_before())).is_break();
        }
        if let Some(thread_count) = &mut self.thread_count {
            self.threads = thread_count.look(&progress(0)).unwrap_or(self.threads);
        }
        // Before the first GVT, others may not have all their LPs yet.
        if gvt > Bound::ZERO && self.watch.stage_end.is_some() {
            let pending = worker.sender.pending.len() as u64;
            let hint = Hint::Windows { handling: None, pending, may_gain: 1.0 };
            self.stops |= self.watch.ends_stage(&progress(self.shared.committed_before), hint);
        }
        let most = if self.shared.is_alone() { self.watch.workers_allowed() } else { usize::MAX };
        let at_work = self.threads.min(most);
        (std::mem::replace(&mut self.at_work, at_work) != at_work).then_some(at_work)
    }
}

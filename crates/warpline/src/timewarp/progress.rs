//! What a worker shows to others while it runs: how far it is, and what it does.
//!
//! Other workers snoop at the times (the throttle, and GTW, section 3.4), and the
//! [`Monitor`](crate::Monitor) and the progress of the run use the rest. All of it is an estimate,
//! read without synchronization.

use std::{sync::atomic::Ordering, time::Instant};

use warpline_core::{Model, VirtualTime};

use super::{event::Event, gvt::Bound, shared::TimeWarpShared, worker::TimeWarpWorker};
use crate::{
    Progress,
    monitor::Activity,
    pending::{Entry, PendingSet},
};

impl<M: Model> TimeWarpShared<M> {
    /// How far the run has come, with that many events before it.
    pub(super) fn progress(&self, gvt: Bound, started: Instant, before: u64) -> Progress {
        // Ordering: Relaxed; counts for people.
        let committed = self.shown.iter().map(|shown| shown.committed.load(Ordering::Relaxed));
        let processed = self.shown.iter().map(|shown| shown.processed.load(Ordering::Relaxed));
        Progress {
            virtual_time: VirtualTime::new(gvt.time()).unwrap_or_default(),
            end: VirtualTime::new(self.end).unwrap_or(VirtualTime::MAX),
            committed_events: before + committed.sum::<u64>(),
            processed_events: before + processed.sum::<u64>(),
            wall: started.elapsed(),
        }
    }
}

impl<M: Model> TimeWarpWorker<'_, M> {
    /// Shows what the worker does.
    pub(super) fn show_activity(&self, activity: Activity) {
        self.shared.shown[self.me].show(activity);
    }

    /// Shows why the worker has no event that it could or may handle.
    #[cold]
    pub(super) fn show_why_idle(&mut self) {
        let activity = self.why_idle();
        self.show_activity(activity);
    }

    /// Why the worker has no event that it could or may handle.
    pub(super) fn why_idle(&mut self) -> Activity {
        let next = self.sender.pending.peek().map(Entry::time);
        let may_come = next.is_some_and(|time| time < self.shared.end);
        if may_come || self.flow.is_starved() {
            self.flow.holds_back_by()
        } else if !self.aside.waiting.is_empty() {
            Activity::Blocked
        } else if next.is_some() {
            Activity::AtEnd
        } else {
            Activity::NoEvents
        }
    }

    /// The event that was handled last, as far as it is known.
    #[inline]
    pub(super) fn last_handled(&self) -> Option<&Event> {
        let last =
            self.log.history.back().checked_sub(1).filter(|&at| self.log.history.is_live(at))?;
        Some(&self.log.history[last].event)
    }

    /// Shows the others the time of the event that was handled last.
    #[inline]
    pub(super) fn show_progress(&self) {
        if let Some(last) = self.last_handled() {
            // A record behind one that GVT has not passed may be below GVT.
            let time = last.key.words()[0].max(self.clock.gvt.0[0]);
            // Ordering: Relaxed; an estimate.
            self.shared.shown[self.me].next.store(time, Ordering::Relaxed);
        }
    }

    /// Shows the others how far this worker is.
    pub(super) fn show(&self, least: Bound) {
        let shown = &self.shared.shown[self.me];
        // Ordering: Relaxed; estimates and counts.
        shown.next.store(least.0[0], Ordering::Relaxed);
        shown.committed.store(self.statistics.committed, Ordering::Relaxed);
        shown.processed.store(self.statistics.processed, Ordering::Relaxed);
        shown.rollbacks.store(self.statistics.rollbacks(), Ordering::Relaxed);
    }

    /// Shows the others how often this worker has reported.
    pub(super) fn show_report(&self) {
        // Ordering: Relaxed; a count for people.
        let reports = self.sender.gvt.reports();
        self.shared.shown[self.me].reports.store(reports, Ordering::Relaxed);
    }
}

//! What a worker shows to others while it runs: how far it is, and what it does.
//!
//! Other workers snoop at the times (the throttle, and GTW, section 3.4), and the
//! [`Monitor`](crate::Monitor) and the progress of the run use the rest. All of it is an estimate,
//! read without synchronization.

use std::sync::atomic::Ordering;

use warpline_core::Model;

use super::{gvt::Bound, worker::Worker};
use crate::{
    monitor::Activity,
    pending::{Entry, PendingSet},
};

impl<M: Model> Worker<'_, M> {
    /// Shows what the worker does.
    pub(super) fn show_activity(&self, activity: Activity) {
        self.shared.shown[self.me].show(activity);
    }

    /// Shows why the worker has no event that it could or may handle.
    #[cold]
    pub(super) fn show_why_idle(&mut self) {
        let next = self.sender.pending.peek().map(Entry::time);
        let may_come = next.is_some_and(|time| time < self.shared.end);
        let activity = if may_come || self.flow.is_starved() {
            self.flow.holds_back_by()
        } else if !self.waiting.is_empty() {
            Activity::Blocked
        } else if next.is_some() {
            Activity::AtEnd
        } else {
            Activity::NoEvents
        };
        self.show_activity(activity);
    }

    /// Shows the others the time of the event that was handled last.
    #[inline]
    pub(super) fn show_progress(&self) {
        let last = self.history.back().checked_sub(1).filter(|&at| self.history.is_live(at));
        if let Some(last) = last {
            // Collected gradually, a record may be below GVT.
            let time = self.history[last].event.key.words()[0].max(self.gvt.0[0]);
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

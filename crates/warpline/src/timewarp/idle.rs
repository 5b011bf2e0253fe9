//! Why a worker is idle, for the [`Monitor`](crate::Monitor).
//!
//! Called by the loop of [`run`](mod@super::run), and only when a worker has been idle for so long
//! that it lets others have the core.

use warpline_core::Model;

use super::worker::Worker;
use crate::{
    monitor::Activity,
    pending::{Entry, PendingSet},
};

impl<M: Model> Worker<'_, M> {
    /// Shows what the worker does.
    pub(super) fn show_activity(&self, activity: Activity) {
        self.shared.shown[self.me].show(activity);
    }

    /// Shows why there is nothing that the worker could or may handle.
    #[cold]
    pub(super) fn show_why_idle(&mut self) {
        let next = self.desk.pending.peek().map(Entry::time);
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
}

//! Flow control: the virtual time up to which a worker may handle events, and the number of events
//! that it may keep uncommitted. The main loop asks before each batch.
//!
//! Every limit on optimism ends up in one number, [`Flow::limit`]: no event at or after it is
//! handled, except the one that GVT has reached. So no limit can stop a run.
//!
//! | limit | from |
//! |---|---|
//! | the end of the run | `--end` |
//! | the window | `--window` ahead of GVT |
//! | the simulated time barrier | the model (GTW, 2.3) |
//! | the throttle | the cost of recent rollbacks, see [`Throttle`] |
//! | the squeeze | a shortage of buffers, see [`cancelback`](super::cancelback) |
//! | the processed list | its length, see [`history_max`] |
//! | free buffers | F_free1 and F_free2 (GTW, 3.4), see [`holding_back`](super::holding_back) |
//! | the credit | how many remote events may still be sent, see [`remote`](super::remote) |
//!
//! # Invariants
//!
//! - **FLOW-A.** The event that GVT has reached is handled whatever the limit, if it is before the
//!   end: so GVT advances.
//! - **FLOW-B.** A full processed list holds back no event that sorts before one of its records.
//!   None of these is committed before that event is, so each would wait for a GVT of its own: an
//!   LP that has moved here, or mail that comes late, may bring thousands.

use std::sync::atomic::Ordering;

use warpline_core::Model;

use super::{
    gvt::{Bound, Outcome},
    shared::TimeWarpShared,
    shortage::Shortage,
    throttle::Throttle,
};
use crate::monitor::Activity;

/// Notes of a report: the worker could not send for lack of buffers.
const STARVED: u64 = 1;
/// Notes of a report: the run is to stop.
const STOP: u64 = 2;
/// Notes of a report: a worker could not send for lack of buffers, soon after the last time.
const STARVED_AGAIN: u64 = 4;
/// Notes of a report: the run has failed, at this rank.
const FAILED: u64 = 8;
/// Notes of a report: the worker has had a backlog in this round and the one before.
const CLOGGED: u64 = 16;
/// Soon: it has not handled this part of its share of all buffers since.
const SOON: u64 = 16;

/// A worker waits for GVT when its processed list would have more records than this, or than half
/// of the events between two computations of GVT. A longer list does not stay in the cache, and
/// events that far ahead are more likely undone than not. Two workers drift apart until one of them
/// meets this limit, even if they never roll back. (With 4096, traffic ran at half the rate, and
/// W2 at 0.8; `docs/time-warp-experiments.md` has the table.)
const HISTORY_MAX: usize = 512;
/// But not more often than once in this number of batches.
const HISTORY_MAX_BATCHES: usize = 4;
/// Sparse copies keep records for longer.
const HISTORY_MAX_SPARSE: usize = 32_768;
/// The same where GVT takes longer, because several ranks compute it, and where nobody else is
/// behind: records, and intervals of GVT.
const HISTORY_MAX_RANKS: usize = 4096;
const HISTORY_MAX_INTERVALS: usize = 4;

/// How long the processed list of a worker may become.
fn history_max<M: Model>(shared: &TimeWarpShared<M>) -> usize {
    let settings = &shared.settings.engine;
    let (interval, batch) = (settings.gvt_interval, settings.batch);
    let is_near = shared.is_alone() && shared.is_parallel();
    let [least, intervals] = if is_near {
        [HISTORY_MAX, interval / 2]
    } else {
        [HISTORY_MAX_RANKS, HISTORY_MAX_INTERVALS * interval]
    };
    let least = if settings.saving.copies_all() { least } else { HISTORY_MAX_SPARSE };
    least.max(intervals).max(HISTORY_MAX_BATCHES * batch)
}

/// The limits of one worker.
#[derive(Debug)]
pub(super) struct Flow {
    limit: f64,
    batch: usize,
    gvt: Bound,
    throttle: Option<Throttle>,
    pub(super) shortage: Shortage,
    /// This worker ran out of buffers, and waits for the next round.
    starved: bool,
    /// And that soon after the last time, when it had handled this many events.
    starved_again: bool,
    starved_at: u64,
    /// An event was cut off for lack of buffers since the last GVT. Where remote events leave at
    /// once, not even the event that GVT has reached is tried again: what it sends would be
    /// canceled again and again.
    has_tried: bool,
    tries_once: bool,
    /// This worker waits until others have caught up (GTW, 3.4).
    pub(super) held_back: bool,
    /// With fewer free buffers this worker asks for GVT.
    pub(super) few_buffers: usize,
    /// Where memory is limited, this worker waits until all others have sent their first events,
    /// or it might leave them no buffers for those. The first GVT says that they have.
    too_early: bool,
    /// How many events this worker may still send to other ranks before the next GVT.
    credit: usize,
    /// The processed list is as long as it may get, or the credit is used up.
    full: bool,
    /// No record of the processed list has a greater key than this. After a rollback it may be
    /// greater than all of theirs.
    reach: Bound,
    history_max: usize,
    stop: bool,
    /// The run fails, which other ranks have to hear of.
    failed: bool,
    /// The run has come to its end: no event is handled any more.
    over: bool,
    /// LPs of this worker were never made.
    begun_short: bool,
    /// Rounds in a row in which this worker had a backlog at its cut.
    backlog_rounds: u32,
}

impl Flow {
    pub(super) fn new<M: Model>(shared: &TimeWarpShared<M>) -> Self {
        let settings = &shared.settings.engine;
        let flow_control = &settings.flow_control;
        let mut flow = Self {
            limit: 0.0,
            batch: settings.batch,
            gvt: Bound::ZERO,
            throttle: (flow_control.throttle && shared.is_parallel()).then(Throttle::new),
            shortage: Shortage::default(),
            starved: false,
            starved_again: false,
            starved_at: 0,
            has_tried: false,
            tries_once: shared.sends_leave_at_once(),
            held_back: false,
            few_buffers: shared.settings.memory.map_or(0, |_| flow_control.few_buffers),
            too_early: shared.settings.memory.is_some(),
            credit: usize::MAX,
            full: false,
            reach: Bound::ZERO,
            history_max: history_max(shared),
            stop: false,
            failed: false,
            over: false,
            begun_short: false,
            backlog_rounds: 0,
        };
        flow.set_limit(shared);
        debug_assert!(flow.batch > 0, "a worker that may handle nothing");
        debug_assert!(flow.history_max >= flow.batch, "a batch would not fit into the history");
        flow
    }

    #[inline]
    pub(super) const fn limit(&self) -> f64 {
        self.limit
    }

    /// How many events may be handled in a turn.
    #[inline]
    pub(super) fn batch(&self) -> usize {
        self.batch.min(self.credit.max(1))
    }

    pub(super) const fn history_max(&self) -> usize {
        self.history_max
    }

    pub(super) const fn is_starved(&self) -> bool {
        self.starved
    }

    /// Why the worker may not handle the events that it has.
    pub(super) const fn holds_back_by(&self) -> Activity {
        if self.starved {
            Activity::OutOfBuffers
        } else if self.too_early {
            Activity::TooEarly
        } else if self.held_back {
            Activity::FewBuffers
        } else if self.full {
            Activity::Full
        } else {
            Activity::TooFarAhead
        }
    }

    /// A handler found no buffer, after `processed` events in all: no event is handled until GVT
    /// has been computed. `quota` is this worker's share of all buffers.
    pub(super) fn starve(&mut self, processed: u64, quota: f64) {
        (self.starved, self.limit) = (true, 0.0);
        debug_assert!(processed >= self.starved_at, "events are not counted any more");
        self.starved_again = processed - self.starved_at <= quota as u64 / SOON;
        self.starved_at = processed;
    }

    /// This worker may send again, as far as buffers go. Returns whether it had run out of them.
    pub(super) fn end_starvation(&mut self) -> bool {
        std::mem::take(&mut self.starved)
    }

    /// An event was cut off for lack of buffers.
    pub(super) fn note_cut_off(&mut self) {
        self.has_tried = true;
    }

    /// At a new GVT: the event that GVT has reached may be tried again.
    pub(super) fn allow_retry(&mut self) {
        self.has_tried = false;
    }

    /// Whether the event that GVT has reached may be handled though it is beyond every limit
    /// (FLOW-A).
    pub(super) const fn may_try(&self) -> bool {
        !(self.tries_once && self.has_tried)
    }

    /// The run is to stop at the next GVT.
    pub(super) fn stop(&mut self) {
        self.stop = true;
    }

    /// The run fails, and no event is handled any more.
    pub(super) fn fail(&mut self) {
        (self.failed, self.over) = (true, true);
    }

    /// The run has come to its end, and no event is handled any more.
    pub(super) fn close(&mut self) {
        self.over = true;
    }

    pub(super) const fn is_over(&self) -> bool {
        self.over
    }

    /// The run stops before this worker has made all its LPs, and no event is handled.
    pub(super) fn begin_short(&mut self) {
        (self.begun_short, self.over) = (true, true);
    }

    /// Whether LPs of this worker were never made.
    pub(super) const fn has_begun_short(&self) -> bool {
        self.begun_short
    }

    /// The notes that this worker adds to its report.
    pub(super) const fn notes(&self) -> u64 {
        let again = if self.starved_again { STARVED | STARVED_AGAIN } else { STARVED };
        (if self.starved { again } else { 0 })
            | (if self.stop { STOP } else { 0 })
            | (if self.failed { FAILED } else { 0 })
            | (if self.backlog_rounds > 1 { CLOGGED } else { 0 })
    }

    /// Notes before the report whether events that have arrived wait for a buffer.
    pub(super) fn note_backlog(&mut self, is_empty: bool) {
        self.backlog_rounds = if is_empty { 0 } else { self.backlog_rounds + 1 };
    }

    /// Notes how many events this worker may still send to other ranks before the next GVT.
    pub(super) fn note_credit(&mut self, credit: usize) {
        self.credit = credit;
    }

    pub(super) const fn says_short(outcome: Outcome) -> bool {
        outcome.notes & STARVED != 0
    }

    pub(super) const fn says_short_again(outcome: Outcome) -> bool {
        outcome.notes & STARVED_AGAIN != 0
    }

    pub(super) const fn says_clogged(outcome: Outcome) -> bool {
        outcome.notes & CLOGGED != 0
    }

    pub(super) const fn says_stop(outcome: Outcome) -> bool {
        outcome.notes & STOP != 0
    }

    pub(super) const fn says_failed(outcome: Outcome) -> bool {
        outcome.notes & FAILED != 0
    }

    /// Whether an event beyond the limit may be handled after all: workers move on between two
    /// computations of GVT, and the throttle looks at them.
    pub(super) fn may_handle<M: Model>(&mut self, shared: &TimeWarpShared<M>, key: Bound) -> bool {
        self.set_limit(shared);
        let is_behind = self.is_behind_a_full_list(key);
        let limit = if is_behind { self.limit_if_not_full(shared) } else { self.limit };
        let may = key.time() < limit;
        if let Some(throttle) = self.throttle.as_mut().filter(|_| !may) {
            throttle.note_held_back();
        }
        may
    }

    /// Copies are sparse from here on, which keep records for longer.
    pub(super) fn keep_more(&mut self) {
        self.history_max = self.history_max.max(HISTORY_MAX_SPARSE);
    }

    /// The processed list has this record, and no new one with a greater key (FLOW-B).
    pub(super) fn note_record(&mut self, key: Bound) {
        self.reach = self.reach.max(key);
    }

    /// No record at or after `to` is left in the processed list.
    pub(super) fn note_rollback_of_all(&mut self, to: Bound) {
        self.reach = self.reach.min(to);
    }

    pub(super) const fn reach(&self) -> Bound {
        self.reach
    }

    /// Whether the processed list is as long as it may get, or the credit is used up.
    pub(super) const fn is_full(&self) -> bool {
        self.full
    }

    /// FLOW-B: whether a full processed list is all that is in the way of an event that sorts
    /// before some of its records.
    fn is_behind_a_full_list(&self, key: Bound) -> bool {
        let is_free = !self.starved && !self.held_back && !self.too_early && self.credit > 0;
        self.full && is_free && key < self.reach
    }

    /// Notes how long the processed list is; if that changes the limit, it does so at once.
    #[inline]
    pub(super) fn note_history<M: Model>(&mut self, shared: &TimeWarpShared<M>, records: usize) {
        let full = records + self.batch > self.history_max || self.credit == 0;
        if full != self.full {
            self.full = full;
            self.set_limit(shared);
        }
    }

    /// Sets the limit anew at a new GVT.
    pub(super) fn on_gvt<M: Model>(
        &mut self,
        shared: &TimeWarpShared<M>,
        gvt: Bound,
        events: u64,
        rolled_back: u64,
    ) {
        debug_assert!(self.gvt <= gvt, "GVT went back");
        let advance = gvt.time() - self.gvt.time();
        (self.gvt, self.too_early) = (gvt, false);
        if let Some(throttle) = &mut self.throttle {
            throttle.on_gvt(events, rolled_back, advance);
        }
        self.set_limit(shared);
    }

    pub(super) fn set_limit<M: Model>(&mut self, shared: &TimeWarpShared<M>) {
        if self.starved || self.held_back || self.full || self.too_early {
            self.limit = 0.0;
            return;
        }
        self.limit = self.limit_if_not_full(shared);
    }

    fn limit_if_not_full<M: Model>(&self, shared: &TimeWarpShared<M>) -> f64 {
        let gvt = self.gvt.time();
        // Ordering: Relaxed; the barrier limits optimism, and that only as soon as it is seen.
        let barrier = shared.barrier.load(Ordering::Relaxed);
        let barrier = if barrier == u64::MAX { f64::INFINITY } else { f64::from_bits(barrier) };
        let mut limit = shared.end.min(gvt + shared.settings.engine.window).min(barrier);
        if let Some(squeezed) = self.shortage.squeezed() {
            limit = limit.min(gvt + squeezed);
        }
        if let Some(throttle) = &self.throttle
            && let Some(throttled) = throttle.limit(gvt, || shared.slowest_worker(gvt))
        {
            limit = limit.min(throttled);
        }
        debug_assert!(limit <= shared.end, "an event after the end could be handled: {limit}");
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{run::Ranks, settings::Settings, simulated::model::Toy, timewarp::holding_back};

    fn at(time: f64) -> Bound {
        Bound([time.to_bits(), 1, 1])
    }

    /// FLOW-B: a full list holds back what comes after its records, and nothing before one of them.
    /// (Red if `is_behind_a_full_list` says no, or `note_record` does nothing.)
    #[test]
    fn a_full_list_holds_back_what_comes_after_it() {
        let toy = holding_back::tests::toy();
        let settings = Settings::default();
        let ranks = Ranks::alone();
        let shared = TimeWarpShared::<Toy>::new(&toy, &settings, &ranks, None, None);
        let shared = shared.expect("good settings");
        let mut flow = Flow::new(&shared);
        let may = |flow: &mut Flow| [4.0, 6.0, 8.0].map(|time| flow.may_handle(&shared, at(time)));
        flow.note_history(&shared, 0);
        flow.note_record(at(5.0));
        assert_eq!(may(&mut flow), [true; 3]);
        let records = flow.history_max();
        flow.note_history(&shared, records);
        assert_eq!(may(&mut flow), [true, false, false]);
        flow.note_record(at(7.0));
        assert_eq!(may(&mut flow), [true, true, false], "an LP has come with a later record");
        flow.starve(0, 1.0);
        assert_eq!(may(&mut flow), [false; 3], "there are no buffers");
    }
}

//! The throttle: a worker that rolls back much is kept close to the one furthest behind.
//!
//! Called by [`Flow`](super::flow::Flow) at every GVT, with the counts since the last one. The
//! throttle is a *width* in virtual time: no event further ahead of the slowest worker than this is
//! handled. The time of the slowest worker is snooped from the times that workers show each
//! other in every turn, as in GTW, section 3.4; GVT itself would be known too late.
//!
//! There is no width as long as there are few rollbacks: a model with lookahead, or with little
//! traffic between workers, never feels it. Too many rollbacks make it narrower at once, and calm
//! makes it wider by and by, if it was the width that held the worker back. It never becomes
//! narrower than a few events; a batch ends where the width does.
//!
//! Two workers that run at the same speed need no throttle. But a worker that loses its
//! core for some milliseconds is passed by, and all that the others do meanwhile is undone; without
//! a throttle they never come together again (`docs/time-warp-experiments.md` has
//! the measurements).

/// Above this part of events undone, the width shrinks.
const ROLLED_BACK_MAX: f64 = 0.03;
/// Below this part, it grows.
const ROLLED_BACK_MIN: f64 = 0.015;
const SHRINK: f64 = 0.8;
const GROW: f64 = 1.05;
/// Events between two decisions, at least.
const DECIDE_EVERY: u64 = 1024;
/// The first width, in events of this worker.
const FIRST_WIDTH_EVENTS: f64 = 512.0;
/// The least width, in events of this worker.
const LEAST_WIDTH_EVENTS: f64 = 16.0;

/// An adaptive limit on how far a worker runs ahead.
#[derive(Clone, Debug)]
pub(super) struct Throttle {
    /// Infinite as long as there is no reason for one.
    width: f64,
    events: u64,
    rolled_back: u64,
    advance: f64,
    /// Whether the width has held the worker back since the last decision.
    held_back: bool,
}

impl Throttle {
    pub(super) const fn new() -> Self {
        Self { width: f64::INFINITY, events: 0, rolled_back: 0, advance: 0.0, held_back: false }
    }

    /// A new GVT, with the events that this worker has processed and rolled back since the last
    /// one, and how far GVT has advanced.
    pub(super) fn on_gvt(&mut self, events: u64, rolled_back: u64, advance: f64) {
        debug_assert!(advance >= 0.0, "GVT went back by {advance}");
        self.events += events;
        self.rolled_back += rolled_back;
        self.advance += advance;
        if self.events < DECIDE_EVERY || self.advance <= 0.0 {
            return;
        }
        debug_assert!(
            self.rolled_back == 0 || self.events > 0,
            "events were rolled back, and none was processed: {self:?}"
        );
        let per_event = self.advance / self.events as f64;
        let undone = self.rolled_back as f64 / self.events as f64;
        if undone > ROLLED_BACK_MAX {
            let width = if self.width.is_finite() {
                self.width * SHRINK
            } else {
                FIRST_WIDTH_EVENTS * per_event
            };
            self.width = width.max(LEAST_WIDTH_EVENTS * per_event);
        } else if undone < ROLLED_BACK_MIN && self.held_back {
            self.width *= GROW;
        }
        debug_assert!(self.width > 0.0, "no event could be handled but that at GVT: {self:?}");
        (self.events, self.rolled_back, self.advance) = (0, 0, 0.0);
        self.held_back = false;
    }

    /// The time up to which events may be handled, if there is such a limit. `slowest` tells where
    /// the worker is that is furthest behind.
    pub(super) fn limit(&self, gvt: f64, slowest: impl FnOnce() -> f64) -> Option<f64> {
        self.width.is_finite().then(|| slowest().max(gvt) + self.width)
    }

    /// There was an event, and the width kept the worker from it.
    pub(super) fn note_held_back(&mut self) {
        self.held_back = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rollbacks make it narrower, down to a few events; calm makes it wider, but only where it
    /// has held the worker back.
    #[test]
    fn follows_the_rollbacks() {
        let mut throttle = Throttle::new();
        throttle.on_gvt(2000, 0, 1.0);
        assert_eq!(throttle.limit(5.0, || 6.0), None);
        throttle.on_gvt(2000, 200, 2.0);
        let first = throttle.limit(5.0, || 6.0);
        assert_eq!(first, Some(6.0 + 512.0 / 1000.0));
        for _ in 0..100 {
            throttle.on_gvt(2000, 200, 2.0);
        }
        let least = throttle.limit(5.0, || 4.0);
        assert_eq!(least, Some(5.0 + 16.0 / 1000.0));
        throttle.on_gvt(2000, 0, 2.0);
        assert_eq!(throttle.limit(5.0, || 4.0), least);
        throttle.note_held_back();
        throttle.on_gvt(2000, 0, 2.0);
        assert!(throttle.limit(5.0, || 4.0) > least);
    }

    /// A few events tell nothing, and a time that does not advance gives no width.
    #[test]
    fn waits_for_enough_to_decide_by() {
        let mut throttle = Throttle::new();
        throttle.on_gvt(100, 100, 1.0);
        throttle.on_gvt(5000, 5000, 0.0);
        assert!(throttle.limit(0.0, || 0.0).is_some_and(|limit| limit > 0.0));
    }
}

//! A trial: a stage on a candidate that may be slower than the incumbent, bounded by what it loses.
//!
//! Called by [`Choice`](super::Choice).
//!
//! # Invariants
//!
//! - **AUTO-B.** A trial is over as soon as it has lost what it may, the way back included: that is
//!   a matter of the clock. A candidate that commits nothing for long, or hardly anything, has no
//!   more time than any other.

/// A trial that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// When the stage before it was told to end, and how many events were committed by then.
    pub(super) asked: f64,
    pub(super) before: u64,
    /// The rate of the incumbent.
    pub(super) best: f64,
    /// What it may lose, in seconds, and how much of that the way back will take.
    pub(super) limit: f64,
    pub(super) way_back: f64,
}

impl Trial {
    /// How much sooner the incumbent would have committed these events.
    pub(super) fn lost(&self, time: f64, committed: u64) -> f64 {
        debug_assert!(committed >= self.before, "CUT-A: events are lost");
        debug_assert!(self.best > 0.0, "AUTO-B: a trial against nothing has no bound");
        (time - self.asked) - (committed - self.before) as f64 / self.best
    }

    /// Whether it has lost what it may.
    pub(super) fn is_over(&self, time: f64, committed: u64) -> bool {
        self.lost(time, committed) + self.way_back > self.limit
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// AUTO-B: a candidate of any rate, also one that commits nothing, loses no more than it
        /// may, but for the time between two looks; so a hundredth of the rate does not take
        /// longer.
        #[test]
        fn is_bounded_by_the_clock(
            share in prop_oneof![Just(0.0), 1e-6..0.9_f64],
            best in 1e6..50e6_f64,
            limit in 0.5e-3..10e-3_f64,
            start in 0.0..50e-3_f64,
        ) {
            let trial = Trial { asked: 1.0, before: 500, best, limit, way_back: 0.2e-3 };
            let step = 0.25e-3;
            let committed = |after: f64| 500 + (share * best * (after - start).max(0.0)) as u64;
            let steps = (1..1_000_000).map(f64::from);
            let mut ends = steps.filter(|at| trial.is_over(1.0 + at * step, committed(at * step)));
            let after = ends.next().expect("it ends") * step;
            let lost = trial.lost(1.0 + after, committed(after));
            prop_assert!(lost <= limit - 0.2e-3 + step + 2.0 / best, "{} of {}", lost, limit);
            prop_assert!(after <= (limit + step + 2.0 / best) / (1.0 - share), "{} s", after);
        }
    }
}

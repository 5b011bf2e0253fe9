//! Virtual time in intervals: when segments are delivered, and when steps are done.
//!
//! Time is cut into intervals that are as long as the lookahead. What a subcircuit publishes in an
//! interval is delivered at the beginning of the next one, and used from its origin on. So within
//! an interval no subcircuit affects another one, and all its steps can be done in one event, a
//! little after the deliveries.
//!
//! # Invariants
//!
//! - **INSTANT-A.** The interval of a time contains it: it does not begin later, and the next one
//!   does. Rounding included.
//! - **INSTANT-B.** The event for the steps of an interval comes after the deliveries at its
//!   beginning, and before those at its end by more than the lookahead that is declared.

/// The part of an interval between its beginning and the event for its steps.
const PAUSE: f64 = 1.0 / 1024.0;

/// The most intervals of a simulation. The time between two of them would not be precise beyond:
/// here, numbers are apart by less than a thousandth of an interval.
pub(crate) const INTERVALS_MAX: f64 = (1_u64 << 40) as f64;

/// The intervals of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Intervals {
    /// In seconds.
    pub(crate) length: f64,
}

impl Intervals {
    /// When an interval begins.
    #[inline]
    pub(crate) const fn begin(self, interval: u64) -> f64 {
        interval as f64 * self.length
    }

    /// The interval that contains a time, which is not negative.
    #[inline]
    pub(crate) fn of(self, time: f64) -> u64 {
        let near = (time / self.length) as u64;
        if self.begin(near) > time {
            near - 1
        } else if self.begin(near + 1) <= time {
            near + 1
        } else {
            near
        }
    }

    /// The time of the event for the steps of an interval.
    #[inline]
    pub(crate) const fn steps(self, interval: u64) -> f64 {
        (interval as f64 + PAUSE) * self.length
    }

    /// What lies at least between the event for the steps of an interval and the next deliveries.
    pub(crate) const fn lookahead(self) -> f64 {
        self.length * (1.0 - 2.0 * PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn intervals_contain_their_times(
            length in 1e-13..1e-10,
            part in prop_oneof![0.0..1e7_f64, 0.0..INTERVALS_MAX],
            border: bool,
        ) {
            let intervals = Intervals { length };
            let time = if border { part.floor() * length } else { part * length };
            let at = intervals.of(time);
            let (begin, end) = (intervals.begin(at), intervals.begin(at + 1));
            prop_assert!(begin <= time && time < end, "INSTANT-A");
            let steps = intervals.steps(at);
            prop_assert!(begin < steps && steps + intervals.lookahead() < end, "INSTANT-B");
        }
    }
}

//! The slots of virtual time: equal parts, some of which make a window.

/// The slot of events that are never handled, because they are due at the end of the run or later.
pub(super) const NEVER: u64 = u64::MAX - 1;
/// Beyond this slot, times and slots are hardly related; all such times are in this slot.
const SLOT_MAX: u64 = 1 << 51;
/// A grid is never so fine that its first slot has a greater number.
const FIRST_MAX: f64 = (1_u64 << 50) as f64;

/// A division of virtual time into slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    slots_per_time: f64,
    end: f64,
}

impl Grid {
    /// Slots of `width`, or wider ones if `from` is so late that times near it are not that fine.
    /// Events at `end` or later have no slot.
    pub(super) fn new(width: f64, from: f64, end: f64) -> Self {
        debug_assert!(width > 0.0, "slots of no width");
        debug_assert!(from >= 0.0, "time before the beginning");
        let slots_per_time = (1.0 / width).min(FIRST_MAX / from.max(f64::MIN_POSITIVE));
        Self { slots_per_time: slots_per_time.clamp(f64::MIN_POSITIVE, f64::MAX), end }
    }

    /// The slot of a time. It never decreases with time.
    #[inline]
    pub(super) fn slot(self, time: f64) -> u64 {
        if time >= self.end { NEVER } else { self.number(time) }
    }

    /// The slot of a time, as if there were no end.
    #[inline]
    fn number(self, time: f64) -> u64 {
        /// Numbers from here on, up to twice this one, are whole, and as bits they are consecutive.
        const WHOLE: f64 = (1_u64 << 52) as f64;
        // A conversion that minds all floating-point numbers takes three times as long.
        let number = time * self.slots_per_time;
        let number = if number < SLOT_MAX as f64 { number } else { SLOT_MAX as f64 };
        debug_assert!(number >= 0.0, "time {time} has no slot");
        (number + WHOLE).to_bits() - const { WHOLE.to_bits() }
    }

    /// Whether all slots from this one on are at the end or later.
    pub(super) fn is_over(self, slot: u64) -> bool {
        slot > self.number(self.end) && self.number(self.end) < SLOT_MAX
    }

    /// About the time at which a slot begins; for people.
    pub(super) fn start(self, slot: u64) -> f64 {
        slot as f64 / self.slots_per_time
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Slots never decrease with time, whatever the width.
        #[test]
        fn slots_follow_time(width in 1e-300..1e300_f64, from in 0.0..1e300_f64, a: f64, b: f64) {
            let grid = Grid::new(width, from, f64::INFINITY);
            let (a, b) = (a.abs(), b.abs());
            prop_assume!(a.is_finite() && b.is_finite());
            prop_assert!(grid.slot(a.min(b)) <= grid.slot(a.max(b)));
            prop_assert!(grid.slot(from) <= 1 << 51);
            prop_assert_eq!(Grid { end: a, ..grid }.slot(a), NEVER);
        }
    }
}

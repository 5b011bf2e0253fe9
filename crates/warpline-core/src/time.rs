//! Virtual time: the time of the model, with the order that all engines use.
//!
//! # Invariants
//!
//! - **TIME-A.** A [`VirtualTime`] is finite and not negative, and zero is always `+0.0`. So the
//!   bit patterns of times, read as integers, have the same order as the times.

use std::{cmp::Ordering, fmt};

/// A point in virtual time, in the unit that the model chooses.
///
/// Finite, non-negative and totally ordered. Whole ticks up to 2<sup>53</sup> are exact.
///
/// ```
/// use warpline_core::VirtualTime;
///
/// let noon = VirtualTime::new(12.0)?;
/// assert!(VirtualTime::ZERO < noon);
/// assert!(VirtualTime::new(f64::NAN).is_err());
/// # Ok::<(), warpline_core::InvalidTime>(())
/// ```
#[derive(Clone, Copy, PartialEq, Default)]
pub struct VirtualTime(f64);

/// A number that is not a virtual time, because it is NaN, infinite or negative.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a virtual time: it must be finite and not negative")]
pub struct InvalidTime(pub f64);

impl VirtualTime {
    /// The time at which every model starts.
    pub const ZERO: Self = Self(0.0);
    /// The last representable time; a run without an end runs up to it.
    pub const MAX: Self = Self(f64::MAX);

    /// Accepts a finite number that is not negative.
    ///
    /// # Errors
    ///
    /// Returns the number in the error if it is NaN, infinite or negative.
    #[inline]
    pub fn new(time: f64) -> Result<Self, InvalidTime> {
        if (0.0..=f64::MAX).contains(&time) {
            // Adding +0.0 turns -0.0 into +0.0 and changes nothing else (TIME-A).
            Ok(Self(time + 0.0))
        } else {
            Err(InvalidTime(time))
        }
    }

    /// The time `time`, unless it is before this one or not finite. One comparison fewer than with
    /// [`new`](Self::new).
    #[inline]
    #[must_use]
    pub fn not_before(self, time: f64) -> Option<Self> {
        // This time is not negative, so `time` is not. Adding +0.0 as in `new` (TIME-A).
        (self.0..=f64::MAX).contains(&time).then_some(Self(time + 0.0))
    }

    /// The time with these [bits](Self::to_ordered_bits), without a check: a time is read from its
    /// key several times for each event.
    #[inline]
    pub(crate) fn from_ordered_bits(bits: u64) -> Self {
        let time = f64::from_bits(bits);
        debug_assert!(Self::new(time).is_ok_and(|t| t.to_ordered_bits() == bits), "TIME-A: {time}");
        Self(time)
    }

    /// The time as a plain number.
    #[inline]
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// An integer with the same order as the time (TIME-A).
    #[inline]
    #[must_use]
    pub const fn to_ordered_bits(self) -> u64 {
        self.0.to_bits()
    }
}

impl Eq for VirtualTime {}

impl Ord for VirtualTime {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_ordered_bits().cmp(&other.to_ordered_bits())
    }
}

impl PartialOrd for VirtualTime {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for VirtualTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for VirtualTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::VirtualTime;
    use proptest::prelude::*;

    #[test]
    fn refuses_numbers_that_are_no_times() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -f64::MIN_POSITIVE] {
            assert!(VirtualTime::new(bad).is_err(), "{bad} was accepted");
        }
    }

    #[test]
    fn negative_zero_is_zero() {
        let zero = VirtualTime::new(-0.0).expect("-0.0 is a time");
        assert_eq!(zero.to_ordered_bits(), VirtualTime::ZERO.to_ordered_bits());
    }

    proptest! {
        /// TIME-A: the bits have the order of the numbers.
        #[test]
        fn bits_order_as_numbers(a in 0.0..f64::MAX, b in 0.0..f64::MAX) {
            let (x, y) = (VirtualTime::new(a).unwrap(), VirtualTime::new(b).unwrap());
            prop_assert_eq!(x.cmp(&y), a.partial_cmp(&b).unwrap());
        }
    }
}

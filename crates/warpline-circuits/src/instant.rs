//! The instants of steps and those of deliveries, which never coincide.
//!
//! Used wherever a time is made: by [`stimulus`](crate::stimulus) for breakpoints and by
//! [`subcircuit`](crate::subcircuit) for steps and segments. A step at the same time as a delivery
//! would have to be ordered by something that has nothing to do with the circuit, the number of an
//! LP. So the last bit of a time's significand is 0 for steps, and 1 for deliveries.
//!
//! # Invariants
//!
//! - **INSTANT-A.** The two kinds have no time in common.
//! - **INSTANT-B.** A time is rounded up, by less than two units in its last place.

/// The instant of a step: not before this time.
#[inline]
pub(crate) fn of_step(time: f64) -> f64 {
    if time.is_finite() { f64::from_bits((time.to_bits() + 1) & !1) } else { time }
}

/// The instant of a delivery: not before this time.
#[inline]
pub(crate) fn of_delivery(time: f64) -> f64 {
    f64::from_bits(time.to_bits() | 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn kinds_differ_and_times_are_rounded_up(time in 0.0..1e-3, other in 0.0..1e-3) {
            prop_assert_ne!(of_step(time), of_delivery(other), "INSTANT-A");
            let next = f64::from_bits(time.to_bits() + 2);
            prop_assert!((time..next).contains(&of_step(time)), "INSTANT-B");
            prop_assert!((time..next).contains(&of_delivery(time)), "INSTANT-B");
            prop_assert_eq!(of_step(of_step(time)), of_step(time));
        }
    }
}

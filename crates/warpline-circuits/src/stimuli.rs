//! Stimuli for circuits that come without: random vectors and clocks, repeatable from a seed.
//!
//! Called for netlists of gates ([`workload`](crate::workload)) and by the
//! [generators](crate::generate). Vector `k` begins at `k * period`, where its bits begin to
//! change; a change takes [`EDGE`]. A clock rises at three quarters of each period, when the vector
//! has settled, and falls at a quarter of the next one.

use rand_pcg::{
    Pcg64Mcg,
    rand_core::{Rng, SeedableRng},
};

use crate::{
    circuit::{Pulse, Waveform},
    error::{NetlistError, Place},
    process::SUPPLY,
};

/// How long an input takes from one rail to the other (s).
pub const EDGE: f64 = 0.2e-9;
/// The period of vectors, if none is given (s).
pub const PERIOD: f64 = 10e-9;
/// The period of a clock, if none is given (s).
pub const CLOCK_PERIOD: f64 = 12e-9;

const VECTORS_MAX: usize = 1_000_000;
const PERIOD_MIN: f64 = 8.0 * EDGE;
const PERIOD_MAX: f64 = 1.0;

/// What is applied to the inputs of a circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stimuli {
    /// The number of vectors; with a clock, its cycles.
    pub vectors: usize,
    /// The time from one vector to the next (s); `None` is [`PERIOD`], with a clock
    /// [`CLOCK_PERIOD`].
    pub period: Option<f64>,
    /// The seed of the random bits.
    pub seed: u64,
}

impl Default for Stimuli {
    fn default() -> Self {
        Self { vectors: 10, period: None, seed: 1 }
    }
}

impl Stimuli {
    /// The time from one vector to the next (s).
    #[must_use]
    pub fn period(&self, is_clocked: bool) -> f64 {
        self.period.unwrap_or(if is_clocked { CLOCK_PERIOD } else { PERIOD })
    }

    /// Checks the numbers.
    ///
    /// # Errors
    ///
    /// A number of vectors or a period that is out of range.
    pub fn check(&self) -> Result<(), NetlistError> {
        if !(1..=VECTORS_MAX).contains(&self.vectors) {
            let what = format!("{} vectors cannot be applied", self.vectors);
            let remedy = format!("give a number from 1 to {VECTORS_MAX}");
            return Err(NetlistError::new(&Place::file("--vectors"), what, remedy));
        }
        let period = self.period(false);
        if !(PERIOD_MIN..=PERIOD_MAX).contains(&period) {
            let what = format!("a period of {period:e} s cannot be applied");
            let remedy = format!("give a time from {PERIOD_MIN:e} to {PERIOD_MAX:e} s");
            return Err(NetlistError::new(&Place::file("--period"), what, remedy));
        }
        Ok(())
    }

    /// The random bits: for each vector, one for each of `inputs` inputs.
    #[must_use]
    pub fn bits(&self, inputs: usize) -> Vec<Vec<bool>> {
        let mut rng = Pcg64Mcg::seed_from_u64(self.seed);
        let mut vector = || (0..inputs).map(|_| rng.next_u64() >> 63 == 1).collect();
        (0..self.vectors).map(|_| vector()).collect()
    }
}

/// The waveform of an input that has these bits, one a period.
#[must_use]
pub fn waveform(bits: impl IntoIterator<Item = bool>, period: f64) -> Waveform {
    let level = |bit| if bit { SUPPLY } else { 0.0 };
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut last = false;
    for (number, bit) in bits.into_iter().enumerate() {
        if number == 0 {
            points.push((0.0, level(bit)));
        } else if bit != last {
            let begin = number as f64 * period;
            points.extend([(begin, level(last)), (begin + EDGE, level(bit))]);
        }
        last = bit;
    }
    match points[..] {
        [] => Waveform::Constant(0.0),
        [(_, voltage)] => Waveform::Constant(voltage),
        _ => Waveform::PiecewiseLinear(points),
    }
}

/// A pulse in each period, from one fraction of it to another, which may lie in the next one.
#[must_use]
pub fn pulse(period: f64, begin: f64, end: f64) -> Waveform {
    Waveform::Pulse(Pulse {
        low: 0.0,
        high: SUPPLY,
        delay: begin * period,
        rise: EDGE,
        fall: EDGE,
        width: (end - begin) * period - EDGE,
        period,
    })
}

/// The fraction of a period at which a clock rises.
pub(crate) const CLOCK_RISE: f64 = 0.75;

/// The waveform of a clock.
#[must_use]
pub fn clock(period: f64) -> Waveform {
    pulse(period, CLOCK_RISE, CLOCK_RISE + 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_change_at_the_begin_of_their_vector_and_take_an_edge() {
        let waveform = waveform([false, false, true, true, false], 1e-9);
        let points = vec![
            (0.0, 0.0),
            (2e-9, 0.0),
            (2e-9 + EDGE, SUPPLY),
            (4e-9, SUPPLY),
            (4e-9 + EDGE, 0.0),
        ];
        assert_eq!(waveform, Waveform::PiecewiseLinear(points));
        assert_eq!(super::waveform([true, true], 1e-9), Waveform::Constant(SUPPLY));
    }

    #[test]
    fn a_seed_gives_the_same_bits_and_more_vectors_leave_the_first_ones() {
        let stimuli = Stimuli { vectors: 20, seed: 7, ..Stimuli::default() };
        let bits = stimuli.bits(9);
        assert_eq!(bits, stimuli.bits(9));
        assert_eq!(bits[..10], Stimuli { vectors: 10, ..stimuli }.bits(9));
        assert_ne!(bits, Stimuli { seed: 8, ..stimuli }.bits(9));
        let high = bits.iter().flatten().filter(|&&bit| bit).count();
        assert!((60..120).contains(&high), "{high} of 180 bits are high");
    }

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        let refused = |stimuli: Stimuli| stimuli.check().expect_err("out of range").to_string();
        assert_eq!(
            refused(Stimuli { vectors: 0, ..Stimuli::default() }),
            "--vectors: 0 vectors cannot be applied; give a number from 1 to 1000000"
        );
        for period in [f64::NAN, 0.0, -1.0, f64::INFINITY] {
            let text = refused(Stimuli { period: Some(period), ..Stimuli::default() });
            assert!(text.starts_with("--period: a period of "), "{text}");
        }
        assert_eq!(Stimuli::default().check(), Ok(()));
    }
}

//! A histogram of latencies, the largest part of an LP's state: it is tracked, so an engine saves
//! only the bin that changes.
//!
//! Each node of the hypercube has one. A bin is an eighth of an octave: the exponent and the top
//! three bits of the mantissa are its number, so no logarithm is needed to find it.
//!
//! # Invariants
//!
//! - **BIN-A.** Bin `b` counts the values `x` with `border(b) <= x < border(b + 1)`, in units of
//!   the histogram; the first bin also counts all values below it, the last one all above it.

use serde::{Deserialize, Serialize};
use warpline::{Context, State, TrackedVec};

/// Bins per octave, as a number of mantissa bits.
const BITS_PER_OCTAVE: u32 = 3;
/// The end of the last bin, in units of the histogram, is two to this power.
const OCTAVES: usize = 12;
const BINS: usize = OCTAVES << BITS_PER_OCTAVE;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - BITS_PER_OCTAVE;
/// The first bin's border is 1.0.
const FIRST: u64 = 1.0_f64.to_bits() >> SHIFT;

/// The lower border of a bin, in units of the histogram.
fn border(bin: usize) -> f64 {
    f64::from_bits((bin as u64 + FIRST) << SHIFT)
}

/// The bin of a value that is not negative, given in units of the histogram.
#[inline]
fn bin(value: f64) -> usize {
    let bin = (value.to_bits() >> SHIFT).saturating_sub(FIRST) as usize;
    bin.min(BINS - 1)
}

/// The unit with which the bins reach from 1/64 to 64 times `typical`.
pub(super) fn unit_for(typical: f64) -> f64 {
    typical / (1_u64 << (OCTAVES / 2)) as f64
}

/// The counts of one LP. A count that has reached the largest value stays there.
#[derive(Debug, State, Serialize, Deserialize)]
pub(super) struct Counts(TrackedVec<u32>);

impl Counts {
    pub(super) fn new() -> Self {
        Self(TrackedVec::new(vec![0; BINS]))
    }

    /// Counts a value that is not negative, given in units of the histogram.
    #[inline]
    pub(super) fn add<M>(&mut self, value: f64, cx: &mut impl Context<M>) {
        let count = self.0.write(bin(value), cx);
        *count = count.saturating_add(1);
    }

    /// What was counted since these counts.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let counts = self.0.iter().zip(earlier.0.iter());
        Self(TrackedVec::new(counts.map(|(later, earlier)| later - earlier).collect()))
    }
}

/// The counts of all LPs.
#[derive(Debug)]
pub(super) struct Histogram([u64; BINS]);

impl Histogram {
    pub(super) const fn new() -> Self {
        Self([0; BINS])
    }

    pub(super) fn merge(&mut self, counts: &Counts) {
        for (sum, &count) in self.0.iter_mut().zip(counts.0.iter()) {
            *sum += u64::from(count);
        }
    }

    /// The value below which a fraction `p` of the counted values is, in units of the histogram;
    /// NaN if nothing was counted.
    ///
    /// It is in the same bin as the exact value, so its error is at most 12.5 %, and much less if
    /// the values in the bin are spread evenly.
    pub(super) fn quantile(&self, p: f64) -> f64 {
        let total: u64 = self.0.iter().sum();
        let rank = p * total as f64;
        let mut below = 0.0;
        for (bin, &count) in self.0.iter().enumerate() {
            let count = count as f64;
            if count > 0.0 && below + count >= rank {
                let (low, high) = (border(bin), border(bin + 1));
                return low + (high - low) * ((rank - below) / count);
            }
            below += count;
        }
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: impl IntoIterator<Item = f64>) -> Vec<u32> {
        let mut counts = vec![0; BINS];
        values.into_iter().for_each(|value| counts[bin(value)] += 1);
        counts
    }

    fn histogram(values: impl IntoIterator<Item = f64>) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.merge(&Counts(TrackedVec::new(counts(values))));
        histogram
    }

    /// BIN-A: a border belongs to the bin above it, and the number before it to the bin below.
    #[test]
    fn borders_belong_to_the_bin_above() {
        for bin in 1..BINS {
            let counts = counts([border(bin), border(bin).next_down()]);
            assert_eq!((counts[bin - 1], counts[bin]), (1, 1), "bin {bin}");
        }
        assert_eq!(border(BINS), (1 << OCTAVES) as f64);
    }

    #[test]
    fn what_is_out_of_range_counts_at_the_ends() {
        let counts = counts([0.0, 0.3, 5000.0, f64::MAX]);
        assert_eq!((counts[0], counts[BINS - 1]), (2, 2));
    }

    /// With evenly spread values up to a border, interpolation finds nearly the exact quantiles.
    #[test]
    fn quantiles_of_an_even_spread() {
        let even = histogram((0..102_400).map(|i| f64::from(i) * 0.01));
        for p in [0.01, 0.25, 0.5, 0.95, 0.99] {
            let found = even.quantile(p);
            assert!((found / (1024.0 * p) - 1.0).abs() < 1e-3, "{p}: {found}");
        }
    }

    /// Equal values are the worst case: the result is in their bin, and no better.
    #[test]
    fn quantiles_of_equal_values() {
        let equal = histogram([70.0; 1000]);
        for p in [0.01, 0.5, 0.99] {
            assert!((equal.quantile(p) / 70.0 - 1.0).abs() < 0.125);
        }
        assert!(histogram([]).quantile(0.5).is_nan());
    }
}

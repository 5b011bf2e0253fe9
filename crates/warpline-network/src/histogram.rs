//! A histogram of delays, four bins per octave: of one LP while a run goes on, and of all of them.
//!
//! # Invariants
//!
//! - **BIN-B.** Bin `b` counts the values `x` with `border(b) <= x < border(b + 1)`, in
//!   picoseconds; bin 0 also counts all values below it.

use serde::{Deserialize, Serialize};

/// Bins per octave, as a number of mantissa bits.
const BITS: u32 = 2;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - BITS;
/// Bin 0 begins at this delay (ps): a nanosecond is a thousand.
const FIRST: u64 = 1024.0_f64.to_bits() >> SHIFT;

/// Counts, as many as there is need for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Histogram(pub(crate) Vec<u32>);

fn border(bin: usize) -> f64 {
    f64::from_bits((bin as u64 + FIRST) << SHIFT)
}

impl Histogram {
    /// The bin of a delay (ps).
    #[inline]
    pub(crate) fn bin(delay: f64) -> usize {
        (delay.to_bits() >> SHIFT).saturating_sub(FIRST) as usize
    }

    /// Adds the counts of another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum += count);
    }

    /// What was counted since an earlier state.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        let before = earlier.0.iter().copied().chain(std::iter::repeat(0));
        Self(self.0.iter().zip(before).map(|(later, earlier)| later - earlier).collect())
    }

    /// The delay below which a part `p` of the counted ones is (ps), interpolated in its bin; NaN
    /// if there are none. The error is less than a bin, 25 %, and mostly of a few percent.
    pub(crate) fn quantile(&self, p: f64) -> f64 {
        let total: u64 = self.0.iter().map(|&count| u64::from(count)).sum();
        let rank = p * total as f64;
        let mut below = 0.0;
        for (bin, &count) in self.0.iter().enumerate() {
            let count = f64::from(count);
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

    fn of(delays: impl IntoIterator<Item = f64>) -> Histogram {
        let mut histogram = Histogram::default();
        for bin in delays.into_iter().map(Histogram::bin) {
            histogram.0.resize(histogram.0.len().max(bin + 1), 0);
            histogram.0[bin] += 1;
        }
        histogram
    }

    /// BIN-B: a border belongs to the bin above it, and the number before it to the bin below.
    #[test]
    fn borders_belong_to_the_bin_above() {
        for bin in 1..100 {
            let histogram = of([border(bin), border(bin).next_down()]);
            assert_eq!(histogram.0[bin - 1..], [1, 1], "bin {bin}");
        }
    }

    #[test]
    fn quantiles_of_an_even_spread() {
        let histogram = of((0..102_400).map(|n| f64::from(n) * 10.24));
        for p in [0.25, 0.5, 0.95, 0.99] {
            let found = histogram.quantile(p);
            assert!((found / (1_048_576.0 * p) - 1.0).abs() < 1e-2, "{p}: {found}");
        }
        assert!(Histogram::default().quantile(0.5).is_nan());
    }

    #[test]
    fn counts_since_an_earlier_state() {
        let earlier = of([2_000.0]);
        let histogram = of([2_000.0, 2_000.0, 1e9]);
        let mut sum = earlier.clone();
        sum.merge(&histogram.since(&earlier));
        assert_eq!(sum, histogram);
    }
}

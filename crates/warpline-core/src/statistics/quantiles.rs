//! Quantiles of numbers whose range nobody knows beforehand.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Findings, Label, Statistics};
use crate::{Context, State, TrackedMap, VirtualTime};

/// What a quantile differs from the true one, at most, as a part of it.
const ACCURACY: f64 = 0.01;
/// The logarithm of the ratio between the ends of a bin, (1 + ACCURACY) / (1 - ACCURACY).
pub(super) const STEP: f64 = 0.020_000_666_706_669_435;
/// The bin of positive numbers around 1. No number is so large or small that its bin is 2^16 away.
const ONE: i32 = 1 << 17;
/// The bin of what is no number.
const NAN: i32 = i32::MAX;

/// Quantiles of the numbers that are observed, each right to 1 % of its value, however large or
/// small the numbers are: figures `NAME_p50`, `NAME_p90` and `NAME_p99`.
///
/// The bins grow in geometric progression, so that quantiles of several LPs are merged without any
/// loss, and an event saves one bin (Masson, Rim and Lee 2019).
#[derive(Debug, Default, PartialEq, State, Serialize, Deserialize)]
#[state(crate = crate)]
pub struct TrackedQuantiles {
    counts: TrackedMap<i32, u64>,
}

impl TrackedQuantiles {
    /// Observes a number. One that is NaN is above all others.
    #[inline]
    pub fn add<M>(&mut self, number: f64, cx: &mut impl Context<M>) {
        let bin = bin(number);
        match self.counts.write(&bin, cx) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(bin, 1, cx)),
        }
    }

    /// How many numbers there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The number that a part of all numbers is not above: 0.5 for the median; NaN without any.
    #[must_use]
    pub fn quantile(&self, part: f64) -> f64 {
        let last = self.count().saturating_sub(1);
        let rank = (part.clamp(0.0, 1.0) * last as f64) as u64;
        let mut below = 0;
        for (&bin, count) in self.counts.iter() {
            below += count;
            if below > rank {
                return middle(bin);
            }
        }
        f64::NAN
    }

    /// Changes the counts, outside of events.
    fn change(&mut self, change: impl FnOnce(&mut BTreeMap<i32, u64>)) {
        let mut counts = std::mem::take(&mut self.counts).into_inner();
        change(&mut counts);
        self.counts = TrackedMap::new(counts);
    }
}

/// The bin of a number. The order of the bins is that of the numbers.
fn bin(number: f64) -> i32 {
    let of = |size: f64| {
        let steps = libm::ceil(libm::log(size) / STEP);
        // An infinite number has the last bin of all.
        ONE + (steps as i32).clamp(-(1 << 16), 1 << 16)
    };
    if number > 0.0 {
        of(number)
    } else if number < 0.0 {
        -of(-number)
    } else if number.is_nan() {
        NAN
    } else {
        0
    }
}

/// The number in a bin that is off by the same part at both of its ends.
fn middle(bin: i32) -> f64 {
    let of = |bin: i32| {
        let steps = f64::from(bin - ONE);
        libm::exp((steps - 1.0) * STEP) * (1.0 + ACCURACY)
    };
    match bin {
        NAN => f64::NAN,
        0 => 0.0,
        1.. => of(bin),
        _ => -of(-bin),
    }
}

impl Statistics for TrackedQuantiles {
    fn reset(&mut self, _: VirtualTime) {
        self.change(BTreeMap::clear);
    }

    fn close(&mut self, _: VirtualTime) {}

    fn merge(&mut self, other: &Self) {
        self.change(|counts| {
            for (&bin, count) in other.counts.iter() {
                *counts.entry(bin).or_default() += count;
            }
        });
    }

    fn since(&self, earlier: &Self) -> Self {
        let mut since = self.clone();
        since.change(|counts| {
            counts.retain(|bin, count| {
                let before = earlier.counts.get(bin).copied().unwrap_or_default();
                *count = count.saturating_sub(before);
                *count > 0
            });
        });
        since
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        for (name, part, how) in [
            ("p50", 0.5, "median"),
            ("p90", 0.9, "90 % are not above"),
            ("p99", 0.99, "99 % are not above"),
        ] {
            to.add(as_, name, self.quantile(part), as_.unit, how);
        }
    }
}

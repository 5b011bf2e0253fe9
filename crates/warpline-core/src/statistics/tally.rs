//! Numbers that are observed each on its own.

use serde::{Deserialize, Serialize};

use super::{Findings, Label, Statistics};
use crate::{
    FigureKind, VirtualTime,
    undo::{Owned, Value},
};

/// Numbers that are observed each on its own, such as how long customers wait: figures `NAME_mean`,
/// `NAME_sd` (the standard deviation), `NAME_min`, `NAME_max` and `NAME_count`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    count: u64,
    mean: f64,
    /// The sum of the squares of what they differ from the mean.
    squares: f64,
    least: f64,
    greatest: f64,
}

impl Tally {
    const NOTHING: Self =
        Self { count: 0, mean: 0.0, squares: 0.0, least: f64::INFINITY, greatest: -f64::INFINITY };

    /// Observes a number.
    ///
    /// # References
    ///
    /// B. P. Welford: *Note on a Method for Calculating Corrected Sums of Squares and Products*,
    /// Technometrics 4(3), 1962.
    #[inline]
    pub fn add(&mut self, number: f64) {
        self.count += 1;
        let before = number - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (number - self.mean);
        self.least = self.least.min(number);
        self.greatest = self.greatest.max(number);
    }

    /// How many numbers there were.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.mean * self.count as f64
    }

    /// Their mean; NaN without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.or_nan(1, self.mean)
    }

    /// Their variance, by n - 1; NaN for fewer than two.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.or_nan(2, self.squares / (self.count as f64 - 1.0))
    }

    /// Their standard deviation; NaN for fewer than two.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The least one; NaN without any.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.or_nan(1, self.least)
    }

    /// The greatest one; NaN without any.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.or_nan(1, self.greatest)
    }

    fn or_nan(&self, count: u64, number: f64) -> f64 {
        if self.count >= count { number } else { f64::NAN }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::NOTHING
    }
}

/// Its numbers, as a model in another language keeps them: the count, the mean, the sum of squared
/// differences from it, the least and the greatest number. All are 0 without any.
impl From<Tally> for [f64; 5] {
    fn from(Tally { count, mean, squares, least, greatest }: Tally) -> Self {
        if count == 0 { [0.0; 5] } else { [count as f64, mean, squares, least, greatest] }
    }
}

impl From<[f64; 5]> for Tally {
    fn from([count, mean, squares, least, greatest]: [f64; 5]) -> Self {
        let count = count as u64;
        if count == 0 { Self::NOTHING } else { Self { count, mean, squares, least, greatest } }
    }
}

impl Value for Tally {
    const WORDS: usize = 5;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], owned: &mut Owned) {
        let Self { count, mean, squares, least, greatest } = *self;
        (count, mean, squares, least, greatest).put(to, owned);
    }

    #[inline]
    fn get(from: &[u64], owned: &mut Owned) -> Self {
        let (count, mean, squares, least, greatest) = Value::get(from, owned);
        Self { count, mean, squares, least, greatest }
    }
}

impl Statistics for Tally {
    fn reset(&mut self, _: VirtualTime) {
        *self = Self::NOTHING;
    }

    fn close(&mut self, _: VirtualTime) {}

    fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (one, two) = (self.count as f64, other.count as f64);
        self.count += other.count;
        let all = self.count as f64;
        let apart = other.mean - self.mean;
        self.mean += apart * (two / all);
        self.squares += other.squares + apart * apart * (one * two / all);
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    fn since(&self, earlier: &Self) -> Self {
        let count = self.count.saturating_sub(earlier.count);
        if count == 0 {
            return Self::NOTHING;
        }
        let (one, two, all) = (earlier.count as f64, count as f64, self.count as f64);
        let mean = self.mean + (self.mean - earlier.mean) * (one / two);
        let apart = mean - earlier.mean;
        let squares = self.squares - earlier.squares - apart * apart * (one * two / all);
        Self { count, mean, squares: squares.max(0.0), ..*self }
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        to.add(as_, "mean", self.mean(), as_.unit, "mean");
        to.add(as_, "sd", self.standard_deviation(), as_.unit, "standard deviation");
        to.add(as_, "min", self.min(), as_.unit, "least").kind = FigureKind::Extreme;
        to.add(as_, "max", self.max(), as_.unit, "greatest").kind = FigureKind::Extreme;
        to.add(as_, "count", self.count as f64, "", "how many").kind = FigureKind::Count;
    }
}

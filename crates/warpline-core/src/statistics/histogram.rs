//! How many numbers fall into bins of equal width.

use serde::{Deserialize, Serialize};

use super::{Findings, Label, Statistics};
use crate::{Context, FigureKind, Picture, Shape, State, TrackedVec, VirtualTime};

/// How many of the numbers that are observed fall into bins of equal width: a picture, and the
/// figures `NAME_count` and `NAME_outside`, the share of those that fall into no bin.
///
/// A default one has no bins, and takes those of what is merged into it.
#[derive(Debug, Default, PartialEq, State, Serialize, Deserialize)]
#[state(crate = crate)]
pub struct TrackedHistogram {
    #[state(fixed)]
    low: f64,
    #[state(fixed)]
    high: f64,
    /// What is below all bins, the bins, and what is above all.
    counts: TrackedVec<u64>,
}

impl TrackedHistogram {
    /// Bins of equal width between two numbers. What is equal to `high` is above all bins.
    ///
    /// # Panics
    ///
    /// If `low` is not below `high`, either is infinite, or there are no bins.
    #[must_use]
    pub fn new(low: f64, high: f64, bins: usize) -> Self {
        let ok = low < high && (high - low).is_finite() && bins > 0;
        assert!(ok, "a histogram of {bins} bins from {low} to {high}");
        Self { low, high, counts: TrackedVec::new(vec![0; bins + 2]) }
    }

    /// Observes a number. One that is NaN is above all bins.
    #[inline]
    pub fn add<M>(&mut self, number: f64, cx: &mut impl Context<M>) {
        let place = self.place(number);
        if place < self.counts.len() {
            *self.counts.write(place, cx) += 1;
        }
    }

    fn place(&self, number: f64) -> usize {
        let bins = self.counts.len().saturating_sub(2);
        if number < self.low {
            return 0;
        }
        // NaN, too.
        let is_inside = number < self.high;
        if !is_inside {
            return bins + 1;
        }
        let part = (number - self.low) / (self.high - self.low);
        1 + ((part * bins as f64) as usize).min(bins - 1)
    }

    /// How many numbers there were in each bin.
    #[must_use]
    pub fn bins(&self) -> &[u64] {
        self.counts.get(1..self.counts.len().saturating_sub(1)).unwrap_or_default()
    }

    /// How many numbers there were below all bins.
    #[must_use]
    pub fn below(&self) -> u64 {
        self.counts.first().copied().unwrap_or_default()
    }

    /// How many numbers there were above all bins.
    #[must_use]
    pub fn above(&self) -> u64 {
        self.counts.last().copied().unwrap_or_default()
    }

    /// How many numbers there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Changes all counts, outside of events.
    fn change(&mut self, change: impl Fn(usize, u64) -> u64) {
        let counts = self.counts.iter().enumerate().map(|(place, &count)| change(place, count));
        self.counts = TrackedVec::new(counts.collect());
    }

    fn check_bins(&self, other: &Self) {
        let bins = |it: &Self| (it.low.to_bits(), it.high.to_bits(), it.counts.len());
        assert_eq!(bins(self), bins(other), "histograms with other bins cannot be merged");
    }
}

impl Statistics for TrackedHistogram {
    fn reset(&mut self, _: VirtualTime) {
        self.change(|_, _| 0);
    }

    fn close(&mut self, _: VirtualTime) {}

    fn merge(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        if self.counts.is_empty() {
            *self = other.clone();
            return;
        }
        self.check_bins(other);
        self.change(|place, count| count + other.counts[place]);
    }

    fn since(&self, earlier: &Self) -> Self {
        self.check_bins(earlier);
        let mut since = self.clone();
        since.change(|place, count| count.saturating_sub(earlier.counts[place]));
        since
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        let count = self.count();
        let outside = (self.below() + self.above()) as f64 / count as f64;
        to.add(as_, "count", count as f64, "", "how many").kind = FigureKind::Count;
        to.add(as_, "outside", outside, "", "share outside of the histogram");
        let bins = self.bins();
        let width = (self.high - self.low) / bins.len() as f64;
        let axis = match as_.unit {
            "" => as_.name.to_string(),
            unit => format!("{} ({unit})", as_.name),
        };
        to.pictures.push(Picture {
            title: as_.name.to_string().into(),
            meaning: format!("How often: {}.", as_.meaning).into(),
            unit: "".into(),
            shape: Shape::Bars {
                axis: axis.into(),
                labels: (0..bins.len())
                    .map(|bin| short(self.low + width * bin as f64, width))
                    .collect(),
                values: bins.iter().map(|&count| count as f64).collect(),
            },
        });
    }
}

/// A number in as many digits as it takes to tell it from one that is a width away, and two more.
fn short(number: f64, width: f64) -> String {
    let digits = 2.0 - libm::floor(libm::log10(width));
    let rounded = format!("{number:.*}", digits.clamp(0.0, 17.0) as usize);
    rounded.parse::<f64>().map_or(rounded, |number| (number + 0.0).to_string())
}

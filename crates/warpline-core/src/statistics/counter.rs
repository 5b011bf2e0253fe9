//! How often something happened.

use serde::{Deserialize, Serialize};

use super::{Findings, Label, Statistics};
use crate::{
    FigureKind, VirtualTime,
    undo::{Owned, Value},
};

/// Counts how often something happened: figures `NAME`, and `NAME_rate` per unit of virtual time.
///
/// Counters of several LPs are merged by addition, and so are their rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    count: u64,
    /// The time that was observed, once it is over: where it ended less where it began.
    time: f64,
}

impl Counter {
    /// Counts one more.
    #[inline]
    pub const fn increment(&mut self) {
        self.count += 1;
    }

    /// Counts more of them.
    #[inline]
    pub const fn add(&mut self, count: u64) {
        self.count += count;
    }

    /// How often it happened.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How often it happened per unit of virtual time, of a counter that is closed; NaN if it was
    /// closed where it began.
    #[must_use]
    pub fn rate(&self) -> f64 {
        per(self.count as f64, self.time)
    }
}

/// A quotient by a time; NaN if there was none.
pub(super) fn per(sum: f64, time: f64) -> f64 {
    if time > 0.0 { sum / time } else { f64::NAN }
}

/// Its numbers, as a model in another language keeps them: the count, and the time. All are 0 for a
/// new one.
impl From<Counter> for [f64; 2] {
    fn from(Counter { count, time }: Counter) -> Self {
        [count as f64, time]
    }
}

impl From<[f64; 2]> for Counter {
    fn from([count, time]: [f64; 2]) -> Self {
        Self { count: count as u64, time }
    }
}

impl Value for Counter {
    const WORDS: usize = 2;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], owned: &mut Owned) {
        (self.count, self.time).put(to, owned);
    }

    #[inline]
    fn get(from: &[u64], owned: &mut Owned) -> Self {
        let (count, time) = Value::get(from, owned);
        Self { count, time }
    }
}

impl Statistics for Counter {
    fn reset(&mut self, now: VirtualTime) {
        *self = Self { count: 0, time: -now.get() };
    }

    fn close(&mut self, end: VirtualTime) {
        self.time += end.get();
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        // All LPs are observed over the same time. One that was merged into nothing has none.
        self.time = self.time.max(other.time);
    }

    fn since(&self, earlier: &Self) -> Self {
        // A handler that begins to count anew by itself has fewer.
        let count = self.count.saturating_sub(earlier.count);
        Self { count, time: self.time - earlier.time }
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        to.add(as_, "", self.count as f64, as_.unit, "").kind = FigureKind::Count;
        to.add(as_, "rate", self.rate(), &as_.per_time(), "per unit of time");
    }
}

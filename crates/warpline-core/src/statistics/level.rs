//! A number that lasts until it changes.

use serde::{Deserialize, Serialize};

use super::{Findings, Label, Statistics, counter::per};
use crate::{
    FigureKind, VirtualTime,
    undo::{Owned, Value},
};

/// A number that lasts until it changes, such as the length of a queue or how many servers are
/// busy: figures `NAME_mean` (over virtual time), `NAME_min` and `NAME_max`.
///
/// The mean of several LPs is their average: what there is at all of them together is that many
/// times as much. A level begins at 0, or [elsewhere](Self::from).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    value: f64,
    /// When it last changed.
    pub(super) at: f64,
    /// Its sum over time until then.
    area: f64,
    least: f64,
    greatest: f64,
    /// The time that was observed, once it is over, added up over all LPs: where it ended less
    /// where it began.
    time: f64,
}

impl Level {
    /// Lets it be `value` from now on.
    #[inline]
    pub fn set(&mut self, value: f64, now: VirtualTime) {
        self.last_until(now.get());
        self.value = value;
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// Lets it be higher from now on; lower, if `by` is negative.
    #[inline]
    pub fn add(&mut self, by: f64, now: VirtualTime) {
        self.set(self.value + by, now);
    }

    #[inline]
    fn last_until(&mut self, now: f64) {
        debug_assert!(now >= self.at, "a level changes at {now}, and was changed at {}", self.at);
        self.area += self.value * (now - self.at);
        self.at = now;
    }

    /// What it is.
    #[must_use]
    pub const fn value(&self) -> f64 {
        self.value
    }

    /// What it was on average over time, once it is closed; NaN if that was where it began.
    #[must_use]
    pub fn mean(&self) -> f64 {
        per(self.area, self.time)
    }

    /// The least it was.
    #[must_use]
    pub const fn min(&self) -> f64 {
        self.least
    }

    /// The most it was.
    #[must_use]
    pub const fn max(&self) -> f64 {
        self.greatest
    }
}

/// A level that begins at this value.
impl From<f64> for Level {
    fn from(value: f64) -> Self {
        Self { value, least: value, greatest: value, ..Self::default() }
    }
}

/// Its numbers, as a model in another language keeps them: the value, when it last changed, its sum
/// over time until then, the least and the greatest value, and the time. All are 0 for a new one.
impl From<Level> for [f64; 6] {
    fn from(Level { value, at, area, least, greatest, time }: Level) -> Self {
        [value, at, area, least, greatest, time]
    }
}

impl From<[f64; 6]> for Level {
    fn from([value, at, area, least, greatest, time]: [f64; 6]) -> Self {
        Self { value, at, area, least, greatest, time }
    }
}

impl Value for Level {
    const WORDS: usize = 6;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], owned: &mut Owned) {
        let Self { value, at, area, least, greatest, time } = *self;
        (value, at, area, least, greatest, time).put(to, owned);
    }

    #[inline]
    fn get(from: &[u64], owned: &mut Owned) -> Self {
        let (value, at, area, least, greatest, time) = Value::get(from, owned);
        Self { value, at, area, least, greatest, time }
    }
}

impl Statistics for Level {
    fn reset(&mut self, now: VirtualTime) {
        let now = now.get();
        *self = Self { at: now, time: -now, ..Self::from(self.value) };
    }

    fn close(&mut self, end: VirtualTime) {
        self.last_until(end.get());
        self.time += end.get();
    }

    fn merge(&mut self, other: &Self) {
        if *other == Self::default() {
            return;
        }
        if *self == Self::default() {
            *self = *other;
            return;
        }
        self.value += other.value;
        self.at = self.at.max(other.at);
        self.area += other.area;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        self.time += other.time;
    }

    fn since(&self, earlier: &Self) -> Self {
        Self { area: self.area - earlier.area, time: self.time - earlier.time, ..*self }
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        to.add(as_, "mean", self.mean(), as_.unit, "mean over time");
        to.add(as_, "min", self.least, as_.unit, "least").kind = FigureKind::Extreme;
        to.add(as_, "max", self.greatest, as_.unit, "greatest").kind = FigureKind::Extreme;
    }
}

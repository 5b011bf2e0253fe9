//! Sums over equal steps of virtual time.

use serde::{Deserialize, Serialize};

use super::{Findings, Label, Statistics};
use crate::{Context, Picture, Shape, State, TrackedVec, VirtualTime};

/// The most steps: all of them are kept in memory, for each LP.
const STEPS_MAX: usize = 1 << 20;

/// Sums over equal steps of virtual time, such as the customers who came in each hour: a picture,
/// and a table in reports. It has no figures.
///
/// A default one has no steps, and takes those of what is merged into it.
#[derive(Debug, Default, PartialEq, State, Serialize, Deserialize)]
#[state(crate = crate)]
pub struct TrackedSeries {
    #[state(fixed)]
    width: f64,
    /// Where the first step begins: no event changes it.
    #[state(fixed)]
    start: f64,
    sums: TrackedVec<f64>,
}

impl TrackedSeries {
    /// Steps of this width, from virtual time 0 on; as many as are needed.
    ///
    /// # Panics
    ///
    /// If the width is not above 0, or infinite.
    #[must_use]
    pub fn new(width: f64) -> Self {
        assert!(width > 0.0 && width.is_finite(), "a series of steps of {width}");
        Self { width, ..Self::default() }
    }

    /// Adds something that happens now.
    #[inline]
    pub fn add<M>(&mut self, amount: f64, cx: &mut impl Context<M>) {
        let place = self.place(cx.now().get());
        self.add_at(place, amount, cx);
    }

    /// Adds something that has gone on since a time until now, at a rate for each unit of time: the
    /// length of a queue, before it changes. Divided by the width, the sums are averages over time.
    pub fn add_since<M>(&mut self, since: VirtualTime, rate: f64, cx: &mut impl Context<M>) {
        if self.width == 0.0 {
            return;
        }
        let now = cx.now().get();
        let mut from = since.get().max(self.start);
        // Counted up, because a border between two steps may be rounded into either of them.
        let mut place = self.place(from);
        while from < now {
            let until = (self.start + self.width * (place as f64 + 1.0)).min(now);
            if until > from {
                self.add_at(place, rate * (until - from), cx);
                from = until;
            } else if place >= STEPS_MAX {
                return;
            }
            place += 1;
        }
    }

    fn place(&self, time: f64) -> usize {
        ((time - self.start) / self.width) as usize
    }

    #[inline]
    fn add_at<M>(&mut self, place: usize, amount: f64, cx: &mut impl Context<M>) {
        if self.width == 0.0 {
            return;
        }
        if place >= STEPS_MAX {
            cx.fail(format_args!(
                "a series has more than {STEPS_MAX} steps: make them longer than {}",
                self.width
            ));
            return;
        }
        while self.sums.len() <= place {
            self.sums.push(0.0, cx);
        }
        *self.sums.write(place, cx) += amount;
    }

    /// The sums, one for each step.
    #[must_use]
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// How long a step is.
    #[must_use]
    pub const fn width(&self) -> f64 {
        self.width
    }

    /// Where the first step begins.
    #[must_use]
    pub const fn start(&self) -> f64 {
        self.start
    }

    fn check_steps(&self, other: &Self) {
        let steps = |it: &Self| (it.width.to_bits(), it.start.to_bits());
        assert_eq!(steps(self), steps(other), "series with other steps cannot be combined");
    }

    /// Combines the steps with those of another series, outside of events.
    fn change(&mut self, other: &[f64], combine: fn(f64, f64) -> f64) {
        let mut sums = std::mem::take(&mut self.sums).into_inner();
        sums.resize(sums.len().max(other.len()), 0.0);
        sums.iter_mut().zip(other).for_each(|(sum, &other)| *sum = combine(*sum, other));
        self.sums = TrackedVec::new(sums);
    }
}

impl Statistics for TrackedSeries {
    fn reset(&mut self, now: VirtualTime) {
        *self = Self { width: self.width, start: now.get(), ..Self::default() };
    }

    /// All steps up to the end are there, so that all runs up to it have as many.
    fn close(&mut self, end: VirtualTime) {
        let steps = libm::ceil((end.get() - self.start) / self.width);
        if steps > self.sums.len() as f64 && steps <= STEPS_MAX as f64 {
            self.change(&vec![0.0; steps as usize], |sum, _| sum);
        }
    }

    fn merge(&mut self, other: &Self) {
        if other.width == 0.0 {
            return;
        }
        if self.width == 0.0 {
            *self = other.clone();
            return;
        }
        self.check_steps(other);
        self.change(&other.sums, |sum, other| sum + other);
    }

    fn since(&self, earlier: &Self) -> Self {
        self.check_steps(earlier);
        let mut since = self.clone();
        since.change(&earlier.sums, |sum, earlier| sum - earlier);
        since
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        let axis = match as_.time {
            "" => "virtual time".to_owned(),
            time => format!("virtual time ({time})"),
        };
        to.pictures.push(Picture {
            title: as_.name.to_string().into(),
            meaning: format!("In each step of virtual time: {}.", as_.meaning).into(),
            unit: as_.unit.to_owned().into(),
            shape: Shape::Steps {
                axis: axis.into(),
                start: self.start,
                width: self.width,
                values: self.sums.to_vec(),
            },
        });
    }
}

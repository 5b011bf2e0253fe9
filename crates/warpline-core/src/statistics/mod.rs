//! Statistics: what a model observes of itself, as plain data in the states of its LPs.
//!
//! A model's author writes a struct of them and derives [`Statistics`](derive@crate::Statistics):
//! each field is named once, and its doc comment and unit are those of reports. Because they lie in
//! the states, they are rolled back, copied, sent and saved with them, and a handler that runs
//! ahead in vain counts nothing.
//!
//! | statistic | observes | saves per event, in an engine that undoes |
//! |---|---|---|
//! | [`Counter`] | how often something happened | 2 words |
//! | [`Tally`] | numbers, each on its own: waits, sizes | 5 words |
//! | [`Level`] | a number that lasts until it changes: a queue, busy servers | 6 words |
//! | [`TrackedHistogram`] | how many numbers fall into bins of equal width | the bin that changes |
//! | [`TrackedQuantiles`] | quantiles, to 1 % of their value | the bin that changes |
//! | [`TrackedSeries`] | sums over equal steps of virtual time | the step that changes |
//!
//! The first three are values ([`Value`](trait@crate::Value)): a plain field of a state, or a
//! [`Tracked`] one, which is saved only by events that change it. The others are tracked.
//!
//! # Invariants
//!
//! - **STAT-A.** What LPs observe over the same time adds up: [`merge`](Statistics::merge), in any
//!   order, has what one LP would have observed that had been all of them, up to rounding; a level
//!   has their average.
//! - **STAT-B.** What is observed until a time and after it adds up: [`since`](Statistics::since)
//!   has what was observed after a time, up to rounding. Extremes are the exception, because they
//!   cannot be subtracted.
//!
//! # References
//!
//! - T. F. Chan, G. H. Golub, R. J. LeVeque: *Updating Formulae and a Pairwise Algorithm for
//!   Computing Sample Variances*, Stanford, 1979 (how two tallies are merged).
//! - Ch. Masson, J. E. Rim, H. K. Lee: *DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
//!   Relative-Error Guarantees*, VLDB 2019 (the quantiles).

mod counter;
mod histogram;
mod level;
mod quantiles;
mod series;
mod tally;

#[cfg(test)]
mod tests;

pub use counter::Counter;
pub use histogram::TrackedHistogram;
pub use level::Level;
pub use quantiles::TrackedQuantiles;
pub use series::TrackedSeries;
pub use tally::Tally;

use std::borrow::Cow;

use crate::{Figure, Picture, Tracked, VirtualTime};

/// What can be observed over a time, merged, and reported:
/// [`#[derive(Statistics)]`](derive@crate::Statistics) writes it for a struct of statistics.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no statistic",
    label = "not a statistic",
    note = "statistics are `Counter`, `Tally`, `Level`, `TrackedHistogram`, `TrackedQuantiles`, \
            `TrackedSeries`, `Tracked<…>` and arrays of them, and structs that derive `Statistics`"
)]
pub trait Statistics: Clone + Default {
    /// Forgets what was observed before `now`: the end of the warm-up. What lasts, such as the
    /// present length of a queue, stays.
    fn reset(&mut self, now: VirtualTime);

    /// Ends the observation at `end`: what lasts counts until then. Called once, in
    /// [`finish`](crate::LogicalProcess::finish).
    fn close(&mut self, end: VirtualTime);

    /// Adds what another LP has observed over the same time.
    fn merge(&mut self, other: &Self);

    /// What was observed after `earlier`, which is a copy that was closed at an earlier time, for
    /// [`Model::difference`](crate::Model::difference). The least and the greatest number cannot
    /// be told apart; they are those of the whole time.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;

    /// Tells the figures and pictures: always the same ones, in the same order.
    fn tell(&self, as_: &Label<'_>, to: &mut Findings);

    /// The same statistics, [closed](Self::close) at `end`: for
    /// [`finish`](crate::LogicalProcess::finish).
    #[must_use]
    fn until(mut self, end: VirtualTime) -> Self {
        self.close(end);
        self
    }
}

/// What a statistic is called in reports.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Label<'a> {
    /// The name: lower case, with underscores; empty for a whole struct.
    pub name: Cow<'a, str>,
    /// The unit of what is observed, or an empty string.
    pub unit: &'a str,
    /// The unit of virtual time, or an empty string.
    pub time: &'a str,
    /// What is observed, in a few words.
    pub meaning: &'a str,
}

impl<'a> Label<'a> {
    /// The label of a statistic: its name, the unit of what it observes, and what that is.
    #[must_use]
    pub fn new(name: impl Into<Cow<'a, str>>, unit: &'a str, meaning: &'a str) -> Self {
        Self { name: name.into(), unit, time: "", meaning }
    }
}

impl Label<'_> {
    /// The same label, with a unit of virtual time, if that is not empty.
    #[must_use]
    pub fn in_time<'b>(&'b self, time: &'b str) -> Label<'b> {
        let Label { name, unit, meaning, .. } = self;
        let time = if time.is_empty() { self.time } else { time };
        Label { name: Cow::Borrowed(name), unit, time, meaning }
    }

    /// The label of a part: `waits` and `teller` make `waits_teller`.
    #[must_use]
    pub fn part<'b>(&'b self, name: &str, unit: &'b str, meaning: &'b str) -> Label<'b> {
        let name = match self.name.is_empty() {
            true => name.to_owned(),
            false => format!("{}_{name}", self.name),
        };
        let meaning = if meaning.is_empty() { self.meaning } else { meaning };
        let unit = if unit.is_empty() { self.unit } else { unit };
        Label { name: name.into(), unit, time: self.time, meaning }
    }

    /// The unit of a rate.
    #[must_use]
    pub fn per_time(&self) -> String {
        let time = if self.time.is_empty() { "time unit" } else { self.time };
        format!("{}/{time}", self.unit)
    }
}

/// What statistics tell of themselves.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Numbers.
    pub figures: Vec<Figure>,
    /// Numbers that are better looked at than read.
    pub pictures: Vec<Picture>,
}

impl Findings {
    /// What these statistics tell.
    #[must_use]
    pub fn of(statistics: &impl Statistics) -> Self {
        let mut findings = Self::default();
        statistics.tell(&Label::default(), &mut findings);
        debug_assert!(
            findings.figures.iter().all(|one| {
                findings.figures.iter().filter(|other| one.name == other.name).count() == 1
            }),
            "two statistics tell figures of the same name: rename one of the fields"
        );
        findings
    }

    /// Adds a figure of a statistic: `what` is behind its name, and `how` behind its meaning. It is
    /// any number; `findings.add(…).kind` says otherwise.
    pub fn add(
        &mut self,
        label: &Label<'_>,
        what: &str,
        value: f64,
        unit: &str,
        how: &str,
    ) -> &mut Figure {
        let name = if what.is_empty() {
            label.name.clone().into_owned()
        } else {
            format!("{}_{what}", label.name)
        };
        let meaning = match (label.meaning.is_empty(), how.is_empty()) {
            (_, true) => label.meaning.to_owned(),
            (true, false) => how.to_owned(),
            (false, false) => format!("{}: {how}", label.meaning),
        };
        let at = self.figures.len();
        self.figures.push(Figure::new(name, value, unit.to_owned(), meaning));
        &mut self.figures[at]
    }
}

/// The same statistics of several kinds of things, by number.
impl<T: Statistics, const N: usize> Statistics for [T; N]
where
    [T; N]: Default,
{
    fn reset(&mut self, now: VirtualTime) {
        self.iter_mut().for_each(|one| one.reset(now));
    }

    fn close(&mut self, end: VirtualTime) {
        self.iter_mut().for_each(|one| one.close(end));
    }

    fn merge(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(one, other)| one.merge(other));
    }

    fn since(&self, earlier: &Self) -> Self {
        std::array::from_fn(|place| self[place].since(&earlier[place]))
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        for (number, one) in self.iter().enumerate() {
            one.tell(&as_.part(&number.to_string(), "", ""), to);
        }
    }
}

/// Statistics that are saved only by events that [write](Tracked::write) them.
impl<T: Statistics> Statistics for Tracked<T> {
    fn reset(&mut self, now: VirtualTime) {
        self.outside_of_events().reset(now);
    }

    fn close(&mut self, end: VirtualTime) {
        self.outside_of_events().close(end);
    }

    fn merge(&mut self, other: &Self) {
        self.outside_of_events().merge(other);
    }

    fn since(&self, earlier: &Self) -> Self {
        Self::new(T::since(self, earlier))
    }

    fn tell(&self, as_: &Label<'_>, to: &mut Findings) {
        T::tell(self, as_, to);
    }
}

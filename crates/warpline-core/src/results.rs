//! Results that are numbers: what reports, replications and sweeps print of a run.
//!
//! A model's output implements [`Results`], by hand or by deriving
//! [`Statistics`](crate::Statistics).

use std::borrow::Cow;

use crate::Picture;

/// What a [`Figure`] is, as far as reports have to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FigureKind {
    /// A mean, a rate, a share, a sum: any number.
    #[default]
    Number,
    /// How many there were: a whole number, which JSON and Python have as one.
    Count,
    /// The least or the greatest number that there was. A longer run finds more extreme ones, so
    /// it never settles, and has no warm-up.
    Extreme,
    /// A count that is one of those, such as the length of the longest queue.
    ExtremeCount,
}

/// One number of a model's result, with its unit and its meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its key in reports: lower case, with underscores.
    pub name: Cow<'static, str>,
    /// The number; NaN if the run did not yield any (for example, if no call was made).
    pub value: f64,
    /// The unit, or an empty string for a count, a ratio or a probability.
    pub unit: Cow<'static, str>,
    /// Its meaning, in a few words.
    pub meaning: Cow<'static, str>,
    /// What it is.
    pub kind: FigureKind,
}

impl Figure {
    /// Makes a figure that is any number; the arguments are in the order of the fields.
    #[must_use]
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        value: f64,
        unit: impl Into<Cow<'static, str>>,
        meaning: impl Into<Cow<'static, str>>,
    ) -> Self {
        let kind = FigureKind::Number;
        Self { name: name.into(), value, unit: unit.into(), meaning: meaning.into(), kind }
    }

    /// Makes a figure that says how many there were.
    #[must_use]
    pub fn of_count(
        name: impl Into<Cow<'static, str>>,
        count: u64,
        unit: impl Into<Cow<'static, str>>,
        meaning: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(name, count as f64, unit, meaning).of_kind(FigureKind::Count)
    }

    /// The same figure, of another kind.
    #[must_use]
    pub fn of_kind(self, kind: FigureKind) -> Self {
        Self { kind, ..self }
    }

    /// How many there were, if it is a count.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        /// Beyond it, floating-point numbers leave out whole ones.
        const MOST: f64 = 9_007_199_254_740_992.0;
        let is_count = matches!(self.kind, FigureKind::Count | FigureKind::ExtremeCount);
        let is_whole = (0.0..=MOST).contains(&self.value) && self.value.fract() == 0.0;
        (is_count && is_whole).then_some(self.value as u64)
    }

    /// Whether a longer run changes it without end, so that it has no warm-up.
    #[must_use]
    pub const fn is_extreme(&self) -> bool {
        matches!(self.kind, FigureKind::Extreme | FigureKind::ExtremeCount)
    }
}

/// A result that consists of numbers, which reports, replications and sweeps print.
pub trait Results {
    /// The numbers, always the same ones in the same order.
    fn figures(&self) -> Vec<Figure>;

    /// Numbers that are better looked at than read, if there are any.
    fn pictures(&self) -> Vec<Picture> {
        Vec::new()
    }
}

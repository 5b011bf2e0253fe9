//! Results that are numbers: what reports, replications and sweeps print of a run.
//!
//! A model's output implements [`Results`], by hand or by deriving
//! [`Statistics`](crate::Statistics).

use std::borrow::Cow;

use crate::Picture;

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
}

impl Figure {
    /// Makes a figure; the arguments are in the order of the fields.
    #[must_use]
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        value: f64,
        unit: impl Into<Cow<'static, str>>,
        meaning: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { name: name.into(), value, unit: unit.into(), meaning: meaning.into() }
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

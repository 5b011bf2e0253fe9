//! Pictures of a result: numbers that have a place each, as data.
//!
//! A model makes them ([`Results::pictures`](crate::Results::pictures)); whoever shows a report
//! draws them.

use std::borrow::Cow;

use serde::Serialize;

/// Numbers that are better looked at than read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// What it shows, in a few words.
    pub title: Cow<'static, str>,
    /// What a number means, in a sentence.
    pub meaning: Cow<'static, str>,
    /// The unit of the numbers, or an empty string.
    pub unit: Cow<'static, str>,
    /// Where the numbers belong.
    #[serde(flatten)]
    pub shape: Shape,
}

/// Where the numbers of a picture belong. A number for which there was nothing to measure is NaN.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Shape {
    /// On the squares of a rectangle, row after row.
    Grid {
        /// How many there are in a row.
        columns: usize,
        /// The numbers, whole rows of them.
        values: Vec<f64>,
    },
    /// Beside each other, as bars.
    Bars {
        /// What stands below all bars together, with its unit.
        axis: Cow<'static, str>,
        /// What stands below each bar; as many as there are numbers.
        labels: Vec<String>,
        /// The numbers, 0 or more.
        values: Vec<f64>,
    },
    /// On the lines of a map.
    Map {
        /// The ends of each line, in any unit: x and y of one, to the east and to the north, and of
        /// the other; as many as there are numbers.
        lines: Vec<[f64; 4]>,
        /// The names of the lines, for whoever points at one.
        names: Vec<String>,
        /// The numbers, 0 or more.
        values: Vec<f64>,
    },
    /// On lines over one axis, each in a lane of its own, from the top.
    Lanes {
        /// What the axis has, with its unit.
        axis: Cow<'static, str>,
        /// The names of the lanes.
        names: Vec<String>,
        /// As many lines: places on the axis, 0 or more and in order, and numbers.
        lines: Vec<Vec<[f64; 2]>>,
    },
    /// At equal steps of virtual time, one after the other.
    Steps {
        /// What the axis has, with its unit.
        axis: Cow<'static, str>,
        /// Where the first step begins.
        start: f64,
        /// How long a step is.
        width: f64,
        /// The numbers, one for each step.
        values: Vec<f64>,
    },
}

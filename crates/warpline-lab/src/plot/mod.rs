//! Plots: curves between two axes.
//!
//! Figures make a [`Plot`], and texts print its numbers as a table. With the feature `plots`,
//! `draw` draws it as SVG, `ticks` chooses the numbers at its axes, and `png` renders the SVG.

#[cfg(feature = "plots")]
mod draw;
#[cfg(feature = "plots")]
mod png;
#[cfg(feature = "plots")]
mod ticks;

#[cfg(feature = "plots")]
pub(crate) use png::to_png;

/// How numbers are mapped to places on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far apart; the axis starts at 0.
    #[default]
    Linear,
    /// Equal ratios are equally far apart; all numbers are positive.
    Logarithmic,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What the numbers are, with the unit.
    pub label: String,
    /// How numbers are mapped to places.
    pub scale: Scale,
    /// The numbers at the axis; if there are none, round numbers are chosen.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// A linear axis with round numbers at it.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Linear, ticks: Vec::new() }
    }

    /// The axis with these numbers at it.
    #[must_use]
    pub fn with_ticks(self, ticks: impl IntoIterator<Item = f64>) -> Self {
        Self { ticks: ticks.into_iter().collect(), ..self }
    }

    /// The axis with a logarithmic scale.
    #[must_use]
    pub fn logarithmic(self) -> Self {
        Self { scale: Scale::Logarithmic, ..self }
    }
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// The place on the x axis.
    pub x: f64,
    /// The median.
    pub y: f64,
    /// The least sample.
    pub low: f64,
    /// The greatest sample.
    pub high: f64,
    /// Whether it is drawn hollow: measured with more workers than cores.
    pub hollow: bool,
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub dots: Vec<Dot>,
    /// For a baseline: the number of the curve that it belongs to. It is drawn as a dashed line in
    /// that curve's color, without markers.
    pub baseline_of: Option<usize>,
}

impl Curve {
    /// A curve through these points.
    pub fn new(name: impl Into<String>, dots: Vec<Dot>) -> Self {
        Self { name: name.into(), dots, baseline_of: None }
    }
}

/// Curves between two axes.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The title above it.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

#[cfg(feature = "plots")]
impl Plot {
    /// The plot as a standalone SVG document.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] when it cannot be drawn.
    pub fn to_svg(&self) -> Result<String, crate::LabError> {
        draw::svg(self).map_err(|reason| crate::LabError::Plot {
            title: self.title.clone(),
            reason: reason.to_string(),
        })
    }
}

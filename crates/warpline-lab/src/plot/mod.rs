//! Plots: curves over an axis, drawn as SVG; the PNG is a rendering of that SVG with a font of its
//! own.
//!
//! Figures describe a [`Plot`]; `draw` draws it; `ticks` chooses the numbers at the axes.

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree},
};

use crate::error::LabError;

mod draw;
mod ticks;

/// How places on an axis follow from numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences; the axis starts at 0.
    #[default]
    Linear,
    /// Equal distances are equal ratios; every number on the axis is positive.
    Logarithmic,
}

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What is on it, with the unit.
    pub label: String,
    /// How places follow from numbers.
    pub scale: Scale,
    /// The numbers that stand at it; round ones of their own accord if there are none.
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
    /// For something to compare a curve with: the number of that curve. It is a dashed line in its
    /// colour, without markers.
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
    /// What stands above it.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

impl Plot {
    /// The plot as a standalone SVG document.
    ///
    /// # Errors
    ///
    /// [`LabError::Plot`] when it cannot be drawn.
    pub fn to_svg(&self) -> Result<String, LabError> {
        draw::svg(self).map_err(|reason| LabError::Plot {
            title: self.title.clone(),
            reason: reason.to_string(),
        })
    }
}

/// A rendering of an SVG document, at twice its size, as PNG.
pub(crate) fn to_png(svg: &str) -> Result<Vec<u8>, LabError> {
    const ZOOM: f32 = 2.0;
    let failed = |reason: String| LabError::Plot { title: "PNG".to_owned(), reason };
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(notosans::REGULAR_TTF.to_vec());
    // The SVG asks for any sans-serif font; of the fonts here there is one.
    fonts.set_sans_serif_family("Noto Sans");
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(error.to_string()))?;
    let size = tree.size().to_int_size().scale_by(ZOOM);
    let pixmap = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut pixmap = pixmap.ok_or_else(|| failed("the picture has no size".to_owned()))?;
    resvg::render(&tree, Transform::from_scale(ZOOM, ZOOM), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLUE: [u8; 3] = [0, 114, 178];

    fn plot(label: &str, baseline_of: Option<usize>) -> Plot {
        let dot = |n: f64| Dot { x: n, y: n, low: n, high: n, hollow: false };
        let curve = Curve { baseline_of, ..Curve::new(label, vec![dot(1.0), dot(10.0)]) };
        Plot {
            title: label.to_owned(),
            x: Axis::new(label),
            y: Axis::new(label).logarithmic(),
            curves: vec![curve],
        }
    }

    /// How many pixels have a colour.
    fn pixels(plot: &Plot, colour: impl Fn([u8; 3]) -> bool) -> usize {
        let svg = plot.to_svg().expect("it can be drawn");
        let png = to_png(&svg).expect("it can be rendered");
        let picture = Pixmap::decode_png(&png).expect("it is a picture");
        picture.pixels().iter().filter(|p| colour([p.red(), p.green(), p.blue()])).count()
    }

    /// The line from one corner to the other is there, and the dashed one has gaps and no markers.
    #[test]
    fn lines_are_drawn() {
        let [solid, dashed] = [None, Some(0)].map(|of| pixels(&plot("a", of), |p| p == BLUE));
        // 1400 pixels and more, three of them side by side in full colour.
        assert!(solid > 4_000, "{solid} pixels");
        assert!((2_000..solid * 3 / 4).contains(&dashed), "{dashed} of {solid} pixels");
    }

    /// Texts are in the PNG on a machine without fonts: here none is looked for.
    #[test]
    fn texts_are_drawn() {
        let dark = |label| pixels(&plot(label, None), |pixel| pixel.iter().all(|&part| part < 60));
        let (with, without) = (dark("microseconds"), dark(" "));
        assert!(with > without + 1_000, "{with} and {without} pixels");
    }

    /// A text is not markup.
    #[test]
    fn texts_are_escaped() {
        let svg = plot("a < b & c", None).to_svg().expect("it can be drawn");
        let document = resvg::usvg::roxmltree::Document::parse(&svg).expect("it is well-formed");
        let texts = document.descendants().filter_map(|node| node.text());
        assert!(texts.map(str::trim).any(|text| text == "a < b & c"), "{svg}");
    }
}

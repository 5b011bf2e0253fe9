//! Renders the SVG of a plot as PNG, for programs that show no SVG. The font is embedded, so that
//! no font need be installed.

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree},
};

use crate::error::LabError;

/// A rendering of an SVG document, at twice its size, as PNG.
pub(crate) fn to_png(svg: &str) -> Result<Vec<u8>, LabError> {
    const ZOOM: f32 = 2.0;
    let failed = |reason: String| LabError::Plot { title: "PNG".to_owned(), reason };
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(notosans::REGULAR_TTF.to_vec());
    // The SVG asks for any sans-serif font; this is the only one that is loaded.
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
    use super::{
        super::{Axis, Curve, Dot, Plot},
        *,
    };

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

    /// The number of pixels of a color.
    fn pixels(plot: &Plot, color: impl Fn([u8; 3]) -> bool) -> usize {
        let svg = plot.to_svg().expect("it can be drawn");
        let png = to_png(&svg).expect("it can be rendered");
        let picture = Pixmap::decode_png(&png).expect("it is a picture");
        picture.pixels().iter().filter(|p| color([p.red(), p.green(), p.blue()])).count()
    }

    /// The line from one corner to the other is there, and the dashed one has gaps and no markers.
    #[test]
    fn lines_are_drawn() {
        let [solid, dashed] = [None, Some(0)].map(|of| pixels(&plot("a", of), |p| p == BLUE));
        // 1400 pixels and more, three of them side by side in full color.
        assert!(solid > 4_000, "{solid} pixels");
        assert!((2_000..solid * 3 / 4).contains(&dashed), "{dashed} of {solid} pixels");
    }

    /// Texts are in the PNG although no font of the system is loaded.
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

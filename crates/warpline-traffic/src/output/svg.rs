//! The map as SVG: routes colored by the part of the road that is taken, accidents as circles. It
//! is as large as its window.

use std::fmt::Write;

use super::{
    palette,
    survey::{Segment, Survey},
};
use crate::network::Coordinates;

/// The longer side of the map, and the border around it.
const SIDE: f64 = 1000.0;
const MARGIN: f64 = 40.0;
/// Below the map, for the scale.
const FOOT: f64 = 60.0;
/// The most junctions that have their names written.
const NAMED_MAX: usize = 100;

/// Draws it.
pub(super) fn draw(survey: &Survey) -> String {
    let frame = Frame::around(survey);
    let mut svg = String::new();
    let [width, height] = frame.size;
    let (width, height) = (width + 2.0 * MARGIN, height + 2.0 * MARGIN + FOOT);
    // Writing to a string does not fail.
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"Noto Sans, sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
    );
    routes(&mut svg, survey, &frame);
    junctions(&mut svg, survey, &frame);
    accidents(&mut svg, survey, &frame);
    scale(&mut svg, height);
    svg += "</svg>\n";
    svg
}

fn routes(svg: &mut String, survey: &Survey, frame: &Frame) {
    svg.push_str("<g stroke-width=\"4\" stroke-linecap=\"round\">\n");
    for segment in survey.segments.iter().filter(|segment| segment.portion.is_some()) {
        let [from, to] = segment.ends.map(|end| frame.place(end));
        let color = palette::color(segment.load());
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" \
             stroke=\"{color}\">{}</line>",
            from[0],
            from[1],
            to[0],
            to[1],
            title(segment)
        );
    }
    svg.push_str("</g>\n");
}

fn junctions(svg: &mut String, survey: &Survey, frame: &Frame) {
    let junctions = survey.segments.iter().filter(|segment| segment.portion.is_none());
    let named = junctions.clone().count() <= NAMED_MAX;
    for segment in junctions {
        let [x, y] = frame.place(segment.ends[0]);
        let color = palette::color(segment.load());
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{color}\" \
             stroke=\"#333\">{}</circle>",
            title(segment)
        );
        if named {
            let name = escaped(&segment.name);
            let (x, y) = (x + 6.0, y - 5.0);
            // Behind the letters, so that they can be read on a line.
            let halo = "paint-order=\"stroke\" stroke=\"white\" stroke-width=\"3\"";
            let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {halo}>{name}</text>");
        }
    }
}

fn accidents(svg: &mut String, survey: &Survey, frame: &Frame) {
    for segment in survey.segments.iter().filter(|segment| segment.tally.accidents > 0) {
        let [x, y] = frame.place(segment.middle());
        let radius = 5.0 + 2.0 * (segment.tally.accidents as f64).sqrt();
        let _ = writeln!(
            svg,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"none\" \
             stroke=\"black\" stroke-width=\"2\">{}</circle>",
            title(segment)
        );
    }
}

/// The colors with their meaning.
fn scale(svg: &mut String, height: f64) {
    const STEPS: usize = 20;
    const STEP: f64 = 10.0;
    let top = height - FOOT;
    for step in 0..STEPS {
        let color = palette::color(step as f64 / (STEPS - 1) as f64);
        let x = MARGIN + step as f64 * STEP;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{top:.1}\" width=\"{STEP}\" height=\"12\" fill=\"{color}\"/>"
        );
    }
    let right = MARGIN + STEPS as f64 * STEP + 8.0;
    let _ = writeln!(
        svg,
        "<text x=\"{right}\" y=\"{:.1}\">an empty to a full road (--capacity), on average; a black \
         circle: accidents</text>",
        top + 11.0
    );
}

/// What a browser shows for a part of the map.
fn title(segment: &Segment) -> String {
    let speed = segment.speed().map(|speed| format!(", {speed:.0} km/h")).unwrap_or_default();
    format!(
        "<title>{}: {:.1} km, {:.1} cars, {:.0} % full{speed}, {} accidents</title>",
        escaped(&segment.title()),
        segment.km,
        segment.cars(),
        100.0 * segment.load(),
        segment.tally.accidents
    )
}

/// Text for XML, without what XML cannot have.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Where a position is on the map.
struct Frame {
    /// The west and the north border.
    corner: [f64; 2],
    /// Units of the map per unit of position.
    scale: [f64; 2],
    /// Of the map without its margins.
    size: [f64; 2],
}

impl Frame {
    fn around(survey: &Survey) -> Self {
        let ends = || survey.segments.iter().flat_map(|segment| segment.ends);
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for Coordinates { x, y } in ends() {
            low = [low[0].min(x), low[1].min(y)];
            high = [high[0].max(x), high[1].max(y)];
        }
        // A degree of longitude is shorter than one of latitude.
        let middle = (low[1] + high[1]) / 2.0;
        let shrink = if survey.geographic { libm::cos(middle.to_radians()).max(0.1) } else { 1.0 };
        let span = [(high[0] - low[0]) * shrink, high[1] - low[1]];
        let longer = span[0].max(span[1]);
        let unit = if longer > 0.0 && longer.is_finite() { SIDE / longer } else { 1.0 };
        Self {
            corner: [low[0], high[1]],
            scale: [unit * shrink, unit],
            size: span.map(|side| (side * unit).clamp(0.0, SIDE)),
        }
    }

    fn place(&self, Coordinates { x, y }: Coordinates) -> [f64; 2] {
        let right = (x - self.corner[0]) * self.scale[0];
        let down = (self.corner[1] - y) * self.scale[1];
        [MARGIN + right, MARGIN + down]
    }
}

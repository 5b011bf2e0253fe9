//! Lines over one axis, each in a lane of its own: a picture as wide as the page.
//!
//! The lines are SVG that is stretched to the width; texts lie over it, so that they are as large
//! as those of the page in any window.

use std::fmt::Write;

use maud::{Markup, html};
use serde_json::Value;
use warpline::picture::label;

use super::{
    Report,
    plot::{Scale, color, tenths},
};

/// The width of the picture, and the height of a lane, in units of SVG.
const WIDTH: f64 = 1000.0;
const LANE: f64 = 50.0;
/// Where the greatest and the least number are in a lane, below its name.
const TOP: f64 = 20.0;
const BOTTOM: f64 = 45.0;
/// How many strips tell what is under the pointer.
const STRIPS: usize = 160;
/// The most characters of a name that fit above a lane.
const NAME_MAX: usize = 32;
/// Numbers of a strip that differ by less than this part of all are one.
const SAME: f64 = 0.01;

/// A place on the axis, and a number there.
type Point = [f64; 2];

/// The lines of a picture.
struct Lanes<'a> {
    unit: &'a str,
    axis: &'a str,
    names: Vec<&'a str>,
    lines: Vec<Vec<Point>>,
    x: Scale,
    least: f64,
    most: f64,
}

/// The picture, with what each lane reaches from and to.
pub(super) fn lanes(picture: Report<'_>) -> Markup {
    let lanes = Lanes::of(picture);
    let count = lanes.lines.len();
    let top = |lane: usize| tenths(100.0 * lane as f64 / count as f64);
    let [least, most] = [lanes.least, lanes.most].map(|number| lanes.with_unit(number));
    html! {
        div.dim { "Each lane is from " (least) " to " (most) "." }
        div.lanes style={ "--lanes:" (count) } {
            svg viewBox={ "0 0 " (WIDTH) " " (LANE * count as f64) } preserveAspectRatio="none"
                role="img" aria-label={ (picture.text("title")) " over " (lanes.axis) } {
                @for lane in 0..count { (lanes.lane(lane)) }
                (lanes.tooltips())
            }
            @for (lane, name) in lanes.names.iter().enumerate() {
                span.name style={ "top:" (top(lane)) "%" } { (shortened(name)) }
            }
        }
        div.ticks {
            @for &tick in &lanes.x.ticks {
                span style={ "left:" (tenths(lanes.x.place(tick) / WIDTH * 100.0)) "%" } {
                    (label(tick))
                }
            }
        }
        div.axis { (lanes.axis) }
    }
}

impl<'a> Lanes<'a> {
    fn of(picture: Report<'a>) -> Self {
        let point = |point: &Value| Some([point.get(0)?.as_f64()?, point.get(1)?.as_f64()?]);
        let line = |line: &Value| {
            line.as_array().into_iter().flatten().filter_map(point).collect::<Vec<_>>()
        };
        let lines: Vec<Vec<Point>> = picture.items("lines").iter().map(line).collect();
        let points = || lines.iter().flatten();
        let places: Vec<f64> = points().map(|point| point[0]).collect();
        let least = points().map(|point| point[1]).fold(0.0, f64::min);
        let most = points().map(|point| point[1]).fold(0.0, f64::max);
        Self {
            unit: picture.text("unit"),
            axis: picture.text("axis"),
            names: picture.items("names").iter().filter_map(Value::as_str).collect(),
            x: Scale::new(&places, (0.0, WIDTH)),
            lines,
            least,
            most: if most > least { most } else { least + 1.0 },
        }
    }

    fn with_unit(&self, number: f64) -> String {
        format!("{} {}", label(number), self.unit)
    }

    /// The line of a lane, between two others at its least and greatest number.
    fn lane(&self, lane: usize) -> Markup {
        let floor = LANE * lane as f64;
        let y = |number: f64| {
            let part = (number - self.least) / (self.most - self.least);
            tenths(floor + BOTTOM + (TOP - BOTTOM) * part)
        };
        let mut path = String::new();
        for &[place, number] in &self.lines[lane] {
            let command = if path.is_empty() { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(path, "{command}{} {}", tenths(self.x.place(place)), y(number));
        }
        html! {
            @for number in [self.least, self.most] {
                line.grid x1="0" x2=(WIDTH) y1=(y(number)) y2=(y(number)) {}
            }
            path.curve style=(color(lane)) d=(path) {}
        }
    }

    /// Strips through all lanes that say what is there.
    fn tooltips(&self) -> Markup {
        let last = self.lines.iter().filter_map(|line| Some(line.last()?[0])).fold(0.0, f64::max);
        let width = last / STRIPS as f64;
        let height = LANE * self.lines.len() as f64;
        html! {
            @for strip in 0..STRIPS {
                @let (from, to) = (width * strip as f64, width * (strip + 1) as f64);
                @let (left, right) = (self.x.place(from), self.x.place(to));
                rect.at x=(tenths(left)) width=(tenths(right - left)) y="0" height=(height) {
                    title { (self.tooltip(from, to)) }
                }
            }
        }
    }

    /// What is between two places.
    fn tooltip(&self, from: f64, to: f64) -> String {
        let mut text = format!("{}: {} to {}", self.axis, label(from), label(to));
        for (name, line) in self.names.iter().zip(&self.lines) {
            let Some((low, high)) = range(line, from, to) else { continue };
            let is_one = high - low <= SAME * (self.most - self.least);
            let numbers =
                if is_one { label(high) } else { format!("{} to {}", label(low), label(high)) };
            let _ = write!(text, "\n{name}: {numbers} {}", self.unit);
        }
        text
    }
}

/// The least and the greatest number of a line between two places, if it gets there.
fn range(line: &[Point], from: f64, to: f64) -> Option<(f64, f64)> {
    let first = line.partition_point(|point| point[0] < from);
    let next = line.partition_point(|point| point[0] <= to);
    let within = line[first..next].iter().map(|point| point[1]);
    let ends = [(first, from), (next, to)].into_iter().filter_map(|(index, at)| {
        let ([a, left], [b, right]) = (*line.get(index.checked_sub(1)?)?, *line.get(index)?);
        Some(left + (right - left) * ((at - a) / (b - a)))
    });
    let all = within.chain(ends);
    let add = |range: Option<(f64, f64)>, number: f64| {
        let (low, high) = range.unwrap_or((number, number));
        Some((low.min(number), high.max(number)))
    };
    all.fold(None, add)
}

/// A name, cut to what fits above a lane. The end of a name tells more than its beginning.
fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= NAME_MAX {
        return name.to_owned();
    }
    std::iter::once('…').chain(name.chars().skip(count - NAME_MAX + 1)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A strip tells all that a line does in it, also where it has no point of the line.
    #[test]
    fn strips_tell_what_is_there() {
        let line = [[0.0, 0.0], [10.0, 0.0], [11.0, 5.0], [12.0, 1.0]];
        assert_eq!(range(&line, 2.0, 3.0), Some((0.0, 0.0)));
        assert_eq!(range(&line, 10.5, 11.5), Some((2.5, 5.0)));
        assert_eq!(range(&line, 10.25, 10.5), Some((1.25, 2.5)));
        assert_eq!(range(&line, 13.0, 14.0), None);
        assert_eq!(range(&[], 0.0, 1.0), None);
    }

    /// Voltages below ground have room, and names are text.
    #[test]
    fn lanes_have_their_lines() {
        let picture = json!({
            "axis": "time in ns", "unit": "V", "names": ["<a>", "b"],
            "lines": [[[0.0, -1.0], [4.0, 3.0]], []],
        });
        let html = lanes(Report(picture.as_object().expect("an object"))).into_string();
        assert!(html.contains("Each lane is from -1 V to 3 V."), "{html}");
        assert!(html.contains(r#"d="M0.0 45.0L1000.0 20.0""#), "{html}");
        assert!(html.contains("time in ns: 0 to 0.025\n&lt;a&gt;: -0.975 V</title>"), "{html}");
        assert!(!html.contains("NaN") && !html.contains("<a>"), "{html}");
    }
}

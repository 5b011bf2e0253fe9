//! The pictures that a model makes of its result, as inline SVG.

use maud::{Markup, html};
use serde_json::Value;

use super::{
    Report, lanes,
    plot::{BOTTOM, Curve, Plot, RIGHT, SIZE, Scale, TOP, tenths, value_axis},
};
use crate::format::significant;

/// A value is seen by how dense its color is, between these parts.
const DENSITY: (f64, f64) = (0.06, 1.0);

/// The pictures, if the report has any.
pub(super) fn pictures(report: Report<'_>) -> Markup {
    let pictures: Vec<_> =
        report.items("pictures").iter().filter_map(Value::as_object).map(Report).collect();
    html! {
        @if !pictures.is_empty() {
            @let is_over_time = |shape| shape == "lanes" || shape == "steps";
            @let over_time = pictures.iter().any(|picture| is_over_time(picture.text("shape")));
            h2 { (if over_time { "When it happened" } else { "Where it happened" }) }
            div.plots { @for &picture in &pictures { (figure(picture)) } }
        }
    }
}

fn figure(picture: Report<'_>) -> Markup {
    if picture.text("shape") == "lanes" {
        return html! {
            figure.wide {
                figcaption { b { (picture.text("title")) } (picture.text("meaning")) }
                (lanes::lanes(picture))
            }
        };
    }
    if picture.text("shape") == "steps" {
        return steps(picture);
    }
    let values = Values::of(picture);
    let svg = match picture.text("shape") {
        "grid" => grid(picture, &values),
        "bars" => bars(picture, &values),
        "map" => map(picture, &values),
        _ => return html! {},
    };
    html! {
        figure {
            figcaption {
                b { (picture.text("title")) }
                (picture.text("meaning"))
                @if picture.text("shape") != "bars" { div { (values.legend()) } }
            }
            (svg)
        }
    }
}

/// Numbers over time, each in the middle of its step.
fn steps(picture: Report<'_>) -> Markup {
    let numbers: Vec<_> = picture.items("values").iter().map(Value::as_f64).collect();
    let number = |name| picture.number(name).unwrap_or(0.0);
    let (start, width) = (number("start"), number("width"));
    let middle = |step: usize| start + width * (step as f64 + 0.5);
    let name = picture.text("title");
    Plot {
        title: name,
        note: picture.text("meaning"),
        x: picture.text("axis"),
        y: picture.text("unit"),
        places: (0..numbers.len()).map(middle).collect(),
        curves: vec![Curve { name: name.to_owned(), numbers }],
        band: Vec::new(),
    }
    .draw()
}

/// The numbers of a picture, of which some may be missing.
struct Values<'a> {
    all: Vec<Option<f64>>,
    least: f64,
    most: f64,
    unit: &'a str,
}

impl<'a> Values<'a> {
    fn of(picture: Report<'a>) -> Self {
        let all: Vec<Option<f64>> = picture.items("values").iter().map(Value::as_f64).collect();
        let known = || all.iter().flatten().copied();
        let least = known().fold(f64::INFINITY, f64::min).min(known().fold(0.0, f64::max));
        let most = known().fold(0.0, f64::max);
        Self { least, most, unit: picture.text("unit"), all }
    }

    /// How dense the color of a number is.
    fn density(&self, value: f64) -> String {
        let (from, to) = DENSITY;
        let range = self.most - self.least;
        let part = if range > 0.0 { (value - self.least) / range } else { 1.0 };
        format!("{:.3}", from + (to - from) * part.clamp(0.0, 1.0))
    }

    fn text(&self, value: Option<f64>) -> String {
        match value {
            None => "-".to_owned(),
            Some(value) if self.unit.is_empty() => significant(value),
            Some(value) => format!("{} {}", significant(value), self.unit),
        }
    }

    fn legend(&self) -> Markup {
        let steps = (0..8).map(|step| f64::from(step) / 7.0);
        html! {
            span.ends { (self.text(Some(self.least))) }
            @for part in steps {
                span.step style={
                    "opacity:" (self.density(self.least + part * (self.most - self.least)))
                } {}
            }
            span.ends { (self.text(Some(self.most))) }
        }
    }
}

/// Squares in rows, as wide as a plot.
fn grid(picture: Report<'_>, values: &Values<'_>) -> Markup {
    let columns = picture.number("columns").unwrap_or(1.0).max(1.0);
    let rows = (values.all.len() as f64 / columns).ceil();
    // A row that is very long is no reason for squares that nobody sees.
    let side = SIZE.0 / columns.max(rows);
    let at = |n: usize| (n as f64 % columns, (n as f64 / columns).floor());
    html! {
        svg.picture viewBox={ "0 0 " (tenths(side * columns)) " " (tenths(side * rows)) }
            role="img" aria-label=(picture.text("title")) {
            @for (n, &value) in values.all.iter().enumerate() {
                @let (x, y) = at(n);
                rect.value x=(tenths(x * side)) y=(tenths(y * side)) width=(tenths(side))
                    height=(tenths(side)) opacity=(value.map_or("0".into(), |v| values.density(v)))
                    { title { (x) ", " (y) ": " (values.text(value)) } }
            }
        }
    }
}

/// Bars beside each other over an axis.
fn bars(picture: Report<'_>, values: &Values<'_>) -> Markup {
    let labels: Vec<&str> = picture.items("labels").iter().filter_map(Value::as_str).collect();
    // Labels that would overlap are left out.
    let wide = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0) as f64 * 7.5;
    let y = Scale::new(&values.all.iter().flatten().copied().collect::<Vec<_>>(), (BOTTOM, TOP));
    let first = y.left();
    let step = (RIGHT - first) / values.all.len().max(1) as f64;
    let every = (wide / step).ceil().max(1.0) as usize;
    html! {
        svg.picture viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } role="img"
            aria-label=(picture.text("title")) {
            (value_axis(&y, values.unit))
            @for (n, &value) in values.all.iter().enumerate() {
                @let left = first + step * n as f64;
                @let top = y.place(value.unwrap_or(0.0));
                rect.value x=(tenths(left + step * 0.1)) width=(tenths(step * 0.8)) y=(tenths(top))
                    height=(tenths(BOTTOM - top)) {}
                @if n % every == 0 {
                    text x=(tenths(left + step / 2.0)) y=(BOTTOM + 16.0) text-anchor="middle" {
                        (labels.get(n).copied().unwrap_or_default())
                    }
                }
                rect.at x=(tenths(left)) width=(tenths(step)) y=(TOP) height=(BOTTOM - TOP) {
                    title { (labels.get(n).copied().unwrap_or_default()) ": " (values.text(value)) }
                }
            }
            text x=(tenths(f64::midpoint(first, RIGHT))) y=(SIZE.1 - 5.0) text-anchor="middle" {
                (picture.text("axis"))
            }
        }
    }
}

/// Lines on a plane, the north above.
fn map(picture: Report<'_>, values: &Values<'_>) -> Markup {
    const BORDER: f64 = 8.0;
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let ends = |line: &Value| -> Option<[f64; 4]> {
        let ends: Vec<f64> = line.as_array()?.iter().map(number).collect();
        ends.try_into().ok()
    };
    let lines: Vec<[f64; 4]> = picture.items("lines").iter().filter_map(ends).collect();
    let range = |first: usize| {
        let all = || lines.iter().flat_map(|line| [line[first], line[first + 2]]);
        let least = all().fold(f64::INFINITY, f64::min);
        (least, all().fold(f64::NEG_INFINITY, f64::max) - least)
    };
    let ((west, width), (south, height)) = (range(0), range(1));
    let scale = (SIZE.0 - 2.0 * BORDER) / width.max(height).max(f64::MIN_POSITIVE);
    let x = |at: f64| tenths(BORDER + (at - west) * scale);
    let y = |at: f64| tenths(BORDER + (south + height - at) * scale);
    let names: Vec<&str> = picture.items("names").iter().filter_map(Value::as_str).collect();
    let [wide, high] = [width, height].map(|length| tenths(length * scale + 2.0 * BORDER));
    html! {
        svg.picture viewBox={ "0 0 " (wide) " " (high) } role="img"
            aria-label=(picture.text("title")) {
            @for (n, (line, &value)) in lines.iter().zip(&values.all).enumerate() {
                line.value x1=(x(line[0])) y1=(y(line[1])) x2=(x(line[2])) y2=(y(line[3]))
                    opacity=(value.map_or("0".into(), |v| values.density(v))) {
                    title {
                        (names.get(n).copied().unwrap_or_default()) ": " (values.text(value))
                    }
                }
            }
        }
    }
}

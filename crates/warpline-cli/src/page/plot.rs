//! Plots of the page, as inline SVG: curves over an axis, with what lies under the pointer as a
//! tooltip. Colors are those of the page, so a plot is light or dark as it is.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use warpline_lab::{label, round_numbers};

use crate::format::significant;

/// The picture and the area of the curves in it, in units of SVG.
pub(super) const SIZE: (f64, f64) = (400.0, 220.0);
pub(super) const LEFT: f64 = 48.0;
pub(super) const RIGHT: f64 = SIZE.0 - 22.0;
pub(super) const TOP: f64 = 26.0;
pub(super) const BOTTOM: f64 = SIZE.1 - 38.0;
/// How many colors the page has for curves.
pub(super) const COLORS: usize = 6;

/// Curves over a common axis, which begins at 0 as the other does.
#[derive(Debug)]
pub(super) struct Plot<'a> {
    pub(super) title: &'a str,
    /// What is below the title.
    pub(super) note: &'a str,
    /// What the axes have, with units.
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    /// The places of all points, in order.
    pub(super) places: Vec<f64>,
    pub(super) curves: Vec<Curve>,
}

/// A curve: a number at each place, or none.
#[derive(Debug)]
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) numbers: Vec<Option<f64>>,
}

impl Plot<'_> {
    /// The plot with its title and legend; nothing if it would have fewer than two points.
    pub(super) fn draw(&self) -> Markup {
        let known = |curve: &Curve| curve.numbers.iter().flatten().count() >= 2;
        if !self.curves.iter().any(known) {
            return html! {};
        }
        html! {
            figure {
                figcaption {
                    b { (self.title) }
                    (self.note)
                    @if self.curves.len() > 1 {
                        div { @for (n, curve) in self.curves.iter().enumerate() {
                            span.key style=(color(n)) { (curve.name) }
                        } }
                    }
                }
                (self.svg())
            }
        }
    }

    fn svg(&self) -> Markup {
        let x = Scale::new(&self.places, (LEFT, RIGHT));
        let all: Vec<f64> =
            self.curves.iter().flat_map(|curve| curve.numbers.iter().flatten().copied()).collect();
        let y = Scale::new(&all, (BOTTOM, TOP));
        let words = format!("{}: {} over {}", self.title, self.y, self.x);
        html! {
            svg viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } role="img" aria-label=(words) {
                (value_axis(&y, self.y))
                @for &tick in &x.ticks {
                    text x=(tenths(x.place(tick))) y=(BOTTOM + 16.0) text-anchor="middle" {
                        (label(tick))
                    }
                }
                text x=((LEFT + RIGHT) / 2.0) y=(SIZE.1 - 5.0) text-anchor="middle" { (self.x) }
                @for (n, curve) in self.curves.iter().enumerate() {
                    path.curve style=(color(n)) d=(self.path(curve, &x, &y)) {}
                }
                (self.tooltips(&x))
            }
        }
    }

    /// The line through the numbers of a curve.
    fn path(&self, curve: &Curve, x: &Scale, y: &Scale) -> String {
        let mut path = String::new();
        for (&place, number) in self.places.iter().zip(&curve.numbers) {
            let Some(number) = *number else { continue };
            let command = if path.is_empty() { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(path, "{command}{:.1} {:.1}", x.place(place), y.place(number));
        }
        path
    }

    /// A strip for each place, as wide as the way to the places beside it, that says what is there.
    fn tooltips(&self, x: &Scale) -> Markup {
        let at: Vec<f64> = self.places.iter().map(|&place| x.place(place)).collect();
        let middle = |left: usize| f64::midpoint(at[left], at[left + 1]);
        html! {
            @for (n, &place) in self.places.iter().enumerate() {
                @let from = if n == 0 { LEFT } else { middle(n - 1) };
                @let to = if n + 1 == at.len() { RIGHT } else { middle(n) };
                rect.at x=(tenths(from)) width=(tenths((to - from).max(0.0))) y=(TOP)
                    height=(BOTTOM - TOP) { title { (self.told_at(n, place)) } }
            }
        }
    }

    /// What is at a place.
    fn told_at(&self, n: usize, place: f64) -> String {
        let mut text = format!("{}: {}", self.x, significant(place));
        for curve in &self.curves {
            if let Some(Some(number)) = curve.numbers.get(n) {
                let name = if self.curves.len() > 1 { &curve.name } else { self.y };
                let _ = write!(text, "\n{name}: {}", significant(*number));
            }
        }
        text
    }
}

/// The axis of the values, with lines through the plot.
pub(super) fn value_axis(y: &Scale, name: &str) -> Markup {
    html! {
        @for &tick in &y.ticks {
            line.grid x1=(LEFT) x2=(RIGHT) y1=(tenths(y.place(tick))) y2=(tenths(y.place(tick))) {}
            text x=(LEFT - 5.0) y=(tenths(y.place(tick) + 4.0)) text-anchor="end" {
                (label(tick))
            }
        }
        text x="4" y="12" { (name) }
    }
}

/// The color of a curve.
pub(super) fn color(n: usize) -> PreEscaped<String> {
    PreEscaped(format!("--color: var(--c{})", n % COLORS))
}

/// A number as SVG has it: a tenth of a unit is less than anyone sees.
pub(super) fn tenths(number: f64) -> String {
    format!("{number:.1}")
}

/// An axis from 0 to beyond all numbers.
pub(super) struct Scale {
    pub(super) ticks: Vec<f64>,
    most: f64,
    /// The places of 0 and of the greatest number.
    ends: (f64, f64),
}

impl Scale {
    pub(super) fn new(numbers: &[f64], ends: (f64, f64)) -> Self {
        let most = numbers.iter().copied().fold(0.0, f64::max);
        let mut ticks = round_numbers(most);
        // Numbers of several digits have room below a plot for half of them.
        if ticks.len() > 7 {
            ticks = ticks.into_iter().step_by(2).collect();
        }
        let most = ticks.last().copied().unwrap_or(1.0).max(most);
        Self { ticks, most, ends }
    }

    pub(super) fn place(&self, number: f64) -> f64 {
        let (from, to) = self.ends;
        from + (to - from) * number / self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(numbers: &[Option<f64>]) -> String {
        let places = (0..numbers.len()).map(|n| n as f64).collect();
        let curve = Curve { name: "a & b".into(), numbers: numbers.to_vec() };
        let (title, note, x, y) = ("rate", "", "time in s", "<events>");
        Plot { title, note, x, y, places, curves: vec![curve] }.draw().into_string()
    }

    /// Every point has a tooltip, and a point that has no number is no place of the curve.
    #[test]
    fn every_point_has_a_tooltip() {
        let svg = plot(&[Some(0.0), None, Some(4.0)]);
        assert_eq!(svg.matches("<title>").count(), 3);
        assert!(svg.contains("time in s: 2\n&lt;events&gt;: 4</title>"), "{svg}");
        assert!(svg.contains(r#"d="M48.0 182.0L378.0 26.0""#), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn a_point_alone_is_no_curve() {
        assert_eq!(plot(&[None, Some(1.0)]), "");
        assert!(plot(&[Some(0.0), Some(0.0)]).contains("<svg"));
    }
}

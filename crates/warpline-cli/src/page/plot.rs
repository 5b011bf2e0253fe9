//! Plots of the page, as inline SVG: curves over an axis, with what lies under the pointer as a
//! tooltip. Colors are those of the page, so a plot is light or dark as it is.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};
use warpline::picture::round_numbers;

use crate::format::significant;

/// The picture and the area of the curves in it, in units of SVG.
pub(super) const SIZE: (f64, f64) = (400.0, 220.0);
const LEFT: f64 = 48.0;
pub(super) const RIGHT: f64 = SIZE.0 - 22.0;
pub(super) const TOP: f64 = 26.0;
pub(super) const BOTTOM: f64 = SIZE.1 - 38.0;
/// How wide a digit is at most, whatever the font.
const DIGIT: f64 = 7.8;
/// How many colors the page has for curves.
pub(super) const COLORS: usize = 6;

/// Curves over a common axis, which begins at 0; so does the other, if there is no band.
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
    /// An area at each place, from a number to another, around the curves.
    pub(super) band: Vec<Option<[f64; 2]>>,
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
        let curves = self.curves.iter().flat_map(|curve| curve.numbers.iter().flatten().copied());
        let all: Vec<f64> = curves.chain(self.band.iter().flatten().copied().flatten()).collect();
        let ends = (BOTTOM, TOP);
        let y =
            if self.band.is_empty() { Scale::new(&all, ends) } else { Scale::around(&all, ends) };
        let left = y.left();
        let x = Scale::new(&self.places, (left, RIGHT)).thinned();
        let words = format!("{}: {} over {}", self.title, self.y, self.x);
        html! {
            svg viewBox={ "0 0 " (SIZE.0) " " (SIZE.1) } role="img" aria-label=(words) {
                (value_axis(&y, self.y))
                @if !self.band.is_empty() {
                    path.band style=(color(0)) d=(self.area(&x, &y)) {}
                }
                @for &tick in &x.ticks {
                    text x=(tenths(x.place(tick))) y=(BOTTOM + 16.0) text-anchor="middle" {
                        (x.label(tick))
                    }
                }
                @let middle = tenths(f64::midpoint(left, RIGHT));
                text x=(middle) y=(SIZE.1 - 5.0) text-anchor="middle" { (self.x) }
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

    /// The outline of the band: along its upper ends, and back along its lower ones.
    fn area(&self, x: &Scale, y: &Scale) -> String {
        let known = self.places.iter().zip(&self.band);
        let known: Vec<_> = known.filter_map(|(&place, ends)| Some((place, (*ends)?))).collect();
        let there = known.iter().map(|(place, [_, to])| (place, to));
        let back = known.iter().rev().map(|(place, [from, _])| (place, from));
        let mut area = String::new();
        for (&place, &number) in there.chain(back) {
            let command = if area.is_empty() { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(area, "{command}{:.1} {:.1}", x.place(place), y.place(number));
        }
        area
    }

    /// A strip for each place, as wide as the way to the places beside it, that says what is there.
    fn tooltips(&self, x: &Scale) -> Markup {
        let at: Vec<f64> = self.places.iter().map(|&place| x.place(place)).collect();
        let middle = |left: usize| f64::midpoint(at[left], at[left + 1]);
        html! {
            @for (n, &place) in self.places.iter().enumerate() {
                @let from = if n == 0 { x.ends.0 } else { middle(n - 1) };
                @let to = if n + 1 == at.len() { RIGHT } else { middle(n) };
                rect.at x=(tenths(from)) width=(tenths((to - from).max(0.0))) y=(TOP)
                    height=(BOTTOM - TOP) { title { (self.tooltip(n, place)) } }
            }
        }
    }

    /// What is at a place.
    fn tooltip(&self, n: usize, place: f64) -> String {
        let mut text = format!("{}: {}", self.x, significant(place));
        for curve in &self.curves {
            if let Some(Some(number)) = curve.numbers.get(n) {
                let name = if self.curves.len() > 1 { &curve.name } else { self.y };
                let _ = write!(text, "\n{name}: {}", significant(*number));
            }
        }
        if let Some(Some([from, to])) = self.band.get(n) {
            let _ = write!(text, "\nfrom {} to {}", significant(*from), significant(*to));
        }
        text
    }
}

/// The axis of the values, with lines through the plot, from [`Scale::left`] on.
pub(super) fn value_axis(y: &Scale, name: &str) -> Markup {
    let left = y.left();
    html! {
        @for &tick in &y.ticks {
            @let at = tenths(y.place(tick));
            line.grid x1=(tenths(left)) x2=(RIGHT) y1=(at) y2=(at) {}
            text x=(tenths(left - 5.0)) y=(tenths(y.place(tick) + 4.0)) text-anchor="end" {
                (y.label(tick))
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

/// An axis with round numbers, from and to beyond all numbers.
pub(super) struct Scale {
    pub(super) ticks: Vec<f64>,
    /// The distance of two ticks, before any of them were left out.
    step: f64,
    /// The least and the greatest number, and their places.
    range: (f64, f64),
    ends: (f64, f64),
}

impl Scale {
    /// An axis from 0 to beyond the greatest number.
    pub(super) fn new(numbers: &[f64], ends: (f64, f64)) -> Self {
        let most = numbers.iter().copied().fold(0.0, f64::max);
        let mut ticks = round_numbers(most);
        let step = ticks[1] - ticks[0];
        // Numbers of several digits have room below a plot for half of them.
        if ticks.len() > 7 {
            ticks = ticks.into_iter().step_by(2).collect();
        }
        let most = ticks.last().copied().unwrap_or(1.0).max(most);
        Self { ticks, step, range: (0.0, most), ends }
    }

    /// An axis from below the least number to beyond the greatest; from 0, if that is about as far
    /// away as they are from each other.
    pub(super) fn around(numbers: &[f64], ends: (f64, f64)) -> Self {
        let [low, high] = [f64::min, f64::max].map(|of| numbers.iter().copied().reduce(of));
        let (low, high) = low.zip(high).unwrap_or((0.0, 1.0));
        let low = if low >= 0.0 && low <= high - low { 0.0 } else { low };
        // One number alone has an axis, too.
        let span = (high - low).max(high.abs() * 1e-3);
        let span = if span > 0.0 { span } else { 1.0 };
        let power = 10.0_f64.powi((span / 5.0).log10().floor() as i32);
        let step = [1.0, 2.0, 5.0].map(|n| n * power).into_iter().find(|step| span / step <= 5.0);
        let step = step.unwrap_or(10.0 * power);
        let first = (low / step).floor();
        let count = ((high / step).ceil() - first).clamp(1.0, 10.0) as u32;
        let ticks: Vec<f64> = (0..=count).map(|n| (first + f64::from(n)) * step).collect();
        let range = (ticks[0], ticks[ticks.len() - 1]);
        Self { ticks, step, range, ends }
    }

    /// The axis with as many ticks as have room beside each other.
    fn thinned(mut self) -> Self {
        let wide = self.chars() * DIGIT + 4.0;
        let room = (self.ends.1 - self.ends.0) / (self.ticks.len() - 1).max(1) as f64;
        let every = (wide / room).ceil().max(1.0) as usize;
        self.ticks = self.ticks.into_iter().step_by(every).collect();
        self
    }

    pub(super) fn place(&self, number: f64) -> f64 {
        let ((from, to), (least, most)) = (self.ends, self.range);
        from + (to - from) * (number - least) / (most - least)
    }

    /// A tick as text: with as many digits as tell it from the next one.
    pub(super) fn label(&self, tick: f64) -> String {
        let (digits, size) = (self.step.log10().floor(), tick.abs().log10().floor());
        if tick == 0.0 {
            return "0".to_owned();
        }
        if size >= 7.0 || digits <= -5.0 {
            let mantissa = (size - digits).clamp(0.0, 9.0) as usize;
            return format!("{tick:.mantissa$e}");
        }
        format!("{tick:.*}", (-digits).clamp(0.0, 9.0) as usize)
    }

    /// The most characters of a tick.
    fn chars(&self) -> f64 {
        let chars = |&tick: &f64| self.label(tick).chars().count();
        self.ticks.iter().map(chars).max().unwrap_or(0) as f64
    }

    /// Where a plot begins that has this axis on its left: there is room for its numbers.
    pub(super) fn left(&self) -> f64 {
        (self.chars() * DIGIT + 7.0).max(LEFT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(numbers: &[Option<f64>]) -> String {
        let places = (0..numbers.len()).map(|n| n as f64).collect();
        let curve = Curve { name: "a & b".into(), numbers: numbers.to_vec() };
        let (title, note, x, y) = ("rate", "", "time in s", "<events>");
        Plot { title, note, x, y, places, curves: vec![curve], band: Vec::new() }
            .draw()
            .into_string()
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

    /// No number is wider than what is left of the plot, and no two are the same.
    #[test]
    fn numbers_at_an_axis_have_room() {
        for most in [3e-9, 0.00012, 0.7, 1.0, 600_000.0, 9_999_999.0, 1.7e12] {
            for scale in [Scale::new(&[most], (0.0, 1.0)), Scale::around(&[most], (0.0, 1.0))] {
                let texts: Vec<_> = scale.ticks.iter().map(|&tick| scale.label(tick)).collect();
                let widest = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
                assert!(scale.left() - 5.0 >= widest as f64 * 7.5, "{texts:?}: {}", scale.left());
                assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "{texts:?}");
                assert!(widest <= 9, "{texts:?}");
                let parsed = |text: &String| text.parse::<f64>().expect("a number");
                let is_near = |(text, tick): (&String, &f64)| {
                    (parsed(text) - tick).abs() <= 1e-6 * tick.abs()
                };
                assert!(texts.iter().zip(&scale.ticks).all(is_near), "{texts:?}");
            }
        }
        assert!(Scale::new(&[600_000.0], (0.0, 1.0)).left() > LEFT);
    }

    /// An axis around numbers that are far from 0 does not begin there.
    #[test]
    fn an_axis_around_numbers() {
        let ticks = |numbers: &[f64]| Scale::around(numbers, (0.0, 1.0)).ticks;
        assert_eq!(
            ticks(&[587_100.0, 587_900.0]),
            [587_000.0, 587_200.0, 587_400.0, 587_600.0, 587_800.0, 588_000.0]
        );
        assert_eq!(ticks(&[-3.0, 1.5]), [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0]);
        assert_eq!(ticks(&[3.0, 7.0])[0], 0.0);
        assert!(ticks(&[0.0]).len() >= 2 && ticks(&[]).len() >= 2);
    }

    /// A band is drawn there and back, and its ends are in the tooltips.
    #[test]
    fn a_band_is_around_its_curve() {
        let curve = Curve { name: "a".into(), numbers: vec![Some(11.0), None, Some(12.0)] };
        let band = vec![Some([10.0, 12.0]), None, Some([11.0, 13.0])];
        let (title, note, x, y, places) = ("t", "", "x", "y", vec![0.0, 1.0, 2.0]);
        let plot = Plot { title, note, x, y, places, curves: vec![curve], band };
        let svg = plot.draw().into_string();
        let area = r#"d="M48.0 78.0L378.0 26.0L378.0 130.0L48.0 182.0""#;
        assert!(svg.contains(area) && svg.contains("y: 11\nfrom 10 to 12</title>"), "{svg}");
    }
}

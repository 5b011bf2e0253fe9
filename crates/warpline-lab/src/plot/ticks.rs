//! The numbers at an axis, and their places; `draw` makes one ruler for each axis.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use warpline::picture::round_numbers;

use super::{Axis, Scale};

/// An axis with its range; the drawing library asks it for the places of numbers.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    scale: Scale,
    /// The first and the last number.
    range: (f64, f64),
    /// The numbers at the axis.
    ticks: Vec<f64>,
}

impl Ruler {
    /// An axis whose range holds all these numbers.
    pub(super) fn new(axis: &Axis, numbers: impl Iterator<Item = f64>) -> Self {
        let numbers = numbers.chain(axis.ticks.iter().copied());
        let (least, most) = ends(numbers);
        let scale = axis.scale;
        if least > most {
            return Self { scale, range: (1.0, 2.0), ticks: Vec::new() };
        }
        let ticks = match scale {
            _ if !axis.ticks.is_empty() => axis.ticks.clone(),
            Scale::Linear => round_numbers(most),
            Scale::Logarithmic => powers(least, most),
        };
        let (least, most) = ends(ticks.iter().copied().chain([least, most]));
        let range = match scale {
            Scale::Linear => (0.0, most * 1.05),
            Scale::Logarithmic => {
                let margin = ((most / least).log2() * 0.05).max(0.05).exp2();
                (least / margin, most * margin)
            }
        };
        Self { scale, range, ticks }
    }

    /// The distance of a number along the axis, in any unit.
    fn along(&self, number: f64) -> f64 {
        match self.scale {
            Scale::Linear => number,
            Scale::Logarithmic => number.log2(),
        }
    }
}

impl Ranged for Ruler {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, number: &f64, (first, last): (i32, i32)) -> i32 {
        let (start, end) = (self.along(self.range.0), self.along(self.range.1));
        let part = (self.along(*number) - start) / (end - start);
        first + (f64::from(last - first) * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.0..self.range.1
    }
}

/// The least and the greatest number.
fn ends(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| (low.min(n), high.max(n)))
}

/// The powers of two from the one below `least` to the one above `most`.
fn powers(least: f64, most: f64) -> Vec<f64> {
    (least.log2().floor() as i32..=most.log2().ceil() as i32).map(|n| 2.0_f64.powi(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal ratios are equally far apart, and all data is within the axis.
    #[test]
    fn a_logarithmic_axis_has_powers_of_two() {
        let ruler = Ruler::new(&Axis::new("x").logarithmic(), [1.0, 60.0].into_iter());
        assert_eq!(ruler.ticks, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        let places: Vec<_> = ruler.ticks.iter().map(|n| ruler.map(n, (0, 1000))).collect();
        assert!(places.windows(2).all(|pair| (pair[1] - pair[0] - 152).abs() <= 2), "{places:?}");
        assert!(places[0] > 0 && places[6] < 1000, "{places:?}");
    }

    /// A linear axis starts at 0, upside down or not.
    #[test]
    fn a_linear_axis_starts_at_zero() {
        let ruler = Ruler::new(&Axis::new("y"), [30.0, 80.0].into_iter());
        assert_eq!(ruler.map(&0.0, (500, 0)), 500);
        assert!(ruler.map(&80.0, (500, 0)) > 0);
    }
}

//! The numbers at an axis, and their places; `draw` makes one ruler for each axis.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

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

/// The text of a number: three digits, without zeros at the end.
pub(super) fn label(number: f64) -> String {
    let digits = (2.0 - number.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0);
    let text = format!("{number:.0$}", digits as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The least and the greatest number.
fn ends(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), n| (low.min(n), high.max(n)))
}

/// Five to ten multiples of 1, 2 or 5 times a power of ten, from 0 to just beyond `most`.
fn round_numbers(most: f64) -> Vec<f64> {
    if most <= 0.0 {
        return vec![0.0, 1.0];
    }
    let power = 10.0_f64.powi((most / 5.0).log10().floor() as i32);
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    let step = step.into_iter().find(|step| most / step <= 10.0).unwrap_or(most);
    (0..=(most / step).ceil() as u32).map(|n| f64::from(n) * step).collect()
}

/// The powers of two from the one below `least` to the one above `most`.
fn powers(least: f64, most: f64) -> Vec<f64> {
    (least.log2().floor() as i32..=most.log2().ceil() as i32).map(|n| 2.0_f64.powi(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_reach_beyond_the_data() {
        for most in [0.003, 0.7, 1.0, 9.99, 10.0, 17.3, 123_456.0] {
            let numbers = round_numbers(most);
            assert!((4..=12).contains(&numbers.len()), "{most}: {numbers:?}");
            let last = numbers.last().copied().unwrap_or_default();
            assert!(last >= most && last <= most * 1.5, "{most}: {numbers:?}");
        }
    }

    #[test]
    fn labels_are_short() {
        for (number, text) in [(0.0, "0"), (0.5, "0.5"), (1250.0, "1250"), (0.1 + 0.2, "0.3")] {
            assert_eq!(label(number), text);
        }
    }

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

//! The waveform of a net between two samples: the cubic with their values and slopes.

use crate::circuit::Sample;

/// A voltage between two samples of a net: the cubic with their values and slopes (Hermite).
///
/// Between two samples of the same time it is a jump, or a corner if their values are equal, too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    /// Where it begins (s).
    pub from: f64,
    /// Where it ends (s).
    pub to: f64,
    /// The voltage at the beginning (V).
    pub first: f64,
    /// The voltage at the end (V).
    pub last: f64,
    /// Coefficients of the part `u` of the time that has passed, of its square and of its cube.
    powers: [f64; 3],
}

impl Cubic {
    /// The waveform from one sample of a net to the next one.
    #[must_use]
    pub fn between(start: &Sample, end: &Sample) -> Self {
        let length = end.time - start.time;
        let (rise, out, into) = (end.value - start.value, length * start.slope, length * end.slope);
        Self {
            from: start.time,
            to: end.time,
            first: start.value,
            last: end.value,
            powers: [out, 3.0 * rise - 2.0 * out - into, out + into - 2.0 * rise],
        }
    }

    /// The voltage (V) at a time (s) between its ends; at other times, that of the nearer end.
    #[must_use]
    pub fn at(&self, time: f64) -> f64 {
        if time >= self.to {
            return self.last;
        }
        if time <= self.from {
            return self.first;
        }
        self.at_part((time - self.from) / (self.to - self.from))
    }

    /// Where the voltage turns between the ends: times (s), in order, and voltages (V).
    pub fn turning_points(&self) -> impl Iterator<Item = (f64, f64)> {
        let turns = self.turns().into_iter().flatten();
        turns.map(|part| (self.time_at(part), self.at_part(part)))
    }

    /// The least and the greatest voltage (V).
    #[must_use]
    pub fn extremes(&self) -> (f64, f64) {
        let ends = (self.first.min(self.last), self.first.max(self.last));
        let values = self.turning_points().map(|point| point.1);
        values.fold(ends, |(low, high), value| (low.min(value), high.max(value)))
    }

    /// Bounds of the voltage (V) that take no root to find: those of the control points of the
    /// curve (Bernstein), in whose hull it lies.
    pub(super) fn bounds(&self) -> (f64, f64) {
        let [out, square, cube] = self.powers;
        let into = out + 2.0 * square + 3.0 * cube;
        let (near, far) = (self.first + out / 3.0, self.last - into / 3.0);
        let low = self.first.min(self.last).min(near).min(far);
        let high = self.first.max(self.last).max(near).max(far);
        (low, high)
    }

    /// The voltage after a part of the time.
    pub(super) fn at_part(&self, part: f64) -> f64 {
        let [a, b, c] = self.powers;
        if part >= 1.0 { self.last } else { self.first + part * (a + part * (b + part * c)) }
    }

    /// A bound of what rounding does to computed voltages (V).
    pub(super) fn rounding(&self) -> f64 {
        let [a, b, c] = self.powers.map(f64::abs);
        4.0 * f64::EPSILON * (self.first.abs() + a + b + c)
    }

    /// The time after a part of the time.
    pub(super) fn time_at(&self, part: f64) -> f64 {
        (self.from + part * (self.to - self.from)).clamp(self.from, self.to)
    }

    /// Where the voltage turns: parts of the time within 0 and 1, in order.
    pub(super) fn turns(&self) -> [Option<f64>; 2] {
        let [a, b, c] = self.powers;
        // a + 2 b u + 3 c u² = 0, without cancellation of like terms.
        let root = (b * b - 3.0 * a * c).sqrt();
        if root.is_nan() {
            return [None; 2];
        }
        let q = -(b + root.copysign(b));
        let within = |part: f64| Some(part).filter(|part| *part > 0.0 && *part < 1.0);
        let (one, other) = (within(q / (3.0 * c)), within(a / q));
        match (one, other) {
            (Some(x), Some(y)) if x > y => [other, one],
            _ => [one, other],
        }
    }

    /// Where the voltage is `level`, between two parts of the time between which it does not turn
    /// and at which it is on both sides of the level, or at it.
    ///
    /// Newton's method, kept within bounds that halve where it does not get on.
    pub(super) fn part_at(&self, level: f64, from: f64, to: f64) -> f64 {
        let [a, b, c] = self.powers;
        let (mut low, mut high) = (from, to);
        let falls = self.at_part(from) > self.at_part(to);
        let mut part = f64::midpoint(low, high);
        // 64 halvings leave nothing of the interval; Newton's method needs 4 to 6 steps.
        for _ in 0..64 {
            let above = self.at_part(part) - level;
            if above == 0.0 {
                break;
            }
            if (above > 0.0) == falls {
                low = part;
            } else {
                high = part;
            }
            let next = part - above / (a + part * (2.0 * b + part * 3.0 * c));
            // The steps of Newton's method become too small for the precision of numbers in the
            // end.
            if next == part {
                break;
            }
            part = if next > low && next < high { next } else { f64::midpoint(low, high) };
        }
        part
    }
}

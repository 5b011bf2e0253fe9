//! The waveform of a source: straight lines, one after the other.
//!
//! The simulation asks for values, slopes and corners; the writers take whole lines.
//!
//! # Invariants
//!
//! - **LINE-A.** Lines leave no gap: the line at the end of a line begins there. A line holds the
//!   times from its beginning up to, but without, its end; so where a waveform jumps, its value is
//!   the one after the jump.
//! - **LINE-B.** A line ends later than any time that it holds, so whoever goes from corner to
//!   corner gets on, even where the times of a pulse are too short for the precision of numbers.

use crate::circuit::{Pulse, Waveform};

/// A straight part of the waveform of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Where it begins (s); minus infinity for the line before the first corner.
    pub from: f64,
    /// Where it ends (s); infinity for the line after the last corner.
    pub to: f64,
    /// The voltage at its beginning (V).
    pub first: f64,
    /// The voltage that it has reached at its end (V).
    pub last: f64,
}

impl Line {
    /// A voltage that stays for ever.
    const fn constant(value: f64) -> Self {
        Self { from: f64::NEG_INFINITY, to: f64::INFINITY, first: value, last: value }
    }

    /// The voltage (V) at a time of the line (s).
    #[must_use]
    pub fn at(&self, time: f64) -> f64 {
        if self.first == self.last {
            return self.first;
        }
        let part = (time - self.from) / (self.to - self.from);
        self.first + (self.last - self.first) * part.clamp(0.0, 1.0)
    }

    /// The slope (V/s).
    #[must_use]
    pub fn slope(&self) -> f64 {
        if self.first == self.last {
            return 0.0;
        }
        (self.last - self.first) / (self.to - self.from)
    }
}

impl Waveform {
    /// The line that holds a time (s).
    #[must_use]
    pub fn line(&self, time: f64) -> Line {
        let line = match self {
            Self::Constant(value) => Line::constant(*value),
            Self::PiecewiseLinear(points) => line_between(points, time),
            Self::Pulse(pulse) => pulse.line(time),
        };
        Line { to: line.to.max(time.next_up()), ..line }
    }

    /// The voltage (V) at a time (s); at a jump, the one after it.
    #[must_use]
    pub fn at(&self, time: f64) -> f64 {
        self.line(time).at(time)
    }

    /// The slope (V/s) just after a time (s).
    #[must_use]
    pub fn slope_after(&self, time: f64) -> f64 {
        self.line(time).slope()
    }

    /// The first corner after a time (s), if there is one: the slope is the same up to there.
    #[must_use]
    pub fn next_breakpoint(&self, time: f64) -> Option<f64> {
        Some(self.line(time).to).filter(|to| to.is_finite())
    }
}

impl Pulse {
    fn line(&self, time: f64) -> Line {
        if time < self.delay {
            return Line { to: self.delay, ..Line::constant(self.low) };
        }
        let number = self.number(time);
        let line = line_between(&self.corners(number), time);
        // After the last corner comes the next pulse, if there is one.
        let is_last = !self.period().is_finite();
        Line {
            to: if is_last { line.to } else { line.to.min(self.beginning(number + 1.0)) },
            ..line
        }
    }

    /// When pulse number `n` begins (s).
    fn beginning(&self, n: f64) -> f64 {
        // Zero times an infinite period is no number.
        if n == 0.0 { self.delay } else { self.delay + n * self.period() }
    }

    /// The period; infinite if the one that was given is none.
    fn period(&self) -> f64 {
        if self.period > 0.0 { self.period } else { f64::INFINITY }
    }

    /// The number of the pulse that holds a time (s) after the delay, by the same rounding as the
    /// beginnings of pulses.
    fn number(&self, time: f64) -> f64 {
        let n = ((time - self.delay) / self.period()).floor().min(f64::MAX);
        if self.beginning(n) > time {
            n - 1.0
        } else if self.beginning(n + 1.0) <= time {
            n + 1.0
        } else {
            n
        }
    }

    /// The corners (time, voltage) of pulse number `n`. A pulse that is longer than its period is
    /// cut off by the next one.
    fn corners(&self, n: f64) -> [(f64, f64); 5] {
        let (start, end) = (self.beginning(n), self.beginning(n + 1.0));
        let top = start + self.rise;
        let edge = top + self.width;
        let bottom = edge + self.fall;
        let whole = [
            (start, self.low),
            (top, self.high),
            (edge, self.high),
            (bottom, self.low),
            (end.max(bottom), self.low),
        ];
        let mut corners = whole;
        for (corner, pair) in corners[1..].iter_mut().zip(whole.windows(2)) {
            let [(from, first), (to, last)] = [pair[0], pair[1]];
            if from >= end {
                // Beyond the cut; the corner before it is the last one.
                *corner = (end, f64::NAN);
            } else if to > end {
                *corner = (end, Line { from, to, first, last }.at(end));
            }
        }
        // What is beyond the cut is at the cut, with the voltage there.
        for i in 1..corners.len() {
            if corners[i].1.is_nan() {
                corners[i].1 = corners[i - 1].1;
            }
        }
        corners
    }
}

/// The line that holds a time, of lines between points (time, voltage) in the order of their times,
/// with the same voltage before the first and after the last point.
fn line_between(points: &[(f64, f64)], time: f64) -> Line {
    let next = points.partition_point(|point| point.0 <= time);
    match (next.checked_sub(1).map(|last| points[last]), points.get(next)) {
        (Some((from, first)), Some(&(to, last))) => Line { from, to, first, last },
        (None, Some(&(to, value))) => Line { to, ..Line::constant(value) },
        (Some((from, value)), None) => Line { from, ..Line::constant(value) },
        (None, None) => Line::constant(0.0),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    const NS: f64 = 1e-9;

    fn pulse() -> Pulse {
        Pulse {
            low: 0.0,
            high: 3.0,
            delay: 2.0 * NS,
            rise: 0.2 * NS,
            fall: 0.3 * NS,
            width: 4.0 * NS,
            period: 10.0 * NS,
        }
    }

    /// What SPICE says of a pulse, from the time within its period.
    fn expected(pulse: &Pulse, time: f64) -> f64 {
        let Pulse { low, high, delay, rise, fall, width, period } = *pulse;
        let t = time - delay;
        let t = if period.is_finite() && t > 0.0 { t - period * (t / period).floor() } else { t };
        if t <= 0.0 || t >= rise + width + fall {
            low
        } else if t < rise {
            low + (high - low) * t / rise
        } else if t <= rise + width {
            high
        } else {
            high + (low - high) * (t - rise - width) / fall
        }
    }

    fn pulses() -> impl Strategy<Value = Pulse> {
        let time = || (0.01..5.0).prop_map(|t: f64| t * NS);
        let period = prop_oneof![time(), Just(20.0 * NS), Just(f64::INFINITY)];
        ((-1.0..1.0, 1.0..4.0), (time(), time(), time(), time()), period).prop_map(
            |((low, high), (delay, rise, fall, width), period)| Pulse {
                low,
                high,
                delay,
                rise,
                fall,
                width,
                period,
            },
        )
    }

    proptest! {
        /// Values are those of SPICE, but at the cut of a pulse, where they jump.
        #[test]
        fn pulses_are_those_of_spice(pulse in pulses(), time in 0.0..100.0) {
            let time = time * NS;
            let (value, spice) = (Waveform::Pulse(pulse).at(time), expected(&pulse, time));
            let phase = (time - pulse.delay) / pulse.period;
            let off_cut = (phase - phase.round()).abs() > 1e-9;
            prop_assert!(!off_cut || (value - spice).abs() < 1e-6, "{value} {spice}");
        }

        /// LINE-A and LINE-B, and the slope is that of the values.
        #[test]
        fn lines_follow_each_other(
            pulse in pulses(),
            points in vec((select(&[0.0, 0.5, 1.0][..]), -1.0..4.0), 0..8),
            is_pulse: bool,
        ) {
            let times = points.iter().scan(0.0, |time, (step, _)| {
                *time += step * NS;
                Some(*time)
            });
            let points = times.clone().zip(points.iter().map(|point| point.1)).collect();
            let waveform =
                if is_pulse { Waveform::Pulse(pulse) } else { Waveform::PiecewiseLinear(points) };
            let (mut time, mut lines) = (-NS, 0);
            while let Some(next) = waveform.next_breakpoint(time) {
                prop_assert!(next > time);
                let line = waveform.line(time);
                prop_assert_eq!(line.to, next);
                let middle = f64::midpoint(time, next);
                prop_assert_eq!(waveform.line(middle), line);
                let rise = (waveform.at(middle) - waveform.at(time)) / (middle - time);
                prop_assert!((rise - waveform.slope_after(time)).abs() <= 1e-6 * rise.abs() + 1.0);
                prop_assert_eq!(waveform.at(next), waveform.line(next).first);
                time = next;
                lines += 1;
                if lines > 40 { break; }
            }
        }
    }

    /// A corner has exactly the voltage that was given, however many periods have passed.
    #[test]
    fn corners_are_exact() {
        let waveform = Waveform::Pulse(pulse());
        let mut time = 0.0;
        for period in 0..1000 {
            for voltage in [0.0, 3.0, 3.0, 0.0] {
                time = waveform.next_breakpoint(time).expect("pulses go on");
                assert_eq!(waveform.at(time), voltage, "period {period}, time {time}");
            }
        }
        assert!((time - (999.0 * 10.0 + 2.0 + 4.5) * NS).abs() < 1e-6 * NS, "{time}");
    }

    /// A jump has the voltage after it, and its two ends are known.
    #[test]
    fn jumps() {
        let waveform = Waveform::PiecewiseLinear(vec![(NS, 0.0), (NS, 3.0), (2.0 * NS, 3.0)]);
        assert_eq!([waveform.at(0.9 * NS), waveform.at(NS)], [0.0, 3.0]);
        assert_eq!(waveform.line(0.0).last, 0.0);
        let steep = Waveform::Pulse(Pulse { rise: 0.0, fall: 0.0, ..pulse() });
        assert_eq!([1.9, 2.0, 5.9, 6.1].map(|t| steep.at(t * NS)), [0.0, 3.0, 3.0, 0.0]);
    }

    /// Periods that are no periods, or too short to be told apart, do no harm.
    #[test]
    fn strange_pulses() {
        for period in [0.0, -1.0, f64::NAN] {
            let waveform = Waveform::Pulse(Pulse { period, ..pulse() });
            assert_eq!(waveform.next_breakpoint(1.0), None);
            assert_eq!(waveform.at(1.0), 0.0);
        }
        for period in [1e-300, 5e-324, 1e-30] {
            let waveform = Waveform::Pulse(Pulse { period, ..pulse() });
            let mut time = 1.0;
            for _ in 0..10 {
                let next = waveform.next_breakpoint(time).expect("a pulse follows");
                assert!(next > time && (0.0..=3.0).contains(&waveform.at(time)));
                time = next;
            }
        }
        assert_eq!(Waveform::PiecewiseLinear(Vec::new()).at(1.0), 0.0);
    }
}

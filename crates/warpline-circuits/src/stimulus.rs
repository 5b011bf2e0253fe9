//! The voltage of a source, as straight segments from breakpoint to breakpoint.
//!
//! Made from the sources of a [`Circuit`](crate::circuit::Circuit), read by
//! [`subcircuit`](crate::subcircuit): a waveform is known beforehand, so nothing is sent for it.
//!
//! # Invariants
//!
//! - **STIM-A.** The segment at a time ends after that time, so going on from end to end passes a
//!   whole waveform.

use crate::{
    circuit::{Pulse, Waveform},
    instant,
};

/// A straight part of a waveform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    /// Where its line has `value` (s).
    pub(crate) origin: f64,
    /// In volts.
    pub(crate) value: f64,
    /// In volts per second.
    pub(crate) slope: f64,
}

impl Segment {
    /// The same voltage at all times.
    pub(crate) const fn constant(value: f64) -> Self {
        Self { origin: 0.0, value, slope: 0.0 }
    }

    /// The line through two points.
    fn between((t0, v0): (f64, f64), (t1, v1): (f64, f64)) -> Self {
        let slope = if t1 > t0 { (v1 - v0) / (t1 - t0) } else { 0.0 };
        Self { origin: t0, value: v0, slope }
    }

    /// Its voltage.
    #[inline]
    pub(crate) fn at(&self, time: f64) -> f64 {
        self.value + self.slope * (time - self.origin)
    }
}

/// The segment of a waveform from `time` on, and where it ends: the next breakpoint, or infinity.
pub(crate) fn segment(waveform: &Waveform, time: f64) -> (Segment, f64) {
    match waveform {
        Waveform::Constant(value) => (Segment::constant(*value), f64::INFINITY),
        Waveform::PiecewiseLinear(points) => piecewise(points, time),
        Waveform::Pulse(pulse) => of_pulse(pulse, time),
    }
}

fn piecewise(points: &[(f64, f64)], time: f64) -> (Segment, f64) {
    // Breakpoints are rounded up to instants of steps, so a point may be passed a little before.
    let after = points.partition_point(|&(t, _)| instant::of_step(t) <= time);
    let ends = points.get(after).map_or(f64::INFINITY, |&(t, _)| instant::of_step(t));
    let segment = match (after.checked_sub(1).map(|at| points[at]), points.get(after)) {
        (Some(from), Some(&to)) => Segment::between(from, to),
        (Some((_, value)), None) | (None, Some(&(_, value))) => Segment::constant(value),
        (None, None) => Segment::constant(0.0),
    };
    (segment, ends)
}

fn of_pulse(pulse: &Pulse, time: f64) -> (Segment, f64) {
    let Pulse { low, high, delay, rise, fall, width, period } = *pulse;
    if instant::of_step(delay) > time {
        return (Segment::constant(low), instant::of_step(delay));
    }
    let mut start = delay;
    if period.is_finite() && period > 0.0 {
        start += period * ((time - delay) / period).floor();
        // Rounding may be off by one period either way.
        if instant::of_step(start + period) <= time {
            start += period;
        } else if instant::of_step(start) > time {
            start -= period;
        }
    }
    let (top, down) = (start + rise, start + rise + width);
    let bottom = down + fall;
    let next = if period.is_finite() && period > 0.0 { start + period } else { f64::INFINITY };
    let mut points = [(start, low), (top, high), (down, high), (bottom, low)];
    // A period that is shorter than the pulse cuts it off.
    for point in &mut points {
        point.0 = point.0.min(next);
    }
    let (segment, ends) = piecewise(&points, time);
    let ends = ends.min(if next.is_finite() { instant::of_step(next) } else { next });
    (segment, ends)
}

/// The least and the greatest voltage of a waveform.
pub(crate) fn range(waveform: &Waveform) -> [f64; 2] {
    match waveform {
        Waveform::Constant(value) => [*value; 2],
        Waveform::PiecewiseLinear(points) => {
            points.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &(_, v)| {
                [low.min(v), high.max(v)]
            })
        }
        Waveform::Pulse(pulse) => [pulse.low.min(pulse.high), pulse.low.max(pulse.high)],
    }
}

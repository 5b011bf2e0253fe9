//! The voltage of a source as a segment, like those that subcircuits publish.
//!
//! Read by [`subcircuit`](crate::subcircuit): a waveform is known beforehand, so nothing is sent
//! for it.

use serde::{Deserialize, Serialize};

use crate::circuit::Waveform;

/// A straight part of a waveform.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

    /// Its voltage.
    #[inline]
    pub(crate) fn at(&self, time: f64) -> f64 {
        self.value + self.slope * (time - self.origin)
    }
}

/// The segment of a waveform from `time` on, and where it ends: at the next breakpoint, which is
/// later than `time`, or at infinity.
pub(crate) fn segment(waveform: &Waveform, time: f64) -> (Segment, f64) {
    let line = waveform.line(time);
    (Segment { origin: time, value: line.at(time), slope: line.slope() }, line.to)
}

//! How exact a simulation is: the margins of steps and events, as parts of the swing.
//!
//! Chosen by users, read by `subcircuit`. What each choice is worth, against
//! ngspice, is tested in `tests/accuracy.rs`; the errors that it speaks of are those of delays.

use crate::instant::Intervals;

/// How exact a simulation is.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Tolerance {
    /// For a first look: delays within about a percent on average.
    Fast,
    /// Delays within half a percent on average.
    #[default]
    Default,
    /// Delays within a twentieth of a percent on average.
    Fine,
}

/// The margins of one simulation, in volts and seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Margins {
    /// The least voltage that a net takes on, as its readers see it.
    pub(crate) low: f64,
    /// The greatest one.
    pub(crate) high: f64,
    /// The error of a linear extrapolation over one step that is aimed at (V).
    pub(crate) step_error: f64,
    /// The error of what readers of a net extrapolate (V).
    pub(crate) event_error: f64,
    /// The most that an input changes in a step (V).
    pub(crate) input_change: f64,
    /// Below this slope a node is at rest (V/s).
    pub(crate) rest_slope: f64,
    /// From a segment's origin to its delivery at most (s); steps are not shorter, but for an
    /// input.
    pub(crate) lookahead: f64,
    /// The longest step (s).
    pub(crate) longest_step: f64,
    /// The longest first step after a rest (s).
    pub(crate) first_step: f64,
}

impl Margins {
    /// The intervals at whose beginnings segments are delivered.
    #[inline]
    pub(crate) const fn intervals(&self) -> Intervals {
        Intervals { length: self.lookahead }
    }
}

impl Tolerance {
    /// The errors of steps and events and the change of inputs, by the swing, and the lookahead, by
    /// the pace of the circuit. A segment arrives half a lookahead late on average, so two paces
    /// are an eighth of the fastest gate's delay.
    const fn parts(self) -> [f64; 4] {
        match self {
            Self::Fast => [0.015, 0.006, 0.075, 2.0],
            Self::Default => [0.003, 0.0015, 0.06, 2.0],
            Self::Fine => [0.0007, 0.0003, 0.01, 0.2],
        }
    }

    /// The margins for voltages in this range, in a circuit of this pace (s).
    pub(crate) fn margins(self, [low, high]: [f64; 2], swing: f64, pace: f64) -> Margins {
        let [step, event, input, lookahead] = self.parts();
        Margins {
            low,
            high,
            step_error: step * swing,
            event_error: event * swing,
            input_change: input * swing,
            // A resting node may be off by 4 % of the step error after 200 paces.
            rest_slope: 0.04 * step * swing / (200.0 * pace),
            lookahead: lookahead * pace,
            longest_step: 400.0 * pace,
            first_step: 4.0 * pace,
        }
    }
}

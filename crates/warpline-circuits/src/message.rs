//! What the processes of a [model](crate::model) send each other, and what they leave at the end of
//! a run.

use serde::{Deserialize, Serialize};
use warpline::digest::mix;

use crate::{drawing::Drawn, subcircuit::Tally};

/// The result of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CircuitSummary {
    pub(crate) tally: Tally,
    pub(crate) drawn: Vec<Drawn>,
}

/// The contents of an event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum CircuitMessage {
    /// The steps of an interval, unless they were superseded.
    Steps,
    /// A segment for an input.
    Segment {
        /// The number of the subcircuit.
        subcircuit: u32,
        /// The number of the input.
        input: u32,
        /// Where the segment begins (s).
        origin: f64,
        /// The voltage there (V).
        value: f64,
        /// In volts per second.
        slope: f64,
    },
    /// A point of the waveform of a watched net.
    Sample {
        /// The number of the net.
        net: u32,
        /// In seconds.
        time: f64,
        /// In volts.
        value: f64,
        /// In volts per second.
        slope: f64,
    },
}

impl CircuitMessage {
    /// A number for the whole contents.
    #[inline]
    pub(crate) fn fingerprint(&self) -> u64 {
        match *self {
            Self::Steps => 0,
            Self::Segment { subcircuit, input, origin, value, slope } => {
                let to = u64::from(subcircuit) << 32 | u64::from(input);
                mix(mix(to ^ origin.to_bits(), value.to_bits()), slope.to_bits())
            }
            Self::Sample { net, time, value, slope } => {
                mix(mix(u64::from(net) ^ time.to_bits(), value.to_bits()), slope.to_bits())
            }
        }
    }
}

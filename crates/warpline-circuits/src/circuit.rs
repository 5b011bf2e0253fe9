//! A flat circuit: what netlists are read into, and what is simulated and exported.
//!
//! Made by the readers of netlists and by the generators; read by the partition into subcircuits,
//! by the writers of waveforms, and by the export. All quantities are in SI units (volts, seconds,
//! farads, ohms, meters).
//!
//! # Invariants
//!
//! - **FLAT-A.** Net 0 is ground. Every [`NetId`] in a circuit is less than the number of its nets.
//! - **FLAT-B.** A net has at most one source, and sources are against ground: a net with a source
//!   is *fixed*, and its voltage is known at all times.
//! - **FLAT-C.** Resistances and capacitances are finite and greater than 0; widths and lengths
//!   too.

use serde::{Deserialize, Serialize};

/// A net, by its index in [`Circuit::nets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NetId(pub u32);

impl NetId {
    /// Ground: node `0` of SPICE.
    pub const GROUND: Self = Self(0);

    /// The index of the net.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flat circuit with its stimuli, and what is asked of its simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Circuit {
    /// The title: the first line of a deck.
    pub title: String,
    /// Names of the nets, in lower case, with dots between the levels of a hierarchy.
    pub nets: Vec<String>,
    /// The cards of the transistors.
    pub cards: Vec<MosCard>,
    /// The transistors.
    pub transistors: Vec<Transistor>,
    /// The resistors.
    pub resistors: Vec<Resistor>,
    /// The capacitors.
    pub capacitors: Vec<Capacitor>,
    /// The voltage sources.
    pub sources: Vec<Source>,
    /// Voltages at which nets start (`.ic`).
    pub initial: Vec<(NetId, f64)>,
    /// Seconds that are simulated (`.tran`).
    pub end: f64,
    /// Seconds between the points that a deck asks for (`.tran`), for output with a fixed step.
    pub print_step: f64,
    /// What is measured (`.measure`).
    pub measures: Vec<Measure>,
    /// The nets whose waveforms are asked for (`.save`); none means all.
    pub saved: Vec<NetId>,
}

impl Circuit {
    /// The lowest and the highest voltage (V) that channels and resistors are supplied with: of
    /// ground and of the constant sources that are connected to them, or of all sources if there is
    /// no such source.
    #[must_use]
    pub fn rails(&self) -> [f64; 2] {
        let mut supplies = vec![false; self.nets.len()];
        let channels = self.transistors.iter().map(|t| [t.drain, t.source]);
        for end in channels.chain(self.resistors.iter().map(|r| r.ends)).flatten() {
            supplies[end.index()] = true;
        }
        let is_rail = |source: &&Source| {
            supplies[source.net.index()] && matches!(source.waveform, Waveform::Constant(_))
        };
        let rails = range(self.sources.iter().filter(is_rail));
        if rails[0] < rails[1] { rails } else { range(&self.sources) }
    }

    /// The voltage (V) that tells high from low: half way between the [rails](Self::rails).
    #[must_use]
    pub fn threshold(&self) -> f64 {
        let [low, high] = self.rails();
        0.5 * (low + high)
    }
}

/// A level-1 card (Shichman and Hodges), with the names and the defaults of SPICE.
#[derive(Clone, Debug, PartialEq)]
pub struct MosCard {
    /// The name of the card.
    pub name: String,
    /// N or P channel.
    pub channel: Channel,
    /// Threshold voltage without bulk bias (V); less than 0 for a P channel of enhancement type.
    pub vto: f64,
    /// Transconductance (A/V²).
    pub kp: f64,
    /// Bulk threshold parameter (√V).
    pub gamma: f64,
    /// Surface potential (V).
    pub phi: f64,
    /// Channel length modulation (1/V).
    pub lambda: f64,
    /// Gate capacitance per area (F/m²); 0 where the deck gives no oxide thickness: then the gate
    /// has no capacitance of its own.
    pub oxide: f64,
    /// Lateral diffusion (m), taken off the length at both ends.
    pub lateral_diffusion: f64,
    /// Overlap capacitance of gate and source per width (F/m).
    pub cgso: f64,
    /// Overlap capacitance of gate and drain per width (F/m).
    pub cgdo: f64,
    /// Overlap capacitance of gate and bulk per length (F/m).
    pub cgbo: f64,
    /// Junction capacitance per area without bias (F/m²).
    pub cj: f64,
    /// Grading of the junction's area.
    pub mj: f64,
    /// Junction capacitance per perimeter without bias (F/m).
    pub cjsw: f64,
    /// Grading of the junction's perimeter.
    pub mjsw: f64,
    /// Built-in potential of the junction (V).
    pub pb: f64,
}

/// The channel of a transistor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Electrons: conducts while the gate is high.
    N,
    /// Holes: conducts while the gate is low.
    P,
}

/// A MOS transistor.
#[derive(Clone, Debug, PartialEq)]
pub struct Transistor {
    /// Its name, with dots between the levels of a hierarchy.
    pub name: String,
    /// The drain.
    pub drain: NetId,
    /// The gate.
    pub gate: NetId,
    /// The source; it and the drain are interchangeable.
    pub source: NetId,
    /// The bulk: a fixed net.
    pub bulk: NetId,
    /// The index of its card.
    pub card: usize,
    /// Width (m).
    pub width: f64,
    /// Length (m), as drawn.
    pub length: f64,
    /// Areas of the drain's and the source's junction (m²).
    pub junction_areas: [f64; 2],
    /// Perimeters of the drain's and the source's junction (m).
    pub junction_perimeters: [f64; 2],
}

/// A resistor.
#[derive(Clone, Debug, PartialEq)]
pub struct Resistor {
    /// Its name.
    pub name: String,
    /// Its two ends.
    pub ends: [NetId; 2],
    /// Resistance (Ω).
    pub resistance: f64,
}

/// A capacitor from a net to a fixed net.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacitor {
    /// Its name.
    pub name: String,
    /// The net that it loads.
    pub net: NetId,
    /// The fixed net at its other end, mostly ground.
    pub reference: NetId,
    /// Capacitance (F).
    pub capacitance: f64,
}

/// A voltage source from ground to a net.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The net that it fixes.
    pub net: NetId,
    /// Its voltage over time.
    pub waveform: Waveform,
}

/// A voltage over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Waveform {
    /// The same voltage at all times.
    Constant(f64),
    /// Straight lines between points (time, voltage), in the order of their times; constant before
    /// the first and after the last point.
    PiecewiseLinear(Vec<(f64, f64)>),
    /// A pulse that is repeated with a period.
    Pulse(Pulse),
}

/// The least and the greatest voltage (V) of ground and of these sources.
pub(crate) fn range<'s>(sources: impl IntoIterator<Item = &'s Source>) -> [f64; 2] {
    let ranges = sources.into_iter().map(|source| source.waveform.range());
    ranges.fold([0.0_f64; 2], |sum, range| [sum[0].min(range[0]), sum[1].max(range[1])])
}

impl Waveform {
    /// The least and the greatest voltage.
    pub(crate) fn range(&self) -> [f64; 2] {
        let none = [f64::INFINITY, f64::NEG_INFINITY];
        match self {
            Self::Constant(value) => [*value; 2],
            Self::PiecewiseLinear(points) => {
                points.iter().fold(none, |[low, high], &(_, v)| [low.min(v), high.max(v)])
            }
            Self::Pulse(pulse) => [pulse.low.min(pulse.high), pulse.low.max(pulse.high)],
        }
    }
}

/// A pulse, as SPICE describes it; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pulse {
    /// Voltage at the start.
    pub low: f64,
    /// Voltage of the pulse.
    pub high: f64,
    /// Time before the first pulse.
    pub delay: f64,
    /// Time from `low` to `high`.
    pub rise: f64,
    /// Time from `high` to `low`.
    pub fall: f64,
    /// Time at `high`.
    pub width: f64,
    /// Time from one pulse to the next; infinite for a single pulse.
    pub period: f64,
}

/// `.measure tran NAME trig … targ …`: the time from one crossing to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The name of the result.
    pub name: String,
    /// The crossing from which time is taken.
    pub trigger: Crossing,
    /// The crossing up to which time is taken.
    pub target: Crossing,
}

/// One crossing of a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// The net.
    pub net: NetId,
    /// The threshold (V).
    pub threshold: f64,
    /// Which crossings count.
    pub direction: Direction,
    /// Which of those it is, from 1; `None` is the last one.
    pub ordinal: Option<u32>,
    /// Crossings before this time (s) do not count.
    pub after: f64,
}

/// The direction of a crossing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Upwards.
    Rise,
    /// Downwards.
    Fall,
    /// Both.
    Cross,
}

/// A point of a net's waveform, as the simulation commits it.
///
/// Samples come in the order of their times. Between two samples of a net its waveform is the cubic
/// with these values and slopes at both ends; two samples at the same time make a corner. Each net
/// that is not fixed has a sample at time 0. A net at rest has a sample with slope 0 where it comes
/// to rest, and another one with the same value and slope 0 where it leaves. Fixed nets have none:
/// their voltage is their source's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When (s).
    pub time: f64,
    /// The net.
    pub net: NetId,
    /// Its voltage (V).
    pub value: f64,
    /// The slope of its voltage (V/s).
    pub slope: f64,
}

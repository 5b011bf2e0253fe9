//! The result of a simulation, as reports have it.
//!
//! Made by the [model](crate::model) and by the [bare loop](crate::bare) from what subcircuits
//! count.

use warpline::{Figure, Results, picture::Picture};

use crate::{drawing::Waveforms, network::Network, subcircuit::Tally};

/// The result of a simulation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CircuitOutput {
    /// Subcircuits: channel-connected components.
    pub subcircuits: u64,
    /// Transistors.
    pub transistors: u64,
    /// The sums of all subcircuits.
    pub tally: Tally,
    /// Nets whose crossings are counted.
    pub signals: u64,
    /// The time from a segment's origin to its delivery (s).
    pub lookahead: f64,
    /// The waveforms of nets that were to be drawn.
    pub waveforms: Option<Waveforms>,
}

impl CircuitOutput {
    pub(crate) fn new(network: &Network, tally: Tally, waveforms: Option<Waveforms>) -> Self {
        Self {
            subcircuits: network.subcircuits.len() as u64,
            transistors: network.transistors as u64,
            tally,
            signals: network.nodes.iter().filter(|node| node.is_signal).count() as u64,
            lookahead: network.margins.lookahead,
            waveforms,
        }
    }
}

impl Results for CircuitOutput {
    fn figures(&self) -> Vec<Figure> {
        let Self { subcircuits, transistors, tally, signals, lookahead, .. } = *self;
        let (figure, count) = (Figure::new, Figure::of_count);
        vec![
            count("subcircuits", subcircuits, "", "channel-connected components"),
            count("transistors", transistors, "", "in the circuit"),
            count("steps", tally.steps, "steps", "of integration, accepted"),
            count("events", tally.events, "events", "segments of waveforms, published"),
            count(
                "crossings",
                tally.crossings,
                "crossings",
                "of the voltage half way between the rails, by signals",
            ),
            figure(
                "activity",
                tally.crossings as f64 / signals as f64,
                "crossings/signal",
                "switching activity",
            ),
            figure("energy", tally.energy, "J", "from sources, through channels and resistors"),
            figure("lookahead", lookahead, "s", "from a segment's origin to its delivery"),
        ]
    }

    fn pictures(&self) -> Vec<Picture> {
        self.waveforms.iter().map(Waveforms::picture).collect()
    }
}

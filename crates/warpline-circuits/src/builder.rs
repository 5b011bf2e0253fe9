//! Builds circuits of the built-in process: nets, transistors, and the capacitances that follow.
//!
//! Called by the [`cells`](crate::cells) and by the generators.

use std::collections::HashSet;

use crate::{
    circuit::{Capacitor, Channel, Circuit, NetId, Source, Transistor, Waveform},
    process::{self, Capacitances},
};

/// A circuit that is being built. It has ground and a supply from the start.
#[derive(Clone, Debug)]
pub(crate) struct Builder {
    circuit: Circuit,
    capacitances: Capacitances,
    names: HashSet<String>,
    /// For each net, what loads it (F).
    loads: Vec<f64>,
    supply: NetId,
}

impl Builder {
    /// An empty circuit. The nets with these `names` are made first, so that they keep their names.
    pub(crate) fn new<'a>(
        title: &str,
        capacitances: Capacitances,
        names: impl IntoIterator<Item = &'a str>,
    ) -> (Self, Vec<NetId>) {
        let mut builder = Self {
            circuit: Circuit {
                title: title.to_owned(),
                cards: process::cards(capacitances).to_vec(),
                ..Circuit::default()
            },
            capacitances,
            names: HashSet::from(["gnd".to_owned()]),
            loads: Vec::new(),
            supply: NetId::GROUND,
        };
        builder.net("0");
        let nets = names.into_iter().map(|name| builder.wire(name)).collect();
        builder.supply = builder.net("vdd");
        builder.source(builder.supply, Waveform::Constant(process::SUPPLY));
        (builder, nets)
    }

    /// A net within a cell, without wires. A name that is taken gets underscores at its end.
    pub(crate) fn net(&mut self, name: &str) -> NetId {
        let mut name = name.to_lowercase();
        while !self.names.insert(name.clone()) {
            name.push('_');
        }
        self.circuit.nets.push(name);
        self.loads.push(0.0);
        NetId(u32::try_from(self.loads.len() - 1).expect("less than 2^32 nets"))
    }

    /// A net between cells, with the capacitance of its wires.
    pub(crate) fn wire(&mut self, name: &str) -> NetId {
        let net = self.net(name);
        self.loads[net.index()] += process::WIRE;
        net
    }

    /// The name of a net.
    pub(crate) fn name(&self, net: NetId) -> String {
        self.circuit.nets[net.index()].clone()
    }

    /// The supply.
    pub(crate) fn supply(&self) -> NetId {
        self.supply
    }

    /// Fixes a net.
    pub(crate) fn source(&mut self, net: NetId, waveform: Waveform) {
        let name = format!("v.{}", self.name(net));
        self.circuit.sources.push(Source { name, net, waveform });
    }

    /// Where a net starts.
    pub(crate) fn initial(&mut self, net: NetId, voltage: f64) {
        self.circuit.initial.push((net, voltage));
    }

    /// An N channel, `scale` times as wide as that of an inverter.
    pub(crate) fn n(&mut self, name: String, ends: [NetId; 2], gate: NetId, scale: f64) {
        self.transistor(Channel::N, name, ends, gate, scale * process::WIDTH_N);
    }

    /// A P channel, `scale` times as wide as that of an inverter.
    pub(crate) fn p(&mut self, name: String, ends: [NetId; 2], gate: NetId, scale: f64) {
        self.transistor(Channel::P, name, ends, gate, scale * process::WIDTH_P);
    }

    fn transistor(
        &mut self,
        channel: Channel,
        name: String,
        ends: [NetId; 2],
        gate: NetId,
        width: f64,
    ) {
        let (card, bulk) = match channel {
            Channel::N => (0, NetId::GROUND),
            Channel::P => (1, self.supply),
        };
        let (area, perimeter) = match self.capacitances {
            Capacitances::Explicit => {
                self.loads[gate.index()] += width * process::LENGTH * process::OXIDE;
                for end in ends {
                    self.loads[end.index()] += width * process::DIFFUSION;
                }
                (0.0, 0.0)
            }
            Capacitances::Full => (width * process::EXTENSION, 2.0 * (width + process::EXTENSION)),
        };
        self.circuit.transistors.push(Transistor {
            name: format!("m.{name}"),
            drain: ends[0],
            gate,
            source: ends[1],
            bulk,
            card,
            width,
            length: process::LENGTH,
            junction_areas: [area; 2],
            junction_perimeters: [perimeter; 2],
        });
    }

    /// The circuit, with a capacitor at each net that is loaded and has no source.
    pub(crate) fn finish(mut self, end: f64) -> Circuit {
        self.loads[NetId::GROUND.index()] = 0.0;
        for source in &self.circuit.sources {
            self.loads[source.net.index()] = 0.0;
        }
        for (index, &capacitance) in self.loads.iter().enumerate() {
            if capacitance > 0.0 {
                let net = NetId(index as u32);
                self.circuit.capacitors.push(Capacitor {
                    name: format!("c.{}", self.circuit.nets[index]),
                    net,
                    reference: NetId::GROUND,
                    capacitance,
                });
            }
        }
        self.circuit.end = end;
        self.circuit.print_step = end / 1000.0;
        self.circuit
    }
}

//! The voltages at the start: the point at which the circuit rests with the first voltages of its
//! sources.
//!
//! Called once, before a simulation. Each subcircuit is integrated with constant inputs, by short
//! steps first and by longer ones later, one after the other and again and again, until no node
//! moves. (One step to infinity would not do: a channel that charges a node up to a threshold below
//! the supply would swing between both ends for ever.) The way of the charge decides where floating
//! nodes end, so it begins from the rails, as it would when power comes up.
//!
//! A circuit that never rests, as a ring of inverters does, starts from where it is after the last
//! of these steps.
//!
//! # Invariants
//!
//! - **OP-A.** Nodes with given voltages (`.ic`) have them.

use crate::{
    circuit::{Circuit, NetId},
    integration::{Hold, Scratch},
    network::{Driver, Network},
    stimulus,
};

/// Steps by length, in paces; the last kind until nothing moves.
const PHASES: [(f64, u32); 3] = [(4.0, 40), (40.0, 40), (2000.0, 400)];
/// A node moves if its voltage changes by more than this in a step (V).
const STILL: f64 = 1e-6;
/// Holds a node at its given voltage (S).
const HOLD: f64 = 1e3;

/// Replaces the initial voltages of a network by those of its operating point. Subcircuits are
/// integrated in the order that is given.
pub(crate) fn find(network: &mut Network, circuit: &Circuit, order: &[u32]) {
    let mut point = Point::new(network, circuit);
    for (paces, rounds) in PHASES {
        for _ in 0..rounds {
            let moves = point.round(network, order, paces * network.pace);
            if !moves && paces == PHASES[2].0 {
                return;
            }
        }
    }
}

/// The voltages on their way.
struct Point {
    scratch: Scratch,
    /// By node of the network.
    voltages: Vec<f64>,
    slopes: Vec<f64>,
    /// By subcircuit: whether one of its inputs or nodes has moved since its last step.
    is_active: Vec<bool>,
    holds: Vec<Vec<Hold>>,
    /// By source, at time 0.
    sources: Vec<f64>,
}

impl Point {
    fn new(network: &mut Network, circuit: &Circuit) -> Self {
        let mut given = vec![None; circuit.nets.len()];
        for &(NetId(net), voltage) in &circuit.initial {
            given[net as usize] = Some(voltage);
        }
        let mut holds = vec![Vec::new(); network.subcircuits.len()];
        for (number, subcircuit) in network.subcircuits.iter().enumerate() {
            let nodes = network.templates[subcircuit.template as usize].nodes;
            let nodes = &mut network.nodes[subcircuit.first_node as usize..][..nodes];
            for (node, about) in nodes.iter_mut().enumerate() {
                if let Some(voltage) = given[about.net as usize] {
                    about.initial = voltage;
                    holds[number].push(Hold { node: node as u32, voltage, conductance: HOLD });
                }
            }
        }
        let at_start = |waveform| stimulus::segment(waveform, 0.0).0.at(0.0);
        Self {
            scratch: Scratch::default(),
            voltages: network.nodes.iter().map(|node| node.initial).collect(),
            slopes: vec![0.0; network.nodes.len()],
            is_active: vec![true; network.subcircuits.len()],
            holds,
            sources: network.waveforms.iter().map(at_start).collect(),
        }
    }

    /// One step of each subcircuit that is active; returns whether a node has moved.
    fn round(&mut self, network: &mut Network, order: &[u32], h: f64) -> bool {
        let mut moves = false;
        for index in order.iter().map(|&index| index as usize) {
            if self.is_active[index] {
                self.is_active[index] = false;
                if self.step(network, index, h) > STILL {
                    moves = true;
                    self.is_active[index] = true;
                    let outputs = network.subcircuit(index).1.outputs.len();
                    for output in 0..outputs {
                        for reader in network.readers_of(index, output) {
                            self.is_active[reader.subcircuit as usize] = true;
                        }
                    }
                }
            }
        }
        moves
    }

    /// A step of one subcircuit; returns by how much a node has moved.
    fn step(&mut self, network: &mut Network, index: usize, h: f64) -> f64 {
        let (subcircuit, template) = network.subcircuit(index);
        let (places, slopes) = self.scratch.open(template);
        slopes.fill(0.0);
        for (place, driver) in places.iter_mut().zip(network.inputs_of(index)) {
            *place = match *driver {
                Driver::Node { subcircuit, node } => {
                    let first = network.subcircuits[subcircuit as usize].first_node;
                    self.voltages[(first + node) as usize]
                }
                Driver::Source(source) => self.sources[source as usize],
            };
        }
        let nodes = network.nodes_of(index);
        let range = subcircuit.first_node as usize..subcircuit.first_node as usize + nodes.len();
        let voltages = &mut self.voltages[range.clone()];
        let slopes = &mut self.slopes[range.clone()];
        let margins = &network.margins;
        let limits = [margins.low, margins.high];
        let holds = &self.holds[index];
        self.scratch.step(template, nodes, limits, holds, h, (voltages, slopes));
        let mut moved = 0.0_f64;
        for (about, &voltage) in network.nodes[range].iter_mut().zip(voltages.iter()) {
            moved = moved.max((voltage - about.initial).abs());
            about.initial = voltage;
        }
        moved
    }
}

//! The voltages at the start: the point at which the circuit rests with the first voltages of its
//! sources.
//!
//! Called once, before a simulation. Each subcircuit is integrated with constant inputs, by short
//! steps first and by ever longer ones later, one after the other and again and again, until no
//! node moves. (One step to infinity would not do: a channel that charges a node up to a threshold
//! below the supply would swing between both ends for ever.)
//!
//! Then nodes inside stacks, and nodes that no channel connects to a rail, leak to the bulks of
//! their channels for a while, and the circuit comes to rest again. Only those that float keep what
//! they lost. In a real circuit their charge would leak away in the same direction, through
//! junctions; other simulators start there too.
//!
//! A circuit that never rests, as a ring of inverters does, starts from where it is after the last
//! of these steps.
//!
//! # Invariants
//!
//! - **OP-A.** Nodes with given voltages (`.ic`) have them.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    circuit::{Circuit, NetId},
    forest::Forest,
    integration::{Hold, Scratch},
    network::{Driver, Network, Node},
};

/// The first and the longest step until the circuit rests, in paces.
const STEPS: [f64; 2] = [0.1, 2000.0];
/// By how much steps grow. A channel that cuts itself off charges its node ever more slowly, by
/// C/t; a step that is much shorter than the time before it does not carry the node beyond that
/// point.
const GROWTH: f64 = 1.2;
/// Longest steps that a circuit which never rests is given.
const LAST_STEPS: u32 = 400;
/// Steps while floating nodes leak.
const LEAK: (f64, u32) = (40.0, 80);
/// From a node of a stack to its bulk, while it leaks (S).
const LEAKAGE: f64 = 1e-6;
/// The time in which a node that floats loses most of its charge, in paces.
const DRAINED: f64 = 100.0;
/// Less than this (S) does not connect a node.
const CONDUCTS: f64 = 1e-9;
/// A step with a greater error (V) is divided ...
const ERROR_MAX: f64 = 2e-3;
/// ... into this number of parts at most.
const PARTS_MAX: u32 = 64;
/// A node moves if its voltage changes by more than this in a step (V).
const STILL: f64 = 1e-6;
/// Holds a node at its given voltage (S).
const HOLD: f64 = 1e3;

/// Replaces the initial voltages of a network by those of its operating point. `ranks` orders the
/// subcircuits in a way that does not depend on the order of a netlist.
pub(crate) fn find(network: &mut Network, circuit: &Circuit, ranks: &[u32]) {
    let order = order(network, ranks);
    let mut point = Point::new(network, circuit);
    point.settle(network, &order);
    // Now only stacks move, and have to end where they cut themselves off.
    point.parts_max = PARTS_MAX;
    point.leak(network);
    point.pass(network, &order, LEAK);
    point.stop_leaks();
    point.settle(network, &order);
}

/// Each subcircuit after those that it reads, as far as there are no cycles: so few of them move
/// for inputs that are not final yet. What a cycle leaves open is decided by rank.
fn order(network: &Network, ranks: &[u32]) -> Vec<u32> {
    let count = network.subcircuits.len();
    let is_node = |driver: &&Driver| matches!(driver, Driver::Node { .. });
    let unread = |index| network.inputs_of(index).iter().filter(is_node).count();
    let mut unread: Vec<usize> = (0..count).map(unread).collect();
    let mut by_rank: Vec<u32> = (0..count as u32).collect();
    by_rank.sort_unstable_by_key(|&index| ranks[index as usize]);
    let mut is_taken = vec![false; count];
    // By level, then by rank.
    let mut ready = BinaryHeap::new();
    let mut take = |index: u32, level: u32, ready: &mut BinaryHeap<_>| {
        if !std::mem::replace(&mut is_taken[index as usize], true) {
            ready.push(Reverse((level, ranks[index as usize], index)));
        }
    };
    by_rank.iter().filter(|&&i| unread[i as usize] == 0).for_each(|&i| take(i, 0, &mut ready));
    let mut order = Vec::with_capacity(count);
    let mut rest = by_rank.iter();
    loop {
        while let Some(Reverse((level, _, index))) = ready.pop() {
            order.push(index);
            for output in 0..network.subcircuit(index as usize).1.outputs.len() {
                for reader in network.readers_of(index as usize, output) {
                    let unread = &mut unread[reader.subcircuit as usize];
                    *unread -= 1;
                    if *unread == 0 {
                        take(reader.subcircuit, level + 1, &mut ready);
                    }
                }
            }
        }
        // Nothing is ready: a cycle, or the end.
        let Some(&index) = rest.next() else { return order };
        take(index, 0, &mut ready);
    }
}

/// The voltages on their way.
struct Point {
    scratch: Scratch,
    /// Into how many parts a step is divided at most.
    parts_max: u32,
    /// By node of the network.
    voltages: Vec<f64>,
    slopes: Vec<f64>,
    /// By subcircuit: whether one of its inputs or nodes has moved since its last step.
    is_active: Vec<bool>,
    holds: Vec<Vec<Hold>>,
    /// By node of the network: whether its voltage is given.
    is_given: Vec<bool>,
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
        let is_given = |node: &Node| given[node.net as usize].is_some();
        Self {
            scratch: Scratch::default(),
            parts_max: 1,
            voltages: network.nodes.iter().map(|node| node.initial).collect(),
            slopes: vec![0.0; network.nodes.len()],
            is_active: vec![true; network.subcircuits.len()],
            holds,
            is_given: network.nodes.iter().map(is_given).collect(),
            sources: network.waveforms.iter().map(|waveform| waveform.at(0.0)).collect(),
        }
    }

    /// Makes ever longer steps, until nothing moves.
    fn settle(&mut self, network: &mut Network, order: &[u32]) {
        let [mut paces, longest] = STEPS;
        self.is_active.fill(true);
        while paces < longest {
            self.round(network, order, paces * network.pace);
            paces *= GROWTH;
        }
        self.pass(network, order, (longest, LAST_STEPS));
    }

    /// Does the steps of a phase, or as many as it takes until nothing moves.
    fn pass(&mut self, network: &mut Network, order: &[u32], (paces, rounds): (f64, u32)) {
        self.is_active.fill(true);
        for _ in 0..rounds {
            if !self.round(network, order, paces * network.pace) {
                return;
            }
        }
    }

    /// Lets nodes leak that are inside stacks or that float.
    fn leak(&mut self, network: &Network) {
        for number in 0..network.subcircuits.len() {
            let is_connected = self.connected(network, number);
            let first = network.subcircuits[number].first_node as usize;
            for (node, about) in network.nodes_of(number).iter().enumerate() {
                let Some(voltage) = about.bulk.filter(|_| !self.is_given[first + node]) else {
                    continue;
                };
                let conductance = if !is_connected[node] {
                    LEAKAGE.max(about.capacitance / (DRAINED * network.pace))
                } else if about.is_stack {
                    LEAKAGE
                } else {
                    continue;
                };
                let node = node as u32;
                self.holds[number].push(Hold { node, voltage, conductance });
            }
        }
    }

    /// Keeps nodes from leaking.
    fn stop_leaks(&mut self) {
        for holds in &mut self.holds {
            holds.retain(|hold| hold.conductance == HOLD);
        }
    }

    /// Which nodes of a subcircuit channels and resistors connect to something that is no node.
    fn connected(&mut self, network: &Network, number: usize) -> Vec<bool> {
        let template = network.subcircuit(number).1;
        self.read_inputs(network, number);
        let first = network.subcircuits[number].first_node as usize;
        let voltages = &self.voltages[first..first + template.nodes];
        let edges = self.scratch.conducting(template, voltages, CONDUCTS);
        // What is no node is vertex 0.
        let nodes = template.nodes as u32;
        let mut forest = Forest::new(nodes + 1);
        for (a, b) in edges {
            forest.unite(a + 1, if b < nodes { b + 1 } else { 0 });
        }
        for node in (0..nodes).filter(|&node| self.is_given[first + node as usize]) {
            forest.unite(node + 1, 0);
        }
        (0..nodes).map(|node| forest.find(node + 1) == 0).collect()
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

    /// Makes the scratch ready for a subcircuit.
    fn read_inputs(&mut self, network: &Network, index: usize) {
        let (places, slopes) = self.scratch.open(network.subcircuit(index).1);
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
    }

    /// A step of one subcircuit; returns by how much a node has moved.
    fn step(&mut self, network: &mut Network, index: usize, h: f64) -> f64 {
        self.read_inputs(network, index);
        let (subcircuit, template) = network.subcircuit(index);
        let nodes = network.nodes_of(index);
        let range = subcircuit.first_node as usize..subcircuit.first_node as usize + nodes.len();
        let voltages = &mut self.voltages[range.clone()];
        let slopes = &mut self.slopes[range.clone()];
        let margins = &network.margins;
        let limits = [margins.low, margins.high];
        let holds = &self.holds[index];
        let mut parts = 1;
        loop {
            let mut error = 0.0_f64;
            for _ in 0..parts {
                let state = (&mut *voltages, &mut *slopes);
                let part = h / f64::from(parts);
                let stepped = self.scratch.step(template, nodes, limits, holds, part, state);
                error = error.max(stepped.error);
            }
            if error <= ERROR_MAX || parts >= self.parts_max {
                break;
            }
            parts *= 4;
            // Again from the beginning: the voltages of the step before are still there.
            for (voltage, node) in voltages.iter_mut().zip(nodes) {
                *voltage = node.initial;
            }
            slopes.fill(0.0);
        }
        // What holds a node gives way by what its neighbors conduct: some 1e-7 of a difference.
        for hold in holds.iter().filter(|hold| hold.conductance == HOLD) {
            voltages[hold.node as usize] = hold.voltage;
        }
        let mut moved = 0.0_f64;
        for (about, &voltage) in network.nodes[range].iter_mut().zip(voltages.iter()) {
            moved = moved.max((voltage - about.initial).abs());
            about.initial = voltage;
        }
        moved
    }
}

//! From a flat circuit to subcircuits: its channel-connected components.
//!
//! Called once per simulation. Two nets are in one subcircuit if a path of transistor channels and
//! resistors leads from one to the other without passing a fixed net. Everything else that a
//! subcircuit depends on are gates: they read nets of other subcircuits and fixed nets.
//!
//! # Invariants
//!
//! - **PART-A.** Subcircuits are numbered by their first net. Within a subcircuit, the order of
//!   nodes, inputs and elements depends on names and values only. So the order of the cards in a
//!   netlist changes no bit of a waveform.
//!
//! # References
//!
//! Wen and Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, figure 1. Bryant,
//! *A Switch-Level Model and Simulator for MOS Digital Systems*, IEEE Trans. Comp. 33(2), 1984, for
//! such components.

use std::collections::HashMap;

use crate::{
    capacitance,
    circuit::{self, Circuit, NetId, Waveform},
    device::Mos,
    forest::Forest,
    instant::INTERVALS_MAX,
    network::{CAPACITANCE_MIN, Driver, Network, Node, Reader, Subcircuit},
    operating_point,
    template::{Draft, Terminal},
    tolerance::{Margins, Tolerance},
};

/// The pace (s) of a circuit in which nothing conducts.
const PACE_OF_NOTHING: f64 = 5e-12;
/// The shortest pace (s).
const PACE_MIN: f64 = 1e-15;
/// The delay of an inverter by the time that its current takes for half the swing: inputs are
/// ramps.
const DELAY_BY_CHARGE: f64 = 2.0;
/// The part of the fastest gate's delay that is the pace.
const PACE_BY_DELAY: f64 = 0.125;

/// A circuit that cannot be simulated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CircuitError {
    /// The channel has no length.
    #[error(
        "transistor {name}: its length less twice the lateral diffusion of its card is {length} m; \
         make L larger or LD smaller"
    )]
    NoChannel {
        /// The transistor.
        name: String,
        /// Its effective length (m).
        length: f64,
    },
    /// The bulk moves.
    #[error("transistor {name}: its bulk is at net {net}, which is no constant source or ground")]
    BulkMoves {
        /// The transistor.
        name: String,
        /// The net of its bulk.
        net: String,
    },
    /// No source has a voltage.
    #[error("all sources are at 0 V, so there is no supply; add one, as VDD vdd 0 3.3")]
    NoSupply,
    /// The matrix of a subcircuit does not fit.
    #[error(
        "the subcircuit of net {net} has {nodes} nodes that are connected too densely by \
         transistors and resistors; divide it by a source"
    )]
    TooDense {
        /// One of its nets.
        net: String,
        /// The number of its nodes.
        nodes: usize,
    },
    /// The run is too long for the precision of its times.
    #[error(
        "{end:e} s are too long for a circuit whose lookahead is {lookahead:e} s; end at {most:e} \
         s at the latest, with a shorter .tran or period or with less vectors, or give a longer \
         lookahead"
    )]
    TooLong {
        /// Seconds that were to be simulated.
        end: f64,
        /// The time from a segment's origin to its delivery (s).
        lookahead: f64,
        /// Seconds that can be simulated.
        most: f64,
    },
    /// A lookahead that is not above 0.
    #[error("a lookahead of {0} s is not a time above 0")]
    Lookahead(f64),
}

/// What a net is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Nothing is connected to it.
    Unused,
    Constant(f64),
    /// The number of its waveform.
    Moving(u32),
    /// The number of its subcircuit, and its node in there.
    Node(u32, u32),
}

/// The partition under construction.
struct Partition<'c> {
    circuit: &'c Circuit,
    roles: Vec<Role>,
    /// By net: its place in the order of names.
    ranks: Vec<u32>,
    waveforms: Vec<Waveform>,
    swing: f64,
    /// By net, in farads.
    capacitances: Vec<f64>,
}

/// Divides a circuit into subcircuits, which start at their operating point.
pub(crate) fn network(
    circuit: &Circuit,
    tolerance: Tolerance,
    lookahead: Option<f64>,
) -> Result<Network, CircuitError> {
    let [range, rails] = voltages(circuit)?;
    let swing = rails[1] - rails[0];
    let mut partition = Partition {
        circuit,
        roles: vec![Role::Unused; circuit.nets.len().max(1)],
        ranks: ranks(&circuit.nets),
        waveforms: Vec::new(),
        swing,
        capacitances: vec![0.0; circuit.nets.len().max(1)],
    };
    partition.fix_nets();
    let members = partition.components();
    let drafts = partition.drafts(&members)?;
    let pace = partition.pace(&drafts);
    let mut margins = tolerance.margins(range, swing, pace);
    if let Some(lookahead) = lookahead {
        if !(lookahead > 0.0 && lookahead.is_finite()) {
            return Err(CircuitError::Lookahead(lookahead));
        }
        margins.lookahead = lookahead;
    }
    let (end, lookahead) = (circuit.end, margins.lookahead);
    let most = INTERVALS_MAX * lookahead;
    if end > most {
        return Err(CircuitError::TooLong { end, lookahead, most });
    }
    let ranks: Vec<u32> = members.iter().map(|nets| partition.ranks[nets[0] as usize]).collect();
    let mut network = partition.assemble(drafts, margins, pace)?;
    operating_point::find(&mut network, circuit, &ranks);
    Ok(network)
}

/// The range of all sources, and the rails.
fn voltages(circuit: &Circuit) -> Result<[[f64; 2]; 2], CircuitError> {
    let range = circuit::range(&circuit.sources);
    let rails = circuit.rails();
    if rails[0] < rails[1] { Ok([range, rails]) } else { Err(CircuitError::NoSupply) }
}

/// The place of each net in the order of names.
fn ranks(names: &[String]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..names.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| (&names[a as usize], a).cmp(&(&names[b as usize], b)));
    let mut ranks = vec![0; names.len()];
    for (rank, net) in order.into_iter().enumerate() {
        ranks[net as usize] = rank as u32;
    }
    ranks
}

impl Partition<'_> {
    fn role(&self, net: NetId) -> Role {
        self.roles[net.index()]
    }

    fn is_fixed(&self, net: NetId) -> bool {
        matches!(self.role(net), Role::Constant(_) | Role::Moving(_))
    }

    /// Ground and sources.
    fn fix_nets(&mut self) {
        for source in &self.circuit.sources {
            self.roles[source.net.index()] = match &source.waveform {
                // So that there is one zero.
                Waveform::Constant(value) => Role::Constant(*value + 0.0),
                moving => {
                    self.waveforms.push(moving.clone());
                    Role::Moving(self.waveforms.len() as u32 - 1)
                }
            };
        }
        self.roles[NetId::GROUND.index()] = Role::Constant(0.0);
    }

    /// Numbers subcircuits and their nodes; returns the nets of each, in the order of names.
    fn components(&mut self) -> Vec<Vec<u32>> {
        let circuit = self.circuit;
        let mut forest = Forest::new(self.roles.len() as u32);
        let mut used = vec![false; self.roles.len()];
        let channels = circuit.transistors.iter().map(|t| [t.drain, t.source]);
        for ends in channels.chain(circuit.resistors.iter().map(|r| r.ends)) {
            let [a, b] = ends.map(|end| end.0);
            used[a as usize] = true;
            used[b as usize] = true;
            if !ends.iter().any(|&end| self.is_fixed(end)) {
                forest.unite(a, b);
            }
        }
        let others = circuit.transistors.iter().map(|t| t.gate);
        for net in others.chain(circuit.capacitors.iter().map(|c| c.net)) {
            used[net.index()] = true;
        }
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut numbers = vec![u32::MAX; self.roles.len()];
        for net in 0..self.roles.len() as u32 {
            if !used[net as usize] || self.is_fixed(NetId(net)) {
                continue;
            }
            let root = forest.find(net) as usize;
            if numbers[root] == u32::MAX {
                numbers[root] = members.len() as u32;
                members.push(Vec::new());
            }
            members[numbers[root] as usize].push(net);
        }
        for (number, nets) in members.iter_mut().enumerate() {
            nets.sort_unstable_by_key(|&net| self.ranks[net as usize]);
            for (node, &net) in nets.iter().enumerate() {
                self.roles[net as usize] = Role::Node(number as u32, node as u32);
            }
        }
        members
    }

    /// What a terminal is for the subcircuit with this number.
    fn terminal(&self, subcircuit: u32, net: NetId) -> Terminal {
        match self.role(net) {
            Role::Node(number, node) if number == subcircuit => Terminal::Node(node),
            Role::Constant(value) => Terminal::Constant(value),
            Role::Moving(_) | Role::Node(..) | Role::Unused => {
                Terminal::Input { rank: self.ranks[net.index()], net: net.0 }
            }
        }
    }

    /// The elements of each subcircuit; sums up capacitances on the way.
    fn drafts(&mut self, members: &[Vec<u32>]) -> Result<Vec<Draft>, CircuitError> {
        let circuit = self.circuit;
        let mut drafts: Vec<Draft> = members.iter().map(|nets| Draft::new(nets.len())).collect();
        // Sums of floating-point numbers depend on their order (PART-A).
        let mut loads: Vec<(u32, f64)> = Vec::new();
        for transistor in &circuit.transistors {
            let card = &circuit.cards[transistor.card];
            let length = transistor.length - 2.0 * card.lateral_diffusion;
            if length <= 0.0 || length.is_nan() {
                return Err(CircuitError::NoChannel { name: transistor.name.clone(), length });
            }
            let Role::Constant(bulk) = self.role(transistor.bulk) else {
                let net = circuit.nets[transistor.bulk.index()].clone();
                return Err(CircuitError::BulkMoves { name: transistor.name.clone(), net });
            };
            let ends = [transistor.drain, transistor.source];
            let rails = ends.map(|end| self.is_fixed(end));
            let load = capacitance::of_transistor(transistor, card, length, rails, self.swing);
            loads.push((transistor.gate.0, load.gate));
            let mos = Mos::new(card, transistor.width, length, bulk);
            let on = mos.on_current(self.swing);
            for (end, net) in ends.into_iter().enumerate() {
                if let Role::Node(number, node) = self.role(net) {
                    loads.push((net.0, load.ends[end]));
                    let gate = self.terminal(number, transistor.gate);
                    let draft = &mut drafts[number as usize];
                    draft.couple(node, gate, load.couplings[end]);
                    draft.attach(node, card.channel, bulk, on);
                }
            }
            if let Some(number) = self.home(ends) {
                let [a, b] = ends.map(|end| self.terminal(number, end));
                let gate = self.terminal(number, transistor.gate);
                drafts[number as usize].switch(mos, gate, a, b);
            }
        }
        for resistor in &circuit.resistors {
            if let Some(number) = self.home(resistor.ends) {
                let [a, b] = resistor.ends.map(|end| self.terminal(number, end));
                drafts[number as usize].resistor(a, b, 1.0 / resistor.resistance);
                for end in [a, b] {
                    if let Terminal::Node(node) = end {
                        drafts[number as usize].carry(node, self.swing / resistor.resistance);
                    }
                }
            }
        }
        for capacitor in &circuit.capacitors {
            if let Role::Node(number, node) = self.role(capacitor.net) {
                loads.push((capacitor.net.0, capacitor.capacitance));
                let from = self.terminal(number, capacitor.reference);
                drafts[number as usize].couple(node, from, capacitor.capacitance);
            }
        }
        loads.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for (net, load) in loads {
            self.capacitances[net as usize] += load;
        }
        Ok(drafts)
    }

    /// The subcircuit that a channel or resistor belongs to; none if both ends are fixed.
    fn home(&self, ends: [NetId; 2]) -> Option<u32> {
        ends.into_iter().find_map(|end| match self.role(end) {
            Role::Node(number, _) => Some(number),
            _ => None,
        })
    }

    fn capacitance(&self, net: u32) -> f64 {
        self.capacitances[net as usize].max(CAPACITANCE_MIN)
    }

    /// An eighth of the delay of the fastest gate. Without gates, of the fastest node.
    fn pace(&self, drafts: &[Draft]) -> f64 {
        let time = |net: u32| match self.roles[net as usize] {
            Role::Node(number, node) => {
                let current = drafts[number as usize].most_current(node);
                0.5 * self.capacitance(net) * self.swing / current
            }
            _ => f64::INFINITY,
        };
        let gates = self.circuit.transistors.iter().map(|t| t.gate.0);
        let mut least = gates.map(time).fold(f64::INFINITY, f64::min);
        if !least.is_finite() {
            least = (0..self.roles.len() as u32).map(time).fold(f64::INFINITY, f64::min);
        }
        if !least.is_finite() {
            return PACE_OF_NOTHING;
        }
        (least * DELAY_BY_CHARGE * PACE_BY_DELAY).max(PACE_MIN)
    }

    /// Puts all together: templates, tables, and who reads what.
    fn assemble(
        self,
        mut drafts: Vec<Draft>,
        margins: Margins,
        pace: f64,
    ) -> Result<Network, CircuitError> {
        let circuit = self.circuit;
        let mut read = vec![false; self.roles.len()];
        let mut signal = vec![false; self.roles.len()];
        for transistor in &circuit.transistors {
            signal[transistor.gate.index()] = true;
        }
        // The inputs that each draft has asked for, now in the order of their names.
        let inputs: Vec<Vec<u32>> = drafts.iter_mut().map(Draft::close_inputs).collect();
        for &net in inputs.iter().flatten() {
            read[net as usize] = true;
        }
        let mut members: Vec<Vec<u32>> =
            drafts.iter().map(|draft| vec![0; draft.nodes()]).collect();
        for (net, role) in self.roles.iter().enumerate() {
            if let Role::Node(number, node) = *role {
                members[number as usize][node as usize] = net as u32;
            }
        }
        let mut network = Network {
            templates: Vec::new(),
            subcircuits: Vec::with_capacity(drafts.len()),
            nodes: Vec::new(),
            inputs: Vec::new(),
            reader_starts: Vec::new(),
            readers: Vec::new(),
            waveforms: self.waveforms.clone(),
            transistors: circuit.transistors.len(),
            margins,
            pace,
            threshold: circuit.threshold(),
        };
        let mut known: HashMap<Vec<u64>, u32> = HashMap::new();
        // By net: its node after reordering.
        let mut places = vec![u32::MAX; self.roles.len()];
        for (draft, nets) in drafts.iter().zip(&members) {
            let is_read: Vec<bool> = nets.iter().map(|&net| read[net as usize]).collect();
            let Some((template, order)) = draft.template(&is_read) else {
                let net = circuit.nets[nets[0] as usize].clone();
                return Err(CircuitError::TooDense { net, nodes: nets.len() });
            };
            let first_node = network.nodes.len() as u32;
            for (place, &node) in order.iter().enumerate() {
                let net = nets[node as usize];
                places[net as usize] = place as u32;
                network.nodes.push(Node {
                    net,
                    capacitance: self.capacitance(net),
                    is_signal: signal[net as usize] || draft.is_between_channels(node),
                    is_stack: draft.is_stack(node),
                    is_watched: false,
                    is_drawn: false,
                    bulk: draft.bulk(node),
                    initial: draft.bulk(node).filter(|_| draft.is_stack(node)).unwrap_or(0.0),
                });
            }
            let next = network.templates.len() as u32;
            let words = template.words();
            let template_number = *known.entry(words).or_insert(next);
            network.subcircuits.push(Subcircuit {
                template: template_number,
                first_node,
                first_input: 0,
                first_output: 0,
            });
            if template_number == next {
                network.templates.push(template);
            }
        }
        self.connect(&mut network, &inputs, &places);
        Ok(network)
    }

    /// Fills in what each input reads, and the readers of each output.
    fn connect(&self, network: &mut Network, inputs: &[Vec<u32>], places: &[u32]) {
        let mut readers: Vec<Vec<Reader>> = vec![Vec::new(); self.roles.len()];
        for (number, nets) in inputs.iter().enumerate() {
            network.subcircuits[number].first_input = network.inputs.len() as u32;
            for (input, &net) in nets.iter().enumerate() {
                network.inputs.push(match self.roles[net as usize] {
                    Role::Moving(source) => Driver::Source(source),
                    Role::Node(subcircuit, _) => {
                        let reader = Reader { subcircuit: number as u32, input: input as u32 };
                        readers[net as usize].push(reader);
                        Driver::Node { subcircuit, node: places[net as usize] }
                    }
                    Role::Constant(_) | Role::Unused => unreachable!("no input of a subcircuit"),
                });
            }
        }
        network.reader_starts.push(0);
        let mut outputs = 0;
        for subcircuit in &mut network.subcircuits {
            subcircuit.first_output = outputs;
            for &node in &network.templates[subcircuit.template as usize].outputs {
                let net = network.nodes[(subcircuit.first_node + node) as usize].net;
                network.readers.append(&mut readers[net as usize]);
                network.reader_starts.push(network.readers.len() as u32);
                outputs += 1;
            }
        }
    }
}

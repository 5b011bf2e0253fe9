//! The elements of one subcircuit, gathered and brought into an order: what becomes a
//! [`Template`].
//!
//! Used by the [partition](crate::partition) only.
//!
//! # Invariants
//!
//! - **DRAFT-A.** The order in which elements are added changes nothing: they are sorted by their
//!   terminals and values before they are used.

use std::collections::BTreeMap;

use crate::{
    circuit::Channel,
    device::Mos,
    matrix::{self, Pattern},
    network::{Coupling, Edge, Switch, Template},
};

/// A terminal of an element, as its subcircuit sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Terminal {
    Node(u32),
    /// A net that moves and that is no node, and its rank in the order of names.
    Input {
        rank: u32,
        net: u32,
    },
    Constant(f64),
}

/// The rails and currents that transistors connect a node to.
#[derive(Clone, Copy, Debug, Default)]
struct Attached {
    /// Ends of N and of P channels.
    ends: [u32; 2],
    /// The lowest bulk of its N channels and the highest one of its P channels (V).
    bulks: [f64; 2],
    /// The greatest current of one element (A).
    most_current: f64,
}

/// A subcircuit under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    attached: Vec<Attached>,
    switches: Vec<(Mos, [Terminal; 3])>,
    resistors: Vec<(f64, [Terminal; 2])>,
    couplings: Vec<(u32, Terminal, f64)>,
    /// By rank: the net, and after [`close_inputs`](Self::close_inputs) the number of the input.
    inputs: BTreeMap<u32, (u32, u32)>,
    constants: Vec<f64>,
}

impl Draft {
    pub(crate) fn new(nodes: usize) -> Self {
        Self { attached: vec![Attached::default(); nodes], ..Self::default() }
    }

    pub(crate) const fn nodes(&self) -> usize {
        self.attached.len()
    }

    /// Notes that a transistor is connected to a node.
    pub(crate) fn attach(&mut self, node: u32, channel: Channel, bulk: f64, current: f64) {
        let Attached { ends: [of_n, of_p], bulks: [low, high], .. } =
            &mut self.attached[node as usize];
        match channel {
            Channel::N => {
                *low = if *of_n == 0 { bulk } else { low.min(bulk) };
                *of_n += 1;
            }
            Channel::P => {
                *high = if *of_p == 0 { bulk } else { high.max(bulk) };
                *of_p += 1;
            }
        }
        self.carry(node, current);
    }

    /// Notes that an element carries at most this current to a node.
    pub(crate) fn carry(&mut self, node: u32, current: f64) {
        let most = &mut self.attached[node as usize].most_current;
        *most = most.max(current);
    }

    /// The greatest current of one element at a node (A).
    pub(crate) fn most_current(&self, node: u32) -> f64 {
        self.attached[node as usize].most_current
    }

    /// Whether both kinds of channels meet at a node, as at the output of a gate.
    pub(crate) fn is_between_channels(&self, node: u32) -> bool {
        !self.attached[node as usize].ends.contains(&0)
    }

    /// Whether channels of one kind only are connected to a node, as inside a stack.
    pub(crate) fn is_stack(&self, node: u32) -> bool {
        let [of_n, of_p] = self.attached[node as usize].ends;
        (of_n == 0) != (of_p == 0)
    }

    /// The mean voltage of the bulks of the channels at a node, which their junctions draw it to.
    pub(crate) fn bulk(&self, node: u32) -> Option<f64> {
        let Attached { ends: [of_n, of_p], bulks: [low, high], .. } = self.attached[node as usize];
        let all = f64::from(of_n) + f64::from(of_p);
        (all > 0.0).then(|| (f64::from(of_n) * low + f64::from(of_p) * high) / all)
    }

    pub(crate) fn switch(&mut self, mos: Mos, gate: Terminal, a: Terminal, b: Terminal) {
        if a != b {
            [gate, a, b].into_iter().for_each(|terminal| self.note(terminal));
            self.switches.push((mos, [gate, a, b]));
        }
    }

    pub(crate) fn resistor(&mut self, a: Terminal, b: Terminal, conductance: f64) {
        if a != b {
            [a, b].into_iter().for_each(|terminal| self.note(terminal));
            self.resistors.push((conductance, [a, b]));
        }
    }

    /// Adds a capacitor to something that moves; one to a constant drives nothing.
    pub(crate) fn couple(&mut self, node: u32, from: Terminal, capacitance: f64) {
        if capacitance > 0.0
            && !matches!(from, Terminal::Constant(_))
            && from != Terminal::Node(node)
        {
            self.note(from);
            self.couplings.push((node, from, capacitance));
        }
    }

    fn note(&mut self, terminal: Terminal) {
        match terminal {
            Terminal::Node(_) => {}
            Terminal::Input { rank, net } => _ = self.inputs.insert(rank, (net, 0)),
            Terminal::Constant(value) => self.constants.push(value),
        }
    }

    /// Numbers the inputs in the order of names and returns their nets; orders the constants.
    pub(crate) fn close_inputs(&mut self) -> Vec<u32> {
        self.constants.sort_unstable_by(f64::total_cmp);
        self.constants.dedup();
        let inputs = self.inputs.values_mut().enumerate();
        inputs
            .map(|(number, (net, input))| {
                *input = number as u32;
                *net
            })
            .collect()
    }

    /// The place of a terminal, with nodes at these places.
    fn place(&self, terminal: Terminal, places: &[u32]) -> u32 {
        let nodes = self.nodes() as u32;
        match terminal {
            Terminal::Node(node) => places[node as usize],
            Terminal::Input { rank, .. } => nodes + self.inputs[&rank].1,
            Terminal::Constant(value) => {
                let at = self.constants.partition_point(|constant| *constant < value);
                nodes + self.inputs.len() as u32 + at as u32
            }
        }
    }

    /// The template, and the nodes in its order; nothing if its matrix would be too large.
    pub(crate) fn template(&self, is_output: &[bool]) -> Option<(Template, Vec<u32>)> {
        let nodes = self.nodes();
        let pairs = self.switches.iter().map(|&(_, [_, a, b])| (a, b));
        let pairs = pairs.chain(self.resistors.iter().map(|&(_, [a, b])| (a, b)));
        let inner: Vec<(u32, u32)> = pairs
            .filter_map(|pair| match pair {
                (Terminal::Node(a), Terminal::Node(b)) => Some((a, b)),
                _ => None,
            })
            .collect();
        let order = matrix::order(nodes, &inner)?;
        let mut places = vec![0; nodes];
        for (place, &node) in order.iter().enumerate() {
            places[node as usize] = place as u32;
        }
        let inner: Vec<_> =
            inner.iter().map(|&(a, b)| (places[a as usize], places[b as usize])).collect();
        let pattern = Pattern::new(nodes, &inner);
        let edge = |a, b| {
            let (a, b) = (self.place(a, &places), self.place(b, &places));
            let (a, b) = (a.min(b), a.max(b));
            let is_inner = (b as usize) < nodes;
            Edge { a, b, position: if is_inner { pattern.position(a, b) } else { 0 } }
        };
        let mut switches: Vec<Switch> = self
            .switches
            .iter()
            .map(|&(mos, [gate, a, b])| Switch {
                mos,
                edge: edge(a, b),
                gate: self.place(gate, &places),
            })
            .collect();
        switches.sort_unstable_by_key(|s| (s.edge.a, s.edge.b, s.gate, s.mos.words()));
        let mut resistors: Vec<(Edge, f64)> =
            self.resistors.iter().map(|&(g, [a, b])| (edge(a, b), g)).collect();
        resistors.sort_unstable_by_key(|(edge, g)| (edge.a, edge.b, g.to_bits()));
        let mut couplings: Vec<Coupling> = self
            .couplings
            .iter()
            .map(|&(node, from, capacitance)| Coupling {
                node: places[node as usize],
                from: self.place(from, &places),
                capacitance,
            })
            .collect();
        couplings.sort_unstable_by_key(|c| (c.node, c.from, c.capacitance.to_bits()));
        let is_inner = |edge: &Edge| (edge.b as usize) < nodes;
        let (inner_switches, outer_switches): (Vec<_>, Vec<_>) =
            switches.into_iter().partition(|switch| is_inner(&switch.edge));
        let (inner_resistors, outer_resistors): (Vec<_>, Vec<_>) =
            resistors.into_iter().partition(|(edge, _)| is_inner(edge));
        let outputs = (0..nodes as u32).filter(|&place| is_output[order[place as usize] as usize]);
        let template = Template {
            nodes,
            inputs: self.inputs.len(),
            constants: self.constants.clone().into(),
            inner_switches: inner_switches.into(),
            outer_switches: outer_switches.into(),
            inner_resistors: inner_resistors.into(),
            outer_resistors: outer_resistors.into(),
            couplings: couplings.into(),
            outputs: outputs.collect(),
            pattern,
        };
        Some((template, order))
    }
}

impl Template {
    /// The numbers that make two templates equal. The pattern follows from them.
    pub(crate) fn words(&self) -> Vec<u64> {
        let mut words = vec![self.nodes as u64, self.inputs as u64, self.constants.len() as u64];
        words.extend(self.constants.iter().map(|constant| constant.to_bits()));
        let switches = self.inner_switches.iter().chain(&self.outer_switches);
        words.push((self.inner_switches.len() + self.outer_switches.len()) as u64);
        for switch in switches {
            words.extend([switch.edge.a, switch.edge.b, switch.gate].map(u64::from));
            words.extend(switch.mos.words());
        }
        words.push((self.inner_resistors.len() + self.outer_resistors.len()) as u64);
        for (edge, g) in self.inner_resistors.iter().chain(&self.outer_resistors) {
            words.extend([u64::from(edge.a), u64::from(edge.b), g.to_bits()]);
        }
        words.push(self.couplings.len() as u64);
        for coupling in &self.couplings {
            let Coupling { node, from, capacitance } = *coupling;
            words.extend([u64::from(node), u64::from(from), capacitance.to_bits()]);
        }
        words.extend(self.outputs.iter().map(|&node| u64::from(node)));
        words
    }
}

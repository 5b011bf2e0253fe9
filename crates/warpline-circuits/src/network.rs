//! A circuit as it is simulated: subcircuits, what they read, and who reads them.
//!
//! Made once by the [partition](crate::partition), and read in every step; nothing changes it. What
//! subcircuits of one kind have in common is kept once, as a [`Template`]: a standard-cell circuit
//! has some ten templates, which stay in the cache.
//!
//! The values of a subcircuit have places: its nodes first, then its inputs, then its constants.

use serde::{Deserialize, Serialize};

use crate::{circuit::Waveform, device::Mos, matrix::Pattern, tolerance::Margins};

/// The least capacitance of a node (F): one without any would have no slope.
pub(crate) const CAPACITANCE_MIN: f64 = 1e-17;

/// A conductance between two places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    /// A node.
    pub(crate) a: u32,
    /// A node, or any other place.
    pub(crate) b: u32,
    /// Between two nodes, the position in the matrix.
    pub(crate) position: u32,
}

/// A transistor with its place in a subcircuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Switch {
    pub(crate) mos: Mos,
    pub(crate) edge: Edge,
    pub(crate) gate: u32,
}

/// A capacitor to something that moves in a known way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Coupling {
    /// The node that it drives.
    pub(crate) node: u32,
    /// The place of what moves: a node or an input.
    pub(crate) from: u32,
    /// In farads.
    pub(crate) capacitance: f64,
}

/// What subcircuits of one kind have in common.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    pub(crate) nodes: usize,
    pub(crate) inputs: usize,
    pub(crate) constants: Box<[f64]>,
    /// Transistors between two nodes.
    pub(crate) inner_switches: Box<[Switch]>,
    /// Transistors between a node and an input or constant.
    pub(crate) outer_switches: Box<[Switch]>,
    /// Resistors, and their conductances (S).
    pub(crate) inner_resistors: Box<[(Edge, f64)]>,
    pub(crate) outer_resistors: Box<[(Edge, f64)]>,
    pub(crate) couplings: Box<[Coupling]>,
    /// The nodes that other subcircuits read.
    pub(crate) outputs: Box<[u32]>,
    pub(crate) pattern: Pattern,
}

/// A subcircuit: a channel-connected component of the circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Subcircuit {
    pub(crate) template: u32,
    /// Where its nodes begin in the tables of nodes.
    pub(crate) first_node: u32,
    /// Where its inputs begin in the table of inputs.
    pub(crate) first_input: u32,
    /// Where its outputs begin in the table of outputs.
    pub(crate) first_output: u32,
}

/// A node of a subcircuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) net: u32,
    /// In farads.
    pub(crate) capacitance: f64,
    /// Whether its crossings are counted.
    pub(crate) is_signal: bool,
    /// Whether channels of one kind only are connected to it.
    pub(crate) is_stack: bool,
    /// The voltage that the junctions of its channels draw it to.
    pub(crate) bulk: Option<f64>,
    /// Whether its waveform leaves the run as outputs.
    pub(crate) is_watched: bool,
    /// Whether the result has its waveform.
    pub(crate) is_drawn: bool,
    /// Its voltage at the start.
    pub(crate) initial: f64,
}

impl Node {
    /// Whether a process tells its waveform.
    #[inline]
    pub(crate) const fn is_sampled(&self) -> bool {
        self.is_watched || self.is_drawn
    }
}

/// What an input reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Driver {
    /// The node with this number, of this subcircuit.
    Node { subcircuit: u32, node: u32 },
    /// The source with this number.
    Source(u32),
}

/// An input that reads an output.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reader {
    pub(crate) subcircuit: u32,
    /// The number of the input.
    pub(crate) input: u32,
}

/// The whole circuit.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) templates: Vec<Template>,
    pub(crate) subcircuits: Vec<Subcircuit>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<Driver>,
    /// By output, and one more: where its readers begin.
    pub(crate) reader_starts: Vec<u32>,
    pub(crate) readers: Vec<Reader>,
    /// The voltages of sources that are not constant.
    pub(crate) waveforms: Vec<Waveform>,
    pub(crate) transistors: usize,
    pub(crate) margins: Margins,
    /// About an eighth of the fastest gate's delay (s).
    pub(crate) pace: f64,
    /// The voltage half way between the rails.
    pub(crate) threshold: f64,
}

impl Network {
    /// The subcircuit and its template.
    #[inline]
    pub(crate) fn subcircuit(&self, index: usize) -> (&Subcircuit, &Template) {
        let subcircuit = &self.subcircuits[index];
        (subcircuit, &self.templates[subcircuit.template as usize])
    }

    /// The nodes of a subcircuit.
    #[inline]
    pub(crate) fn nodes_of(&self, index: usize) -> &[Node] {
        let (subcircuit, template) = self.subcircuit(index);
        &self.nodes[subcircuit.first_node as usize..][..template.nodes]
    }

    /// What the inputs of a subcircuit read.
    #[inline]
    pub(crate) fn inputs_of(&self, index: usize) -> &[Driver] {
        let (subcircuit, template) = self.subcircuit(index);
        &self.inputs[subcircuit.first_input as usize..][..template.inputs]
    }

    /// The readers of an output of a subcircuit.
    #[inline]
    pub(crate) fn readers_of(&self, index: usize, output: usize) -> &[Reader] {
        let output = self.subcircuits[index].first_output as usize + output;
        let [start, end] = [output, output + 1].map(|at| self.reader_starts[at] as usize);
        &self.readers[start..end]
    }
}

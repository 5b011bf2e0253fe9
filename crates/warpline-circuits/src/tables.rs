//! The states of neighboring subcircuits, in tables: what a process of the [model](crate::model)
//! and the [bare loop](crate::bare) work on.
//!
//! Tables grow only while they are made. Copies of them are made into old copies, without
//! allocation.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use warpline::state::heap_block;

use crate::{
    network::{Driver, Network},
    stimulus::{self, Segment},
    subcircuit::{Clock, Input, State, Subject, Tally},
};

/// The states of the subcircuits from one number on.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Tables {
    /// The first subcircuit.
    first: usize,
    /// By subcircuit: when its next step is due.
    pub(crate) due: Vec<f64>,
    pub(crate) clocks: Vec<Clock>,
    /// For each subcircuit, the voltages of its nodes and then their slopes.
    pub(crate) nodes: Vec<f64>,
    pub(crate) published: Vec<Segment>,
    pub(crate) inputs: Vec<Input>,
    /// Of all subcircuits together.
    pub(crate) tally: Tally,
}

impl Clone for Tables {
    fn clone(&self) -> Self {
        Self {
            first: self.first,
            due: self.due.clone(),
            clocks: self.clocks.clone(),
            nodes: self.nodes.clone(),
            published: self.published.clone(),
            inputs: self.inputs.clone(),
            tally: self.tally,
        }
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { first, due, clocks, nodes, published, inputs, tally } = self;
        (*first, *tally) = (source.first, source.tally);
        due.clone_from(&source.due);
        clocks.clone_from(&source.clocks);
        nodes.clone_from(&source.nodes);
        published.clone_from(&source.published);
        inputs.clone_from(&source.inputs);
    }
}

impl Tables {
    /// What it owns on the heap.
    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        heap_block(self.due.capacity() * size_of::<f64>())
            + heap_block(self.clocks.capacity() * size_of::<Clock>())
            + heap_block(self.nodes.capacity() * size_of::<f64>())
            + heap_block(self.published.capacity() * size_of::<Segment>())
            + heap_block(self.inputs.capacity() * size_of::<Input>())
    }

    /// The first states of these subcircuits.
    pub(crate) fn new(network: &Network, subcircuits: Range<usize>) -> Self {
        let mut tables = Self { first: subcircuits.start, ..Self::default() };
        for index in subcircuits {
            tables.append(network, index);
        }
        tables
    }

    /// Appends the first state of a subcircuit.
    fn append(&mut self, network: &Network, index: usize) {
        let nodes = network.nodes_of(index);
        self.nodes.extend(nodes.iter().map(|node| node.initial));
        self.nodes.extend(nodes.iter().map(|_| 0.0));
        let outputs = network.subcircuit(index).1.outputs.iter();
        let published = outputs.map(|&node| Segment::constant(nodes[node as usize].initial));
        self.published.extend(published);
        let mut breakpoint = f64::INFINITY;
        for driver in network.inputs_of(index) {
            let last = match *driver {
                Driver::Node { subcircuit, node } => {
                    let nodes = network.nodes_of(subcircuit as usize);
                    Segment::constant(nodes[node as usize].initial)
                }
                Driver::Source(source) => {
                    let waveform = &network.waveforms[source as usize];
                    let (segment, end) = stimulus::segment(waveform, 0.0);
                    breakpoint = f64::min(breakpoint, end);
                    segment
                }
            };
            self.inputs.push(Input::new(last));
        }
        self.due.push(network.margins.lookahead.min(breakpoint));
        self.clocks.push(Clock::new(breakpoint));
    }

    /// The number of subcircuits.
    pub(crate) fn len(&self) -> usize {
        self.due.len()
    }

    /// A subcircuit by its place in the tables, and its state.
    #[inline]
    pub(crate) fn at<'t, 'n>(
        &'t mut self,
        network: &'n Network,
        place: usize,
    ) -> (Subject<'n>, State<'t>) {
        let index = self.first + place;
        let (subcircuit, template) = network.subcircuit(index);
        let base = &network.subcircuits[self.first];
        let node = 2 * (subcircuit.first_node - base.first_node) as usize;
        let output = (subcircuit.first_output - base.first_output) as usize;
        let input = (subcircuit.first_input - base.first_input) as usize;
        let state = State {
            due: &mut self.due[place],
            clock: &mut self.clocks[place],
            nodes: &mut self.nodes[node..node + 2 * template.nodes],
            published: &mut self.published[output..output + template.outputs.len()],
            inputs: &mut self.inputs[input..input + template.inputs],
            tally: &mut self.tally,
        };
        (Subject { network, index }, state)
    }

    /// When the first step of all is due.
    #[inline]
    pub(crate) fn first_due(&self) -> f64 {
        self.due.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

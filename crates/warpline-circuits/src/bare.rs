//! The same simulation without any engine: the yardstick of its cost.
//!
//! Run by `warpline bench` and by tests. Steps wait in one heap; segments wait in one list, because
//! all of an interval are delivered together. There are no processes, no keys and no digest.
//! Voltages are those of the engines, bit by bit: nothing that happens in one interval depends on
//! an order (`SUB-B`).

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    integration::Scratch,
    model::{CircuitModel, CircuitOutput},
    network::{Network, Node},
    stimulus::Segment,
    subcircuit::Carrier,
    tables::Tables,
};

/// A segment that was published.
#[derive(Clone, Copy, Debug)]
struct Published {
    subcircuit: u32,
    output: u32,
    segment: Segment,
}

/// Puts segments into the list.
struct List<'a> {
    segments: &'a mut Vec<Published>,
    subcircuit: u32,
}

impl Carrier for List<'_> {
    #[inline]
    fn publish(&mut self, output: usize, segment: Segment) {
        let (subcircuit, output) = (self.subcircuit, output as u32);
        self.segments.push(Published { subcircuit, output, segment });
    }

    fn sample(&mut self, _: &Node, _: f64, _: f64, _: f64) {}
}

/// What the loop works on.
struct Loop<'n> {
    network: &'n Network,
    tables: Tables,
    /// Times of steps, as bits, and their subcircuits; superseded ones among them.
    steps: BinaryHeap<Reverse<(u64, u32)>>,
    /// Published in this interval, and delivered at its beginning.
    published: Vec<Published>,
    delivered: Vec<Published>,
    scratch: Scratch,
}

/// Simulates a circuit up to `end` (s), without the waveforms of watched nets.
#[must_use]
pub fn run(model: &CircuitModel, end: f64) -> CircuitOutput {
    let network = model.network();
    let count = network.subcircuits.len();
    let mut all = Loop {
        network,
        tables: Tables::new(network, 0..count),
        steps: BinaryHeap::with_capacity(2 * count),
        published: Vec::new(),
        delivered: Vec::new(),
        scratch: Scratch::default(),
    };
    for index in 0..count {
        all.schedule(index);
    }
    let intervals = network.margins.intervals();
    let mut interval = 0;
    loop {
        let first = all.steps.peek().map_or(f64::INFINITY, |first| f64::from_bits(first.0.0));
        if !all.published.is_empty() {
            interval += 1;
        } else if first.is_finite() {
            interval = intervals.of(first);
        } else {
            break;
        }
        if intervals.steps(interval) >= end {
            break;
        }
        all.deliver(intervals.begin(interval));
        all.steps_before(intervals.begin(interval + 1));
    }
    CircuitOutput::new(network, all.tables.tally, None)
}

impl Loop<'_> {
    fn schedule(&mut self, index: usize) {
        let due = self.tables.due[index];
        if due < f64::INFINITY {
            self.steps.push(Reverse((due.to_bits(), index as u32)));
        }
    }

    fn steps_before(&mut self, end: f64) {
        while let Some(&Reverse((time, subcircuit))) = self.steps.peek() {
            let (now, index) = (f64::from_bits(time), subcircuit as usize);
            if now >= end {
                return;
            }
            self.steps.pop();
            if now == self.tables.due[index] {
                let (subject, mut state) = self.tables.at(self.network, index);
                let mut list = List { segments: &mut self.published, subcircuit };
                subject.fire(&mut state, &mut self.scratch, &mut list);
                self.schedule(index);
            }
        }
    }

    fn deliver(&mut self, now: f64) {
        std::mem::swap(&mut self.published, &mut self.delivered);
        self.published.clear();
        for at in 0..self.delivered.len() {
            let Published { subcircuit, output, segment } = self.delivered[at];
            for reader in self.network.readers_of(subcircuit as usize, output as usize) {
                let index = reader.subcircuit as usize;
                let (subject, mut state) = self.tables.at(self.network, index);
                let before = *state.due;
                let mut list = List { segments: &mut self.published, subcircuit };
                subject.receive(&mut state, now, reader.input as usize, segment, &mut list);
                if *state.due < before {
                    self.schedule(index);
                }
            }
        }
    }
}

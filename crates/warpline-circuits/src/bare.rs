//! The same simulation without any engine: the yardstick of its cost.
//!
//! Run by `warpline bench` and by tests. Steps wait in one heap; segments wait in one queue, because
//! all of them take the same time. There are no processes, no keys and no digest. Voltages are those
//! of the engines, bit by bit: nothing that happens at one time depends on an order (`INSTANT-A`,
//! `SUB-B`).

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use crate::{
    instant,
    integration::Scratch,
    model::{CircuitModel, CircuitOutput},
    network::Network,
    stimulus::Segment,
    subcircuit::{Carrier, State, Subject},
};

/// A segment that was published, until its delivery.
#[derive(Debug)]
struct Delivery {
    arrival: f64,
    subcircuit: u32,
    output: u32,
    segment: Segment,
}

/// Puts segments into the queue.
struct Queue<'a> {
    deliveries: &'a mut VecDeque<Delivery>,
    lookahead: f64,
    subcircuit: u32,
}

impl Carrier for Queue<'_> {
    #[inline]
    fn publish(&mut self, output: usize, segment: Segment) {
        let arrival = instant::of_delivery(segment.origin + self.lookahead);
        let (subcircuit, output) = (self.subcircuit, output as u32);
        self.deliveries.push_back(Delivery { arrival, subcircuit, output, segment });
    }

    fn sample(&mut self, _: u32, _: f64, _: f64, _: f64) {}
}

/// What the loop works on.
struct Loop<'n> {
    network: &'n Network,
    states: Vec<State>,
    /// Times of steps, as bits, and their subcircuits; superseded ones among them.
    steps: BinaryHeap<Reverse<(u64, u32)>>,
    deliveries: VecDeque<Delivery>,
    scratch: Scratch,
}

/// Simulates a circuit up to `end` (s), without the waveforms of watched nets.
#[must_use]
pub fn run(model: &CircuitModel, end: f64) -> CircuitOutput {
    let network = model.network();
    let count = network.subcircuits.len();
    let mut all = Loop {
        network,
        states: (0..count).map(|index| State::new(network, index)).collect(),
        steps: BinaryHeap::with_capacity(2 * count),
        deliveries: VecDeque::new(),
        scratch: Scratch::default(),
    };
    for index in 0..count {
        all.schedule(index);
    }
    loop {
        let arrival = all.deliveries.front().map_or(f64::INFINITY, |delivery| delivery.arrival);
        let step = all.steps.peek().map_or(f64::INFINITY, |first| f64::from_bits(first.0.0));
        if arrival.min(step) >= end {
            break;
        }
        if step < arrival { all.step() } else { all.deliver() }
    }
    CircuitOutput::new(network, all.states.iter().map(|state| state.tally))
}

impl Loop<'_> {
    fn schedule(&mut self, index: usize) {
        let due = self.states[index].next_step();
        if due < f64::INFINITY {
            self.steps.push(Reverse((due.to_bits(), index as u32)));
        }
    }

    fn step(&mut self) {
        let Some(Reverse((time, subcircuit))) = self.steps.pop() else { return };
        let (now, index) = (f64::from_bits(time), subcircuit as usize);
        let state = &mut self.states[index];
        if now != state.next_step() {
            return;
        }
        let lookahead = self.network.margins.lookahead;
        let mut queue = Queue { deliveries: &mut self.deliveries, lookahead, subcircuit };
        let subject = Subject { network: self.network, index };
        subject.fire(state, now, &mut self.scratch, &mut queue);
        self.schedule(index);
    }

    fn deliver(&mut self) {
        let Some(delivery) = self.deliveries.pop_front() else { return };
        let Delivery { arrival, subcircuit, output, segment } = delivery;
        for reader in self.network.readers_of(subcircuit as usize, output as usize) {
            let index = reader.subcircuit as usize;
            let subject = Subject { network: self.network, index };
            let mut queue =
                Queue { deliveries: &mut self.deliveries, lookahead: 0.0, subcircuit: 0 };
            let (state, input) = (&mut self.states[index], reader.input as usize);
            if subject.receive(state, arrival, input, segment, &mut queue) {
                self.schedule(index);
            }
        }
    }
}

//! The state of a subcircuit, and what it does when a segment arrives or a step is due.
//!
//! Called by the [model](crate::model) and by the [bare loop](crate::bare), which carry segments
//! and steps. A net's waveform is published as straight segments; readers extrapolate the last one.
//! A subcircuit steps as far as linear extrapolation of its nodes holds, publishes what its readers
//! can no longer extrapolate, and sleeps when all is at rest.
//!
//! # Invariants
//!
//! - **SUB-B.** What segments for several inputs that arrive at the same time do does not depend on
//!   their order.
//! - **SUB-C.** Steps end at the breakpoints of sources, so no step has one inside.
//!
//! # References
//!
//! Wen and Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, sections 2 and 4:
//! events where a voltage cannot be extrapolated linearly.

use serde::{Deserialize, Serialize};

use crate::{
    integration::{Scratch, Stepped},
    network::{Driver, Network, Node, Template},
    stimulus::{self, Segment},
    tolerance::Margins,
};

/// Most parts of a step that is done again.
const PARTS_MAX: f64 = 8.0;
/// An error that is greater than this number of times the aim makes a step be done again.
const REDO: f64 = 4.0;
/// How much of the aimed-at error a next step should have.
const SAFETY: f64 = 0.9;
/// By how much a step may be shorter and longer than the one before.
const SHRINK_MAX: f64 = 0.3;
const GROWTH_MAX: f64 = 2.0;

/// An input: the last segment that has arrived, and the one before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Input {
    last: Segment,
    before: Segment,
}

/// What a subcircuit knows of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Clock {
    /// The time of the voltages.
    time: f64,
    /// The next breakpoint of a source that is read directly.
    breakpoint: f64,
    is_asleep: bool,
}

impl Clock {
    /// At the beginning, before this breakpoint.
    pub(crate) const fn new(breakpoint: f64) -> Self {
        Self { time: 0.0, breakpoint, is_asleep: false }
    }
}

/// The state of one subcircuit, within tables of many.
#[derive(Debug)]
pub(crate) struct State<'t> {
    /// When the next step is due, or the next breakpoint while asleep; infinity for none.
    pub(crate) due: &'t mut f64,
    pub(crate) clock: &'t mut Clock,
    /// Voltages of nodes, then their slopes.
    pub(crate) nodes: &'t mut [f64],
    /// What was published of each output.
    pub(crate) published: &'t mut [Segment],
    pub(crate) inputs: &'t mut [Input],
    pub(crate) tally: &'t mut Tally,
}

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Steps that were accepted.
    pub steps: u64,
    /// Segments that were published.
    pub events: u64,
    /// Crossings of the threshold by nets that drive a gate or lie between channels of
    /// both kinds.
    pub crossings: u64,
    /// Energy from fixed nets through channels and resistors (J).
    pub energy: f64,
}

impl Tally {
    /// Adds another one.
    pub(crate) fn add(&mut self, other: &Self) {
        self.steps += other.steps;
        self.events += other.events;
        self.crossings += other.crossings;
        self.energy += other.energy;
    }
}

/// What carries the effects of a subcircuit to others. Called by reference, half a time per step:
/// so the code of a step is compiled once, and not for each engine (half of the crate's build).
pub(crate) trait Carrier {
    /// Publishes a new segment of an output.
    fn publish(&mut self, output: usize, segment: Segment);

    /// Tells a voltage and its slope of a node that is watched or drawn.
    fn sample(&mut self, node: &Node, time: f64, value: f64, slope: f64);
}

/// A subcircuit of a network, to be worked on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'n> {
    pub(crate) network: &'n Network,
    pub(crate) index: usize,
}

impl State<'_> {
    /// Begins to step again; nothing has changed up to `time`.
    fn wake(&mut self, time: f64) {
        self.clock.is_asleep = false;
        self.clock.time = time.max(self.clock.time);
    }
}

impl Input {
    /// An input that has had this segment for ever.
    pub(crate) const fn new(segment: Segment) -> Self {
        Self { last: segment, before: segment }
    }

    /// Its voltage and slope at `time`, within the range of all voltages.
    #[inline]
    fn at(&self, time: f64, margins: &Margins) -> (f64, f64) {
        let segment = if time >= self.last.origin { &self.last } else { &self.before };
        clamped(segment, time, margins)
    }
}

/// The voltage and slope of a published segment: it ends where it reaches a rail.
#[inline]
fn clamped(segment: &Segment, time: f64, margins: &Margins) -> (f64, f64) {
    let value = segment.at(time);
    if value < margins.low {
        (margins.low, 0.0)
    } else if value > margins.high {
        (margins.high, 0.0)
    } else {
        (value, segment.slope)
    }
}

impl Subject<'_> {
    fn template(&self) -> &Template {
        self.network.subcircuit(self.index).1
    }

    /// Takes a segment that arrives at `now` for an input: the next step may become due earlier.
    #[inline]
    pub(crate) fn receive(
        &self,
        state: &mut State<'_>,
        now: f64,
        input: usize,
        segment: Segment,
        carrier: &mut dyn Carrier,
    ) {
        let margins = &self.network.margins;
        let input = &mut state.inputs[input];
        input.before = input.last;
        input.last = segment;
        // An input may change by so much before the next step.
        let mut length = margins.input_change / segment.slope.abs();
        if state.clock.is_asleep {
            state.wake(now - margins.lookahead);
            self.tell_samples(state, state.clock.time, carrier);
            length = length.min(margins.first_step);
        }
        *state.due = state.due.min((state.clock.time + length).max(now));
    }

    /// Does what is due: a step, or a breakpoint that ends sleep. The next step may be infinitely
    /// late.
    #[inline]
    pub(crate) fn fire(
        &self,
        state: &mut State<'_>,
        scratch: &mut Scratch,
        carrier: &mut dyn Carrier,
    ) {
        let (margins, now) = (&self.network.margins, *state.due);
        let mut length = margins.first_step;
        let mut slept = false;
        if state.clock.is_asleep {
            self.tell_samples(state, now, carrier);
            state.wake(now);
            slept = true;
        } else {
            length = self.advance(state, now, scratch, carrier);
        }
        if now >= state.clock.breakpoint {
            self.pass_breakpoint(state, now);
        }
        let mut steepest = 0.0_f64;
        for input in &*state.inputs {
            steepest = steepest.max(input.at(now, margins).1.abs());
        }
        if steepest == 0.0 && !slept && self.is_at_rest(state) {
            let n = self.template().nodes;
            state.nodes[n..].fill(0.0);
            self.tell_samples(state, now, carrier);
            self.rest(state, now, carrier);
            state.clock.is_asleep = true;
            *state.due = state.clock.breakpoint;
            return;
        }
        let length = length.min(margins.input_change / steepest);
        let length = length.clamp(margins.lookahead, margins.longest_step);
        if !slept {
            self.publish(state, now, length, carrier);
        }
        *state.due = (now + length).min(state.clock.breakpoint);
    }

    /// Integrates up to `now` and returns the length that the next step should have.
    #[inline]
    fn advance(
        &self,
        state: &mut State<'_>,
        now: f64,
        scratch: &mut Scratch,
        carrier: &mut dyn Carrier,
    ) -> f64 {
        let (network, template) = (self.network, self.template());
        let margins = &network.margins;
        let n = template.nodes;
        scratch.keep(state.nodes);
        let mut h = now - state.clock.time;
        let mut stepped = self.step(state, state.clock.time, h, scratch);
        if stepped.error > REDO * margins.step_error {
            let parts = (stepped.error / margins.step_error).sqrt().ceil().min(PARTS_MAX);
            scratch.restore(state.nodes);
            h /= parts;
            stepped.energy = 0.0;
            for part in 0..parts as u32 {
                let begin = state.clock.time + f64::from(part) * h;
                let Stepped { error, energy } = self.step(state, begin, h, scratch);
                stepped = Stepped { error, energy: stepped.energy + energy };
            }
        }
        state.clock.time = now;
        state.tally.steps += 1;
        state.tally.energy += stepped.energy;
        let half = network.threshold;
        let nodes = network.nodes_of(self.index);
        for (node, about) in nodes.iter().enumerate() {
            let (old, new) = (scratch.kept(node), state.nodes[node]);
            state.tally.crossings += u64::from(about.is_signal && (old < half) != (new < half));
            if about.is_sampled() {
                carrier.sample(about, now, new, state.nodes[n + node]);
            }
        }
        let growth = (SAFETY * margins.step_error / stepped.error).sqrt();
        h * growth.clamp(SHRINK_MAX, GROWTH_MAX)
    }

    /// One step of length `h` from `begin` on.
    #[inline]
    fn step(&self, state: &mut State<'_>, begin: f64, h: f64, scratch: &mut Scratch) -> Stepped {
        let (margins, template) = (&self.network.margins, self.template());
        let (voltages, slopes) = scratch.open(template);
        let middle = begin + 0.5 * h;
        for ((input, voltage), slope) in state.inputs.iter().zip(voltages).zip(slopes) {
            (*voltage, *slope) = input.at(middle, margins);
        }
        let (voltages, slopes) = state.nodes.split_at_mut(template.nodes);
        let range = [margins.low, margins.high];
        let nodes = self.network.nodes_of(self.index);
        scratch.step(template, nodes, range, &[], h, (voltages, slopes))
    }

    /// Reads the next segments of sources.
    #[cold]
    fn pass_breakpoint(&self, state: &mut State<'_>, now: f64) {
        state.clock.breakpoint = f64::INFINITY;
        let drivers = self.network.inputs_of(self.index);
        for (input, driver) in state.inputs.iter_mut().zip(drivers) {
            if let Driver::Source(source) = *driver {
                let waveform = &self.network.waveforms[source as usize];
                let (segment, end) = stimulus::segment(waveform, now);
                debug_assert!(end > now, "SUB-C: a segment at {now} that ends at {end}");
                *input = Input { last: segment, before: segment };
                state.clock.breakpoint = state.clock.breakpoint.min(end);
            }
        }
    }

    /// Whether no node moves to speak of.
    #[inline]
    fn is_at_rest(&self, state: &State<'_>) -> bool {
        let limit = self.network.margins.rest_slope;
        state.nodes[self.template().nodes..].iter().all(|slope| slope.abs() < limit)
    }

    /// Publishes the outputs that readers could not extrapolate during the next step.
    #[inline]
    fn publish(&self, state: &mut State<'_>, now: f64, next: f64, carrier: &mut dyn Carrier) {
        let margins = &self.network.margins;
        let template = self.template();
        for (output, &node) in template.outputs.iter().enumerate() {
            let node = node as usize;
            let (value, slope) = (state.nodes[node], state.nodes[template.nodes + node]);
            let (known, known_slope) = clamped(&state.published[output], now, margins);
            let error = margins.event_error;
            if (value - known).abs() > error || ((slope - known_slope) * next).abs() > error {
                let segment = Segment { origin: now, value, slope };
                self.send(state, output, segment, carrier);
            }
        }
    }

    /// Publishes the outputs at rest, where readers do not have their slopes or values.
    fn rest(&self, state: &mut State<'_>, now: f64, carrier: &mut dyn Carrier) {
        let margins = &self.network.margins;
        for (output, &node) in self.template().outputs.iter().enumerate() {
            let value = state.nodes[node as usize];
            let (known, known_slope) = clamped(&state.published[output], now, margins);
            if known_slope != 0.0 || (value - known).abs() > 0.1 * margins.event_error {
                let segment = Segment { origin: now, value, slope: 0.0 };
                self.send(state, output, segment, carrier);
            }
        }
    }

    #[inline]
    fn send(
        &self,
        state: &mut State<'_>,
        output: usize,
        segment: Segment,
        carrier: &mut dyn Carrier,
    ) {
        state.published[output] = segment;
        state.tally.events += 1;
        carrier.publish(output, segment);
    }

    /// Tells that watched or drawn nodes come to rest, or leave it.
    pub(crate) fn tell_samples(&self, state: &State<'_>, time: f64, carrier: &mut dyn Carrier) {
        for (node, about) in self.network.nodes_of(self.index).iter().enumerate() {
            if about.is_sampled() {
                carrier.sample(about, time, state.nodes[node], 0.0);
            }
        }
    }
}

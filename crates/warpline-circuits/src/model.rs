//! A circuit as a model for the engines: each subcircuit is a logical process.
//!
//! Made from a [`Circuit`] by the command, by tests and by other programs. Virtual time is in
//! seconds. An event is a segment of a net's waveform, which arrives a lookahead after its origin
//! and is used from its origin on; or a step, which a subcircuit sends to itself. So every message
//! between subcircuits has the same positive delay, and circuits with feedback run on every engine.
//!
//! Voltages of watched nets leave a run as non-blocking I/O events, a lookahead after the time they
//! belong to: so they come in the order of their times.
//!
//! # References
//!
//! Wen and Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995.

use std::{fmt, sync::Mutex};

use serde::{Deserialize, Serialize};
use warpline::{
    AnyModel, Context, EventKey, Figure, Io, Link, LogicalProcess, LpId, Model, Results,
    VirtualTime, digest::mix, wire::Wires,
};

use crate::{
    circuit::{Circuit, NetId, Sample},
    instant,
    integration::Scratch,
    network::Network,
    partition,
    stimulus::Segment,
    subcircuit::{Carrier, State, Subject},
};
pub use crate::{partition::CircuitError, subcircuit::Tally, tolerance::Tolerance};

thread_local! {
    /// Space for the steps of all subcircuits of a thread.
    static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::default();
}

/// What takes the waveforms of watched nets, in the order of their times.
pub type SampleSink = Box<dyn FnMut(Sample) + Send>;

/// How a circuit is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// How exact it is.
    pub tolerance: Tolerance,
    /// The time from a segment's origin to its delivery (s); `None` derives it from the circuit's
    /// fastest gate.
    pub lookahead: Option<f64>,
}

/// A circuit that is ready to be simulated, at its operating point.
pub struct CircuitModel {
    network: Network,
    sink: Option<Mutex<SampleSink>>,
}

impl fmt::Debug for CircuitModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitModel").field("network", &self.network).finish_non_exhaustive()
    }
}

impl CircuitModel {
    /// Divides a circuit into subcircuits and finds its operating point.
    ///
    /// # Errors
    ///
    /// When the circuit cannot be simulated: the error names the element.
    pub fn new(circuit: &Circuit, options: Options) -> Result<Self, CircuitError> {
        let network = partition::network(circuit, options.tolerance, options.lookahead)?;
        Ok(Self { network, sink: None })
    }

    /// Gives the waveforms of these nets to `sink`: a point for each step of a subcircuit. Nets
    /// with a source, and nets that nothing is connected to, have none.
    #[must_use]
    pub fn watch(mut self, nets: impl IntoIterator<Item = NetId>, sink: SampleSink) -> Self {
        let mut watched: Vec<u32> = nets.into_iter().map(|net| net.0).collect();
        watched.sort_unstable();
        for node in &mut self.network.nodes {
            node.is_watched = watched.binary_search(&node.net).is_ok();
        }
        self.sink = Some(Mutex::new(sink));
        self
    }

    /// The voltages of all nets that no source fixes, at the operating point.
    pub fn operating_point(&self) -> impl Iterator<Item = (NetId, f64)> {
        self.network.nodes.iter().map(|node| (NetId(node.net), node.initial))
    }

    /// The time from a segment's origin to its delivery (s).
    #[must_use]
    pub const fn lookahead_seconds(&self) -> f64 {
        self.network.margins.lookahead
    }

    /// The longest time between two points of a net's waveform while it changes (s).
    #[must_use]
    pub const fn longest_step(&self) -> f64 {
        self.network.margins.longest_step
    }

    pub(crate) const fn network(&self) -> &Network {
        &self.network
    }

    /// The type forgotten, with all engines.
    #[must_use]
    pub fn into_any(self) -> AnyModel {
        AnyModel::new(self)
    }
}

/// A subcircuit as a logical process.
#[derive(Debug)]
pub struct CircuitLp {
    state: State,
}

impl Clone for CircuitLp {
    fn clone(&self) -> Self {
        Self { state: self.state.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.state.clone_from(&source.state);
    }
}

/// The contents of an event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum CircuitMessage {
    /// A step is due, unless it was superseded.
    Step,
    /// A segment for an input.
    Segment {
        /// The number of the input.
        input: u32,
        /// Where the segment begins (s).
        origin: f64,
        /// The voltage there (V).
        value: f64,
        /// In volts per second.
        slope: f64,
    },
    /// A point of the waveform of a watched net.
    Sample {
        /// The number of the net.
        net: u32,
        /// In seconds.
        time: f64,
        /// In volts.
        value: f64,
        /// In volts per second.
        slope: f64,
    },
}

/// Sends what a subcircuit has to tell.
struct Courier<'a, C> {
    network: &'a Network,
    me: LpId,
    now: f64,
    cx: &'a mut C,
}

impl<C: Context<CircuitMessage>> Carrier for Courier<'_, C> {
    #[inline]
    fn publish(&mut self, output: usize, segment: Segment) {
        let Segment { origin, value, slope } = segment;
        let arrival = instant::of_delivery(self.now + self.network.margins.lookahead);
        for reader in self.network.readers_of(self.me.index(), output) {
            let message = CircuitMessage::Segment { input: reader.input, origin, value, slope };
            self.cx.send_at(LpId::new(reader.subcircuit), arrival, message);
        }
    }

    fn sample(&mut self, net: u32, time: f64, value: f64, slope: f64) {
        let arrival = (time + self.network.margins.lookahead).max(self.now);
        let message = CircuitMessage::Sample { net, time, value, slope };
        self.cx.send_io(Io::NonBlocking, self.me, arrival - self.now, message);
    }
}

impl CircuitLp {
    /// Sends itself the next step.
    #[inline]
    fn schedule(&self, cx: &mut impl Context<CircuitMessage>) {
        let due = self.state.next_step();
        if due < f64::INFINITY {
            cx.send_at(cx.me(), due, CircuitMessage::Step);
        }
    }
}

impl LogicalProcess for CircuitLp {
    type Model = CircuitModel;
    type Message = CircuitMessage;
    type Summary = Tally;

    fn start(&mut self, model: &CircuitModel, cx: &mut impl Context<CircuitMessage>) {
        let (network, me) = (&model.network, cx.me());
        let subject = Subject { network, index: me.index() };
        subject.tell_samples(&self.state, 0.0, &mut Courier { network, me, now: 0.0, cx });
        self.schedule(cx);
    }

    #[inline]
    fn handle(
        &mut self,
        model: &CircuitModel,
        message: &CircuitMessage,
        cx: &mut impl Context<CircuitMessage>,
    ) {
        let (network, me, now) = (&model.network, cx.me(), cx.now().get());
        let subject = Subject { network, index: me.index() };
        match *message {
            CircuitMessage::Step if now == self.state.next_step() => {
                SCRATCH.with_borrow_mut(|scratch| {
                    let mut courier = Courier { network, me, now, cx };
                    subject.fire(&mut self.state, now, scratch, &mut courier);
                });
                self.schedule(cx);
            }
            // SUB-C: superseded.
            CircuitMessage::Step | CircuitMessage::Sample { .. } => {}
            CircuitMessage::Segment { input, origin, value, slope } => {
                let segment = Segment { origin, value, slope };
                let mut courier = Courier { network, me, now, cx };
                if subject.receive(&mut self.state, now, input as usize, segment, &mut courier) {
                    self.schedule(cx);
                }
            }
        }
    }

    fn output(model: &CircuitModel, _: LpId, _: &EventKey, message: &CircuitMessage) {
        if let CircuitMessage::Sample { net, time, value, slope } = *message
            && let Some(sink) = &model.sink
        {
            let mut sink = sink.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            sink(Sample { time, net: NetId(net), value, slope });
        }
    }

    fn finish(self, _: &CircuitModel, _: VirtualTime) -> Tally {
        self.state.tally
    }

    #[inline]
    fn identity(message: &CircuitMessage) -> Option<u64> {
        Some(Self::fingerprint(message))
    }

    #[inline]
    fn fingerprint(message: &CircuitMessage) -> u64 {
        match *message {
            CircuitMessage::Step => 0,
            CircuitMessage::Segment { input: to, origin: time, value, slope }
            | CircuitMessage::Sample { net: to, time, value, slope } => {
                mix(mix(u64::from(to) ^ time.to_bits(), value.to_bits()), slope.to_bits())
            }
        }
    }
}

impl Model for CircuitModel {
    type Lp = CircuitLp;
    type Output = CircuitOutput;

    fn name(&self) -> &'static str {
        "circuit"
    }

    fn lp_count(&self) -> usize {
        self.network.subcircuits.len()
    }

    fn make_lp(&self, id: LpId) -> CircuitLp {
        CircuitLp { state: State::new(&self.network, id.index()) }
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> CircuitOutput {
        CircuitOutput::new(&self.network, tallies)
    }

    fn lookahead(&self) -> Option<f64> {
        Some(self.network.margins.lookahead)
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let index = from.index();
        let lookahead = self.network.margins.lookahead;
        let outputs = 0..self.network.subcircuit(index).1.outputs.len();
        let mut readers: Vec<u32> = outputs
            .flat_map(|output| self.network.readers_of(index, output))
            .map(|reader| reader.subcircuit)
            .collect();
        readers.sort_unstable();
        readers.dedup();
        Some(readers.into_iter().map(|to| Link { to: LpId::new(to), lookahead }).collect())
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CircuitOutput {
    /// Subcircuits: channel-connected components.
    pub subcircuits: u64,
    /// Transistors.
    pub transistors: u64,
    /// The sums of all subcircuits.
    pub tally: Tally,
    /// Nets whose crossings are counted.
    pub signals: u64,
    /// The time from a segment's origin to its delivery (s).
    pub lookahead: f64,
}

impl CircuitOutput {
    pub(crate) fn new(network: &Network, tallies: impl Iterator<Item = Tally>) -> Self {
        let mut sum = Tally::default();
        for tally in tallies {
            sum.steps += tally.steps;
            sum.events += tally.events;
            sum.crossings += tally.crossings;
            sum.energy += tally.energy;
        }
        Self {
            subcircuits: network.subcircuits.len() as u64,
            transistors: network.transistors as u64,
            tally: sum,
            signals: network.nodes.iter().filter(|node| node.is_signal).count() as u64,
            lookahead: network.margins.lookahead,
        }
    }
}

impl Results for CircuitOutput {
    fn figures(&self) -> Vec<Figure> {
        let Self { subcircuits, transistors, tally, signals, lookahead } = *self;
        let figure = Figure::new;
        vec![
            figure("subcircuits", subcircuits as f64, "", "channel-connected components"),
            figure("transistors", transistors as f64, "", "in the circuit"),
            figure("steps", tally.steps as f64, "steps", "of integration, accepted"),
            figure("events", tally.events as f64, "events", "segments of waveforms, published"),
            figure(
                "crossings",
                tally.crossings as f64,
                "crossings",
                "of half the supply voltage, by signals",
            ),
            figure(
                "activity",
                tally.crossings as f64 / signals as f64,
                "crossings/signal",
                "switching activity",
            ),
            figure("energy", tally.energy, "J", "from sources, through channels and resistors"),
            figure("lookahead", lookahead, "s", "from a segment's origin to its delivery"),
        ]
    }
}

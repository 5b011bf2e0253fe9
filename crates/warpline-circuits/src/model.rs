//! A circuit as a model for the engines: some neighboring subcircuits are a logical process.
//!
//! Made from a [`Circuit`] by the command, by tests and by other programs. Virtual time is in
//! seconds, and cut into intervals as long as the lookahead (`instant.rs`). An event is a segment
//! of a net's waveform, which arrives at the beginning of the interval after its origin and is used
//! from its origin on; or the steps of an interval, which a process sends to itself. So the time
//! from the cause of a message to its arrival is positive, and the same for all messages: circuits
//! with feedback run on every engine.
//!
//! Which subcircuits form a process changes no waveform: segments between them arrive at the same
//! time within a process and between processes.
//!
//! Voltages of watched nets leave a run as non-blocking I/O events, two intervals after the time
//! they belong to: so they come in the order of their times. Waveforms of drawn nets are part of
//! the state instead (`trace.rs`), and change nothing that is committed.
//!
//! There is at most one event for steps that counts, that at `CircuitLp::scheduled`; others were
//! superseded by an earlier one.
//!
//! # References
//!
//! Wen and Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995.

use std::{fmt, sync::Mutex};

use serde::{Deserialize, Serialize};
use warpline::{
    AnyModel, Context, EventKey, Io, Link, LogicalProcess, LpId, Model, VirtualTime,
    state::heap_block,
    wire::{Wire, Wires},
};

use crate::{
    circuit::{Circuit, NetId, Sample},
    drawing::{Drawing, Drawn},
    instant::Intervals,
    integration::Scratch,
    network::{Network, Node, Reader},
    partition,
    stimulus::Segment,
    subcircuit::Carrier,
    tables::Tables,
    trace::Trace,
};

/// The most subcircuits of a process, by default: two to this power.
const GROUP_BITS_MAX: u32 = 5;
/// The processes that there should be before one has several subcircuits.
const PROCESSES: usize = 64;
/// Blocks of processes for each worker.
const STRIPES: usize = 8;
/// Intervals between the time of a sample and its delivery.
const SAMPLE_DELAY: f64 = 2.0;
pub use crate::{
    message::{CircuitMessage, CircuitSummary},
    partition::CircuitError,
    results::CircuitOutput,
    subcircuit::Tally,
    tolerance::Tolerance,
};

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
    /// The time from a segment's origin to its delivery at most (s); `None` derives it from the
    /// circuit's fastest gate.
    pub lookahead: Option<f64>,
    /// How many neighboring subcircuits form a process, rounded up to a power of two; `None`
    /// derives it from their number.
    pub group: Option<usize>,
}

/// A circuit that is ready to be simulated, at its operating point.
pub struct CircuitModel {
    network: Network,
    /// A process has two to this power subcircuits.
    group_bits: u32,
    sink: Option<Mutex<SampleSink>>,
    drawing: Option<Drawing>,
}

impl fmt::Debug for CircuitModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitModel")
            .field("network", &self.network)
            .field("group_bits", &self.group_bits)
            .finish_non_exhaustive()
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
        let by_size = (network.subcircuits.len() / PROCESSES).max(1).ilog2().min(GROUP_BITS_MAX);
        let given =
            |group: usize| group.max(1).checked_next_power_of_two().map_or(31, usize::ilog2);
        let group_bits = options.group.map_or(by_size, given).min(31);
        Ok(Self { network, group_bits, sink: None, drawing: None })
    }

    /// Gives the waveforms of these nets to `sink`: a point for each step of a subcircuit. Nets
    /// with a source, and nets that nothing is connected to, have none. On several ranks, the sink
    /// of rank 0 gets those of all, and all ranks watch the same nets.
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

    /// Draws the waveforms of a few nets up to `end` (s) as a picture of the result: those that the
    /// circuit saves, or else inputs and `outputs`. What is committed stays the same.
    #[must_use]
    pub fn draw(mut self, circuit: &Circuit, outputs: &[NetId], end: f64) -> Self {
        self.drawing = Drawing::new(circuit, outputs, end);
        for node in &mut self.network.nodes {
            let nets = self.drawing.as_ref().map(|drawing| &drawing.nets);
            node.is_drawn = nets.is_some_and(|nets| nets.contains(&NetId(node.net)));
        }
        self
    }

    /// The voltages of all nets that no source fixes, at the operating point.
    pub fn operating_point(&self) -> impl Iterator<Item = (NetId, f64)> {
        self.network.nodes.iter().map(|node| (NetId(node.net), node.initial))
    }

    /// The time from a segment's origin to its delivery at most (s).
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

    const fn intervals(&self) -> Intervals {
        self.network.margins.intervals()
    }

    /// The process of a subcircuit.
    #[inline]
    const fn process_of(&self, subcircuit: u32) -> LpId {
        LpId::new(subcircuit >> self.group_bits)
    }

    /// The subcircuits of a process.
    fn subcircuits_of(&self, process: LpId) -> std::ops::Range<usize> {
        let first = process.index() << self.group_bits;
        first..(first + (1 << self.group_bits)).min(self.network.subcircuits.len())
    }

    /// The type forgotten, with all engines.
    #[must_use]
    pub fn into_any(self) -> AnyModel {
        AnyModel::new(self)
    }
}

/// Some subcircuits as a logical process.
#[derive(Debug, Serialize, Deserialize)]
pub struct CircuitLp {
    tables: Tables,
    /// Segments that were published for readers of this process, until the next interval.
    pending: Vec<Pending>,
    /// The waveforms of drawn nets.
    traces: Vec<Trace>,
    /// When the event for the next steps is due; infinity for none.
    scheduled: f64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pending {
    reader: Reader,
    segment: Segment,
}

impl Clone for CircuitLp {
    fn clone(&self) -> Self {
        let Self { tables, pending, traces, scheduled } = self;
        Self {
            tables: tables.clone(),
            pending: pending.clone(),
            traces: traces.clone(),
            scheduled: *scheduled,
        }
    }

    /// Engines that save states do so into old copies, whose memory is used again.
    fn clone_from(&mut self, source: &Self) {
        let Self { tables, pending, traces, scheduled } = self;
        tables.clone_from(&source.tables);
        pending.clone_from(&source.pending);
        traces.clone_from(&source.traces);
        *scheduled = source.scheduled;
    }
}

/// Sends what a subcircuit has to tell.
struct Publisher<'a, C> {
    model: &'a CircuitModel,
    me: LpId,
    now: f64,
    /// When segments that are published now arrive.
    arrival: f64,
    subcircuit: usize,
    pending: &'a mut Vec<Pending>,
    traces: &'a mut [Trace],
    cx: &'a mut C,
}

impl<C: Context<CircuitMessage>> Carrier for Publisher<'_, C> {
    #[inline]
    fn publish(&mut self, output: usize, segment: Segment) {
        let Segment { origin, value, slope } = segment;
        for &reader in self.model.network.readers_of(self.subcircuit, output) {
            let Reader { subcircuit, input } = reader;
            let process = self.model.process_of(subcircuit);
            if process == self.me {
                self.pending.push(Pending { reader, segment });
                continue;
            }
            let message = CircuitMessage::Segment { subcircuit, input, origin, value, slope };
            self.cx.send_at(process, self.arrival, message);
        }
    }

    fn sample(&mut self, node: &Node, time: f64, value: f64, slope: f64) {
        let net = node.net;
        if node.is_drawn
            && let Some(drawing) = &self.model.drawing
        {
            let sample = Sample { time, net: NetId(net), value, slope };
            let mine = self.traces.iter_mut().filter(|trace| trace.net == net);
            mine.for_each(|trace| trace.take(sample, drawing.columns));
        }
        if !node.is_watched {
            return;
        }
        let arrival = time + SAMPLE_DELAY * self.model.network.margins.lookahead;
        let message = CircuitMessage::Sample { net, time, value, slope };
        self.cx.send_io(Io::NonBlocking, self.me, (arrival - self.now).max(0.0), message);
    }
}

impl CircuitLp {
    /// Sends itself the event for the steps of an interval.
    #[inline]
    fn schedule(
        &mut self,
        model: &CircuitModel,
        interval: u64,
        cx: &mut impl Context<CircuitMessage>,
    ) {
        self.scheduled = model.intervals().steps(interval);
        cx.send_at(cx.me(), self.scheduled, CircuitMessage::Steps);
    }

    /// Delivers segments within the process, and does the steps of this interval.
    #[inline]
    fn steps(
        &mut self,
        model: &CircuitModel,
        scratch: &mut Scratch,
        cx: &mut impl Context<CircuitMessage>,
    ) {
        let (me, now, network) = (cx.me(), cx.now().get(), &model.network);
        let intervals = model.intervals();
        let interval = intervals.of(now);
        let (begin, end) = (intervals.begin(interval), intervals.begin(interval + 1));
        let first = model.subcircuits_of(me).start;
        let Self { tables, pending, traces, .. } = self;
        // What is delivered publishes nothing.
        let mut nothing = Vec::new();
        for Pending { reader: Reader { subcircuit, input }, segment } in pending.drain(..) {
            let place = subcircuit as usize - first;
            let (subject, mut state) = tables.at(network, place);
            let mut publisher = Publisher {
                model,
                me,
                now,
                arrival: end,
                subcircuit: subcircuit as usize,
                pending: &mut nothing,
                traces,
                cx,
            };
            subject.receive(&mut state, begin, input as usize, segment, &mut publisher);
        }
        let mut next = f64::INFINITY;
        for place in 0..tables.len() {
            while tables.due[place] < end {
                let (subject, mut state) = tables.at(network, place);
                let subcircuit = first + place;
                let mut publisher = Publisher {
                    model,
                    me,
                    now,
                    arrival: end,
                    subcircuit,
                    pending: &mut *pending,
                    traces,
                    cx,
                };
                subject.fire(&mut state, scratch, &mut publisher);
            }
            next = next.min(tables.due[place]);
        }
        if !self.pending.is_empty() {
            self.schedule(model, interval + 1, cx);
        } else if next < f64::INFINITY {
            self.schedule(model, intervals.of(next), cx);
        } else {
            self.scheduled = f64::INFINITY;
        }
    }
}

impl LogicalProcess for CircuitLp {
    type Model = CircuitModel;
    type Message = CircuitMessage;
    type Summary = CircuitSummary;

    fn start(&mut self, model: &CircuitModel, cx: &mut impl Context<CircuitMessage>) {
        let (me, pending, traces) = (cx.me(), &mut self.pending, &mut self.traces);
        let first = model.subcircuits_of(me).start;
        for place in 0..self.tables.len() {
            let (subject, state) = self.tables.at(&model.network, place);
            let subcircuit = first + place;
            let mut publisher =
                Publisher { model, me, now: 0.0, arrival: 0.0, subcircuit, pending, traces, cx };
            subject.tell_samples(&state, 0.0, &mut publisher);
        }
        let due = self.tables.first_due();
        if due < f64::INFINITY {
            self.schedule(model, model.intervals().of(due), cx);
        }
    }

    #[inline]
    fn handle(
        &mut self,
        model: &CircuitModel,
        message: &CircuitMessage,
        cx: &mut impl Context<CircuitMessage>,
    ) {
        let (me, now) = (cx.me(), cx.now().get());
        match *message {
            CircuitMessage::Steps if now == self.scheduled => {
                SCRATCH.with_borrow_mut(|scratch| self.steps(model, scratch, cx));
            }
            // MODEL-A: superseded.
            CircuitMessage::Steps | CircuitMessage::Sample { .. } => {}
            CircuitMessage::Segment { subcircuit, input, origin, value, slope } => {
                let segment = Segment { origin, value, slope };
                let subcircuit = subcircuit as usize;
                let place = subcircuit - model.subcircuits_of(me).start;
                let (subject, mut state) = self.tables.at(&model.network, place);
                let (pending, traces) = (&mut self.pending, &mut self.traces);
                let mut publisher =
                    Publisher { model, me, now, arrival: now, subcircuit, pending, traces, cx };
                subject.receive(&mut state, now, input as usize, segment, &mut publisher);
                let intervals = model.intervals();
                let interval = intervals.of(*state.due);
                if intervals.steps(interval) < self.scheduled {
                    self.schedule(model, interval, cx);
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

    fn finish(self, model: &CircuitModel, end: VirtualTime) -> CircuitSummary {
        let drawn = |trace: Trace| {
            let columns = model.drawing.as_ref()?.columns;
            Some(Drawn { net: trace.net, columns: trace.finish(end.get(), columns) })
        };
        let drawn = self.traces.into_iter().filter_map(drawn).collect();
        CircuitSummary { tally: self.tables.tally, drawn }
    }

    #[inline]
    fn identity(_: &CircuitModel, message: &CircuitMessage) -> Option<u64> {
        Some(message.fingerprint())
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        // TRACE-A: the columns are shared.
        self.tables.heap_bytes()
            + heap_block(self.pending.capacity() * size_of::<Pending>())
            + heap_block(self.traces.capacity() * size_of::<Trace>())
    }

    #[inline]
    fn fingerprint(_: &CircuitModel, message: &CircuitMessage) -> u64 {
        message.fingerprint()
    }
}

impl Model for CircuitModel {
    type Lp = CircuitLp;
    type Output = CircuitOutput;

    fn name(&self) -> &'static str {
        "circuit"
    }

    fn lp_count(&self) -> usize {
        self.network.subcircuits.len().div_ceil(1 << self.group_bits)
    }

    fn make_lp(&self, id: LpId) -> CircuitLp {
        let subcircuits = self.subcircuits_of(id);
        let nodes = subcircuits.clone().flat_map(|index| self.network.nodes_of(index));
        let drawn = nodes.filter(|node| self.drawing.is_some() && node.is_drawn);
        let traces = drawn.map(|node| Trace::new(node.net)).collect();
        let tables = Tables::new(&self.network, subcircuits);
        CircuitLp { tables, pending: Vec::new(), traces, scheduled: f64::INFINITY }
    }

    /// Blocks of neighbors, dealt out in turn: parts of a circuit are busy at different times.
    fn placement(&self, id: LpId, workers: usize) -> usize {
        let stripes = STRIPES * workers;
        id.index() * stripes / self.lp_count().max(1) % workers
    }

    fn reduce(&self, summaries: impl Iterator<Item = CircuitSummary>) -> CircuitOutput {
        let (mut sum, mut drawn) = (Tally::default(), Vec::new());
        for summary in summaries {
            sum.add(&summary.tally);
            drawn.extend(summary.drawn);
        }
        let waveforms = self.drawing.as_ref().map(|drawing| drawing.finish(drawn));
        CircuitOutput::new(&self.network, sum, waveforms)
    }

    fn lookahead(&self) -> Option<f64> {
        Some(self.intervals().lookahead())
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let lookahead = self.intervals().lookahead();
        let outputs = self.subcircuits_of(from).flat_map(|index| {
            let outputs = 0..self.network.subcircuit(index).1.outputs.len();
            outputs.flat_map(move |output| self.network.readers_of(index, output))
        });
        let mut readers: Vec<_> = outputs.map(|one| self.process_of(one.subcircuit)).collect();
        readers.sort_unstable();
        readers.dedup();
        readers.retain(|&to| to != from);
        Some(readers.into_iter().map(|to| Link { to, lookahead }).collect())
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        self
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        Some(Wire::serde())
    }
}

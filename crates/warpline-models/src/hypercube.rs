//! Hypercube: messages that are routed for ever through a binary hypercube with
//! first-come-first-served links.
//!
//! An LP is a node with one outgoing link per dimension. A message waits for the link it needs,
//! occupies it for its length, and arrives at the neighbor after the switch delay. Routes are
//! *e-cube*: a message takes the lowest dimension in which the node and the destination differ. At
//! its destination a message is measured, and replaced at once by one with a new length for another
//! node drawn uniformly.
//!
//! # Invariants
//!
//! - **CUBE-A.** A message arrives at least `min_length + latency` after it was forwarded, rounding
//!   included: that is the lookahead that the model declares. Asserted in debug builds.
//! - **CUBE-B.** A link is busy without a gap from the current time up to its `free_at`, if that is
//!   later. So the part of `free_at` beyond the end of a run is the busy time after the end.
//!   Asserted in debug builds.
//!
//! # References
//!
//! Fujimoto and Panesar, *Buffer Management in Shared-Memory Time Warp Systems*, 1995, section 7.1:
//! dimension 7 and 2048 messages.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpline::{
    AnyModel, ConfigError, Context, Figure, Link, LogicalProcess, LpId, Model, Results,
    VirtualTime, digest::mix, state::Undo, wire::Wires,
};

use crate::catalog::{Domain, Hold, Load, Parameters, Workload};

mod histogram;

use histogram::{Counts, Histogram};

/// The relative error that sums of busy times may have.
const ROUNDING: f64 = 1e-6;

/// The largest dimension: a node has the state of this number of links.
pub const DIMENSION_MAX: u32 = 16;

/// The parameters of the hypercube. The defaults are those of the buffer paper, where it gives
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HypercubeParams {
    /// Dimension D of the cube: 2^D nodes with D outgoing links each
    #[arg(long, value_name = "D", default_value_t = Self::default().dimension)]
    pub dimension: u32,
    /// Number of messages in the network, distributed evenly over the nodes at the start
    #[arg(long, value_name = "N", default_value_t = Self::default().messages)]
    pub messages: usize,
    /// Shortest message, in time units that it occupies a link
    #[arg(long, value_name = "T", default_value_t = Self::default().min_length)]
    pub min_length: f64,
    /// Longest message, in time units that it occupies a link; lengths are uniform
    #[arg(long, value_name = "T", default_value_t = Self::default().max_length)]
    pub max_length: f64,
    /// Switch delay of each hop, in time units, during which the link is not occupied
    #[arg(long, value_name = "T", default_value_t = Self::default().latency)]
    pub latency: f64,
}

impl Default for HypercubeParams {
    fn default() -> Self {
        Self { dimension: 7, messages: 2048, min_length: 0.5, max_length: 1.5, latency: 0.0 }
    }
}

impl HypercubeParams {
    /// Checks every parameter.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range: the error names the first one.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let Self { dimension, min_length, max_length, latency, .. } = *self;
        let finite = |x: f64| x.is_finite() && x >= 0.0;
        ConfigError::check(
            (1..=DIMENSION_MAX).contains(&dimension),
            "dimension",
            dimension,
            &format!("from 1 to {DIMENSION_MAX}"),
        )?;
        ConfigError::check(finite(min_length), "min-length", min_length, "0 or more, and finite")?;
        ConfigError::check(
            max_length.is_finite() && max_length >= min_length,
            "max-length",
            max_length,
            &format!("at least --min-length ({min_length}), and finite"),
        )?;
        ConfigError::check(finite(latency), "latency", latency, "0 or more, and finite")?;
        ConfigError::check(
            max_length + latency > 0.0,
            "max-length",
            max_length,
            "greater than 0 when the latency is 0, or time would stand still",
        )
    }

    fn nodes(&self) -> usize {
        1 << self.dimension
    }

    /// The time units that a message occupies a link, on average.
    fn mean_length(&self) -> f64 {
        0.5 * (self.min_length + self.max_length)
    }

    /// The mean distance between two different nodes.
    fn mean_hops(&self) -> f64 {
        let nodes = self.nodes() as f64;
        0.5 * f64::from(self.dimension) * nodes / (nodes - 1.0)
    }

    /// A rough mean latency: with few messages, that without queues; with many messages, that with
    /// all links busy, by Little's law.
    fn typical_latency(&self) -> f64 {
        let links = self.nodes() as f64 * f64::from(self.dimension);
        let unhindered = self.mean_hops() * (self.mean_length() + self.latency);
        let saturated = self.messages as f64 * self.mean_hops() * self.mean_length() / links;
        unhindered.max(saturated)
    }
}

impl Parameters for HypercubeParams {
    const MODEL: &'static str = "hypercube";
    const ABOUT: &'static str =
        "Messages routed through a binary hypercube with first-come-first-served links";
    const END: f64 = 10_000.0;

    fn model(self) -> Result<AnyModel, ConfigError> {
        Ok(AnyModel::new(Hypercube::new(self)?))
    }

    fn results() -> Vec<Figure> {
        HypercubeOutput::default().figures()
    }

    fn domains() -> &'static [Domain] {
        const {
            &[
                Domain::new("dimension", "", "from 1 to 16"),
                Domain::new("messages", "", "0 or more"),
                Domain::new("min-length", "time units", "0 or more"),
                Domain::new("max-length", "time units", "at least --min-length"),
                Domain::new("latency", "time units", "0 or more"),
            ]
        }
    }

    fn workloads() -> Vec<Workload> {
        vec![Workload {
            name: "W4",
            title: "hypercube: dimension 7, 2 048 messages",
            params: Self::default().into(),
            end: 3_000.0,
            bare: Load::Hold(Hold { lps: 128, population: 2048, remote: 1.0, lookahead: 0.0 }),
        }]
    }
}

/// The hypercube with its parameters checked.
#[derive(Clone, Debug)]
pub struct Hypercube {
    params: HypercubeParams,
    /// Time units per unit of the latency histograms.
    histogram_unit: f64,
}

impl Hypercube {
    /// The model with these parameters.
    ///
    /// # Errors
    ///
    /// When a parameter is out of its range.
    pub fn new(params: HypercubeParams) -> Result<Self, ConfigError> {
        params.validate()?;
        let histogram_unit = histogram::unit_for(params.typical_latency());
        Ok(Self { params, histogram_unit })
    }
}

/// A node: its outgoing links, and what it has measured.
#[derive(Clone, Debug)]
pub struct Node {
    /// By dimension: when the link will have transmitted all messages that wait for it.
    free_at: [f64; DIMENSION_MAX as usize],
    tally: Tally,
}

/// A message in the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Packet {
    /// The node to which it goes.
    pub destination: LpId,
    /// The number of links that it has passed when it arrives.
    pub hops: u32,
    /// The time units that it occupies each link.
    pub length: f64,
    /// When it was inserted.
    pub injected_at: f64,
}

/// What a node measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tally {
    /// The messages delivered to this node, the links they passed, and their latencies in all.
    delivered: u64,
    hops: u64,
    latency: f64,
    latencies: Counts,
    /// The messages that took one of this node's links, their waits for it in all, and their times
    /// on it in all.
    requests: u64,
    waited: f64,
    busy: f64,
    /// When the run ended.
    end: f64,
}

impl Tally {
    fn new() -> Self {
        Self {
            delivered: 0,
            hops: 0,
            latency: 0.0,
            latencies: Counts::new(),
            requests: 0,
            waited: 0.0,
            busy: 0.0,
            end: 0.0,
        }
    }
}

/// The result of the hypercube. Times are in the model's time units. A number for which there was
/// nothing to measure is NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HypercubeOutput {
    /// The number of messages that reached their destination.
    pub delivered: u64,
    /// Messages delivered per time unit.
    pub throughput: f64,
    /// Mean time from insertion to delivery.
    pub latency_mean: f64,
    /// The median latency. Percentiles are interpolated in a histogram with eight bins per octave,
    /// with an error of at most 12.5 %, and mostly of less than 1 %.
    pub latency_p50: f64,
    /// The 95th percentile of the latency.
    pub latency_p95: f64,
    /// The 99th percentile of the latency.
    pub latency_p99: f64,
    /// Mean number of links that a delivered message passed.
    pub hops_mean: f64,
    /// The fraction of the time that a link is busy, over all links.
    pub link_utilization: f64,
    /// Mean time that a message waits for a link, per hop.
    pub queueing_delay_mean: f64,
}

impl Results for HypercubeOutput {
    fn figures(&self) -> Vec<Figure> {
        let figure = Figure::new;
        let time = "time units";
        vec![
            figure("delivered", self.delivered as f64, "messages", "reached their destination"),
            figure("throughput", self.throughput, "messages/time unit", "delivery rate"),
            figure("latency_mean", self.latency_mean, time, "insertion to delivery, mean"),
            figure("latency_p50", self.latency_p50, time, "insertion to delivery, median"),
            figure("latency_p95", self.latency_p95, time, "insertion to delivery, 95th percentile"),
            figure("latency_p99", self.latency_p99, time, "insertion to delivery, 99th percentile"),
            figure("hops_mean", self.hops_mean, "hops", "links that a delivered message passed"),
            figure(
                // The key keeps its spelling: scripts read it.
                "link_utilisation",
                self.link_utilization,
                "",
                "part of the time a link is busy",
            ),
            figure(
                "queueing_delay_mean",
                self.queueing_delay_mean,
                time,
                "wait for a link, per hop",
            ),
        ]
    }
}

impl Model for Hypercube {
    type Lp = Node;
    type Output = HypercubeOutput;

    fn name(&self) -> &'static str {
        "hypercube"
    }

    fn parameters(&self) -> &dyn fmt::Debug {
        &self.params
    }

    fn wires(&self) -> Option<Wires<Self>> {
        Some(Wires::serde())
    }

    fn lp_count(&self) -> usize {
        self.params.nodes()
    }

    fn make_lp(&self, _: LpId) -> Node {
        Node { free_at: [0.0; DIMENSION_MAX as usize], tally: Tally::new() }
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> HypercubeOutput {
        let mut sum = Tally::new();
        let mut latencies = Histogram::new();
        for tally in tallies {
            sum.delivered += tally.delivered;
            sum.hops += tally.hops;
            sum.latency += tally.latency;
            sum.requests += tally.requests;
            sum.waited += tally.waited;
            sum.busy += tally.busy;
            sum.end = tally.end;
            latencies.merge(&tally.latencies);
        }
        let delivered = sum.delivered as f64;
        let links = self.lp_count() as f64 * f64::from(self.params.dimension);
        let percentile = |p| latencies.quantile(p) * self.histogram_unit;
        HypercubeOutput {
            delivered: sum.delivered,
            throughput: delivered / sum.end,
            latency_mean: sum.latency / delivered,
            latency_p50: percentile(0.50),
            latency_p95: percentile(0.95),
            latency_p99: percentile(0.99),
            hops_mean: sum.hops as f64 / delivered,
            link_utilization: sum.busy / (links * sum.end),
            queueing_delay_mean: sum.waited / sum.requests as f64,
        }
    }

    fn lookahead(&self) -> Option<f64> {
        let lookahead = self.params.min_length + self.params.latency;
        (lookahead > 0.0).then_some(lookahead)
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let lookahead = self.lookahead().unwrap_or(0.0);
        let link = |dimension| Link { to: neighbor(from, dimension), lookahead };
        Some((0..self.params.dimension).map(link).collect())
    }
}

/// The node at the other end of a link.
#[inline]
const fn neighbor(node: LpId, dimension: u32) -> LpId {
    LpId::new(node.get() ^ (1 << dimension))
}

impl Node {
    /// Inserts a new message for another node.
    fn inject(&mut self, cube: &Hypercube, cx: &mut impl Context<Packet>) {
        let HypercubeParams { min_length, max_length, .. } = cube.params;
        let me = cx.me().get();
        let other = cx.rng().below(cube.params.nodes() as u64 - 1) as u32;
        let packet = Packet {
            destination: LpId::new(other + u32::from(other >= me)),
            hops: 0,
            length: cx.rng().uniform_in(min_length, max_length),
            injected_at: cx.now().get(),
        };
        self.forward(cube, packet, cx);
    }

    /// Forwards a message over the next link of its route.
    #[inline]
    fn forward(&mut self, cube: &Hypercube, packet: Packet, cx: &mut impl Context<Packet>) {
        let Packet { destination, hops, length, .. } = packet;
        let me = cx.me();
        let dimension = (me.get() ^ destination.get()).trailing_zeros();
        let free_at = &mut self.free_at[dimension as usize];
        let now = cx.now().get();
        let start = now.max(*free_at);
        *free_at = start + length;
        self.tally.requests += 1;
        self.tally.waited += start - now;
        self.tally.busy += length;
        // CUBE-A: the two delays are added first, as for the lookahead. Rounding keeps the order of
        // sums, so the arrival is late enough because start >= now and length >= min_length.
        let arrival = start + (length + cube.params.latency);
        debug_assert!(
            arrival >= now + (cube.params.min_length + cube.params.latency),
            "CUBE-A: a message forwarded at {now} arrives at {arrival}"
        );
        cx.send_at(neighbor(me, dimension), arrival, Packet { hops: hops + 1, ..packet });
    }
}

impl LogicalProcess for Node {
    type Model = Hypercube;
    type Message = Packet;
    type Summary = Tally;

    fn start(&mut self, cube: &Hypercube, cx: &mut impl Context<Packet>) {
        let (messages, nodes) = (cube.params.messages, cube.params.nodes());
        let mine = messages / nodes + usize::from(cx.me().index() < messages % nodes);
        for _ in 0..mine {
            self.inject(cube, cx);
        }
    }

    #[inline]
    fn handle(&mut self, cube: &Hypercube, packet: &Packet, cx: &mut impl Context<Packet>) {
        if packet.destination != cx.me() {
            return self.forward(cube, packet.clone(), cx);
        }
        let latency = cx.now().get() - packet.injected_at;
        self.tally.delivered += 1;
        self.tally.hops += u64::from(packet.hops);
        self.tally.latency += latency;
        self.tally.latencies.add(latency / cube.histogram_unit, cx);
        self.inject(cube, cx);
    }

    fn tracked(&mut self, visit: &mut dyn FnMut(&mut dyn Undo)) {
        visit(self.tally.latencies.tracked());
    }

    #[inline]
    fn identity(packet: &Packet) -> Option<u64> {
        let Packet { destination, hops, length, injected_at } = *packet;
        let route = u64::from(destination.get()) << 32 | u64::from(hops);
        Some(mix(mix(route, length.to_bits()), injected_at.to_bits()))
    }

    fn finish(self, _: &Hypercube, end: VirtualTime) -> Tally {
        let Self { free_at, mut tally } = self;
        tally.end = end.get();
        // Only the busy time before the end counts (CUBE-B).
        tally.busy -= free_at.iter().map(|free_at| (free_at - tally.end).max(0.0)).sum::<f64>();
        let most = free_at.iter().filter(|free_at| **free_at > 0.0).count() as f64 * tally.end;
        debug_assert!(
            (-ROUNDING * (1.0 + most)..=most + ROUNDING * (1.0 + most)).contains(&tally.busy),
            "CUBE-B: links that were busy for {} of {most}",
            tally.busy
        );
        tally
    }

    #[inline]
    fn fingerprint(packet: &Packet) -> u64 {
        let Packet { destination, hops, length, injected_at } = *packet;
        let route = u64::from(destination.get()) << 32 | u64::from(hops);
        mix(route ^ length.to_bits(), injected_at.to_bits())
    }
}

//! Hypercube: messages that are routed for ever through a binary hypercube with
//! first-come-first-served links or nodes.
//!
//! An LP is a node with one outgoing link per dimension. A message waits for the link it needs,
//! occupies it for its length, and arrives at the neighbor after the switch delay. If nodes serve
//! ([`Service::Node`]), a node transmits one message at a time, whatever its link, so all its links
//! have one queue; the *server* is the link or the node. Routes are *e-cube*: a message takes the
//! lowest dimension in which the node and the destination differ. At its destination a message is
//! measured, and replaced at once by one with a new length for another node drawn uniformly.
//!
//! # Invariants
//!
//! - **CUBE-A.** A message arrives at least `min_length + latency` after it was forwarded, rounding
//!   included: that is the lookahead that the model declares. Asserted in debug builds.
//! - **CUBE-B.** A server is busy without a gap from the current time up to its `free_at`, if that
//!   is later. So the part of `free_at` beyond the end of a run is the busy time after the end.
//!   Asserted in debug builds.
//!
//! # References
//!
//! Fujimoto and Panesar, *Buffer Management in Shared-Memory Time Warp Systems*, 1995, section 7.1:
//! dimension 7 and 2048 messages, served by the nodes.

use std::fmt;

use serde::{Deserialize, Serialize};
use warpline::{
    ConfigError, Context, Difference, Figure, Link, LogicalProcess, LpId, Model, Results, Saving,
    State, Value, VirtualTime,
    digest::mix,
    picture::{Picture, Shape},
    wire::{Wire, Wires},
};

mod histogram;
mod params;

use histogram::{Counts, Histogram};
pub use params::{DIMENSION_MAX, HypercubeParams, Service};

/// The relative error that sums of busy times may have.
const ROUNDING: f64 = 1e-6;

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
#[derive(Debug, State, Serialize, Deserialize)]
pub struct Node {
    /// By server: when it will have transmitted all messages that wait for it.
    free_at: [f64; DIMENSION_MAX as usize],
    measured: Measured,
    #[state(nested)]
    latencies: Counts,
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

/// What a node measures, apart from the histogram.
#[derive(Clone, Debug, Default, Value, Serialize, Deserialize)]
struct Measured {
    /// The messages delivered to this node, the links they passed, and their latencies in all.
    delivered: u64,
    hops: u64,
    latency: f64,
    /// By dimension: the messages that went to the neighbor there.
    sent: [u32; DIMENSION_MAX as usize],
    /// The messages that took a server of this node, their waits for it in all, and their times on
    /// it in all.
    requests: u64,
    waited: f64,
    busy: f64,
}

/// What a node has measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tally {
    measured: Measured,
    latencies: Counts,
    /// When the run ended; of an interval, how long it was.
    end: f64,
}

/// The result of the hypercube. Times are in the model's time units. A number for which there was
/// nothing to measure is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// The fraction of the time that a server is busy, over all links, or over all nodes.
    pub link_utilization: f64,
    /// Mean time that a message waits for a server, per hop.
    pub queueing_delay_mean: f64,
    /// By dimension: the messages that all nodes sent to their neighbors there.
    pub sent: Vec<u64>,
}

impl Results for HypercubeOutput {
    fn figures(&self) -> Vec<Figure> {
        let (figure, count) = (Figure::new, Figure::of_count);
        let time = "time units";
        vec![
            count("delivered", self.delivered, "messages", "reached their destination"),
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
                "part of the time a link (or a node that serves) is busy",
            ),
            figure(
                "queueing_delay_mean",
                self.queueing_delay_mean,
                time,
                "wait for a link or a node, per hop",
            ),
        ]
    }

    fn pictures(&self) -> Vec<Picture> {
        vec![Picture {
            title: "Load by dimension".into(),
            meaning: "Messages sent to the neighbors in each dimension, by all nodes.".into(),
            unit: "messages".into(),
            shape: Shape::Bars {
                axis: "dimension".into(),
                labels: (0..self.sent.len()).map(|dimension| dimension.to_string()).collect(),
                values: self.sent.iter().map(|&sent| sent as f64).collect(),
            },
        }]
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

    fn state_wire(&self) -> Option<Wire<Self::Lp>> {
        Some(Wire::serde())
    }

    fn lp_count(&self) -> usize {
        self.params.nodes()
    }

    fn make_lp(&self, _: LpId) -> Node {
        Node {
            free_at: [0.0; DIMENSION_MAX as usize],
            measured: Measured::default(),
            latencies: Counts::new(),
        }
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> HypercubeOutput {
        let (mut sum, mut time) = (Measured::default(), 0.0);
        let mut latencies = Histogram::new();
        let mut sent = vec![0; self.params.dimension as usize];
        for Tally { measured, latencies: counts, end } in tallies {
            sum.delivered += measured.delivered;
            sum.hops += measured.hops;
            sum.latency += measured.latency;
            sum.requests += measured.requests;
            sum.waited += measured.waited;
            sum.busy += measured.busy;
            time = end;
            latencies.merge(&counts);
            sent.iter_mut().zip(measured.sent).for_each(|(sum, sent)| *sum += u64::from(sent));
        }
        let delivered = sum.delivered as f64;
        let servers = (self.lp_count() * self.params.servers()) as f64;
        let percentile = |p| latencies.quantile(p) * self.histogram_unit;
        HypercubeOutput {
            delivered: sum.delivered,
            throughput: delivered / time,
            latency_mean: sum.latency / delivered,
            latency_p50: percentile(0.50),
            latency_p95: percentile(0.95),
            latency_p99: percentile(0.99),
            hops_mean: sum.hops as f64 / delivered,
            link_utilization: sum.busy / (servers * time),
            queueing_delay_mean: sum.waited / sum.requests as f64,
            sent,
        }
    }

    fn difference(&self) -> Option<Difference<Self>> {
        Some(|later, earlier| Tally {
            measured: later.measured.since(&earlier.measured),
            latencies: later.latencies.since(&earlier.latencies),
            end: later.end - earlier.end,
        })
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

impl Measured {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            delivered: self.delivered - earlier.delivered,
            hops: self.hops - earlier.hops,
            latency: self.latency - earlier.latency,
            sent: std::array::from_fn(|n| self.sent[n] - earlier.sent[n]),
            requests: self.requests - earlier.requests,
            waited: self.waited - earlier.waited,
            busy: self.busy - earlier.busy,
        }
    }
}

impl Node {
    /// A new message, for another node.
    #[inline]
    fn new_packet(cube: &Hypercube, cx: &mut impl Context<Packet>) -> Packet {
        let HypercubeParams { min_length, max_length, .. } = cube.params;
        let me = cx.me().get();
        let other = cx.rng().below(cube.params.nodes() as u64 - 1) as u32;
        Packet {
            destination: LpId::new(other + u32::from(other >= me)),
            hops: 0,
            length: cx.rng().uniform_in(min_length, max_length),
            injected_at: cx.now().get(),
        }
    }

    /// Forwards a message over the next link of its route.
    #[inline]
    fn forward(&mut self, cube: &Hypercube, packet: Packet, cx: &mut impl Context<Packet>) {
        let Packet { destination, hops, length, .. } = packet;
        let me = cx.me();
        let dimension = (me.get() ^ destination.get()).trailing_zeros();
        let server = match cube.params.service {
            Service::Link => dimension as usize,
            Service::Node => 0,
        };
        let free_at = &mut self.free_at[server];
        let now = cx.now().get();
        let start = now.max(*free_at);
        *free_at = start + length;
        self.measured.sent[dimension as usize] += 1;
        self.measured.requests += 1;
        self.measured.waited += start - now;
        self.measured.busy += length;
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
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, cube: &Hypercube, cx: &mut impl Context<Packet>) {
        let (messages, nodes) = (cube.params.messages, cube.params.nodes());
        let mine = messages / nodes + usize::from(cx.me().index() < messages % nodes);
        for _ in 0..mine {
            let packet = Self::new_packet(cube, cx);
            self.forward(cube, packet, cx);
        }
    }

    #[inline]
    fn handle(&mut self, cube: &Hypercube, packet: &Packet, cx: &mut impl Context<Packet>) {
        // A single call of `forward`, which is compiled into the handler then.
        let packet = if packet.destination == cx.me() {
            let latency = cx.now().get() - packet.injected_at;
            self.measured.delivered += 1;
            self.measured.hops += u64::from(packet.hops);
            self.measured.latency += latency;
            self.latencies.add(latency / cube.histogram_unit, cx);
            Self::new_packet(cube, cx)
        } else {
            packet.clone()
        };
        self.forward(cube, packet, cx);
    }

    #[inline]
    fn identity(_: &Hypercube, packet: &Packet) -> Option<u64> {
        let Packet { destination, hops, length, injected_at } = *packet;
        let route = u64::from(destination.get()) << 32 | u64::from(hops);
        Some(mix(mix(route, length.to_bits()), injected_at.to_bits()))
    }

    fn finish(self, _: &Hypercube, end: VirtualTime) -> Tally {
        let Self { free_at, mut measured, latencies } = self;
        let end = end.get();
        // Only the busy time before the end counts (CUBE-B).
        let after = free_at.iter().map(|free_at| (free_at - end).max(0.0)).sum::<f64>();
        measured.busy -= after;
        let most = free_at.iter().filter(|free_at| **free_at > 0.0).count() as f64 * end;
        // What is taken off may be far more than what is left.
        let error = ROUNDING * (1.0 + most) + ROUNDING * ROUNDING * after;
        debug_assert!(
            (-error..=most + error).contains(&measured.busy),
            "CUBE-B: servers that were busy for {} of {most}",
            measured.busy
        );
        Tally { measured, latencies, end }
    }

    #[inline]
    fn fingerprint(_: &Hypercube, packet: &Packet) -> u64 {
        let Packet { destination, hops, length, injected_at } = *packet;
        let route = u64::from(destination.get()) << 32 | u64::from(hops);
        mix(route ^ length.to_bits(), injected_at.to_bits())
    }
}

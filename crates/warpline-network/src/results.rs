//! What nodes count, and what a run reports of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpline::{
    Figure, FigureKind, Results, Value,
    picture::{Picture, Shape},
};

use crate::{histogram::Histogram, ports::PortTo, topology::Topology};

/// The most links that a picture shows one by one.
const DRAWN_MAX: usize = 4096;
/// The bars of the picture of all links.
const BARS: usize = 20;
/// Picoseconds in a microsecond.
const MICROSECOND: f64 = 1e6;

/// What one end of a link counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Value, Serialize, Deserialize)]
pub struct PortTally {
    /// Packets that it transmitted, or that wait for it.
    pub packets: u64,
    /// How long it transmitted (ps); before the end of the run, all packets here are added.
    pub busy: f64,
    /// Packets that found its queue full.
    pub dropped: u64,
    /// Packets that it marked.
    pub marked: u64,
    /// The most packets that ever waited.
    pub longest: u32,
}

impl PortTally {
    pub(crate) const NONE: Self = Self { packets: 0, busy: 0.0, dropped: 0, marked: 0, longest: 0 };
}

/// What a node counts, apart from its ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Value, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Packets that it sent as their source, and that its queues dropped.
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    /// Packets that came here as their destination, those of them with a mark, and their bytes.
    pub(crate) delivered: u64,
    pub(crate) marked: u64,
    pub(crate) bytes: u64,
    /// Their delays (ps), added up.
    pub(crate) delay: f64,
    /// Packets that came to a port at the very time of another one.
    pub(crate) ties: u64,
}

/// What a node has counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub(crate) ports: Vec<PortTally>,
    pub(crate) counts: Counts,
    /// Of the packets that came here: their delays, and how many passed so many links.
    pub(crate) delays: Histogram,
    pub(crate) hops: Vec<u32>,
    /// When the run ended (ps); of an interval, how long it was.
    pub(crate) end: f64,
}

impl Counts {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            sent: self.sent - earlier.sent,
            dropped: self.dropped - earlier.dropped,
            delivered: self.delivered - earlier.delivered,
            marked: self.marked - earlier.marked,
            bytes: self.bytes - earlier.bytes,
            delay: self.delay - earlier.delay,
            ties: self.ties - earlier.ties,
        }
    }

    fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.dropped += other.dropped;
        self.delivered += other.delivered;
        self.marked += other.marked;
        self.bytes += other.bytes;
        self.delay += other.delay;
        self.ties += other.ties;
    }
}

impl Tally {
    /// What was counted since an earlier state. What is no sum is that of the later one.
    pub(crate) fn since(later: &Self, earlier: &Self) -> Self {
        let ports = later.ports.iter().zip(&earlier.ports);
        let port = |(later, earlier): (&PortTally, &PortTally)| PortTally {
            packets: later.packets - earlier.packets,
            busy: later.busy - earlier.busy,
            dropped: later.dropped - earlier.dropped,
            marked: later.marked - earlier.marked,
            longest: later.longest,
        };
        let hops = earlier.hops.iter().copied().chain(std::iter::repeat(0));
        Self {
            ports: ports.map(port).collect(),
            counts: later.counts.since(&earlier.counts),
            delays: later.delays.since(&earlier.delays),
            hops: later.hops.iter().zip(hops).map(|(later, earlier)| later - earlier).collect(),
            end: later.end - earlier.end,
        }
    }

    fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.delays.merge(&other.delays);
        self.hops.resize(self.hops.len().max(other.hops.len()), 0);
        self.hops.iter_mut().zip(&other.hops).for_each(|(sum, hops)| *sum += hops);
        self.end = self.end.max(other.end);
    }
}

/// The result of the packet network. A number for which there was nothing to measure is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NetworkOutput {
    sum: Tally,
    /// The longest queue that there ever was.
    longest: u32,
    /// By link: the part of the time that it was busy, in the direction from its first end and in
    /// the other one.
    utilization: Vec<[f64; 2]>,
    /// For pictures.
    topology: Arc<Topology>,
}

impl NetworkOutput {
    pub(crate) fn new(tallies: &[Tally], topology: Arc<Topology>, ports: &[Vec<PortTo>]) -> Self {
        let mut output =
            Self { utilization: vec![[0.0; 2]; topology.links.len()], topology, ..Self::default() };
        for (node, tally) in tallies.iter().enumerate() {
            output.sum.add(tally);
            for (port, to) in tally.ports.iter().zip(&ports[node]) {
                let [first, _] = output.topology.links[to.link].ends;
                let direction = usize::from(first as usize != node);
                output.utilization[to.link][direction] = port.busy / tally.end;
                output.longest = output.longest.max(port.longest);
            }
        }
        output
    }

    /// The packets that were sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.sum.counts.sent
    }

    /// The packets that reached their destinations.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.sum.counts.delivered
    }

    /// The packets that found a queue full.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.sum.counts.dropped
    }

    /// Packets that came to a port at the very time of another one (NET-B).
    #[must_use]
    pub const fn ties(&self) -> u64 {
        self.sum.counts.ties
    }

    /// By link: the part of the time that it was busy, in the direction from its first end and in
    /// the other one.
    #[must_use]
    pub fn utilization(&self) -> &[[f64; 2]] {
        &self.utilization
    }

    /// The least number of hops that a part `p` of the packets has at most.
    fn hops(&self, p: f64) -> f64 {
        let rank = p * self.sum.counts.delivered as f64;
        let mut below = 0.0;
        let at = self.sum.hops.iter().position(|&count| {
            below += f64::from(count);
            below > 0.0 && below >= rank
        });
        at.map_or(f64::NAN, |hops| hops as f64)
    }

    /// A bar for each part of the range of utilizations.
    fn bars(&self) -> Picture {
        let mut values = vec![0.0; BARS];
        for &utilization in self.utilization.iter().flatten() {
            let bar = (utilization * BARS as f64) as usize;
            values[bar.min(BARS - 1)] += 1.0;
        }
        let label = |bar| format!("{}", (bar + 1) * 100 / BARS);
        Picture {
            title: "Links by utilization".into(),
            meaning: "Links, each direction by itself, that were busy so much of the time.".into(),
            unit: "links".into(),
            shape: Shape::Bars {
                axis: "busy at most (%)".into(),
                labels: (0..BARS).map(label).collect(),
                values,
            },
        }
    }

    /// Each link where it is.
    fn map(&self) -> Picture {
        let Topology { links, places, .. } = &*self.topology;
        let ends = links.iter().map(|link| link.ends.map(|end| places[end as usize]));
        let names = links.iter().map(|link| format!("{} - {}", link.ends[0], link.ends[1]));
        Picture {
            title: "Utilization by link".into(),
            meaning: "Part of the time that a link was busy, in its busier direction.".into(),
            unit: "".into(),
            shape: Shape::Map {
                lines: ends.map(|[[a, b], [c, d]]| [a, b, c, d]).collect(),
                names: names.collect(),
                values: self.utilization.iter().map(|[a, b]| a.max(*b)).collect(),
            },
        }
    }
}

impl Results for NetworkOutput {
    fn figures(&self) -> Vec<Figure> {
        let (figure, count) = (Figure::new, Figure::of_count);
        let sum = &self.sum;
        let under_way = sum.counts.sent.saturating_sub(sum.counts.delivered + sum.counts.dropped);
        let delay = |p| sum.delays.quantile(p) / MICROSECOND;
        let delivered = sum.counts.delivered as f64;
        let hops: f64 =
            sum.hops.iter().zip(0_u32..).map(|(n, h)| f64::from(*n) * f64::from(h)).sum();
        let all = self.utilization.iter().flatten();
        let directions = 2.0 * self.utilization.len() as f64;
        let utilization = all.clone().sum::<f64>() / directions;
        let busiest = all.copied().fold(f64::NAN, f64::max);
        // Bits per picosecond are terabits per second.
        let throughput = sum.counts.bytes as f64 * 8.0 / sum.end * 1e3;
        vec![
            count("packets_sent", sum.counts.sent, "packets", "sent by their sources"),
            count(
                "packets_delivered",
                sum.counts.delivered,
                "packets",
                "reached their destinations",
            ),
            count("packets_dropped", sum.counts.dropped, "packets", "found a queue full"),
            count("packets_marked", sum.counts.marked, "packets", "delivered with a mark (ECN)"),
            count("packets_under_way", under_way, "packets", "in the network at the end"),
            figure("throughput", throughput, "Gbit/s", "delivered, without headers"),
            figure(
                "delay_mean",
                sum.counts.delay / delivered / MICROSECOND,
                "us",
                "source to destination",
            ),
            figure("delay_p50", delay(0.50), "us", "source to destination, median"),
            figure("delay_p95", delay(0.95), "us", "source to destination, 95th percentile"),
            figure("delay_p99", delay(0.99), "us", "source to destination, 99th percentile"),
            figure("hops_mean", hops / delivered, "links", "passed by a delivered packet"),
            figure("hops_p50", self.hops(0.50), "links", "passed, median"),
            figure("hops_p99", self.hops(0.99), "links", "passed, 99th percentile"),
            figure("hops_max", self.hops(1.0), "links", "passed at most")
                .of_kind(FigureKind::ExtremeCount),
            figure("link_utilization", utilization, "", "part of the time a link is busy, mean"),
            figure("link_utilization_max", busiest, "", "the same of the busiest link"),
            count(
                "longest_queue",
                self.longest.into(),
                "packets",
                "that waited for a link at most",
            )
            .of_kind(FigureKind::ExtremeCount),
            count(
                "ties",
                sum.counts.ties,
                "packets",
                "came to a port at the very time of another one",
            ),
        ]
    }

    fn pictures(&self) -> Vec<Picture> {
        let mut pictures = vec![self.bars()];
        if self.utilization.len() <= DRAWN_MAX {
            pictures.push(self.map());
        }
        pictures
    }
}

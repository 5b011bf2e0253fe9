//! Who sends what, when, and to whom: packets of a file, or packets that are drawn.
//!
//! A node asks for its next packet when that is due (`node.rs`). Nothing here knows of links but
//! for the rate of the one that a host sends on.
//!
//! # Invariants
//!
//! - **SEND-A.** Times of packets are whole picoseconds, and never decrease.

use serde::{Deserialize, Serialize};
use warpline::{LpId, Stream, Value};

use crate::{
    packet::Due,
    params::{Arrivals, NetworkParams, Pattern},
    topology::{Topology, transmission},
};

/// What sends in a network.
#[derive(Clone, Debug)]
pub(crate) enum Sending {
    /// By node: its packets, in the order of their times.
    File(Vec<Vec<Due>>),
    /// Packets that are drawn.
    Drawn(Drawn),
}

/// Where a node is in what it sends.
#[derive(Clone, Debug, Value, Serialize, Deserialize)]
pub(crate) struct Source {
    /// When the next packet is due; infinite if none is.
    pub(crate) due: f64,
    /// The packets that were sent: the number of the next one, unless a file has it.
    pub(crate) sent: u32,
    /// The packets that are left of the flow.
    left: u32,
    destination: u32,
    flow: u32,
    /// All-reduce: the packets that came from the host before, and when the next can be sent.
    arrived: u64,
    ready: f64,
}

impl Source {
    /// Nothing is sent.
    pub(crate) const NONE: Self = Self {
        due: f64::INFINITY,
        sent: 0,
        left: 0,
        destination: 0,
        flow: 0,
        arrived: 0,
        ready: 0.0,
    };
}

/// How packets are drawn.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pattern: Pattern,
    arrivals: Arrivals,
    hosts: Vec<u32>,
    /// By node: what it sends on and to whom; `None` if it does not send.
    senders: Vec<Option<SendingHost>>,
    sizes: Vec<u32>,
    /// The packets of a flow.
    flow: u32,
    /// The most packets that a host sends.
    most: u32,
    /// All-reduce: the packets of a chunk, and the bytes of the last one.
    chunk: u64,
    last_bytes: u32,
}

#[derive(Clone, Copy, Debug)]
struct SendingHost {
    /// The place among the hosts.
    place: u32,
    /// The host to which all its packets go, unless it draws one for each flow.
    to: u32,
    /// The rate of its link.
    rate: u64,
    /// The mean time between two packets (ps).
    interval: f64,
    /// The mean pause between two flows (ps).
    pause: f64,
}

impl Drawn {
    /// The packets of these parameters in this network; `rates` has the rate of each node's link.
    pub(crate) fn new(params: &NetworkParams, topology: &Topology, rates: &[u64]) -> Self {
        let hosts = topology.hosts.clone();
        let sizes = params.sizes.bytes().to_vec();
        let largest = sizes.iter().copied().max().unwrap_or(1).max(1);
        let chunk = params.chunk.div_ceil(largest.into()).max(1);
        let last_bytes = (params.chunk - (chunk - 1) * u64::from(largest)) as u32;
        let mut drawn = Self {
            pattern: params.traffic,
            arrivals: params.arrivals,
            senders: vec![None; topology.nodes],
            flow: params.flow_packets,
            most: params.per_host.unwrap_or(u32::MAX),
            sizes,
            chunk,
            last_bytes,
            hosts,
        };
        let partners = drawn.partners(params.fan_in);
        for (place, (&host, to)) in (0..).zip(drawn.hosts.iter().zip(partners)) {
            let Some(to) = to else { continue };
            let rate = rates[host as usize];
            let all = drawn.sizes.len() as f64;
            let time = |bytes: &u32| transmission(*bytes, rate) as f64;
            let mean = drawn.sizes.iter().map(time).sum::<f64>() / all;
            let interval = mean / params.load;
            let pause = f64::from(params.flow_packets) * (interval - mean);
            let interval = interval.round().max(1.0);
            let sender = SendingHost { place, to, rate, interval, pause: pause.max(0.0) };
            drawn.senders[host as usize] = Some(sender);
        }
        drawn
    }

    /// By host: to whom it sends, if it does; itself if it draws whom.
    fn partners(&self, fan_in: u32) -> Vec<Option<u32>> {
        let all = self.hosts.len();
        match self.pattern {
            Pattern::Uniform => self.hosts.iter().map(|&host| Some(host)).collect(),
            Pattern::AllReduce => {
                (0..all).map(|place| Some(self.hosts[(place + 1) % all])).collect()
            }
            Pattern::Permutation => {
                // A cycle through all of them, the same in every run.
                const SEED: u64 = 0x7065_726d;
                let rng = Stream::for_lp(SEED, LpId::new(0));
                let mut order: Vec<usize> = (0..all).collect();
                for last in (1..all).rev() {
                    order.swap(last, rng.below(last as u64 + 1) as usize);
                }
                let mut partners = vec![None; all];
                for (n, &place) in order.iter().enumerate() {
                    partners[place] = Some(self.hosts[order[(n + 1) % all]]);
                }
                partners
            }
            Pattern::Incast => {
                let groups = (all / (fan_in as usize + 1)).max(1);
                let receiver = |place: usize| Some(self.hosts[place % groups]);
                (0..all).map(|place| receiver(place).filter(|_| place >= groups)).collect()
            }
        }
    }

    /// Begins another flow.
    fn begin_flow(&self, sender: SendingHost, source: &mut Source, rng: &Stream) {
        source.left = self.flow;
        source.destination = sender.to;
        if self.pattern == Pattern::Uniform {
            let other = rng.below(self.hosts.len() as u64 - 1) as u32;
            let place = other + u32::from(other >= sender.place);
            source.destination = self.hosts[place as usize];
        }
        source.flow = match self.pattern {
            Pattern::AllReduce => sender.place,
            _ => rng.below(1 << 31) as u32,
        };
    }

    /// Whether the host has what it sends next: its own chunk first, then those that it received.
    const fn has_next(&self, source: &Source) -> bool {
        (source.sent as u64) < self.chunk * (1 + source.arrived / self.chunk)
    }

    /// The bytes of the next packet.
    fn draw_bytes(&self, source: &Source, rng: &Stream) -> u32 {
        if self.pattern == Pattern::AllReduce {
            let is_last = (u64::from(source.sent) + 1).is_multiple_of(self.chunk);
            let largest = self.sizes.iter().copied().max().unwrap_or(1);
            return if is_last { self.last_bytes } else { largest };
        }
        match self.sizes.as_slice() {
            &[bytes] => bytes,
            sizes => sizes[rng.below(sizes.len() as u64) as usize],
        }
    }

    /// When the packet after one of these bytes is due, which is sent now.
    fn next_due(&self, sender: SendingHost, source: &mut Source, bytes: u32, rng: &Stream) -> f64 {
        let now = source.due;
        let time = transmission(bytes, sender.rate) as f64;
        if source.sent >= self.most {
            return f64::INFINITY;
        }
        if self.pattern == Pattern::AllReduce {
            source.ready = now + time;
            return if self.has_next(source) { source.ready } else { f64::INFINITY };
        }
        match self.arrivals {
            Arrivals::Constant => now + sender.interval,
            Arrivals::Poisson => now + rng.exponential(sender.interval).floor(),
            Arrivals::OnOff if source.left > 0 => now + time,
            Arrivals::OnOff => now + time + rng.exponential(sender.pause).floor(),
        }
    }
}

impl Sending {
    /// What a node sends first.
    pub(crate) fn start(&self, node: usize, rng: &Stream) -> Source {
        let mut source = Source::NONE;
        match self {
            Self::File(packets) => source.due = due_in(&packets[node], 0),
            Self::Drawn(drawn) => {
                if let Some(sender) = drawn.senders[node].filter(|_| drawn.most > 0) {
                    source.due = match (drawn.pattern, drawn.arrivals) {
                        (Pattern::AllReduce, _) => 0.0,
                        (_, Arrivals::Constant) => (rng.uniform() * sender.interval).floor(),
                        (_, Arrivals::Poisson) => rng.exponential(sender.interval).floor(),
                        (_, Arrivals::OnOff) => rng.exponential(sender.pause).floor(),
                    };
                }
            }
        }
        source
    }

    /// The packet of a node that is due now. There is one: its time is finite.
    pub(crate) fn take(&self, node: usize, source: &mut Source, rng: &Stream) -> Due {
        match self {
            Self::File(packets) => {
                let packet = packets[node][source.sent as usize];
                source.sent += 1;
                source.due = due_in(&packets[node], source.sent as usize);
                packet
            }
            Self::Drawn(drawn) => {
                let sender = drawn.senders[node].expect("SEND-A: only senders have a due time");
                if source.left == 0 {
                    drawn.begin_flow(sender, source, rng);
                }
                let bytes = drawn.draw_bytes(source, rng);
                let (at, number) = (source.due, source.sent);
                source.sent += 1;
                source.left -= 1;
                source.due = drawn.next_due(sender, source, bytes, rng);
                let Source { destination, flow, .. } = *source;
                Due { at, number, destination, bytes, flow }
            }
        }
    }

    /// Whether a node that waits for packets of others sends when they have come.
    #[inline]
    pub(crate) const fn answers(&self) -> bool {
        matches!(self, Self::Drawn(Drawn { pattern: Pattern::AllReduce, .. }))
    }

    /// A packet has come to a node that [answers](Self::answers). If the node has waited for it,
    /// its next packet is due now, or when its link is free.
    pub(crate) fn arrived(&self, source: &mut Source, now: f64) {
        let Self::Drawn(drawn) = self else { return };
        source.arrived += 1;
        if source.due.is_infinite() && source.sent < drawn.most && drawn.has_next(source) {
            source.due = now.max(source.ready);
        }
    }

    /// Who may send to whom, for routes: each destination with its sources.
    pub(crate) fn wanted(&self) -> Vec<(u32, Vec<u32>)> {
        match self {
            Self::File(packets) => {
                let mut wanted = std::collections::BTreeMap::<u32, Vec<u32>>::new();
                for (from, packets) in (0..).zip(packets) {
                    for packet in packets {
                        let sources = wanted.entry(packet.destination).or_default();
                        if sources.last() != Some(&from) {
                            sources.push(from);
                        }
                    }
                }
                wanted.into_iter().collect()
            }
            Self::Drawn(drawn) => {
                // One host reaches all others if all others reach it.
                drawn.hosts.iter().map(|&to| (to, vec![drawn.hosts[0]])).collect()
            }
        }
    }

    /// The fewest bytes of a packet.
    pub(crate) fn least_bytes(&self) -> u32 {
        match self {
            Self::File(packets) => {
                packets.iter().flatten().map(|packet| packet.bytes).min().unwrap_or(0)
            }
            Self::Drawn(Drawn { pattern: Pattern::AllReduce, last_bytes, .. }) => *last_bytes,
            Self::Drawn(drawn) => drawn.sizes.iter().copied().min().unwrap_or(0),
        }
    }
}

fn due_in(packets: &[Due], next: usize) -> f64 {
    packets.get(next).map_or(f64::INFINITY, |packet| packet.at)
}

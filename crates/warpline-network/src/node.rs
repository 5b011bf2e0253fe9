//! The handlers of the packet network: what a packet does at a node. `model.rs` says what the model
//! is.

use serde::{Deserialize, Serialize};
use warpline::{
    Context, EventKey, Io, LogicalProcess, LpId, Saving, State, Tracked, TrackedDeque, TrackedVec,
    Value, VirtualTime, digest::mix,
};

use crate::{
    histogram::Histogram,
    network::Network,
    packet::{Due, Packet, PacketEvent},
    results::{Counts, PortTally, Tally},
    sending::Source,
    topology::transmission,
};

/// A packet that waits for a link.
#[derive(Clone, Copy, Debug, Value, Serialize, Deserialize)]
struct Waiting {
    /// When its transmission begins.
    begins: f64,
    /// When that was known: when the transmission before it began.
    scheduled: f64,
}

/// One end of a link.
#[derive(Debug, State, Serialize, Deserialize)]
struct Port {
    link: Tracked<Link>,
    waiting: TrackedDeque<Waiting>,
}

/// What a port knows of its link.
#[derive(Clone, Copy, Debug, Value, Serialize, Deserialize)]
struct Link {
    /// When all that is here will have been transmitted.
    free_at: f64,
    /// When the last of these transmissions begins.
    last_begin: f64,
    /// When a packet last came here from another node.
    last_arrival: f64,
    tally: PortTally,
}

/// A host or a switch.
#[derive(Debug, State, Serialize, Deserialize)]
pub struct Node {
    #[state(nested)]
    ports: Vec<Port>,
    source: Tracked<Source>,
    /// Whether a [`PacketEvent::Due`] is pending.
    expects: Tracked<bool>,
    counts: Tracked<Counts>,
    /// Of the packets that came here, as bins of a [`Histogram`]: their delays.
    delays: TrackedVec<u32>,
    /// By links that they passed: how many did.
    hops: TrackedVec<u32>,
}

impl Link {
    const UNUSED: Self = Self {
        free_at: f64::NEG_INFINITY,
        last_begin: f64::NEG_INFINITY,
        last_arrival: f64::NEG_INFINITY,
        tally: PortTally::NONE,
    };
}

impl Port {
    fn new() -> Self {
        Self { link: Tracked::new(Link::UNUSED), waiting: TrackedDeque::default() }
    }

    /// Takes those from the queue whose transmission has begun when a packet comes. At the very
    /// time of a beginning, what was known first comes first (PACKET-B).
    #[inline]
    fn begin_until(&mut self, now: f64, scheduled: f64, cx: &mut impl Context<Packet>) {
        let has_begun = |first: &Waiting| {
            first.begins < now || (first.begins == now && first.scheduled < scheduled)
        };
        while self.waiting.front().is_some_and(has_begun) {
            self.waiting.pop_front(cx);
        }
    }

    /// Puts a packet behind the others, and returns when its transmission begins.
    #[inline]
    fn queue(&mut self, now: f64, scheduled: f64, time: f64, cx: &mut impl Context<Packet>) -> f64 {
        let link = self.link.write(cx);
        let is_busy = link.free_at > now || (link.free_at == now && link.last_begin >= scheduled);
        let begins = now.max(link.free_at);
        if is_busy {
            self.waiting.push_back(Waiting { begins, scheduled: link.last_begin }, cx);
            link.tally.longest = link.tally.longest.max(self.waiting.len() as u32);
        }
        link.last_begin = begins;
        link.free_at = begins + time;
        link.tally.packets += 1;
        link.tally.busy += time;
        begins
    }
}

/// Counts one more at a place, which may be a new one.
#[inline]
fn count(counts: &mut TrackedVec<u32>, place: usize, cx: &mut impl Context<Packet>) {
    if place >= counts.len() {
        counts.resize(place + 1, &0, cx);
    }
    *counts.write(place, cx) += 1;
}

impl Node {
    pub(crate) fn new(ports: usize, source: Source) -> Self {
        let ports = (0..ports).map(|_| Port::new()).collect();
        Self {
            ports,
            source: Tracked::new(source),
            expects: Tracked::new(false),
            counts: Tracked::default(),
            delays: TrackedVec::default(),
            hops: TrackedVec::default(),
        }
    }

    /// Sends all packets that are due now.
    fn send_due(&mut self, network: &Network, cx: &mut impl Context<Packet>) {
        let (me, now) = (cx.me(), cx.now().get());
        while self.source.due <= now {
            let due = network.sending.take(me.index(), self.source.write(cx), cx.rng());
            let Due { number, destination, bytes, flow, .. } = due;
            self.counts.write(cx).sent += 1;
            let packet = Packet {
                number,
                source: me.get(),
                destination,
                flow,
                bytes: bytes as u16,
                sent: now,
                // As if it were known before the run, so that it comes before all else (PACKET-B).
                scheduled: f64::NEG_INFINITY,
                ..Packet::DUE
            };
            self.forward(network, packet, cx);
        }
    }

    /// Sends the event of the next packet, unless that is under way.
    fn expect(&mut self, cx: &mut impl Context<Packet>) {
        if !*self.expects && self.source.due.is_finite() {
            self.expects.set(true, cx);
            cx.send_at(cx.me(), self.source.due, Packet::DUE);
        }
    }

    /// Puts a packet into the queue for the next link on its route, or drops it.
    #[inline]
    fn forward(&mut self, network: &Network, mut packet: Packet, cx: &mut impl Context<Packet>) {
        let (me, now) = (cx.me().index(), cx.now().get());
        let at = network.routes.next(me, packet.destination, packet.flow);
        let link = &network.ports[me][at];
        let port = &mut self.ports[at];
        if packet.hops > 0 {
            if port.link.last_arrival == now {
                self.counts.write(cx).ties += 1;
            }
            port.link.write(cx).last_arrival = now;
        }
        packet.hops = packet.hops.saturating_add(1);
        port.begin_until(now, packet.scheduled, cx);
        let waiting = port.waiting.len();
        if waiting >= link.queue as usize {
            port.link.write(cx).tally.dropped += 1;
            self.counts.write(cx).dropped += 1;
            return end(network, PacketEvent::Dropped, packet, cx);
        }
        if waiting >= network.mark_at {
            packet.marked = true;
            port.link.write(cx).tally.marked += 1;
        }
        let time = transmission(packet.bytes.into(), link.rate) as f64;
        let begins = port.queue(now, packet.scheduled, time, cx);
        let arrival = begins + time + link.delay;
        packet.event = PacketEvent::Arrive;
        packet.scheduled = begins;
        cx.send_at(link.to, arrival, packet);
    }

    /// A packet is where it was to go.
    #[inline]
    fn deliver(&mut self, network: &Network, packet: Packet, cx: &mut impl Context<Packet>) {
        let now = cx.now().get();
        let delay = now - packet.sent;
        let counts = self.counts.write(cx);
        counts.delivered += 1;
        counts.marked += u64::from(packet.marked);
        counts.bytes += u64::from(packet.bytes);
        counts.delay += delay;
        count(&mut self.delays, Histogram::bin(delay), cx);
        count(&mut self.hops, packet.hops.into(), cx);
        end(network, PacketEvent::Delivered, packet, cx);
        if network.sending.answers() {
            network.sending.arrived(self.source.write(cx), now);
        }
        if self.source.due <= now {
            self.send_due(network, cx);
        }
        self.expect(cx);
    }
}

/// Tells the tables, if there are any, what became of a packet.
#[inline]
fn end(network: &Network, event: PacketEvent, packet: Packet, cx: &mut impl Context<Packet>) {
    if network.tells_packets {
        cx.send_io(Io::NonBlocking, cx.me(), 0.0, Packet { event, ..packet });
    }
}

impl LogicalProcess for Node {
    type Model = Network;
    type Message = Packet;
    type Summary = Tally;
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn start(&mut self, network: &Network, cx: &mut impl Context<Packet>) {
        let source = network.sending.start(cx.me().index(), cx.rng());
        self.source.set(source, cx);
        self.expect(cx);
    }

    #[inline]
    fn handle(&mut self, network: &Network, packet: &Packet, cx: &mut impl Context<Packet>) {
        match packet.event {
            PacketEvent::Due => {
                self.expects.set(false, cx);
                self.send_due(network, cx);
                self.expect(cx);
            }
            PacketEvent::Arrive => {
                // A packet that is sent here at this very time comes first (PACKET-B).
                if self.source.due <= cx.now().get() {
                    self.send_due(network, cx);
                }
                if packet.destination == cx.me().get() {
                    self.deliver(network, *packet, cx);
                } else {
                    self.forward(network, *packet, cx);
                }
            }
            // Only `output` gets them.
            PacketEvent::Delivered | PacketEvent::Dropped => {}
        }
    }

    fn output(network: &Network, _: LpId, event: &EventKey, packet: &Packet) {
        if let Some(shared) = &network.shared {
            shared.packet(event.time().get(), packet);
        }
    }

    #[inline]
    fn identity(network: &Network, packet: &Packet) -> Option<u64> {
        // The fingerprint covers the whole message.
        Some(Self::fingerprint(network, packet))
    }

    fn finish(self, _: &Network, end: VirtualTime) -> Tally {
        let end = end.get();
        let ports = self.ports.into_iter().map(|port| {
            let Link { free_at, tally, .. } = port.link.into_inner();
            // A link is busy without a gap up to `free_at`, if that is later than the end.
            let after = (free_at - end).max(0.0);
            PortTally { busy: (tally.busy - after).max(0.0), ..tally }
        });
        Tally {
            ports: ports.collect(),
            counts: self.counts.into_inner(),
            delays: Histogram(self.delays.into_inner()),
            hops: self.hops.into_inner(),
            end,
        }
    }

    #[inline]
    fn fingerprint(_: &Network, packet: &Packet) -> u64 {
        let [a, b, c, d] = packet.words();
        mix(mix(a, b), mix(c, d))
    }
}

//! The handlers of the packet network: what a packet does at a node. `model.rs` says what the model
//! is.

use std::collections::VecDeque;

use warpline::{
    Context, EventKey, Io, LogicalProcess, LpId, VirtualTime, digest::mix, state::heap_block,
};

use crate::{
    network::Network,
    packet::{Due, Packet, PacketEvent},
    results::{PortTally, Tally},
    sending::Source,
    topology::transmission,
};

/// A packet that waits for a link.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// When its transmission begins.
    begins: f64,
    /// When that was known: when the transmission before it began.
    scheduled: f64,
}

/// One end of a link: the packets that wait there.
#[derive(Clone, Debug)]
struct Port {
    /// When all that is here will have been transmitted.
    free_at: f64,
    /// When the last of these transmissions begins.
    last_begin: f64,
    /// When a packet last came here from another node.
    last_arrival: f64,
    waiting: VecDeque<Waiting>,
    tally: PortTally,
}

/// A host or a switch.
#[derive(Clone, Debug)]
pub struct Node {
    ports: Vec<Port>,
    source: Source,
    /// Whether a [`PacketEvent::Due`] is pending.
    expects: bool,
    tally: Tally,
}

impl Port {
    fn new() -> Self {
        Self {
            free_at: f64::NEG_INFINITY,
            last_begin: f64::NEG_INFINITY,
            last_arrival: f64::NEG_INFINITY,
            waiting: VecDeque::new(),
            tally: PortTally::default(),
        }
    }

    /// Takes those from the queue whose transmission has begun when a packet comes. At the very
    /// time of a beginning, what was known first comes first (PACKET-B).
    #[inline]
    fn begin_until(&mut self, now: f64, scheduled: f64) {
        let has_begun = |first: &Waiting| {
            first.begins < now || (first.begins == now && first.scheduled < scheduled)
        };
        while self.waiting.front().is_some_and(has_begun) {
            self.waiting.pop_front();
        }
    }

    /// Puts a packet behind the others, and returns when its transmission begins.
    #[inline]
    fn queue(&mut self, now: f64, scheduled: f64, time: f64) -> f64 {
        let is_busy = self.free_at > now || (self.free_at == now && self.last_begin >= scheduled);
        let begins = now.max(self.free_at);
        if is_busy {
            self.waiting.push_back(Waiting { begins, scheduled: self.last_begin });
            self.tally.longest = self.tally.longest.max(self.waiting.len() as u32);
        }
        self.last_begin = begins;
        self.free_at = begins + time;
        self.tally.packets += 1;
        self.tally.busy += time;
        begins
    }
}

impl Node {
    pub(crate) fn new(ports: usize, source: Source) -> Self {
        let ports = (0..ports).map(|_| Port::new()).collect();
        Self { ports, source, expects: false, tally: Tally::default() }
    }

    /// Sends all packets that are due now.
    fn send_due(&mut self, network: &Network, cx: &mut impl Context<Packet>) {
        let (me, now) = (cx.me(), cx.now().get());
        while self.source.due <= now {
            let due = network.sending.take(me.index(), &mut self.source, cx.rng());
            let Due { number, destination, bytes, flow, .. } = due;
            self.tally.sent += 1;
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
        if !self.expects && self.source.due.is_finite() {
            self.expects = true;
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
            self.tally.ties += u64::from(port.last_arrival == now);
            port.last_arrival = now;
        }
        packet.hops = packet.hops.saturating_add(1);
        port.begin_until(now, packet.scheduled);
        let waiting = port.waiting.len();
        if waiting >= link.queue as usize {
            port.tally.dropped += 1;
            self.tally.dropped += 1;
            return end(network, PacketEvent::Dropped, packet, cx);
        }
        if waiting >= network.mark_at {
            packet.marked = true;
            port.tally.marked += 1;
        }
        let time = transmission(packet.bytes.into(), link.rate) as f64;
        let begins = port.queue(now, packet.scheduled, time);
        let arrival = begins + time + link.delay;
        packet.event = PacketEvent::Arrive;
        packet.scheduled = begins;
        cx.send_at(link.to, arrival, packet);
    }

    /// A packet is where it was to go.
    #[inline]
    fn deliver(&mut self, network: &Network, packet: Packet, cx: &mut impl Context<Packet>) {
        let now = cx.now().get();
        self.tally.deliver(packet.bytes, packet.hops, packet.marked, now - packet.sent);
        end(network, PacketEvent::Delivered, packet, cx);
        network.sending.arrived(&mut self.source, now);
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

    fn start(&mut self, network: &Network, cx: &mut impl Context<Packet>) {
        self.source = network.sending.start(cx.me().index(), cx.rng());
        self.expect(cx);
    }

    #[inline]
    fn handle(&mut self, network: &Network, packet: &Packet, cx: &mut impl Context<Packet>) {
        match packet.event {
            PacketEvent::Due => {
                self.expects = false;
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

    fn heap_bytes(&self) -> usize {
        let waiting = |port: &Port| heap_block(port.waiting.capacity() * size_of::<Waiting>());
        let queues: usize = self.ports.iter().map(waiting).sum();
        heap_block(self.ports.capacity() * size_of::<Port>()) + queues + self.tally.heap_bytes()
    }

    fn finish(self, _: &Network, end: VirtualTime) -> Tally {
        let end = end.get();
        let Self { ports, mut tally, .. } = self;
        tally.end = end;
        let ports = ports.into_iter().map(|port| {
            // A link is busy without a gap up to `free_at`, if that is later than the end.
            let after = (port.free_at - end).max(0.0);
            PortTally { busy: (port.tally.busy - after).max(0.0), ..port.tally }
        });
        tally.ports = ports.collect();
        tally
    }

    #[inline]
    fn fingerprint(_: &Network, packet: &Packet) -> u64 {
        let [a, b, c, d] = packet.words();
        mix(mix(a, b), mix(c, d))
    }
}

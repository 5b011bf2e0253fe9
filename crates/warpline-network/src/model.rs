//! Packets on a network of links, as a model for the engines.
//!
//! An LP is a node: a host, a switch, or both. A node that gets a packet for another one puts it
//! into the queue of the next link on its route, behind those that wait there, and drops it if the
//! queue is full (*store and forward*, *drop tail*). The link transmits one packet at a time, at
//! its rate; the packet arrives a delay after its last bit was sent. What a packet will meet on its
//! link is known when it joins the queue, so one event takes it from node to node. Virtual time is
//! in picoseconds.
//!
//! It is the network at link level of ns-3 (`PointToPointNetDevice` with a `DropTailQueue`), packet
//! for packet, with its drops.
//!
//! # Invariants
//!
//! - **PACKET-A.** No more packets were delivered and dropped than were sent. Checked at the end of
//!   every run.
//! - **PACKET-B.** Of what happens at one port at one time, that comes first which was known first:
//!   an arrival when its transmission began, the beginning of a transmission when the one before it
//!   began, a packet that a node sends before all else. So says the order of events of ns-3. Two
//!   arrivals at one time come in the order of the nodes that they come from.
//!
//! # References
//!
//! ns-3 (<https://www.nsnam.org>), version 3.37: `PointToPointNetDevice`, `DropTailQueue`.

use std::{fmt, sync::Arc};

use warpline::{
    AnyModel, Difference, Link, LpId, Model,
    wire::{Wire, Wires},
};

use crate::sending::Source;
pub use crate::{
    error::NetworkError,
    network::Network,
    node::Node,
    packet::{Packet, PacketEvent},
    results::{NetworkOutput, PortTally, Tally},
};

impl Network {
    /// The type forgotten, with all engines.
    #[must_use]
    pub fn into_any(self) -> AnyModel {
        AnyModel::new(self)
    }
}

impl Model for Network {
    type Lp = Node;
    type Output = NetworkOutput;

    fn name(&self) -> &'static str {
        "network"
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

    fn lp_count(&self) -> usize {
        self.topology.nodes
    }

    fn make_lp(&self, id: LpId) -> Node {
        Node::new(self.ports[id.index()].len(), Source::NONE)
    }

    fn reduce(&self, tallies: impl Iterator<Item = Tally>) -> NetworkOutput {
        let tallies: Vec<_> = tallies.collect();
        let output = NetworkOutput::new(&tallies, Arc::clone(&self.topology), &self.ports);
        let ended = output.delivered() + output.dropped();
        assert!(ended <= output.sent(), "PACKET-A: packets were delivered or dropped twice");
        if let Some(shared) = &self.shared {
            shared.links(&self.ports, &tallies);
        }
        output
    }

    fn difference(&self) -> Option<Difference<Self>> {
        Some(Tally::since)
    }

    fn lookahead(&self) -> Option<f64> {
        let all = self.ports.iter().flatten().map(|port| port.lookahead);
        Some(all.fold(f64::INFINITY, f64::min)).filter(|least| *least > 0.0 && least.is_finite())
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let mut links: Vec<Link> = Vec::new();
        // Those to one neighbor follow each other.
        for port in &self.ports[from.index()] {
            match links.last_mut().filter(|last| last.to == port.to) {
                Some(last) => last.lookahead = last.lookahead.min(port.lookahead),
                None => links.push(Link { to: port.to, lookahead: port.lookahead }),
            }
        }
        Some(links)
    }
}

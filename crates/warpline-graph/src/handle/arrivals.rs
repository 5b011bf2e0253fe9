//! Handles what other workers have sent.
//!
//! A part of [`EventGraph`].

use warpline_net::{Malformed, NetError, Parcel};

use super::EventGraph;
use crate::{EdgeId, NodeId, Taken, item::Item};

/// A clock that a node has published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    node: NodeId,
    edge: Option<EdgeId>,
    /// The published value.
    pub words: [u64; 2],
}

impl Clock {
    pub(super) const fn of_node(node: NodeId, words: [u64; 2]) -> Self {
        Self { node, edge: None, words }
    }

    /// The node that has published it.
    #[must_use]
    pub const fn node(&self) -> NodeId {
        self.node
    }

    /// The edge that it is for, or none if it is for all edges from the node to this worker
    /// ([`Plan::listeners`](crate::Plan::listeners)).
    #[must_use]
    pub const fn edge(&self) -> Option<EdgeId> {
        self.edge
    }
}

impl<E> EventGraph<'_, E> {
    /// Handles all that has arrived from other workers, and returns whether anything has.
    ///
    /// # Errors
    ///
    /// When the network fails, or has failed in a send since the last poll.
    pub fn poll(&mut self) -> Result<bool, NetError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let has_local = self.collect();
        Ok(self.receive_parcels()? || has_local)
    }

    /// Handles what other workers of this rank have posted.
    fn collect(&mut self) -> bool {
        let posted = self.hub.posted(self.port);
        if posted == self.collected {
            return false;
        }
        self.collected = posted;
        self.set_active();
        let mut items = std::mem::take(&mut self.scratch);
        let me = self.port;
        for port in (0..self.plan.ports()).filter(|&port| port != me) {
            let batches = self.hub.collect(port, me, &mut items);
            if batches > 0 {
                self.hub.arrived(batches);
                for item in items.drain(..) {
                    self.admit(self.first + port, item);
                }
            }
        }
        self.scratch = items;
        true
    }

    /// Handles what other ranks have sent.
    fn receive_parcels(&mut self) -> Result<bool, NetError> {
        let Some(remote) = self.remote.as_ref().filter(|_| self.outbox.is_some()) else {
            return Ok(false);
        };
        let (transport, codec, kind) = (remote.transport, remote.codec, remote.kind);
        let counts = [self.plan.topology().nodes(), self.plan.topology().edges()];
        let mut any = false;
        while let Some(received) = transport.receive(self.port)? {
            let malformed = |what| NetError::Malformed { from: received.from, what };
            let opened = Parcel::open(&received.bytes).map_err(malformed)?;
            if opened.kind != kind || opened.port >= self.plan.ports() {
                return Err(malformed(Malformed::Kind(opened.kind)));
            }
            let from = received.from * self.plan.ports() + opened.port;
            let mut body = opened.body;
            while !body.is_empty() {
                let item = Item::read(codec, counts, &mut body).map_err(malformed)?;
                self.check(from, &item).map_err(malformed)?;
                if !matches!(item, Item::Control(_)) {
                    self.set_active();
                    self.remote_items.received += 1;
                }
                self.admit(from, item);
            }
            any = true;
            if let Some(outbox) = &mut self.outbox {
                outbox.recycle(received.bytes);
            }
        }
        Ok(any)
    }

    /// Refuses an item that its sender may not send to this worker.
    fn check(&self, from: usize, item: &Item<E>) -> Result<(), Malformed> {
        let topology = self.plan.topology();
        let worker_of = |node| self.plan.worker_of(node);
        let fits = match *item {
            Item::Event(edge, _) | Item::EdgeClock(edge, _) => {
                [worker_of(topology.from(edge)), worker_of(topology.to(edge))] == [from, self.me]
            }
            Item::Credit(edge, count) => {
                [worker_of(topology.to(edge)), worker_of(topology.from(edge))] == [from, self.me]
                    && u64::from(count) <= self.plan.capacity() as u64
            }
            Item::Fanout(node, _) | Item::Clock(node, _) => worker_of(node) == from,
            Item::Ack(node) => {
                self.unacknowledged.get(node.index()).is_some_and(|&missing| missing > 0)
            }
            Item::Hello(fingerprint) => {
                if fingerprint != self.fingerprint {
                    let what =
                        "its event graph is another one (do all ranks have the same settings?)";
                    return Err(Malformed::Body(what.to_owned()));
                }
                true
            }
            Item::Marker | Item::Control(_) => true,
        };
        let what = "an item of an event graph that its sender may not send to this worker";
        if fits { Ok(()) } else { Err(Malformed::Body(what.to_owned())) }
    }

    /// Handles an item, or keeps it for later if its sender's marker has arrived before it.
    pub(super) fn admit(&mut self, from: usize, item: Item<E>) {
        match item {
            Item::Control(words) => self.control.push_back((from, *words)),
            item if self.freezing.is_closed(from) => self.freezing.keep(from, item),
            item => self.handle(from, item),
        }
    }

    fn handle(&mut self, from: usize, item: Item<E>) {
        let plan = self.plan;
        match item {
            Item::Event(edge, event) => {
                self.acknowledge(from, plan.topology().from(edge));
                self.receive_into(edge, Taken::Own(event));
            }
            Item::Fanout(node, event) => {
                self.acknowledge(from, node);
                self.spread(plan.listeners(node, self.me), event);
            }
            Item::Clock(node, words) => self.clocks.push_back(Clock::of_node(node, words)),
            Item::EdgeClock(edge, words) => {
                let node = plan.topology().from(edge);
                self.clocks.push_back(Clock { node, edge: Some(edge), words });
            }
            Item::Credit(edge, count) => self.add_credits(edge, count),
            Item::Ack(node) => {
                self.unacknowledged[node.index()] -= 1;
                if self.is_complete(node) {
                    self.unblocked.push_back(node);
                }
            }
            Item::Marker => self.freezing.close(from),
            Item::Hello(_) => self.unconfirmed = self.unconfirmed.saturating_sub(1),
            Item::Control(_) => unreachable!("`admit` has handled it"),
        }
    }

    fn acknowledge(&mut self, sender: usize, node: NodeId) {
        if !self.unacknowledged.is_empty() {
            self.dispatch(sender, Item::Ack(node));
        }
    }

    /// Puts an event into an edge that leads to this worker.
    #[inline]
    pub(super) fn receive_into(&mut self, edge: EdgeId, event: Taken<E>) {
        if self.fifos.push(self.plan.place(edge), event) {
            self.arrivals.push_back(edge);
        }
    }

    /// Puts one event into several edges that lead to this worker.
    pub(super) fn spread(&mut self, edges: &[EdgeId], event: E) {
        if let [edge] = edges {
            return self.receive_into(*edge, Taken::Own(event));
        }
        let event = self.cache.store(event);
        edges.iter().for_each(|&edge| self.receive_into(edge, Taken::Shared(event.share())));
    }
}

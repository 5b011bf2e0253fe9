//! Sending: events on edges, clocks, words; and what carries them to other workers.
//!
//! A part of [`EventGraph`].

use warpline_net::NetError;

use crate::{
    EdgeId, EventGraph, NodeId, Refusal, Refused, Taken,
    arrivals::Clock,
    item::{CONTROL_WORDS, Item},
};

impl<E> EventGraph<'_, E> {
    /// Sends an event on one edge.
    ///
    /// # Errors
    ///
    /// Gives the event back if it cannot be sent now.
    #[inline]
    pub fn send(&mut self, edge: EdgeId, event: E) -> Result<(), Refused<E>> {
        match self.refusal(self.plan.topology().from(edge), [edge]) {
            Some(refusal) => Err(Refused { refusal, event }),
            None => {
                self.put(edge, event);
                Ok(())
            }
        }
    }

    /// Sends an event on one edge, full or not: for recovery from a deadlock only (GRAPH-B).
    ///
    /// # Errors
    ///
    /// Gives the event back if it cannot be sent now.
    pub fn send_over(&mut self, edge: EdgeId, event: E) -> Result<(), Refused<E>> {
        match self.refusal(self.plan.topology().from(edge), []) {
            Some(refusal) => Err(Refused { refusal, event }),
            None => {
                self.put(edge, event);
                Ok(())
            }
        }
    }

    /// Sends an event on all edges that leave a node (SendEvent): on all or on none.
    ///
    /// # Errors
    ///
    /// Gives the event back if it cannot be sent now.
    pub fn send_event(&mut self, node: NodeId, event: E) -> Result<(), Refused<E>>
    where
        E: Clone,
    {
        let plan = self.plan;
        if let Some(refusal) = self.refusal(node, plan.topology().outgoing(node).map(EdgeId)) {
            return Err(Refused { refusal, event });
        }
        let caches = plan.uses().caching;
        for fan in plan.fans(node) {
            let (edges, worker) = (plan.fan(fan), fan.worker as usize);
            if !caches || edges.len() == 1 {
                edges.iter().for_each(|&edge| self.put(edge, event.clone()));
                continue;
            }
            for edge in edges {
                self.credits[plan.place_at_sender(*edge)] -= 1;
            }
            self.traffic.events += edges.len() as u64;
            if worker == self.me {
                self.spread(edges, event.clone());
            } else {
                self.copy_to(worker, node, Item::Fanout(node, event.clone()));
            }
        }
        Ok(())
    }

    /// Why a node cannot send an event on these edges now.
    #[inline]
    fn refusal(&self, node: NodeId, edges: impl IntoIterator<Item = EdgeId>) -> Option<Refusal> {
        debug_assert_eq!(self.plan.worker_of(node), self.me, "{node:?} is another worker's");
        if self.freezing.is_under_way() {
            return Some(Refusal::Frozen);
        }
        if !self.is_complete(node) {
            return Some(Refusal::Incomplete);
        }
        let is_full = |edge: &EdgeId| self.credits[self.plan.place_at_sender(*edge)] <= 0;
        edges.into_iter().find(is_full).map(Refusal::Full)
    }

    /// Puts an event into an edge of this worker's, or on its way to another one's.
    #[inline]
    fn put(&mut self, edge: EdgeId, event: E) {
        let plan = self.plan;
        self.credits[plan.place_at_sender(edge)] -= 1;
        self.traffic.events += 1;
        let worker = plan.worker_of(plan.topology().to(edge));
        if worker == self.me {
            self.receive_into(edge, Taken::Own(event));
        } else {
            self.copy_to(worker, plan.topology().from(edge), Item::Event(edge, event));
        }
    }

    fn copy_to(&mut self, worker: usize, node: NodeId, item: Item<E>) {
        self.traffic.copies += 1;
        if let Some(missing) = self.unacknowledged.get_mut(node.index()) {
            *missing += 1;
        }
        self.dispatch(worker, item);
    }

    /// Whether all that a node has sent is acknowledged. Always, if sends are lazy.
    #[inline]
    #[must_use]
    pub fn is_complete(&self, node: NodeId) -> bool {
        self.unacknowledged.get(node.index()).is_none_or(|&missing| missing == 0)
    }

    /// Tells all nodes that a node has edges to what its clock is: two words, which take no room on
    /// the edges. Gives back how many workers were told; none if the graph is frozen or about
    /// to be.
    pub fn publish(&mut self, node: NodeId, clock: [u64; 2]) -> usize {
        if self.freezing.is_under_way() {
            return 0;
        }
        let plan = self.plan;
        for fan in plan.fans(node) {
            let worker = fan.worker as usize;
            if worker == self.me {
                self.clocks.push_back(Clock::of_node(node, clock));
            } else if plan.uses().caching {
                self.traffic.clocks += 1;
                self.dispatch(worker, Item::Clock(node, clock));
            } else {
                self.traffic.clocks += plan.fan(fan).len() as u64;
                for &edge in plan.fan(fan) {
                    self.dispatch(worker, Item::EdgeClock(edge, clock));
                }
            }
        }
        plan.fans(node).len()
    }

    /// Tells a worker something, past all edges and even if the graph is frozen.
    pub fn send_control(&mut self, worker: usize, words: [u64; CONTROL_WORDS]) {
        if worker == self.me {
            self.control.push_back((worker, words));
        } else {
            self.dispatch(worker, Item::Control(Box::new(words)));
        }
    }

    /// Sends an item to another worker, now or together with others.
    #[inline]
    pub(crate) fn dispatch(&mut self, worker: usize, item: Item<E>) {
        // Resting again is what sends it, if nothing else does.
        self.set_active();
        if let Some(port) = worker.checked_sub(self.first).filter(|&port| port < self.batches.len())
        {
            if self.batches[port].put(item) {
                self.post(port);
            }
        } else if let (Some(outbox), Some(remote)) = (&mut self.outbox, &self.remote) {
            self.remote_items.sent += u64::from(!matches!(item, Item::Control(_)));
            let put =
                outbox.put(self.plan.address(worker), |bytes| item.write(remote.codec, bytes));
            self.remember(put);
        }
    }

    fn post(&mut self, port: usize) {
        self.traffic.batches += 1;
        self.hub.post(self.port, port, &mut self.batches[port].items);
    }

    /// Sends all that has gathered: nothing else can be done, or others wait for it.
    pub fn flush(&mut self) {
        while let Some(edge) = self.owing.pop() {
            self.return_credits(edge);
        }
        for port in 0..self.batches.len() {
            if !self.batches[port].items.is_empty() {
                self.batches[port].flush();
                self.post(port);
            }
        }
        if let Some(outbox) = &mut self.outbox {
            let flushed = outbox.flush();
            self.remember(flushed);
        }
    }

    /// Keeps the first error for the next poll.
    pub(crate) fn remember(&mut self, outcome: Result<(), NetError>) {
        if let Err(error) = outcome {
            self.error.get_or_insert(error);
        }
    }
}

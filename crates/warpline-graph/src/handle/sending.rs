//! Sending: events on edges, clocks, control messages, and how they get to other workers.
//!
//! A part of [`EventGraph`].

use warpline_net::NetError;

use super::{Clock, EventGraph, Refusal, Refused};
use crate::{Control, EdgeId, NodeId, Taken, item::Item};

impl<E> EventGraph<'_, E> {
    /// Sends an event on one edge.
    ///
    /// # Errors
    ///
    /// Returns the event if it cannot be sent now.
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

    /// Sends an event on one edge even if it is full, for recovery from a deadlock only (GRAPH-B).
    ///
    /// # Errors
    ///
    /// Returns the event if it cannot be sent now.
    pub fn send_over(&mut self, edge: EdgeId, event: E) -> Result<(), Refused<E>> {
        match self.refusal(self.plan.topology().from(edge), []) {
            Some(refusal) => Err(Refused { refusal, event }),
            None => {
                self.put(edge, event);
                Ok(())
            }
        }
    }

    /// Sends an event on all edges that leave a node, or on none (SendEvent).
    ///
    /// # Errors
    ///
    /// Returns the event if it cannot be sent now.
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

    /// The reason why a node cannot send an event on these edges now.
    #[inline]
    fn refusal(&self, node: NodeId, edges: impl IntoIterator<Item = EdgeId>) -> Option<Refusal> {
        debug_assert_eq!(self.plan.worker_of(node), self.me, "{node:?} belongs to another worker");
        if self.freezing.has_stopped() {
            return Some(Refusal::Frozen);
        }
        if !self.is_complete(node) {
            return Some(Refusal::Incomplete);
        }
        let is_full = |edge: &EdgeId| self.credits[self.plan.place_at_sender(*edge)] <= 0;
        edges.into_iter().find(is_full).map(Refusal::Full)
    }

    /// Puts an event into an edge that leads to this worker, or sends it to another one.
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

    /// Whether everything that a node has sent is acknowledged; always true if sends are lazy.
    #[inline]
    #[must_use]
    pub fn is_complete(&self, node: NodeId) -> bool {
        self.unacknowledged.get(node.index()).is_none_or(|&missing| missing == 0)
    }

    /// Sends a node's clock, two words, to all nodes that it has edges to. A clock takes no room on
    /// the edges. Returns the number of workers that it was sent to, which is 0 while the graph is
    /// freezing or frozen.
    pub fn publish(&mut self, node: NodeId, clock: [u64; 2]) -> usize {
        if self.freezing.has_stopped() {
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

    /// Sends a worker a control message, which uses no edge, even while the graph is frozen.
    pub fn send_control(&mut self, worker: usize, message: Control) {
        if worker == self.me {
            self.control.push_back((worker, message));
        } else {
            self.dispatch(worker, Item::Control(Box::new(message)));
        }
    }

    /// Sends an item to another worker, at once or together with others.
    #[inline]
    pub(super) fn dispatch(&mut self, worker: usize, item: Item<E>) {
        // The next `set_idle` flushes it, if nothing else does.
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

    /// Sends everything that has gathered; for a worker that has nothing else to do, or knows that
    /// others wait.
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

    /// Keeps the first error for the next poll, which returns it.
    pub(super) fn remember(&mut self, outcome: Result<(), NetError>) {
        if let Err(error) = outcome {
            self.error.get_or_insert(error);
        }
    }
}

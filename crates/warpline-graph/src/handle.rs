//! One worker's operations on the event graph.
//!
//! Used by one thread only. What cannot be sent to another rank is remembered, and told by the next
//! [`poll`](EventGraph::poll).

use std::{collections::VecDeque, fmt};

use warpline_net::{NetError, Outbox, Transport};

use crate::{
    Clock, Codec, Control, EdgeId, Hub, NodeId, Plan, Taken, batch::Batch, fifo::Fifos,
    freeze::Freezing, hub::RemoteItems, item::Item,
};

/// The way to other ranks.
pub struct Remote<'g, E> {
    /// What carries parcels.
    pub transport: &'g dyn Transport,
    /// What makes bytes of events.
    pub codec: &'g dyn Codec<E>,
    /// The kind of the graph's parcels: they have the workers' ports for themselves.
    pub kind: u16,
}

impl<E> fmt::Debug for Remote<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// Why an event was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// An edge has no room.
    Full(EdgeId),
    /// The node's last send is not complete: see [`EventGraph::is_complete`].
    Incomplete,
    /// The graph is frozen, or about to be.
    Frozen,
}

/// An event that was not sent, and why.
#[derive(Debug)]
pub struct Refused<E> {
    /// Why.
    pub refusal: Refusal,
    /// The event.
    pub event: E,
}

/// What a handle has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphTraffic {
    /// Events that were sent, once for each edge.
    pub events: u64,
    /// Events, or copies of them, that went to other workers.
    pub copies: u64,
    /// Clocks that went to other workers.
    pub clocks: u64,
    /// Messages that gave back room.
    pub credits: u64,
    /// Batches and parcels for other workers.
    pub batches: u64,
}

/// See the module.
#[derive(Debug)]
pub struct EventGraph<'g, E> {
    pub(crate) plan: &'g Plan,
    pub(crate) hub: &'g Hub<E>,
    pub(crate) me: usize,
    /// The worker's number at its rank, and the first worker of that.
    pub(crate) port: usize,
    pub(crate) first: usize,
    pub(crate) remote: Option<Remote<'g, E>>,
    pub(crate) outbox: Option<Outbox<'g>>,
    pub(crate) batches: Vec<Batch<E>>,
    pub(crate) fifos: Fifos<E>,
    /// By place among the edges that leave from this worker: how many events more they hold.
    pub(crate) credits: Vec<i32>,
    /// By place among the edges that lead to this worker: events removed whose room was not given
    /// back.
    pub(crate) owed: Vec<u32>,
    pub(crate) owing: Vec<EdgeId>,
    /// By node: acknowledgements that are missing. Empty if sends are lazy.
    pub(crate) unacknowledged: Vec<u32>,
    /// Edges that have something that nobody was told of.
    pub(crate) arrivals: VecDeque<EdgeId>,
    pub(crate) clocks: VecDeque<Clock>,
    pub(crate) control: VecDeque<(usize, Control)>,
    /// Nodes that had to wait and can send again.
    pub(crate) unblocked: VecDeque<NodeId>,
    pub(crate) freezing: Freezing<E>,
    /// Fingerprints of other ranks' workers that are missing.
    pub(crate) unconfirmed: usize,
    pub(crate) fingerprint: u64,
    pub(crate) collected: u64,
    pub(crate) scratch: Vec<Item<E>>,
    pub(crate) remote_items: RemoteItems,
    is_idle: bool,
    pub(crate) error: Option<NetError>,
    pub(crate) traffic: GraphTraffic,
}

impl<'g, E> EventGraph<'g, E> {
    /// Makes the event graph: all workers call it, with the same plan. It can be used at once, and
    /// is ready on all workers when it [`is_made`](Self::is_made). `more` is anything else that
    /// has to be the same on all ranks.
    ///
    /// # Panics
    ///
    /// If the plan is for several ranks, and there is no way to them.
    #[must_use]
    pub fn make(
        plan: &'g Plan,
        hub: &'g Hub<E>,
        me: usize,
        remote: Option<Remote<'g, E>>,
        more: u64,
    ) -> Self {
        let (ports, workers) = (plan.ports(), plan.workers());
        let others = workers - ports;
        assert!(others == 0 || remote.is_some(), "several ranks, and no way to them");
        let outbox = remote.as_ref().filter(|_| others > 0).map(|remote| {
            Outbox::new(remote.transport, remote.kind, me % ports, plan.aggregates())
        });
        let acknowledges = !plan.uses().lazy_sends;
        let nodes = if acknowledges { plan.topology().nodes() } else { 0 };
        let mut graph = Self {
            plan,
            hub,
            me,
            port: me % ports,
            first: me - me % ports,
            remote,
            outbox,
            batches: (0..ports).map(|_| Batch::new(plan.aggregates())).collect(),
            fifos: Fifos::new(plan.incoming_count(me)),
            credits: vec![plan.capacity() as i32; plan.outgoing_count(me)],
            owed: vec![0; plan.incoming_count(me)],
            owing: Vec::new(),
            unacknowledged: vec![0; nodes],
            arrivals: VecDeque::new(),
            clocks: VecDeque::new(),
            control: VecDeque::new(),
            unblocked: VecDeque::new(),
            freezing: Freezing::new(workers),
            unconfirmed: others,
            fingerprint: plan.fingerprint(more),
            collected: 0,
            scratch: Vec::new(),
            remote_items: RemoteItems::default(),
            is_idle: false,
            error: None,
            traffic: GraphTraffic::default(),
        };
        for worker in (0..workers).filter(|worker| worker / ports != me / ports) {
            graph.dispatch(worker, Item::Hello(graph.fingerprint));
        }
        graph.flush();
        graph
    }

    /// Whether the graph is ready on all workers, as far as this one knows.
    #[must_use]
    pub const fn is_made(&self) -> bool {
        self.unconfirmed == 0
    }

    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> &'g Plan {
        self.plan
    }

    /// What was done so far.
    #[must_use]
    pub fn traffic(&self) -> GraphTraffic {
        let parcels = self.outbox.as_ref().map_or(0, |outbox| outbox.traffic().parcels);
        GraphTraffic { batches: self.traffic.batches + parcels, ..self.traffic }
    }

    /// Removes the first event of an edge, and frees its room (ReceiveEvent).
    #[inline]
    pub fn receive(&mut self, edge: EdgeId) -> Option<Taken<E>> {
        let event = self.take(edge)?;
        self.free(edge);
        Some(event)
    }

    /// Removes the first event of an edge, but keeps its room until it is [freed](Self::free).
    #[inline]
    pub fn take(&mut self, edge: EdgeId) -> Option<Taken<E>> {
        self.fifos.pop(self.plan.place(edge))
    }

    /// The first event of an edge.
    #[must_use]
    pub fn peek(&self, edge: EdgeId) -> Option<&E> {
        self.fifos.peek(self.plan.place(edge))
    }

    /// How many events an edge has.
    #[must_use]
    pub fn waiting(&self, edge: EdgeId) -> usize {
        self.fifos.len(self.plan.place(edge))
    }

    /// Frees the room of one event that was [taken](Self::take) from an edge.
    #[inline]
    pub fn free(&mut self, edge: EdgeId) {
        let plan = self.plan;
        let sender = plan.topology().from(edge);
        if plan.worker_of(sender) == self.me {
            self.add_credits(edge, 1);
            return;
        }
        let owed = &mut self.owed[plan.place(edge)];
        *owed += 1;
        let enough =
            if plan.uses().replicated_flow_control { plan.capacity().div_ceil(2) } else { 1 };
        if *owed as usize >= enough {
            self.return_credits(edge);
        } else if *owed == 1 {
            self.owing.push(edge);
        }
    }

    /// Gives the sender of an edge all the room back that has become free.
    pub(crate) fn return_credits(&mut self, edge: EdgeId) {
        let count = std::mem::take(&mut self.owed[self.plan.place(edge)]);
        if count > 0 {
            self.traffic.credits += 1;
            let sender = self.plan.topology().from(edge);
            self.dispatch(self.plan.worker_of(sender), Item::Credit(edge, count));
        }
    }

    /// An edge that leaves from this worker has room again.
    #[inline]
    pub(crate) fn add_credits(&mut self, edge: EdgeId, count: u32) {
        let credits = &mut self.credits[self.plan.place_at_sender(edge)];
        let was_full = *credits <= 0;
        *credits = credits.saturating_add_unsigned(count);
        if was_full && *credits > 0 {
            self.unblocked.push_back(self.plan.topology().from(edge));
        }
    }

    /// The next edge that has something since it was last empty; all of it is to be received before
    /// the edge is named again.
    #[inline]
    pub fn next_arrival(&mut self) -> Option<EdgeId> {
        self.arrivals.pop_front()
    }

    /// The next clock that was published. All edges named by [`next_arrival`](Self::next_arrival)
    /// come first (GRAPH-D).
    #[inline]
    pub fn next_clock(&mut self) -> Option<Clock> {
        debug_assert!(self.arrivals.is_empty(), "GRAPH-D: a clock is heard before events");
        self.clocks.pop_front()
    }

    /// The next words that this worker was told, and by whom.
    pub fn next_control(&mut self) -> Option<(usize, Control)> {
        self.control.pop_front()
    }

    /// The next node that had to wait, and can try to send again.
    #[inline]
    pub fn next_unblocked(&mut self) -> Option<NodeId> {
        self.unblocked.pop_front()
    }

    /// Says that this worker has nothing to do until something arrives.
    pub fn set_idle(&mut self) {
        if !self.is_idle {
            self.flush();
            self.hub.count_remote(std::mem::take(&mut self.remote_items));
            self.is_idle = true;
            self.hub.set_idle(true);
        }
    }

    /// Says that this worker has something to do.
    pub fn set_active(&mut self) {
        if self.is_idle {
            self.is_idle = false;
            self.hub.set_idle(false);
        }
    }

    /// Whether this worker has said that it is_idle, and nothing has arrived since.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Whether all workers of this rank rest, and nothing is on its way between them: if so, how
    /// many items have gone to other ranks and come from there. A worker that asks may be told
    /// so a moment too early.
    #[must_use]
    pub fn quiescent(&self) -> Option<[u64; 2]> {
        let before = self.hub.remote_items();
        let is_quiet = self.hub.is_quiet() && before == self.hub.remote_items();
        is_quiet.then_some([before.sent, before.received])
    }
}

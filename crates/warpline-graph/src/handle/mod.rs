//! One worker's operations on the event graph.
//!
//! Used by one thread only. `sending` has the operations that send, `arrivals` those that handle
//! what other workers have sent, and `freeze` those that freeze the graph. When a send to another
//! rank fails, the next [`poll`](EventGraph::poll) returns the error.

mod arrivals;
mod freeze;
mod sending;

use std::{collections::VecDeque, fmt};

use warpline_net::{NetError, Outbox, Transport};

pub use self::arrivals::Clock;
use self::freeze::Freezing;
use crate::{
    Codec, Control, EdgeId, Hub, NodeId, Plan, Taken, batch::Batch, cache::Cache, fifo::Fifos,
    hub::RemoteItems, item::Item,
};

/// How a handle reaches other ranks.
pub struct Remote<'g, E> {
    /// Carries the parcels.
    pub transport: &'g dyn Transport,
    /// Turns events into bytes and back.
    pub codec: &'g dyn Codec<E>,
    /// The kind of the graph's parcels. No other parcels may arrive at the workers' ports.
    pub kind: u16,
}

impl<E> fmt::Debug for Remote<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// The reason why an event was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This edge is full.
    Full(EdgeId),
    /// The node's last send is not [complete](EventGraph::is_complete).
    Incomplete,
    /// The graph is freezing or frozen.
    Frozen,
}

/// An event that was not sent, and the reason.
#[derive(Debug)]
pub struct Refused<E> {
    /// The reason.
    pub refusal: Refusal,
    /// The event.
    pub event: E,
}

/// Counts of what a handle has sent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphTraffic {
    /// Events sent, counted once for each edge.
    pub events: u64,
    /// Events, or copies of them, sent to other workers.
    pub copies: u64,
    /// Clocks sent to other workers.
    pub clocks: u64,
    /// Messages that returned credits.
    pub credits: u64,
    /// Batches and parcels sent to other workers.
    pub batches: u64,
}

/// One worker's handle on the event graph.
#[derive(Debug)]
pub struct EventGraph<'g, E> {
    plan: &'g Plan,
    hub: &'g Hub<E>,
    me: usize,
    /// This worker's number at its rank, and the rank's first worker.
    port: usize,
    first: usize,
    remote: Option<Remote<'g, E>>,
    outbox: Option<Outbox<'g>>,
    batches: Vec<Batch<E>>,
    fifos: Fifos<E>,
    /// Of the events that several of the edges share.
    cache: Cache<E>,
    /// By index among the edges that leave from this worker: for how many more events they have
    /// room.
    credits: Vec<i32>,
    /// By index among the edges that lead to this worker: credits that were not returned yet.
    owed: Vec<u32>,
    /// The edges of which some credits are not returned.
    owing: Vec<EdgeId>,
    /// By node: how many acknowledgements are missing. Empty if sends are lazy.
    unacknowledged: Vec<u32>,
    /// Edges that were empty and have got events since `next_arrival` has named them.
    arrivals: VecDeque<EdgeId>,
    clocks: VecDeque<Clock>,
    control: VecDeque<(usize, Control)>,
    /// Nodes that were refused a send and can send again.
    unblocked: VecDeque<NodeId>,
    freezing: Freezing<E>,
    /// How many workers of other ranks have not sent their fingerprints.
    unconfirmed: usize,
    fingerprint: u64,
    collected: u64,
    scratch: Vec<Item<E>>,
    remote_items: RemoteItems,
    is_idle: bool,
    error: Option<NetError>,
    traffic: GraphTraffic,
}

impl<'g, E> EventGraph<'g, E> {
    /// Makes this worker's handle (MakeEventGraph); all workers call it with the same plan. The
    /// handle can be used at once, and all others are ready when it [`is_made`](Self::is_made).
    /// `more` is anything else that has to be the same on all ranks.
    ///
    /// # Panics
    ///
    /// If the plan is for several ranks and `remote` is `None`.
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
        assert!(others == 0 || remote.is_some(), "a plan for several ranks needs a transport");
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
            cache: Cache::new(plan.shared_count(me)),
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

    /// Whether this worker knows that the graph is ready on all workers.
    #[must_use]
    pub const fn is_made(&self) -> bool {
        self.unconfirmed == 0
    }

    /// The plan.
    #[must_use]
    pub const fn plan(&self) -> &'g Plan {
        self.plan
    }

    /// Counts of what was sent so far.
    #[must_use]
    pub fn traffic(&self) -> GraphTraffic {
        let parcels = self.outbox.as_ref().map_or(0, |outbox| outbox.traffic().parcels);
        GraphTraffic { batches: self.traffic.batches + parcels, ..self.traffic }
    }

    /// Removes the first event of an edge, and frees its place (ReceiveEvent).
    #[inline]
    pub fn receive(&mut self, edge: EdgeId) -> Option<Taken<E>> {
        let event = self.take(edge)?;
        self.free(edge);
        Some(event)
    }

    /// Removes the first event of an edge, but keeps its place until that is [freed](Self::free).
    #[inline]
    pub fn take(&mut self, edge: EdgeId) -> Option<Taken<E>> {
        self.fifos.pop(self.plan.place(edge))
    }

    /// The first event of an edge.
    #[must_use]
    pub fn peek(&self, edge: EdgeId) -> Option<&E> {
        self.fifos.peek(self.plan.place(edge))
    }

    /// The number of events on an edge that have arrived.
    #[must_use]
    pub fn waiting(&self, edge: EdgeId) -> usize {
        self.fifos.len(self.plan.place(edge))
    }

    /// Frees the place of one event that was [taken](Self::take) from an edge.
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

    /// Returns to the sender of an edge all credits that are owed to it.
    fn return_credits(&mut self, edge: EdgeId) {
        let count = std::mem::take(&mut self.owed[self.plan.place(edge)]);
        if count > 0 {
            self.traffic.credits += 1;
            let sender = self.plan.topology().from(edge);
            self.dispatch(self.plan.worker_of(sender), Item::Credit(edge, count));
        }
    }

    /// Adds credits to an edge that leaves from this worker.
    #[inline]
    fn add_credits(&mut self, edge: EdgeId, count: u32) {
        let credits = &mut self.credits[self.plan.place_at_sender(edge)];
        let was_full = *credits <= 0;
        *credits = credits.saturating_add_unsigned(count);
        if was_full && *credits > 0 {
            self.unblocked.push_back(self.plan.topology().from(edge));
        }
    }

    /// The next edge that was empty and has events now. It is named again only after all of its
    /// events were received.
    #[inline]
    pub fn next_arrival(&mut self) -> Option<EdgeId> {
        self.arrivals.pop_front()
    }

    /// The next clock that has arrived. Call [`next_arrival`](Self::next_arrival) before, until it
    /// returns `None` (GRAPH-D).
    #[inline]
    pub fn next_clock(&mut self) -> Option<Clock> {
        debug_assert!(self.arrivals.is_empty(), "GRAPH-D: a clock is received before events");
        self.clocks.pop_front()
    }

    /// The next control message for this worker, and the worker that has sent it.
    pub fn next_control(&mut self) -> Option<(usize, Control)> {
        self.control.pop_front()
    }

    /// The next node that was refused a send and can try again.
    #[inline]
    pub fn next_unblocked(&mut self) -> Option<NodeId> {
        self.unblocked.pop_front()
    }

    /// Declares that this worker has nothing to do until something arrives.
    pub fn set_idle(&mut self) {
        if !self.is_idle {
            self.flush();
            self.hub.count_remote(std::mem::take(&mut self.remote_items));
            self.is_idle = true;
            self.hub.set_idle(true);
        }
    }

    /// Declares that this worker has something to do.
    pub fn set_active(&mut self) {
        if self.is_idle {
            self.is_idle = false;
            self.hub.set_idle(false);
        }
    }

    /// Whether this worker has declared itself idle and nothing has arrived since.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// If all workers of this rank are idle and nothing is in transit between them: the numbers of
    /// items that went to other ranks and came from there. The answer may be early by a moment
    /// (HUB-A).
    #[must_use]
    pub fn quiescent(&self) -> Option<[u64; 2]> {
        let before = self.hub.remote_items();
        let is_quiescent = self.hub.is_quiescent() && before == self.hub.remote_items();
        is_quiescent.then_some([before.sent, before.received])
    }
}

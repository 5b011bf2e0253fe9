//! Random graphs with random schedules of operations, and what must hold after each operation.
//!
//! One thread does the operations of all workers, so a failure can be reproduced.

use std::collections::HashMap;

use proptest::{collection::vec, prelude::*, sample::select};
use warpline_graph::{
    Codec, EdgeId, EventGraph, Hub, NodeId, Plan, Refusal, Remote, Techniques, Topology, blocks,
    round_robin,
};
use warpline_net::{Aggregation, Malformed, ThreadTransport, Transport};

/// Writes numbers as their bytes.
pub(crate) struct Numbers;

impl Codec<u32> for Numbers {
    fn write(&self, event: &u32, bytes: &mut Vec<u8>) {
        bytes.extend(event.to_le_bytes());
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<u32, Malformed> {
        let cut_off = || Malformed::Body("cut off".to_owned());
        let (front, rest) = bytes.split_first_chunk().ok_or_else(cut_off)?;
        *bytes = rest;
        Ok(u32::from_le_bytes(*front))
    }
}

/// A graph, its placement, and its techniques.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) nodes: usize,
    pub(crate) edges: Vec<(usize, usize)>,
    pub(crate) ranks: usize,
    pub(crate) ports: usize,
    pub(crate) in_turn: bool,
    pub(crate) capacity: usize,
    pub(crate) techniques: Techniques,
    pub(crate) aggregation: Aggregation,
}

impl Case {
    pub(crate) fn plan(&self) -> Plan {
        let workers = self.ranks * self.ports;
        let partition = if self.in_turn { round_robin } else { blocks }(self.nodes, workers);
        let topology = Topology::new(self.nodes, self.edges.iter().copied()).expect("nodes exist");
        Plan::new(topology, &partition, [self.ranks, self.ports], self.capacity)
            .expect("all fits")
            .techniques(self.techniques)
            .aggregation(self.aggregation)
    }
}

fn techniques() -> impl Strategy<Value = Techniques> {
    any::<[bool; 3]>().prop_map(|[lazy_sends, caching, replicated_flow_control]| Techniques {
        lazy_sends,
        caching,
        replicated_flow_control,
    })
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let aggregation =
        select(&[Aggregation::Off, Aggregation::Bytes(64), Aggregation::Adaptive][..]);
    let shape = (1..=2_usize, 1..=3_usize, any::<bool>(), select(&[1, 2, 3, 8][..]));
    (1..7_usize, shape, techniques(), aggregation).prop_flat_map(
        |(nodes, (ranks, ports, in_turn, capacity), techniques, aggregation)| {
            vec((0..nodes, 0..nodes), 0..12).prop_map(move |edges| Case {
                nodes,
                edges,
                ranks,
                ports,
                in_turn,
                capacity,
                techniques,
                aggregation,
            })
        },
    )
}

/// An operation of some worker. Numbers of edges, nodes and workers are taken modulo their counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Send(usize),
    SendOver(usize),
    SendEvent(usize),
    Receive(usize),
    Publish(usize),
    Poll(usize),
    Flush(usize),
    Freeze,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let any = 0..64_usize;
    prop_oneof![
        4 => any.clone().prop_map(Step::Send),
        1 => any.clone().prop_map(Step::SendOver),
        4 => any.clone().prop_map(Step::SendEvent),
        6 => any.clone().prop_map(Step::Receive),
        1 => any.clone().prop_map(Step::Publish),
        4 => any.clone().prop_map(Step::Poll),
        2 => any.prop_map(Step::Flush),
        1 => Just(Step::Freeze),
    ]
}

/// What was done on an edge.
#[derive(Default)]
struct Edge {
    sent: Vec<u32>,
    received: usize,
    over: usize,
}

/// All workers' handles on one event graph, and what was done with them.
pub(crate) struct World<'g> {
    plan: &'g Plan,
    pub(crate) graphs: Vec<EventGraph<'g, u32>>,
    edges: Vec<Edge>,
    /// By node and clock: how many events were sent on the node's edges before it was published.
    clocks: HashMap<(u32, u64), Vec<usize>>,
    next: u32,
}

impl<'g> World<'g> {
    pub(crate) fn new(
        plan: &'g Plan,
        hubs: &'g [Hub<u32>],
        ends: &'g [ThreadTransport],
        ports: usize,
    ) -> Self {
        let graphs = (0..plan.workers())
            .map(|me| {
                let transport: &dyn Transport = &ends[me / ports];
                let remote = Remote { transport, codec: &Numbers, kind: 20 };
                EventGraph::make(plan, &hubs[me / ports], me, Some(remote), 7)
            })
            .collect();
        let edges = (0..plan.topology().edges()).map(|_| Edge::default()).collect();
        Self { plan, graphs, edges, clocks: HashMap::new(), next: 0 }
    }

    fn sender(&self, edge: EdgeId) -> usize {
        self.plan.worker_of(self.plan.topology().from(edge))
    }

    pub(crate) fn receiver(&self, edge: EdgeId) -> usize {
        self.plan.worker_of(self.plan.topology().to(edge))
    }

    fn edge(&self, number: usize) -> Option<EdgeId> {
        let count = self.edges.len();
        (count > 0).then(|| EdgeId((number % count) as u32))
    }

    pub(crate) fn take(&mut self, step: Step) {
        let workers = self.graphs.len();
        let nodes = self.plan.topology().nodes();
        match step {
            Step::Send(edge) | Step::SendOver(edge) => {
                let Some(edge) = self.edge(edge) else { return };
                let sender = self.sender(edge);
                let is_over = matches!(step, Step::SendOver(_));
                let graph = &mut self.graphs[sender];
                let sent = if is_over {
                    graph.send_over(edge, self.next)
                } else {
                    graph.send(edge, self.next)
                };
                self.record([edge], sent.map_err(|refused| refused.refusal), is_over);
            }
            Step::SendEvent(node) => {
                let node = NodeId((node % nodes) as u32);
                let graph = &mut self.graphs[self.plan.worker_of(node)];
                let sent = graph.send_event(node, self.next);
                let edges = self.plan.topology().outgoing(node).map(EdgeId);
                self.record(edges, sent.map_err(|refused| refused.refusal), false);
            }
            Step::Receive(edge) => {
                if let Some(edge) = self.edge(edge) {
                    self.receive(edge);
                }
            }
            Step::Publish(node) => {
                let node = NodeId((node % nodes) as u32);
                let edges = self.plan.topology().outgoing(node);
                let counts = edges.map(|edge| self.edges[edge as usize].sent.len()).collect();
                self.clocks.insert((node.0, u64::from(self.next)), counts);
                self.graphs[self.plan.worker_of(node)].publish(node, [u64::from(self.next), 9]);
                self.next += 1;
            }
            Step::Poll(worker) => self.poll(worker % workers),
            Step::Flush(worker) => self.graphs[worker % workers].flush(),
            Step::Freeze => self.freeze(),
        }
    }

    /// Notes that an event was sent on these edges, or refused.
    fn record(
        &mut self,
        edges: impl IntoIterator<Item = EdgeId>,
        sent: Result<(), Refusal>,
        is_over: bool,
    ) {
        match sent {
            Ok(()) => {
                for edge in edges {
                    let capacity = self.plan.capacity();
                    let edge = &mut self.edges[edge.index()];
                    let inside = edge.sent.len() - edge.received;
                    assert!(
                        inside < capacity + edge.over || is_over,
                        "GRAPH-B: {inside} events in an edge"
                    );
                    edge.over += usize::from(is_over && inside >= capacity);
                    edge.sent.push(self.next);
                }
                self.next += 1;
            }
            Err(Refusal::Full(edge)) => {
                // Credits may be in transit, but the edge must have been in use.
                assert!(
                    !self.edges[edge.index()].sent.is_empty(),
                    "an edge that was never used is full"
                );
            }
            Err(_) => {}
        }
    }

    /// GRAPH-A: an edge yields its events in the order in which they were sent.
    fn receive(&mut self, edge: EdgeId) -> bool {
        let receiver = self.receiver(edge);
        let peeked = self.graphs[receiver].peek(edge).copied();
        let taken = self.graphs[receiver].receive(edge);
        assert_eq!(taken.as_deref().copied(), peeked);
        let Some(event) = peeked else { return false };
        let edge = &mut self.edges[edge.index()];
        assert_eq!(Some(&event), edge.sent.get(edge.received), "GRAPH-A: not the first event");
        edge.received += 1;
        true
    }

    fn poll(&mut self, worker: usize) {
        self.graphs[worker].poll().expect("no rank is lost");
        while self.graphs[worker].next_arrival().is_some() {}
        while let Some(clock) = self.graphs[worker].next_clock() {
            assert_eq!(clock.words[1], 9);
            let counts = &self.clocks[&(clock.node().0, clock.words[0])];
            let edges = self.plan.topology().outgoing(clock.node());
            for (edge, &count) in edges.zip(counts).map(|(edge, count)| (EdgeId(edge), count)) {
                if self.receiver(edge) == worker && clock.edge().is_none_or(|of| of == edge) {
                    let here =
                        self.edges[edge.index()].received + self.graphs[worker].waiting(edge);
                    assert!(here >= count, "GRAPH-D: a clock overtakes events");
                }
            }
        }
    }

    /// GRAPH-C: freezes, checks, and unfreezes one worker after the other, with sends in between.
    fn freeze(&mut self) {
        let workers = self.graphs.len();
        for stops in 0..workers {
            // No worker is frozen while another one may still send.
            (0..workers).for_each(|worker| self.poll(worker));
            assert!(self.graphs.iter().all(|graph| !graph.is_frozen()));
            self.graphs[stops].freeze();
        }
        for round in 0..3 * workers {
            self.poll(round % workers);
        }
        assert!(self.graphs.iter().all(EventGraph::is_frozen));
        self.assert_nothing_in_transit();
        for edge in (0..self.edges.len() as u32).map(EdgeId) {
            let sender = self.sender(edge);
            let refused = self.graphs[sender].send(edge, 0).expect_err("it is frozen");
            assert_eq!(refused.refusal, Refusal::Frozen);
        }
        for worker in 0..workers {
            self.graphs[worker].unfreeze();
            if let Some(edge) = self.edge(worker).filter(|&edge| self.sender(edge) == worker) {
                self.take(Step::Send(edge.index()));
                self.graphs[worker].flush();
            }
            // Workers that are still frozen receive nothing new.
            for other in worker + 1..workers {
                let before = self.waiting(other);
                self.poll(other);
                assert_eq!(
                    self.waiting(other),
                    before,
                    "GRAPH-C: an item arrives at a frozen worker"
                );
            }
        }
    }

    fn waiting(&self, worker: usize) -> usize {
        let all = (0..self.edges.len() as u32).map(EdgeId);
        let here = all.filter(|&edge| self.receiver(edge) == worker);
        here.map(|edge| self.graphs[worker].waiting(edge)).sum()
    }

    fn assert_nothing_in_transit(&self) {
        for (number, edge) in self.edges.iter().enumerate() {
            let id = EdgeId(number as u32);
            let waiting = self.graphs[self.receiver(id)].waiting(id);
            assert_eq!(
                edge.received + waiting,
                edge.sent.len(),
                "GRAPH-C: an event is in transit, or lost"
            );
        }
    }

    /// Everything that was sent is received, and all credits return.
    pub(crate) fn finish(&mut self) {
        self.freeze();
        for _ in 0..6 {
            for edge in 0..self.edges.len() as u32 {
                while self.receive(EdgeId(edge)) {}
            }
            for worker in 0..self.graphs.len() {
                self.graphs[worker].flush();
                self.poll(worker);
            }
        }
        for edge in &self.edges {
            assert_eq!(edge.received, edge.sent.len());
        }
        for edge in (0..self.edges.len()).map(|edge| EdgeId(edge as u32)) {
            for _ in 0..self.plan.capacity() {
                let (sender, node) = (self.sender(edge), self.plan.topology().from(edge));
                while !self.graphs[sender].is_complete(node) {
                    (0..self.graphs.len()).for_each(|worker| {
                        self.graphs[worker].flush();
                        self.poll(worker);
                    });
                }
                assert!(self.graphs[sender].send(edge, 0).is_ok(), "credits were lost");
            }
            let sender = self.sender(edge);
            assert!(self.graphs[sender].send(edge, 0).is_err(), "there are too many credits");
        }
    }
}

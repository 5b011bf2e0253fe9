//! The laws of the event graph, on random graphs, partitions and schedules, with every set of
//! techniques.
//!
//! One thread takes the parts of all workers, in a random order, so that a failure repeats itself;
//! at the end come threads, and futures.

use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use proptest::{collection::vec, prelude::*, sample::select};
use warpline_graph::{
    Codec, EdgeId, EventGraph, Hub, NodeId, Plan, PlanError, Refusal, Remote, SplitPhase,
    Techniques, Topology, blocks, round_robin,
};
use warpline_net::{Aggregation, Malformed, ThreadTransport, Transport, network};

/// Numbers, as their bytes.
struct Numbers;

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

/// A graph, where it is, and how it works.
#[derive(Clone, Debug)]
struct Case {
    nodes: usize,
    edges: Vec<(usize, usize)>,
    ranks: usize,
    ports: usize,
    in_turn: bool,
    capacity: usize,
    techniques: Techniques,
    aggregation: Aggregation,
}

impl Case {
    fn plan(&self) -> Plan {
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

fn case() -> impl Strategy<Value = Case> {
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

/// One thing that some worker does; numbers are taken modulo how many there are.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send(usize),
    SendOver(usize),
    SendEvent(usize),
    Receive(usize),
    Publish(usize),
    Poll(usize),
    Flush(usize),
    Freeze,
}

fn step() -> impl Strategy<Value = Step> {
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

/// What has been done on every edge.
#[derive(Default)]
struct Edge {
    sent: Vec<u32>,
    received: usize,
    over: usize,
}

struct World<'g> {
    plan: &'g Plan,
    graphs: Vec<EventGraph<'g, u32>>,
    edges: Vec<Edge>,
    /// By node and clock: how many events its edges had got when it was published.
    clocks: HashMap<(u32, u64), Vec<usize>>,
    next: u32,
}

impl<'g> World<'g> {
    fn new(
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

    fn receiver(&self, edge: EdgeId) -> usize {
        self.plan.worker_of(self.plan.topology().to(edge))
    }

    fn edge(&self, number: usize) -> Option<EdgeId> {
        let count = self.edges.len();
        (count > 0).then(|| EdgeId((number % count) as u32))
    }

    fn take(&mut self, step: Step) {
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
                self.note([edge], sent.map_err(|refused| refused.refusal), is_over);
            }
            Step::SendEvent(node) => {
                let node = NodeId((node % nodes) as u32);
                let graph = &mut self.graphs[self.plan.worker_of(node)];
                let sent = graph.send_event(node, self.next);
                let edges = self.plan.topology().outgoing(node).map(EdgeId);
                self.note(edges, sent.map_err(|refused| refused.refusal), false);
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

    /// An event was sent on these edges, or not.
    fn note(
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
                    // GRAPH-B.
                    assert!(inside < capacity + edge.over || is_over, "{inside} events in an edge");
                    edge.over += usize::from(is_over && inside >= capacity);
                    edge.sent.push(self.next);
                }
                self.next += 1;
            }
            Err(Refusal::Full(edge)) => {
                // Room that was given back may be on its way; but some of the edge was in use.
                assert!(!self.edges[edge.index()].sent.is_empty(), "a fresh edge is full");
            }
            Err(_) => {}
        }
    }

    /// GRAPH-A.
    fn receive(&mut self, edge: EdgeId) -> bool {
        let receiver = self.receiver(edge);
        let peeked = self.graphs[receiver].peek(edge).copied();
        let taken = self.graphs[receiver].receive(edge);
        assert_eq!(taken.as_deref().copied(), peeked);
        let Some(event) = peeked else { return false };
        let edge = &mut self.edges[edge.index()];
        assert_eq!(Some(&event), edge.sent.get(edge.received), "not the first one");
        edge.received += 1;
        true
    }

    fn poll(&mut self, worker: usize) {
        self.graphs[worker].poll().expect("nobody is lost");
        while self.graphs[worker].next_arrival().is_some() {}
        while let Some(clock) = self.graphs[worker].next_clock() {
            assert_eq!(clock.words[1], 9);
            let counts = &self.clocks[&(clock.node().0, clock.words[0])];
            let edges = self.plan.topology().outgoing(clock.node());
            for (edge, &count) in edges.zip(counts).map(|(edge, count)| (EdgeId(edge), count)) {
                if self.receiver(edge) == worker && clock.edge().is_none_or(|of| of == edge) {
                    // GRAPH-D.
                    let here =
                        self.edges[edge.index()].received + self.graphs[worker].waiting(edge);
                    assert!(here >= count, "a clock overtakes events");
                }
            }
        }
    }

    /// GRAPH-C: freezes, looks, and unfreezes one worker after the other, with sends in between.
    fn freeze(&mut self) {
        let workers = self.graphs.len();
        for stops in 0..workers {
            // Nobody is frozen while somebody may still send.
            (0..workers).for_each(|worker| self.poll(worker));
            assert!(self.graphs.iter().all(|graph| !graph.is_frozen()));
            self.graphs[stops].freeze();
        }
        for round in 0..3 * workers {
            self.poll(round % workers);
        }
        assert!(self.graphs.iter().all(EventGraph::is_frozen));
        self.look();
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
            // Those that are still frozen get nothing new.
            for other in worker + 1..workers {
                let before = self.waiting(other);
                self.poll(other);
                assert_eq!(self.waiting(other), before, "something came to a frozen worker");
            }
        }
    }

    fn waiting(&self, worker: usize) -> usize {
        let all = (0..self.edges.len() as u32).map(EdgeId);
        let here = all.filter(|&edge| self.receiver(edge) == worker);
        here.map(|edge| self.graphs[worker].waiting(edge)).sum()
    }

    /// Nothing is on its way.
    fn look(&self) {
        for (number, edge) in self.edges.iter().enumerate() {
            let id = EdgeId(number as u32);
            let waiting = self.graphs[self.receiver(id)].waiting(id);
            assert_eq!(edge.received + waiting, edge.sent.len(), "an event is on its way, or lost");
        }
    }

    /// All that was sent is received, and all room is given back.
    fn finish(&mut self) {
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
                assert!(self.graphs[sender].send(edge, 0).is_ok(), "room was lost");
            }
            let sender = self.sender(edge);
            assert!(self.graphs[sender].send(edge, 0).is_err(), "there is too much room");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn laws(case in case(), steps in vec(step(), 0..120)) {
        let plan = case.plan();
        let hubs: Vec<_> = (0..case.ranks).map(|_| Hub::new(case.ports)).collect();
        let ends = network(case.ranks, case.ports);
        let mut world = World::new(&plan, &hubs, &ends, case.ports);
        for step in steps {
            world.take(step);
        }
        world.finish();
        prop_assert!(world.graphs.iter().all(EventGraph::is_made));
    }

    /// The techniques change how much is sent, not what is received.
    #[test]
    fn techniques_do_not_change_what_is_received(
        case in case(),
        events in vec(0..64_usize, 1..40),
    ) {
        let mut all = Vec::new();
        for bits in 0..8 {
            let [lazy_sends, caching, replicated_flow_control] = [1, 2, 4].map(|bit| bits & bit != 0);
            let techniques = Techniques { lazy_sends, caching, replicated_flow_control };
            all.push(received(&Case { techniques, ..case.clone() }, &events));
        }
        prop_assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

/// Sends one event from each of these nodes in turn, and gives back what every edge received.
fn received(case: &Case, events: &[usize]) -> Vec<Vec<u32>> {
    let plan = case.plan();
    let hubs: Vec<_> = (0..case.ranks).map(|_| Hub::new(case.ports)).collect();
    let ends = network(case.ranks, case.ports);
    let mut world = World::new(&plan, &hubs, &ends, case.ports);
    let mut received = vec![Vec::new(); plan.topology().edges()];
    for (number, node) in events.iter().enumerate() {
        let node = NodeId((node % case.nodes) as u32);
        while world.graphs[plan.worker_of(node)].send_event(node, number as u32).is_err() {
            for worker in 0..plan.workers() {
                world.graphs[worker].flush();
                world.graphs[worker].poll().expect("nobody is lost");
            }
            for edge in (0..received.len()).map(|edge| EdgeId(edge as u32)) {
                let receiver = world.receiver(edge);
                let taken = world.graphs[receiver].receive(edge);
                received[edge.index()].extend(taken.map(|event| event.into_inner()));
            }
        }
    }
    world.graphs.iter_mut().for_each(EventGraph::freeze);
    world.graphs.iter_mut().for_each(|graph| drop(graph.poll()));
    for edge in (0..received.len()).map(|edge| EdgeId(edge as u32)) {
        let receiver = world.receiver(edge);
        while let Some(event) = world.graphs[receiver].receive(edge) {
            received[edge.index()].push(event.into_inner());
        }
    }
    received
}

/// A node with three listeners at one other worker: what each technique saves.
#[test]
fn techniques_save_messages() {
    let run = |techniques: Techniques| {
        let case = Case {
            nodes: 4,
            edges: vec![(0, 1), (0, 2), (0, 3)],
            ranks: 1,
            ports: 2,
            in_turn: false,
            capacity: 8,
            techniques,
            aggregation: Aggregation::Off,
        };
        let topology = Topology::new(4, case.edges.iter().copied()).expect("nodes exist");
        let plan = Plan::new(topology, &[0, 1, 1, 1], [1, 2], 8).expect("it fits");
        let plan = plan.techniques(techniques).aggregation(Aggregation::Off);
        let hub = Hub::new(2);
        let [mut a, mut b] = [0, 1].map(|me| EventGraph::<u32>::make(&plan, &hub, me, None, 0));
        for event in 0..8 {
            a.send_event(NodeId(0), event).expect("there is room");
            b.poll().expect("one rank");
            a.poll().expect("one rank");
            (0..3).for_each(|edge| assert!(b.receive(EdgeId(edge)).is_some()));
        }
        let (a, b) = (a.traffic(), b.traffic());
        [a.copies, b.credits, b.batches]
    };
    let all = Techniques::default();
    assert_eq!(run(all), [8, 6, 6]);
    assert_eq!(run(Techniques { caching: false, ..all }), [24, 6, 6]);
    assert_eq!(run(Techniques { replicated_flow_control: false, ..all }), [8, 24, 24]);
    // The batches of the receiver are the acknowledgements, too.
    assert_eq!(run(Techniques { lazy_sends: false, ..all }), [8, 6, 14]);
}

#[test]
fn plans_that_do_not_fit_are_refused() {
    assert_eq!(
        Topology::new(2, [(0, 2)]).unwrap_err(),
        PlanError::NoSuchNode { node: 2, nodes: 2 }
    );
    let topology = Topology::new(2, [(0, 1)]).unwrap();
    let plan = |partition: &[usize], capacity| {
        Plan::new(topology.clone(), partition, [1, 2], capacity).map(drop)
    };
    assert_eq!(plan(&[0], 1), Err(PlanError::OtherPartition { homes: 1, nodes: 2 }));
    assert_eq!(plan(&[0, 2], 1), Err(PlanError::NoSuchWorker { node: 1, worker: 2, workers: 2 }));
    assert_eq!(plan(&[0, 1], 0), Err(PlanError::Capacity));
    assert_eq!(plan(&[0, 1], 1), Ok(()));
}

/// Ranks with different graphs do not go on.
#[test]
fn ranks_have_the_same_graph() {
    let plan = |capacity| {
        let topology = Topology::new(2, [(0, 1)]).unwrap();
        Plan::new(topology, &[0, 1], [2, 1], capacity).unwrap()
    };
    let (plans, hubs, ends) = ([plan(1), plan(2)], [Hub::new(1), Hub::new(1)], network(2, 1));
    let graph = |me: usize| {
        let remote = Remote { transport: &ends[me], codec: &Numbers, kind: 20 };
        EventGraph::<u32>::make(&plans[me], &hubs[me], me, Some(remote), 0)
    };
    let mut graphs = [graph(0), graph(1)];
    for graph in &mut graphs {
        let error = graph.poll().unwrap_err().to_string();
        assert!(error.contains("another event graph"), "{error}");
    }
}

/// Threads that send round a ring of bounded edges as fast as they can, over two ranks of two
/// workers: all of it arrives, in order, and when all rest and nothing is on its way, a freeze
/// finds it so.
#[test]
fn threads() {
    const NODES: usize = 8;
    const EACH: u32 = 3_000;
    let topology = Topology::new(NODES, (0..NODES).map(|node| (node, (node + 1) % NODES))).unwrap();
    let plan = Plan::new(topology, &blocks(NODES, 4), [2, 2], 3).unwrap();
    let (hubs, ends) = ([Hub::new(2), Hub::new(2)], network(2, 2));
    std::thread::scope(|scope| {
        for me in 0..4 {
            let (plan, hub, transport) = (&plan, &hubs[me / 2], &ends[me / 2]);
            scope.spawn(move || {
                let remote = Remote { transport, codec: &Numbers, kind: 20 };
                let mut graph = EventGraph::make(plan, hub, me, Some(remote), 0);
                let mine: Vec<_> =
                    (0..NODES as u32).filter(|&n| plan.worker_of(NodeId(n)) == me).collect();
                let mut counts: HashMap<u32, (u32, u32)> =
                    mine.iter().map(|&n| (n, (0, 0))).collect();
                loop {
                    graph.poll().expect("nobody is lost");
                    let mut works = false;
                    for &node in &mine {
                        let (sent, got) = counts.get_mut(&node).expect("it is mine");
                        if *sent < EACH && graph.send_event(NodeId(node), *sent).is_ok() {
                            *sent += 1;
                            works = true;
                        }
                        let edge = plan.topology().incoming(NodeId(node))[0];
                        while let Some(event) = graph.receive(edge) {
                            assert_eq!(*event, *got);
                            *got += 1;
                            works = true;
                        }
                    }
                    if !works {
                        graph.flush();
                        std::thread::yield_now();
                    }
                    let is_done = counts.values().all(|&(sent, got)| (sent, got) == (EACH, EACH));
                    if is_done || graph.is_freeze_requested() {
                        break;
                    }
                }
                graph.freeze();
                while !graph.is_frozen() {
                    graph.poll().expect("nobody is lost");
                    std::thread::yield_now();
                }
                for &node in &mine {
                    let (sent, mut got) = counts[&node];
                    while graph.receive(plan.topology().incoming(NodeId(node))[0]).is_some() {
                        got += 1;
                    }
                    // A neighbour may have been stopped before it was done.
                    assert!(sent <= EACH && got <= EACH);
                }
            });
        }
    });
}

/// Two workers as futures on one thread, over an edge that holds one event, with sends that wait
/// for their acknowledgement.
#[test]
fn split_phase() {
    let topology = Topology::new(2, [(0, 1)]).unwrap();
    let techniques = Techniques { lazy_sends: false, ..Techniques::default() };
    let plan = Plan::new(topology, &[0, 1], [1, 2], 1).unwrap().techniques(techniques);
    let hub = Hub::new(2);
    let [a, b] =
        [0, 1].map(|me| SplitPhase::new(EventGraph::<u32>::make(&plan, &hub, me, None, 0)));
    let sends = async {
        a.made().await;
        for event in 0..20 {
            match event % 2 {
                0 => a.send_event(NodeId(0), event).await,
                _ => a.send(EdgeId(0), event).await,
            }
            assert!(a.graph().is_complete(NodeId(0)));
        }
        a.freeze().await;
        a.unfreeze();
    };
    let receives = async {
        for event in 0..20 {
            let edge = b.wait_for_event(NodeId(1)).await;
            assert_eq!(*b.receive(edge).await, event);
        }
        b.freeze().await;
        b.unfreeze();
    };
    let (mut sends, mut receives) = (pin!(sends), pin!(receives));
    let mut cx = Context::from_waker(Waker::noop());
    let mut done = [false; 2];
    for _ in 0..1_000 {
        let futures: [std::pin::Pin<&mut dyn Future<Output = ()>>; 2] =
            [sends.as_mut(), receives.as_mut()];
        for (future, done) in futures.into_iter().zip(&mut done) {
            *done = *done || future.poll(&mut cx) == Poll::Ready(());
        }
        let waits = [a.poll().unwrap(), b.poll().unwrap()];
        if done == [true; 2] {
            assert_eq!(waits, [false; 2], "somebody is woken for nothing");
            return;
        }
    }
    panic!("no end: {done:?}");
}

/// The FIFO keeps its memory: what a full edge once held is used again.
#[test]
fn room_is_used_again() {
    let topology = Topology::new(1, [(0, 0)]).unwrap();
    let plan = Plan::new(topology, &[0], [1, 1], 4).unwrap();
    let hub = Hub::new(1);
    let mut graph = EventGraph::<u32>::make(&plan, &hub, 0, None, 0);
    let mut expected = VecDeque::new();
    for event in 0..1_000 {
        if graph.send(EdgeId(0), event).is_ok() {
            expected.push_back(event);
        }
        if event % 3 == 0 {
            assert_eq!(graph.receive(EdgeId(0)).as_deref().copied(), expected.pop_front());
        }
        assert!(graph.waiting(EdgeId(0)) <= 4);
    }
}

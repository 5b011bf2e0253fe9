//! The laws of the event graph, on random graphs, partitions and schedules, with every set of
//! techniques; then what the techniques save, threads, and futures.

use std::{
    collections::VecDeque,
    future::Future,
    pin::pin,
    task::{Context, Poll, Waker},
};

use proptest::{collection::vec, prelude::*};
use random_graph::{Case, Numbers, World, case, step};
use warpline_graph::{
    EdgeId, EventGraph, Hub, NodeId, Plan, PlanError, Remote, SplitPhase, Techniques, Topology,
    blocks,
};
use warpline_net::{Aggregation, network};

mod random_graph;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// GRAPH-A to GRAPH-D, which [`World`] checks at every step.
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
            let [lazy_sends, caching, replicated_flow_control] =
                [1, 2, 4].map(|bit| bits & bit != 0);
            let techniques = Techniques { lazy_sends, caching, replicated_flow_control };
            all.push(received(&Case { techniques, ..case.clone() }, &events));
        }
        prop_assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

/// Sends one event from each of these nodes in turn, and returns what every edge received.
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
                world.graphs[worker].poll().expect("no rank is lost");
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

/// What each technique saves for a node with three listeners at one other worker.
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
    // The receiver's batches include its acknowledgements.
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
    assert_eq!(plan(&[0], 1), Err(PlanError::OtherPartition { entries: 1, nodes: 2 }));
    assert_eq!(plan(&[0, 2], 1), Err(PlanError::NoSuchWorker { node: 1, worker: 2, workers: 2 }));
    assert_eq!(plan(&[0, 1], 0), Err(PlanError::Capacity));
    assert_eq!(plan(&[0, 1], 1), Ok(()));
}

/// Ranks with different graphs get an error.
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
        assert!(error.contains("its event graph is another one"), "{error}");
    }
}

/// GRAPH-A and GRAPH-C with threads: the workers of two ranks send around a ring of bounded edges
/// as fast as they can, until one of them has received enough and freezes the graph in full flow.
/// Then every event that was sent has arrived.
#[test]
fn threads() {
    const NODES: usize = 8;
    let topology = Topology::new(NODES, (0..NODES).map(|node| (node, (node + 1) % NODES))).unwrap();
    let plan = Plan::new(topology, &blocks(NODES, 4), [2, 2], 3).unwrap();
    let (hubs, ends) = ([Hub::new(2), Hub::new(2)], network(2, 2));
    let mut counts = std::thread::scope(|scope| {
        let start = |me: usize| {
            let (plan, hub, transport) = (&plan, &hubs[me / 2], &ends[me / 2]);
            scope.spawn(move || {
                let remote = Remote { transport, codec: &Numbers, kind: 20 };
                circulate(EventGraph::make(plan, hub, me, Some(remote), 0), plan, me)
            })
        };
        let workers: Vec<_> = (0..4).map(start).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    counts.sort_by_key(|count| count.node);
    assert_eq!(counts.len(), NODES);
    for (node, count) in counts.iter().enumerate() {
        let next = &counts[(node + 1) % NODES];
        assert_eq!(count.sent, next.received, "GRAPH-C: from {:?}", count.node);
    }
}

/// How many events a node has sent and received.
struct Count {
    node: NodeId,
    sent: u32,
    received: u32,
}

/// Sends from all nodes of a worker and receives, until it has received enough or another worker
/// freezes.
fn circulate(mut graph: EventGraph<'_, u32>, plan: &Plan, me: usize) -> Vec<Count> {
    const ENOUGH: u32 = 3_000;
    let incoming = |node| plan.topology().incoming(node)[0];
    let nodes = (0..plan.topology().nodes() as u32).map(NodeId);
    let own = nodes.filter(|node| plan.worker_of(*node) == me);
    let mut counts: Vec<_> = own.map(|node| Count { node, sent: 0, received: 0 }).collect();
    let is_done = |count: &Count| count.received >= ENOUGH;
    while !counts.iter().all(is_done) && !graph.is_freeze_requested() {
        graph.poll().expect("no rank is lost");
        for Count { node, sent, received } in &mut counts {
            if graph.send_event(*node, *sent).is_ok() {
                *sent += 1;
            }
            while let Some(event) = graph.receive(incoming(*node)) {
                assert_eq!(*event, *received, "GRAPH-A");
                *received += 1;
            }
        }
        graph.flush();
        std::thread::yield_now();
    }
    graph.freeze();
    while !graph.is_frozen() {
        graph.poll().expect("no rank is lost");
        std::thread::yield_now();
    }
    for Count { node, received, .. } in &mut counts {
        while graph.receive(incoming(*node)).is_some() {
            *received += 1;
        }
    }
    counts
}

/// Two workers as futures on one thread, over an edge that holds one event. Sends wait for their
/// acknowledgements.
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
            assert_eq!(waits, [false; 2], "a future waits although all are done");
            return;
        }
    }
    panic!("no end: {done:?}");
}

/// A full edge takes events again once some were received.
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

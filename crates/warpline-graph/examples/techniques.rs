//! What each technique of the event graph gains (Wen and Yelick 1995, section 4.2): all of them,
//! each one off, and none, in turn.
//!
//! `cargo run --release -p warpline-graph --example techniques [ROUNDS]`
//!
//! 512 nodes, each with edges to 8 others drawn at random, on two workers; every node sends 2 000
//! events to all that listen, as fast as there is room. It prints the median rate at which
//! edges receive, over the rounds.

#![expect(clippy::print_stdout, reason = "it is what an example is for")]

use std::{
    thread,
    time::{Duration, Instant},
};

use warpline_core::{LpId, Stream};
use warpline_graph::{EdgeId, EventGraph, Hub, NodeId, Plan, Techniques, Topology, blocks};

const NODES: usize = 512;
const FAN_OUT: usize = 8;
const EVENTS: usize = 2_000;
const CAPACITY: usize = 64;
const WORKERS: usize = 2;

const ALL: Techniques =
    Techniques { lazy_sends: true, caching: true, replicated_flow_control: true };
const CASES: [(&str, Techniques); 5] = [
    ("all", ALL),
    ("sends wait for acknowledgements", Techniques { lazy_sends: false, ..ALL }),
    ("a copy for each listener", Techniques { caching: false, ..ALL }),
    ("room given back for each event", Techniques { replicated_flow_control: false, ..ALL }),
    ("none", Techniques { lazy_sends: false, caching: false, replicated_flow_control: false }),
];

fn main() {
    let rounds = std::env::args().nth(1).map_or(9, |rounds| rounds.parse().expect("a number"));
    let rng = Stream::for_lp(1, LpId::new(0));
    let edges: Vec<_> = (0..NODES * FAN_OUT)
        .map(|edge| (edge / FAN_OUT, rng.below(NODES as u64) as usize))
        .collect();
    let mut rates = vec![Vec::new(); CASES.len()];
    for _ in 0..rounds {
        for ((_, techniques), rates) in CASES.iter().zip(&mut rates) {
            let topology = Topology::new(NODES, edges.iter().copied()).expect("all nodes exist");
            let homes = blocks(NODES, WORKERS);
            let plan = Plan::new(topology, &homes, [1, WORKERS], CAPACITY).expect("it fits");
            let took = run(&plan.techniques(*techniques));
            rates.push((edges.len() * EVENTS) as f64 / took.as_secs_f64() / 1e6);
        }
    }
    println!("{:34} {:>10} {:>8}", "", "M events/s", "of all");
    let medians: Vec<_> = rates.iter_mut().map(|rates| median(rates)).collect();
    for ((name, _), median) in CASES.iter().zip(&medians) {
        println!("{name:34} {median:10.1} {:8.2}", median / medians[0]);
    }
}

fn run(plan: &Plan) -> Duration {
    let hub = Hub::new(WORKERS);
    let started = Instant::now();
    thread::scope(|scope| {
        for me in 0..WORKERS {
            let hub = &hub;
            scope.spawn(move || work(EventGraph::<u64>::make(plan, hub, me, None, 0), plan, me));
        }
    });
    started.elapsed()
}

/// Sends and receives until all events have come.
fn work(mut graph: EventGraph<'_, u64>, plan: &Plan, me: usize) {
    let topology = plan.topology();
    let own = |node: &NodeId| plan.worker_of(*node) == me;
    let nodes: Vec<_> = (0..NODES as u32).map(NodeId).filter(own).collect();
    let incoming: usize = nodes.iter().map(|node| topology.incoming(*node).len()).sum();
    let mut left = vec![EVENTS; nodes.len()];
    let (mut to_send, mut to_receive) = (nodes.len() * EVENTS, incoming * EVENTS);
    let mut sum = 0;
    while to_send + to_receive > 0 {
        let before = to_send + to_receive;
        for (&node, left) in nodes.iter().zip(&mut left) {
            while *left > 0
                && graph.is_complete(node)
                && graph.send_event(node, *left as u64).is_ok()
            {
                *left -= 1;
                to_send -= 1;
            }
        }
        graph.poll().expect("there is one rank");
        while let Some(edge) = graph.next_arrival() {
            to_receive -= drain(&mut graph, edge, &mut sum);
        }
        if to_send + to_receive == before {
            graph.flush();
            thread::yield_now();
        }
    }
    // Others may still wait for room or acknowledgements.
    graph.flush();
    std::hint::black_box(sum);
}

fn drain(graph: &mut EventGraph<'_, u64>, edge: EdgeId, sum: &mut u64) -> usize {
    let mut count = 0;
    while let Some(event) = graph.receive(edge) {
        *sum = sum.wrapping_add(event.into_inner());
        count += 1;
    }
    count
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

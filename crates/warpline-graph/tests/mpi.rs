//! The event graph and the runtime over MPI. When cargo or a user starts this program, it starts
//! itself with `mpirun` (or the program that `$MPIRUN` names) at 1, 2 and 3 ranks. When `mpirun`
//! starts it, it is a rank.

#[path = "../../warpline-net/tests/mpirun/mod.rs"]
mod mpirun;
#[allow(dead_code, reason = "the ring needs a part of it")]
mod random_graph;

use std::{env, process::exit, thread, time::Instant};

use random_graph::Numbers;
use warpline_graph::{EventGraph, Hub, NodeId, Plan, Remote, Techniques, Topology, blocks};
use warpline_net::{Address, Aggregation, MpiTransport, Parcel, Transport, launched_by_mpi};
use warpline_runtime::{Counter, Place, Runtime, Worker};

/// Workers of each rank.
const PORTS: usize = 2;
const REGION: u32 = 7;
const THREAD: u32 = 3;

/// The scenarios by name.
const SCENARIOS: [(&str, fn()); 4] =
    [("ring", ring), ("put_and_get", put_and_get), ("threads", threads), ("barriers", barriers)];

fn main() {
    if launched_by_mpi().is_none() {
        return launch_all();
    }
    let name = env::args().nth(1).unwrap_or_default();
    let scenario = SCENARIOS.iter().find(|scenario| scenario.0 == name).expect("a scenario");
    scenario.1();
}

/// Launches all scenarios, and the ring with every set of techniques.
fn launch_all() {
    let this = env::current_exe().expect("the path of this test");
    let mut failed = 0;
    for ranks in 1..=3 {
        let rings = (0..8).map(|bits| ("ring", bits.to_string()));
        let others = SCENARIOS[1..].iter().map(|(name, _)| (*name, String::new()));
        for (name, argument) in rings.chain(others) {
            let start = Instant::now();
            let mut command = mpirun::mpirun(ranks, &this);
            let status = command.args([name, &argument]).status().expect("mpirun starts");
            let seconds = start.elapsed().as_secs_f64();
            let said = if status.success() { "ok" } else { "FAILED" };
            eprintln!("test {name} {argument} at {ranks} rank(s) ... {said}, {seconds:.1} s");
            failed += i32::from(!status.success());
        }
    }
    eprintln!("{failed} failed");
    exit(i32::from(failed > 0));
}

/// Runs a program at every worker of this rank.
fn at_each_worker(program: impl Fn(&mut Runtime<'_>) + Sync) {
    let (transport, program) = (&MpiTransport::connect(PORTS).unwrap(), &program);
    thread::scope(|scope| {
        for port in 0..PORTS {
            scope.spawn(move || program(&mut Runtime::new(transport, port, Aggregation::Adaptive)));
        }
    });
}

/// GRAPH-A and GRAPH-C with a set of techniques, whose bits are the second argument: all workers
/// send around a ring of bounded edges until one has received enough, and freezes the graph in full
/// flow. Then every event that was sent has arrived, in its order.
fn ring() {
    // Port `PORTS` is for the counts.
    let transport = &MpiTransport::connect(PORTS + 1).unwrap();
    let bits: u8 = env::args().nth(2).and_then(|bits| bits.parse().ok()).expect("techniques");
    let [lazy_sends, caching, replicated_flow_control] = [1, 2, 4].map(|bit| bits & bit != 0);
    let techniques = Techniques { lazy_sends, caching, replicated_flow_control };
    let workers = transport.ranks() * PORTS;
    let nodes = 2 * workers;
    let edges = (0..nodes).map(|node| (node, (node + 1) % nodes));
    let topology = Topology::new(nodes, edges).unwrap();
    let plan = Plan::new(topology, &blocks(nodes, workers), [transport.ranks(), PORTS], 3);
    let (plan, hub) = (&plan.unwrap().techniques(techniques), &Hub::new(PORTS));
    thread::scope(|scope| {
        for port in 0..PORTS {
            scope.spawn(move || circulate(plan, hub, transport, port));
        }
    });
    if transport.rank() == 0 {
        compare(nodes, transport);
    }
}

/// A worker of the ring. At the end it sends, of each of its nodes, the number and how many events
/// it has sent and received.
fn circulate(plan: &Plan, hub: &Hub<u32>, transport: &MpiTransport, port: usize) {
    const ENOUGH: u32 = 300;
    let me = transport.rank() * PORTS + port;
    let remote = Remote { transport, codec: &Numbers, kind: 20 };
    let mut graph = EventGraph::make(plan, hub, me, Some(remote), 0);
    let incoming = |node: u32| plan.topology().incoming(NodeId(node))[0];
    let own =
        (0..plan.topology().nodes() as u32).filter(|&node| plan.worker_of(NodeId(node)) == me);
    let mut counts: Vec<_> = own.map(|node| [node, 0, 0]).collect();
    while counts.iter().any(|count| count[2] < ENOUGH) && !graph.is_freeze_requested() {
        graph.poll().unwrap();
        for [node, sent, received] in &mut counts {
            *sent += u32::from(graph.send_event(NodeId(*node), *sent).is_ok());
            while let Some(event) = graph.receive(incoming(*node)) {
                assert_eq!(*event, *received, "GRAPH-A");
                *received += 1;
            }
        }
        graph.flush();
        thread::yield_now();
    }
    graph.freeze();
    while !graph.is_frozen() {
        graph.poll().unwrap();
        thread::yield_now();
    }
    for [node, _, received] in &mut counts {
        while graph.receive(incoming(*node)).is_some() {
            *received += 1;
        }
    }
    for count in counts {
        let body = count.map(u32::to_le_bytes).concat();
        let to = Address { rank: 0, port: PORTS };
        transport.send(to, Parcel::with_body(0, port, &body)).unwrap();
    }
}

/// Collects the counts of all nodes of the ring, and compares those of neighbors.
fn compare(nodes: usize, transport: &MpiTransport) {
    let mut counts = vec![None; nodes];
    while counts.contains(&None) {
        let Some(arrived) = transport.receive(PORTS).unwrap() else {
            thread::yield_now();
            continue;
        };
        let words = Parcel::open(&arrived.bytes).unwrap().body.chunks_exact(4);
        let words: Vec<_> =
            words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        counts[words[0] as usize] = Some((words[1], words[2]));
    }
    let counts: Vec<_> = counts.into_iter().flatten().collect();
    for (node, (sent, _)) in counts.iter().enumerate() {
        let (_, received) = counts[(node + 1) % nodes];
        assert!(*sent == received && received > 0, "GRAPH-C: node {node} of {counts:?}");
    }
}

/// Split-phase operations: every worker puts a block at every other one, the last element by a
/// store, which starts a thread there, and then gets all of them back.
fn put_and_get() {
    const LEN: usize = 3_000;
    at_each_worker(|runtime| {
        let (here, workers) = (runtime.here(), runtime.workers());
        let own = here.rank * PORTS + here.port;
        let block = runtime.register(REGION, vec![0u64; LEN * workers.len()]);
        let seen = block.clone();
        runtime.register_thread(THREAD, move |_, from, args| {
            let last = (from.rank * PORTS + from.port + 1) * LEN - 1;
            assert_eq!((&args[..], seen.with(|block| block[last])), (&b"stored"[..], last as u64));
            async { Vec::new() }
        });
        let worker = Worker::clone(runtime);
        let program = async move {
            let (first, values) = (own * LEN, (own * LEN) as u64..((own + 1) * LEN) as u64);
            let values: Vec<_> = values.collect();
            let [most, last] = [&values[..LEN - 1], &values[LEN - 1..]];
            for &there in &workers {
                let place = |offset| Place { worker: there, region: REGION, offset };
                worker.put(most, place(first)).await.unwrap();
                let done = Counter::new();
                let store = worker.store(last, place(first + LEN - 1), THREAD, b"stored", &done);
                store.await.unwrap();
                assert_eq!(worker.get::<u64>(place(first), LEN).await, Ok(values.clone()));
            }
        };
        runtime.run_until(program).unwrap();
        runtime.run().unwrap();
        let wrong =
            |block: &mut [u64]| (0..).zip(block).find(|(at, value)| at != *value).map(|it| it.0);
        assert_eq!(block.with(|block| wrong(block)), None::<u64>);
    });
}

/// Atomic threads go from worker to worker; the run ends when none is left, and none ran twice.
fn threads() {
    const HOPS: u32 = 300;
    at_each_worker(|runtime| {
        let (here, workers) = (runtime.here(), runtime.workers());
        let counts = runtime.register(REGION, vec![0u32; workers.len()]);
        let (count, all) = (counts.clone(), workers.clone());
        runtime.register_thread(THREAD, move |worker, _, args| {
            let own = worker.here().rank * PORTS + worker.here().port;
            count.with(|count| count[own] += 1);
            let left = u32::from_le_bytes(args.try_into().unwrap()) - 1;
            if left > 0 {
                let to = all[left as usize * 7 / 3 % all.len()];
                drop(worker.invoke(to, THREAD, &left.to_le_bytes()));
            }
            async { Vec::new() }
        });
        let next = workers[(here.rank * PORTS + here.port + 1) % workers.len()];
        drop(runtime.invoke(next, THREAD, &HOPS.to_le_bytes()));
        runtime.run().unwrap();
        // Every worker tells every other one.
        let own = here.rank * PORTS + here.port;
        let mine = counts.with(|counts| counts[own]);
        for &worker in &workers {
            drop(runtime.put(&[mine], Place { worker, region: REGION, offset: own }));
        }
        runtime.run().unwrap();
        let sum: u32 = counts.with(|counts| counts.iter().sum());
        assert_eq!(sum, HOPS * workers.len() as u32);
    });
}

/// No worker passes a barrier before all have reached it.
fn barriers() {
    at_each_worker(|runtime| {
        let (here, workers) = (runtime.here(), runtime.workers());
        let block = runtime.register(REGION, vec![0u64; workers.len()]);
        let own = here.rank * PORTS + here.port;
        let worker = Worker::clone(runtime);
        let program = async move {
            for round in 1..=20u64 {
                let place = |worker| Place { worker, region: REGION, offset: own };
                let puts: Vec<_> =
                    workers.iter().map(|&to| worker.put(&[round], place(to))).collect();
                for put in puts {
                    put.await.unwrap();
                }
                worker.barrier().await.unwrap();
                block.with(|block| assert!(block.iter().all(|&there| there >= round)));
            }
        };
        runtime.run_until(program).unwrap();
        runtime.run().unwrap();
    });
}

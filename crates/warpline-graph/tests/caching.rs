//! The storage for events that several edges of a worker share is used again: once as many events
//! have waited as ever will, a send to all edges of a node takes nothing from the allocator.
//!
//! # Mutations that it is against
//!
//! - `Drop` of `SharedEvent` does not put the slot back
//! - `Cache::store` does not look at the free slots

#![expect(
    unsafe_code,
    reason = "counting the calls of the global allocator means to stand in its place"
)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use warpline_graph::{EventGraph, Hub, NodeId, Plan, Taken, Topology};

thread_local! {
    /// The calls of this thread. Of this one alone: the thread that started the test notes that it
    /// did, and when it gets round to it is up to the scheduler.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, with a counter.
struct Counting;

// SAFETY: every method passes its arguments to the system's allocator and returns its result;
// counting neither allocates nor unwinds, for the counter is there from the start and is never
// dropped.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract of this method, which is that of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; `block` came from the system's allocator, as all blocks do.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LISTENERS: usize = 8;

/// Node 0 has an edge to each of the others; the second half of them belongs to the last worker.
fn star(workers: usize) -> Plan {
    let topology = Topology::new(LISTENERS + 1, (1..=LISTENERS).map(|to| (0, to)));
    let place = |node: usize| if node > LISTENERS / 2 { workers - 1 } else { 0 };
    let partition: Vec<_> = (0..=LISTENERS).map(place).collect();
    let plan = Plan::new(topology.expect("all nodes exist"), &partition, [1, workers], 16);
    plan.expect("it fits together")
}

/// Sends so many events, each of which is received by all.
fn send(graphs: &mut [EventGraph<'_, [u64; 16]>], events: u64) -> u64 {
    let mut sum = 0;
    for number in 0..events {
        graphs[0].send_event(NodeId(0), [number; 16]).expect("there is room");
        graphs[0].flush();
        for graph in &mut *graphs {
            graph.poll().expect("there is one rank");
            while let Some(edge) = graph.next_arrival() {
                while let Some(event) = graph.receive(edge) {
                    assert!(matches!(event, Taken::Shared(_)), "it is not shared");
                    sum += event[7];
                }
            }
            graph.flush();
        }
        graphs[0].poll().expect("there is one rank");
    }
    sum
}

#[test]
fn shared_events_are_stored_without_allocation() {
    for workers in [1, 2] {
        let plan = star(workers);
        let hub = Hub::new(workers);
        let mut graphs: Vec<_> =
            (0..workers).map(|me| EventGraph::make(&plan, &hub, me, None, 0)).collect();
        send(&mut graphs, 100);
        let before = CALLS.get();
        let sum = send(&mut graphs, 1000);
        let calls = CALLS.get() - before;
        assert_eq!(sum, LISTENERS as u64 * 999 * 500);
        assert_eq!(calls, 0, "{calls} allocations for 1000 events, {workers} workers");
    }
}

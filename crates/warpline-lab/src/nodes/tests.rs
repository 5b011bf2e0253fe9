//! Replays of made-up traces on a machine of two nodes.

use super::*;
use crate::machine::{Geometry, MachineParams};

/// Two nodes of one worker each, whose caches hold next to nothing.
fn two_nodes() -> NodeParams {
    let cache = Some(Geometry { sets: 1, ways: 2 });
    let machine = MachineParams { workers: 2, cache, ..MachineParams::opteron() };
    let params = NodeParams::opteron();
    let (handling_ns, overhead_ns) = ([0.0; 2], 0.0);
    NodeParams { machine, workers_per_node: 1, handling_ns, overhead_ns, looks: 10, ..params }
}

fn handled(lp: u32, from: u32, cause: Option<u32>) -> [Touch; 2] {
    [
        Touch::Saved { lp, copy: lp, bytes: 640 },
        Touch::Handled { lp, cause, from, read: 640, written: 640 },
    ]
}

/// A thousand events at each of these LPs, each sent by the LP itself.
fn trace(lps: &[u32]) -> TrafficTrace {
    let touches = (0..1000).flat_map(|_| lps.iter().flat_map(|&lp| handled(lp, lp, None)));
    let waiting = vec![4; 4];
    TrafficTrace { lps: 4, workers: 2, touches: touches.collect(), waiting, ..Default::default() }
}

fn counts(trace: &TrafficTrace, memory: Memory) -> NodeCounts {
    replay(trace, two_nodes(), memory).expect("a sound machine")
}

/// LPs stay in their order, and each worker has about the same to do.
#[test]
fn shares_are_even() {
    assert_eq!(shares(&[1.0; 6], 3), [0, 0, 1, 1, 2, 2]);
    assert_eq!(shares(&[4.0, 1.0, 1.0, 2.0], 2), [0, 1, 1, 1]);
    assert_eq!(shares(&[0.0, 0.0, 9.0], 2), [0, 0, 1]);
}

/// While no LP moves, nothing is far.
#[test]
fn an_even_load_is_near() {
    for memory in [Memory::Plain, Memory::Segments, Memory::Daemons(1)] {
        let counts = counts(&trace(&[0, 1, 2, 3]), memory);
        assert_eq!((counts.moved, counts.far, counts.far_written), (0, 0, 0), "{memory:?}");
        assert!(counts.near > 4 * 1000 * 10, "{memory:?}: {counts:?}");
    }
}

/// LP 1 goes to the other node after three looks. Without daemons all that it has stays behind,
/// with plain memory only its state; daemons bring its pages before the next look.
#[test]
fn pages_follow_with_daemons() {
    let uneven = trace(&[0, 1]);
    let [plain, segments, daemons] =
        [Memory::Plain, Memory::Segments, Memory::Daemons(1)].map(|memory| counts(&uneven, memory));
    assert_eq!([plain.moved, segments.moved, daemons.moved], [1; 3]);
    // The state is read twice for each event in the seven tenths after the move.
    let lines = 2 * 10 * 700;
    assert_eq!((plain.far, daemons.far), (lines, 0));
    assert!(segments.far > lines && segments.far_written > plain.far_written, "{segments:?}");
    assert!(daemons.seconds < plain.seconds && plain.seconds < segments.seconds);
    assert!(counts(&uneven, Memory::Daemons(5)).far > 0);
}

/// Reads of far memory take longer than those of near one, and writes do not.
#[test]
fn writes_do_not_wait() {
    let uneven = trace(&[0, 1]);
    let seconds = |distance, write_waits| {
        let params = NodeParams { distance, write_waits, ..two_nodes() };
        replay(&uneven, params, Memory::Segments).expect("a sound machine").seconds
    };
    let extra = seconds(2.0, 0.0) - seconds(1.0, 0.0);
    let far = counts(&uneven, Memory::Segments).far as f64;
    let memory_miss_ns = MachineParams::opteron().costs.memory_miss_ns;
    assert!((extra - far * memory_miss_ns * 1e-9).abs() < 1e-12, "{extra} s for {far} lines");
    assert!(seconds(2.0, 1.0) - seconds(1.0, 1.0) > extra);
}

/// A chain of events is no faster on many workers, and what Time Warp saves makes it slower
/// (NODES-A): two workers may lose to one.
#[test]
fn a_chain_is_slower_than_the_sequential_engine() {
    let chain = |saves: bool| {
        let event = |n: u32| handled(n % 4, (n + 3) % 4, n.checked_sub(1));
        let touches = (0..1000).flat_map(event);
        let kept = touches.filter(|touch| saves || matches!(touch, Touch::Handled { .. }));
        TrafficTrace { touches: kept.collect(), ..trace(&[]) }
    };
    let alone = replay(&chain(false), two_nodes().one_core(), Memory::Sequential);
    let alone = alone.expect("a sound machine");
    assert_eq!((alone.far, alone.moved), (0, 0));
    let parallel = counts(&chain(true), Memory::Plain).seconds;
    assert!(parallel > alone.seconds, "{parallel} s for {}", alone.seconds);
    // Without causes, two workers share the work.
    assert!(counts(&trace(&[0, 1, 2, 3]), Memory::Plain).seconds < 4.0 * parallel * 0.7);
}

/// An event for another node is written there, but with plain memory where its sender is. Its
/// receiver then gets it from there.
#[test]
fn events_lie_at_their_receiver_or_their_sender() {
    let touches = (0..1000).flat_map(|n: u32| handled(n % 4, 3 - n % 4, None));
    let sent = TrafficTrace { touches: touches.collect(), ..trace(&[]) };
    let [plain, segments] = [Memory::Plain, Memory::Segments].map(|m| counts(&sent, m));
    assert_eq!((plain.far, plain.far_written), (1000, 0));
    assert!(segments.far < 100 && segments.far_written > 900, "{segments:?}");
}

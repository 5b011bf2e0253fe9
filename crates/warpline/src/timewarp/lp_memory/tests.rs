//! Homes and daemons on a machine with two nodes, which is made up.

use super::*;
use crate::settings::Numa;

/// So that the tests of this crate have homes.
#[cfg(all(target_os = "linux", not(miri)))]
#[global_allocator]
static ALLOCATOR: warpline_memory::NodeAllocator = warpline_memory::NodeAllocator;

/// A machine with nodes as many as one likes.
#[derive(Debug, Default)]
struct Fake(Mutex<FakePages>);

#[derive(Debug, Default)]
struct FakePages {
    node: Option<u32>,
    /// The node of each page.
    pages: Vec<u32>,
    /// How many of them move in one attempt, at the most.
    at_once: usize,
    refuses: bool,
}

impl Pages for Fake {
    fn node(&self) -> Option<u32> {
        lock(&self.0).node
    }

    fn set_node(&self, node: Option<u32>) {
        lock(&self.0).node = node;
    }

    fn realign(&self) -> Realigned {
        let FakePages { node, pages, at_once, refuses } = &mut *lock(&self.0);
        let node = node.expect("a home that is realigned has a node");
        let mut moved = 0;
        for page in pages.iter_mut().filter(|page| **page != node) {
            if moved < *at_once && !*refuses {
                (*page, moved) = (node, moved + 1);
            }
        }
        let left = pages.iter().filter(|&&page| page != node).count() as u64;
        Realigned { segments: 1, pages_left: left, refused: (*refuses).into() }
    }

    fn residency(&self) -> Residency {
        let FakePages { node, pages, .. } = &*lock(&self.0);
        let at_home = pages.iter().filter(|&&page| Some(page) == *node).count() as u64;
        let pages = pages.len() as u64;
        Residency { pages, pages_at_home: at_home, ..Residency::default() }
    }
}

/// Two workers on nodes 0 and 1, and LPs that begin at worker 0, with ten pages each.
fn memory(lps: usize, shift: u32, at_once: usize, refuses: bool) -> LpMemory<Fake> {
    let pages = || FakePages { node: None, pages: vec![0; 10], at_once, refuses };
    let homes = (0..lps.div_ceil(1 << shift)).map(|_| Fake(Mutex::new(pages()))).collect();
    let numa = Numa { migration_daemons: 1, ..Numa::default() };
    let settings = TimeWarp { numa, ..TimeWarp::default() };
    let memory = LpMemory::of(homes, shift, lps, &settings);
    // Ordering: Relaxed; there is one thread.
    memory.daemons.started.store(1, Ordering::Relaxed);
    memory.set_node(0, Some(0));
    memory.set_node(1, Some(1));
    (0..lps).for_each(|lp| memory.follow(LpId::new(lp as u32), 0));
    assert_eq!(counts(&memory), [0; 4], "nothing has moved yet");
    memory
}

/// Segments, retries, requests that are left, and pages that were not moved.
fn counts(memory: &LpMemory<Fake>) -> [u64; 4] {
    let named = memory.of_daemons();
    let of = |name| named.iter().find(|one| one.0 == name).expect("a counter").1;
    ["segments_realigned", "realignments_retried", "realignments_pending", "pages_not_moved"]
        .map(of)
}

fn at_home(memory: &LpMemory<Fake>) -> (u64, u64) {
    let found = memory.residency();
    (found.pages_at_home, found.pages)
}

/// HOME-A and HOME-B: the pages of an LP that has moved are away until a daemon has looked;
/// and there is one request, however often the LP moves before.
///
/// Red if `follow` does not ask a daemon, asks for each move, or leaves the node as it was.
#[test]
fn pages_follow_their_lp() {
    let memory = memory(3, 0, 10, false);
    assert_eq!(at_home(&memory), (30, 30));
    for worker in [1, 0, 1] {
        memory.follow(LpId::new(2), worker);
    }
    assert_eq!((memory.homes[2].node(), at_home(&memory)), (Some(1), (20, 30)));
    assert_eq!(counts(&memory), [0, 0, 1, 0]);
    memory.serve(0);
    assert_eq!((counts(&memory), at_home(&memory)), ([1, 0, 0, 0], (30, 30)));
    memory.serve(0);
    assert_eq!(counts(&memory), [1, 0, 0, 0], "there is nothing left to do");
}

/// A worker's heap follows its worker as the homes of LPs do, and what a daemon has not brought
/// yet is told at the end.
///
/// Red if `move_heap` asks no daemon, or moves a home in the heap's place.
#[test]
fn the_heap_follows_its_worker() {
    let memory = memory(3, 0, 10, false);
    let pages = FakePages { node: Some(1), pages: vec![1; 7], at_once: 10, refuses: false };
    let heap = Arc::new(Fake(Mutex::new(pages)));
    memory.take_in(1, Arc::clone(&heap));
    memory.move_heap(1, Some(1));
    assert_eq!(counts(&memory), [0; 4], "it is there");
    memory.move_heap(1, Some(0));
    assert_eq!((heap.node(), heap.residency().pages_at_home), (Some(0), 0));
    assert_eq!(counts(&memory), [0, 0, 1, 0]);
    assert!(memory.of_daemons().contains(&("pages_pending", 7)));
    memory.serve(0);
    assert_eq!((counts(&memory), heap.residency().pages_at_home), ([1, 0, 0, 0], 7));
    assert!(memory.of_daemons().contains(&("pages_pending", 0)));
    assert_eq!(at_home(&memory), (30, 30), "the homes have stayed");
}

/// HOME-B: a daemon tries again at each look until all pages have moved, and tells of those
/// that have not.
///
/// Red if it gives up after some attempts, or does not count what is left.
#[test]
fn daemons_try_again_until_it_is_done() {
    let memory = memory(1, 0, 1, false);
    lock(&memory.homes[0].0).pages = vec![0; 40];
    memory.follow(LpId::new(0), 1);
    (0..30).for_each(|_| memory.serve(0));
    assert_eq!(counts(&memory), [30, 30, 1, 10]);
    // It moves on before it is done: there is one request still, for the node of now.
    memory.follow(LpId::new(0), 0);
    assert_eq!(counts(&memory), [30, 30, 1, 10]);
    (0..40).for_each(|_| memory.serve(0));
    assert_eq!((counts(&memory), at_home(&memory)), ([60, 59, 0, 0], (40, 40)));
}

/// Where the system refuses, a daemon does not ask again and again. (Red if it does.)
#[test]
fn a_refusal_is_counted_once() {
    let memory = memory(2, 0, 10, true);
    memory.follow(LpId::new(1), 1);
    (0..5).for_each(|_| memory.serve(0));
    assert_eq!((counts(&memory), at_home(&memory)), ([1, 0, 0, 10], (10, 20)));
}

/// A home that LPs share follows the first of them, and its pages are at home by the part of
/// them that are there. (Red if all of its pages count, or if it follows any of them.)
#[test]
fn of_a_shared_home_a_part_is_at_home() {
    let memory = memory(7, 2, 10, false);
    assert_eq!(at_home(&memory), (20, 20));
    memory.follow(LpId::new(1), 1);
    assert_eq!((memory.homes[0].node(), at_home(&memory)), (Some(0), (17, 20)));
    memory.follow(LpId::new(4), 1);
    assert_eq!(memory.homes[1].node(), Some(1));
    memory.serve(0);
    // Of the three in the second home, one is at the node that all pages are on now.
    assert_eq!(at_home(&memory), (7 + 3, 20));
    assert!(memory.remarks(8)[0].contains("4 neighbors share memory"));
    assert_eq!([1, HOMES_MAX, HOMES_MAX + 1, 4 * HOMES_MAX].map(shift_of), [0, 0, 1, 2]);
}

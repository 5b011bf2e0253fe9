//! Heaps, as a program that installs the allocator uses them.

#![cfg(all(target_os = "linux", not(miri)))]

use std::{sync::mpsc, thread};

use proptest::prelude::*;
use warpline_memory::{Arena, Home, NodeAllocator, Pool, PoolPlan, Topology, unrouted};

#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

/// A node that has memory, and a home there.
fn home() -> Home {
    let node = Topology::of_process().nodes().iter().find(|node| node.has_memory).map(|n| n.id);
    Home::of_worker(node).expect("the allocator is installed, and addresses can be reserved")
}

/// What is allocated on the way into a heap takes pages there, all of them on its node; what is
/// allocated without a route does not.
#[test]
fn pages_are_at_home() {
    let home = home();
    let before = home.residency();
    let (large, small) = {
        let _route = home.enter();
        (vec![1_u8; 1 << 20], vec![[1_u8; 100]; 3].into_boxed_slice())
    };
    let after = home.residency();
    assert!(after.pages >= before.pages + (1 << 20) / 4096, "{after:?}");
    if after.refused == 0 {
        assert_eq!(after.pages_at_home, after.pages);
    }
    let elsewhere = vec![1_u8; 1 << 20];
    assert_eq!(home.residency(), after);
    assert_eq!((large[77], small[2][99], elsewhere[5]), (1, 1, 1));
}

/// A route ends where its guard does, and another one inside it only interrupts it.
#[test]
fn routes_nest() {
    let (outer, inner) = (home(), home());
    let pages = || [outer.residency().pages, inner.residency().pages];
    let grown = |before: [u64; 2]| [0, 1].map(|heap| pages()[heap] > before[heap]);
    let _outer = outer.enter();
    let start = pages();
    {
        let _inner = inner.enter();
        std::hint::black_box(vec![1_u8; 1 << 20]);
    }
    assert_eq!(grown(start), [false, true]);
    let then = pages();
    {
        let _system = unrouted();
        std::hint::black_box(vec![1_u8; 1 << 20]);
    }
    assert_eq!(grown(then), [false, false]);
    std::hint::black_box(vec![1_u8; 1 << 20]);
    assert_eq!(grown(then), [true, false]);
}

/// Event buffers are all workers', so whoever is the first to need a chunk does not get it at home.
#[test]
fn event_buffers_are_in_no_heap() {
    let home = home();
    let plan = PoolPlan { keep: 10_000, ..PoolPlan::new(Pool::default(), 2, None) };
    let arena = Arena::<[u64; 64]>::new(plan);
    let buffers = arena.buffers(0);
    let _route = home.enter();
    let before = home.residency().pages;
    let filled: Vec<_> = (0..4_000).map(|n| buffers.fill_with(1, || [n; 64])).collect();
    let more = home.residency().pages - before;
    // The list of identifiers is at home, but not two megabytes of buffers.
    assert!(filled.len() == 4_000 && more < 200, "{more} pages");
}

/// Zeroed memory is zero also where the block was used before.
#[test]
fn zeroes_are_zeroes() {
    let home = home();
    let _route = home.enter();
    for bytes in [24, 5_000, 300_000] {
        drop(std::hint::black_box(vec![0xff_u8; bytes]));
        assert!(vec![0_u8; bytes].iter().all(|&byte| byte == 0), "{bytes} bytes");
    }
}

/// Blocks are freed by any thread, after their home is gone, and whatever they grow to.
#[test]
fn blocks_outlive_their_home() {
    let (sender, receiver) = mpsc::channel::<Vec<String>>();
    let reader = thread::spawn(move || {
        for mut words in receiver {
            words.push("last".to_owned());
            assert_eq!(words.concat(), format!("{}last", "word".repeat(words.len() - 1)));
        }
    });
    for round in 1..40 {
        let home = home();
        let words = {
            let _route = home.enter();
            vec!["word".to_owned(); round * 7]
        };
        drop(home);
        sender.send(words).unwrap();
    }
    drop(sender);
    reader.join().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is allocated, grown, shrunk and freed, blocks keep their contents: so no two of
    /// them overlap (HEAP-A).
    #[test]
    fn blocks_do_not_overlap(
        steps in prop::collection::vec((0_usize..40, 0_usize..70_000), 1..100)
    ) {
        let (home, other) = (home(), home());
        let mut blocks: Vec<Vec<u8>> = vec![Vec::new(); 40];
        for (step, &(which, len)) in steps.iter().enumerate() {
            let _route = [&home, &other][step % 2].enter();
            let mark = step as u8;
            let block = &mut blocks[which];
            let before = block.first().copied();
            block.resize(len, before.unwrap_or(mark));
            block.shrink_to_fit();
            prop_assert!(block.iter().all(|&byte| Some(byte) == before || byte == mark));
            block.fill(mark);
        }
        for block in &blocks {
            prop_assert!(block.windows(2).all(|pair| pair[0] == pair[1]), "HEAP-A: blocks overlap");
        }
    }
}

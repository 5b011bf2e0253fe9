//! The inbox with real threads; `loom_inbox.rs` runs it under the model checker.

use std::{sync::Arc, thread};

use warpline_memory::{BLOCK_ITEMS, Block, Inbox};

/// A drain returns all blocks once, in the order of the pushes, and empty ones too (INBOX-B).
#[test]
fn smoke() {
    let inbox = Inbox::default();
    assert!(inbox.drain().next().is_none());
    for home in 0..3 {
        let mut block = Block::new(home);
        block.items.extend(0..home);
        inbox.push(block);
    }
    let drained: Vec<_> = inbox.drain().map(|block| (block.home, block.items.len())).collect();
    assert_eq!(drained, [(0, 0), (1, 1), (2, 2)]);
    assert!(inbox.drain().next().is_none());
}

/// Several producers, with full blocks that return and are filled again: every item arrives once,
/// and the items of each producer in the order in which it sent them (INBOX-C).
///
/// Mutations, each red under Miri: the CAS in `push` or the swap in `drain` Relaxed.
#[test]
fn mpsc() {
    const PRODUCERS: usize = 3;
    const BLOCKS: usize = if cfg!(miri) { 8 } else { 3_000 };

    let inbox = Inbox::default();
    let homes: [Inbox<(usize, usize)>; PRODUCERS] = std::array::from_fn(|_| Inbox::default());
    let produce = |producer: usize| {
        let mut empty = Vec::new();
        for n in 0..BLOCKS {
            empty.extend(homes[producer].drain());
            let mut block = empty.pop().unwrap_or_else(|| Block::new(producer as u32));
            assert!(block.items.is_empty());
            block.items.extend((0..BLOCK_ITEMS).map(|item| (producer, n * BLOCK_ITEMS + item)));
            inbox.push(block);
        }
    };
    let mut next = [0; PRODUCERS];
    thread::scope(|s| {
        for producer in 0..PRODUCERS {
            s.spawn(move || produce(producer));
        }
        while next != [BLOCKS * BLOCK_ITEMS; PRODUCERS] {
            for mut block in inbox.drain() {
                for (producer, item) in block.items.drain(..) {
                    assert_eq!(item, next[producer]);
                    next[producer] += 1;
                }
                homes[block.home as usize].push(block);
            }
            thread::yield_now();
        }
    });
    assert!(inbox.drain().next().is_none());
}

/// Items are dropped with the inbox or with the drain that they are in.
#[test]
fn drops() {
    let token = Arc::new(());
    let inbox = Inbox::default();
    let push = || {
        let mut block = Block::new(0);
        block.items.extend((0..2).map(|_| Arc::clone(&token)));
        inbox.push(block);
    };
    (0..3).for_each(|_| push());
    let mut drain = inbox.drain();
    drop(drain.next());
    push();
    assert_eq!(Arc::strong_count(&token), 1 + 4 + 2);
    drop(drain);
    assert_eq!(Arc::strong_count(&token), 1 + 2);
    drop(inbox);
    assert_eq!(Arc::strong_count(&token), 1);
}

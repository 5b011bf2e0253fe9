//! The inbox under the model checker, which runs every order that the memory model allows.
//!
//! The module is compiled a second time here, with the atomics of loom. Loom sees only its own
//! types, so items are loom cells: with plain ones, a weakened ordering would not be noticed.
//!
//! `drain` loads before it swaps, and loom 0.7 does not try to run a push before a plain load that
//! came first. So a thread that drains while others push has pushed a block itself: the inbox is
//! then never empty, and loom tries every order of its push and its swap with those of the others.
//! Each test asserts that it has seen the case that it is for.

#![cfg(not(miri))]

#[path = "../src/inbox.rs"]
pub mod inbox;

/// The atomics that the module uses here.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicPtr, Ordering};
}

use std::sync::{
    Arc as Plain,
    atomic::{AtomicBool, Ordering},
};

use loom::{cell::Cell, model::Builder, sync::Arc, thread};

use crate::inbox::{Block, Drain, Inbox};

/// An item whose accesses loom sees.
type Item = Cell<u32>;

fn block(items: impl IntoIterator<Item = u32>) -> Box<Block<Item>> {
    let mut block = Block::new(0);
    for item in items {
        let cell = Cell::new(0);
        // Loom does not count the initial value of a cell as an access; this is one.
        cell.set(item);
        block.items.push(cell);
    }
    block
}

fn read(drain: Drain<Item>, seen: &mut Vec<u32>) {
    for block in drain {
        seen.extend(block.items.iter().map(Cell::get));
    }
}

/// Two producers push at the same time as a drain, one of them twice: no block is lost or doubled
/// (INBOX-B), and the blocks of each producer come in the order of its pushes (INBOX-C).
///
/// Mutations, each red: the CAS in `push` Relaxed; the swap in `drain` Relaxed; no reversal in
/// `in_order_of_pushes`.
#[test]
fn two_producers_and_a_drain() {
    static BETWEEN: AtomicBool = AtomicBool::new(false);
    let mut model = Builder::new();
    // Without a bound this takes minutes, and the mutations are red with two preemptions.
    model.preemption_bound.get_or_insert(3);
    model.check(|| {
        let inbox = Arc::new(Inbox::default());
        let spawn = |blocks: &'static [&[u32]]| {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || {
                for items in blocks {
                    inbox.push(block(items.iter().copied()));
                }
            })
        };
        let producers = [spawn(&[&[0, 1], &[2]]), spawn(&[&[10, 11]])];
        inbox.push(block([20]));
        let mut seen = Vec::new();
        read(inbox.drain(), &mut seen);
        if seen.contains(&0) && !seen.contains(&2) {
            // Ordering: Relaxed; loom runs the model on one thread.
            BETWEEN.store(true, Ordering::Relaxed);
        }
        for producer in producers {
            producer.join().expect("no panic");
        }
        read(inbox.drain(), &mut seen);
        for (producer, sent) in [&[0, 1, 2][..], &[10, 11], &[20]].into_iter().enumerate() {
            let own = seen.iter().copied().filter(|item| (item / 10) as usize == producer);
            assert_eq!(own.collect::<Vec<u32>>(), sent);
        }
        assert_eq!(seen.len(), 6);
    });
    // Ordering: Relaxed, as above.
    assert!(BETWEEN.load(Ordering::Relaxed), "no drain came between two pushes");
}

/// A block goes to its reader and returns, and its maker fills it a second time; each holder is its
/// only owner (INBOX-A).
///
/// Mutations, each red: the CAS in `push` Relaxed; the swap in `drain` Relaxed.
#[test]
fn a_block_goes_there_and_back() {
    static CAME_BACK: AtomicBool = AtomicBool::new(false);
    loom::model(|| {
        let there = Arc::new(Inbox::default());
        let back = Arc::new(Inbox::default());
        let maker = thread::spawn({
            let (there, back) = (Arc::clone(&there), Arc::clone(&back));
            move || {
                there.push(block([1]));
                back.push(block([20]));
                for block in back.drain() {
                    if block.items[0].get() == 2 {
                        block.items[0].set(3);
                        there.push(block);
                    }
                }
            }
        });
        there.push(block([10]));
        let mut seen = Vec::new();
        for block in there.drain() {
            seen.push(block.items[0].get());
            if block.items[0].get() == 1 {
                block.items[0].set(2);
                back.push(block);
            }
        }
        maker.join().expect("no panic");
        read(there.drain(), &mut seen);
        seen.sort_unstable();
        match *seen {
            [1, 10] => {}
            // Ordering: Relaxed; loom runs the model on one thread.
            [1, 3, 10] => CAME_BACK.store(true, Ordering::Relaxed),
            _ => panic!("{seen:?}"),
        }
    });
    // Ordering: Relaxed, as above.
    assert!(CAME_BACK.load(Ordering::Relaxed), "the block returned in time in no run");
}

/// An inbox that is dropped drops its blocks.
///
/// Mutation: without the swap in `Inbox::drop` the token stays alive.
#[test]
fn a_dropped_inbox_drops_its_blocks() {
    loom::model(|| {
        let token = Plain::new(());
        let inbox = Arc::new(Inbox::default());
        let push = |inbox: &Inbox<_>, token: &Plain<()>| {
            let mut block = Block::new(0);
            block.items.push(Plain::clone(token));
            inbox.push(block);
        };
        let producer = thread::spawn({
            let (inbox, token) = (Arc::clone(&inbox), Plain::clone(&token));
            move || push(&inbox, &token)
        });
        push(&inbox, &token);
        drop(inbox.drain());
        drop(inbox);
        producer.join().expect("no panic");
        assert_eq!(Plain::strong_count(&token), 1);
    });
}

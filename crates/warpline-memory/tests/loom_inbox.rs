//! The inbox under the model checker, which runs every order that the memory model allows.
//!
//! The module is compiled a second time here, with loom's atomics. Loom sees only its own types, so
//! items are loom cells: with plain ones a weakened ordering would go unnoticed.

#![cfg(not(miri))]

#[path = "../src/inbox.rs"]
pub mod inbox;

/// The atomics that the module finds under this name.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicPtr, Ordering};
}

use loom::{cell::Cell, model::Builder, sync::Arc, thread};

use crate::inbox::{Block, Drain, Inbox};

/// An item whose accesses loom sees.
type Item = Cell<u32>;

fn check(model: impl Fn() + Sync + Send + 'static) {
    // Three forced switches find what is known to break; without a limit it takes minutes.
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn block(items: impl IntoIterator<Item = u32>) -> Box<Block<Item>> {
    let mut block = Block::new(0);
    block.items.extend(items.into_iter().map(Cell::new));
    block
}

fn read(drain: Drain<Item>, seen: &mut Vec<u32>) {
    for block in drain {
        seen.extend(block.items.iter().map(Cell::get));
    }
}

/// Two producers push two blocks each, against each other and a drain: nothing is lost or doubled,
/// and each producer's blocks come in the order of its pushes (INBOX-C).
///
/// Mutations, each red: the CAS in `push` Relaxed; the swap in `drain` Relaxed; no reversal in
/// `in_order_of_pushes`.
#[test]
fn two_producers_and_a_drain() {
    check(|| {
        let inbox = Arc::new(Inbox::default());
        let producers = [0, 10].map(|first| {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || {
                inbox.push(block([first, first + 1]));
                inbox.push(block([first + 2]));
            })
        });
        let mut seen = Vec::new();
        read(inbox.drain(), &mut seen);
        for producer in producers {
            producer.join().expect("no panic");
        }
        read(inbox.drain(), &mut seen);
        for first in [0, 10] {
            let own: Vec<_> = seen.iter().copied().filter(|item| item / 10 == first / 10).collect();
            assert_eq!(own, [first, first + 1, first + 2]);
        }
        assert_eq!(seen.len(), 6);
    });
}

/// A block goes to its reader and home again, and its maker fills it a second time; whoever has it
/// has it alone (INBOX-A). In the meantime another producer races for the same inbox.
///
/// Mutations, each red: the CAS in `push` Relaxed; the swap in `drain` Relaxed.
#[test]
fn a_block_goes_there_and_back() {
    check(|| {
        let there = Arc::new(Inbox::<Item>::default());
        let back = Arc::new(Inbox::<Item>::default());
        let maker = thread::spawn({
            let (there, back) = (Arc::clone(&there), Arc::clone(&back));
            move || {
                there.push(block([1]));
                for block in back.drain() {
                    assert_eq!(block.items[0].get(), 2);
                    block.items[0].set(3);
                    there.push(block);
                }
            }
        });
        let other = thread::spawn({
            let there = Arc::clone(&there);
            move || there.push(block([10]))
        });
        let mut seen = Vec::new();
        for block in there.drain() {
            seen.push(block.items[0].get());
            if block.items[0].get() == 1 {
                block.items[0].set(2);
                back.push(block);
            }
        }
        maker.join().expect("no panic");
        other.join().expect("no panic");
        read(there.drain(), &mut seen);
        seen.sort_unstable();
        assert!(matches!(*seen, [1, 10] | [1, 3, 10]), "{seen:?}");
    });
}

/// What a dropped inbox still holds was pushed before, and is dropped with it.
///
/// Mutation: without the swap in `Inbox::drop` loom reports the leaked `Arc`s.
#[test]
fn a_dropped_inbox_drops_its_blocks() {
    check(|| {
        let token = Arc::new(());
        let inbox = Arc::new(Inbox::default());
        let producer = thread::spawn({
            let (inbox, token) = (Arc::clone(&inbox), Arc::clone(&token));
            move || {
                let mut block = Block::new(0);
                block.items.push(token);
                inbox.push(block);
            }
        });
        drop(inbox.drain());
        drop(inbox);
        producer.join().expect("no panic");
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

//! The ring under the model checker, which runs every order that the memory model allows.
//!
//! The module is compiled a second time here, with the atomics of loom. Items are loom cells: loom
//! reports an access that the edges of the ring do not order.
//!
//! # Mutations of `ring.rs`, each red
//!
//! - `tail` stored or loaded Relaxed (RING-1): a race for an item's cell
//! - `head` stored or loaded Relaxed (RING-2): the same, when a place is used again
//! - `push` lets one item more in than there are places: an item is lost
//! - no `publish` in `Producer::drop`: the token stays alive

#![cfg(not(miri))]

#[path = "../src/ring.rs"]
pub mod ring;

/// The atomics that the module uses here.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
}

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use loom::{cell::Cell, sync::Arc as LoomArc, thread};
use ring::ring;

/// RING-A, RING-B: three items pass through a ring of one place, in order, whatever the two threads
/// do; and once an item has found room, the producer may change what the item before it pointed to.
#[test]
fn items_pass_in_order() {
    static WAS_FULL: AtomicBool = AtomicBool::new(false);
    loom::model(|| {
        let (mut producer, mut consumer) = ring::<LoomArc<Cell<u32>>>(1);
        let thread = thread::spawn(move || {
            let mut before: Option<LoomArc<Cell<u32>>> = None;
            for number in 1..=3 {
                let cell = LoomArc::new(Cell::new(0));
                // Loom does not count the initial value of a cell as an access; this is one.
                cell.set(number);
                let mut item = LoomArc::clone(&cell);
                while let Err(back) = producer.push(item) {
                    // Ordering: Relaxed; loom runs the model on one thread.
                    WAS_FULL.store(true, Ordering::Relaxed);
                    item = back;
                    thread::yield_now();
                }
                producer.publish();
                if let Some(before) = before.replace(cell) {
                    before.set(0);
                }
            }
        });
        let mut seen = Vec::new();
        while seen.len() < 3 {
            if consumer.drain(|cell| seen.push(cell.get())) == 0 {
                thread::yield_now();
            }
        }
        thread.join().expect("no panic");
        assert_eq!(seen, [1, 2, 3]);
    });
    // Ordering: Relaxed, as above.
    assert!(WAS_FULL.load(Ordering::Relaxed), "the ring was never full");
}

/// A ring that is dropped drops the items in it, published or not, and no item twice.
#[test]
fn a_dropped_ring_drops_its_items() {
    loom::model(|| {
        let token = Arc::new(());
        let (mut producer, mut consumer) = ring(4);
        for _ in 0..2 {
            producer.push(Arc::clone(&token)).expect("there is room");
        }
        producer.publish();
        let mut taken = Vec::new();
        consumer.drain(|item| taken.push(item));
        producer.push(Arc::clone(&token)).expect("there is room");
        assert_eq!(Arc::strong_count(&token), 4);
        drop((producer, consumer));
        assert_eq!(Arc::strong_count(&token), 3);
        drop(taken);
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

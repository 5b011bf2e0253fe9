//! RING-A, RING-B: the ring between real threads, for Miri and ThreadSanitizer.
//!
//! Items are boxes with a shared token: one that is lost or doubled shows in the token's count, and
//! Miri sees a box that is read twice, or before it was written.
//!
//! # Mutations of `ring.rs`, each red under Miri
//!
//! - `tail` stored or loaded Relaxed: a race for an item
//! - `head` stored or loaded Relaxed: the same, when a place is used again
//! - `drain` moves the head only when it has passed all items: an item is dropped twice
//! - `Drop for Ring` drops nothing: a leak

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread,
};

use warpline_memory::{Consumer, Producer, ring};

type Item = Box<(u32, Arc<()>)>;

/// Pushes these numbers, and publishes now and then, as a worker does.
fn push_all(mut producer: Producer<Item>, items: u32, token: &Arc<()>) {
    for number in 0..items {
        let mut item = Box::new((number, Arc::clone(token)));
        while let Err(back) = producer.push(item) {
            item = back;
            producer.publish();
            thread::yield_now();
        }
        if number % 3 == 0 {
            producer.publish();
        }
    }
}

/// Takes the numbers up to this one, in order.
fn take_all(mut consumer: Consumer<Item>, items: u32) {
    let mut next = 0;
    while next < items {
        let taken = consumer.drain(|item| {
            assert_eq!(item.0, next, "RING-B: an item is out of order");
            next += 1;
        });
        if taken == 0 {
            thread::yield_now();
        }
    }
}

#[test]
fn items_pass_in_order() {
    const ITEMS: u32 = 60;
    for capacity in [1, 4, 64] {
        let token = Arc::new(());
        let (producer, consumer) = ring(capacity);
        thread::scope(|scope| {
            scope.spawn(|| push_all(producer, ITEMS, &token));
            take_all(consumer, ITEMS);
        });
        assert_eq!(Arc::strong_count(&token), 1, "RING-A: items were lost or doubled");
    }
}

/// Items that nobody takes are dropped with the ring, published or not, whichever end goes first.
#[test]
fn what_is_left_is_dropped() {
    for is_consumer_first in [true, false] {
        let token = Arc::new(());
        let (mut producer, mut consumer) = ring(4);
        for number in 0..6 {
            let _ = producer.push(Box::new((number, Arc::clone(&token))));
            if number == 1 {
                producer.publish();
                consumer.drain(drop);
            }
        }
        assert_eq!(Arc::strong_count(&token), 5);
        if is_consumer_first {
            drop(consumer);
            drop(producer);
        } else {
            drop(producer);
            drop(consumer);
        }
        assert_eq!(Arc::strong_count(&token), 1);
    }
}

/// An item whose receiver panics is not taken again.
#[test]
fn a_receiver_that_panics_takes_an_item_once() {
    let token = Arc::new(());
    let (mut producer, mut consumer) = ring(4);
    for number in 0..3 {
        assert!(producer.push(Box::new((number, Arc::clone(&token)))).is_ok(), "the ring is full");
    }
    producer.publish();
    let taken = catch_unwind(AssertUnwindSafe(|| {
        consumer.drain(|item: Item| assert!(item.0 < 1, "number {}", item.0));
    }));
    assert!(taken.is_err());
    assert_eq!(Arc::strong_count(&token), 2);
    consumer.drain(|item| assert_eq!(item.0, 2));
    assert_eq!(Arc::strong_count(&token), 1);
}

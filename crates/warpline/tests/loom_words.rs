//! WORD-A, WORD-B: the commit of windows under the model checker, which runs every order that the
//! memory model allows.
//!
//! The module is compiled a second time here, with loom's atomics. Three workers pass a message
//! along in one window: the first worker sends it before it is idle, and each that receives it
//! sends it on. The rings are slots that a send fills and a receipt empties, with the orderings of
//! the real ring. Nobody may find the window committed before the message has come to its end; and
//! once it has, and all workers have looked, everybody does.
//!
//! # Mutations, each red
//!
//! - [`Worker::poll`] here, as `SpeculativeWorker::announce` in the engine, does not publish that
//!   it is active (WORD-A): "committed too early"
//! - `is_committed` reads the words once: the same
//! - `is_committed` does not compare the counts, or does not ask whether all are idle: the same
//! - `publish` stores Relaxed, or `read` loads Relaxed: the same

#![cfg(not(miri))]

#[allow(dead_code, reason = "the tests need a part of it")]
#[path = "../src/speculative/words.rs"]
mod words;

/// The atomics that the module finds under this name.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

    pub(crate) const fn point() {}
}

use std::sync::atomic::AtomicBool;

use loom::{model::Builder, sync::Arc, thread};

use sync::{AtomicU64, Ordering};
use words::{Word, Words};

const WORKERS: usize = 3;
/// How often the message is sent.
const SENDS: u64 = 2;
/// The window in which all of this happens.
const WINDOW: u64 = 1;

/// What the workers share.
struct World {
    words: Words,
    /// By receiver: how often the message is still to be sent, plus one; 0 for no message.
    mail: [AtomicU64; WORKERS],
    /// How often the message was received.
    received: AtomicU64,
}

struct Worker<'w> {
    world: &'w World,
    me: usize,
    sent: u64,
    received: u64,
    seen: Vec<Word>,
}

impl Worker<'_> {
    fn send(&mut self, left: u64) {
        self.sent += 1;
        // Ordering: Release, as the ring publishes.
        self.world.mail[(self.me + 1) % WORKERS].store(left + 1, Ordering::Release);
    }

    fn announce(&self) {
        self.world.words.publish(self.me, Word::idle(WINDOW, self.sent, self.received));
    }

    /// Receives what there is, and looks whether the window is committed.
    fn poll(&mut self) -> bool {
        // Ordering: Acquire, as the ring is read.
        let mail = self.world.mail[self.me].load(Ordering::Acquire);
        if mail > 0 {
            // Ordering: Relaxed; a slot is used once.
            self.world.mail[self.me].store(0, Ordering::Relaxed);
            self.world.words.publish(self.me, Word::active(WINDOW));
            if mail > 1 {
                self.send(mail - 2);
            }
            self.received += 1;
            // Ordering: Relaxed; the word publishes it.
            self.world.received.fetch_add(1, Ordering::Relaxed);
            self.announce();
        }
        let is_committed = self.world.words.is_committed(WINDOW, &mut self.seen);
        if is_committed {
            // Ordering: Relaxed, as above.
            let received = self.world.received.load(Ordering::Relaxed);
            assert_eq!(received, SENDS, "committed too early");
        }
        is_committed
    }
}

#[test]
fn a_window_is_committed_when_nothing_is_on_its_way() {
    static WAS_COMMITTED: AtomicBool = AtomicBool::new(false);
    let mut model = Builder::new();
    // Without a bound this takes minutes, and the mutations are red with two preemptions.
    model.preemption_bound.get_or_insert(2);
    model.check(|| {
        let world = Arc::new(World {
            words: Words::new(WORKERS),
            mail: [(); WORKERS].map(|()| AtomicU64::new(0)),
            received: AtomicU64::new(0),
        });
        let work = |me: usize, polls: usize| {
            let world = Arc::clone(&world);
            move || {
                let mut worker =
                    Worker { world: &world, me, sent: 0, received: 0, seen: Vec::new() };
                if me == 0 {
                    worker.send(SENDS - 1);
                }
                worker.announce();
                for _ in 0..polls {
                    if worker.poll() {
                        // Ordering: Relaxed; loom runs the model on one thread.
                        WAS_COMMITTED.store(true, std::sync::atomic::Ordering::Relaxed);
                        return;
                    }
                }
            }
        };
        let threads = [thread::spawn(work(1, 1)), thread::spawn(work(2, 1))];
        work(0, 2)();
        for thread in threads {
            thread.join().expect("no panic");
        }
    });
    // Ordering: Relaxed, as above.
    assert!(WAS_COMMITTED.load(std::sync::atomic::Ordering::Relaxed), "never committed");
}

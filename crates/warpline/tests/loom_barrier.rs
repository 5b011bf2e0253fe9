//! The meetings of workers under the model checker, which runs every order that the memory model
//! allows.
//!
//! The module is compiled a second time here, with loom's atomics. Before each round a worker
//! writes a cell, without synchronisation of its own; after it, the others read that. A round
//! that does not publish it, or one that lets somebody pass too early, is an error.
//!
//! # Mutations of `barrier.rs`, each red
//!
//! - `arrived` is added to with Release, Acquire or Relaxed: a race for a cell
//! - `meetings` stored Relaxed, or loaded Relaxed: the same
//! - `meetings` stored before `arrived` is set back: a round ends early or never
//! - one place for all meetings instead of two: a word of the next round

#![cfg(not(miri))]
#![expect(unsafe_code, reason = "cells that are written before a round are read after it")]

#[path = "../src/conservative/windows/barrier.rs"]
mod barrier;

/// What the module finds under this name.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

use loom::{cell::Cell, model::Builder, sync::Arc, thread};

use barrier::{Barrier, Reduction};

const WORKERS: usize = 2;
const ROUNDS: u64 = 3;

/// The cells that workers write: for even and odd meetings, by worker.
struct World {
    barrier: Barrier,
    cells: [[Cell<u64>; WORKERS]; 2],
}

// SAFETY: a worker writes its cell before a round and others read it after; loom checks that.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// What worker `me` says at a round.
const fn contribution(me: usize, round: u64) -> Reduction {
    Reduction { first: 10 * round + (me as u64 + round) % 2, flags: 1 << (2 * round + me as u64) }
}

fn work(world: &World, me: usize) {
    for round in 0..ROUNDS {
        let cells = &world.cells[(round % 2) as usize];
        cells[me].set(round + 1);
        let wait = |_| thread::yield_now();
        let all = world.barrier.meet(me, round, contribution(me, round), wait);
        let all = all.expect("nobody is gone");
        assert_eq!(all, Reduction { first: 10 * round, flags: 3 << (2 * round) }, "round {round}");
        for cell in cells {
            assert_eq!(cell.get(), round + 1, "round {round}");
        }
    }
}

#[test]
fn a_meeting_shows_what_was_said_before_it() {
    let mut model = Builder::new();
    model.preemption_bound.get_or_insert(3);
    model.check(|| {
        let world = Arc::new(World {
            barrier: Barrier::new(WORKERS),
            cells: std::array::from_fn(|_| std::array::from_fn(|_| Cell::new(0))),
        });
        let other = Arc::clone(&world);
        let thread = thread::spawn(move || work(&other, 1));
        work(&world, 0);
        thread.join().expect("no panic");
    });
}

/// Nobody waits for a worker that is gone.
#[test]
fn a_broken_exchange_lets_everybody_go() {
    loom::model(|| {
        let barrier = Arc::new(Barrier::new(WORKERS));
        let other = Arc::clone(&barrier);
        let thread = thread::spawn(move || other.set_broken());
        assert!(barrier.meet(0, 0, Reduction::IDENTITY, |_| thread::yield_now()).is_err());
        thread.join().expect("no panic");
    });
}

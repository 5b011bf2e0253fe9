//! BARRIER-A: the barrier of workers under the model checker, which runs every order that the
//! memory model allows.
//!
//! The module is compiled a second time here, with loom's atomics. Before each round a worker
//! writes a cell without any synchronization; after it, the others read the cell. It is an error if
//! a round does not publish the cell, or lets a worker pass too early.
//!
//! # Mutations of `barrier.rs`, each red
//!
//! - `arrived` is added to with Release, Acquire or Relaxed: a race for a cell
//! - `rounds` stored Relaxed, or loaded Relaxed: the same
//! - `rounds` stored before `arrived` is set back: a round ends early or never
//! - one place for all rounds instead of two: a contribution to the next round

#![cfg(not(miri))]
#![expect(unsafe_code, reason = "cells that are written before a round are read after it")]

#[path = "../src/run/barrier.rs"]
mod barrier;

/// What the module finds under this name.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

use loom::{cell::Cell, model::Builder, sync::Arc, thread};

use barrier::{Barrier, Reduction};

const WORKERS: usize = 2;
const ROUNDS: u64 = 3;

/// The cells that workers write: for even and odd rounds, by worker.
struct World {
    barrier: Barrier,
    cells: [[Cell<u64>; WORKERS]; 2],
}

// SAFETY: a worker writes its cell before a round and others read it after; loom checks that.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// What worker `me` contributes to a round.
const fn contribution(me: usize, round: u64) -> Reduction {
    Reduction { lbts: 10 * round + (me as u64 + round) % 2, flags: 1 << (2 * round + me as u64) }
}

fn work(world: &World, me: usize) {
    for round in 0..ROUNDS {
        let cells = &world.cells[(round % 2) as usize];
        cells[me].set(round + 1);
        let idle = |_| thread::yield_now();
        let all = world.barrier.wait(me, round, contribution(me, round), idle);
        let all = all.expect("all workers come");
        assert_eq!(all, Reduction { lbts: 10 * round, flags: 3 << (2 * round) }, "round {round}");
        for cell in cells {
            assert_eq!(cell.get(), round + 1, "round {round}");
        }
    }
}

#[test]
fn a_round_publishes_what_was_written_before_it() {
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

/// No worker waits for one that will not come any more.
#[test]
fn a_broken_barrier_releases_all() {
    loom::model(|| {
        let barrier = Arc::new(Barrier::new(WORKERS));
        let other = Arc::clone(&barrier);
        let thread = thread::spawn(move || other.set_broken());
        assert!(barrier.wait(0, 0, Reduction::IDENTITY, |_| thread::yield_now()).is_err());
        thread.join().expect("no panic");
    });
}

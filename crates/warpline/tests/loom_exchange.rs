//! The meetings of workers under the model checker, which runs every order that the memory model
//! allows.
//!
//! The module is compiled a second time here, with loom's atomics. Before each meeting a worker
//! writes a cell, without synchronisation of its own; after it, the others read that. A meeting
//! that does not publish it, or one that lets somebody pass too early, is an error.
//!
//! # Mutations of `exchange.rs`, each red
//!
//! - `arrived` is added to with Release, Acquire or Relaxed: a race for a cell
//! - `meetings` stored Relaxed, or loaded Relaxed: the same
//! - `meetings` stored before `arrived` is set back: a meeting ends early or never
//! - one place for all meetings instead of two: a word of the next meeting

#![cfg(not(miri))]
#![expect(unsafe_code, reason = "cells that are written before a meeting are read after it")]

#[path = "../src/conservative/windows/exchange.rs"]
mod exchange;

/// What the module finds under this name.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
}

use loom::{cell::Cell, model::Builder, sync::Arc, thread};

use exchange::{Exchange, Word};

const WORKERS: usize = 2;
const MEETINGS: u64 = 3;

/// The cells that workers write: for even and odd meetings, by worker.
struct World {
    exchange: Exchange,
    cells: [[Cell<u64>; WORKERS]; 2],
}

// SAFETY: a worker writes its cell before a meeting and others read it after; loom checks that.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

/// What worker `me` says at a meeting.
const fn word(me: usize, meeting: u64) -> Word {
    Word { first: 10 * meeting + (me as u64 + meeting) % 2, notes: 1 << (2 * meeting + me as u64) }
}

fn work(world: &World, me: usize) {
    for meeting in 0..MEETINGS {
        let cells = &world.cells[(meeting % 2) as usize];
        cells[me].set(meeting + 1);
        let wait = |_| thread::yield_now();
        let all = world.exchange.meet(me, meeting, word(me, meeting), wait);
        let all = all.expect("nobody is gone");
        assert_eq!(
            all,
            Word { first: 10 * meeting, notes: 3 << (2 * meeting) },
            "meeting {meeting}"
        );
        for cell in cells {
            assert_eq!(cell.get(), meeting + 1, "meeting {meeting}");
        }
    }
}

#[test]
fn a_meeting_shows_what_was_said_before_it() {
    let mut model = Builder::new();
    model.preemption_bound.get_or_insert(3);
    model.check(|| {
        let world = Arc::new(World {
            exchange: Exchange::new(WORKERS),
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
        let exchange = Arc::new(Exchange::new(WORKERS));
        let other = Arc::clone(&exchange);
        let thread = thread::spawn(move || other.break_up());
        assert!(exchange.meet(0, 0, Word::NOTHING, |_| thread::yield_now()).is_err());
        thread.join().expect("no panic");
    });
}

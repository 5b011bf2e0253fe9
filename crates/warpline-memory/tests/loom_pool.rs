//! The pools under the model checker, which runs every order that the memory model allows.
//!
//! The module is compiled a second time here, with the locks and atomics of loom. Two workers take
//! buffers, write to them, put them back, redistribute and give up at the same time. Each buffer
//! has a loom cell that its holder writes. Two holders at once are an error, and so are two holders
//! one after the other without an order between them (POOL-A; ARENA-2).
//!
//! # Mutations, each seen red
//!
//! - `draw` loads `issued` and stores it instead of `fetch_update`: a buffer with two holders (all
//!   but `receiver`)
//! - `draw` takes a copy of the last spare buffers and truncates the list under a second lock
//!   (`shortage`)
//! - `Receiver::take` looks at the last buffer under one lock and pops it under another
//!   (`receiver`)

#![cfg(not(miri))]
#![expect(unsafe_code, reason = "cells that only their holder touches are shared")]

#[expect(dead_code, reason = "only the arena uses some of it")]
#[path = "../src/pool/mod.rs"]
pub mod pool;

/// The locks and atomics that the module uses here.
mod sync {
    pub(crate) use loom::sync::{
        Mutex,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    };
}

use loom::{cell::Cell, model::Builder, sync::Arc, thread};

use pool::{Pool, PoolPlan, PoolSide, SharedPool};

const LIMIT: u32 = 4;

/// The contents of the buffers.
struct Buffers([Cell<u32>; LIMIT as usize]);

// SAFETY: a worker touches only the cells of buffers that it holds, which loom checks.
unsafe impl Sync for Buffers {}
// SAFETY: as above.
unsafe impl Send for Buffers {}

impl Buffers {
    fn write(&self, buffer: u32, worker: usize) {
        let cell = &self.0[buffer as usize];
        cell.set(cell.get() + worker as u32);
    }
}

/// The operations of a worker on its side of the pool; returns the buffers that it then holds.
type Work = fn(&mut dyn PoolSide, &Buffers, usize) -> Vec<u32>;

fn check(plan: &PoolPlan, work: Work) {
    let mut model = Builder::new();
    model.preemption_bound.get_or_insert(3);
    let plan = plan.clone();
    model.check(move || {
        // The types of loom must not outlive a run, but threads need a `'static` reference.
        let raw = Box::into_raw(Box::new(SharedPool::new(plan.clone())));
        // SAFETY: it is freed at the end of the run, when no reference to it is left.
        let shared: &'static SharedPool = unsafe { &*raw };
        let buffers = Arc::new(Buffers(std::array::from_fn(|_| Cell::new(0))));
        let run = |me: usize| {
            let buffers = Arc::clone(&buffers);
            move || {
                let mut pool = shared.join(me);
                let held = work(&mut pool, &buffers, me);
                (pool, held)
            }
        };
        let one = thread::spawn(run(1));
        let (mut zero, mut held) = run(0)();
        let (mut one, more) = one.join().expect("no panic");
        held.extend(more);
        zero.give_up();
        one.give_up();
        held.extend(std::iter::from_fn(|| zero.acquire(1)));
        held.iter().for_each(|&buffer| buffers.write(buffer, 0));
        held.sort_unstable();
        assert_eq!((zero.free(), one.free()), (0, 0), "POOL-C: kept back");
        assert_eq!(held, (0..LIMIT).collect::<Vec<_>>(), "POOL-A: lost or doubled");
        drop((zero, one));
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(raw) });
    });
}

fn every_pool(work: Work) {
    for pool in [Pool::RECEIVER, Pool::SENDER, Pool::PARTITIONED, Pool::Adaptive] {
        check(&PoolPlan::new(pool, 2, Some(LIMIT)), work);
    }
}

/// First events: both workers draw single buffers, and each frees one as if the other had sent it.
#[test]
fn first_events() {
    every_pool(|pool, buffers, me| {
        let mut held = Vec::new();
        for to in [1 - me, me] {
            if let Some(buffer) = pool.acquire(to) {
                buffers.write(buffer, me);
                held.push(buffer);
            }
        }
        if let Some(buffer) = held.pop() {
            buffers.write(buffer, me);
            pool.release(buffer, 1 - me);
        }
        held
    });
}

/// Workers redistribute before and after they send.
#[test]
fn redistribution() {
    every_pool(|pool, buffers, me| {
        pool.redistribute(false);
        let held = pool.acquire(1 - me);
        held.iter().for_each(|&buffer| buffers.write(buffer, me));
        pool.redistribute(true);
        held.into_iter().collect()
    });
}

/// One worker gives up its buffers while the other one looks for some.
#[test]
fn shortage() {
    every_pool(|pool, buffers, me| {
        if let Some(buffer) = pool.acquire(1 - me) {
            buffers.write(buffer, me);
            pool.release(buffer, me);
        }
        if me == 0 {
            pool.give_up();
        }
        let held = pool.acquire(1 - me);
        held.iter().for_each(|&buffer| buffers.write(buffer, me));
        held.into_iter().collect()
    });
}

/// A receiver pool with local pools: the owner and a sender use the same shelf.
#[test]
fn receiver() {
    let plan = PoolPlan::new(Pool::Receiver { local_pool: true }, 2, Some(LIMIT));
    check(&plan, |pool, buffers, me| {
        // Both take from the pool of worker 0, which puts one back.
        let first = pool.acquire(0);
        first.iter().for_each(|&buffer| buffers.write(buffer, me));
        if me == 0 {
            first.iter().for_each(|&buffer| pool.release(buffer, 1));
            let second = pool.acquire(0);
            second.iter().for_each(|&buffer| buffers.write(buffer, me));
            return second.into_iter().collect();
        }
        first.into_iter().collect()
    });
}

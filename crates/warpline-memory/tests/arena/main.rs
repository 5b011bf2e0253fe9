//! Event buffers against a model, under misuse, and between threads.
//!
//! Under Miri the sizes shrink, and so do the chunks of the arena, so that several are used.

mod contents;
mod division;
mod early;
mod in_place;
mod misuse;
mod model;
mod outside;
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind};

use warpline_memory::{Arena, Pool, PoolPlan};

/// An arena with a sender pool.
pub(crate) fn arena<T: Send + Sync>(workers: usize, limit: u32) -> Arena<T> {
    Arena::new(PoolPlan::new(Pool::SENDER, workers, Some(limit)))
}

/// A plan for every pool, and for the receiver pool with local pools.
pub(crate) fn plans(workers: usize, limit: Option<u32>) -> Vec<PoolPlan> {
    let local = Pool::Receiver { local_pool: true };
    let pools = [local, Pool::RECEIVER, Pool::SENDER, Pool::PARTITIONED, Pool::Adaptive];
    pools.map(|pool| PoolPlan::new(pool, workers, limit)).into()
}

/// Checks that `misuse` panics because of the owner of a buffer.
pub(crate) fn refused(misuse: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(misuse)).expect_err("misuse is not noticed");
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
    assert!(message.is_some_and(|text| text.contains("ARENA-B")), "{message:?}");
}

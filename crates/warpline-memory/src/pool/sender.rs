//! Sender pools: a worker fills buffers of its own, without a lock, and keeps those that others
//! sent it.
//!
//! A global pool, the stock, evens out what that leaves uneven (Fujimoto and Panesar 1995, sections
//! 3.2 and 3.4; GTW, section 3.3): it starts with a share of all buffers; after fossil collection,
//! a worker gives it what it has beyond its initial allocation, and fills up to that allocation
//! from it when it has five buffers or fewer.
//!
//! Without a limit there are no allocations: a worker draws what it needs, and keeps a few.

use super::{PoolSide, Shared, stock::Stock};

/// A worker with so few buffers takes some from the global pool.
const FEW: usize = 5;

/// A worker's side of a sender pool.
#[derive(Debug)]
pub(crate) struct Sender<'a> {
    stock: &'a Stock,
    /// The buffer freed last at the end: it is the one most likely in the cache.
    free: Vec<u32>,
    /// The initial allocation.
    share: usize,
    /// Whether it was made; the first events are sent before.
    is_open: bool,
}

impl<'a> Sender<'a> {
    pub(crate) fn new(shared: &'a Shared, global_share: f64) -> Self {
        let (plan, stock) = (&shared.plan, &shared.stock);
        let share = if stock.is_limited() {
            let allocated = f64::from(stock.limit()) * (1.0 - global_share);
            (allocated / plan.workers as f64) as usize
        } else {
            plan.keep
        };
        Self { stock, free: Vec::new(), share, is_open: !stock.is_limited() }
    }

    #[cold]
    fn refill(&mut self) {
        // Before the allocation, what this worker does not need others may.
        let count = if self.is_open { self.stock.batch() } else { 1 };
        self.stock.draw(count, &mut self.free);
    }
}

impl PoolSide for Sender<'_> {
    #[inline]
    fn acquire(&mut self, _: usize) -> Option<u32> {
        if self.free.is_empty() {
            self.refill();
        }
        self.free.pop()
    }

    #[inline]
    fn release(&mut self, buffer: u32, _: usize) {
        self.free.push(buffer);
    }

    fn redistribute(&mut self, _: bool) {
        let is_few = !self.is_open || (self.stock.is_limited() && self.free.len() <= FEW);
        self.is_open = true;
        if is_few {
            let missing = self.share.saturating_sub(self.free.len());
            self.stock.draw(missing as u32, &mut self.free);
        } else if self.free.len() > self.share {
            // Those freed first: the others are in this worker's cache.
            let excess = self.free.len() - self.share;
            self.stock.give(self.free.drain(..excess));
        }
    }

    fn give_up(&mut self) {
        if !self.free.is_empty() {
            self.stock.give(self.free.drain(..));
        }
    }

    fn free(&self) -> usize {
        self.free.len()
    }
}

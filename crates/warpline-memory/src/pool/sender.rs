//! Sender pools: a worker fills buffers of its own, without a lock, and keeps the buffers that it
//! receives.
//!
//! So buffers gather at workers that receive more than they send. A global pool, the stock, evens
//! this out (Fujimoto and Panesar 1995, sections 3.2 and 3.4; GTW, section 3.3). It starts with a
//! share of all buffers. The two papers have different rules for what happens after fossil
//! collection:
//!
//! - The buffer paper: a worker gives the stock the buffers beyond its initial allocation; a worker
//!   with five buffers or fewer fills up to its allocation from there. Without a limit there are no
//!   allocations: a worker draws the buffers that it needs, and keeps at most
//!   [`PoolPlan::keep`](super::PoolPlan::keep) free ones.
//! - GTW, with a [`Quota`]: the buffers that *reside* at a worker are its free ones and those that
//!   hold the messages of events it has not committed. A worker with more than N_buf of them gives
//!   the stock the rest, as far as that is free; one with fewer than N_buf - Δ fills up to N_buf.

use super::{PoolSide, Quota, SharedPool, push, stock::Stock};

/// A worker with fewer buffers takes some from the global pool: one that has five or fewer.
const FEW: usize = 6;

/// The side of one worker of a sender pool.
#[derive(Debug)]
pub(crate) struct SenderPool<'a> {
    stock: &'a Stock,
    /// The buffer that was freed last is at the end, because it is the most likely to be in the
    /// cache.
    free: Vec<u32>,
    /// The size of the initial allocation, or the quota.
    share: usize,
    /// With fewer buffers, it fills up to its share.
    few: usize,
    /// Whether buffers in use count toward the share: it is a quota.
    counts_used: bool,
    /// The buffers in use at this worker, as far as it has said.
    in_use: usize,
    /// Whether the allocation was made. It was not while the first events are sent.
    is_open: bool,
}

impl<'a> SenderPool<'a> {
    pub(crate) fn new(shared: &'a SharedPool, global_share: f64, quota: Option<Quota>) -> Self {
        debug_assert!((0.0..=1.0).contains(&global_share), "a part of {global_share}");
        let (plan, stock) = (&shared.plan, &shared.stock);
        let (share, few) = match quota {
            Some(Quota { buffers, margin }) => {
                (buffers as usize, buffers.saturating_sub(margin) as usize)
            }
            None if stock.is_limited() => {
                let allocated = f64::from(stock.limit()) * (1.0 - global_share);
                ((allocated / plan.workers as f64) as usize, FEW)
            }
            None => (plan.keep, 0),
        };
        let (counts_used, is_open) = (quota.is_some(), !stock.is_limited());
        Self { stock, free: Vec::new(), share, few, counts_used, in_use: 0, is_open }
    }

    /// Fills the empty list, and takes a buffer from it.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Option<u32> {
        // Before the allocation, other workers may need the buffers that this one does not.
        let count = if self.is_open { self.stock.batch() } else { 1 };
        self.stock.draw(count, &mut self.free);
        debug_assert!(self.free.len() <= count as usize, "POOL-A: more than {count} were drawn");
        self.free.pop()
    }
}

impl PoolSide for SenderPool<'_> {
    #[inline]
    fn acquire(&mut self, _: usize) -> Option<u32> {
        match self.free.pop() {
            Some(buffer) => Some(buffer),
            None => self.refill(),
        }
    }

    #[inline]
    fn release(&mut self, buffer: u32, _: usize) {
        push(&mut self.free, buffer);
    }

    fn redistribute(&mut self, _: bool) {
        let counted = self.free.len() + if self.counts_used { self.in_use } else { 0 };
        let is_few = !self.is_open || counted < self.few;
        self.is_open = true;
        if is_few {
            let missing = self.share.saturating_sub(counted);
            self.stock.draw(missing as u32, &mut self.free);
        } else if counted > self.share {
            // Those that were freed first: the others are in the cache of this worker.
            let excess = (counted - self.share).min(self.free.len());
            self.stock.give(self.free.drain(..excess));
        }
    }

    fn note_in_use(&mut self, buffers: usize) {
        self.in_use = buffers;
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

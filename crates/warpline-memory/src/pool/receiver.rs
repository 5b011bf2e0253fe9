//! Receiver pools: a sender fills a buffer of the receiver, which returns to the receiver.
//!
//! Every worker has an equal part of the buffers, and all that send to it take from this part under
//! a lock, even the worker itself (Fujimoto and Panesar 1995, section 3.1). With a local pool
//! (their footnote 1), a worker that sends to itself takes no lock unless the local pool is empty
//! or full.

use super::{PoolSide, SharedPool, Shelf};
use crate::sync::Ordering;

/// The side of one worker of a receiver pool.
#[derive(Debug)]
pub(crate) struct ReceiverPool<'a> {
    shared: &'a SharedPool,
    me: usize,
    /// Buffers for sends to itself.
    local: Option<Vec<u32>>,
    /// The number of buffers of each receiver.
    share: usize,
    /// Whether this worker's shelf has its part. It has not while the first events are sent.
    is_open: bool,
    /// Kept for its memory.
    scratch: Vec<u32>,
}

impl<'a> ReceiverPool<'a> {
    pub(crate) fn new(shared: &'a SharedPool, me: usize, local_pool: bool) -> Self {
        let (plan, stock) = (&shared.plan, &shared.stock);
        let parts = if stock.is_limited() { plan.workers.max(1) } else { 1 };
        debug_assert!(me < shared.shelves.len(), "worker {me} has no shelf");
        let share = stock.limit() as usize / parts;
        let (local, is_open) = (local_pool.then(Vec::new), !stock.is_limited());
        Self { shared, me, local, share, is_open, scratch: Vec::new() }
    }

    /// Takes a buffer from the shelf of a receiver, and fills an empty shelf from the stock.
    fn take(&mut self, to: usize) -> Option<u32> {
        let shelf = &self.shared.shelves[to];
        shelf.with(|buffers| {
            if buffers.is_empty() {
                // Up to the receiver's part in batches; in a shortage, single buffers beyond it.
                // Ordering: Relaxed; changed only under this lock.
                let drawn = shelf.drawn.load(Ordering::Relaxed);
                let left = self.share.saturating_sub(drawn) as u32;
                let batch = if self.is_open { self.shared.stock.batch() } else { 1 };
                self.draw(shelf, buffers, left.min(batch).max(1));
            }
            buffers.pop().map(|(buffer, _)| buffer)
        })
    }

    fn draw(&mut self, shelf: &Shelf, buffers: &mut Vec<(u32, u32)>, count: u32) {
        debug_assert!(self.scratch.is_empty(), "POOL-A: buffers on their way are left");
        let got = self.shared.stock.draw(count, &mut self.scratch) as usize;
        debug_assert_eq!(got, self.scratch.len(), "POOL-A: a drawn buffer is lost");
        buffers.extend(self.scratch.drain(..).map(|buffer| (buffer, 0)));
        // Ordering: Relaxed; changed only under the lock of the shelf.
        shelf.drawn.fetch_add(got, Ordering::Relaxed);
    }

    /// Fills the empty local pool from this worker's shelf.
    #[cold]
    fn refill(&mut self) {
        let Some(local) = &mut self.local else { return };
        debug_assert!(local.is_empty(), "a local pool that has buffers is not filled");
        let batch = self.shared.stock.batch() as usize;
        self.shared.shelves[self.me].with(|buffers| {
            let kept = buffers.len() - buffers.len().div_ceil(2).min(batch);
            local.extend(buffers.drain(kept..).map(|(buffer, _)| buffer));
        });
    }

    /// Puts half of a full local pool onto this worker's shelf.
    #[cold]
    fn spill(&mut self) {
        let Some(local) = &mut self.local else { return };
        let half = local.len() / 2;
        let excess = local.drain(..half);
        self.shared.shelves[self.me].put(excess, self.me);
    }
}

impl PoolSide for ReceiverPool<'_> {
    // Not inlined, nor is `release`: a lock takes registers, and the other pools take none.
    #[inline(never)]
    fn acquire(&mut self, to: usize) -> Option<u32> {
        if to == self.me
            && let Some(local) = &mut self.local
        {
            if let Some(buffer) = local.pop() {
                return Some(buffer);
            }
            self.refill();
            if let Some(buffer) = self.local.as_mut().and_then(Vec::pop) {
                return Some(buffer);
            }
        }
        self.take(to)
    }

    #[inline(never)]
    fn release(&mut self, buffer: u32, from: usize) {
        if from == self.me
            && let Some(local) = &mut self.local
        {
            local.push(buffer);
            if local.len() > 2 * self.shared.stock.batch() as usize {
                self.spill();
            }
            return;
        }
        self.shared.shelves[self.me].with(|buffers| buffers.push((buffer, 0)));
    }

    fn redistribute(&mut self, short: bool) {
        if short || !self.shared.stock.is_limited() {
            // Another worker may need them more.
            return;
        }
        self.is_open = true;
        let shelf = &self.shared.shelves[self.me];
        shelf.with(|buffers| {
            // Ordering: Relaxed; changed only under this lock.
            let drawn = shelf.drawn.load(Ordering::Relaxed);
            self.draw(shelf, buffers, self.share.saturating_sub(drawn) as u32);
            // The buffers that were drawn in a shortage.
            let excess = drawn.saturating_sub(self.share).min(buffers.len());
            if excess > 0 {
                self.shared.stock.give(buffers.drain(..excess).map(|(buffer, _)| buffer));
                shelf.drawn.store(drawn - excess, Ordering::Relaxed);
            }
        });
    }

    fn give_up(&mut self) {
        let (shelf, scratch) = (&self.shared.shelves[self.me], &mut self.scratch);
        debug_assert!(scratch.is_empty(), "POOL-A: buffers on their way are left");
        if let Some(local) = &mut self.local {
            scratch.append(local);
        }
        shelf.with(|buffers| {
            scratch.extend(buffers.drain(..).map(|(buffer, _)| buffer));
            // Ordering: Relaxed; changed only under this lock.
            let drawn = shelf.drawn.load(Ordering::Relaxed);
            shelf.drawn.store(drawn.saturating_sub(scratch.len()), Ordering::Relaxed);
        });
        self.shared.stock.give(scratch.drain(..));
    }

    fn free(&self) -> usize {
        self.shared.shelves[self.me].count() + self.local.as_ref().map_or(0, Vec::len)
    }
}

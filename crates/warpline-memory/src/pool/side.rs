//! The side of one worker of any of the pools, with its account of memory outside of buffers and
//! the buffers that it has reserved.
//!
//! The arena calls it for every buffer.
//!
//! # Invariants
//!
//! - **SIDE-A.** A reserved buffer is in no list of the pool. While a worker has some, no acquire
//!   of this worker is refused.

use super::{
    AnyPool, Pool, PoolSide, SharedPool, adaptive,
    early::Early,
    outside::{Outside, acquire_any},
    partitioned, receiver, sender,
};

/// The side of one worker.
#[derive(Debug)]
pub(crate) struct Side<'a> {
    pool: AnyPool<'a>,
    /// Whether this worker has given up its buffers since the last redistribution.
    gave_up: bool,
    shared: &'a SharedPool,
    me: usize,
    outside: Outside,
    /// For sends that must not be refused; each with the worker for whose messages it was.
    reserved: Vec<(u32, usize)>,
    pub(crate) early: Early,
}

impl SharedPool {
    /// The side of worker `me`.
    pub(crate) fn join(&self, me: usize) -> Side<'_> {
        debug_assert!(me < self.plan.workers, "there is no worker {me}");
        let pool = match &self.plan.pool {
            &Pool::Receiver { local_pool } => {
                AnyPool::Receiver(receiver::ReceiverPool::new(self, me, local_pool))
            }
            &Pool::Sender { global_share, quota } => {
                AnyPool::Sender(sender::SenderPool::new(self, global_share, quota))
            }
            &Pool::Partitioned { ref parts, gain, sharing, .. } => AnyPool::Partitioned(
                partitioned::PartitionedPool::new(self, me, parts, gain, sharing),
            ),
            Pool::Adaptive => AnyPool::Adaptive(adaptive::AdaptivePool::new(self, me)),
        };
        let (outside, reserved, early) = (Outside::new(self), Vec::new(), Early::new());
        Side { pool, gave_up: false, shared: self, me, outside, reserved, early }
    }
}

impl Side<'_> {
    /// Whether this many bytes may be used outside of buffers.
    #[inline]
    pub(crate) fn ensure(&mut self, bytes: usize) -> bool {
        let Self { pool, shared, me, outside, .. } = self;
        outside.ensure(bytes, shared, pool, *me)
    }

    /// Notes that this many bytes are in use outside of buffers.
    #[inline]
    pub(crate) const fn charge(&mut self, bytes: usize) {
        self.outside.charge(bytes);
    }

    /// Notes that this many bytes outside of buffers are not in use any more.
    #[inline]
    pub(crate) fn refund(&mut self, bytes: usize) {
        let Self { pool, shared, outside, .. } = self;
        outside.refund(bytes, shared, pool);
    }

    fn settle_up(&mut self, short: bool) {
        let Self { pool, shared, outside, .. } = self;
        outside.settle_up(short, shared, pool);
    }

    /// Whether the worker has a free buffer at hand for a message to worker `to`.
    pub(crate) fn has_free(&self, to: usize) -> bool {
        match &self.pool {
            AnyPool::Partitioned(pool) => pool.has_free(to),
            AnyPool::Sender(pool) => pool.free() > 0,
            AnyPool::Receiver(_) | AnyPool::Adaptive(_) => false,
        }
    }

    /// How many of the buffers that were returned early are to go to another worker, because their
    /// list has gained so many.
    pub(crate) fn surplus(&self, list: usize) -> usize {
        match &self.pool {
            AnyPool::Partitioned(pool) if list != self.me => {
                pool.surplus(list, self.early.len_of(list))
            }
            _ => 0,
        }
    }

    /// How many buffers are out of the pool and hold no message.
    pub(crate) fn withheld(&self) -> usize {
        self.reserved.len() + self.outside.buffers()
    }

    /// Reserves this many buffers; none if there are fewer.
    pub(crate) fn reserve(&mut self, count: usize) -> bool {
        while self.reserved.len() < count {
            let Some(buffer) = acquire_any(&mut self.pool, self.shared, self.me) else {
                self.end_reserve();
                return false;
            };
            self.reserved.push(buffer);
        }
        debug_assert!(self.reserved.len() >= count, "SIDE-A: fewer are reserved than promised");
        true
    }

    /// Puts the reserved buffers back that were not used.
    pub(crate) fn end_reserve(&mut self) {
        for (buffer, to) in self.reserved.drain(..) {
            self.pool.release(buffer, to);
        }
    }
}

impl PoolSide for Side<'_> {
    #[inline]
    fn acquire(&mut self, to: usize) -> Option<u32> {
        // SIDE-A.
        self.pool.acquire(to).or_else(|| Some(self.reserved.pop()?.0))
    }

    #[inline]
    fn release(&mut self, buffer: u32, from: usize) {
        debug_assert!(from < self.shared.plan.workers, "there is no worker {from}");
        debug_assert!(
            self.reserved.iter().all(|&(reserved, _)| reserved != buffer),
            "SIDE-A: buffer {buffer} is reserved"
        );
        self.pool.release(buffer, from);
    }

    fn redistribute(&mut self, short: bool) {
        self.settle_up(short);
        // The buffers that were given up are for workers that need them more. These workers would
        // not find them on shelves, or if this worker took them back from the stock.
        if !std::mem::take(&mut self.gave_up) {
            self.pool.redistribute(short);
        }
    }

    fn note_uncommitted(&mut self, messages: usize) {
        self.pool.note_uncommitted(messages);
    }

    fn note_in_use(&mut self, buffers: usize) {
        self.pool.note_in_use(buffers);
    }

    fn give_up(&mut self) {
        self.settle_up(true);
        self.gave_up = true;
        self.pool.give_up();
    }

    fn free(&self) -> usize {
        self.pool.free()
    }
}

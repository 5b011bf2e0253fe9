//! Memory outside of buffers that counts toward their limit: what messages and saved states own on
//! the heap.
//!
//! The limit of a pool is a number of buffers, each of which stands for the bytes that an event
//! takes. So memory outside of buffers is paid for with buffers that are not used. A worker has a
//! *credit* of bytes. To get more it sets numbers aside that were never issued, each worth all that
//! an event takes; then it takes free buffers of its pool, each worth what an event takes besides
//! its buffer, because the buffer was perhaps written to and its pages stay. A message is freed by
//! another worker than the one that has paid for it, so credit passes from worker to worker; the
//! numbers and the buffers stay where they are until credit comes back for them.
//!
//! Called by the sides of pools ([`super`]), for the arena.
//!
//! # Invariants
//!
//! - **OUTSIDE-A.** What all workers have set aside or taken is worth what is in use outside of
//!   buffers, plus all credit. So as long as no credit is below zero, buffers and what is outside
//!   of them stay within the limit.
//! - **OUTSIDE-B.** When nothing is in use outside of buffers, and all workers have settled their
//!   accounts twice, every buffer is free again for messages.

use super::{PoolSide, SharedPool};
use crate::sync::Ordering;

/// What a buffer that no message is in is worth, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    /// All that an event takes: of a buffer that was never filled.
    pub fresh: usize,
    /// What an event takes besides its buffer: of one that was perhaps filled.
    pub used: usize,
}

impl Worth {
    /// For pools whose messages own nothing outside of their buffers.
    pub const NOTHING: Self = Self { fresh: 1, used: 1 };
}

/// A worker takes this part of its share of the limit at a time, and no more than [`GRAIN_MAX`].
const GRAIN: usize = 256;
/// In bytes.
const GRAIN_MAX: usize = 1 << 16;

/// The account of one worker.
#[derive(Debug)]
pub(super) struct Outside {
    /// Below zero if more is in use than could be paid for.
    credit: isize,
    worth: Worth,
    /// How much credit a worker keeps; it keeps no less to save on the way through the stock.
    grain: usize,
    /// How many numbers this worker has set aside.
    aside: u32,
    /// Buffers that it has taken out of its pool, each with the worker for whose messages it was.
    taken: Vec<(u32, usize)>,
}

impl Outside {
    pub(super) fn new(shared: &SharedPool) -> Self {
        let (plan, limit) = (&shared.plan, shared.stock.limit() as usize);
        let share = limit.saturating_mul(plan.worth.fresh) / plan.workers.max(1);
        let grain = (share / GRAIN).min(GRAIN_MAX);
        Self { credit: 0, worth: plan.worth, grain, aside: 0, taken: Vec::new() }
    }

    /// Whether this many bytes could be used now: if the credit is too small, tries to enlarge it.
    #[inline]
    pub(super) fn ensure(
        &mut self,
        bytes: usize,
        shared: &SharedPool,
        pool: &mut impl PoolSide,
        me: usize,
    ) -> bool {
        self.credit >= bytes as isize || self.enlarge(bytes as isize, shared, pool, me)
    }

    #[cold]
    fn enlarge(
        &mut self,
        need: isize,
        shared: &SharedPool,
        pool: &mut impl PoolSide,
        me: usize,
    ) -> bool {
        debug_assert!(self.credit < need, "there was enough credit");
        let wanted = need.max(self.grain as isize);
        self.credit += take_credit(shared, (wanted - self.credit) as usize) as isize;
        if self.credit < need {
            let numbers = ((wanted - self.credit) as usize).div_ceil(self.worth.fresh);
            let got = shared.stock.set_aside(u32::try_from(numbers).unwrap_or(u32::MAX));
            self.aside += got;
            self.credit += got as isize * self.worth.fresh as isize;
        }
        while self.credit < need {
            let Some(buffer) = acquire_any(pool, shared, me) else { return false };
            self.taken.push(buffer);
            self.credit += self.worth.used as isize;
        }
        debug_assert!(self.credit >= need, "OUTSIDE-A: the credit does not pay for the need");
        true
    }

    /// How many buffers it has taken out of the pool.
    pub(super) const fn buffers(&self) -> usize {
        self.taken.len()
    }

    /// Notes that this many bytes are in use, whether there is credit or not.
    #[inline]
    pub(super) const fn charge(&mut self, bytes: usize) {
        self.credit -= bytes as isize;
    }

    /// Notes that this many bytes are not in use any more.
    #[inline]
    pub(super) fn refund(&mut self, bytes: usize, shared: &SharedPool, pool: &mut impl PoolSide) {
        self.credit += bytes as isize;
        if self.credit > 2 * self.grain as isize {
            self.settle(self.grain, shared, pool);
        }
    }

    /// Gives back what the credit beyond `keep` bytes stands for. Credit for which nothing was set
    /// aside here goes to the workers that have.
    pub(super) fn settle(&mut self, keep: usize, shared: &SharedPool, pool: &mut impl PoolSide) {
        let Worth { fresh, used } = self.worth;
        let keep = keep as isize;
        let held = self.aside as usize * fresh + self.taken.len() * used;
        // What was set aside here can be given back for no more than that.
        let lacking = (held as isize + keep - self.credit).max(0);
        self.credit += take_credit(shared, lacking as usize) as isize;
        while self.credit - used as isize >= keep
            && let Some((buffer, to)) = self.taken.pop()
        {
            pool.release(buffer, to);
            self.credit -= used as isize;
        }
        let numbers = (self.credit - keep).max(0) as usize / fresh;
        let numbers = self.aside.min(u32::try_from(numbers).unwrap_or(u32::MAX));
        if numbers > 0 {
            debug_assert!(numbers <= self.aside, "OUTSIDE-A: more goes back than was set aside");
            shared.stock.put_back(numbers);
            self.aside -= numbers;
            self.credit -= numbers as isize * fresh as isize;
        }
        let excess = self.credit - keep;
        if excess > 0 {
            // Ordering: Relaxed; a count, and nothing is read through it.
            shared.credit.fetch_add(excess as usize, Ordering::Relaxed);
            self.credit = keep;
        }
        debug_assert!(self.credit <= keep, "OUTSIDE-B: credit beyond what is kept stays here");
    }

    /// Gives back what is not in use. In a shortage, all of it.
    pub(super) fn settle_up(&mut self, short: bool, shared: &SharedPool, pool: &mut impl PoolSide) {
        // Ordering: Relaxed; a hint.
        let is_idle = self.credit == 0 && shared.credit.load(Ordering::Relaxed) == 0;
        if !is_idle {
            self.settle(if short { 0 } else { self.grain }, shared, pool);
        }
    }
}

/// A free buffer for messages of worker `me` to any worker, and to which.
pub(super) fn acquire_any(
    pool: &mut impl PoolSide,
    shared: &SharedPool,
    me: usize,
) -> Option<(u32, usize)> {
    let workers = shared.plan.workers;
    let mut receivers = (0..workers).map(|distance| (me + distance) % workers);
    receivers.find_map(|to| Some((pool.acquire(to)?, to)))
}

/// Takes up to this much of the credit that workers have left over.
fn take_credit(shared: &SharedPool, bytes: usize) -> usize {
    // Ordering: Relaxed; a count, and nothing is read through it.
    if bytes == 0 || shared.credit.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    let less = |credit: usize| Some(credit.saturating_sub(bytes));
    let before = shared.credit.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    before.unwrap_or(0).min(bytes)
}

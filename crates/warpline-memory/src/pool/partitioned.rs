//! Partitioned pools: worker *i* fills buffers of B(*i*, *j*) for messages to worker *j*, which
//! puts them back into B(*j*, *i*) (Fujimoto and Panesar 1995, sections 5 and 6).
//!
//! So each buffer belongs to two workers, and each B(*i*, *j*) is contiguous in memory: a worker
//! touches few pages. A worker that finds B(*i*, *j*) empty does not take from another list, unless
//! the pool is a sharing one, of which the paper says that it would degenerate to a sender pool.
//! After fossil collection, a worker returns the buffers that a list has gained, if they are more
//! than a part of its size (25 % in the paper) or some worker is short of buffers.
//!
//! Only in a lasting shortage do buffers pass through the stock to other workers. After that, every
//! B(*i*, *j*) gets its former size again; its memory may then be in several pieces.

use super::{Parts, PoolSide, SharedPool, push};

/// The first size of a list if there is no limit.
const FIRST: u32 = 8;

/// B(me, j), the buffers between this worker and worker j.
#[derive(Clone, Debug, Default)]
struct Part {
    free: Vec<u32>,
    /// Its size by the division; without a limit, the buffers that were drawn for it.
    size: usize,
    /// Buffers that came from the stock, less those that returned to it.
    drawn: isize,
}

impl Part {
    /// How many buffers it has gained, with `more` that are not in it, if they are to be returned.
    fn surplus(&self, more: usize, may_gain: f64) -> usize {
        let gain = (self.free.len() + more).saturating_sub(self.size);
        if gain as f64 > may_gain * self.size as f64 { gain } else { 0 }
    }
}

/// The side of one worker of a partitioned pool.
#[derive(Debug)]
pub(crate) struct PartitionedPool<'a> {
    shared: &'a SharedPool,
    me: usize,
    parts: Vec<Part>,
    /// A list may gain this part of its size.
    gain: f64,
    /// Whether an empty list is helped out by the others of this worker.
    sharing: bool,
}

impl<'a> PartitionedPool<'a> {
    pub(crate) fn new(
        shared: &'a SharedPool,
        me: usize,
        division: &Parts,
        gain: f64,
        sharing: bool,
    ) -> Self {
        let mut parts = vec![Part::default(); shared.plan.workers];
        if shared.stock.is_limited() {
            divide(&mut parts, shared, me, division);
        }
        debug_assert!(me < parts.len(), "worker {me} has no part for itself");
        debug_assert!((0.0..=1.0).contains(&gain), "a part of {gain}");
        Self { shared, me, parts, gain, sharing }
    }

    /// Looks for a buffer on the shelf and in the stock. Under a limit, the stock has buffers only
    /// before the first redistribution and after a shortage.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, to: usize) -> Option<u32> {
        self.collect_returned();
        if self.parts[to].free.is_empty() {
            self.draw(to);
        }
        self.parts[to].free.pop().or_else(|| self.take_from_another())
    }

    fn draw(&mut self, to: usize) {
        let (stock, part) = (&self.shared.stock, &mut self.parts[to]);
        if stock.is_limited() {
            part.drawn += stock.draw(1, &mut part.free) as isize;
        } else {
            let count = (part.size as u32).clamp(FIRST, stock.batch());
            part.size += stock.draw(count, &mut part.free) as usize;
        }
    }

    /// A buffer of the longest list of this worker, if the pool is a sharing one.
    fn take_from_another(&mut self) -> Option<u32> {
        let longest = self.parts.iter_mut().max_by_key(|part| part.free.len());
        longest.filter(|_| self.sharing)?.free.pop()
    }

    /// Whether there is a free buffer for messages to worker `to`.
    pub(super) fn has_free(&self, to: usize) -> bool {
        !self.parts[to].free.is_empty()
    }

    /// How many buffers a part has gained, with those that were `returned` early, where that is
    /// enough to return some.
    pub(super) fn surplus(&self, peer: usize, returned: usize) -> usize {
        debug_assert_ne!(peer, self.me, "a worker returns nothing to itself");
        self.parts[peer].surplus(returned, self.gain)
    }

    /// Puts the buffers that others have returned into their parts.
    fn collect_returned(&mut self) {
        let put = |buffer, peer: usize| self.parts[peer].free.push(buffer);
        self.shared.shelves[self.me].take_all(put);
    }

    /// Gives every part its size by the division, at first and after a shortage.
    fn restore(&mut self) {
        for part in &mut self.parts {
            let missing = part.size as isize - part.drawn;
            if missing > 0 {
                part.drawn += self.shared.stock.draw(missing as u32, &mut part.free) as isize;
            } else if missing < 0 {
                let excess = (missing.unsigned_abs()).min(part.free.len());
                part.drawn -= excess as isize;
                self.shared.stock.give(part.free.drain(..excess));
            }
        }
    }
}

/// Sets the sizes of the parts of worker `me`: as the user set them, or the worker's equal part of
/// all buffers in equal parts for each receiver.
fn divide(parts: &mut [Part], shared: &SharedPool, me: usize, division: &Parts) {
    let plan = &shared.plan;
    if let Parts::Sizes(sizes) = division {
        for (to, part) in parts.iter_mut().enumerate() {
            part.size = sizes.buffers(me, to, shared.stock.limit());
        }
        return;
    }
    let quota = shared.stock.limit() as usize / plan.workers;
    let even = 1.0 / plan.workers as f64;
    let local = match *division {
        _ if plan.workers == 1 => 1.0,
        Parts::LocalShare(share) => share,
        _ => even,
    };
    let others = (plan.workers - 1).max(1);
    let each = (quota as f64 * (1.0 - local) / others as f64) as usize;
    for part in parts.iter_mut() {
        part.size = each;
    }
    debug_assert!(each * (plan.workers - 1) <= quota, "POOL-B: the parts are more than the whole");
    parts[me].size = quota - each * (plan.workers - 1);
}

impl PoolSide for PartitionedPool<'_> {
    #[inline]
    fn acquire(&mut self, to: usize) -> Option<u32> {
        match self.parts[to].free.pop() {
            Some(buffer) => Some(buffer),
            None => self.refill(to),
        }
    }

    #[inline]
    fn release(&mut self, buffer: u32, from: usize) {
        push(&mut self.parts[from].free, buffer);
    }

    fn redistribute(&mut self, short: bool) {
        self.collect_returned();
        if self.shared.stock.is_limited() && !short {
            self.restore();
        }
        let (me, workers) = (self.me, self.parts.len());
        let may_gain = if short { 0.0 } else { self.gain };
        // Each worker begins with another shelf, so they do not all wait for the same lock.
        for peer in (1..workers).map(|distance| (me + distance) % workers) {
            let part = &mut self.parts[peer];
            let gain = part.surplus(0, may_gain);
            debug_assert!(gain <= part.free.len(), "a part has gained more than it has");
            if gain > 0 {
                self.shared.shelves[peer].put(part.free.drain(..gain), me);
            }
        }
    }

    fn give_up(&mut self) {
        self.collect_returned();
        let all = self.parts.iter_mut().flat_map(|part| {
            part.drawn -= part.free.len() as isize;
            part.free.drain(..)
        });
        self.shared.stock.give(all);
    }

    fn free(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.free.len()).sum();
        parts + self.shared.shelves[self.me].count()
    }
}

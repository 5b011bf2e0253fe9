//! Adaptive pools: partitioned ones whose parts find their sizes by themselves.
//!
//! Fujimoto and Panesar (1995, section 8) leave this for the future: sub-pools that are sized, and sized
//! again, by the traffic between each pair of workers, within the same total. Here B(*i*, *j*) grows when it
//! runs dry, by a piece of contiguous memory. At each fossil collection a worker counts what it has sent to
//! each other one since the last; so many buffers, and a few more, B(*i*, *j*) keeps. What it has beyond that
//! goes home to *j* if it came from there, and else back into the stock, where any part finds it.
//!
//! A worker that floods the others cannot take all: half of the buffers are promised, an equal part to each
//! worker, and nobody draws what is promised to another. A worker whose draw is refused takes from
//! its own other parts before it gives up.

use super::{Pool, Shared};
use crate::sync::Ordering;

/// What a part keeps beyond the demand it has seen: a quarter, and so many.
const SLACK: usize = 16;

/// B(me, j).
#[derive(Clone, Debug, Default)]
struct Part {
    free: Vec<u32>,
    /// Buffers acquired since the last fossil collection.
    used: usize,
    /// The recent peak of `used`, slowly forgotten.
    demand: usize,
    /// Buffers that came from the peer, less those that went there.
    gained: isize,
}

impl Part {
    const fn target(&self) -> usize {
        self.demand + self.demand / 4 + SLACK
    }
}

/// A worker's side of an adaptive pool.
#[derive(Debug)]
pub(crate) struct Adaptive<'a> {
    shared: &'a Shared,
    me: usize,
    parts: Vec<Part>,
    /// Promised to each worker.
    promise: usize,
    /// Whether promises count: not for first events, and not in a shortage.
    is_open: bool,
    /// Whether this worker has given up its buffers since the last redistribution.
    is_short: bool,
}

impl<'a> Adaptive<'a> {
    pub(crate) fn new(shared: &'a Shared, me: usize) -> Self {
        let stock = &shared.stock;
        let promise = stock.limit() as usize / (2 * shared.plan.workers.max(1));
        let promise = if stock.is_limited() { promise } else { 0 };
        let parts = vec![Part::default(); shared.plan.workers];
        Self { shared, me, parts, promise, is_open: !stock.is_limited(), is_short: false }
    }

    /// How many buffers this worker may draw: all but those that are promised to others.
    fn allowance(&self) -> usize {
        let left = |(worker, shelf): (usize, &crossbeam_utils::CachePadded<super::Shelf>)| {
            // Ordering: Relaxed; an estimate. Two workers that draw at once may both get a little more.
            let drawn = shelf.drawn.load(Ordering::Relaxed);
            if worker == self.me { 0 } else { self.promise.saturating_sub(drawn) }
        };
        let promised = if self.is_open && self.promise > 0 {
            self.shared.shelves.iter().enumerate().map(left).sum()
        } else {
            0
        };
        self.shared.stock.available().saturating_sub(promised)
    }

    #[cold]
    fn refill(&mut self, to: usize) {
        self.come_home();
        if !self.parts[to].free.is_empty() {
            return;
        }
        let stock = &self.shared.stock;
        let batch = if self.is_open { stock.batch() as usize } else { 1 };
        let wanted = self.parts[to].target().min(batch);
        let count = wanted.min(self.allowance());
        let got = stock.draw(count as u32, &mut self.parts[to].free);
        // Ordering: Relaxed; an estimate, see `allowance`.
        self.shared.shelves[self.me].drawn.fetch_add(got as usize, Ordering::Relaxed);
        if got == 0 {
            self.take_from_others(to);
        }
    }

    /// Takes half of the largest other part.
    fn take_from_others(&mut self, to: usize) {
        let largest = (0..self.parts.len()).max_by_key(|&peer| self.parts[peer].free.len());
        if let Some(largest) = largest {
            let free = &mut self.parts[largest].free;
            let half = free.len().div_ceil(2);
            let taken: Vec<_> = free.drain(..half).collect();
            self.parts[to].free.extend(taken);
        }
    }

    /// Files the buffers that others have sent home.
    fn come_home(&mut self) {
        let shelf = &self.shared.shelves[self.me];
        if shelf.count() > 0 {
            shelf.with(|buffers| {
                for (buffer, peer) in buffers.drain(..) {
                    let part = &mut self.parts[peer as usize];
                    part.gained += 1;
                    part.free.push(buffer);
                }
            });
        }
    }

    /// Gives buffers to the stock.
    fn give(&mut self, buffers: Vec<u32>) {
        // Ordering: Relaxed; an estimate, see `allowance`. Only this worker changes it.
        let drawn = &self.shared.shelves[self.me].drawn;
        let left = drawn.load(Ordering::Relaxed).saturating_sub(buffers.len());
        drawn.store(left, Ordering::Relaxed);
        self.shared.stock.give(buffers.into_iter());
    }
}

impl Pool for Adaptive<'_> {
    #[inline]
    fn acquire(&mut self, to: usize) -> Option<u32> {
        if self.parts[to].free.is_empty() {
            self.refill(to);
        }
        let part = &mut self.parts[to];
        part.used += 1;
        part.free.pop()
    }

    #[inline]
    fn release(&mut self, buffer: u32, from: usize) {
        let part = &mut self.parts[from];
        part.gained += 1;
        part.free.push(buffer);
    }

    fn redistribute(&mut self, short: bool) {
        self.come_home();
        let was_short = std::mem::take(&mut self.is_short);
        self.is_open = true;
        if was_short {
            // On their way home, buffers are where those who need them do not look.
            return;
        }
        let mut excess = Vec::new();
        for (peer, part) in self.parts.iter_mut().enumerate() {
            part.demand = part.used.max(part.demand - part.demand.div_ceil(8));
            part.gained -= std::mem::take(&mut part.used) as isize;
            let target = if short { part.demand } else { part.target() };
            let surplus = part.free.len().saturating_sub(target);
            if surplus <= if short { 0 } else { SLACK } {
                continue;
            }
            let home = if peer == self.me { 0 } else { part.gained.clamp(0, surplus as isize) };
            if home > 0 {
                part.gained -= home;
                let me = self.me as u32;
                let homing = part.free.drain(..home as usize).map(|buffer| (buffer, me));
                self.shared.shelves[peer].with(|buffers| buffers.extend(homing));
            }
            excess.extend(part.free.drain(..surplus - home as usize));
        }
        if !excess.is_empty() {
            self.give(excess);
        }
    }

    fn give_up(&mut self) {
        // Until the next collection promises do not count: somebody needs all there is (POOL-C).
        (self.is_open, self.is_short) = (false, true);
        self.come_home();
        let all: Vec<_> = self.parts.iter_mut().flat_map(|part| part.free.drain(..)).collect();
        if !all.is_empty() {
            self.give(all);
        }
    }

    fn free(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.free.len()).sum();
        parts + self.shared.shelves[self.me].count()
    }
}

//! Partitioned pools: worker *i* fills buffers of B(*i*, *j*) for messages to worker *j*, which puts them
//! back into B(*j*, *i*) (Fujimoto and Panesar 1995, sections 5 and 6).
//!
//! So a buffer only ever has two workers, and each B(*i*, *j*) lies in contiguous memory: a worker touches
//! few pages. A worker that finds B(*i*, *j*) empty does not take from another one. After fossil collection
//! it sends home what a pool has gained, if that is more than 25 % of its first size, or somebody is short of
//! buffers.

use super::{Pool, Shared};

/// A pool may gain so much of its first size.
const GAIN: f64 = 0.25;

/// B(me, j).
#[derive(Clone, Debug, Default)]
struct Part {
    free: Vec<u32>,
    /// Its first size; without a limit, what was drawn for it so far.
    size: usize,
}

/// A worker's side of a partitioned pool.
#[derive(Debug)]
pub(crate) struct Partitioned<'a> {
    shared: &'a Shared,
    me: usize,
    parts: Vec<Part>,
    /// Whether the first sizes are set; the first events are sent before.
    is_open: bool,
    /// Whether this worker has given up its buffers since the last redistribution.
    is_short: bool,
}

impl<'a> Partitioned<'a> {
    pub(crate) fn new(shared: &'a Shared, me: usize) -> Self {
        let parts = vec![Part::default(); shared.plan.workers];
        Self { shared, me, parts, is_open: !shared.stock.is_limited(), is_short: false }
    }

    /// The first size of B(me, j).
    fn share(&self, peer: usize) -> usize {
        let plan = &self.shared.plan;
        let quota = f64::from(self.shared.stock.limit()) / plan.workers as f64;
        let others = (plan.workers - 1) as f64;
        let even = 1.0 / plan.workers as f64;
        let local = if others > 0.0 { plan.local_share.unwrap_or(even) } else { 1.0 };
        let part = if peer == self.me { local } else { (1.0 - local) / others };
        (quota * part) as usize
    }

    /// Looks for buffers elsewhere: those that came home, and the stock. Under a limit there is something
    /// in the stock before the first sizes are set, and after a shortage.
    #[cold]
    fn refill(&mut self, to: usize) {
        self.come_home();
        let (stock, part) = (&self.shared.stock, &mut self.parts[to]);
        if part.free.is_empty() {
            let count = if stock.is_limited() { 1 } else { stock.batch() };
            let drawn = stock.draw(count, &mut part.free) as usize;
            if !self.is_open || !stock.is_limited() {
                part.size += drawn;
            }
        }
    }

    /// Files the buffers that others have sent home.
    fn come_home(&mut self) {
        let shelf = &self.shared.shelves[self.me];
        if shelf.count() > 0 {
            shelf.with(|buffers| {
                for (buffer, peer) in buffers.drain(..) {
                    self.parts[peer as usize].free.push(buffer);
                }
            });
        }
    }
}

impl Pool for Partitioned<'_> {
    #[inline]
    fn acquire(&mut self, to: usize) -> Option<u32> {
        if self.parts[to].free.is_empty() {
            self.refill(to);
        }
        self.parts[to].free.pop()
    }

    #[inline]
    fn release(&mut self, buffer: u32, from: usize) {
        self.parts[from].free.push(buffer);
    }

    fn redistribute(&mut self, short: bool) {
        self.come_home();
        if !std::mem::replace(&mut self.is_open, true) {
            for peer in 0..self.parts.len() {
                let missing = self.share(peer).saturating_sub(self.parts[peer].size);
                let Part { free, size } = &mut self.parts[peer];
                *size += self.shared.stock.draw(missing as u32, free) as usize;
            }
        }
        if std::mem::take(&mut self.is_short) {
            // On their way home, buffers are where those who need them do not look.
            return;
        }
        for (peer, part) in self.parts.iter_mut().enumerate() {
            let gain = part.free.len().saturating_sub(part.size);
            let much = if short { 0.0 } else { GAIN * part.size as f64 };
            if peer != self.me && gain as f64 > much {
                let me = self.me as u32;
                let excess = part.free.drain(..gain).map(|buffer| (buffer, me));
                self.shared.shelves[peer].with(|buffers| buffers.extend(excess));
            }
        }
    }

    fn give_up(&mut self) {
        self.is_short = true;
        self.come_home();
        let all = self.parts.iter_mut().flat_map(|part| part.free.drain(..));
        self.shared.stock.give(all);
    }

    fn free(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.free.len()).sum();
        parts + self.shared.shelves[self.me].count()
    }
}

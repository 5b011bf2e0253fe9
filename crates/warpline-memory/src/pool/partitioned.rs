//! Partitioned pools: worker *i* fills buffers of B(*i*, *j*) for messages to worker *j*, which
//! puts them back into B(*j*, *i*) (Fujimoto and Panesar 1995, sections 5 and 6).
//!
//! So a buffer has two workers, and each B(*i*, *j*) lies in contiguous memory: a worker touches
//! few pages. A worker that finds B(*i*, *j*) empty does not take from another one. After fossil
//! collection it sends home what a pool has gained, if that is more than 25 % of its size, or
//! somebody is short of buffers.
//!
//! Only in a shortage that lasts do buffers go through the stock, and change their workers.
//! Afterwards every B(*i*, *j*) is made as large as it was; its memory may then be in several
//! pieces.

use super::{PoolSide, Shared};

/// A pool may gain so much of its size.
const GAIN: f64 = 0.25;
/// Without a limit, a pool is first made so large.
const FIRST: u32 = 8;

/// B(me, j).
#[derive(Clone, Debug, Default)]
struct Part {
    free: Vec<u32>,
    /// Its size as divided; without a limit, what was drawn for it so far.
    size: usize,
    /// Buffers that came from the stock, less those given back to it.
    drawn: isize,
}

/// A worker's side of a partitioned pool.
#[derive(Debug)]
pub(crate) struct Partitioned<'a> {
    shared: &'a Shared,
    me: usize,
    parts: Vec<Part>,
}

impl<'a> Partitioned<'a> {
    pub(crate) fn new(shared: &'a Shared, me: usize, local_share: Option<f64>) -> Self {
        let mut parts = vec![Part::default(); shared.plan.workers];
        if shared.stock.is_limited() {
            divide(&mut parts, shared, me, local_share);
        }
        Self { shared, me, parts }
    }

    /// Looks for buffers elsewhere: those that came home, and the stock. Under a limit there is
    /// something in the stock before the first redistribution, and after a shortage.
    #[cold]
    fn refill(&mut self, to: usize) {
        self.come_home();
        let (stock, part) = (&self.shared.stock, &mut self.parts[to]);
        if !part.free.is_empty() {
            return;
        }
        if stock.is_limited() {
            part.drawn += stock.draw(1, &mut part.free) as isize;
        } else {
            let count = (part.size as u32).clamp(FIRST, stock.batch());
            part.size += stock.draw(count, &mut part.free) as usize;
        }
    }

    /// Files the buffers that others have sent home.
    fn come_home(&mut self) {
        let home = |buffer, peer: usize| self.parts[peer].free.push(buffer);
        self.shared.shelves[self.me].take_all(home);
    }

    /// Makes every part as large as it was divided, where it was not yet or there was a shortage.
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

/// Sets the sizes of a worker's parts.
fn divide(parts: &mut [Part], shared: &Shared, me: usize, local_share: Option<f64>) {
    let plan = &shared.plan;
    let quota = shared.stock.limit() as usize / plan.workers;
    let even = 1.0 / plan.workers as f64;
    let local = if plan.workers > 1 { local_share.unwrap_or(even) } else { 1.0 };
    let others = (plan.workers - 1).max(1);
    let each = (quota as f64 * (1.0 - local) / others as f64) as usize;
    for part in parts.iter_mut() {
        part.size = each;
    }
    parts[me].size = quota - each * (plan.workers - 1);
}

impl PoolSide for Partitioned<'_> {
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
        if self.shared.stock.is_limited() && !short {
            self.restore();
        }
        let (me, workers) = (self.me, self.parts.len());
        // Not all workers begin with the same shelf.
        for peer in (1..workers).map(|distance| (me + distance) % workers) {
            let part = &mut self.parts[peer];
            let gain = part.free.len().saturating_sub(part.size);
            let much = if short { 0.0 } else { GAIN * part.size as f64 };
            if gain as f64 > much {
                self.shared.shelves[peer].put(part.free.drain(..gain), me);
            }
        }
    }

    fn give_up(&mut self) {
        self.come_home();
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

//! Adaptive pools: partitioned ones whose parts find their sizes by themselves.
//!
//! Fujimoto and Panesar (1995, section 8) leave this for the future: sub-pools that are sized, and
//! sized again, by the traffic between each pair of workers, within the same total. Here B(*i*,
//! *j*) grows when it runs dry, by a piece of contiguous memory, the larger the more it has sent.
//! (With small pieces a page soon has buffers of many pairs: of 60 MiB on the KSR-2's model, 60 000
//! page misses instead of 300.) At each fossil collection a worker counts what it has sent to each
//! other one since the last; so many buffers, and a few more, B(*i*, *j*) keeps. What it has beyond
//! that goes home to *j* if it came from there; and where the stock runs low, the rest goes back
//! there, for any part to find. (As long as there is enough, it stays: buffers that go through the
//! stock change cores. Giving it all back made the hypercube a fifth slower with two workers.)
//!
//! A worker that floods the others cannot take all. At each fossil collection a worker says how
//! many buffers it could use: those in use and its parts' targets, or any number if a draw was
//! refused. It is promised that, as long as there is enough for all; else those who want the most
//! are promised equal parts, and the others all they want (max-min fairness). Nobody draws what is
//! promised to another. A worker whose draw is refused takes from its own other parts before it
//! gives up. (To promise everybody an equal part, or half of it if little was used of late, left
//! PHOLD beside a flood a quarter of its rate with twice the buffers that its events need; this
//! leaves it 0.98.)

use super::{PoolSide, Shared};
use crate::sync::Ordering;

/// What a part keeps beyond a quarter more than the demand it has seen, where there are enough
/// buffers.
const SLACK: usize = 16;

/// B(me, j).
#[derive(Clone, Debug, Default)]
struct Part {
    free: Vec<u32>,
    /// Buffers acquired since the last fossil collection.
    used: usize,
    /// The recent peak of `used`, slowly forgotten.
    demand: usize,
    /// How many free buffers it would have if none had come from the peer and none gone there.
    base: isize,
}

impl Part {
    /// Buffers that came from the peer, less those that went there.
    const fn gained(&self) -> isize {
        self.free.len() as isize - self.base
    }
}

/// A worker's equal part is drawn in so many pieces at least.
const PIECES: usize = 16;
/// The stock runs low when less than this part of the limit is left in it.
const LOW: usize = 8;

/// A worker's side of an adaptive pool.
#[derive(Debug)]
pub(crate) struct Adaptive<'a> {
    shared: &'a Shared,
    me: usize,
    parts: Vec<Part>,
    /// An equal part of all buffers, where there is a limit.
    share: usize,
    slack: usize,
    /// Whether a draw was refused since the last redistribution.
    refused: bool,
    /// Whether promises count: not for first events, and not in a shortage.
    is_open: bool,
    /// Kept for their memory.
    scratch: Vec<u32>,
    wants: Vec<usize>,
}

impl<'a> Adaptive<'a> {
    pub(crate) fn new(shared: &'a Shared, me: usize) -> Self {
        let (stock, workers) = (&shared.stock, shared.plan.workers.max(1));
        let limit = stock.limit() as usize;
        let is_limited = stock.is_limited();
        let share = if is_limited { limit / workers } else { 0 };
        // Ordering: Relaxed; an estimate, see `allowance`.
        shared.shelves[me].promised.store(share, Ordering::Relaxed);
        shared.shelves[me].wanted.store(limit, Ordering::Relaxed);
        Self {
            shared,
            me,
            parts: vec![Part::default(); shared.plan.workers],
            share,
            slack: if is_limited { SLACK.min(limit / (4 * workers * workers)) } else { SLACK },
            is_open: !is_limited,
            refused: false,
            scratch: Vec::new(),
            wants: Vec::new(),
        }
    }

    /// How many buffers this worker may draw: all but those that are promised to others, and at
    /// least those that are promised to it.
    fn allowance(&self) -> usize {
        let available = self.shared.stock.available();
        if available == 0 || self.share == 0 || !self.is_open {
            return available;
        }
        // Ordering: Relaxed; estimates. Two workers that draw at once may both get a little more.
        let left = |shelf: &super::Shelf| {
            let promised = shelf.promised.load(Ordering::Relaxed);
            promised.saturating_sub(shelf.drawn.load(Ordering::Relaxed))
        };
        let all: usize = self.shared.shelves.iter().map(|shelf| left(shelf)).sum();
        let mine = left(&self.shared.shelves[self.me]);
        available.saturating_sub(all - mine).max(mine.min(available))
    }

    #[cold]
    fn refill(&mut self, to: usize) {
        self.come_home();
        if !self.parts[to].free.is_empty() {
            return;
        }
        let stock = &self.shared.stock;
        // What is used together should lie together.
        let most = (self.share / PIECES).max(stock.batch() as usize);
        let piece = self.target(to).max(self.parts[to].used).clamp(1, most);
        let wanted = if self.is_open { piece } else { 1 };
        let count = wanted.min(self.allowance());
        let got = stock.draw(count as u32, &mut self.parts[to].free) as usize;
        self.parts[to].base += got as isize;
        // Ordering: Relaxed; an estimate, see `allowance`.
        self.shared.shelves[self.me].drawn.fetch_add(got, Ordering::Relaxed);
        if got == 0 {
            self.refused = true;
            self.take_from_others(to);
        }
    }

    /// Takes half of the largest other part.
    fn take_from_others(&mut self, to: usize) {
        let largest = (0..self.parts.len()).max_by_key(|&peer| self.parts[peer].free.len());
        if let Some(largest) = largest {
            let mut free = std::mem::take(&mut self.parts[largest].free);
            let half = free.len().div_ceil(2);
            self.parts[to].free.extend(free.drain(..half));
            self.parts[to].base += half as isize;
            self.parts[largest].base -= half as isize;
            self.parts[largest].free = free;
        }
    }

    /// Says what this worker could use, and what it is promised: all of that, or as much as
    /// everybody who wants more than there is for all (max-min fairness).
    fn promise(&mut self) {
        let shelves = &self.shared.shelves;
        let mine = &shelves[self.me];
        let limit = self.shared.stock.limit() as usize;
        let demand: usize = (0..self.parts.len()).map(|peer| self.target(peer)).sum();
        // Ordering: Relaxed, here and below; estimates, see `allowance`.
        let used = mine.drawn.load(Ordering::Relaxed).saturating_sub(self.free());
        let wanted =
            if std::mem::take(&mut self.refused) { limit } else { (used + demand).min(limit) };
        mine.wanted.store(wanted, Ordering::Relaxed);
        self.wants.clear();
        self.wants.extend(shelves.iter().map(|shelf| shelf.wanted.load(Ordering::Relaxed)));
        mine.promised.store(wanted.min(level(&mut self.wants, limit)), Ordering::Relaxed);
    }

    /// How many buffers a part keeps.
    fn target(&self, peer: usize) -> usize {
        let demand = self.parts[peer].demand;
        demand + demand / 4 + self.slack
    }

    /// Files the buffers that others have sent home.
    fn come_home(&mut self) {
        let home = |buffer, peer: usize| self.parts[peer].free.push(buffer);
        self.shared.shelves[self.me].take_all(home);
    }

    /// How many free buffers a part keeps, and from how many beyond that something is done about
    /// them.
    fn bounds(&self, peer: usize, short: bool, low: bool) -> (usize, usize) {
        let mine = &self.shared.shelves[self.me];
        // Ordering: Relaxed; estimates, see `allowance`.
        let drawn = mine.drawn.load(Ordering::Relaxed);
        let promised = mine.promised.load(Ordering::Relaxed);
        let target = if short { self.parts[peer].demand } else { self.target(peer) };
        if low && drawn > promised {
            // Others want their part of it.
            (target * promised / drawn, 0)
        } else if short {
            (target, 0)
        } else {
            (target, target / 4 + self.slack)
        }
    }

    /// Sends what a part does not need home, and puts what did not come from there aside, if the
    /// stock is `low`.
    fn shrink(&mut self, peer: usize, short: bool, low: bool) {
        let (target, much) = self.bounds(peer, short, low);
        let (part, me) = (&mut self.parts[peer], self.me);
        let surplus = part.free.len().saturating_sub(target);
        if surplus <= much {
            return;
        }
        let home = if peer == self.me { 0 } else { part.gained().clamp(0, surplus as isize) };
        if home > 0 {
            self.shared.shelves[peer].put(part.free.drain(..home as usize), me);
        }
        let rest = if low { surplus - home as usize } else { 0 };
        self.scratch.extend(part.free.drain(..rest));
        part.base -= rest as isize;
    }
}

/// The level up to which `limit` fills what everybody wants.
fn level(wants: &mut [usize], limit: usize) -> usize {
    wants.sort_unstable();
    let mut left = limit;
    for (place, &want) in wants.iter().enumerate() {
        let even = left / (wants.len() - place);
        if want > even {
            return even;
        }
        left -= want;
    }
    limit
}

impl PoolSide for Adaptive<'_> {
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
        self.parts[from].free.push(buffer);
    }

    fn redistribute(&mut self, short: bool) {
        self.come_home();
        self.is_open = true;
        for part in &mut self.parts {
            let used = std::mem::take(&mut part.used);
            part.demand = used.max(part.demand - part.demand.div_ceil(8));
        }
        if self.share > 0 {
            self.promise();
        }
        let (me, workers, stock) = (self.me, self.parts.len(), &self.shared.stock);
        let low = short || (stock.is_limited() && stock.available() < stock.limit() as usize / LOW);
        // Not all workers begin with the same shelf.
        for peer in (0..workers).map(|distance| (me + distance) % workers) {
            self.shrink(peer, short, low);
        }
        if !self.scratch.is_empty() {
            // Ordering: Relaxed; an estimate, see `allowance`. Only this worker changes it.
            let drawn = &self.shared.shelves[self.me].drawn;
            let left = drawn.load(Ordering::Relaxed).saturating_sub(self.scratch.len());
            drawn.store(left, Ordering::Relaxed);
            self.shared.stock.give(self.scratch.drain(..));
        }
    }

    fn give_up(&mut self) {
        // Until the next collection promises do not count: somebody needs all there is (POOL-C).
        self.is_open = false;
        self.come_home();
        // Everybody gives up what there is, so everybody begins anew.
        // Ordering: Relaxed; an estimate, see `allowance`.
        self.shared.shelves[self.me].drawn.store(0, Ordering::Relaxed);
        let all = self.parts.iter_mut().flat_map(|part| {
            part.base -= part.free.len() as isize;
            part.free.drain(..)
        });
        self.shared.stock.give(all);
    }

    fn free(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.free.len()).sum();
        parts + self.shared.shelves[self.me].count()
    }
}

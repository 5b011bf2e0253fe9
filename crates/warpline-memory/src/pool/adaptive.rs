//! Adaptive pools: partitioned pools whose parts are sized by the traffic.
//!
//! Fujimoto and Panesar (1995, section 8) leave this as future work: lists whose sizes follow the
//! traffic between each pair of workers, within the same total. Here B(*i*, *j*) grows when it is
//! empty, by a contiguous piece of memory whose size follows the number of messages. (With small
//! pieces, each page soon has buffers of many pairs: 60 000 page misses instead of 300, with 60 MiB
//! in the model of the KSR-2.) At each fossil collection, a worker counts its messages to each
//! other worker since the last one; B(*i*, *j*) keeps that many buffers and a few more. Of the
//! others, those that came from *j* return to *j*. The rest go to the stock if it is low, so that
//! any part can get them; otherwise they stay, up to a few times what the part needs, because
//! buffers from the stock were last used on other cores. (Returning all of them to the stock made
//! the hypercube a fifth slower with two workers.)
//!
//! A worker that floods the others cannot take all buffers. At each fossil collection, each worker
//! says how many buffers it could use: those in use and the targets of its parts, or all if a draw
//! was refused. If there are enough for all, each worker is promised its number. Otherwise they
//! are divided in proportion to what the workers *need*, but no worker gets more than it could use
//! (weighted max-min fairness). No worker draws buffers that are promised to another. A worker
//! whose draw is refused takes from its own other parts. (With a promise of an equal part to every
//! worker, or half of it after little use, PHOLD beside a flood had a quarter of its rate, with
//! twice the buffers that its events need.)
//!
//! A worker needs a buffer for each message that it sent for good, and that is not committed by
//! its receiver: a sequential run would hold these messages, too. Those that may still be canceled
//! are no need, or a source that runs ahead would need all. How many of its messages may be, the
//! worker learns from the engine ([`PoolSide::note_uncommitted`]); until then, all workers need the
//! same. Nothing is counted for each message. What a worker needs to begin with is added, so a
//! worker that has sent nothing is promised something, too.

use super::{PoolSide, SharedPool, push};
use crate::sync::Ordering;

/// The buffers that a part keeps beyond its recent demand and a quarter of it, if there are enough.
const SLACK: usize = 16;

/// B(me, j), the buffers between this worker and worker j.
#[derive(Clone, Debug, Default)]
struct Part {
    free: Vec<u32>,
    /// Buffers acquired since the last fossil collection.
    used: usize,
    /// The recent peak of `used`, which decays slowly.
    demand: usize,
    /// The free buffers that it would have without any exchange with the peer.
    base: isize,
}

impl Part {
    /// Buffers that came from the peer, less those that went to it.
    const fn gained(&self) -> isize {
        self.free.len() as isize - self.base
    }
}

/// A worker draws its equal part in at least this many pieces.
const PIECES: usize = 16;
/// A part keeps what it needs and this number of times as much; the rest goes to the stock. LPs
/// with many events may have moved here, and their old worker draws others in its place. (Where a
/// hot spot wandered from worker to worker, the pool grew by 10 KB with each LP that moved.)
const KEPT: usize = 4;
/// The stock is low when it has less than the limit divided by this.
const LOW: usize = 8;
/// A worker needs its equal part divided by this beside what it has in use: with that it begins.
/// (With a sixteenth instead of an eighth, PHOLD beside a flood is up to 7 % slower where there are
/// some more buffers than it needs; with a quarter, it has half of the rate with the fewest.)
const BEGIN: usize = 8;
/// What falls, demand or need, falls by this part in each round.
const DECAY: usize = 8;

/// The side of one worker of an adaptive pool.
#[derive(Debug)]
pub(crate) struct AdaptivePool<'a> {
    shared: &'a SharedPool,
    me: usize,
    parts: Vec<Part>,
    /// An equal part of all buffers; 0 without a limit.
    share: usize,
    slack: usize,
    /// Whether a draw was refused since the last redistribution.
    refused: bool,
    /// Whether promises count: they do not for first events and in a shortage.
    is_open: bool,
    /// How many of the messages that this worker sent may still be canceled, if that is known.
    uncommitted: Option<usize>,
    /// Kept for their memory.
    scratch: Vec<u32>,
    claims: Vec<Claim>,
}

impl<'a> AdaptivePool<'a> {
    pub(crate) fn new(shared: &'a SharedPool, me: usize) -> Self {
        let (stock, workers) = (&shared.stock, shared.plan.workers.max(1));
        let limit = stock.limit() as usize;
        debug_assert!(me < shared.shelves.len(), "worker {me} has no shelf");
        let is_limited = stock.is_limited();
        let share = if is_limited { limit / workers } else { 0 };
        // Ordering: Relaxed; an estimate, see `allowance`.
        shared.shelves[me].promised.store(share, Ordering::Relaxed);
        shared.shelves[me].wanted.store(limit, Ordering::Relaxed);
        shared.shelves[me].needed.store(limit / workers, Ordering::Relaxed);
        Self {
            shared,
            me,
            parts: vec![Part::default(); shared.plan.workers],
            share,
            slack: if is_limited { SLACK.min(limit / (4 * workers * workers)) } else { SLACK },
            is_open: !is_limited,
            uncommitted: None,
            refused: false,
            scratch: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// How many buffers this worker may draw: all that are not promised to others, and at least
    /// those that are promised to it.
    fn allowance(&self) -> usize {
        let available = self.shared.stock.available();
        if available == 0 || self.share == 0 || !self.is_open {
            return available;
        }
        // Ordering: Relaxed; estimates. Two workers that draw at once may both get too many.
        let left = |shelf: &super::Shelf| {
            let promised = shelf.promised.load(Ordering::Relaxed);
            promised.saturating_sub(shelf.drawn.load(Ordering::Relaxed))
        };
        let mine = left(&self.shared.shelves[self.me]);
        let others = self.shared.shelves.iter().enumerate().filter(|(at, _)| *at != self.me);
        let others: usize = others.map(|(_, shelf)| left(shelf)).sum();
        let allowed = available.saturating_sub(others).max(mine.min(available));
        debug_assert!(allowed <= available, "more is allowed than there is");
        allowed
    }

    /// Fills an empty part, and takes a buffer from it.
    #[cold]
    #[inline(never)]
    fn refill(&mut self, to: usize) -> Option<u32> {
        self.collect_returned();
        if self.parts[to].free.is_empty() {
            self.draw(to);
        }
        let part = &mut self.parts[to];
        part.used += 1;
        part.free.pop()
    }

    fn draw(&mut self, to: usize) {
        let stock = &self.shared.stock;
        // A piece is contiguous, and its buffers are used together.
        let most = (self.share / PIECES).max(stock.batch() as usize);
        let piece = self.target(to).max(self.parts[to].used).clamp(1, most);
        let wanted = if self.is_open { piece } else { 1 };
        let count = wanted.min(self.allowance());
        debug_assert!(count <= wanted, "a draw beyond what is wanted");
        let got = stock.draw(count as u32, &mut self.parts[to].free) as usize;
        debug_assert!(got <= count, "more was drawn than allowed");
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
            debug_assert!(
                self.parts[largest].free.is_empty(),
                "POOL-A: the part was filled while its list was away"
            );
            self.parts[largest].free = free;
        }
    }

    /// Publishes how many buffers this worker could use and how many it needs, and how many it is
    /// promised: all that it could use, or its part of those that there are.
    fn promise(&mut self) {
        let shelves = &self.shared.shelves;
        let mine = &shelves[self.me];
        let limit = self.shared.stock.limit() as usize;
        let demand: usize = (0..self.parts.len()).map(|peer| self.target(peer)).sum();
        // Ordering: Relaxed, here and below; estimates, see `allowance`.
        let used = mine.drawn.load(Ordering::Relaxed).saturating_sub(self.free());
        let wanted =
            if std::mem::take(&mut self.refused) { limit } else { (used + demand).min(limit) };
        let needed = self.uncommitted.map_or(limit, |uncommitted| {
            let needed = used.saturating_sub(uncommitted) + limit / (BEGIN * shelves.len());
            let before = mine.needed.load(Ordering::Relaxed);
            needed.max(before - before.div_ceil(DECAY))
        });
        mine.wanted.store(wanted, Ordering::Relaxed);
        mine.needed.store(needed, Ordering::Relaxed);
        self.claims.clear();
        self.claims.extend(shelves.iter().map(|shelf| Claim {
            wanted: shelf.wanted.load(Ordering::Relaxed) as f64,
            needed: shelf.needed.load(Ordering::Relaxed).max(1) as f64,
        }));
        debug_assert_eq!(self.claims.len(), shelves.len(), "a worker without a claim");
        let fair = level(&mut self.claims, limit) * needed.max(1) as f64;
        debug_assert!(fair >= 0.0, "a worker is promised {fair} buffers");
        mine.promised.store(wanted.min(fair as usize), Ordering::Relaxed);
    }

    /// The number of buffers that a part keeps.
    fn target(&self, peer: usize) -> usize {
        let demand = self.parts[peer].demand;
        demand + demand / 4 + self.slack
    }

    /// Puts the buffers that others have returned into their parts.
    ///
    /// What a part does not lack is this worker's own: an LP that moves takes its events along, and
    /// their buffers become free at a worker that never got them. (In the part of that worker they
    /// would be too many there, and go back and forth with each fossil collection.)
    fn collect_returned(&mut self) {
        let (me, parts) = (self.me, &mut self.parts);
        self.shared.shelves[me].take_all(|buffer, peer| {
            let owner = if parts[peer].gained() < 0 { peer } else { me };
            parts[owner].free.push(buffer);
        });
    }

    /// The number of free buffers that a part keeps, and how many more it may have before it
    /// shrinks.
    fn bounds(&self, peer: usize, short: bool, low: bool) -> (usize, usize) {
        let mine = &self.shared.shelves[self.me];
        // Ordering: Relaxed; estimates, see `allowance`.
        let drawn = mine.drawn.load(Ordering::Relaxed);
        let promised = mine.promised.load(Ordering::Relaxed);
        let target = if short { self.parts[peer].demand } else { self.target(peer) };
        if low && drawn > promised {
            // This worker has more than it is promised, and others want theirs.
            (target * promised / drawn, 0)
        } else if short {
            (target, 0)
        } else {
            (target, target / 4 + self.slack)
        }
    }

    /// Returns surplus buffers of a part to the peer they came from. If the stock is `low`,
    /// collects the others for it.
    fn shrink(&mut self, peer: usize, short: bool, low: bool) {
        let (target, much) = self.bounds(peer, short, low);
        let (part, me) = (&mut self.parts[peer], self.me);
        let surplus = part.free.len().saturating_sub(target);
        if surplus <= much {
            return;
        }
        debug_assert!(surplus <= part.free.len(), "POOL-A: more is surplus than there is");
        let returned = if peer == self.me { 0 } else { part.gained().clamp(0, surplus as isize) };
        if returned > 0 {
            self.shared.shelves[peer].put(part.free.drain(..returned as usize), me);
        }
        let kept = if low { 0 } else { KEPT * target };
        let rest = (surplus - returned as usize).saturating_sub(kept);
        self.scratch.extend(part.free.drain(..rest));
        part.base -= rest as isize;
    }
}

/// What a worker asks for when the buffers are divided.
#[derive(Clone, Copy, Debug)]
struct Claim {
    /// The buffers that it could use.
    wanted: f64,
    /// Those of them that it cannot do without, more than 0.
    needed: f64,
}

/// The most that any worker gets for each buffer that it needs, when `limit` is divided fairly.
fn level(claims: &mut [Claim], limit: usize) -> f64 {
    claims.sort_unstable_by(|a, b| (a.wanted * b.needed).total_cmp(&(b.wanted * a.needed)));
    debug_assert!(claims.iter().all(|claim| claim.needed > 0.0), "a claim without a need");
    let mut left = limit as f64;
    let mut needed: f64 = claims.iter().map(|claim| claim.needed).sum();
    for claim in claims {
        let even = left / needed;
        if claim.wanted > even * claim.needed {
            return even;
        }
        left -= claim.wanted;
        needed -= claim.needed;
        debug_assert!(left >= -1e-6 * limit as f64, "more was promised than there is");
    }
    f64::INFINITY
}

impl PoolSide for AdaptivePool<'_> {
    #[inline]
    fn acquire(&mut self, to: usize) -> Option<u32> {
        let part = &mut self.parts[to];
        let Some(buffer) = part.free.pop() else { return self.refill(to) };
        part.used += 1;
        Some(buffer)
    }

    #[inline]
    fn release(&mut self, buffer: u32, from: usize) {
        push(&mut self.parts[from].free, buffer);
    }

    fn redistribute(&mut self, short: bool) {
        self.collect_returned();
        self.is_open = true;
        for part in &mut self.parts {
            let used = std::mem::take(&mut part.used);
            part.demand = used.max(part.demand - part.demand.div_ceil(DECAY));
        }
        if self.share > 0 {
            self.promise();
        }
        let (me, workers, stock) = (self.me, self.parts.len(), &self.shared.stock);
        debug_assert!(self.scratch.is_empty(), "POOL-A: buffers that were to be given are left");
        let low = short || (stock.is_limited() && stock.available() < stock.limit() as usize / LOW);
        // Each worker begins with another shelf, so they do not all wait for the same lock.
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

    fn note_uncommitted(&mut self, messages: usize) {
        self.uncommitted = Some(messages);
    }

    fn give_up(&mut self) {
        // Promises do not count until the next fossil collection: others may need all (POOL-C).
        self.is_open = false;
        self.collect_returned();
        // All workers give up their buffers, so their counts begin again.
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

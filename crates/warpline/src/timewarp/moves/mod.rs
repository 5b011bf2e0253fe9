//! What workers know of LPs that move: the batch that was announced, those on the way, and who
//! decides.
//!
//! Called by [`moving`](super::moving), which says how LPs move.

mod package;
mod planning;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use warpline_core::{LpId, Model};
use warpline_memory::{CachePadded, Inbox, processor_time};

pub(super) use self::package::Package;
use self::planning::Planner;
use super::{event::Event, gvt::Bound, load::Load};
use crate::{
    load_sharing::Gathered,
    settings::{Settings, TimeWarp},
};

/// Notes of a report: the first worker has announced moves.
pub(super) const MOVES: u64 = 1 << 8;
/// Notes of a report: what LPs do is to be measured from now on.
pub(super) const MEASURE: u64 = 1 << 9;
/// Notes of a report: what LPs have done is to be handed in.
pub(super) const HAND_IN: u64 = 1 << 10;
/// Rounds from the announcement of a batch to the next one.
pub(super) const SETTLED: u64 = 4;

/// An LP is to move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) lp: LpId,
    pub(super) to: usize,
}

/// The LPs that come to a worker.
pub(super) type Arrivals<M> = CachePadded<Inbox<Box<Package<M>>>>;

/// What the workers share, if LPs move.
#[derive(Debug)]
pub(super) struct SharedMoves<M: Model> {
    /// By worker.
    pub(super) arrivals: Box<[Arrivals<M>]>,
    /// The batch that was announced last. It is written before a report, and read after the result
    /// of that round (edges GVT-1 and GVT-2); the next is written rounds later.
    pub(super) batch: Mutex<Arc<[Move]>>,
    pub(super) started: Instant,
    /// How many nanoseconds all moves have taken.
    pub(super) spent: AtomicU64,
    /// What each worker has committed.
    pub(super) loads: Box<[CachePadded<Load>]>,
    /// What LPs have done.
    pub(super) gathered: Gathered,
}

impl<M: Model> SharedMoves<M> {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            arrivals: (0..workers).map(|_| CachePadded::default()).collect(),
            batch: Mutex::new(Arc::default()),
            started: Instant::now(),
            spent: AtomicU64::new(0),
            loads: (0..workers).map(|_| CachePadded::default()).collect(),
            gathered: Gathered::default(),
        }
    }

    pub(super) fn workers(&self) -> usize {
        self.loads.len()
    }

    /// Events that each worker has committed, and the nanoseconds that they took.
    pub(super) fn committed(&self) -> impl ExactSizeIterator<Item = (u64, f64)> + Clone {
        self.loads.iter().map(|load| load.get())
    }

    pub(super) fn announce(&self, batch: Arc<[Move]>) {
        debug_assert!(
            !batch.is_empty() && batch.iter().all(|one| one.to < self.workers()),
            "MOVE-B: an LP would be at no worker: {batch:?}"
        );
        *self.batch.lock().unwrap_or_else(PoisonError::into_inner) = batch;
    }

    pub(super) fn announced(&self) -> Arc<[Move]> {
        Arc::clone(&self.batch.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many nanoseconds moves have taken, all workers together.
    pub(super) fn spent(&self) -> u64 {
        // Ordering: Relaxed, here and in `spend`; for estimates, it publishes nothing.
        self.spent.load(Ordering::Relaxed)
    }

    /// Notes that this thread has moved LPs since this time.
    pub(super) fn spend(&self, since: Duration) {
        let spent = self.time().saturating_sub(since);
        self.spent.fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The time of this thread: moves do not take longer because another program has the core.
    pub(super) fn time(&self) -> Duration {
        processor_time().unwrap_or_else(|| self.started.elapsed())
    }

    /// The LPs that are on their way to a worker; they stay there.
    #[cfg(test)]
    pub(super) fn on_the_way<R>(
        &self,
        to: usize,
        look: impl FnOnce(&mut dyn Iterator<Item = &Package<M>>) -> R,
    ) -> R {
        let blocks: Vec<_> = self.arrivals[to].drain().collect();
        let result = look(&mut blocks.iter().flat_map(|block| &block.items).map(|lp| &**lp));
        blocks.into_iter().for_each(|block| self.arrivals[to].push(block));
        result
    }
}

/// What a worker knows of moves.
#[derive(Debug)]
pub(super) struct Moves {
    /// The batch that was announced in the last round.
    pub(super) announced: Option<Arc<[Move]>>,
    /// The LPs that are to come here, each with the mail that has come before it.
    pub(super) awaited: BTreeMap<LpId, Vec<Event>>,
    /// The first worker decides which LPs move.
    pub(super) planner: Option<Planner>,
}

impl Moves {
    /// LPs move at the least occasion, in a run that repeats itself.
    #[cfg(test)]
    pub(super) fn hasten(&mut self, seed: u64) {
        self.planner = self.planner.is_some().then(|| Planner::hasty(seed));
    }

    /// Those of the worker `me`; `move_lps` says how LPs move, if they do.
    pub(super) fn new(settings: &Settings<TimeWarp>, move_lps: bool, me: usize) -> Self {
        let planner =
            (me == 0 && move_lps).then(|| Planner::new(settings.engine.balance, settings.seed));
        Self { announced: None, awaited: BTreeMap::new(), planner }
    }

    /// Mail for the LPs of this batch that come here is kept from now on. (The code of a tree is
    /// compiled here, not with each model.)
    pub(super) fn await_those_to(&mut self, me: usize, batch: &[Move]) {
        let to_me = batch.iter().filter(|one| one.to == me);
        self.awaited.extend(to_me.map(|one| (one.lp, Vec::new())));
    }

    /// An LP has come: returns its mail, if it was awaited.
    pub(super) fn end_wait(&mut self, lp: LpId) -> Option<Vec<Event>> {
        self.awaited.remove(&lp)
    }

    /// The mail that is kept.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Event> {
        self.awaited.values().flatten()
    }

    /// A bound of the mail that is kept.
    pub(super) fn least(&self) -> Bound {
        let bound = |mail: &Event| {
            let key = Bound(mail.key.words());
            if mail.cancels().is_some() { key.before() } else { key }
        };
        self.kept().map(bound).min().unwrap_or(Bound::NEVER)
    }
}

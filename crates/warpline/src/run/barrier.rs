//! The barrier of a rank's workers, with a reduction: each worker contributes a number and flags;
//! all of them get the least number and the union of the flags.
//!
//! The conservative engine waits here at the end of each window: the number is the first window in
//! which a worker has an event, and the least one is the LBTS, the lower bound on the time stamps
//! that are still to be handled. The speculative engine waits here when all workers give up their
//! windows.
//!
//! # Invariants
//!
//! - **BARRIER-A.** After [`Barrier::wait`] each worker sees what all others wrote before they came
//!   to the same round, and nothing that they wrote for a later round: even and odd rounds use
//!   places of their own, and no worker is a whole round ahead. Checked by `tests/loom_barrier.rs`.
//!
//! # Happens-before edges
//!
//! | Edge      | Release side                | Acquire side            | Publishes         |
//! |-----------|-----------------------------|-------------------------|-------------------|
//! | BARRIER-1 | each worker, `arrived`      | the last one, `arrived` | its contribution  |
//! | BARRIER-2 | the last one, `rounds`      | the others, `rounds`    | all contributions |
//!
//! `arrived` is changed by read-modify-write operations only, until the last worker resets it.

use warpline_memory::CachePadded;

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What one worker contributes at a barrier, and what all workers get from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    /// The first window in which the worker has an event, or has sent one; all ones for none. The
    /// least of all is the LBTS.
    pub(crate) lbts: u64,
    /// One bit for each question with a yes or no answer. The result is the union.
    pub(crate) flags: u64,
}

impl Reduction {
    /// The contribution of a worker that has no events and no flags.
    pub(crate) const IDENTITY: Self = Self { lbts: u64::MAX, flags: 0 };

    /// Reduces two contributions to one.
    pub(crate) fn combine(self, other: Self) -> Self {
        Self { lbts: self.lbts.min(other.lbts), flags: self.flags | other.flags }
    }
}

/// The place for one worker's contribution to an even or an odd round.
#[derive(Debug)]
struct Place {
    lbts: AtomicU64,
    flags: AtomicU64,
}

/// A barrier for all workers of a rank, used round after round.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// For even and for odd rounds, by worker.
    places: [Box<[CachePadded<Place>]>; 2],
    arrived: CachePadded<AtomicUsize>,
    /// How many rounds are complete.
    rounds: CachePadded<AtomicU64>,
    /// A worker will not come any more, so the others must not wait.
    broken: AtomicBool,
}

/// A worker has died, so no barrier will ever be complete.
#[derive(Debug)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(workers: usize) -> Self {
        let places = || {
            let place = || Place { lbts: AtomicU64::new(0), flags: AtomicU64::new(0) };
            (0..workers).map(|_| CachePadded::new(place())).collect()
        };
        Self {
            places: [places(), places()],
            arrived: CachePadded::new(AtomicUsize::new(0)),
            rounds: CachePadded::new(AtomicU64::new(0)),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits as worker `me` until all workers have come to this round, and reduces what they
    /// contribute. Calls `idle` while others are missing, with a number that grows.
    pub(crate) fn wait(
        &self,
        me: usize,
        round: u64,
        contribution: Reduction,
        mut idle: impl FnMut(u32),
    ) -> Result<Reduction, Broken> {
        let places = &self.places[(round % 2) as usize];
        // Ordering: Relaxed; edges BARRIER-1 and BARRIER-2 publish it.
        places[me].lbts.store(contribution.lbts, Ordering::Relaxed);
        places[me].flags.store(contribution.flags, Ordering::Relaxed);
        // Ordering: AcqRel, edge BARRIER-1.
        let arrived = self.arrived.fetch_add(1, Ordering::AcqRel) + 1;
        debug_assert!(arrived <= places.len(), "BARRIER-A: worker {me} comes to a round twice");
        if arrived == places.len() {
            // Ordering: Relaxed; the others look at it after edge BARRIER-2.
            self.arrived.store(0, Ordering::Relaxed);
            // Ordering: Release, edge BARRIER-2.
            self.rounds.store(round + 1, Ordering::Release);
        } else {
            let mut waited = 0;
            // Ordering: Acquire, edge BARRIER-2.
            while self.rounds.load(Ordering::Acquire) <= round {
                if self.is_broken() {
                    return Err(Broken);
                }
                idle(waited);
                waited = waited.saturating_add(1);
            }
        }
        // Ordering: Relaxed; edges BARRIER-1 and BARRIER-2 have published it.
        let of_place = |place: &Place| Reduction {
            lbts: place.lbts.load(Ordering::Relaxed),
            flags: place.flags.load(Ordering::Relaxed),
        };
        let contributions = places.iter().map(|place| of_place(place));
        let all = contributions.fold(Reduction::IDENTITY, Reduction::combine);
        debug_assert_eq!(all.combine(contribution), all, "BARRIER-A: worker {me} is left out");
        Ok(all)
    }

    /// Whether a worker will not come any more.
    pub(crate) fn is_broken(&self) -> bool {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.broken.load(Ordering::Relaxed)
    }

    /// Releases all workers that wait, because one will not come any more.
    pub(crate) fn set_broken(&self) {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.broken.store(true, Ordering::Relaxed);
    }
}

//! Where workers meet at the end of a window: each leaves mail for the others, and says where it
//! goes on.
//!
//! # Invariants
//!
//! - **MEET-A.** What a worker has put down before [`Barrier::meet`] all others find after it, and
//!   they find nothing newer: places are used in turn for even and odd rounds, and nobody is a
//!   whole round ahead.
//!
//! # Happens-before edges
//!
//! | Edge   | Release side                        | Acquire side                    | Publishes     |
//! |--------|-------------------------------------|---------------------------------|---------------|
//! | MEET-1 | each worker, `arrived` (read-modify-write) | the last one, `arrived`  | what it put down |
//! | MEET-2 | the last one, `rounds`            | the others, `rounds`          | the same, of all |

use warpline_memory::CachePadded;

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What a worker says at a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    /// The first window in which it has an event, or has sent one; all ones for none.
    pub(crate) first: u64,
    /// Whatever one bit each is enough for; a round gives the union.
    pub(crate) flags: u64,
}

impl Reduction {
    pub(crate) const IDENTITY: Self = Self { first: u64::MAX, flags: 0 };
}

/// One worker's place, of even or of odd rounds.
#[derive(Debug)]
struct Place {
    first: AtomicU64,
    flags: AtomicU64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// Of even and of odd rounds, by worker.
    places: [Box<[CachePadded<Place>]>; 2],
    arrived: CachePadded<AtomicUsize>,
    rounds: CachePadded<AtomicU64>,
    /// A worker is gone: nobody waits any more.
    broken: AtomicBool,
}

/// A worker has died, so that no round will ever be complete.
#[derive(Debug)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(workers: usize) -> Self {
        let places = || {
            let place = || Place { first: AtomicU64::new(0), flags: AtomicU64::new(0) };
            (0..workers).map(|_| CachePadded::new(place())).collect()
        };
        Self {
            places: [places(), places()],
            arrived: CachePadded::new(AtomicUsize::new(0)),
            rounds: CachePadded::new(AtomicU64::new(0)),
            broken: AtomicBool::new(false),
        }
    }

    /// Says a word, as worker `me` at its `round`-th round, waits for all others, and gives
    /// back the least window and all flags. `wait` is called as long as others are missing,
    /// with a number that grows.
    pub(crate) fn meet(
        &self,
        me: usize,
        round: u64,
        word: Reduction,
        mut wait: impl FnMut(u32),
    ) -> Result<Reduction, Broken> {
        let places = &self.places[(round % 2) as usize];
        // Ordering: Relaxed; edges MEET-1 and MEET-2 publish it.
        places[me].first.store(word.first, Ordering::Relaxed);
        places[me].flags.store(word.flags, Ordering::Relaxed);
        // Ordering: AcqRel, edge MEET-1.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == places.len() {
            // Ordering: Relaxed; the others look at it after edge MEET-2.
            self.arrived.store(0, Ordering::Relaxed);
            // Ordering: Release, edge MEET-2.
            self.rounds.store(round + 1, Ordering::Release);
        } else {
            let mut waited = 0;
            // Ordering: Acquire, edge MEET-2.
            while self.rounds.load(Ordering::Acquire) <= round {
                if self.is_broken() {
                    return Err(Broken);
                }
                wait(waited);
                waited = waited.saturating_add(1);
            }
        }
        Ok(places.iter().fold(Reduction::IDENTITY, |all, place| Reduction {
            first: all.first.min(place.first.load(Ordering::Relaxed)),
            flags: all.flags | place.flags.load(Ordering::Relaxed),
        }))
    }

    /// Whether somebody will not come.
    pub(crate) fn is_broken(&self) -> bool {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.broken.load(Ordering::Relaxed)
    }

    /// Lets nobody wait any more: a worker will not come.
    pub(crate) fn set_broken(&self) {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.broken.store(true, Ordering::Relaxed);
    }
}

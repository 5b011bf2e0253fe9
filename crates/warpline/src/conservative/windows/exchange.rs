//! Where workers meet at the end of a window: each leaves mail for the others, and says where it
//! goes on.
//!
//! # Invariants
//!
//! - **MEET-A.** What a worker has put down before [`Exchange::meet`] all others find after it, and
//!   they find nothing newer: places are used in turn for even and odd meetings, and nobody is a
//!   whole meeting ahead.
//!
//! # Happens-before edges
//!
//! | Edge   | Release side                        | Acquire side                    | Publishes     |
//! |--------|-------------------------------------|---------------------------------|---------------|
//! | MEET-1 | each worker, `arrived` (read-modify-write) | the last one, `arrived`  | what it put down |
//! | MEET-2 | the last one, `meetings`            | the others, `meetings`          | the same, of all |

use warpline_memory::CachePadded;

use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// What a worker says at a meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The first window in which it has an event, or has sent one; all ones for none.
    pub(crate) first: u64,
    /// Whatever one bit each is enough for; a meeting gives the union.
    pub(crate) notes: u64,
}

impl Word {
    pub(crate) const NOTHING: Self = Self { first: u64::MAX, notes: 0 };
}

/// One worker's place, of even or of odd meetings.
#[derive(Debug)]
struct Place {
    first: AtomicU64,
    notes: AtomicU64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// Of even and of odd meetings, by worker.
    places: [Box<[CachePadded<Place>]>; 2],
    arrived: CachePadded<AtomicUsize>,
    meetings: CachePadded<AtomicU64>,
    /// A worker is gone: nobody waits any more.
    broken: AtomicBool,
}

/// A worker has died, so that no meeting will ever be complete.
#[derive(Debug)]
pub(crate) struct Broken;

impl Exchange {
    pub(crate) fn new(workers: usize) -> Self {
        let places = || {
            let place = || Place { first: AtomicU64::new(0), notes: AtomicU64::new(0) };
            (0..workers).map(|_| CachePadded::new(place())).collect()
        };
        Self {
            places: [places(), places()],
            arrived: CachePadded::new(AtomicUsize::new(0)),
            meetings: CachePadded::new(AtomicU64::new(0)),
            broken: AtomicBool::new(false),
        }
    }

    /// Says a word, as worker `me` at its `meeting`-th meeting, waits for all others, and gives
    /// back the least window and all notes. `wait` is called as long as others are missing,
    /// with a number that grows.
    pub(crate) fn meet(
        &self,
        me: usize,
        meeting: u64,
        word: Word,
        mut wait: impl FnMut(u32),
    ) -> Result<Word, Broken> {
        let places = &self.places[(meeting % 2) as usize];
        // Ordering: Relaxed; edges MEET-1 and MEET-2 publish it.
        places[me].first.store(word.first, Ordering::Relaxed);
        places[me].notes.store(word.notes, Ordering::Relaxed);
        // Ordering: AcqRel, edge MEET-1.
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == places.len() {
            // Ordering: Relaxed; the others look at it after edge MEET-2.
            self.arrived.store(0, Ordering::Relaxed);
            // Ordering: Release, edge MEET-2.
            self.meetings.store(meeting + 1, Ordering::Release);
        } else {
            let mut waited = 0;
            // Ordering: Acquire, edge MEET-2.
            while self.meetings.load(Ordering::Acquire) <= meeting {
                if self.is_broken() {
                    return Err(Broken);
                }
                wait(waited);
                waited = waited.saturating_add(1);
            }
        }
        Ok(places.iter().fold(Word::NOTHING, |all, place| Word {
            first: all.first.min(place.first.load(Ordering::Relaxed)),
            notes: all.notes | place.notes.load(Ordering::Relaxed),
        }))
    }

    /// Whether somebody will not come.
    pub(crate) fn is_broken(&self) -> bool {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.broken.load(Ordering::Relaxed)
    }

    /// Lets nobody wait any more: a worker will not come.
    pub(crate) fn break_up(&self) {
        // Ordering: Relaxed; it publishes nothing but itself.
        self.broken.store(true, Ordering::Relaxed);
    }
}

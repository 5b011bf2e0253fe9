//! The stock: buffers that belong to no worker, which are numbers never issued and spare buffers.
//!
//! All pools draw from it, and give to it in a shortage. The sender pool and the adaptive pool also
//! give to it when they have more than they need. Numbers that were never issued can also be *set
//! aside*: then their memory is used for something else ([`Outside`](super::outside::Outside)).

use std::sync::PoisonError;

use crossbeam_utils::CachePadded;

use super::BUFFERS_MAX;
use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Mutex, Ordering};

/// The most buffers that a worker draws at a time if it does not know how many it needs.
const BATCH_MAX: u32 = 256;

/// The buffers of no worker.
#[derive(Debug)]
pub(crate) struct Stock {
    limit: u32,
    is_limited: bool,
    batch: u32,
    /// On other cache lines than the fields above, which are only read.
    changing: CachePadded<Changing>,
}

/// The fields that change while workers run.
#[derive(Debug, Default)]
struct Changing {
    /// How many numbers were issued, in the lower half, and how many are set aside. No number is
    /// issued twice; those that are set aside are never among the issued ones.
    taken: AtomicU64,
    /// The most numbers that were issued or set aside at one time.
    most: AtomicU32,
    /// The most numbers that were set aside at one time.
    aside_most: AtomicU32,
    spare: Mutex<Vec<u32>>,
    spares: AtomicUsize,
}

/// Numbers that are not free to be issued.
#[derive(Clone, Copy)]
struct Taken {
    issued: u32,
    aside: u32,
}

impl Taken {
    const fn from_bits(bits: u64) -> Self {
        Self { issued: bits as u32, aside: (bits >> 32) as u32 }
    }

    const fn to_bits(self) -> u64 {
        self.issued as u64 | (self.aside as u64) << 32
    }

    /// How many of so many numbers are left.
    const fn left(self, limit: u32) -> u32 {
        debug_assert!(self.aside <= limit, "POOL-B: more is set aside than there is");
        debug_assert!(self.issued <= limit - self.aside, "POOL-B: more is taken than there is");
        limit - self.issued - self.aside
    }
}

impl Stock {
    pub(crate) fn new(workers: usize, limit: Option<u32>) -> Self {
        let is_limited = limit.is_some();
        let limit = limit.unwrap_or(BUFFERS_MAX).min(BUFFERS_MAX);
        let fair = limit / (8 * u32::try_from(workers).unwrap_or(u32::MAX).clamp(1, 1 << 20));
        let batch = fair.clamp(1, BATCH_MAX);
        debug_assert!(workers > 0, "a stock is for some workers");
        Self { limit, is_limited, batch, changing: CachePadded::default() }
    }

    /// The most buffers there may be.
    pub(crate) const fn limit(&self) -> u32 {
        self.limit
    }

    /// Whether the limit was chosen, so that the pools must divide it.
    pub(crate) const fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// How many buffers were issued, and how many numbers are set aside.
    fn taken(&self) -> Taken {
        // Ordering: Relaxed; counts for reports, and an estimate.
        Taken::from_bits(self.changing.taken.load(Ordering::Relaxed))
    }

    /// The most numbers that were set aside at one time.
    pub(crate) fn aside_most(&self) -> u32 {
        // Ordering: Relaxed; a count for reports.
        self.changing.aside_most.load(Ordering::Relaxed)
    }

    /// How many numbers are set aside.
    pub(crate) fn aside(&self) -> u32 {
        self.taken().aside
    }

    /// How many buffers were issued.
    pub(crate) fn issued(&self) -> u32 {
        self.taken().issued
    }

    /// The most numbers that were issued or set aside at one time.
    pub(crate) fn most(&self) -> u32 {
        // Ordering: Relaxed; a count for reports.
        self.changing.most.load(Ordering::Relaxed)
    }

    /// How many buffers any worker could draw.
    pub(crate) fn available(&self) -> usize {
        // Ordering: Relaxed; an estimate.
        self.changing.spares.load(Ordering::Relaxed) + self.taken().left(self.limit) as usize
    }

    /// Takes up to `count` numbers that were never issued. Returns what was taken before, and how
    /// many it takes.
    fn take(&self, count: u32, then: impl Fn(Taken, u32) -> Taken) -> (Taken, u32) {
        let changing = &self.changing;
        let mut now = self.taken();
        loop {
            let got = count.min(now.left(self.limit));
            if got == 0 {
                return (now, 0);
            }
            let (old, new) = (now.to_bits(), then(now, got));
            debug_assert_eq!(
                u64::from(new.issued) + u64::from(new.aside),
                u64::from(now.issued) + u64::from(now.aside) + u64::from(got),
                "POOL-A: a number was taken twice, or lost"
            );
            // Ordering: Relaxed; the number alone makes one worker its holder (POOL-A), and no
            // worker has written to its buffer.
            let swapped = changing.taken.compare_exchange_weak(
                old,
                new.to_bits(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match swapped {
                Ok(_) => {
                    // Ordering: Relaxed; a count for reports.
                    changing.most.fetch_max(new.issued + new.aside, Ordering::Relaxed);
                    changing.aside_most.fetch_max(new.aside, Ordering::Relaxed);
                    return (now, got);
                }
                Err(bits) => now = Taken::from_bits(bits),
            }
        }
    }

    /// Sets up to `count` numbers aside, and returns how many.
    pub(crate) fn set_aside(&self, count: u32) -> u32 {
        self.take(count, |taken, got| Taken { aside: taken.aside + got, ..taken }).1
    }

    /// Puts numbers back that were set aside.
    pub(crate) fn put_back(&self, count: u32) {
        debug_assert!(self.aside() >= count, "POOL-B: more is put back than was set aside");
        let bits = Taken { issued: 0, aside: count }.to_bits();
        // Ordering: Relaxed; as in `take`.
        self.changing.taken.fetch_sub(bits, Ordering::Relaxed);
    }

    /// How many buffers to draw at a time if the need is not known.
    pub(crate) const fn batch(&self) -> u32 {
        self.batch
    }

    /// Draws up to `count` buffers: spare ones, or else new ones, whose memory is contiguous. The
    /// first to use is the last in `into`. Returns how many it drew.
    #[cold]
    pub(crate) fn draw(&self, count: u32, into: &mut Vec<u32>) -> u32 {
        if count == 0 {
            return 0;
        }
        let before = into.len();
        // Ordering: Relaxed; only a hint whether to take the lock.
        if self.changing.spares.load(Ordering::Relaxed) > 0 {
            // A panic under the lock leaves the list valid, because each operation of `Vec` does.
            let mut spare = self.changing.spare.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = spare.len().saturating_sub(count as usize);
            into.extend(spare.drain(kept..));
            self.changing.spares.store(kept, Ordering::Relaxed);
        }
        if into.len() == before {
            let then = |taken: Taken, got| Taken { issued: taken.issued + got, ..taken };
            let (Taken { issued, .. }, got) = self.take(count, then);
            into.extend((issued..issued + got).rev());
        }
        debug_assert!(into.len() - before <= count as usize, "a worker got more than it drew");
        (into.len() - before) as u32
    }

    /// Adds buffers that a worker does not need.
    pub(crate) fn give(&self, buffers: impl Iterator<Item = u32>) {
        let mut spare = self.changing.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend(buffers);
        debug_assert!(spare.len() <= self.issued() as usize, "POOL-A: a buffer was given twice");
        // Ordering: Relaxed; only a hint, the lock guards the list.
        self.changing.spares.store(spare.len(), Ordering::Relaxed);
    }
}

//! The stock: buffers that belong to no worker. Numbers that were never issued, and spare ones.
//!
//! All pools draw from it, and give to it in a shortage; the sender and the adaptive pool also do
//! when they have more than they need.

use std::sync::PoisonError;

use crossbeam_utils::CachePadded;

use super::BUFFERS_MAX;
use crate::sync::{AtomicU32, AtomicUsize, Mutex, Ordering};

/// The most buffers that a worker draws at a time, where it does not know how many it needs.
const BATCH_MAX: u32 = 256;

/// See the module.
#[derive(Debug)]
pub(crate) struct Stock {
    limit: u32,
    is_limited: bool,
    batch: u32,
    /// Away from what is only read, above.
    changing: CachePadded<Changing>,
}

/// What changes while workers run.
#[derive(Debug, Default)]
struct Changing {
    /// Buffers handed out so far; these numbers never come back to be issued again.
    issued: AtomicU32,
    spare: Mutex<Vec<u32>>,
    spares: AtomicUsize,
}

impl Stock {
    pub(crate) fn new(workers: usize, limit: Option<u32>) -> Self {
        let is_limited = limit.is_some();
        let limit = limit.unwrap_or(BUFFERS_MAX).min(BUFFERS_MAX);
        let fair = limit / (8 * u32::try_from(workers).unwrap_or(u32::MAX).clamp(1, 1 << 20));
        let batch = fair.clamp(1, BATCH_MAX);
        Self { limit, is_limited, batch, changing: CachePadded::default() }
    }

    /// The most buffers there may be.
    pub(crate) const fn limit(&self) -> u32 {
        self.limit
    }

    /// Whether somebody chose the limit, so that it has to be divided.
    pub(crate) const fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// How many buffers were issued so far.
    pub(crate) fn issued(&self) -> u32 {
        // Ordering: Relaxed; a count for reports.
        self.changing.issued.load(Ordering::Relaxed)
    }

    /// Buffers that anybody could draw.
    pub(crate) fn available(&self) -> usize {
        // Ordering: Relaxed; an estimate.
        self.changing.spares.load(Ordering::Relaxed) + (self.limit - self.issued()) as usize
    }

    /// How many to draw at a time, where the need is not known.
    pub(crate) const fn batch(&self) -> u32 {
        self.batch
    }

    /// Draws up to `count` buffers: spare ones, or else new ones, whose memory is contiguous. Those
    /// to take first come last. Gives back how many it got.
    #[cold]
    pub(crate) fn draw(&self, count: u32, into: &mut Vec<u32>) -> u32 {
        if count == 0 {
            return 0;
        }
        let before = into.len();
        // Ordering: Relaxed; only a hint whether to take the lock.
        if self.changing.spares.load(Ordering::Relaxed) > 0 {
            // A worker that panicked while it held the lock left the list whole: `Vec` keeps it so.
            let mut spare = self.changing.spare.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = spare.len().saturating_sub(count as usize);
            into.extend(spare.drain(kept..));
            self.changing.spares.store(kept, Ordering::Relaxed);
        }
        if into.len() == before {
            // Ordering: Relaxed; the number alone gives the buffers to one worker (POOL-A), and
            // nothing has been written to them.
            let issue = |issued: u32| {
                (issued < self.limit).then(|| issued.saturating_add(count).min(self.limit))
            };
            let issued = &self.changing.issued;
            if let Ok(first) = issued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, issue) {
                into.extend((first..first.saturating_add(count).min(self.limit)).rev());
            }
        }
        (into.len() - before) as u32
    }

    /// Takes buffers that a worker does not need.
    pub(crate) fn give(&self, buffers: impl Iterator<Item = u32>) {
        let mut spare = self.changing.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend(buffers);
        // Ordering: Relaxed; only a hint, the lock guards the list.
        self.changing.spares.store(spare.len(), Ordering::Relaxed);
    }
}

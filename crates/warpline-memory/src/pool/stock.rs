//! The stock: buffers that belong to no worker, which are numbers never issued and spare buffers.
//!
//! All pools draw from it, and give to it in a shortage. The sender pool and the adaptive pool also
//! give to it when they have more than they need.

use std::sync::PoisonError;

use crossbeam_utils::CachePadded;

use super::BUFFERS_MAX;
use crate::sync::{AtomicU32, AtomicUsize, Mutex, Ordering};

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
    /// How many numbers were issued; no number is issued twice.
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

    /// Whether the limit was chosen, so that the pools must divide it.
    pub(crate) const fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// How many buffers were issued.
    pub(crate) fn issued(&self) -> u32 {
        // Ordering: Relaxed; a count for reports.
        self.changing.issued.load(Ordering::Relaxed)
    }

    /// How many buffers any worker could draw.
    pub(crate) fn available(&self) -> usize {
        // Ordering: Relaxed; an estimate.
        self.changing.spares.load(Ordering::Relaxed) + (self.limit - self.issued()) as usize
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
            // Ordering: Relaxed; the number alone makes one worker their holder (POOL-A), and no
            // worker has written to them.
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

    /// Adds buffers that a worker does not need.
    pub(crate) fn give(&self, buffers: impl Iterator<Item = u32>) {
        let mut spare = self.changing.spare.lock().unwrap_or_else(PoisonError::into_inner);
        spare.extend(buffers);
        // Ordering: Relaxed; only a hint, the lock guards the list.
        self.changing.spares.store(spare.len(), Ordering::Relaxed);
    }
}

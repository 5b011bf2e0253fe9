//! The failure that ends a run with several workers: the first in the order of events, not of wall
//! time.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use warpline_core::{EventKey, LpId};

use crate::RunError;

/// The first failure counts: in `start` by process, then by event, then when the run is taken
/// apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailureOrder {
    Start(LpId),
    Event(EventKey),
    End,
}

impl FailureOrder {
    /// As words, for other ranks; they compare as the places do. No failure is after all of them.
    pub(crate) fn to_words(this: Option<Self>) -> [u64; 4] {
        match this {
            Some(Self::Start(lp)) => [0, u64::from(lp.get()), 0, 0],
            Some(Self::Event(key)) => {
                let [time, step_and_sender, sequence] = key.words();
                [1, time, step_and_sender, sequence]
            }
            Some(Self::End) => [2, 0, 0, 0],
            None => [3, 0, 0, 0],
        }
    }

    /// What [`to_words`](Self::to_words) made, or nothing if it cannot have been that.
    pub(crate) fn from_words([kind, a, b, c]: [u64; 4]) -> Option<Option<Self>> {
        Some(match kind {
            0 => Some(Self::Start(LpId::new(u32::try_from(a).ok()?))),
            1 => Some(Self::Event(EventKey::from_words([a, b, c])?)),
            2 => Some(Self::End),
            3 => None,
            _ => return None,
        })
    }
}

/// The first failure that is known so far.
#[derive(Debug, Default)]
pub(crate) struct FirstFailure {
    /// Set after `first`, so that workers look there.
    failed: AtomicBool,
    first: Mutex<Option<(FailureOrder, RunError)>>,
}

impl FirstFailure {
    /// Notes a failure, unless an earlier one is known.
    pub(crate) fn note(&self, order: FailureOrder, error: RunError) {
        // A worker that panicked in here left the failure whole.
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| order < *known) {
            *first = Some((order, error));
        }
        // Ordering: Release; who sees it also sees what the failing worker has seen before.
        self.failed.store(true, Ordering::Release);
    }

    /// Whether there is one.
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        // Ordering: Acquire, see `note`.
        self.failed.load(Ordering::Acquire)
    }

    /// Its place.
    pub(crate) fn order(&self) -> Option<FailureOrder> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(|(order, _)| *order)
    }

    /// The failure and its place, which nobody gets again.
    pub(crate) fn take(&self) -> Option<(FailureOrder, RunError)> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

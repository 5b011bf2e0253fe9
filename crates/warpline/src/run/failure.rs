//! The failure that ends a run with several workers: the first one in the order of events, not in
//! that of wall time.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use warpline_core::{EventKey, LpId};

use super::summaries::model_error;
use crate::{RunError, panics, settings::Parallel};

/// Where a failure happened. The first one counts: those in `start` in the order of the LPs, then
/// those in events, then those at the end, when LPs are taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailureOrder {
    Start(LpId),
    Event(EventKey),
    End,
}

impl FailureOrder {
    /// As words, for other ranks; they compare as failures do. No failure is greater than all.
    pub(crate) fn to_words(this: Option<Self>) -> [u64; 4] {
        let words = match this {
            Some(Self::Start(lp)) => [0, u64::from(lp.get()), 0, 0],
            Some(Self::Event(key)) => {
                let [time, step_and_sender, sequence] = key.words();
                [1, time, step_and_sender, sequence]
            }
            Some(Self::End) => [2, 0, 0, 0],
            None => [3, 0, 0, 0],
        };
        debug_assert_eq!(Self::from_words(words), Some(this), "other ranks read another failure");
        words
    }

    /// Reads what [`to_words`](Self::to_words) made; `None` if the words cannot come from it.
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

/// Why the workers of a rank could not go on: the first failure of this rank; nothing if another
/// rank failed.
pub(crate) type Failure = Option<Box<(FailureOrder, RunError)>>;

/// The failure of a run that could not begin.
pub(crate) fn failed_at_start(error: RunError) -> Failure {
    Some(Box::new((FailureOrder::Start(LpId::new(0)), error)))
}

/// Makes what a stage begins with. The model has a say in that, and may panic.
pub(crate) fn at_start<T>(
    settings: &Parallel<'_>,
    make: impl FnOnce() -> Result<T, RunError>,
) -> Result<T, Failure> {
    let made = panics::catch(make);
    made.unwrap_or_else(|fault| Err(model_error(fault, None, settings))).map_err(failed_at_start)
}

/// The first failure that is known so far.
#[derive(Debug, Default)]
pub(crate) struct FirstFailure {
    /// Set after `first`, so that workers look there only when there is something.
    failed: AtomicBool,
    first: Mutex<Option<(FailureOrder, RunError)>>,
}

impl FirstFailure {
    /// Notes a failure, unless an earlier one is known.
    pub(crate) fn note(&self, order: FailureOrder, error: RunError) {
        // A worker that panicked while it held the lock left the failure whole.
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(known, _)| order < *known) {
            *first = Some((order, error));
        }
        // Ordering: Release; a worker that sees it also sees what the failing one has seen before.
        self.failed.store(true, Ordering::Release);
    }

    /// Whether there is one.
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        // Ordering: Acquire, see `note`.
        self.failed.load(Ordering::Acquire)
    }

    /// Where the first one happened.
    pub(crate) fn order(&self) -> Option<FailureOrder> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(first.is_none() || self.is_known(), "workers would go on after a failure");
        first.as_ref().map(|(order, _)| *order)
    }

    /// Takes the failure out, with its place.
    pub(crate) fn take(&self) -> Failure {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take().map(Box::new)
    }
}

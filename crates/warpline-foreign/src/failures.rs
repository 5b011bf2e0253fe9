//! What handlers had before them when they failed, so that the caller can repeat it.
//!
//! A handler of another language tells only that it failed. Its own error, with lines of its
//! source, comes from doing the same once more in that language. In a speculative engine many
//! handlers may fail whose events never happen: the place of the run's error says which one counts.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use warpline::{EventKey, error::Place};

/// How many failures are kept. Speculation seldom fails more often before one of them counts.
const KEPT: usize = 1024;

/// Which handler was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that sends the first events.
    Start,
    /// The one that handles events.
    Handle,
    /// The one that undoes them.
    Reverse,
    /// The one that lets a process go on.
    Resume,
}

/// A handler call that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Which handler failed.
    pub role: Role,
    /// The event; `None` in `start`.
    pub event: Option<EventKey>,
    /// The LP that handled the event.
    pub lp: u32,
    /// The virtual time of the event.
    pub now: f64,
    /// The words of the LP's random stream before the event.
    pub stream: [u64; 2],
    /// The word that the handler had left for its reverse handler; of a process, the word for its
    /// exception.
    pub note: u64,
    /// Its state before the call; of a process, its own words.
    pub state: Vec<u64>,
    /// The message; `None` in `start`.
    pub message: Option<Vec<u64>>,
}

/// The failures of a run.
#[derive(Debug, Default)]
pub struct Failures(Mutex<VecDeque<Failure>>);

impl Failures {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Failure>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a failure.
    pub(crate) fn note(&self, failure: Failure) {
        let mut kept = self.lock();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(failure);
    }

    /// The failure of the handler that was called at this place of a run, if one failed there. An
    /// event is handled again after it was undone; then it is the last failure.
    #[must_use]
    pub fn at(&self, place: &Place) -> Option<Failure> {
        let place = (place.lp?.get(), place.event);
        self.lock().iter().rfind(|failure| (failure.lp, failure.event) == place).cloned()
    }
}

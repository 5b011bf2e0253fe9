//! What handlers had before them when they failed, so that the caller can repeat it.
//!
//! A handler of another language tells only that it failed. Its own error, with lines of its
//! source, comes from doing the same once more in that language. In a speculative engine many
//! handlers may fail whose events never happen, so the error of the run names the one that counts.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How many failures are kept. Speculation seldom fails more often before one of them counts.
const KEPT: usize = 1024;

/// A handler call that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The LP that handled the event.
    pub lp: u32,
    /// The virtual time of the event.
    pub now: f64,
    /// The words of the LP's random stream before the call.
    pub stream: [u64; 2],
    /// Its state before the call.
    pub state: Vec<u64>,
    /// The message; `None` in `start`.
    pub message: Option<Vec<u64>>,
}

/// The failures of a run.
#[derive(Debug, Default)]
pub struct Failures(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// How many there were.
    count: u64,
    /// The last of them, with their numbers.
    last: VecDeque<(u64, Failure)>,
}

impl Failures {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a failure, and returns what its error says.
    pub(crate) fn note(&self, failure: Failure) -> String {
        let mut kept = self.lock();
        kept.count += 1;
        let number = kept.count;
        if kept.last.len() == KEPT {
            kept.last.pop_front();
        }
        kept.last.push_back((number, failure));
        text(number)
    }

    /// The failure that this error of a run tells of, if it is one of a handler.
    #[must_use]
    pub fn told_by(&self, error: &str) -> Option<Failure> {
        let kept = self.lock();
        let told = kept.last.iter().find(|(number, _)| error.contains(&text(*number)));
        told.map(|(_, failure)| failure.clone())
    }
}

fn text(number: u64) -> String {
    format!("its handler raised an exception (call {number})")
}

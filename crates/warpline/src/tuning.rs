//! The checkpoint interval, chosen by what is measured during the run.
//!
//! Called by Time Warp's [`saving`](crate::timewarp), which has the references, and by the
//! speculative engine's [`sparse`](crate::speculative), where windows stand for events.

use std::time::Duration;

/// The greatest interval that is chosen.
const AUTO_MAX: u32 = 64;

/// A running mean of durations, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    seconds: f64,
    samples: u64,
}

impl Mean {
    pub(crate) fn add(&mut self, sample: Duration) {
        self.samples += 1;
        let weight = 1.0 / self.samples.min(64) as f64;
        self.seconds += weight * (sample.as_secs_f64() - self.seconds);
    }

    /// Whether there are samples, and their mean is not greater.
    pub(crate) fn is_at_most(self, duration: Duration) -> bool {
        self.samples > 0 && self.seconds <= duration.as_secs_f64()
    }
}

/// Chooses the interval by costs and rates that are measured during the run.
///
/// With a copy every *k* events, a rollback coasts over *(k - 1) / 2* events on average. So an
/// event costs *copy / k + (rollbacks per event) (k - 1) / 2 coast*, which is least for
/// *k = sqrt(2 (events per rollback) copy / coast)*: the form of Lin et al. and of Rönngren and
/// Ayani.
#[derive(Debug, Default)]
pub(crate) struct Tuning {
    pub(crate) copy: Mean,
    pub(crate) coast: Mean,
    events: u64,
    rollbacks: u64,
}

impl Tuning {
    pub(crate) fn interval(&mut self, events: u64, rollbacks: u64) -> u32 {
        (self.events, self.rollbacks) = (self.events + events, self.rollbacks + rollbacks);
        // Before the first coasting, an event is assumed to cost as much as a copy.
        let coast = if self.coast.samples > 0 { self.coast.seconds } else { self.copy.seconds };
        let per_rollback = self.events as f64 / self.rollbacks.max(1) as f64;
        let best = (2.0 * per_rollback * self.copy.seconds / coast).sqrt();
        // An unknown cost gives NaN, which becomes 0, and then 1.
        (best.round() as u32).clamp(1, AUTO_MAX)
    }
}

//! The checkpoint interval, chosen by what is measured during the run.
//!
//! Called by Time Warp's [`saving`](crate::timewarp), which has the references, and by the
//! speculative engine's [`sparse`](crate::speculative), where windows stand for events.

use std::time::Duration;

/// The greatest interval that is chosen. Longer ones save little more, and keep more than the
/// caches hold: with up to 64, Time Warp was a seventh slower on states of 4 KB (AMD EPYC,
/// 2026-11-25).
pub(crate) const AUTO_MAX: u32 = 12;

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

    pub(crate) const fn seconds(&self) -> f64 {
        self.seconds
    }

    pub(crate) const fn samples(&self) -> u64 {
        self.samples
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
    /// The interval that is best, after so many events and rollbacks more.
    pub(crate) fn interval(&mut self, events: u64, rollbacks: u64) -> u32 {
        (self.events, self.rollbacks) = (self.events + events, self.rollbacks + rollbacks);
        self.best(self.events, self.rollbacks)
    }

    /// What an event costs with that interval, in seconds, where this many events have had so many
    /// rollbacks.
    pub(crate) fn least_cost(&self, events: u64, rollbacks: u64) -> f64 {
        let every = f64::from(self.best(events, rollbacks));
        let rollbacks = rollbacks as f64 / events.max(1) as f64;
        self.copy.seconds / every + rollbacks * (every - 1.0) / 2.0 * self.coasting()
    }

    /// The interval that is best where this many events have had so many rollbacks.
    pub(crate) fn best(&self, events: u64, rollbacks: u64) -> u32 {
        let per_rollback = events as f64 / rollbacks.max(1) as f64;
        let best = (2.0 * per_rollback * self.copy.seconds / self.coasting()).sqrt();
        // An unknown cost gives NaN, which becomes 0, and then 1.
        (best.round() as u32).clamp(1, AUTO_MAX)
    }

    /// What an event costs that is coasted over. Before the first one: as much as a copy.
    const fn coasting(&self) -> f64 {
        if self.coast.samples > 0 { self.coast.seconds } else { self.copy.seconds }
    }
}

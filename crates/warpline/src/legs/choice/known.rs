//! What trials and work have shown of a candidate. Called by [`Choice`](super::Choice).

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Committed events per second when it ran last.
    pub(super) rate: Option<f64>,
    /// The density of events at that time. The rate of windows depends on it.
    pub(super) density: f64,
    pub(super) has_windows: bool,
    /// When it may be tried again, and how long it waits after the next trial that it loses.
    pub(super) due: f64,
    pub(super) retry: f64,
    /// It must not run: it has more workers than the user allows.
    pub(super) is_barred: bool,
}

/// By which factor the wait for another trial grows after a loss at these rates.
pub(super) fn patience(loser: f64, winner: f64) -> f64 {
    if 1.5 * loser < winner { 4.0 } else { 2.0 }
}

//! What a trial will probably lose: two hand-overs, and what the candidate is slower by.
//!
//! Called by [`Choice`] before a trial and where one begins, all in seconds.

use super::{
    Choice,
    budget::{SHARE, SHARE_FIRST},
    known::{HANDLING_GAIN, Known},
};

/// A hand-over is thought to take at least this time for each pending event: all of them move, to
/// memory that is new.
const HANDOVER_EACH: f64 = 100e-9;
/// To start a worker's thread, with what it needs, is thought to take this time. (On a machine with
/// 16 cores, a trial was given up after 1.6 to 1.9 ms with 8 workers and 3.0 to 3.8 ms with 16, and
/// had not committed anything.)
const START_EACH: f64 = 200e-6;

impl Choice {
    /// What a trial will probably lose, hand-overs included.
    pub(super) fn cost(&self, candidate: usize, best: f64) -> f64 {
        // One that was never tried is thought to be half as fast.
        let rate = self.known[candidate].rate.unwrap_or(best / 2.0);
        let lost = (1.0 - rate / best).max(0.1);
        self.way(candidate) + self.way(self.incumbent) + 2.0 * self.slice_length(true) * lost
    }

    /// What a hand-over to a candidate would take now: as much as before, or more if more events
    /// are pending; and the start of its threads.
    pub(super) fn way(&self, candidate: usize) -> f64 {
        self.handover.max(HANDOVER_EACH * self.told.pending as f64) + self.start(candidate)
    }

    /// The part of what trials may lose that one of a candidate is worth. One worker with windows
    /// is at most [`HANDLING_GAIN`] times as fast as the sequential engine, two twice that.
    pub(super) fn worth(&self, candidate: usize) -> f64 {
        debug_assert!(candidate != self.incumbent, "the incumbent is tried");
        let gains = |workers: usize| 1.0 - 1.0 / (HANDLING_GAIN * workers as f64);
        match (self.known[self.incumbent].has_windows, self.known[candidate]) {
            (false, Known { has_windows: true, workers: 1, .. }) => gains(1) / gains(2),
            _ => 1.0,
        }
    }

    /// The share of the run that trials may lose.
    pub(super) const fn share(&self) -> f64 {
        if self.trials == 0 { SHARE_FIRST } else { SHARE }
    }

    /// What it takes to start the threads of a candidate.
    pub(super) fn start(&self, candidate: usize) -> f64 {
        debug_assert!(self.known[candidate].workers > 0, "a candidate without a worker");
        START_EACH * (self.known[candidate].workers - 1) as f64
    }
}

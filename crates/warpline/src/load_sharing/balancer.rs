//! Whether LPs are to move, and where to: the part of load sharing that all engines have.
//!
//! Called by [`LoadSharing`](super::LoadSharing) for engines that move LPs between two stages, and
//! by Time Warp, which moves them at any time.

use super::{borders, sampler::Measured};
use crate::counted::counted;

/// The busiest worker may have this number of times the mean to do, where nothing else is said.
const UNEVEN: f64 = 1.1;
/// How many looks in a row have to find it so.
const LOOKS: u32 = 3;
/// A move is worth its while only if it takes this part off the busiest worker's time.
const GAIN: f64 = 0.05;
/// The time between two moves, in seconds: at the least, and as a multiple of what a move takes. It
/// doubles after each move that would gain nothing.
const PERIOD_LEAST: f64 = 5e-3;
const PERIOD_HANDOVERS: f64 = 25.0;
const PATIENCE_MOST: f64 = 256.0;
/// Who knows what it takes to move an LP moves those that would have gained this number of times as
/// much so far: what is uneven at the start of a run may become even by itself.
const GAINED: f64 = 2.0;

/// Decides when LPs move, and where to.
#[derive(Debug)]
pub(crate) struct Balancer {
    /// The busiest worker may have this number of times the mean to do.
    even_to: f64,
    /// What a move takes, in seconds.
    handover: f64,
    /// Looks in a row that found the load uneven.
    uneven: u32,
    /// When LPs moved last, and by which factor the next time has to wait longer.
    moved_at: f64,
    patience: f64,
    statistics: MoveStatistics,
}

impl Default for Balancer {
    fn default() -> Self {
        Self::beyond(UNEVEN)
    }
}

/// What the report says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MoveStatistics {
    pub(crate) moves: u64,
    pub(crate) moved_lps: u64,
    /// The load of the busiest worker by the mean: before the first move, and as of the last look.
    pub(crate) before: f64,
    pub(crate) after: f64,
    /// The sum of it over all looks, and how many there were.
    pub(crate) sum: f64,
    pub(crate) looks: u64,
    /// Seconds that each move of an LP has taken, where that is measured.
    pub(crate) each: Option<f64>,
}

impl MoveStatistics {
    /// What the report says, if LPs moved.
    pub(crate) fn remark(&self) -> Option<String> {
        if self.moves == 0 {
            return None;
        }
        let by_mean = if self.before > 0.0 {
            format!(
                ": the busiest worker had {:.2} times the mean to do before, {:.2} times at the \
                 end, and {:.2} times on average",
                self.before,
                self.after,
                self.sum / self.looks.max(1) as f64
            )
        } else {
            String::new()
        };
        let (lps, steps) =
            (counted(self.moved_lps as usize, "LP"), counted(self.moves as usize, "step"));
        let each = self.each.map(|each| format!(" of {:.1} us per LP", 1e6 * each));
        let each = each.unwrap_or_default();
        Some(format!("load sharing moved {lps} in {steps}{each}{by_mean}"))
    }
}

impl Balancer {
    /// For a run in which the busiest worker may have this number of times the mean to do.
    pub(crate) fn beyond(even_to: f64) -> Self {
        debug_assert!(even_to >= 1.0, "no worker can have less than the mean to do, and most");
        let statistics = MoveStatistics::default();
        Self { even_to, handover: 0.0, uneven: 0, moved_at: 0.0, patience: 1.0, statistics }
    }

    pub(crate) const fn statistics(&self) -> MoveStatistics {
        self.statistics
    }

    /// LPs are where they are to be: from now on the load is that of this placement.
    pub(crate) const fn begin(&mut self) {
        self.uneven = 0;
    }

    /// Notes what a move takes, in seconds.
    pub(crate) const fn note_handover(&mut self, seconds: f64) {
        debug_assert!(seconds >= 0.0, "a move takes less than no time");
        self.handover = seconds;
    }

    /// The busiest worker has had this number of times the mean to do, in the time since the last
    /// look. Returns whether LPs should move. What chance does to the measured load is not counted:
    /// the part `noise`.
    pub(crate) fn look(&mut self, unevenness: f64, noise: f64, time: f64) -> bool {
        debug_assert!(unevenness >= 0.0, "an unevenness of {unevenness}");
        self.statistics.after = unevenness;
        self.statistics.sum += unevenness;
        self.statistics.looks += 1;
        self.uneven = if unevenness > self.even_to + noise { self.uneven + 1 } else { 0 };
        let period = PERIOD_LEAST.max(PERIOD_HANDOVERS * self.handover) * self.patience;
        self.uneven >= LOOKS && time - self.moved_at > period
    }

    /// Finds a better placement, by LP, if there is one that is worth the move. To move an LP takes
    /// `each` seconds, or nothing where a move takes the same for many LPs as for few.
    pub(crate) fn place(
        &mut self,
        measured: &[Measured],
        (workers, each): (usize, f64),
        noise: f64,
        time: f64,
    ) -> Option<Vec<u32>> {
        self.moved_at = time;
        let old: Vec<u32> = measured.iter().map(|lp| lp.worker).collect();
        let new = borders::shift(measured, workers);
        debug_assert_eq!(new.len(), old.len(), "an LP is placed nowhere");
        let before = borders::unevenness(measured, &old, workers);
        let after = borders::unevenness(measured, &new, workers);
        let moved = borders::moved(&old, &new);
        let is_dear = GAINED * each * moved as f64 > (1.0 - after / before) * time;
        if after > (1.0 - GAIN - noise) * before || is_dear {
            self.patience = (2.0 * self.patience).min(PATIENCE_MOST);
            return None;
        }
        self.patience = 1.0;
        if self.statistics.moves == 0 {
            self.statistics.before = before;
        }
        self.note_move(moved);
        Some(new)
    }

    /// Counts a move of this number of LPs.
    pub(crate) const fn note_move(&mut self, lps: usize) {
        self.statistics.moves += 1;
        self.statistics.moved_lps += lps as u64;
    }
}

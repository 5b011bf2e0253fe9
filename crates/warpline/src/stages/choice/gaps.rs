//! How long the worker that looks at the clock has not looked, of late, and has not run.
//!
//! A worker looks about four times a millisecond. A later look may mean that another program had
//! its core, or that the engine was at work for so long: a pending set that spreads a million
//! events does that for 3 ms. Either makes rates uneven, but only the first says something about
//! the machine. Called by [`Choice`](super::Choice) at each look.

use std::time::Duration;

/// A look at the clock that comes later than this, in seconds, may mean that another program had
/// the core. A rate is measured for this number of times as long: so it counts what that one takes.
const GAP_LEAST: f64 = 1e-3;
const SLICE_GAPS: f64 = 2.0;
/// What is left of a gap after each slice.
const KEPT: f64 = 0.9;

/// The longest gaps between two looks, of late, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gaps {
    longest: f64,
    /// The same without the time in which the worker ran.
    away: f64,
    /// How long the thread that looks had run at the last look and at the one before, if known.
    ran: [Option<f64>; 2],
}

impl Gaps {
    /// Before each look: how long its thread has run so far, if that is known and the worker does
    /// nothing but its work. (Who waits for a worker that has no core runs, too.)
    pub(super) fn note_running(&mut self, ran: Option<Duration>) {
        self.ran = [ran.map(|ran| ran.as_secs_f64()), self.ran[0]];
    }

    /// So much time is between two looks of a stage.
    pub(super) fn note(&mut self, gap: f64) {
        debug_assert!(gap >= 0.0, "time went back");
        if gap <= GAP_LEAST {
            return;
        }
        let ran = match self.ran {
            [Some(now), Some(before)] => now - before,
            _ => 0.0,
        };
        debug_assert!(ran >= 0.0, "a thread has run less than before");
        (self.longest, self.away) = (self.longest.max(gap), self.away.max(gap - ran));
    }

    /// A slice is over.
    pub(super) fn fade(&mut self) {
        (self.longest, self.away) = (KEPT * self.longest, KEPT * self.away);
    }

    /// How long a slice has to be, in seconds, to tell a rate.
    pub(super) const fn slice_least(self) -> f64 {
        SLICE_GAPS * self.longest
    }

    /// Whether another program seems to have had the core.
    pub(super) const fn tell_of_others(self) -> bool {
        self.away > GAP_LEAST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker that was at work between two looks says nothing of other programs, if it is known
    /// that it was. (Red if what ran is left out.)
    #[test]
    fn who_runs_was_not_away() {
        let after = |ran: [Option<u64>; 2]| {
            let mut gaps = Gaps::default();
            for ran in ran {
                gaps.note_running(ran.map(Duration::from_millis));
            }
            gaps.note(5e-3);
            gaps
        };
        for (ran, tells) in [
            ([Some(40), Some(45)], false),
            ([Some(40), Some(42)], true),
            ([Some(40), None], true),
            ([None, Some(45)], true),
        ] {
            let mut gaps = after(ran);
            assert_eq!(gaps.tell_of_others(), tells, "{gaps:?}");
            assert!((gaps.slice_least() - 10e-3).abs() < 1e-9, "rates are uneven: {gaps:?}");
            (0..20).for_each(|_| gaps.fade());
            assert!(!gaps.tell_of_others(), "of late: {gaps:?}");
        }
    }
}

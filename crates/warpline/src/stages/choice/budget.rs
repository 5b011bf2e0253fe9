//! What trials may cost: a share of the run, kept as an account.
//!
//! Called by [`Choice`](super::Choice). Everything here is a function of times that the caller
//! names, in seconds.
//!
//! # Invariants
//!
//! - **AUTO-A.** A trial begins only if what it will probably lose is left in the account; so all
//!   trials together lose at most a share of the run as it was foreseen, a share of the time that
//!   has passed where the rate has changed, and what the last trial overdraws. (The way back to
//!   what was faster before is paid by what is lost without it: [`Lag`]. And the way back from a
//!   candidate that is thought to win is not a part of what it will probably lose.)

/// The share of a run that trials may lose.
pub(super) const SHARE: f64 = 0.02;
/// The same for the first trial: nothing is known before it, so it tells most.
pub(super) const SHARE_FIRST: f64 = 0.06;
/// What a change of the rate adds, as a share of the time since the change before it; and its most,
/// in seconds.
pub(super) const SHARE_OF_CHANGES: f64 = 0.06;
pub(super) const CHANGE_MOST: f64 = 20e-3;
/// A run is foreseen to take at most this number of times what it has taken.
pub(super) const FORESIGHT: f64 = 20.0;
/// The same if it has no end that can be seen.
pub(super) const FORESIGHT_BLIND: f64 = 5.0;
/// The pace of a run is that since it had taken a part of the time, between a fourth and a half.
const MARK_EVERY: f64 = 2.0;
/// The least share of a run that says something about the rest.
const DONE_LEAST: f64 = 1e-6;
/// What a trial may lose as a share of the time that is left: there is little to win near the end.
const SHARE_OF_REST: f64 = 0.1;
/// The same as a share of the time that has passed: a run may be over long before its end, where
/// there is nothing left to do, or have most of its events behind it, as an epidemic has.
const SHARE_OF_PAST: f64 = 0.25;
/// The same with a poor outlook, after a time in seconds.
const SHARE_OF_PAST_POOR: f64 = 0.1;
const POOR_LEAST: f64 = 5e-3;
/// The same with a good outlook.
const SHARE_OF_PAST_GOOD: f64 = 0.5;

/// What a trial probably comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// The candidate is thought to win.
    Good,
    Open,
    /// Other programs take their turns on the cores: there is less to win, and what a trial loses
    /// is known less well.
    Poor,
}

/// The account of a run's trials.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    /// The time as of the last look, and the time that the run will probably take.
    time: f64,
    foreseen: f64,
    /// What trials have lost so far.
    spent: f64,
    /// What changes of the rate have added, and when the last one did.
    added: f64,
    changed: f64,
    /// Two times in the past, and which share of the run was over then: the pace since the first
    /// one is that of the rest.
    marks: [(f64, f64); 2],
}

impl Budget {
    /// A share `done` of the run is over at this time. Before `start`, LPs were made.
    ///
    /// The rest is thought to go on at the pace of late, for virtual time may pass quickly while
    /// there is little to do: an epidemic begins with a few infected.
    pub(super) fn foresee(&mut self, time: f64, start: f64, done: f64) {
        debug_assert!(self.time <= time, "time went back");
        debug_assert!(start <= time, "events were committed before the first one");
        let [since, last] = &mut self.marks;
        if since.0 < start {
            (*since, *last) = ((start, 0.0), (start, 0.0));
        } else if time > MARK_EVERY * last.0 {
            (*since, *last) = (*last, (time, done));
        }
        let whole = if done > DONE_LEAST {
            let pace = (done - since.1) / (time - since.0);
            let rest = if done < 1.0 { (1.0 - done) / pace } else { 0.0 };
            // (`pace` is not a number if no time has passed.)
            (time + rest).min(FORESIGHT * time)
        } else {
            FORESIGHT_BLIND * time
        };
        (self.time, self.foreseen) = (time, whole.max(time));
        debug_assert!(self.foreseen >= time, "the run is foreseen to be over");
    }

    /// How long the run will probably take.
    pub(super) const fn foreseen(&self) -> f64 {
        self.foreseen
    }

    /// What trials have lost so far.
    pub(super) const fn spent(&self) -> f64 {
        self.spent
    }

    /// What a trial may lose that begins now, if trials may lose this share of the run.
    pub(super) fn left(&self, share: f64, outlook: Outlook) -> f64 {
        let left = share * self.foreseen + self.added - self.spent;
        let of_past = match outlook {
            Outlook::Good => SHARE_OF_PAST_GOOD * self.time,
            Outlook::Open => SHARE_OF_PAST * self.time,
            Outlook::Poor => {
                POOR_LEAST.max(SHARE_OF_PAST_POOR * self.time).min(SHARE_OF_PAST * self.time)
            }
        };
        let of_rest = SHARE_OF_REST * (self.foreseen - self.time);
        left.min(of_past).min(of_rest).max(0.0)
    }

    /// A trial has lost this time.
    pub(super) fn charge(&mut self, lost: f64) {
        debug_assert!(lost >= 0.0, "AUTO-A: a trial that loses gains time");
        self.spent += lost;
    }

    /// The rate has changed, so trials are worth more than they were.
    pub(super) fn note_change(&mut self) {
        debug_assert!(self.changed <= self.time, "a change that is still to come");
        self.added += (SHARE_OF_CHANGES * (self.time - self.changed)).min(CHANGE_MOST);
        self.changed = self.time;
    }
}

/// How far the incumbent is behind the fastest of the others, as it was when that one ran last.
///
/// What was faster gets the next stage as soon as it would have gained what the way to it takes. So
/// a wrong guess costs no more than waiting has cost, and noise, which is paid back by the next
/// slices, does not change the engine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lag(f64);

impl Lag {
    /// After a slice of this length, with the rate of the incumbent in it, and that of the other.
    pub(super) fn note(&mut self, slice: f64, rate: f64, other: f64) {
        debug_assert!(slice > 0.0, "a slice of no time");
        // A rate of less than an event per second is as good as none.
        self.0 = (self.0 + slice * (1.0 - rate / other.max(1.0))).max(0.0);
    }

    /// Whether that would have paid for a way of this length.
    pub(super) fn pays_for(self, way: f64) -> bool {
        self.0 > way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Little may be lost near the beginning and the end of a run, and nothing beyond the share.
    #[test]
    fn what_is_left() {
        let mut budget = Budget::default();
        budget.foresee(0.2, 0.0, 0.2);
        assert!((budget.left(0.02, Outlook::Open) - 0.02).abs() < 1e-12, "{budget:?}");
        budget.charge(0.015);
        assert!((budget.left(0.02, Outlook::Open) - 0.005).abs() < 1e-12, "{budget:?}");
        budget.foresee(1.99, 1.0, 0.99);
        assert!((budget.left(0.02, Outlook::Open) - 0.001).abs() < 1e-12, "{budget:?}");
        budget.charge(0.1);
        assert_eq!(budget.left(0.02, Outlook::Open), 0.0);
        // A long run that has just begun, and one that may have most of its events behind it.
        for (time, good, open, poor) in
            [(0.012, 0.006, 0.003, 0.003), (0.04, 0.02, 0.01, 0.005), (0.08, 0.04, 0.02, 0.008)]
        {
            let mut budget = Budget::default();
            budget.foresee(time, 0.0, 0.05);
            for (outlook, left) in
                [(Outlook::Good, good), (Outlook::Open, open), (Outlook::Poor, poor)]
            {
                assert!((budget.left(0.06, outlook) - left).abs() < 1e-12, "{budget:?}");
            }
        }
    }

    /// However often the rate changes, trials get no more than a share of the time for it.
    #[test]
    fn changes_add_a_share_of_the_time() {
        for every in [1, 7, 1000] {
            let mut budget = Budget::default();
            for step in 1..=1000_u32 {
                budget.foresee(f64::from(step) * 1e-3, 0.0, 0.5);
                if step % every == 0 {
                    budget.note_change();
                }
            }
            assert!(budget.added <= SHARE_OF_CHANGES + 1e-9, "{budget:?}");
            assert!(budget.added >= CHANGE_MOST - 1e-9, "{budget:?}");
        }
    }

    /// What alternates around a rate does not fall behind it; what is slower does, at once.
    #[test]
    fn only_what_stays_slower_falls_behind() {
        let mut lag = Lag::default();
        for slice in 0..1000 {
            lag.note(1e-3, if slice % 2 == 0 { 5e6 } else { 16e6 }, 10e6);
            assert!(!lag.pays_for(1e-3), "{lag:?}");
        }
        (0..4).for_each(|_| lag.note(1e-3, 5e6, 10e6));
        assert!(lag.pays_for(1e-3), "{lag:?}");
    }
}

//! What a trial will probably lose: two hand-overs, and what the candidate is slower by.
//!
//! Called by [`Choice`] before a trial and where one begins, all in seconds.

use super::{
    Choice, LIMIT, SLICE_EVENTS, SLICE_LEAST, SLICE_MOST, TRIAL_SLICE_MOST,
    budget::{Outlook, SHARE, SHARE_FIRST},
    known::{HANDLING_GAIN, Known},
};

/// A hand-over is thought to take at least this time for each LP and each pending event: all of
/// them move, to memory that is new. (With 64 709 LPs and 8 496 events, a trial had moved nothing
/// else after 7 ms, where 1.7 were expected, and took a fifth of a run of 60 ms.)
pub(super) const HANDOVER_EACH: f64 = 100e-9;
/// The same for each byte of a state, which is copied out of one engine and into the next. (20 000
/// states of 776 bytes: a trial took a seventh of a run of 0.2 s.)
pub(super) const HANDOVER_BYTE: f64 = 0.4e-9;
/// To start a worker's thread, with what it needs, is thought to take this time. (On a machine with
/// 16 cores, a trial was given up after 1.6 to 1.9 ms with 8 workers and 3.0 to 3.8 ms with 16, and
/// had not committed anything.)
const START_EACH: f64 = 200e-6;
/// Windows commit nothing before the first ones are over, which have about this number of events,
/// or this part of those that are pending.
const WINDOW_EVENTS: f64 = 16.0;
const WINDOW_PART: f64 = 1.0 / 16.0;

/// Where states are copied, the search for a width loses this time, in seconds. (200 airports with
/// queues and tables, and 4096 fields with ants: speculation makes 1.4 of the sequential engine,
/// and was given up after 3 to 6 ms, in runs of 0.3 s and of 1 s.)
const SEARCHING: f64 = 8e-3;
/// But where no more than this share of the events comes from other LPs, hardly any event is late,
/// and windows of any width will do. (50 buildings with elevators of their own: two workers make
/// 2.0 of the sequential engine, and were not tried in runs of 0.1 s.)
const REMOTE_FEW: f64 = 0.05;

/// Where not one in this number of LPs has a pending event, no windows begin the run, and the first
/// trial may lose no more than others: it moves all of them, for windows that are probably as good
/// as empty. (300 000 LPs with 300 events: trials took 4 to 6 % of runs of a second, and none won.)
pub(super) const SPARSE: usize = 64;

impl Choice {
    /// What a trial will probably lose, hand-overs included.
    pub(super) fn cost(&self, candidate: usize, best: f64) -> f64 {
        debug_assert!(best > 0.0, "a loss by a rate of nothing");
        if self.is_thought_to_win(candidate) {
            return self.way(candidate);
        }
        // One that was never tried is thought to be half as fast.
        let rate = self.known[candidate].rate.unwrap_or(best / 2.0);
        let lost = (1.0 - rate / best).max(0.1);
        let first = match self.known[candidate].has_windows {
            true => WINDOW_EVENTS.max(WINDOW_PART * self.hints.pending as f64) / best,
            false => 0.0,
        };
        let working = 2.0 * self.slice_length(true);
        self.way(candidate)
            + self.way(self.incumbent)
            + first
            + self.copying(candidate)
            + working * lost
    }

    /// What copies of states cost a trial beside what later windows spend on them: the first
    /// windows copy all of them, to memory that is new; and until their width is found they copy
    /// often.
    pub(super) fn copying(&self, candidate: usize) -> f64 {
        let Known { copies, workers, rate, .. } = self.known[candidate];
        let Some(seconds) = self.hints.copying.filter(|_| copies) else { return 0.0 };
        debug_assert!(seconds >= 0.0, "a copy that gains time");
        let first = seconds * self.hints.lps as f64 / workers as f64;
        let searches = rate.is_none() && self.hints.remote.is_none_or(|share| share > REMOTE_FEW);
        first + if searches { SEARCHING } else { 0.0 }
    }

    /// How long a rate is measured, of the incumbent or in a trial.
    pub(super) fn slice_length(&self, is_trial: bool) -> f64 {
        let [long, most] = if is_trial {
            [self.budget.foreseen() / 400.0, TRIAL_SLICE_MOST]
        } else {
            [(self.time - self.began) / 10.0, SLICE_MOST]
        };
        // What one slice tells is worth less where rates vary.
        let steady = 1.0 + 4.0 * self.noise;
        let slice = (long.clamp(SLICE_LEAST, most) * steady).min(2.0 * most);
        let least = if is_trial { self.handover / 2.0 } else { 0.0 };
        let best = self.known[self.incumbent].rate.filter(|&best| best > 0.0);
        let some = best.map_or(0.0, |best| SLICE_EVENTS / best);
        slice.max(least).max(some).max(self.gaps.slice_least())
    }

    /// Whether the incumbent is one worker that does all, and so hardly does anything else.
    pub(super) fn is_alone(&self) -> bool {
        let Known { workers, has_windows, .. } = self.known[self.incumbent];
        workers == 1 && !has_windows
    }

    /// What the cheapest trial would probably lose, if none was worth it.
    pub(crate) fn cost_of_untried(&self) -> Option<f64> {
        let best =
            self.known[self.incumbent].rate.filter(|&best| best > 0.0 && self.trials == 0)?;
        self.others().map(|number| self.cost(number, best)).min_by(f64::total_cmp)
    }

    /// Whether nothing but the way there would be lost. When the run began, and of late, other
    /// programs took their turns on the cores of an engine without windows that the user named, so
    /// that GVT waits for those that do not run; and the candidate needs fewer cores. Once it was
    /// tried, its rate tells more. (With windows, workers that run ahead gain more turns than they
    /// lose by waiting: speculation gains by 1.2 to 1.3 on four workloads of eleven.)
    pub(super) fn is_thought_to_win(&self, candidate: usize) -> bool {
        let Known { rate, workers, is_barred, .. } = self.known[candidate];
        let named = self.known[self.incumbent];
        let is_smaller = workers < named.workers && !named.has_windows && !is_barred;
        let are_shared = self.is_shared && self.gaps.tell_of_others();
        self.prefers_first && are_shared && is_smaller && rate.is_none()
    }

    /// Whether waiting costs more than what it tells.
    pub(super) fn is_in_a_hurry(&self) -> bool {
        self.others().any(|number| self.is_thought_to_win(number))
    }

    /// What a trial of a candidate may lose now.
    pub(super) fn left_for(&self, candidate: usize) -> f64 {
        let is_sparse = (1..(self.hints.lps / SPARSE) as u64).contains(&self.hints.pending);
        let share = if self.trials == 0 && !is_sparse { SHARE_FIRST } else { SHARE };
        let outlook = match self.is_thought_to_win(candidate) {
            true => Outlook::Good,
            false if self.is_shared || self.gaps.tell_of_others() => Outlook::Poor,
            false => Outlook::Open,
        };
        self.budget.left(share, outlook)
    }

    /// What a hand-over to a candidate would take now: as much as before, or more if there is more
    /// to move; and the start of its threads.
    pub(super) fn way(&self, candidate: usize) -> f64 {
        let moving = self.hints.moving_lps + HANDOVER_EACH * self.hints.pending as f64;
        self.handover.max(moving) + self.start(candidate)
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

    /// What a trial of a candidate that begins now may lose.
    pub(super) fn limit_of(&self, candidate: usize, best: f64) -> f64 {
        let limit = LIMIT * self.cost(candidate, best);
        if self.is_thought_to_win(candidate) {
            // To give up on the way there would cost most. A way back is not expected.
            return limit + self.way(self.incumbent);
        }
        self.left_for(candidate).min(limit)
    }

    /// What it takes to start the threads of a candidate.
    pub(super) fn start(&self, candidate: usize) -> f64 {
        debug_assert!(self.known[candidate].workers > 0, "a candidate without a worker");
        START_EACH * (self.known[candidate].workers - 1) as f64
    }
}

//! Which candidate runs the next leg, and when a leg is over.
//!
//! One candidate, the *incumbent*, does the work. The others are tried now and then, each for a
//! short leg; the one that commits more events per second becomes the incumbent. What trials may
//! cost, hand-overs included, is a fixed share of the time that the run will probably take. If the
//! incumbent's rate changes, because the model or the machine does, the others are tried again
//! soon.
//!
//! Candidates are numbers here, and times are seconds since the run began, as [`Progress`] tells
//! them: so the tests play runs without running anything.
//!
//! # Invariants
//!
//! - **AUTO-A.** Trials that lose cost at most a share [`SHARE`] of the run as it is foreseen, and
//!   a share [`SHARE_AFTER_CHANGE`] of the time since the last change. (A candidate that was faster
//!   when it ran last is tried whatever that costs.)

use crate::Progress;

/// The share of a run that trials may cost.
const SHARE: f64 = 0.03;
/// The same of the time since the rate changed.
const SHARE_AFTER_CHANGE: f64 = 0.08;
/// The same for the first trial: nothing is known before it.
const SHARE_FIRST: f64 = 0.06;
/// The same while the candidate works that the user named.
const SHARE_PREFERRED: f64 = 0.01;
/// It works alone for this time, in seconds: so that it finds its width.
const FIRST_ALONE: f64 = 0.1;
/// Another one wins over it if its rate is higher by this factor.
const WIN_OVER_FIRST: f64 = 1.25;
/// The shortest time in which a rate is measured, in seconds.
const SLICE_LEAST: f64 = 0.5e-3;
/// The longest ones, for the incumbent and for the others.
const SLICE_MOST: f64 = 10e-3;
const TRIAL_SLICE_MOST: f64 = 3e-3;
/// The start of a small model takes about this time, in seconds.
const START: f64 = 2e-3;
/// A run is foreseen to take at most this number of times what it has taken.
const FORESIGHT: f64 = 50.0;
/// A trial goes on, and none begins, while the rate rises by this factor from slice to slice.
const RISE: f64 = 1.08;
/// A candidate wins if its rate is higher by this factor.
const WIN: f64 = 1.04;
/// The rate has changed if it differs by this factor from what it was, for a while.
const CHANGE: f64 = 1.4;
/// How many slices in a row that takes.
const CHANGE_SLICES: u32 = 3;
/// A candidate that loses is tried again after this time, and then after longer ones, in seconds.
const RETRY_FIRST: f64 = 0.02;
const RETRY_MOST: f64 = 0.4;

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Committed events per second when it ran last.
    rate: Option<f64>,
    /// When it may be tried again, and how long it waits after the next trial that it loses.
    due: f64,
    retry: f64,
    /// It must not run: it has more workers than the user allows.
    is_barred: bool,
}

/// The leg that goes on.
#[derive(Clone, Copy, Debug, Default)]
struct Now {
    candidate: usize,
    /// When the leg before it was told to end.
    requested: f64,
    /// Events committed before it.
    before: u64,
    /// When the slice that is being measured began, and how many events were committed by then.
    slice: Option<(f64, u64)>,
    /// Slices so far, and the rate of the last one.
    slices: u32,
    last: f64,
    /// The same candidate ran the leg before it: LPs have moved.
    is_again: bool,
}

/// Chooses the candidates of legs.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The first candidate is what the user named: another one has to be much faster.
    prefers_first: bool,
    known: Vec<Known>,
    incumbent: usize,
    now: Now,
    /// The candidate of the next leg.
    next: usize,
    /// The time as of the last look, and the time that the run will probably take.
    time: f64,
    foreseen: f64,
    committed: u64,
    /// What a hand-over takes.
    handover: f64,
    /// The rate of the incumbent as it has been for long; slices in a row that were far from it.
    steady: f64,
    odd_slices: u32,
    /// By which share the rate of a slice is off, on average: other programs take their turns.
    noise: f64,
    changed_at: f64,
    /// What trials have cost so far, and since the last change, in seconds.
    spent: f64,
    spent_since_change: f64,
    trials: u32,
}

impl Choice {
    /// A choice between candidates: the first one begins the run, the others are tried in order.
    pub(crate) fn new(candidates: usize) -> Self {
        debug_assert!(candidates > 0, "there is nothing to choose from");
        let known = Known { retry: RETRY_FIRST, ..Known::default() };
        Self {
            prefers_first: false,
            known: vec![known; candidates],
            incumbent: 0,
            now: Now::default(),
            next: 0,
            time: 0.0,
            foreseen: 0.0,
            committed: 0,
            handover: 0.0,
            steady: 0.0,
            odd_slices: 0,
            noise: 0.0,
            changed_at: f64::NEG_INFINITY,
            spent: 0.0,
            spent_since_change: 0.0,
            trials: 0,
        }
    }

    /// The same, but the first candidate is what the user named: the others are tried more rarely,
    /// and have to be much faster.
    pub(crate) fn preferring_the_first(candidates: usize) -> Self {
        Self { prefers_first: true, ..Self::new(candidates) }
    }

    /// The last known rate of a candidate, in events per second.
    pub(crate) fn rate(&self, candidate: usize) -> Option<f64> {
        self.known[candidate].rate
    }

    /// How many trials there were.
    pub(crate) const fn trials(&self) -> u32 {
        self.trials
    }

    /// The share of the time that trials have cost.
    pub(crate) fn share_of_trials(&self) -> f64 {
        self.spent / self.time.max(f64::MIN_POSITIVE)
    }

    /// The candidate of the leg that begins.
    pub(crate) fn begin_leg(&mut self) -> usize {
        let (requested, before) = (self.time, self.committed);
        let is_again = self.committed > 0 && self.next == self.now.candidate;
        self.now = Now { candidate: self.next, requested, before, is_again, ..Now::default() };
        self.next
    }

    /// The time of the last look, in seconds since the run began.
    pub(crate) const fn time(&self) -> f64 {
        self.time
    }

    /// Whether the leg has committed events.
    pub(crate) const fn is_counting(&self) -> bool {
        self.now.slice.is_some()
    }

    const fn is_trial(&self) -> bool {
        self.now.candidate != self.incumbent
    }

    /// Lets only those candidates run from now on; there is at least one.
    pub(crate) fn allow(&mut self, is_allowed: impl Fn(usize) -> bool) {
        for (number, candidate) in self.known.iter_mut().enumerate() {
            candidate.is_barred = !is_allowed(number);
        }
        if self.known[self.incumbent].is_barred {
            let allowed = (0..self.known.len()).filter(|&number| !self.known[number].is_barred);
            let rate = |&number: &usize| self.known[number].rate.unwrap_or_default();
            // The first of those that have not run yet.
            let best = allowed.rev().max_by(|a, b| rate(a).total_cmp(&rate(b)));
            (self.steady, self.odd_slices) = (0.0, 0);
            self.incumbent = best.unwrap_or(self.incumbent);
        }
    }

    /// Called again and again during a leg. Returns whether it is over.
    pub(crate) fn look(&mut self, progress: &Progress) -> bool {
        let time = progress.wall.as_secs_f64();
        debug_assert!(progress.committed_events >= self.committed, "CUT-A: events are lost");
        (self.time, self.committed) = (time, progress.committed_events);
        self.foresee(progress);
        if self.next != self.now.candidate {
            // It was told to end already.
            return true;
        }
        if self.committed == self.now.before {
            return false;
        }
        if self.known[self.now.candidate].is_barred {
            self.next = self.incumbent;
            return self.is_trial();
        }
        let Some((began, committed)) = self.now.slice else {
            self.now.slice = Some((time, self.committed));
            let handover = time - self.now.requested;
            if self.now.is_again {
                // No trial has to pay for it.
                return false;
            }
            if self.trials == 0 {
                // The run begins: threads start, which takes longer the first time, and LPs are
                // made, which takes less time than to move them and their events.
                self.handover = (handover / 3.0).max(2.0 * (handover - START));
            } else {
                self.handover = handover.max(0.7 * self.handover);
                self.charge(handover);
            }
            return false;
        };
        let slice = time - began;
        if slice < self.slice_length() {
            return false;
        }
        debug_assert!(slice > 0.0, "a rate of no time");
        let rate = (self.committed - committed) as f64 / slice;
        self.now.slice = Some((time, self.committed));
        self.now.slices += 1;
        if self.is_trial() { self.judge(rate, slice) } else { self.work(rate) }
    }

    /// How long a run takes that goes on as it did.
    fn foresee(&mut self, progress: &Progress) {
        let done = progress.virtual_time.get() / progress.end.get();
        let whole = if done > 0.0 { self.time / done } else { f64::INFINITY };
        self.foreseen = whole.min(FORESIGHT * self.time).max(self.time);
        debug_assert!(self.foreseen >= self.time, "the run is foreseen to be over");
    }

    /// How long a rate is measured.
    fn slice_length(&self) -> f64 {
        let [long, most] = if self.is_trial() {
            [self.foreseen / 400.0, TRIAL_SLICE_MOST]
        } else {
            [self.time / 10.0, SLICE_MOST]
        };
        // What one slice tells is worth less where rates vary.
        let steady = 1.0 + 4.0 * self.noise;
        long.clamp(SLICE_LEAST, most).max(self.handover / 2.0) * steady
    }

    /// After a slice of a trial.
    fn judge(&mut self, rate: f64, slice: f64) -> bool {
        debug_assert!(self.is_trial(), "the incumbent is judged");
        let is_rising = self.now.slices == 1 || rate > RISE * self.now.last;
        self.now.last = rate;
        let best = self.known[self.incumbent].rate.unwrap_or_default();
        let wins = rate > self.win(self.now.candidate) * best;
        let candidate = &mut self.known[self.now.candidate];
        candidate.rate = Some(rate);
        if wins {
            if self.now.slices == 1 {
                return false;
            }
            candidate.retry = RETRY_FIRST;
            self.known[self.incumbent].due = self.time + RETRY_FIRST * patience(best, rate);
            self.incumbent = self.now.candidate;
            (self.steady, self.odd_slices) = (rate, 0);
            return false;
        }
        self.charge(slice * (1.0 - rate / best.max(rate)));
        if is_rising && self.spent + self.handover < self.allowed() {
            return false;
        }
        let candidate = &mut self.known[self.now.candidate];
        candidate.retry = (patience(rate, best) * candidate.retry).min(RETRY_MOST);
        candidate.due = self.time + candidate.retry.max(20.0 * self.handover);
        self.next = self.incumbent;
        true
    }

    /// After a slice of the incumbent.
    fn work(&mut self, rate: f64) -> bool {
        debug_assert!(!self.is_trial(), "a challenger works as if it had won");
        let is_rising = self.now.slices == 1 || rate > RISE * self.now.last;
        self.now.last = rate;
        let known = &mut self.known[self.incumbent].rate;
        let smooth = known.map_or(rate, |old| f64::midpoint(old, rate));
        *known = Some(smooth);
        self.noise += ((rate / smooth - 1.0).abs().min(1.0) - self.noise) / 10.0;
        if self.steady == 0.0 {
            self.steady = rate;
        }
        let rate = smooth;
        let is_far = rate > CHANGE * self.steady || CHANGE * rate < self.steady;
        self.odd_slices = if is_far { self.odd_slices + 1 } else { 0 };
        self.steady += (rate - self.steady) / 10.0;
        if self.odd_slices >= CHANGE_SLICES {
            self.note_change(rate);
        }
        if is_rising {
            return false;
        }
        let Some(challenger) = self.challenger() else { return false };
        debug_assert!(challenger != self.incumbent, "the incumbent challenges itself");
        debug_assert!(!self.known[challenger].is_barred, "a candidate that is barred is tried");
        self.next = challenger;
        self.trials += 1;
        true
    }

    /// By which factor the rate of a candidate has to be higher than the incumbent's.
    fn win(&self, candidate: usize) -> f64 {
        match (self.prefers_first, candidate) {
            (false, _) => WIN + self.noise / 2.0,
            (true, 0) => 1.0,
            (true, _) => WIN_OVER_FIRST + self.noise / 2.0,
        }
    }

    /// The rate has changed: what is known of the others may be wrong.
    fn note_change(&mut self, rate: f64) {
        (self.steady, self.odd_slices) = (rate, 0);
        self.known[self.incumbent].rate = Some(rate);
        (self.changed_at, self.spent_since_change) = (self.time, 0.0);
        for known in &mut self.known {
            (known.due, known.retry) = (self.time, RETRY_FIRST);
        }
    }

    /// The candidate that is to be tried now, if any.
    fn challenger(&self) -> Option<usize> {
        let best = self.known[self.incumbent].rate?;
        let is_other = |&number: &usize| number != self.incumbent && !self.known[number].is_barred;
        let others = || (0..self.known.len()).filter(is_other);
        // One that was faster when it ran last. If it is so no more, that will be known.
        let rate = |&number: &usize| self.known[number].rate.unwrap_or_default();
        let fastest = others().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
        if self.prefers_first && self.time < FIRST_ALONE {
            return None;
        }
        if rate(&fastest) > self.win(fastest) * best {
            return Some(fastest);
        }
        let due = others().filter(|&number| self.known[number].due <= self.time);
        let affordable = due.filter(|&number| {
            // One that was never tried is thought to be half as fast.
            let rate = self.known[number].rate.unwrap_or(best / 2.0);
            let lost = (1.0 - rate / best).max(0.1);
            let slices = 2.0 * SLICE_LEAST.max(self.handover / 2.0);
            let cost = 2.0 * self.handover + slices * lost;
            let since = self.time - self.changed_at;
            let is_soon =
                since.is_finite() && self.spent_since_change + cost < SHARE_AFTER_CHANGE * since;
            self.spent + cost < self.allowed() || is_soon
        });
        // One that was never tried has waited longest.
        affordable.min_by(|&a, &b| self.known[a].due.total_cmp(&self.known[b].due))
    }

    /// AUTO-A.
    fn allowed(&self) -> f64 {
        let share = match (self.prefers_first && self.incumbent == 0, self.trials) {
            (true, _) => SHARE_PREFERRED,
            (false, 0) => SHARE_FIRST,
            (false, _) => SHARE,
        };
        share * self.foreseen
    }

    fn charge(&mut self, cost: f64) {
        debug_assert!(cost >= 0.0, "AUTO-A: a trial that loses gains time");
        self.spent += cost;
        self.spent_since_change += cost;
    }
}

/// By which factor the wait for another trial grows after a loss at these rates.
fn patience(loser: f64, winner: f64) -> f64 {
    if 1.5 * loser < winner { 4.0 } else { 2.0 }
}

#[cfg(test)]
mod tests;

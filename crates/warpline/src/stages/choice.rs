//! Which candidate runs the next stage, and when a stage is over.
//!
//! One candidate, the *incumbent*, does the work. The others are tried now and then, each for a
//! short stage; the one that commits more events per second becomes the incumbent. What trials may
//! lose, hand-overs included, is a fixed share of the time that the run will probably take
//! ([`budget`]), and each trial is over when the clock says that it has lost its part of that
//! ([`trial`]). If the incumbent's rate changes, because the model or the machine does, the others
//! are tried again soon; while it stays, more and more rarely.
//!
//! Candidates are numbers here, and times are seconds since the run began, as [`Progress`] tells
//! them: so the tests play runs without running anything.

mod budget;
mod challenger;
mod density;
mod gaps;
mod hints;
mod known;
mod price;
mod trial;

use crate::Progress;
use budget::{Budget, Lag};
use density::Density;
use gaps::Gaps;
use known::{Hints, Known, Now, patience};
use trial::Trial;

/// A candidate that the user named works alone for this time, in seconds: so that it finds its
/// width.
const FIRST_ALONE: f64 = 0.03;
/// Another one wins over it if its rate is higher by this factor.
const WIN_OVER_FIRST: f64 = 1.1;
/// The shortest time in which a rate is measured, in seconds.
const SLICE_LEAST: f64 = 0.5e-3;
/// The longest ones, for the incumbent and for the others.
const SLICE_MOST: f64 = 10e-3;
const TRIAL_SLICE_MOST: f64 = 3e-3;
/// A rate is that of this number of events at least: a window may have dozens of them, and a
/// handler may take as long as a slice. (Of 22 us each on 64 LPs: 3 ms were two to five windows,
/// and `auto` stayed with the sequential engine in half of all runs, where two workers were 1.6
/// times as fast.)
const SLICE_EVENTS: f64 = 64.0;
/// A hand-over is thought to take at least this time before the first one, in seconds.
const HANDOVER_LEAST: f64 = 0.5e-3;
/// A trial goes on, and none begins, while the rate rises by this factor from slice to slice, or
/// would do so in this number of hand-overs: the memory of a large model is slow while it is new.
const RISE: f64 = 1.08;
const RISE_HANDOVERS: f64 = 4.0;
/// While the density of events grows, the first trial waits, but no longer than this, in seconds.
const GROWING_MOST: f64 = 10e-3;
/// A candidate wins if its rate is higher by this factor.
const WIN: f64 = 1.04;
/// It is clearly slower if the incumbent's rate is higher by this factor.
const CLEAR: f64 = 4.0;
/// A trial may lose this number of times what it will probably lose, if so much is left.
const LIMIT: f64 = 3.0;
/// The rate has changed if it differs by this factor from what it was, for a while.
const CHANGE: f64 = 1.4;
/// How many slices in a row that takes.
const CHANGE_SLICES: u32 = 3;
/// A candidate that loses is tried again after this time, in seconds, and then after longer ones:
/// up to this share of the time that the run has taken, or the time below if that is more.
const RETRY_FIRST: f64 = 0.02;
const RETRY_SHARE: f64 = 0.1;
const RETRY_MOST: f64 = 0.4;

/// Chooses the candidates of stages.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    /// The first candidate is what the user named: another one has to be clearly faster.
    prefers_first: bool,
    /// Not each worker had an idle core when the run began.
    is_shared: bool,
    known: Vec<Known>,
    incumbent: usize,
    now: Now,
    /// The candidate of the next stage, and what that may lose if it is a trial.
    next: usize,
    limit: f64,
    /// The time as of the last look.
    time: f64,
    committed: u64,
    /// When the first events were committed.
    began: f64,
    /// What a hand-over takes.
    handover: f64,
    /// The rate of the incumbent as it has been for long; slices in a row that were far from it.
    steady: f64,
    odd_slices: u32,
    /// By which share the rate of a slice is off, on average: other programs take their turns.
    noise: f64,
    gaps: Gaps,
    density: Density,
    hints: Hints,
    /// The events that were pending after the slice before.
    pending: u64,
    /// It was to begin the run, but had too few pending events.
    waiting: Option<usize>,
    budget: Budget,
    lag: Lag,
    trials: u32,
}

impl Choice {
    /// A choice between candidates: the first one begins the run, the others are tried in order.
    pub(crate) fn new(candidates: usize) -> Self {
        debug_assert!(candidates > 0, "there is nothing to choose from");
        let known = Known { retry: RETRY_FIRST, workers: 1, ..Known::default() };
        Self {
            prefers_first: false,
            is_shared: false,
            known: vec![known; candidates],
            incumbent: 0,
            now: Now::default(),
            next: 0,
            limit: 0.0,
            time: 0.0,
            committed: 0,
            began: 0.0,
            handover: 0.0,
            steady: 0.0,
            odd_slices: 0,
            noise: 0.0,
            gaps: Gaps::default(),
            density: Density::default(),
            hints: Hints::default(),
            pending: 0,
            waiting: None,
            budget: Budget::default(),
            lag: Lag::default(),
            trials: 0,
        }
    }

    /// The same, but the first candidate is what the user named: the others are tried more rarely,
    /// and have to be much faster.
    pub(crate) fn preferring_the_first(candidates: usize) -> Self {
        Self { prefers_first: true, ..Self::new(candidates) }
    }

    /// The same where not each worker has an idle core, or each has one.
    pub(crate) fn on_shared_cores(mut self, is_shared: bool) -> Self {
        self.is_shared = is_shared;
        self
    }

    /// How many workers each candidate has, whether it has windows (its rate depends on how many
    /// events there are per virtual time, then), and whether it copies states.
    pub(crate) fn between(mut self, kind: impl Fn(usize) -> (usize, bool, bool)) -> Self {
        for (number, known) in self.known.iter_mut().enumerate() {
            (known.workers, known.has_windows, known.copies) = kind(number);
        }
        self
    }

    /// Lets a candidate begin the run, and not the first one.
    pub(crate) fn begin_with(&mut self, candidate: usize) {
        debug_assert_eq!(self.committed, 0, "the run has begun");
        self.promote(candidate, 0.0);
        self.next = candidate;
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
        self.budget.spent() / self.time.max(f64::MIN_POSITIVE)
    }

    /// The candidate of the stage that begins.
    pub(crate) fn begin_stage(&mut self) -> usize {
        let (requested, before) = (self.time, self.committed);
        let is_again = self.committed > 0 && self.next == self.now.candidate;
        // A trial in which LPs have moved is still the same one.
        let trial = if is_again { self.now.trial } else { self.trial() };
        self.now =
            Now { candidate: self.next, requested, before, is_again, trial, ..Now::default() };
        self.next
    }

    /// The bounds of the stage that begins, if it is a trial.
    fn trial(&self) -> Option<Trial> {
        let best = self.known[self.incumbent].rate.filter(|&best| best > 0.0)?;
        let (asked, before) = (self.time, self.committed);
        let (limit, way_back) = (self.limit, self.way(self.incumbent));
        (self.next != self.incumbent).then_some(Trial { asked, before, best, limit, way_back })
    }

    /// The time of the last look, in seconds since the run began.
    pub(crate) const fn time(&self) -> f64 {
        self.time
    }

    /// Whether the stage has committed events.
    pub(crate) const fn is_counting(&self) -> bool {
        self.now.slice.is_some()
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
            self.promote(best.unwrap_or(self.incumbent), 0.0);
        }
        if self.known[self.next].is_barred {
            self.next = self.incumbent;
        }
    }

    /// Lets a candidate do the work from now on. Its rate is 0 if it is not known.
    fn promote(&mut self, candidate: usize, rate: f64) {
        debug_assert!(candidate < self.known.len(), "there is no candidate {candidate}");
        (self.incumbent, self.now.trial) = (candidate, None);
        (self.steady, self.odd_slices, self.lag) = (rate, 0, Lag::default());
    }

    /// Called again and again during a stage. Returns whether it is over.
    pub(crate) fn look(&mut self, progress: &Progress) -> bool {
        let time = progress.wall.as_secs_f64();
        debug_assert!(progress.committed_events >= self.committed, "CUT-A: events are lost");
        if self.is_counting() {
            self.gaps.note(time - self.time);
        }
        let has_advanced = progress.committed_events > self.committed;
        (self.time, self.committed) = (time, progress.committed_events);
        let virtual_time = progress.virtual_time.get();
        let done = virtual_time / progress.end.get();
        self.budget.foresee(time, self.began, done);
        if self.next != self.now.candidate {
            // It was told to end already.
            return true;
        }
        // What has come this far has cost its hand-over already, and may as well show its rate.
        let looked = *self.now.looked.get_or_insert(time);
        let began = self.now.slice.map_or(looked, |(began, _)| began);
        let begins = self.now.slices == 0 && time - began < SLICE_LEAST;
        if !begins && self.now.trial.is_some_and(|trial| trial.is_over(time, self.committed)) {
            return self.abort();
        }
        if self.committed == self.now.before {
            return false;
        }
        let is_misplaced = self.now.trial.is_none() && self.now.candidate != self.incumbent;
        if is_misplaced || self.known[self.now.candidate].is_barred {
            self.next = self.incumbent;
            return self.next != self.now.candidate;
        }
        let Some((began, committed)) = self.now.slice else {
            self.density.begin(virtual_time, self.committed);
            self.begin_counting();
            return false;
        };
        let (slice, events) = (time - began, self.committed - committed);
        // An engine with windows commits a whole one at a time: a slice that ended between two such
        // steps would have too few events, and the next one too many.
        if !has_advanced || slice < self.slice_length(self.now.trial.is_some()) {
            return false;
        }
        debug_assert!(slice > 0.0, "a rate of no time");
        let rate = events as f64 / slice;
        self.now.slice = Some((time, self.committed));
        self.density.end(virtual_time, self.committed);
        self.now.slices += 1;
        match self.now.trial {
            Some(trial) => self.judge(trial, rate, slice),
            None => self.work(rate, slice),
        }
    }

    /// The first events of the stage are committed.
    fn begin_counting(&mut self) {
        self.now.slice = Some((self.time, self.committed));
        let handover = self.time - self.now.requested;
        debug_assert!(handover >= 0.0, "a stage began before it was requested");
        if self.now.is_again {
            // No trial has to pay for it.
            return;
        }
        let without_start = handover - self.start(self.now.candidate);
        if self.now.before == 0 {
            // The run begins: LPs are made, and their first events, which takes longer than to move
            // them.
            self.handover = HANDOVER_LEAST.max(without_start / 3.0);
            self.began = self.time;
            return;
        }
        self.handover = without_start.max(0.7 * self.handover);
        if self.now.trial.is_none() && self.trials > 0 {
            // The way back. The way to a trial is a part of what that loses.
            self.budget.charge(handover);
        }
    }

    /// Whether the rate will probably be higher than in this slice.
    fn is_rising(&self, rate: f64, slice: f64) -> bool {
        debug_assert!(slice > 0.0, "a rate of no time");
        let steps = (RISE_HANDOVERS * self.handover / slice).max(1.0);
        self.now.slices == 1 || (rate - self.now.last) * steps > (RISE - 1.0) * self.now.last
    }

    /// After a slice of a trial. Returns whether the trial is over.
    fn judge(&mut self, trial: Trial, rate: f64, slice: f64) -> bool {
        debug_assert!(self.now.candidate != self.incumbent, "the incumbent is judged");
        let is_rising = self.is_rising(rate, slice);
        self.now.last = rate;
        if rate > self.win(self.now.candidate) * trial.best {
            if self.now.slices > 1 {
                self.note_win(trial, rate);
            }
            return false;
        }
        // With copies, the first slice is one of windows and memory that are new.
        let is_new = self.now.slices == 1 && self.copying(self.now.candidate) > 0.0;
        let may_rise = is_rising && (is_new || CLEAR * rate > trial.best);
        if may_rise || self.hints.may_rise_to(trial.best, rate) {
            return false;
        }
        self.note_loss(trial, rate)
    }

    /// The trial has lost what it may.
    #[cold]
    fn abort(&mut self) -> bool {
        let Some(trial) = self.now.trial else { return false };
        let since = self
            .now
            .slice
            .map(|(began, committed)| (self.time - began, self.committed - committed));
        let rate = match since {
            _ if self.now.slices > 0 => self.now.last,
            Some((slice, events)) if slice > SLICE_LEAST / 2.0 => events as f64 / slice,
            // Hardly anything is committed. What it would do with more time is its own affair.
            _ => 0.0,
        };
        if rate > self.win(self.now.candidate) * trial.best {
            // What is lost is lost, and the way back would cost more.
            self.note_win(trial, rate);
            return false;
        }
        self.note_loss(trial, rate)
    }

    fn note_win(&mut self, trial: Trial, rate: f64) {
        self.budget.charge(trial.lost(self.time, self.committed).max(0.0));
        let winner = &mut self.known[self.now.candidate];
        (winner.rate, winner.retry) = (Some(rate), RETRY_FIRST);
        winner.density = self.density.now();
        self.known[self.incumbent].due = self.time + RETRY_FIRST * patience(trial.best, rate);
        self.promote(self.now.candidate, rate);
    }

    /// The challenger goes, and the incumbent goes on.
    fn note_loss(&mut self, trial: Trial, rate: f64) -> bool {
        debug_assert!(self.now.candidate != self.incumbent, "the incumbent loses against itself");
        self.budget.charge(trial.lost(self.time, self.committed).max(0.0));
        let retry_most = RETRY_MOST.max(RETRY_SHARE * self.time);
        let candidate = &mut self.known[self.now.candidate];
        (candidate.rate, candidate.density) = (Some(rate), self.density.now());
        candidate.retry = (patience(rate, trial.best) * candidate.retry).min(retry_most);
        candidate.due = self.time + candidate.retry.max(20.0 * self.handover);
        // What it was thought to be is known better now.
        (self.next, self.lag) = (self.incumbent, Lag::default());
        true
    }

    /// After a slice of the incumbent. Returns whether another candidate is to be tried.
    fn work(&mut self, rate: f64, slice: f64) -> bool {
        debug_assert!(self.now.candidate == self.incumbent, "a challenger works before it won");
        let is_rising = self.is_rising(rate, slice);
        self.now.last = rate;
        let known = &mut self.known[self.incumbent].rate;
        let smooth = known.map_or(rate, |old| f64::midpoint(old, rate));
        *known = Some(smooth);
        self.known[self.incumbent].density = self.density.now();
        self.noise += ((rate / smooth - 1.0).abs().min(1.0) - self.noise) / 10.0;
        self.gaps.fade();
        if let Some((_, fastest)) = self.fastest_other() {
            self.lag.note(slice, rate, fastest);
        }
        if self.steady == 0.0 {
            self.steady = smooth;
        }
        let is_far = smooth > CHANGE * self.steady || CHANGE * smooth < self.steady;
        if is_far {
            self.odd_slices += 1;
        } else {
            self.odd_slices = 0;
            self.steady += (smooth - self.steady) / 10.0;
        }
        if self.odd_slices >= CHANGE_SLICES {
            self.note_change(smooth);
        }
        if self.lets_begin() {
            return true;
        }
        let is_beginning = self.trials == 0 && self.time - self.began < GROWING_MOST;
        // Who comes back from a trial would have many more events to move.
        let before = std::mem::replace(&mut self.pending, self.hints.pending);
        let is_growing = self.pending as f64 > RISE * before as f64;
        let is_early = is_rising || is_growing || is_beginning && self.density.grows();
        if is_early && !self.is_in_a_hurry() {
            return false;
        }
        let Some((challenger, limit)) = self.challenger() else { return false };
        debug_assert!(challenger != self.incumbent, "the incumbent challenges itself");
        debug_assert!(!self.known[challenger].is_barred, "a candidate that is barred is tried");
        debug_assert!(limit > 0.0, "AUTO-A: a trial that may lose nothing");
        (self.next, self.limit) = (challenger, limit);
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
        self.budget.note_change();
        for known in &mut self.known {
            (known.due, known.retry) = (self.time, RETRY_FIRST);
        }
    }
}

#[cfg(test)]
mod tests;

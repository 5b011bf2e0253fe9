//! How states are saved, where the run finds that out by itself (`--saving auto`): what is
//! measured, and what follows from it.
//!
//! A run begins as with `copy`: a copy before each event, or the undo log. Now and then a worker
//! measures what that takes, and what sparse copies would. If those are much cheaper for it, all
//! workers [change to them](super::changing). Nobody changes back: the interval of sparse copies
//! follows what is measured ([`tuning`](crate::tuning)), down to a copy before each event.
//!
//! Called by [`changing`](super::changing) once per round of GVT, so an event costs nothing. Not
//! for runs that have to repeat themselves, with a memory limit, or on several ranks, which undo by
//! messages.
//!
//! # References
//!
//! Which way is best depends on the size of states and on how often they are undone: Rönngren,
//! Liljenstam, Ayani and Montagnat, *Transparent incremental state saving in Time Warp parallel
//! discrete event simulation*, PADS 1996.

use std::time::{Duration, Instant};

use arrayvec::ArrayVec;

use crate::{
    StateSaving,
    settings::{Settings, TimeWarp},
    tuning::{Mean, Tuning},
};

/// A worker looks at the first rounds of GVT, each a power of two, and then once in this many.
const LOOK_EVERY: u32 = 256;
/// It decides after as many events, and by the median of so many measurements of copies: a single
/// one may have been interrupted, and nobody changes back.
const EVENTS_MIN: u64 = 1024;
const MEASUREMENTS: usize = 7;

/// What an event costs more, in seconds, where copies are sparse: records are kept for longer, and
/// leave the cache. (Some 40 ns with states of 64 bytes, 100 with 4 KB; AMD EPYC, 2026-11-25.)
/// Sparse copies have to save more than that, and more than this part of an event.
const KEEPING: f64 = 120e-9;
const PART_OF_EVENT: f64 = 1.0 / 16.0;

/// What a word of the undo log takes, in seconds: an entry has three, and takes some 20
/// instructions to write.
pub(super) const WORD: f64 = 2e-9;
/// Events that write fewer words are left alone: not even for nothing would copies be so much
/// better.
const WORDS_MIN: f64 = KEEPING / WORD;

/// What is known of the ways to save a state.
#[derive(Debug)]
pub(super) struct Choice {
    /// Whether it looks at clocks.
    pub(super) measures: bool,
    looks: u32,
    /// Since when, and what there was then.
    since: Option<(Instant, Counts)>,
    pub(super) tuning: Tuning,
    /// What a copy took, in seconds, by the last measurements; the latest one last.
    measured: ArrayVec<f64, MEASUREMENTS>,
    pub(super) wants_sparse: bool,
    /// The interval of sparse copies to begin with.
    every: u32,
}

/// What a worker has counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) events: u64,
    pub(super) rollbacks: u64,
    /// Words of the undo log.
    pub(super) words: u64,
    /// What it takes to handle an event, with what is saved before it, in seconds; if that is
    /// measured.
    pub(super) handling: Option<f64>,
}

impl Choice {
    /// Whether and how a worker looks for a better way, in a run with these settings; `is_alone`
    /// says that there is one rank.
    pub(super) fn of(settings: &Settings<TimeWarp>, is_alone: bool) -> Option<Self> {
        let Settings { memory, engine, .. } = settings;
        let may_change = engine.saving == StateSaving::Auto && memory.is_none() && is_alone;
        may_change.then(|| Self::new(!engine.instrumentation.in_turn))
    }

    fn new(measures: bool) -> Self {
        let (tuning, measured) = (Tuning::default(), ArrayVec::new());
        Self { measures, looks: 0, since: None, tuning, measured, wants_sparse: false, every: 1 }
    }

    /// The interval of sparse copies to begin with, and the costs from which it is found, if they
    /// are measured.
    pub(super) fn into_interval(self) -> (u32, Option<Tuning>) {
        (self.every, self.measures.then_some(self.tuning))
    }

    /// At a new GVT: measures again, if it is time to. `time` makes copies of states and returns
    /// how many, and the seconds that took: for ever, if a copy panics.
    pub(super) fn look(
        &mut self,
        is_by_field: bool,
        now: Counts,
        time: impl FnOnce() -> (u32, f64),
    ) {
        self.looks = self.looks.saturating_add(1);
        if !self.looks.is_power_of_two() && !self.looks.is_multiple_of(LOOK_EVERY) {
            return;
        }
        let (since, before) = *self.since.get_or_insert_with(|| (Instant::now(), now));
        debug_assert!(before.events <= now.events, "CHOICE: events were handled and are not");
        let events = now.events - before.events;
        // A rollback takes the end of the log back, perhaps to before the first look.
        let words = now.words.saturating_sub(before.words) as f64 / events.max(1) as f64;
        if is_by_field && words < WORDS_MIN {
            return;
        }
        let (made, seconds) = time();
        if made == 0 {
            return;
        }
        if seconds.is_infinite() {
            self.measures = false;
            return;
        }
        self.note_copy(seconds / f64::from(made));
        if events < EVENTS_MIN || !self.measured.is_full() {
            return;
        }
        let event = since.elapsed().as_secs_f64() / events as f64;
        let each = if is_by_field { words * WORD } else { self.tuning.copy.seconds() };
        // A handler takes some part of that; in an event, it is counted what a worker waits.
        let coasting = now.handling.map_or(event, |all| (all - each).max(all / 8.0));
        self.tuning.coast.add(Duration::from_secs_f64(coasting));
        let rollbacks = now.rollbacks - before.rollbacks;
        self.wants_sparse = self.is_better(each, (events, rollbacks), event);
        self.every = self.tuning.best(events, rollbacks);
    }

    /// Notes what a copy took, in seconds: from now on it takes what the median says.
    fn note_copy(&mut self, each: f64) {
        if self.measured.is_full() {
            self.measured.remove(0);
        }
        self.measured.push(each);
        let mut sorted = self.measured.clone();
        sorted.sort_by(f64::total_cmp);
        self.tuning.copy = Mean::default();
        self.tuning.copy.add(Duration::from_secs_f64(sorted[sorted.len() / 2]));
    }

    /// Whether sparse copies are much better than what saves a state now, at `each` seconds per
    /// event; an event takes `event` seconds in all.
    fn is_better(&self, each: f64, (events, rollbacks): (u64, u64), event: f64) -> bool {
        debug_assert!(each >= 0.0 && event >= 0.0, "CHOICE: saving takes {each} s of {event}");
        each - self.tuning.least_cost(events, rollbacks) > KEEPING.max(PART_OF_EVENT * event)
    }
}

#[cfg(test)]
impl Choice {
    /// Looks at no clock, and wants sparse copies, whatever they cost, if it is given an interval.
    pub(super) fn by_seed(every: Option<u32>) -> Self {
        Self { wants_sparse: every.is_some(), every: every.unwrap_or(1), ..Self::new(false) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A choice that has measured copies of so many nanoseconds, and events.
    fn knowing(copy: u64, event: u64) -> Choice {
        let mut choice = Choice::new(true);
        choice.tuning.copy.add(Duration::from_nanos(copy));
        choice.tuning.coast.add(Duration::from_nanos(event));
        choice
    }

    /// Copies of large states become sparse; small ones do not, nor where most events are undone,
    /// nor where an event takes so long that nobody would notice. (Seen red: what is kept costs
    /// nothing; the interval is not the best one; the event's part is forgotten.)
    #[test]
    fn sparse_copies_have_to_be_much_cheaper() {
        let better = |copy: u64, event: u64, events: u64, rollbacks: u64| {
            let copies = copy as f64 * 1e-9;
            knowing(copy, event).is_better(copies, (events, rollbacks), event as f64 * 1e-9)
        };
        assert!(better(6_000, 8_000, 1_000, 10));
        assert!(better(1_000, 1_500, 100_000, 10));
        assert!(!better(125, 600, 100_000, 10), "saves less than it costs");
        assert!(!better(1_000, 1_500, 1_000, 900), "each rollback has to coast");
        assert!(!better(6_000, 100_000, 1_000, 500));
        assert!(!better(6_000, 100_000_000, 1_000_000, 1), "a ten-thousandth of an event");
    }

    /// The undo log is left alone unless events write very much to it.
    #[test]
    fn logs_are_compared_by_what_events_write() {
        let copies = std::cell::Cell::new(0);
        let copy = || {
            copies.set(copies.get() + 1);
            (1, 1e-7)
        };
        let mut choice = Choice::new(true);
        let counts = |events, words| Counts { events, words, ..Counts::default() };
        choice.look(true, counts(0, 0), copy);
        choice.look(true, counts(10_000, 40 * 10_000), copy);
        assert_eq!((copies.get(), choice.wants_sparse), (0, false), "40 words an event");
        // Red if what a rollback took back is subtracted.
        choice.since = Some((Instant::now(), counts(0, 500)));
        choice.looks = LOOK_EVERY - 1;
        choice.look(true, counts(10_000, 20), copy);
        assert_eq!(copies.get(), 0, "the log ends before the first look");
        choice.since = Some((Instant::now(), counts(0, 0)));
        while !choice.measured.is_full() {
            choice.looks = LOOK_EVERY - 1;
            choice.look(true, counts(20_000, 3_000 * 20_000), copy);
        }
        assert_eq!(copies.get(), MEASUREMENTS as u32);
        choice.looks = LOOK_EVERY - 1;
        choice.since = Some((Instant::now(), counts(0, 0)));
        choice.look(true, counts(1 << 40, 3_000 << 40), copy);
        assert!(choice.wants_sparse, "3 000 words an event: {choice:?}");
    }

    /// A copy that was interrupted decides nothing. (Seen red: by the mean; by the last one.)
    #[test]
    fn one_slow_copy_is_not_believed() {
        let mut choice = Choice::new(true);
        let mut look = |events: u64, copy: f64| {
            choice.looks = LOOK_EVERY - 1;
            choice.look(false, Counts { events, ..Counts::default() }, || (1, copy));
            choice.wants_sparse
        };
        assert!(
            (1..20).all(|number| !look(number << 20, if number % 3 == 0 { 1e-3 } else { 8e-8 }))
        );
        assert!((20..30).any(|number| look(number << 20, 2e-6)));
    }

    /// Who looks at every round would copy states more often than events do. A state that cannot
    /// be copied is not tried again. (Seen red: looks at each round; tries again.)
    #[test]
    fn looks_are_rare() {
        let copies = std::cell::Cell::new(0);
        let mut choice = Choice::new(true);
        for _ in 0..1024 {
            choice.look(false, Counts::default(), || {
                copies.set(copies.get() + 1);
                (1, 1e-7)
            });
        }
        assert!(copies.get() <= 8 + 1024 / LOOK_EVERY, "{copies:?}");
        choice.looks = LOOK_EVERY - 1;
        choice.look(false, Counts::default(), || (1, f64::INFINITY));
        assert!(!choice.measures);
    }
}

//! What engines tell of themselves at their looks at the clock, and what follows at once.
//!
//! Where windows were to begin a run, but have few events at its start, an engine without windows
//! takes their place, and they theirs again if there are enough events before anything was tried:
//! an epidemic begins with a few infected. Where each of many workers has not that many LPs, they
//! begin only then. Called by [`stages`](crate::stages) before each look,
//! and by [`Choice`] after a slice.

use super::{
    Choice,
    known::{Hints, Known},
    price::{HANDOVER_BYTE, HANDOVER_EACH, SPARSE},
};
use crate::{stages::Forecast, watch::Hint};

/// Fewer pending events of a worker than this are few.
pub(super) const PENDING_FEW: u64 = 1024;
/// Fewer events of a worker in a window than this are few where windows could be wider. (PHOLD with
/// 65 536 LPs and two workers: with 50 000 events, windows without rollbacks are 1.2 times as fast
/// as those with them; with 3 000, 0.8 to 0.9 times.)
pub(super) const WINDOW_FEW: u64 = 16_384;
/// A run is short if an LP probably handles fewer events than this in all of it: windows that begin
/// once more, of another engine, take memory for each LP, which is new then. (PHOLD with 300 000
/// LPs and a lookahead: 0.4 to 0.6 times the speed of the sequential engine in runs of 40 ms to
/// 0.15 s, and 0.5 to 0.8 if that takes over.)
const EVENTS_OF_LP: u64 = 4;
/// A run that is probably over sooner than this, in seconds, does not pay for another engine.
const LEFT_LEAST: f64 = 8e-3;

impl Forecast {
    /// Whether the run is over when each LP has handled a few events, as far as this tells.
    pub(crate) fn is_short(&self, lps: usize) -> bool {
        self.events < (EVENTS_OF_LP * lps as u64) as f64
    }

    /// Whether few events will be pending when all LPs have started.
    fn are_few(&self, lps: usize, workers: usize) -> bool {
        debug_assert!(workers > 0, "a candidate without a worker");
        self.pending < (enough_pending(lps / workers) * workers as u64) as f64
    }
}

/// How many pending events of a worker of so many LPs are enough for windows.
fn enough_pending(lps: usize) -> u64 {
    PENDING_FEW.max((lps / SPARSE) as u64)
}

impl Choice {
    /// The same, but if the first candidate has no windows, those of the next one begin as soon as
    /// they have many events.
    pub(crate) fn with_windows_waiting(mut self) -> Self {
        let is_next = self.known.get(1).is_some_and(|next| next.has_windows);
        self.waiting = (is_next && !self.known[0].has_windows).then_some(1);
        self
    }

    /// The same, but if the first candidate has few events in a window, this one begins, whose
    /// windows may be wider.
    pub(crate) const fn with_wider(mut self, wider: Option<usize>) -> Self {
        self.hints.wider = wider;
        self
    }

    /// The same, where windows without copies are as wide as this lookahead.
    pub(crate) fn with_lookahead(mut self, lookahead: Option<f64>) -> Self {
        let given = |known: &&mut Known| known.has_windows && !known.copies;
        self.known.iter_mut().filter(given).for_each(|known| known.width = lookahead);
        self
    }

    /// A hand-over moves this number of LPs of so many bytes each.
    pub(crate) const fn note_lps(&mut self, lps: usize, bytes: usize) {
        self.hints.lps = lps;
        self.hints.moving_lps = lps as f64 * (HANDOVER_EACH + HANDOVER_BYTE * bytes as f64);
    }

    /// Called before the first stage: the same as is [noted](Self::note_pending) once windows have
    /// begun, so far as it is known before they have made all LPs.
    pub(crate) fn foresee(&mut self, forecast: Forecast) {
        let Known { has_windows, workers, .. } = self.known[self.incumbent];
        let are_few = forecast.are_few(self.hints.lps, workers);
        if !has_windows || !are_few && !forecast.is_short(self.hints.lps) {
            return;
        }
        if let Some(instead) = self.without_windows() {
            self.give_way(instead, are_few);
        }
    }

    /// Who has no windows and may begin instead of the incumbent.
    fn without_windows(&self) -> Option<usize> {
        self.others().find(|&number| !self.known[number].has_windows)
    }

    /// Lets another candidate begin. Those who have too few events wait for more.
    fn give_way(&mut self, instead: usize, are_few: bool) {
        debug_assert!(instead != self.incumbent, "who gives way begins");
        if are_few {
            self.waiting = Some(self.incumbent);
        }
        self.begin_with(instead);
    }

    /// Called before a look: what an engine tells of the work.
    pub(crate) fn note(&mut self, hint: Hint) {
        match hint {
            Hint::Pending { events, window } => self.note_pending(events, window),
            Hint::Windows { handling, pending, may_gain } => {
                let workers = self.known[self.now.candidate].workers as u64;
                let pending = workers * pending;
                self.hints = Hints { handling, pending, may_gain, ..self.hints };
                self.gaps.note_running(None);
            }
            Hint::Sequential { pending, copying, remote, ran } => {
                let (handling, may_gain) = (None, 1.0);
                self.hints = Hints { handling, copying, remote, pending, may_gain, ..self.hints };
                self.gaps.note_running(ran);
            }
        }
    }

    /// The LPs have been made, no event has been handled, and each worker has about this number of
    /// pending events. If they are few, so are those of a window, and an engine without windows
    /// takes over at once. If there are many, but few in a window whose width is given, one with
    /// other windows does, if it copies little and the run is not short.
    fn note_pending(&mut self, each: u64, window: Option<(u64, u64)>) {
        let begins = self.trials == 0 && self.committed == 0 && !self.prefers_first;
        if !begins || !self.known[self.incumbent].has_windows {
            return;
        }
        let are_few = each < self.enough_pending(self.incumbent);
        let is_narrow = window.is_some_and(|(events, _)| events < WINDOW_FEW);
        let expected = window.map(|(events, windows)| events.saturating_mul(windows));
        let short = EVENTS_OF_LP * self.lps_of_worker(self.incumbent) as u64;
        let instead = if are_few || is_narrow && expected.is_some_and(|events| events < short) {
            self.without_windows()
        } else {
            self.hints.wider.filter(|_| is_narrow)
        };
        if let Some(instead) = instead {
            self.give_way(instead, are_few);
        }
    }

    fn lps_of_worker(&self, candidate: usize) -> usize {
        debug_assert!(self.known[candidate].workers > 0, "a candidate without a worker");
        self.hints.lps / self.known[candidate].workers
    }

    /// How many pending events of a worker are enough for windows.
    fn enough_pending(&self, candidate: usize) -> u64 {
        enough_pending(self.lps_of_worker(candidate))
    }

    /// Whether the one that was to begin has enough pending events by now: as soon as it has, the
    /// way to it is short.
    pub(super) fn lets_begin(&mut self) -> bool {
        let pays = self.budget.foreseen() - self.time > LEFT_LEAST;
        let is_ready = |&waiting: &usize| {
            let Known { is_barred, workers, .. } = self.known[waiting];
            !is_barred && self.hints.pending >= self.enough_pending(waiting) * workers as u64
        };
        let ready = self.waiting.filter(|waiting| self.trials == 0 && pays && is_ready(waiting));
        let Some(waiting) = ready else { return false };
        debug_assert!(waiting != self.incumbent, "who waits works");
        self.waiting = None;
        self.promote(waiting, 0.0);
        self.next = waiting;
        true
    }
}

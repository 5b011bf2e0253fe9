//! What is known: of a candidate, by trials and work; of the work itself, by what engines tell; and
//! of the stage that goes on. Called by [`Choice`](super::Choice).

use super::{WIN, trial::Trial};

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Committed events per second when it ran last.
    pub(super) rate: Option<f64>,
    /// The density of events at that time. The rate of windows depends on it.
    pub(super) density: f64,
    pub(super) has_windows: bool,
    /// It copies the state of each LP that it handles events of in a window.
    pub(super) copies: bool,
    /// How wide its windows are, in virtual time, if that is given.
    pub(super) width: Option<f64>,
    pub(super) workers: usize,
    /// When it may be tried again, and how long it waits after the next trial that it loses.
    pub(super) due: f64,
    pub(super) retry: f64,
    /// It must not run: it has more workers than the user allows, or times are too late for it.
    pub(super) is_barred: bool,
}

/// A worker is at most this number of times as fast as one of the incumbent is while it handles
/// events. (The sequential engine is 0.6 to 1.3 times as fast on W2, W3, W5 and W8.)
pub(super) const HANDLING_GAIN: f64 = 1.3;
/// But it saves no more than this time at an event, in seconds: what caches have gained there.
const HANDLING_SAVES: f64 = 500e-9;
/// Who copies states spends a copy on this part of the events, at least: the others are not the
/// first ones of their LP in a window, or copies are sparse. (200 airports with tables that take 3
/// us to copy, events of 80 ns: one in 60, and two workers make 1.5 of the sequential engine.)
const COPIES_LEAST: f64 = 0.02;

/// Windows of a given width cannot win where the incumbent takes less than this for the events of
/// one, in seconds: workers wait for each other between them. (A ring with a token, of which a
/// window has hardly an event: 0.17 of the sequential engine. Senders with timers, events of 1 us
/// in a window: 0.75.)
pub(super) const WINDOW_LEAST: f64 = 1e-6;
/// And where that is less than this, windows that are as wide as it pays are tried before them.
pub(super) const WINDOW_NARROW: f64 = 2.0 * WINDOW_LEAST;

/// What engines tell of the work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints {
    /// Events per second of a worker of the incumbent while it handles them and does nothing else.
    pub(super) handling: Option<f64>,
    /// Seconds that a copy of a state takes.
    pub(super) copying: Option<f64>,
    /// The share of events that another LP has sent.
    pub(super) remote: Option<f64>,
    /// About how many events are pending.
    pub(super) pending: u64,
    /// By which factor the rate may rise, as far as windows search for their width.
    pub(super) may_gain: f64,
    /// Who begins instead of the first one if that has few events in a window.
    pub(super) wider: Option<usize>,
    /// How many LPs a hand-over moves, and the seconds that it takes for them, as far as their
    /// number and size tell.
    pub(super) lps: usize,
    pub(super) moving_lps: f64,
}

impl Hints {
    /// Whether windows that still search for their width may come to the `best` rate from this one.
    pub(super) fn may_rise_to(&self, best: f64, rate: f64) -> bool {
        self.may_gain > 1.0 && self.may_gain * rate > best
    }
}

impl Known {
    /// Whether it may be faster than the `best`, by what is told of the work. Few workers may be
    /// too few, though they wait for nothing; and copies may take longer than the events do. If
    /// the incumbent `is_alone`, it does nothing but handle events.
    pub(super) fn may_reach(&self, best: f64, hints: &Hints, is_alone: bool) -> bool {
        let copies = hints.copying.filter(|_| self.copies);
        let known = hints.handling.or_else(|| (is_alone || copies.is_some()).then_some(best));
        let Some(handling) = known else { return true };
        let saves = if self.has_windows { HANDLING_SAVES } else { f64::INFINITY };
        let each = (1.0 / (HANDLING_GAIN * handling)).max(1.0 / handling - saves);
        let each = each + copies.map_or(0.0, |seconds| COPIES_LEAST * seconds);
        self.workers as f64 > WIN * best * each
    }

    /// Whether its windows are so narrow, if they are of a given width, that the incumbent takes
    /// less than this for the events of one, in seconds; there are so many per virtual time.
    pub(super) fn is_narrower(&self, least: f64, best: f64, density: f64) -> bool {
        debug_assert!(best > 0.0, "an incumbent that does nothing");
        density > 0.0 && self.width.is_some_and(|width| width * density < least * best)
    }
}

/// The stage that goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Now {
    pub(super) candidate: usize,
    /// When the stage before it was told to end.
    pub(super) requested: f64,
    /// Events committed before it.
    pub(super) before: u64,
    /// When the slice that is being measured began, and how many events were committed by then.
    pub(super) slice: Option<(f64, u64)>,
    /// When it was looked at first.
    pub(super) looked: Option<f64>,
    /// Slices so far, and the rate of the last one.
    pub(super) slices: u32,
    pub(super) last: f64,
    /// The same candidate ran the stage before it: LPs have moved.
    pub(super) is_again: bool,
    /// What bounds it, if it is a trial.
    pub(super) trial: Option<Trial>,
}

/// By which factor the wait for another trial grows after a loss at these rates.
pub(super) fn patience(loser: f64, winner: f64) -> f64 {
    if 1.5 * loser < winner { 4.0 } else { 2.0 }
}

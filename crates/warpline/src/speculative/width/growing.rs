//! The first windows of a run: narrow ones, each wider than the one before as long as hardly
//! anything is wasted.
//!
//! The events that are pending at the start tell how wide windows should be in a model that goes on
//! as it begins. Where each event soon sends dozens of others, windows of that width have far too
//! many, and are given up when most of a short run could have been over. That is so where few
//! events are pending. With many, the first window is half as wide as was guessed, and tells
//! whether that wastes too much already: the search, which goes to wider windows first, would find
//! out after most of a short run. (PHOLD without a lookahead, 65 536 LPs, a run of 70 ms: 1.7 times
//! as fast. Still narrower first windows need another grid soon, and take up to a tenth of a run
//! with a million pending events.)
//!
//! What a window wastes is counted when the next one is open, so growing comes to its end too late.
//! Then windows become narrower again as long as they waste much: where handlers take long, the
//! search would take most of a run for that. (256 events of 100 us on 64 LPs: 1.2 s of a run of
//! 1.8 s were windows in which each event was handled twice.) Called at the start and by
//! [`decide`](WidthControl::decide).

use super::WidthControl;

/// A search begins at the width at which a window of a worker has this number of events, or half as
/// many as the worker has LPs, if the width in force is this number of levels away from it.
pub(super) const EVENTS_FIRST: usize = 64;
pub(super) const FAR: i32 = 4;
/// Where states are copied, it begins with more events: for each LP, one for so many seconds of a
/// copy. Then copies, which are made once in a dozen windows ([`sparse`](crate::speculative)), take
/// half as long as events of 100 ns.
const COPYING: f64 = 600e-9;
/// But with no more than this number, however long a copy takes.
const EVENTS_FIRST_MOST: usize = 1 << 16;
/// And with no more than this part of what is pending, where that is much.
const PENDING_PART: usize = 8;
/// The level of the first window where few events are pending, and where many are; and the highest
/// one that is reached by growing.
const FIRST: i32 = -7;
const FIRST_OF_MANY: i32 = -2;
const LAST: i32 = -1;
/// Levels from a window to the next one.
const STEP: i32 = 2;
/// Fewer pending events of a worker than this are few.
const PENDING_FEW: usize = 2048;
/// A window wastes much if this part of its events is handled again; and the same if it has fewer
/// events than that number, of which a larger part may be late by chance.
pub(super) const WASTE: i64 = 16;
const WASTE_OF_FEW: i64 = 4;
const EVENTS_FEW: i64 = 512;

/// How many events of a worker with this number of LPs a window has where a search begins, at most,
/// if a copy of an LP's state takes so many seconds.
pub(in crate::speculative) fn events_first(lps: usize, copying: f64) -> usize {
    let to_copy = (lps as f64 * copying / COPYING) as usize;
    EVENTS_FIRST.max(lps / 2).max(to_copy.min(EVENTS_FIRST_MOST))
}

/// The same where this number of its events is pending: in a window of most of them, most of what
/// they send would be late.
pub(in crate::speculative) fn events_first_of(first: usize, pending: usize) -> usize {
    let part = if pending < PENDING_FEW { pending / 2 } else { pending / PENDING_PART };
    first.min(part)
}

/// Windows that take this time in nanoseconds do not become wider to have more events: what is
/// waited for between them is little beside it, and more of what they handle may be late.
pub(super) const LONG_ENOUGH: f64 = 0.3e6;

/// Whether this part of so many events was handled again. (Of a few it is by chance.)
pub(super) fn wastes(part: i64, replayed: i64, events: i64) -> bool {
    part * replayed > events.max(16)
}

/// The counts when a window was over: events that stand, and those that were handled again.
#[derive(Clone, Copy, Debug)]
pub(in crate::speculative) struct Counts {
    pub(in crate::speculative) standing: i64,
    pub(in crate::speculative) replayed: u64,
    /// The time in nanoseconds.
    pub(in crate::speculative) at: f64,
}

/// What a window was: the same since the one before it.
#[derive(Clone, Copy, Debug)]
struct Window {
    events: i64,
    replayed: i64,
    took: f64,
}

impl Counts {
    fn since(self, before: Self) -> Window {
        let events = self.standing - before.standing;
        debug_assert!(events >= 0, "fewer events stand than before");
        let replayed = (self.replayed - before.replayed) as i64;
        Window { events, replayed, took: self.at - before.at }
    }
}

impl Window {
    /// Whether this part of its events was handled again.
    fn wastes(self, part: i64) -> bool {
        wastes(part, self.replayed, self.events)
    }
}

/// The first windows of a run, before the search begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    /// What there was before the last window.
    before: Counts,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Each window is wider than the one before.
    Wider,
    /// The width has just changed, and the next window is open already.
    Opened,
    /// Narrower, if the last window has wasted much.
    Narrower,
}

impl WidthControl {
    /// Where a search begins, windows have this number of events, or fewer: see [`events_first`].
    pub(in crate::speculative) const fn begin_searches_with(&mut self, events: usize) {
        self.first = events;
    }

    /// A stage begins, with this number of pending events of a worker. If its windows are not known
    /// from before, they grow from here; if they grew in the stage before, they go on, from counts
    /// of their own: each stage counts replayed events anew.
    pub(in crate::speculative) fn begin(&mut self, pending: usize, is_known: bool, now: Counts) {
        self.pending = pending;
        if !is_known && !self.is_fixed {
            let first = if pending < PENDING_FEW { FIRST } else { FIRST_OF_MANY };
            self.level = first;
            self.growing = Some(Growth { before: now, phase: Phase::Wider });
        } else if let Some(growth) = &mut self.growing {
            growth.before = now;
        }
    }

    /// The windows of a grid open at this time in nanoseconds: what came before is not theirs.
    pub(in crate::speculative) const fn open(&mut self, at: f64) {
        if let Some(growth) = &mut self.growing {
            growth.before.at = at;
        }
    }

    /// After a window of such a run.
    pub(super) fn grow(&mut self, growth: Growth, now: Counts) {
        let window = now.since(growth.before);
        match growth.phase {
            Phase::Wider => self.grow_wider(window, now),
            Phase::Opened => self.growing = Some(Growth { before: now, phase: Phase::Narrower }),
            Phase::Narrower if window.wastes(WASTE_OF_FEW) => {
                self.grow_from(self.level - STEP, true, now);
            }
            // The search goes on from here.
            Phase::Narrower => self.growing = None,
        }
    }

    fn grow_wider(&mut self, window: Window, now: Counts) {
        let part = if window.events < EVENTS_FEW { WASTE_OF_FEW } else { WASTE };
        let is_wasteful = window.wastes(part);
        let are_many = 2 * window.events >= self.first as i64;
        let is_enough = are_many || window.took >= LONG_ENOUGH;
        let found = match self.level {
            level if is_wasteful => level - STEP,
            // As wide as was guessed.
            LAST.. => 0,
            // (With half of what was guessed, so many events are no news.)
            level if is_enough && level != FIRST_OF_MANY => level,
            level => {
                self.level = level + STEP;
                self.growing = Some(Growth { before: now, phase: Phase::Wider });
                return;
            }
        };
        self.grow_from(found, is_wasteful, now);
    }

    /// How many levels windows with this number of events are away from where a search begins.
    pub(super) fn levels_to_first(&self, events: f64) -> i32 {
        let most = self.first as f64;
        let least = events_first_of(self.first, self.pending) as f64;
        (2.0 * (events.clamp(least.max(1.0), most) / events.max(1.0)).log2()).round() as i32
    }

    /// A width was found. The search will go from there to narrower ones first if this one is the
    /// answer to waste.
    fn grow_from(&mut self, found: i32, is_wasteful: bool, now: Counts) {
        self.growing = Some(Growth { before: now, phase: Phase::Opened });
        self.base = found;
        self.direction = if is_wasteful { -1 } else { 1 };
        // What wastes much does not become wider to have more events.
        self.is_first &= !is_wasteful;
        self.go_to(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speculative::resize::Reason;

    /// Other engines have committed events before.
    const BEFORE: Counts = Counts { standing: 1_000_000, replayed: 1_000, at: 1e9 };

    fn begun(pending: usize) -> WidthControl {
        let mut control = WidthControl::new(false, 4, 1_000, 18_000);
        control.begin(pending, false, BEFORE);
        control
    }

    /// A control that goes through windows with this number of events for each unit of width, of
    /// which a part is handled again that grows with the width: `waste` where that is 1. It is
    /// counted in the next window. An event takes `each` nanoseconds. Returns the level at which
    /// the search begins, whether it goes up or down, and how many windows there were until then.
    fn ends_at(pending: usize, density: f64, waste: f64, each: f64) -> (i32, i32, usize) {
        let mut control = begun(pending);
        let (mut standing, mut replayed) = (BEFORE.standing as f64, BEFORE.replayed as f64);
        let (mut late, mut windows) = (0.0, 0);
        control.choose_grid();
        while control.growing.is_some() {
            let is_wider = control.growing.is_some_and(|growth| growth.phase == Phase::Wider);
            let slots = control.slots().unwrap_or_else(|| {
                assert!(!is_wider, "growing needs one grid: {control:?}");
                control.choose_grid()
            });
            let width = slots as f64 * 2_f64.powi(control.exponent);
            let events = density * width;
            standing += events;
            replayed += std::mem::replace(&mut late, waste * width * events);
            let at = BEFORE.at + each * (standing - BEFORE.standing as f64);
            control.decide(standing as i64, replayed as u64, || at);
            windows += 1;
        }
        assert_eq!(control.base, control.level, "the search begins elsewhere: {control:?}");
        (control.base, control.direction, windows)
    }

    #[test]
    fn windows_grow_until_they_have_enough_or_waste() {
        let few = |density, waste| ends_at(PENDING_FEW - 1, density, waste, 50.0).0;
        assert_eq!(few(500.0, 0.0), 0, "what was guessed from pending events");
        assert_eq!(few(10.0, 0.0), 0, "few events are no reason to grow further");
        assert_eq!(few(1_600.0, 0.0), -5, "each event sends many");
        assert_eq!(few(100_000.0, 0.0), FIRST, "the first window has enough");
        assert_eq!(few(500.0, 0.2), 0, "few events, so that is chance");
    }

    /// Where handlers take long, a few events are a window. (Red if only events are counted.)
    #[test]
    fn windows_of_slow_events_stay_narrow() {
        let slow = |each| ends_at(PENDING_FEW - 1, 100.0, 0.0, each);
        assert_eq!(slow(1e3), (0, 1, 6), "as wide as was guessed");
        assert_eq!(slow(10e3), (-3, 1, 5));
        assert_eq!(slow(1e6), (FIRST, 1, 3));
    }

    /// What the last windows of growing waste is counted later. (Red if the search begins when
    /// growing ends: at a width where each event is handled three times.)
    #[test]
    fn windows_become_narrower_while_they_waste() {
        let few = |density, waste| ends_at(PENDING_FEW - 1, density, waste, 50.0);
        assert_eq!(few(500.0, 0.4).0, -2, "half of what was guessed");
        assert_eq!(few(100.0, 2.0), (-7, -1, 10));
        assert_eq!(few(100_000.0, 20.0).0, FIRST - 3 * STEP, "the first one wastes");
    }

    /// Where many events are pending, the first window tells whether they are too wide.
    #[test]
    fn many_events_tell_whether_windows_waste() {
        let many = |density, waste| {
            let (level, direction, _) = ends_at(PENDING_FEW, density, waste, 50.0);
            (level, direction)
        };
        assert_eq!(many(800.0, 0.0), (0, 1), "what was guessed");
        assert_eq!(many(8_000.0, 0.1), (0, 1), "little is wasted");
        assert_eq!(many(8_000.0, 1.0), (FIRST_OF_MANY - STEP, -1), "too much");
    }

    /// The time until the first window opens is not its own. (Seen red without `open`: 2 000 LPs of
    /// fast events had windows of one event.)
    #[test]
    fn a_start_takes_long_and_its_window_does_not() {
        let mut control = begun(0);
        let at = BEFORE.at + 10.0 * LONG_ENOUGH;
        control.open(at);
        control.decide(BEFORE.standing + 10, BEFORE.replayed, || at + 1e3);
        assert_eq!(control.level, FIRST + STEP, "{control:?}");
    }

    /// A stage that was interrupted after its first window, and the one that goes on there.
    #[test]
    fn another_stage_goes_on() {
        let first = begun(0);
        let width = first.level;
        let mut control = first.resumed();
        let now = Counts { standing: BEFORE.standing + 50, replayed: 0, ..BEFORE };
        control.begin(PENDING_FEW, true, now);
        control.decide(now.standing + 60, 3, || BEFORE.at);
        assert_eq!((control.level, control.growing.is_some()), (width + STEP, true), "it stopped");
        let mut other = WidthControl::new(false, 4, 1_000, 18_000);
        other.begin(0, true, now);
        assert!(other.growing.is_none(), "windows that are known do not grow from narrow ones");
    }

    /// Windows that are given up end it, too.
    #[test]
    fn a_storm_ends_it() {
        let mut control = begun(0);
        control.given_up(Reason::STORM, 1_000, 0, 100);
        assert!(control.growing.is_none() && control.level < FIRST, "{control:?}");
    }
}

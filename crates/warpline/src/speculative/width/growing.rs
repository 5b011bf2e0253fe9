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
//! with a million pending events.) Called at the start and by [`decide`](WidthControl::decide).

use super::{WidthControl, events_first};

/// The level of the first window where few events are pending, and where many are; and the highest
/// one that is reached by growing.
const FIRST: i32 = -7;
const FIRST_OF_MANY: i32 = -2;
const LAST: i32 = -1;
/// Levels from a window to the next one.
const STEP: i32 = 2;
/// Fewer pending events of a worker than this are few.
pub(super) const PENDING_FEW: usize = 2048;
/// A window wastes much if this part of its events is handled again; and the same if it has fewer
/// events than that number, of which a larger part may be late by chance.
const WASTE: i64 = 16;
const WASTE_OF_FEW: i64 = 4;
const EVENTS_FEW: i64 = 512;

/// The counts when a window was over: events that stand, and those that were handled again.
#[derive(Clone, Copy, Debug)]
pub(in crate::speculative) struct Counts {
    pub(in crate::speculative) standing: i64,
    pub(in crate::speculative) replayed: u64,
}

impl WidthControl {
    /// A stage begins, with this number of pending events of a worker. If its windows are not known
    /// from before, they grow from here; if they grew in the stage before, they go on, from counts
    /// of their own: each stage counts replayed events anew.
    pub(in crate::speculative) fn begin(&mut self, pending: usize, is_known: bool, now: Counts) {
        self.pending = pending;
        if !is_known && !self.is_fixed {
            let first = if pending < PENDING_FEW { FIRST } else { FIRST_OF_MANY };
            (self.level, self.growing) = (first, Some(now));
        } else if let Some(before) = &mut self.growing {
            *before = now;
        }
    }

    /// After a window of such a run.
    pub(super) fn grow(&mut self, before: Counts, now: Counts) {
        let events = now.standing - before.standing;
        let replayed = now.replayed - before.replayed;
        debug_assert!(events >= 0, "fewer events stand than before");
        let part = if events < EVENTS_FEW { WASTE_OF_FEW } else { WASTE };
        let is_wasteful = part * replayed as i64 > events.max(16);
        let is_enough = 2 * events >= events_first(self.lps as usize) as i64;
        let found = match self.level {
            level if is_wasteful => level - STEP,
            // As wide as was guessed.
            LAST.. => 0,
            // (With half of what was guessed, so many events are no news.)
            level if is_enough && level != FIRST_OF_MANY => level,
            level => {
                (self.level, self.growing) = (level + STEP, Some(now));
                return;
            }
        };
        // The search goes on from here, to narrower ones first if these waste much.
        (self.base, self.growing) = (found, None);
        self.direction = if is_wasteful { -1 } else { 1 };
        self.go_to(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speculative::resize::Reason;

    /// Other engines have committed events before.
    const BEFORE: Counts = Counts { standing: 1_000_000, replayed: 1_000 };

    fn begun(pending: usize) -> WidthControl {
        let mut control = WidthControl::new(false, 4, 1_000, 18_000);
        control.begin(pending, false, BEFORE);
        control
    }

    /// A control that grows through windows with this number of events for each unit of width, of
    /// which a part is handled again. Returns the level at which its search begins, and whether
    /// that goes up or down.
    fn ends_at(pending: usize, density: f64, waste: f64) -> (i32, i32) {
        let mut control = begun(pending);
        let (mut standing, mut replayed) = (BEFORE.standing as f64, BEFORE.replayed as f64);
        control.choose_grid();
        while control.growing.is_some() {
            let Some(slots) = control.slots() else {
                panic!("growing needs one grid: {control:?}")
            };
            let events = density * slots as f64 * 2_f64.powi(control.exponent);
            standing += events;
            replayed += waste * events;
            control.decide(standing as i64, replayed as u64, || 0.0);
        }
        assert_eq!(control.base, control.level, "the search begins elsewhere: {control:?}");
        (control.base, control.direction)
    }

    #[test]
    fn windows_grow_until_they_have_enough_or_waste() {
        let few = |density, waste| ends_at(PENDING_FEW - 1, density, waste).0;
        assert_eq!(few(500.0, 0.0), 0, "what was guessed from pending events");
        assert_eq!(few(10.0, 0.0), 0, "few events are no reason to grow further");
        assert_eq!(few(1_600.0, 0.0), -5, "each event sends many");
        assert_eq!(few(100_000.0, 0.0), FIRST, "the first window has enough");
        assert_eq!(few(500.0, 0.5), FIRST - STEP, "the first one wastes, so it was too wide");
        assert_eq!(few(500.0, 0.2), 0, "few events, so that is chance");
    }

    /// Where many events are pending, the first window tells whether they are too wide.
    #[test]
    fn many_events_tell_whether_windows_waste() {
        assert_eq!(ends_at(PENDING_FEW, 800.0, 0.0), (0, 1), "what was guessed");
        assert_eq!(ends_at(PENDING_FEW, 8_000.0, 0.05), (0, 1), "little is wasted");
        assert_eq!(ends_at(PENDING_FEW, 8_000.0, 0.1), (FIRST_OF_MANY - STEP, -1), "too much");
    }

    /// A stage that was interrupted after its first window, and the one that goes on there.
    #[test]
    fn another_stage_goes_on() {
        let first = begun(0);
        let width = first.level;
        let mut control = first.resumed();
        let now = Counts { standing: BEFORE.standing + 50, replayed: 0 };
        control.begin(PENDING_FEW, true, now);
        control.decide(now.standing + 60, 3, || 0.0);
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

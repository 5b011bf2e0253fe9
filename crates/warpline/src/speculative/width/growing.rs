//! The first windows of a run: narrow ones, each wider than the one before as long as hardly
//! anything is wasted.
//!
//! The events that are pending at the start tell how wide windows should be in a model that goes on
//! as it begins. Where each event soon sends dozens of others, windows of that width have far too
//! many, and are given up when most of a short run could have been over. So it is where few events
//! are pending; with many, a model goes on as it begins, and the other grid would take longer than
//! it gains. Called at the start and by [`decide`](WidthControl::decide).

use super::{EVENTS_FIRST, WidthControl};

/// The level of the first window, and the highest one that is reached by growing: both fit one
/// grid.
const FIRST: i32 = -7;
const LAST: i32 = -1;
/// Levels from a window to the next one.
const STEP: i32 = 2;
/// Fewer pending events of a worker than this are few.
const PENDING_FEW: u64 = 2048;

/// The counts when a window was over: events that stand, and those that were handled again.
#[derive(Clone, Copy, Debug)]
pub(in crate::speculative) struct Counts {
    pub(in crate::speculative) standing: i64,
    pub(in crate::speculative) replayed: u64,
}

impl WidthControl {
    /// A stage begins, with this number of pending events of a worker. If its windows are not known
    /// from before, they may grow from here; if they grew in the stage before, they go on, from
    /// counts of their own: each stage counts replayed events anew.
    pub(in crate::speculative) fn begin(&mut self, pending: u64, is_known: bool, now: Counts) {
        if !is_known && pending < PENDING_FEW && !self.is_fixed {
            (self.level, self.growing) = (FIRST, Some(now));
        } else if let Some(before) = &mut self.growing {
            *before = now;
        }
    }

    /// After a window of such a run.
    pub(super) fn grow(&mut self, before: Counts, now: Counts) {
        let events = now.standing - before.standing;
        let replayed = now.replayed - before.replayed;
        debug_assert!(events >= 0, "fewer events stand than before");
        let is_wasteful = 4 * replayed as i64 > events.max(16);
        let is_enough = 2 * events >= EVENTS_FIRST.max(self.lps / 2);
        let found = match self.level {
            level if is_wasteful => level - STEP,
            // As wide as was guessed.
            LAST.. => 0,
            level if is_enough => level,
            level => {
                (self.level, self.growing) = (level + STEP, Some(now));
                return;
            }
        };
        // The search goes on from here.
        (self.base, self.growing) = (found, None);
        self.go_to(found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speculative::resize::Reason;

    /// Other engines have committed events before.
    const BEFORE: Counts = Counts { standing: 1_000_000, replayed: 1_000 };

    fn begun(pending: u64) -> WidthControl {
        let mut control = WidthControl::new(false, 4, 1_000, 18_000);
        control.begin(pending, false, BEFORE);
        control
    }

    /// A control that grows through windows with this number of events for each unit of width, of
    /// which a part is handled again. Returns the level at which its search begins.
    fn ends_at(density: f64, waste: f64) -> i32 {
        let mut control = begun(PENDING_FEW - 1);
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
        control.base
    }

    #[test]
    fn windows_grow_until_they_have_enough_or_waste() {
        assert_eq!(ends_at(500.0, 0.0), 0, "what was guessed from pending events");
        assert_eq!(ends_at(10.0, 0.0), 0, "few events are no reason to grow further");
        assert_eq!(ends_at(1_600.0, 0.0), -5, "each event sends many");
        assert_eq!(ends_at(100_000.0, 0.0), FIRST, "the first window has enough");
        assert!(begun(PENDING_FEW).growing.is_none(), "many events tell how wide they should be");
        assert_eq!(ends_at(500.0, 0.5), FIRST - STEP, "the first one wastes, so it was too wide");
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

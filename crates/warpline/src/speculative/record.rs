//! The record of an LP in a window: what restores the LP as it was before its first event there.
//!
//! [`Window`](super::window::Window) makes one for each LP that is handled in it, and calls it when
//! the LP is rolled back or the window is undone. Where fields save what they change, it has a
//! point in the worker's undo log, and is used only while the log reaches back to it (SPEC-E).

use std::mem::needs_drop;

use warpline_core::{EventKey, LogicalProcess, UndoLog};

use crate::{
    handling::{Core, Lp},
    local_lp::LocalLp,
};

/// What a window has of one LP that was handled in it.
#[derive(Debug)]
pub(super) struct Record<L> {
    /// The LP as it was before the window.
    pub(super) saved: Saved<L>,
    pub(super) core: Core,
    pub(super) local: LocalLp,
    /// The first of its events in the order, and their number.
    pub(super) start: u32,
    pub(super) len: u32,
    /// The last of its added events.
    pub(super) added: u32,
    /// The last event that it handled, or at which it stopped.
    pub(super) last: Option<EventKey>,
    /// Whether it stopped at an event: a mistake of the model, or a blocking I/O event.
    pub(super) is_stopped: bool,
}

/// What restores a state. With sparse copies it may be another one in each window.
#[derive(Debug)]
pub(super) enum Saved<L> {
    Copy(L),
    /// Where the undo log began what the LP has written in the window.
    Point(u64),
    /// Nothing here: a copy is among the [sparse](super::sparse) ones.
    Sparse,
}

impl<L: LogicalProcess> Saved<L> {
    #[inline]
    pub(super) fn new(state: &L, log: &mut UndoLog) -> Self {
        if const { L::SAVING.is_by_field() } {
            Self::Point(L::SAVING.begin(state, log))
        } else {
            Self::Copy(state.clone())
        }
    }

    /// Saves a state in place of another one.
    #[inline]
    fn save(&mut self, state: &L, log: &mut UndoLog) {
        match self {
            // It may use the memory of the old copy again.
            Self::Copy(copy) if const { !L::SAVING.is_by_field() && needs_drop::<L>() } => {
                copy.clone_from(state);
            }
            _ => *self = Self::new(state, log),
        }
    }

    /// Restores the state. What it owns may be taken out of the log: see [`Record::rewind`].
    pub(super) fn restore(&self, state: &mut L, log: &mut UndoLog) {
        match self {
            Self::Copy(copy) => state.clone_from(copy),
            Self::Sparse => debug_assert!(false, "SPARSE-A: there is no copy here"),
            &Self::Point(point) => {
                debug_assert!(
                    (log.front()..=log.back()).contains(&point),
                    "SPEC-E: position {point} is not in the log"
                );
                L::SAVING.undo_to(state, point, log);
            }
        }
    }
}

impl<L: LogicalProcess> Record<L> {
    /// Saves the LP as it is now.
    #[inline]
    pub(super) fn save(&mut self, lp: &Lp<L>, log: &mut UndoLog) {
        self.saved.save(&lp.state, log);
        self.core.clone_from(&lp.core);
    }

    /// Restores the LP. The record cannot do so again before something is saved anew.
    pub(super) fn restore(&self, lp: &mut Lp<L>, log: &mut UndoLog) {
        self.saved.restore(&mut lp.state, log);
        lp.core.clone_from(&self.core);
    }

    /// Restores the LP, which goes on from there.
    pub(super) fn rewind(&mut self, lp: &mut Lp<L>, log: &mut UndoLog) {
        self.restore(lp, log);
        if const { L::SAVING.is_by_field() } {
            self.saved = Saved::new(&lp.state, log);
        }
    }
}

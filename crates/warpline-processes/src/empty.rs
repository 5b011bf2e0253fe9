//! Nothing, where a world has no data or observes nothing itself.

use serde::{Deserialize, Serialize};
use warpline::{
    State, Statistics, VirtualTime,
    state::{Moves, UndoLog},
    statistics::{Findings, Label},
};

/// Nothing: the data of sites that have none, and the statistics of a world that observes nothing
/// but its facilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Empty;

impl Statistics for Empty {
    fn reset(&mut self, _: VirtualTime) {}

    fn close(&mut self, _: VirtualTime) {}

    fn merge(&mut self, _: &Self) {}

    fn since(&self, _: &Self) -> Self {
        Self
    }

    fn tell(&self, _: &Label<'_>, _: &mut Findings) {}
}

impl State for Empty {
    const HAS_PLAIN: bool = false;

    fn save_plain(&self, _: &mut UndoLog) {}

    fn restore_plain(&mut self, _: u64, _: &mut UndoLog) {}

    fn undo_to(&mut self, _: u64, _: &mut UndoLog) -> usize {
        0
    }

    fn rebase(&mut self, _: &Moves) {}

    fn heap_bytes(&self) -> usize {
        0
    }

    fn fields(&self, _: &mut dyn FnMut(&'static str, &dyn std::fmt::Debug)) {}
}

//! What the undo log is charged for, and how it is made and used to undo.
//!
//! Called by [`logging`](super::logging), and by whatever undoes an event.

use warpline_core::{LogicalProcess, Model, UndoLog};
use warpline_memory::enter_platform;

use super::{history::Record, saving::Lp, shared::TimeWarpShared};

/// What the undo log is charged for, where memory is limited.
#[derive(Debug, Default)]
pub(super) struct LogAccount {
    pub(super) bytes: usize,
    /// The most words that an event has written, and the most bytes that it added beside them.
    pub(super) words_most: usize,
    pub(super) owned_most: usize,
    /// Where the log ended when it was charged last, and what lay beside its words.
    pub(super) back: u64,
    pub(super) owned: usize,
}

/// The undo log of a worker, which begins at a position behind all logs before it (UNDO-C).
pub(super) fn undo_log<M: Model>(shared: &TimeWarpShared<M>, begin: u64) -> UndoLog {
    let log = UndoLog::starting_at(begin);
    // Handlers write to it while the memory of their LP is in use.
    if shared.memory.is_some() {
        log.allocating_in(|allocate| {
            let _platform = enter_platform();
            allocate();
        })
    } else {
        log
    }
}

/// Restores an LP as it was before the event of `first`.
pub(super) fn undo_writes<L: LogicalProcess>(lp: &mut Lp<L>, first: &Record, log: &mut UndoLog) {
    L::SAVING.undo_to(&mut lp.state, first.undo_from, log);
    lp.core = first.before.clone();
}

//! A stage on the sequential engine: a part of a run that changes engines.
//!
//! Called by [`stages`](crate::stages), as one of the engines that hand over.

use std::time::Instant;

use warpline_core::Model;

use super::{Once, OwnSettings, Sequential};
use crate::{
    Details, EngineKind, RunError,
    cut::{Cut, Stage},
    event::{Buffer, Event, Message},
    monitor::{self, Activity},
    pending::{PendingFamily, PendingSet, family},
    watch::Watch,
};

/// Runs `model` from a cut on, or from its start, until it is told to hand over; errors are those
/// of `engine`, which the user knows.
pub(crate) fn stage<M: Model, B: Buffer<Message<M>>>(
    engine: EngineKind,
    model: &M,
    settings: &OwnSettings,
    watch: &mut Watch<'_>,
    started: Instant,
    cut: Option<Cut<M::Lp, Event<B>>>,
) -> Result<Stage<M, Event<B>>, RunError> {
    type Set<E> = <family::Ladder as PendingFamily>::Set<E>;
    let mut run =
        Sequential::<M, B, Set<_>, Once>::new(model, settings, Set::default(), Once(engine))?;
    run.started = started;
    // Else the monitor would show what the workers of the stage before did last.
    let board = monitor::board(1);
    board[0].show(Activity::Working);
    watch.show(&board);
    run.board = Some(board);
    let before = cut.as_ref().map_or(0, Cut::committed);
    run.counted_before = before;
    let interrupted = match cut {
        Some(cut) => run.resume(cut, watch)?,
        None => run.begin(watch)?,
    };
    run.show();
    let totals = run.totals();
    let mut pending = Vec::new();
    if interrupted || settings.leaves_cut {
        run.sender.pending.drain_into(&mut pending);
        debug_assert_eq!(run.sender.pending.len(), 0, "CUT-A: an event is left behind");
    }
    Ok(Stage {
        has_given_up: false,
        interrupted,
        last_time: run.now,
        totals,
        details: Details { heap_memory: run.heap_memory(), ..Details::default() },
        cut: Cut::new(run.lps, pending),
    })
}

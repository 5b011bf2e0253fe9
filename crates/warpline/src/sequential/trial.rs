//! Trials: how many events the LPs have at the beginning of a run, as weights of a placement.
//!
//! Called through [`Simulation`](crate::Simulation) before a run.

use warpline_core::Model;

use super::{
    Sequential,
    execution::{Chosen, Counts},
    model_error,
};
use crate::{
    EngineKind, PendingKind, RunError,
    event::{Boxed, Buffer, INLINE_BYTES_MAX, Inline, Message},
    panics,
    pending::{AnyFamily, PendingFamily},
    settings::{self, Settings},
    watch::Watch,
};

/// A trial: counts the events of each LP in the second half of the first `events` of a run; of all
/// of them, if it ends before. Nothing is written, and the trial ends before the first blocking I/O
/// event.
pub(crate) fn count<M: Model, E>(
    model: &M,
    settings: &Settings<E>,
    events: u64,
) -> Result<Vec<u64>, RunError> {
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        count_in::<M, Inline<_>, E>(model, settings, events)
    } else {
        count_in::<M, Boxed<_>, E>(model, settings, events)
    }
}

fn count_in<M: Model, B: Buffer<Message<M>>, E>(
    model: &M,
    settings: &Settings<E>,
    events: u64,
) -> Result<Vec<u64>, RunError> {
    type Set<T> = <AnyFamily as PendingFamily>::Set<T>;
    let settings = settings.with(settings::Sequential { pending: PendingKind::Heap });
    let execution = Chosen::Counted(Counts::new(events));
    let pending = AnyFamily::set(PendingKind::Heap);
    let mut run = Sequential::<M, B, Set<_>, _>::new(model, &settings, pending, execution)?;
    run.begin(&mut Watch::default())?;
    let counts = match &mut run.execution {
        Chosen::Counted(counts) => std::mem::take(&mut counts.by_lp),
        _ => unreachable!("it was made above"),
    };
    // As at the end of a run: the drop of what is pending may panic.
    panics::catch(move || drop(run))
        .map_err(|fault| model_error(fault, None, EngineKind::Sequential, &settings))?;
    Ok(counts)
}

//! How LPs are taken apart at the end of a run, and their summaries folded into the model's output.
//!
//! Called when all workers have ended; the code is the model's, so its panics become errors.

use warpline_core::{Fault, LogicalProcess, LpId, Model, ModelError, Place, VirtualTime};

use crate::{RunError, panics, settings::Parallel};

/// What an LP leaves at the end.
pub(super) type Summary<M> = <<M as Model>::Lp as LogicalProcess>::Summary;

/// Takes the LPs apart, in their order, and folds their summaries.
pub(crate) fn reduce<M: Model>(
    model: &M,
    lps: impl Iterator<Item = (LpId, M::Lp)>,
    end_time: VirtualTime,
    settings: &Parallel<'_>,
) -> Result<M::Output, RunError> {
    take_apart(model, lps, end_time, settings, |summaries| {
        model.reduce(summaries.map(|(_, summary)| summary))
    })
}

/// Takes the LPs apart, in their order.
pub(crate) fn summaries<M: Model>(
    model: &M,
    lps: impl Iterator<Item = (LpId, M::Lp)>,
    end_time: VirtualTime,
    settings: &Parallel<'_>,
) -> Result<Vec<(LpId, Summary<M>)>, RunError> {
    take_apart(model, lps, end_time, settings, |summaries| summaries.collect())
}

/// Passes the summaries to `consume` one by one: all of them at once may take more memory than the
/// LPs did.
fn take_apart<M: Model, R>(
    model: &M,
    lps: impl Iterator<Item = (LpId, M::Lp)>,
    end_time: VirtualTime,
    settings: &Parallel<'_>,
    consume: impl FnOnce(&mut dyn Iterator<Item = (LpId, Summary<M>)>) -> R,
) -> Result<R, RunError> {
    let (mut current, mut last) = (None, None);
    let outcome = panics::catch(|| {
        consume(&mut lps.map(|(id, lp)| {
            debug_assert!(last < Some(id), "A2: {id} is taken apart after {last:?}");
            (current, last) = (Some(id), Some(id));
            let summary = lp.finish(model, end_time);
            current = None;
            (id, summary)
        }))
    });
    outcome.map_err(|fault| model_error(fault, current, settings))
}

/// Folds the summaries of the LPs of all ranks.
pub(crate) fn fold<M: Model>(
    model: &M,
    summaries: impl Iterator<Item = Summary<M>>,
    settings: &Parallel<'_>,
) -> Result<M::Output, RunError> {
    let outcome = panics::catch(|| model.reduce(summaries));
    outcome.map_err(|fault| model_error(fault, None, settings))
}

/// The error for a fault of the model outside of any event.
pub(crate) fn model_error(fault: Fault, lp: Option<LpId>, settings: &Parallel<'_>) -> RunError {
    let (engine, seed) = (settings.engine.name(), settings.seed);
    ModelError { fault, place: Place { lp, event: None, engine, worker: 0, seed } }.into()
}

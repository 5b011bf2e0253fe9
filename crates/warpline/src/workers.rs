//! What engines with several workers have in common around their main loops: threads, waiting, and
//! what becomes of the processes in the end.

use std::{thread, time::Duration};

use warpline_core::{Fault, LogicalProcess, LpId, Model, ModelError, Place, VirtualTime};
use warpline_memory::{Binding, bind_worker};

use crate::{
    ConfigError, Engine, RunError,
    failure::{FailureOrder, FirstFailure},
    panics,
    placement::LpDirectory,
    settings::Settings,
    watch::Watch,
};

/// How long a worker sleeps that has waited for long.
const SLEEP: Duration = Duration::from_micros(50);

/// Binds the thread of worker `me` of this rank to a core, if it is to be. Ranks of one process
/// share its cores.
pub(crate) fn bind(directory: &LpDirectory, me: usize, settings: &Settings) -> Option<Binding> {
    settings.timewarp.pin.then(|| bind_worker(directory.global(me).index(), directory.workers()))
}

/// Lets each of so many workers `work`, on a thread of its own; the first one's is this one, and
/// has the watch. If a thread cannot be started, that is the run's failure, and `refused` is called
/// before the others go on.
pub(crate) fn at_once<R: Send>(
    workers: usize,
    watch: &mut Watch<'_>,
    failure: &FirstFailure,
    refused: impl FnOnce(),
    work: impl Fn(usize, &mut Watch<'_>) -> R + Sync,
) -> Vec<R> {
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = (1..workers)
            .map(|me| {
                let work = move || work(me, &mut Watch::default());
                thread::Builder::new().name(format!("worker {me}")).spawn_scoped(scope, work)
            })
            .collect();
        if let Some(error) = others.iter().find_map(|other| other.as_ref().err()) {
            let allowed = format!("fewer: a thread could not be started ({error})");
            let error = ConfigError::new("workers", workers, allowed);
            failure.note(FailureOrder::Start(LpId::new(0)), error.into());
            refused();
        }
        let first = work(0, watch);
        let others = others.into_iter().flatten().map(|other| match other.join() {
            Ok(remains) => remains,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(first).chain(others).collect()
    })
}

/// How many threads can run at the same time.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Waits a little, for the `waited`-th time in a row. After `spins` of them other threads get the
/// core. After `yields`, the worker sleeps: one that another program has taken off its core may
/// move to this one then, which the scheduler does not think of as long as somebody only yields
/// there.
pub(crate) fn wait(waited: u32, spins: u32, yields: u32) {
    if waited <= spins {
        std::hint::spin_loop();
    } else if waited <= yields {
        thread::yield_now();
    } else {
        thread::sleep(SLEEP);
    }
}

/// What a process leaves.
type Summary<M> = <<M as Model>::Lp as LogicalProcess>::Summary;

/// Takes the processes apart, in their order, and folds what they leave.
pub(crate) fn reduce<M: Model>(
    model: &M,
    lps: impl Iterator<Item = (LpId, M::Lp)>,
    end_time: VirtualTime,
    engine: Engine,
    settings: &Settings,
) -> Result<M::Output, RunError> {
    take_apart(model, lps, end_time, engine, settings, |summaries| {
        model.reduce(summaries.map(|(_, summary)| summary))
    })
}

/// Takes the processes apart, in their order.
pub(crate) fn summaries<M: Model>(
    model: &M,
    lps: impl Iterator<Item = (LpId, M::Lp)>,
    end_time: VirtualTime,
    engine: Engine,
    settings: &Settings,
) -> Result<Vec<(LpId, Summary<M>)>, RunError> {
    take_apart(model, lps, end_time, engine, settings, |summaries| summaries.collect())
}

/// Gives what processes leave to `consume`, one by one: all of it at once may be more than the
/// processes were.
fn take_apart<M: Model, R>(
    model: &M,
    lps: impl Iterator<Item = (LpId, M::Lp)>,
    end_time: VirtualTime,
    engine: Engine,
    settings: &Settings,
    consume: impl FnOnce(&mut dyn Iterator<Item = (LpId, Summary<M>)>) -> R,
) -> Result<R, RunError> {
    let mut current = None;
    let outcome = panics::catch(|| {
        consume(&mut lps.map(|(id, lp)| {
            current = Some(id);
            let summary = lp.finish(model, end_time);
            current = None;
            (id, summary)
        }))
    });
    outcome.map_err(|fault| model_error(fault, current, engine, settings))
}

/// Folds what the processes of all ranks have left.
pub(crate) fn fold<M: Model>(
    model: &M,
    summaries: impl Iterator<Item = Summary<M>>,
    engine: Engine,
    settings: &Settings,
) -> Result<M::Output, RunError> {
    let outcome = panics::catch(|| model.reduce(summaries));
    outcome.map_err(|fault| model_error(fault, None, engine, settings))
}

/// A fault of the model's outside of any event.
pub(crate) fn model_error(
    fault: Fault,
    lp: Option<LpId>,
    engine: Engine,
    settings: &Settings,
) -> RunError {
    let (engine, seed) = (engine.name(), settings.seed);
    ModelError { fault, place: Place { lp, event: None, engine, worker: 0, seed } }.into()
}

//! Ranks that are threads of this program: their network, and their threads.
//!
//! Called by [`Simulation::run_on_ranks`](crate::Simulation::run_on_ranks) and
//! [`run_on_ends`](crate::Simulation::run_on_ends), and for the steps of sessions.

use std::{borrow::Cow, panic, thread};

use warpline_net::{ThreadTransport, Transport, network};

use crate::{ConfigError, RunError, crowd, run::threads, settings::Settings};

/// The number of ranks of a crowd that there are, and the settings with which they do what all
/// would have done, with as many workers each.
pub(crate) fn uncrowded(ranks: usize, settings: &Settings) -> (usize, Cow<'_, Settings>) {
    let few = crowd::uncrowded(ranks, threads::cores().max(2), crowd::THREADS_PER_CORE);
    debug_assert!(few > 0 && few <= ranks, "{few} ranks do what {ranks} would have done");
    if few == ranks {
        return (ranks, Cow::Borrowed(settings));
    }
    let mut engine = settings.engine.clone();
    let each = engine.workers();
    if let Some(placement) = engine.placement_mut() {
        // Of all ranks; a number that is too large is refused where workers are made.
        let workers = |ranks: usize| ranks.saturating_mul(each);
        *placement = crowd::among_fewer(placement, workers(ranks), workers(few));
    }
    (few, Cow::Owned(settings.with(engine)))
}

/// The ends of a network of so many ranks, each with so many workers.
pub(crate) fn ends(ranks: usize, workers: usize) -> Vec<ThreadTransport> {
    // One port of each rank is for the ranks themselves.
    network(ranks, workers.saturating_add(1))
}

/// Lets the first rank work on this thread, and each other one on a thread of its own, with one of
/// these ends of a network each. If a rank cannot talk any more, no other waits for it.
pub(crate) fn on_threads<R>(
    ends: Vec<impl Transport>,
    first: impl FnOnce(&dyn Transport) -> Result<R, RunError>,
    other: impl Fn(&dyn Transport) -> Result<(), RunError> + Sync,
) -> Result<R, RunError> {
    debug_assert!(!ends.is_empty(), "RANK-A: nobody would report");
    let ranks = ends.len();
    let mut ends = ends.into_iter();
    let here = ends.next();
    let other = &other;
    thread::scope(|scope| {
        let others: Vec<_> = ends
            .map(|end| {
                let work = move || abandoning(&end, other(&end)).map(drop);
                thread::Builder::new().spawn_scoped(scope, work)
            })
            .collect();
        let ended = match (here, others.iter().find_map(|other| other.as_ref().err())) {
            (Some(end), None) => abandoning(&end, first(&end)),
            (end, error) => {
                // The others would wait for this rank.
                end.iter().for_each(Transport::abandon);
                let why = error.map_or_else(String::new, |error| format!(" ({error})"));
                let allowed = format!("fewer: a thread could not be started{why}");
                Err(ConfigError::new("ranks", ranks, allowed).into())
            }
        };
        for other in others.into_iter().flatten() {
            if let Err(panic) = other.join() {
                panic::resume_unwind(panic);
            }
        }
        ended
    })
}

/// Others may wait for a rank that cannot talk any more.
fn abandoning<T>(end: &dyn Transport, ended: Result<T, RunError>) -> Result<T, RunError> {
    if matches!(ended, Err(RunError::Net(_))) {
        end.abandon();
    }
    ended
}

//! The conservative engine: no event is handled before it is certain that no earlier one can arrive.
//!
//! Virtual time is cut into windows, a little shorter than the model's lookahead. What a process sends to
//! another one is due in a later window than its cause; so within a window processes do not depend on each
//! other. A worker takes one process after the other, each with all its events of the window in the order of
//! their keys. Then the workers meet, exchange what they have sent, and agree on the next window that has
//! events: the least that any of them knows.
//!
//! That is YAWNS (D. M. Nicol, *The cost of conservative synchronization in parallel discrete event
//! simulations*, Journal of the ACM 40(2), 1993) on windows with fixed borders. Fixed borders need no
//! priority queue: an event is appended to its window's list, in any order. That, and that each process is
//! loaded once for all its events of a window, makes this engine faster than the sequential one even with a
//! single worker.
//!
//! | module     | what it does                                                          |
//! |------------|-----------------------------------------------------------------------|
//! | `worker`   | the main loop: meet, handle a window                                  |
//! | `calendar` | pending events, by window                                             |
//! | `agenda`   | a window's events, by process                                         |
//! | `desk`     | where sent events go                                                  |
//! | `exchange` | where workers meet                                                    |
//! | `lookout`  | progress, and early ends                                              |
//! | `shared`   | what workers share                                                    |
//!
//! # Invariants
//!
//! - **CONS-A.** An event to another process is due in a later window than its cause. The rules of sending
//!   see to it (`Admission::admit` computes a lookahead's end as `Grid` assumes); `Desk` checks it.
//! - **CONS-B.** Each process handles its events in the order of their keys.
//! - **CONS-C.** Every event that was sent was handled once, or is pending at the end. Checked.
//!
//! # When a handler makes a mistake
//!
//! The other processes finish the window, so that the first mistake in the order of events is the one that
//! is reported, as by every engine; but nobody handles what comes after one that is known. Non-blocking I/O events after it are not written. A blocking one of
//! another process in the same window may have been handled.
//!
//! # When a run is stopped
//!
//! It ends after the window, so that what was committed is a prefix of the run. A window that does not end
//! soon is cut off within: then some processes are further than others.

mod abroad;
mod agenda;
mod calendar;
mod desk;
pub(crate) mod exchange;
mod lookout;
mod null_messages;
mod shared;
mod synchronization;
mod worker;

use std::{thread, time::Instant};

use warpline_core::{CommitDigest, Fault, LpId, Model, VirtualTime};

use crate::{
    Details, Engine, Report, RunError,
    failure::FailureOrder,
    panics,
    ranks::{Conclusion, Ranks, Share},
    sequential::{Boxed, Buffer, INLINE_BYTES_MAX, Inline, Lp, Message},
    simulation::{Settings, Watch},
    workers,
};
use lookout::Lookout;
use shared::Shared;
pub use synchronization::Synchronization;
use worker::{Ended, Tally, Worker};

/// A worker that waits for the others lets other threads have the core after so many looks, or after few where
/// there are more workers than cores.
const SPINS: u32 = 2_000;
const SPINS_FEW: u32 = 16;
/// After so many, it sleeps.
const YIELDS: u32 = 4_000;

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    let mode = panics::catch(|| settings.synchronization.resolve(model));
    let mode = mode.map_err(|fault| model_error(fault, None, settings))??;
    if mode != Synchronization::Windows {
        return null_messages::run(model, mode, settings, watch, ranks);
    }
    // Small messages travel in the lists; large ones stay put in a buffer of their own.
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        execute::<M, Inline<Message<M>>>(model, settings, watch, ranks)
    } else {
        execute::<M, Boxed<Message<M>>>(model, settings, watch, ranks)
    }
}

/// The bytes that the buffer of one event takes.
pub(crate) const fn event_bytes<M: Model>() -> u64 {
    if size_of::<Message<M>>() <= INLINE_BYTES_MAX {
        Shared::<M, Inline<Message<M>>>::event_bytes()
    } else {
        Shared::<M, Boxed<Message<M>>>::event_bytes()
    }
}

fn execute<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    let started = Instant::now();
    let fault = |fault| model_error(fault, None, settings);
    let connect = || ranks.connect(model, Engine::Conservative, settings);
    let wires = panics::catch(connect).map_err(fault)??;
    let make = || Ok((model.name(), Shared::<M, B>::new(model, settings, ranks, wires)?));
    let (name, shared) = match panics::catch(make).map_err(fault).and_then(|made| made) {
        Ok(made) => made,
        Err(error) => {
            let failure = (FailureOrder::Start(LpId::new(0)), error);
            return ranks.conclude::<M, std::iter::Empty<_>>(Err(Some(failure)));
        }
    };
    let mut remains = work_at_once(&shared, watch, started);
    let report = ranks.conclude(match shared.failure.take() {
        Some(failure) => {
            ranks.alert();
            Err(Some(failure))
        }
        None if remains.iter().any(|worker| worker.ended == Ended::Failed) => Err(None),
        None => Ok(conclusion(&shared, name, &mut remains, watch, started)),
    });
    // What is left is the model's too, and may panic when it is dropped.
    let dropped = panics::catch(move || drop((remains, shared)));
    let report = report?;
    dropped.map_err(|fault| model_error(fault, None, settings))?;
    Ok(report)
}

/// What a worker leaves.
struct Remains<L> {
    lps: Vec<Lp<L>>,
    tally: Tally,
    ended: Ended,
    /// Events that are still pending.
    pending: usize,
    mail: u64,
    /// Events that it sent to, less those that it got from, other ranks.
    abroad: i64,
}

/// All workers, each on a thread of its own.
fn work_at_once<M: Model, B: Buffer<Message<M>> + Send>(
    shared: &Shared<'_, M, B>,
    watch: &mut Watch<'_>,
    started: Instant,
) -> Vec<Remains<M::Lp>> {
    let work = |me, watch: &mut Watch<'_>| work(shared, me, watch, started);
    let refused = || shared.exchange.break_up();
    workers::at_once(shared.workers, watch, &shared.failure, refused, work)
}

/// One worker, from its start to its end.
fn work<M: Model, B: Buffer<Message<M>> + Send>(
    shared: &Shared<'_, M, B>,
    me: usize,
    watch: &mut Watch<'_>,
    started: Instant,
) -> Remains<M::Lp> {
    let binding = workers::bind(&shared.homes, me, shared.settings);
    // A bug of the engine's must not leave the others waiting for this worker.
    let alarm = Alarm { shared };
    let end = VirtualTime::new(shared.end).unwrap_or(VirtualTime::MAX);
    let mut lookout = Lookout::new(watch, &shared.stop, &shared.committed, end, started);
    let mut worker = Worker::new(shared, me);
    let ended = worker.work(&mut lookout);
    std::mem::forget(alarm);
    drop(binding);
    lookout.resume_panic();
    let Worker { lps, desk, tally, bucket, sudden_outputs, .. } = worker;
    let (pending, mail, abroad) = (desk.calendar.len(), desk.mail, desk.abroad);
    // What is left is the model's too, and may panic when it is dropped.
    if let Err(fault) = panics::catch(move || drop((desk, bucket, sudden_outputs))) {
        shared.failure.note(FailureOrder::End, model_error(fault, None, shared.settings));
    }
    Remains { lps, tally, ended, pending, mail, abroad }
}

/// Ends the run for all workers if this one panics.
struct Alarm<'a, 'm, M: Model, B> {
    shared: &'a Shared<'m, M, B>,
}

impl<M: Model, B> Drop for Alarm<'_, '_, M, B> {
    fn drop(&mut self) {
        self.shared.exchange.break_up();
    }
}

/// How often a worker looks for the others before it lets other threads have the core.
fn spins(workers: usize) -> u32 {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if workers > cores { SPINS_FEW } else { SPINS }
}

fn conclusion<'s, M: Model, B: Buffer<Message<M>>>(
    shared: &'s Shared<'_, M, B>,
    name: &'static str,
    remains: &mut [Remains<M::Lp>],
    watch: &mut Watch<'_>,
    started: Instant,
) -> Conclusion<'s, M, impl Iterator<Item = (LpId, M::Lp)> + use<M, B>> {
    let sum = |count: fn(&Remains<M::Lp>) -> u64| remains.iter().map(count).sum::<u64>();
    let committed = sum(|worker| worker.tally.committed);
    let sent = sum(|worker| worker.lps.iter().map(|lp| lp.sent).sum());
    let pending = sum(|worker| worker.pending as u64 + worker.tally.left);
    let abroad: i64 = remains.iter().map(|worker| worker.abroad).sum();
    let here = sent.wrapping_add_signed(-abroad);
    assert_eq!(here, committed + pending, "CONS-C: events were lost or doubled");
    let (peak, mail) = (sum(|worker| worker.tally.peak), sum(|worker| worker.mail));
    let windows = remains.iter().map(|worker| worker.tally.windows).max().unwrap_or_default();
    let meetings = remains.iter().map(|worker| worker.tally.meetings).max().unwrap_or_default();
    let last = remains.iter().map(|worker| worker.tally.last_time).max().unwrap_or_default();
    let interrupted = remains.iter().any(|worker| worker.ended == Ended::Interrupted);

    let with_ids = remains.iter_mut().zip(&shared.homes.residents).map(|(worker, ids)| {
        ids.iter().copied().zip(std::mem::take(&mut worker.lps)).collect::<Vec<_>>()
    });
    let lps = shared.homes.in_order(with_ids);
    let mut digest = CommitDigest::default();
    for (id, lp) in &lps {
        digest.add_lp(*id, lp.digest, &lp.rng, lp.sent);
    }
    let asked_for = if interrupted { None } else { VirtualTime::new(shared.end).ok() };
    let end_time = asked_for.unwrap_or(last);
    let end = VirtualTime::new(shared.end).unwrap_or(VirtualTime::MAX);
    Lookout::new(watch, &shared.stop, &shared.committed, end, started).observe_end(end_time);
    Conclusion {
        model: shared.model,
        name,
        engine: Engine::Conservative,
        settings: shared.settings,
        started,
        workers: shared.workers,
        interrupted,
        last_time: last,
        digest,
        share: Share {
            committed,
            processed: committed,
            rounds: meetings,
            peak_bytes: peak * Shared::<M, B>::event_bytes(),
            ..Share::default()
        },
        details: Details {
            counters: vec![("windows", windows), ("mail", mail)],
            remarks: remarks(shared.workers, committed, windows),
            costs: Vec::new(),
        },
        lps: lps.into_iter().map(|(id, lp)| (id, lp.state)),
    }
}

/// Why the run was slow, if it was.
fn remarks(workers: usize, committed: u64, windows: u64) -> Vec<String> {
    /// A meeting of workers takes as long as some ten events.
    const FEW: u64 = 100;
    let each = committed / windows.max(1) / workers as u64;
    let few = workers > 1 && windows > 0 && each < FEW;
    let remark = || {
        format!(
            "a worker had {each} events between two meetings: the lookahead is short for so few \
             events; a greater one, more events at the same time, or fewer workers would help"
        )
    };
    few.then(remark).into_iter().collect()
}

fn model_error(fault: Fault, lp: Option<LpId>, settings: &Settings) -> RunError {
    workers::model_error(fault, lp, Engine::Conservative, settings)
}

//! Null messages: each process goes on by itself, as far as the links to it allow (Chandy, Misra and Bryant).
//!
//! A model declares its links, the ways that its events take, each with a lookahead. Every process is a node of
//! an event graph and every link an edge. A process may handle its next event when nothing that is still to come
//! on any edge can be before it. There is no window, and workers never meet; where the links are few, a process
//! depends on its neighbours and on nobody else.
//!
//! | module      | what it does                                                                   |
//! |-------------|--------------------------------------------------------------------------------|
//! | `worker`    | the main loop: which process handles events, and what becomes of its sends     |
//! | `process`   | what a process waits with, and how far it may go                               |
//! | `clocks`    | bounds, null messages, questions                                               |
//! | `detection` | deadlocks, failures, I/O, and the end: what all workers agree on               |
//! | `moment`    | times, and steps within them                                                   |
//! | `desk`      | checks what a handler sends                                                    |
//! | `departure` | an event on its way                                                            |
//! | `shared`    | what the workers of a rank share                                               |
//!
//! # Invariants, and why they hold
//!
//! The *clock* of a process is a moment that no cause of what it is still going to send is before: the lesser of
//! its next event and its bound, or, while its outbox is not empty, the event that it sent that for. What it sends
//! to itself is due after its cause (KEY-A).
//!
//! - **CMB-A.** Nothing arrives at a process before its bound. The bound is the least bound of its edges, or what
//!   a recovery allows. The bound of an edge is the effect, by the link's lookahead (MOMENT-A), of a clock of its
//!   sender: either of the cause of an event that came on the edge, or of a null message. The sender handles
//!   events in the order of their keys, and what comes later on the edge was sent later (GRAPH-A and GRAPH-D), so
//!   it has no earlier cause. It does not matter in which order events on one edge are due. Checked.
//! - **CMB-B.** Clocks never go back: events come after bounds (CMB-A), and bounds only grow. Checked.
//! - **CMB-C.** Each process handles its events in the order of their keys: one is handled only if its time and
//!   step are before the bound, and of those that have come the first.
//! - **CMB-D.** Every event that was sent was handled once, or is pending at the end. Checked.
//!
//! # Deadlocks
//!
//! Processes may wait for each other in a cycle: because lookaheads are 0, because null messages are not sent, or
//! because edges are full (Figure 4 of the paper). When all workers rest and nothing is on its way, they freeze
//! the graph and find the *floor*, the least clock of all that is not handled: of every pending event, and of
//! every outbox, whose cause is what its contents may follow by a lookahead. Nothing has an earlier cause from
//! then on. So the bound of every process rises to the effect of the floor by the least lookahead of its edges,
//! which is past every event whose moment is the floor's: zero-delay effects of it are a step further. And if
//! the floor is that of an outbox, its contents are sent although the edges are full; nothing else is. So at
//! least the first event goes on, and edges hold more than they should only where the first event needs it.
//!
//! # Memory
//!
//! An edge holds so many events (`edge_capacity`), counted from when they are sent until they are handled. A
//! process that finds an edge full keeps what that event has sent, and handles nothing until it is gone. What a
//! process sends to itself takes room on no edge.
//!
//! # When a handler makes a mistake
//!
//! All others handle the events before it, and no others, so that the first mistake in the order of events is
//! the one that is reported. Blocking I/O events of other processes after it may have been handled.
//!
//! # When a run is stopped
//!
//! Each process has handled a prefix of its events; some are further than others.
//!
//! # I/O
//!
//! Blocking events are handled in their turn. Non-blocking ones are kept until a floor has passed them, and
//! written by the first worker of each rank, in the order of their keys.
//!
//! # References
//!
//! K. M. Chandy and J. Misra, *Asynchronous distributed simulation via a sequence of parallel computations*,
//! CACM 24(11), 1981. R. E. Bryant, *Simulation of packet communication architecture computer systems*, MIT, 1977.
//! C.-P. Wen and K. Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, section 4.3.

mod clocks;
mod departure;
mod desk;
mod detection;
mod moment;
mod process;
mod shared;
mod worker;

use std::time::Instant;

use warpline_core::{CommitDigest, Fault, LpId, Model, VirtualTime};
use warpline_net::graph::GraphTraffic;

use super::lookout::Lookout;
use crate::{
    Details, Engine, Report, RunError, Synchronization,
    failure::FailureOrder,
    panics,
    ranks::{Conclusion, Ranks, Share},
    sequential::{Boxed, Buffer, INLINE_BYTES_MAX, Inline, Lp, Message},
    simulation::{Settings, Watch},
    workers,
};
use departure::EventCodec;
use shared::Shared;
use worker::{Ended, Tally, Worker};

/// Runs `model` from its start to its end.
pub(super) fn run<M: Model>(
    model: &M,
    mode: Synchronization,
    settings: &Settings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        execute::<M, Inline<Message<M>>>(model, mode, settings, watch, ranks)
    } else {
        execute::<M, Boxed<Message<M>>>(model, mode, settings, watch, ranks)
    }
}

fn execute<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    mode: Synchronization,
    settings: &Settings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    let started = Instant::now();
    let prepare = || (model.name(), Shared::<M, B>::new(model, settings, mode, ranks));
    let (name, shared) = panics::catch(prepare).map_err(|fault| model_error(fault, settings))?;
    let shared = shared?;
    let codec = EventCodec(ranks.connect(model, Engine::Conservative, settings)?);
    let mut remains = work_at_once(&shared, &codec, watch, started);
    let has_failed = remains.iter().any(|worker| worker.ended == Ended::Failed);
    let report = ranks.conclude(match shared.failure.take() {
        Some(failure) => Err(Some(failure)),
        // Another rank says why.
        None if has_failed => Err(None),
        None => Ok(conclusion(&shared, name, &mut remains, watch, started)),
    });
    // What is left is the model's too, and may panic when it is dropped.
    let dropped = panics::catch(move || drop((remains, shared)));
    let report = report?;
    dropped.map_err(|fault| model_error(fault, settings))?;
    Ok(report)
}

/// What a worker leaves.
struct Remains<L> {
    lps: Vec<Lp<L>>,
    tally: Tally,
    traffic: GraphTraffic,
    ended: Ended,
}

/// All workers of the rank, each on a thread of its own.
fn work_at_once<M: Model, B: Buffer<Message<M>> + Send>(
    shared: &Shared<'_, M, B>,
    codec: &EventCodec<M>,
    watch: &mut Watch<'_>,
    started: Instant,
) -> Vec<Remains<M::Lp>> {
    let work = |port, watch: &mut Watch<'_>| work(shared, codec, port, watch, started);
    let refused = || shared.break_up();
    workers::at_once(shared.settings.timewarp.workers, watch, &shared.failure, refused, work)
}

/// One worker, from its start to its end.
fn work<M: Model, B: Buffer<Message<M>> + Send>(
    shared: &Shared<'_, M, B>,
    codec: &EventCodec<M>,
    port: usize,
    watch: &mut Watch<'_>,
    started: Instant,
) -> Remains<M::Lp> {
    let me = shared.homes.here.start + port;
    let binding = workers::bind(&shared.homes, port, shared.settings);
    // A bug of the engine's must not leave the others waiting for this worker.
    let alarm = Alarm { shared };
    let end = VirtualTime::new(shared.end).unwrap_or(VirtualTime::MAX);
    let mut lookout = Lookout::new(watch, &shared.stop, &shared.committed, end, started);
    let mut worker = Worker::new(shared, me, codec);
    let ended = worker.work(&mut lookout);
    std::mem::forget(alarm);
    drop(binding);
    lookout.resume_panic();
    let Worker { processes, tally, graph, desk, outputs, .. } = worker;
    let traffic = graph.traffic();
    // What is left is the model's too, and may panic when it is dropped.
    let mut lps = Vec::with_capacity(processes.len());
    let take_apart = || {
        drop((graph, desk, outputs));
        lps.extend(processes.into_iter().map(|process| process.lp));
    };
    if let Err(fault) = panics::catch(take_apart) {
        shared.failure.note(FailureOrder::End, model_error(fault, shared.settings));
    }
    Remains { lps, tally, traffic, ended }
}

/// Ends the run for all workers if this one panics.
struct Alarm<'a, 'm, M: Model, B: Buffer<Message<M>>> {
    shared: &'a Shared<'m, M, B>,
}

impl<M: Model, B: Buffer<Message<M>>> Drop for Alarm<'_, '_, M, B> {
    fn drop(&mut self) {
        self.shared.break_up();
    }
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
    let counters = vec![
        ("null_messages", sum(|worker| worker.tally.null_messages)),
        ("deadlocks", sum(|worker| worker.tally.deadlocks)),
        ("remote_events", sum(|worker| worker.traffic.copies)),
        ("credits", sum(|worker| worker.traffic.credits)),
        ("batches", sum(|worker| worker.traffic.batches)),
    ];
    let peak = sum(|worker| worker.tally.peak);
    let freezes = remains.iter().map(|worker| worker.tally.freezes).max().unwrap_or_default();
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
    let end = VirtualTime::new(shared.end).unwrap_or(VirtualTime::MAX);
    Lookout::new(watch, &shared.stop, &shared.committed, end, started)
        .observe_end(asked_for.unwrap_or(last));
    Conclusion {
        model: shared.model,
        name,
        engine: Engine::Conservative,
        settings: shared.settings,
        started,
        workers: shared.settings.timewarp.workers,
        interrupted,
        last_time: last,
        digest,
        share: Share {
            committed,
            processed: committed,
            rounds: freezes,
            peak_bytes: peak * Shared::<M, B>::event_bytes(),
            ..Share::default()
        },
        details: Details { counters, remarks: Vec::new(), costs: Vec::new() },
        lps: lps.into_iter().map(|(id, lp)| (id, lp.state)),
    }
}

fn model_error(fault: Fault, settings: &Settings) -> RunError {
    workers::model_error(fault, None, Engine::Conservative, settings)
}

//! Null messages: each LP goes on by itself, as far as the links to it allow (Chandy, Misra and
//! Bryant).
//!
//! A model declares its links, the channels that its events take, each with a lookahead. Every LP
//! is a node of an event graph and every link is an edge. An LP may handle its next event when
//! nothing that will still arrive on any edge can be before it. There is no window and no barrier:
//! an LP depends on its neighbors only.
//!
//! | module               | what it has                                                         |
//! |----------------------|---------------------------------------------------------------------|
//! | `worker`             | the main loop: which LP handles events, and where its sends go      |
//! | `lp`                 | an LP's pending events and the state of its channels                |
//! | `bounds`             | channel bounds and EITs: which events an LP may handle              |
//! | `null_message`       | null messages, and requests for them                                |
//! | `channel_time`       | virtual times, and steps within them                                |
//! | `deadlock_detection` | deadlocks, failures, I/O, and the end: what all workers agree on    |
//! | `send_buffer`        | what a handler sends, checked                                       |
//! | `reports`            | what detection knows: control messages, and where a worker is       |
//! | `channel_event`      | what an edge carries, also as bytes                                 |
//! | `remote`, `ranks`    | what a worker knows of other ranks, and does with them              |
//! | `recording`, `trace` | what a worker tells the timeline of the run                         |
//! | `shared`             | what the workers of a rank share                                    |
//!
//! # Invariants, and why they hold
//!
//! The *null-message time* of an LP is a lower bound on the causes of all that it will still send:
//! the lesser of its next event and its EIT, or, while its outbox is not empty, the event whose
//! sends are in there. What an LP sends to itself is due after its cause (KEY-A).
//!
//! - **CMB-A.** Nothing arrives at an LP before its EIT (earliest input time). The EIT is the least
//!   bound of its channels, or what a recovery allows. The bound of a channel is the effect, by the
//!   link's lookahead (CHANNEL-A), of a null-message time of its sender, which came with an event
//!   or with a null message. The sender handles events in the order of their keys, and what comes
//!   later on the edge was sent later (GRAPH-A and GRAPH-D), so it has no earlier cause. The order
//!   in which events on one edge are due does not matter. Checked when an event arrives.
//! - **CMB-B.** Null-message times never decrease: events come after EITs (CMB-A), and EITs only
//!   grow. Asserted in debug builds.
//! - **CMB-C.** Each LP handles its events in the order of their keys: it handles only events
//!   before its EIT, and of those that have arrived the first. Asserted in debug builds.
//! - **CMB-D.** Every event that was sent was handled once, or is pending at the end. Asserted.
//!
//! # Deadlocks
//!
//! LPs may wait for each other in a cycle: because lookaheads are 0, because null messages are not
//! sent, or because edges are full (Figure 4 of Wen and Yelick). When all workers rest and nothing
//! is on its way, they freeze the graph and find the least null-message time of all that is not
//! handled: of every pending event, and of every outbox, whose contents may be due a lookahead
//! after their cause. Nothing has an earlier cause from then on. So the EIT of every LP rises to
//! the effect of that time by the least lookahead of its edges. That is past every event at that
//! time and step, because zero-delay effects are due a step later. If the least time is that of an
//! outbox, its contents are sent although the edges are full; no other outbox is. So at least the
//! first event is handled, and edges exceed their capacity only where the first event needs it.
//!
//! # Memory
//!
//! An edge holds a limited number of events (`edge_capacity`), counted from when they are sent
//! until they are handled. An LP that finds an edge full keeps what the current event has sent in
//! its outbox, and handles nothing until the outbox is empty. What an LP sends to itself takes no
//! place on any edge.
//!
//! # When a handler fails
//!
//! All other LPs handle the events before the failed one, and no others, so that the first failure
//! in the order of events is reported. Blocking I/O events of other LPs after it may have been
//! handled.
//!
//! # When a run is stopped
//!
//! Each LP has handled a prefix of its events; some LPs are further than others. A run that leaves
//! a cut goes on until all are as far as the first one.
//!
//! # I/O
//!
//! Blocking I/O events are handled in their turn. Non-blocking ones are kept until a freeze finds
//! that nothing can come before them; then rank 0 writes those of all ranks, in the order of their
//! keys.
//!
//! # References
//!
//! K. M. Chandy and J. Misra, *Asynchronous distributed simulation via a sequence of parallel
//! computations*, CACM 24(11), 1981. R. E. Bryant, *Simulation of packet communication architecture
//! computer systems*, MIT, 1977. C.-P. Wen and K. Yelick, *Portable Runtime Support for
//! Asynchronous Simulation*, 1995, section 4.3.

mod bounds;
mod channel_event;
mod channel_time;
mod deadlock_detection;
mod lp;
mod null_message;
mod ranks;
mod recording;
mod remote;
mod reports;
mod send_buffer;
mod shared;
mod trace;
mod worker;

use std::cmp::Reverse;

use warpline_core::{Model, Wires};
use warpline_graph::GraphTraffic;

use super::{
    algorithm::{Algorithm, WorkerResult},
    common::Common,
};
use crate::{
    Details, RunError,
    event::{Buffer, Message},
    run::ProgressMonitor,
};
use channel_event::ChannelEvent;
use lp::LinkedLp;
pub(super) use shared::NullMessageShared;
use trace::Trace;
use worker::NullMessageWorker;

/// What a worker of these algorithms counts beside the common counts.
pub(super) struct Counters {
    null_messages: u64,
    turns: u64,
    deadlocks: u64,
    traffic: GraphTraffic,
}

impl<'m, M: Model, B: Buffer<Message<M>> + Send> Algorithm<'m, M, B>
    for NullMessageShared<'m, M, B>
{
    type Counters = Counters;

    const EVENT_BYTES: u64 = (size_of::<ChannelEvent<B>>() + B::BYTES_ELSEWHERE) as u64;

    fn make(common: Common<'m, M, B>, wires: Option<Wires<M>>) -> Result<Self, RunError> {
        Self::new(common, wires)
    }

    fn common(&self) -> &Common<'m, M, B> {
        &self.common
    }

    fn work(
        &self,
        me: usize,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> WorkerResult<M::Lp, B, Counters> {
        let mut worker = NullMessageWorker::new(self, me);
        worker.trace = Trace::new(monitor.recorder(self.common.ranks.me(), me));
        let ended = worker.work(monitor);
        worker.end_trace();
        let NullMessageWorker { lps: linked, tally, graph, send_buffer, outputs, .. } = worker;
        let traffic = graph.traffic();
        let (mut lps, mut left) = (Vec::with_capacity(linked.len()), Vec::new());
        let is_kept = self.common.settings.leaves_cut;
        self.common.drop_guarded(|| {
            drop((graph, send_buffer, outputs));
            for LinkedLp { lp, pending, outbox, .. } in linked {
                lps.push(lp);
                if is_kept {
                    left.extend(pending.into_iter().map(|Reverse(waiting)| waiting.event));
                    left.extend(outbox.into_iter().map(|(_, event)| event));
                }
            }
        });
        WorkerResult {
            residency: None,
            lps,
            left,
            ended,
            committed: tally.committed,
            last_time: tally.last_time,
            peak: tally.peak,
            rounds: tally.freezes,
            counters: Counters {
                null_messages: tally.null_messages,
                turns: tally.turns,
                deadlocks: tally.deadlocks,
                traffic,
            },
        }
    }

    fn abort(&self) {
        self.set_broken();
    }

    fn details(&self, results: &[WorkerResult<M::Lp, B, Counters>]) -> Details {
        let sum =
            |of: fn(&Counters) -> u64| results.iter().map(|worker| of(&worker.counters)).sum();
        let counters = vec![
            ("null_messages", sum(|count| count.null_messages)),
            ("turns", sum(|count| count.turns)),
            ("deadlocks", sum(|count| count.deadlocks)),
            ("remote_events", sum(|count| count.traffic.copies)),
            ("credits", sum(|count| count.traffic.credits)),
            ("batches", sum(|count| count.traffic.batches)),
        ];
        let heap_memory = self.common.memory.heap_memory::<M>();
        Details { counters, heap_memory, ..Details::default() }
    }
}

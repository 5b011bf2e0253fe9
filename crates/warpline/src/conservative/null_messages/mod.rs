//! Null messages: each process goes on by itself, as far as the links to it allow (Chandy, Misra
//! and Bryant).
//!
//! A model declares its links, the ways that its events take, each with a lookahead. Every process
//! is a node of an event graph and every link an edge. A process may handle its next event when
//! nothing that is still to come on any edge can be before it. There is no window, and workers
//! never meet; where the links are few, a process depends on its neighbours and on nobody else.
//!
//! | module      | what it does                                                                   |
//! |-------------|--------------------------------------------------------------------------------|
//! | `worker`    | the main loop: which process handles events, and what becomes of its sends     |
//! | `process`   | what a process waits with, and how far it may go                               |
//! | `clocks`    | bounds, null messages, questions                                               |
//! | `detection` | deadlocks, failures, I/O, and the end: what all workers agree on               |
//! | `moment`    | times, and steps within them                                                   |
//! | `send_buffer`      | checks what a handler sends                                                    |
//! | `departure` | an event on its way                                                            |
//! | `shared`    | what the workers of a rank share                                               |
//!
//! # Invariants, and why they hold
//!
//! The *clock* of a process is a moment that no cause of what it is still going to send is before:
//! the lesser of its next event and its bound, or, while its outbox is not empty, the event that it
//! sent that for. What it sends to itself is due after its cause (KEY-A).
//!
//! - **CMB-A.** Nothing arrives at a process before its bound. The bound is the least bound of its
//!   edges, or what a recovery allows. The bound of an edge is the effect, by the link's lookahead
//!   (CHANNEL-A), of a clock of its sender: either of the cause of an event that came on the edge,
//!   or of a null message. The sender handles events in the order of their keys, and what comes
//!   later on the edge was sent later (GRAPH-A and GRAPH-D), so it has no earlier cause. It does
//!   not matter in which order events on one edge are due. Checked.
//! - **CMB-B.** Clocks never go back: events come after bounds (CMB-A), and bounds only grow.
//!   Checked.
//! - **CMB-C.** Each process handles its events in the order of their keys: one is handled only if
//!   its time and step are before the bound, and of those that have come the first.
//! - **CMB-D.** Every event that was sent was handled once, or is pending at the end. Checked.
//!
//! # Deadlocks
//!
//! Processes may wait for each other in a cycle: because lookaheads are 0, because null messages
//! are not sent, or because edges are full (Figure 4 of the paper). When all workers rest and
//! nothing is on its algorithm, they freeze the graph and find the *floor*, the least clock of all that
//! is not handled: of every pending event, and of every outbox, whose cause is what its contents
//! may follow by a lookahead. Nothing has an earlier cause from then on. So the bound of every
//! process rises to the effect of the floor by the least lookahead of its edges, which is past
//! every event whose moment is the floor's: zero-delay effects of it are a step further. And if the
//! floor is that of an outbox, its contents are sent although the edges are full; nothing else is.
//! So at least the first event goes on, and edges hold more than they should only where the first
//! event needs it.
//!
//! # Memory
//!
//! An edge holds so many events (`edge_capacity`), counted from when they are sent until they are
//! handled. A process that finds an edge full keeps what that event has sent, and handles nothing
//! until it is gone. What a process sends to itself takes room on no edge.
//!
//! # When a handler makes a mistake
//!
//! All others handle the events before it, and no others, so that the first mistake in the order of
//! events is the one that is reported. Blocking I/O events of other processes after it may have
//! been handled.
//!
//! # When a run is stopped
//!
//! Each process has handled a prefix of its events; some are further than others.
//!
//! # I/O
//!
//! Blocking events are handled in their turn. Non-blocking ones are kept until a floor has passed
//! them, and written by the first worker of each rank, in the order of their keys.
//!
//! # References
//!
//! K. M. Chandy and J. Misra, *Asynchronous distributed simulation via a sequence of parallel
//! computations*, CACM 24(11), 1981. R. E. Bryant, *Simulation of packet communication architecture
//! computer systems*, MIT, 1977. C.-P. Wen and K. Yelick, *Portable Runtime Support for
//! Asynchronous Simulation*, 1995, section 4.3.

mod bounds;
mod channel_time;
mod detection;
mod lp;
mod remote;
mod send_buffer;
mod shared;
mod worker;

use warpline_core::{Model, Wires};
use warpline_graph::GraphTraffic;

use super::{
    algorithm::{Algorithm, Common, WorkerResult},
    lookout::Lookout,
};
use crate::{
    Details, RunError,
    event::{Buffer, Message},
};
use remote::ChannelEvent;
pub(super) use shared::Shared;
use worker::Worker;

/// What a worker counts besides.
pub(super) struct Counters {
    null_messages: u64,
    deadlocks: u64,
    traffic: GraphTraffic,
}

impl<'m, M: Model, B: Buffer<Message<M>> + Send> Algorithm<'m, M, B> for Shared<'m, M, B> {
    type Counters = Counters;

    const EVENT_BYTES: u64 = (size_of::<ChannelEvent<B>>() + B::BYTES_ELSEWHERE) as u64;

    fn make(common: Common<'m, M, B>, wires: Option<Wires<M>>) -> Result<Self, RunError> {
        Self::new(common, wires)
    }

    fn common(&self) -> &Common<'m, M, B> {
        &self.common
    }

    fn work(&self, me: usize, lookout: &mut Lookout<'_, '_>) -> WorkerResult<M::Lp, Counters> {
        let mut worker = Worker::new(self, self.common.directory.global(me).index());
        let ended = worker.work(lookout);
        let Worker { lps: linked, tally, graph, send_buffer, outputs, .. } = worker;
        let traffic = graph.traffic();
        let mut lps = Vec::with_capacity(linked.len());
        self.common.drop_guarded(|| {
            drop((graph, send_buffer, outputs));
            lps.extend(linked.into_iter().map(|linked| linked.lp));
        });
        WorkerResult {
            lps,
            ended,
            committed: tally.committed,
            last_time: tally.last_time,
            peak: tally.peak,
            rounds: tally.freezes,
            count: Counters {
                null_messages: tally.null_messages,
                deadlocks: tally.deadlocks,
                traffic,
            },
        }
    }

    fn abort(&self) {
        self.set_broken();
    }

    fn details(&self, results: &[WorkerResult<M::Lp, Counters>]) -> Details {
        let sum = |of: fn(&Counters) -> u64| results.iter().map(|worker| of(&worker.count)).sum();
        let counters = vec![
            ("null_messages", sum(|count| count.null_messages)),
            ("deadlocks", sum(|count| count.deadlocks)),
            ("remote_events", sum(|count| count.traffic.copies)),
            ("credits", sum(|count| count.traffic.credits)),
            ("batches", sum(|count| count.traffic.batches)),
        ];
        Details { counters, remarks: Vec::new(), costs: Vec::new() }
    }
}

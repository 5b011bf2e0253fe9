//! The event graph: bounded first-in-first-out edges between the nodes of a static graph, over all
//! workers of all ranks; and, in [`runtime`], atomic threads and split-phase operations.
//!
//! A node lives at one worker, and an edge at the worker of the node that it leads to. Each worker
//! has a handle, [`EventGraph`], which nobody else uses. Events between nodes of one worker are put
//! straight into their edge; between workers of a rank they move as values, in batches; between
//! ranks they move as bytes, in parcels. No operation waits: one that cannot be done says why and
//! gives the event back, and [`SplitPhase`] makes futures of that. Called by the conservative
//! engine's null messages, and by whoever builds a simulator of another kind.
//!
//! | module        | what it is                                                               |
//! |---------------|--------------------------------------------------------------------------|
//! | `topology`    | nodes and edges                                                          |
//! | `plan`        | where they are, how many events an edge holds, and the techniques        |
//! | `partition`   | ways to deal nodes to workers                                            |
//! | `min_cut`     | the same with METIS, so that few edges are cut (cargo feature `metis`)   |
//! | `handle`      | one worker's operations                                                  |
//! | `sending`     | those that send                                                          |
//! | `arrivals`    | what happens to what comes from other workers                            |
//! | `freeze`      | freezing and unfreezing                                                  |
//! | `fifo`        | the edges that lead to one worker                                        |
//! | `item`        | what workers send each other, and its bytes                              |
//! | `hub`         | the mailboxes of a rank's workers, and whether all of them rest          |
//! | `batch`       | the aggregation of items for another worker of the rank                  |
//! | `split_phase` | the operations as futures                                                |
//! | [`runtime`]   | a runtime for asynchronous programs, which does not use the event graph  |
//!
//! # Invariants
//!
//! - **GRAPH-A.** The events of an edge are received in the order in which they were sent, each
//!   once.
//! - **GRAPH-B.** An edge holds at most [`capacity`](Plan::capacity) events, those on their way
//!   included, and one more for each [`send_over`](EventGraph::send_over) that found it full.
//! - **GRAPH-C.** When a worker is frozen, every event that was sent to it before its sender froze
//!   can be received there, and nothing arrives until it unfreezes. So when all are frozen, nothing
//!   is on its way.
//! - **GRAPH-D.** A clock is heard after all events that its node has sent before.
//!
//! # Techniques
//!
//! Section 4.2 of the paper has three, and each can be switched off to be measured
//! ([`Techniques`]): *lazy sends* (without, a send is complete when its receivers have acknowledged
//! it, and its node sends nothing before that), *caching* (one copy of an event for each worker
//! that it goes to; without, one for each edge), and *replicated flow control* (the sender knows
//! how much room there is, and hears of more when half of an edge has become free, or its receiver
//! has nothing else to do; without, at every removal).
//!
//! # References
//!
//! C.-P. Wen and K. Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, section
//! 4. Freezing is the flush of all channels by markers: K. M. Chandy and L. Lamport, *Distributed
//! Snapshots*, ACM TOCS 3(1), 1985.

#![forbid(unsafe_code)]

mod arrivals;
mod batch;
mod fifo;
mod freeze;
mod handle;
mod hub;
mod item;
#[cfg(feature = "metis")]
mod min_cut;
mod partition;
mod plan;
pub mod runtime;
mod sending;
mod split_phase;
mod topology;

pub use arrivals::Clock;
pub use fifo::Taken;
pub use handle::{EventGraph, GraphTraffic, Refusal, Refused, Remote};
pub use hub::Hub;
pub use item::{CONTROL_WORDS, Codec, Control};
#[cfg(feature = "metis")]
pub use min_cut::min_cut;
pub use partition::{blocks, round_robin};
pub use plan::{Plan, PlanError, Techniques};
pub use split_phase::SplitPhase;
pub use topology::{EdgeId, NodeId, Topology};

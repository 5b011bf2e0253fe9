//! The event graph: bounded first-in-first-out edges between the nodes of a static graph, over all
//! workers of all ranks.
//!
//! A node belongs to one worker, and an edge to the worker of the node that it leads to. Each
//! worker has a handle, [`EventGraph`], which only it uses. Events between nodes of one worker are
//! put straight into their edge. Between workers of a rank they move as values, in batches; between
//! ranks they move as bytes, in parcels. No operation waits: one that cannot be done returns the
//! event and the reason, and [`SplitPhase`] makes futures of that. The conservative engine's null
//! messages use the event graph, and so can a simulator of another kind.
//!
//! | module        | what it is                                                               |
//! |---------------|--------------------------------------------------------------------------|
//! | `topology`    | nodes and edges                                                          |
//! | `plan`        | which worker has which node, the capacity of edges, the techniques       |
//! | `partition`   | simple ways to assign nodes to workers                                   |
//! | `min_cut`     | an assignment by METIS that cuts few edges (cargo feature `metis`)       |
//! | `schedule`    | which ready node of a worker runs next                                   |
//! | `handle`      | the operations of one worker: sending, arrivals, freezing                |
//! | `error`       | what is wrong with a plan                                                |
//! | `fifo`        | the edges that lead to one worker                                        |
//! | `cache`       | the storage for events that several edges of a worker share              |
//! | `item`        | what workers send each other, and its bytes                              |
//! | `hub`         | the mailboxes of a rank's workers, and whether all of them are idle      |
//! | `batch`       | the aggregation of items for another worker of the rank                  |
//! | `split_phase` | the operations as futures                                                |
//!
//! # Invariants
//!
//! - **GRAPH-A.** The events of an edge are received once each, in the order in which they were
//!   sent.
//! - **GRAPH-B.** An edge holds at most [`capacity`](Plan::capacity) events, those in transit
//!   included, and one more for each [`send_over`](EventGraph::send_over) that found it full.
//! - **GRAPH-C.** When a worker is frozen, it can receive every event that was sent to it before
//!   the sender froze, and nothing arrives until it unfreezes. So when all are frozen, nothing is
//!   in transit.
//! - **GRAPH-D.** A clock is received after all events that its node has sent before.
//!
//! # Techniques
//!
//! Section 4.2 of the paper has three. Each can be switched off to be measured ([`Techniques`]):
//!
//! - *lazy sends*: a send is complete at once. Without, it is complete when its receivers have
//!   acknowledged it, and its node sends nothing before that.
//! - *caching*: one copy of an event goes to each worker, into storage that is used again. Without,
//!   one goes to each edge.
//! - *replicated flow control*: the sender keeps a count of free places, and gets them back when
//!   half of an edge is free, or when the receiver has nothing else to do. Without, it gets one
//!   back at every removal.
//!
//! # References
//!
//! C.-P. Wen and K. Yelick, *Portable Runtime Support for Asynchronous Simulation*, 1995, section
//! 4. Freezing is the flush of all channels by markers: K. M. Chandy and L. Lamport, *Distributed
//! Snapshots*, ACM TOCS 3(1), 1985.

#![forbid(unsafe_code)]

mod batch;
mod cache;
mod error;
mod fifo;
mod handle;
mod hub;
mod item;
#[cfg(feature = "metis")]
mod min_cut;
mod partition;
mod plan;
mod schedule;
mod split_phase;
mod topology;

pub use cache::SharedEvent;
pub use error::PlanError;
pub use fifo::Taken;
pub use handle::{Clock, EventGraph, GraphTraffic, Refusal, Refused, Remote};
pub use hub::Hub;
pub use item::{CONTROL_WORDS, Codec, Control};
#[cfg(feature = "metis")]
pub use min_cut::min_cut;
pub use partition::{blocks, round_robin, weighted_blocks};
pub use plan::{Plan, Techniques};
pub use schedule::{NodeScheduler, ReadyNode, ReadyNodes, Schedule};
pub use split_phase::SplitPhase;
pub use topology::{EdgeId, NodeId, Topology};

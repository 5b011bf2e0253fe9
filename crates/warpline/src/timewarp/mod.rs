//! Time Warp on shared memory: workers run ahead of each other, and undo what was too early.
//!
//! This is the executive of *GTW: A Time Warp System for Shared Memory Multiprocessors* (Das,
//! Fujimoto, Panesar, Allison, Hybinette, 1994), section 3, and what later work and measurements
//! added to it. Begin with [`worker`], whose `turn` is the main loop; then one module per idea:
//!
//! | module         | idea                                                                          |
//! |----------------|-------------------------------------------------------------------------------|
//! | [`worker`]     | the main loop, and what happens at a new GVT                                  |
//! | [`sending`]    | what a handler sends with; mail between workers                               |
//! | [`history`]    | the processed list                                                            |
//! | [`saving`]     | state saving: copies, coasting forward, undo logs, reverse handlers           |
//! | [`rollback`]   | stragglers, direct cancellation, lazy cancellation                            |
//! | [`gvt`]        | global virtual time                                                           |
//! | [`fossil`]     | fossil collection                                                             |
//! | [`flow`]       | limits on optimism, shortage of buffers, cancelback                           |
//! | [`throttle`]   | the adaptive limit                                                            |
//! | [`io`]         | I/O events, and LPs that wait                                                 |
//! | [`run`](mod@run) | threads, progress, the report                                               |
//! | [`away`]       | events to and from other ranks                                                |
//! | [`rounds`], [`across`], [`letters`] | global virtual time across ranks, and what is said about it |
//! | [`idle`]       | why a worker is idle, for the monitor                                         |
//! | [`statistics`], [`costs`], [`diagnosis`] | what is counted and timed, and what it says         |

mod across;
mod away;
mod costs;
mod diagnosis;
mod event;
mod flow;
mod fossil;
pub(crate) mod gvt;
mod history;
mod idle;
mod io;
mod letters;
mod rollback;
mod rounds;
mod run;
mod saving;
mod sending;
mod shared;
#[cfg(test)]
mod simulated;
mod statistics;
mod throttle;
mod worker;

use warpline_core::{LogicalProcess, Model};

pub(crate) use run::run;

/// What one event takes of the memory for event buffers.
pub(crate) const fn event_bytes<M: Model>(workers: usize) -> u64 {
    shared::Shared::<M>::buffer_bytes(workers)
}

type Message<M> = <<M as Model>::Lp as LogicalProcess>::Message;

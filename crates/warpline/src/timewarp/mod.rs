//! Time Warp on shared memory: workers run ahead of each other, and undo events that were too
//! early.
//!
//! This is the executive of *GTW: A Time Warp System for Shared Memory Multiprocessors* (Das,
//! Fujimoto, Panesar, Allison, Hybinette, 1994), section 3, and what later work and measurements
//! added to it. Begin with [`worker`], whose `turn` is the main loop. A worker has rooms, each with
//! its own fields: what handlers send with and the pending set ([`sending`]), the log of what it
//! did ([`log`]), its buffers ([`store`]), GVT as it knows it ([`clock`]), limits ([`flow`]), what
//! is set aside ([`set_aside`]), and what only some runs have ([`optional`]). What workers do is
//! in modules that nothing imports: they add methods to the worker, and stand on the rooms. One
//! module per idea:
//!
//! | module | idea |
//! |---|---|
//! | [`worker`] | the main loop |
//! | [`receiving`] | step 1: messages are filed |
//! | [`anti_messages`] | step 2: canceled events are annihilated; direct cancellation |
//! | [`processing`] | step 3: events are handled |
//! | [`policy`] | what the loop over events does for the parts that only some runs have |
//! | [`sink`], [`sending`] | where the sends of a handler go; mail between workers |
//! | [`straggler`], [`rollback`] | events that come too late, and what they undo |
//! | [`history`] | the processed list |
//! | [`saving`] | state saving: copies, coasting forward, reverse handlers |
//! | [`logging`], [`log_account`] | state saving by the undo log, for tracked fields |
//! | [`choosing`], [`changing`] | which of them, and from when on |
//! | [`gvt`], [`new_gvt`] | global virtual time: the algorithm, and the answer to a new one |
//! | [`fossil_collection`] | events below GVT are committed, and their buffers are free again |
//! | [`on_the_fly`] | buffers that are free again as soon as their events were processed |
//! | [`flow`], [`throttle`], [`holding_back`] | limits on optimism, and who waits for them |
//! | [`cancelback`], [`shortage`] | shortage of buffers |
//! | [`bottom_halves`], [`filing_halves`] | mail that waits with its LP |
//! | [`heap`], [`heap_charges`] | what messages and states own on the heap |
//! | [`moves`], [`moving`] | LPs that move to other workers |
//! | [`load`] | how much LPs have to do |
//! | [`worker_threads`], [`worker_with_heap`] | which thread runs which worker |
//! | [`thread_count`] | how many threads work |
//! | [`io`], [`waiting`], [`blocking`] | I/O events, and LPs that wait for GVT |
//! | [`remote`], [`ranks`] | other ranks: remote events, remote anti-messages, GVT across ranks |
//! | [`beginning`] | the first events, or a cut |
//! | [`ending`], [`leaving`] | how a run ends for a worker, and what it leaves for another engine |
//! | [`run`](mod@run), [`all_workers`], [`reporting`] | a run, its threads, its report |
//! | [`checks`] | what holds between two turns, in debug builds |
//! | [`alone`] | a single worker, which is the sequential engine |
//! | [`staged`] | that engine as long as it is faster than all workers |
//! | [`shared`] | what the workers of a rank share |
//! | [`progress`] | what a worker shows, and why it is idle |
//! | [`recording`], [`trace`] | what a worker tells the timeline |
//! | [`statistics`], [`costs`], [`diagnosis`] | what is counted and timed, and what it says |

mod all_workers;
mod alone;
mod anti_messages;
mod beginning;
mod blocking;
mod bottom_halves;
mod cancelback;
mod changing;
mod checks;
mod choosing;
mod clock;
mod coasting;
mod costs;
mod diagnosis;
mod ending;
mod event;
mod filing_halves;
mod flow;
mod fossil_collection;
pub(crate) mod gvt;
mod heap;
mod heap_charges;
mod history;
mod holding_back;
mod io;
mod leaving;
mod load;
mod log;
mod log_account;
mod logging;
mod lp_memory;
mod moves;
mod moving;
mod new_gvt;
mod observer;
mod on_the_fly;
mod optional;
mod policy;
mod processing;
mod progress;
mod ranks;
mod receiving;
mod recording;
mod refusals;
mod remote;
mod reporting;
mod rollback;
mod run;
mod saving;
mod sending;
mod set_aside;
mod shared;
mod shortage;
#[cfg(test)]
mod simulated;
mod sink;
mod staged;
mod statistics;
mod store;
mod straggler;
mod thread_count;
mod throttle;
mod trace;
mod turn;
mod waiting;
mod worker;
mod worker_threads;
mod worker_with_heap;

use warpline_core::{LogicalProcess, Model};

use crate::settings::TimeWarp;

pub(crate) use run::{run, uncrowded};

/// How much of the memory for event buffers one event takes.
pub(crate) const fn event_bytes<M: Model>(engine: &TimeWarp) -> u64 {
    shared::TimeWarpShared::<M>::buffer_bytes(engine)
}

type Message<M> = <<M as Model>::Lp as LogicalProcess>::Message;

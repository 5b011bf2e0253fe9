//! Windows: all workers handle the same window of virtual time, then wait at a barrier.
//!
//! A window is a little shorter than the model's lookahead. An event that one LP sends to another
//! is due in a later window than its cause, so LPs do not depend on each other within a window. A
//! worker takes one LP after the other, and handles all its events of the window in the order of
//! their keys. At the barrier the workers exchange the events that they have sent, and compute the
//! first window in which any of them has an event: the LBTS, the lower bound on the time stamps
//! that are still to be handled.
//!
//! That is YAWNS (D. M. Nicol, *The cost of conservative synchronization in parallel discrete event
//! simulations*, Journal of the ACM 40(2), 1993) with windows at fixed borders. Fixed borders need
//! no priority queue: an event is appended to the list of its window, in any order. For this
//! reason, and because each LP is loaded once for all its events of a window, this engine is faster
//! than the sequential one even with a single worker.
//!
//! | module     | what it has                                                           |
//! |------------|-----------------------------------------------------------------------|
//! | `worker`   | the main loop: synchronize, handle a window                           |
//! | `calendar` | pending events, by window                                             |
//! | `schedule` | a window's events, by LP                                              |
//! | `sending`  | where sent events go                                                  |
//! | `barrier`  | the barrier and its reduction                                         |
//! | `rank_barrier` | the barrier of all ranks, and the bytes that they exchange there  |
//! | `remote`   | what workers do there                                                 |
//! | `shared`   | what workers share                                                    |
//!
//! # Invariants
//!
//! - **CONS-A.** An event to another LP is due in a later window than its cause. The rules of
//!   sending ensure it: `Admission::admit` rounds a lookahead's end as `Grid` does. `WindowSender`
//!   checks it, and the run fails where it does not hold.
//! - **CONS-B.** Each LP handles its events in the order of their keys. Asserted in debug builds.
//! - **CONS-C.** Every event that was sent was handled once, or is pending at the end. Asserted.
//! - `rank_barrier` has CONS-D and `remote` CONS-E: what other ranks send is of the current round,
//!   and is checked.
//!
//! # When a handler fails
//!
//! The other LPs finish the window, so that the first failure in the order of events is the one
//! that is reported, as with every engine; but no event after a known failure is handled, and no
//! non-blocking I/O event after it is written. A blocking I/O event of another LP in the same
//! window may have been handled already.
//!
//! # When a run is stopped
//!
//! It ends after the window, so what was committed is a prefix of the run. A window that does not
//! end soon is cut off: then some LPs are further than others. A run that leaves a cut ends with a
//! whole window.

mod calendar;
mod rank_barrier;
mod remote;
mod schedule;
mod sending;
mod shared;
mod worker;

use warpline_core::{Model, Wires};

use super::{
    algorithm::{Algorithm, Ended, WorkerResult},
    common::Common,
};
use crate::{
    Details, RunError,
    event::{Buffer, Event, Message},
    run::ProgressMonitor,
};
pub(super) use shared::WindowShared;
use worker::WindowWorker;

/// What a worker of this algorithm counts beside the common counts.
pub(super) struct Counters {
    windows: u64,
    /// Events for other workers of this rank.
    mail: u64,
    /// Events that are still pending.
    pending: u64,
    /// Events sent to other ranks, less those received from them.
    balance: i64,
}

impl<'m, M: Model, B: Buffer<Message<M>> + Send> Algorithm<'m, M, B> for WindowShared<'m, M, B> {
    type Counters = Counters;

    const EVENT_BYTES: u64 = (size_of::<Event<B>>() + B::BYTES_ELSEWHERE) as u64;

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
        let mut worker = WindowWorker::new(self, me);
        worker.recorder = monitor.recorder(self.common.ranks.me(), me);
        let ended = worker.work(monitor);
        worker.recorder = None;
        worker.sampler.hand_in(self.common.directory.lps_of(me));
        let WindowWorker { lps, mut sender, tally, bucket, outputs, left: kept, .. } = worker;
        let counters = Counters {
            windows: tally.windows,
            mail: sender.mail,
            pending: sender.calendar.len() as u64 + tally.left,
            balance: sender.remote.as_ref().map_or(0, |remote| remote.balance),
        };
        let mut left = kept.events;
        if matches!(ended, Ended::Interrupted | Ended::GivenUp) || self.common.settings.leaves_cut {
            sender.calendar.drain_into(&mut left);
        }
        self.common.drop_guarded(move || drop((sender, bucket, outputs)));
        WorkerResult {
            residency: None,
            lps,
            left,
            ended,
            committed: tally.committed,
            last_time: tally.last_time,
            peak: tally.peak,
            rounds: tally.barriers,
            counters,
        }
    }

    fn abort(&self) {
        self.barrier.set_broken();
    }

    fn details(&self, results: &[WorkerResult<M::Lp, B, Counters>]) -> Details {
        let sum = |count: fn(&WorkerResult<M::Lp, B, Counters>) -> u64| {
            results.iter().map(count).sum::<u64>()
        };
        let committed = sum(|worker| worker.committed);
        let sent = sum(|worker| worker.lps.iter().map(|lp| lp.core.sent).sum());
        let pending = sum(|worker| worker.counters.pending);
        let balance: i64 = results.iter().map(|worker| worker.counters.balance).sum();
        debug_assert!(self.common.ranks.count() > 1 || balance == 0, "CONS-D: remote events");
        let received = sent.wrapping_add_signed(-balance);
        // Of a rank's part, that before may be below zero.
        let all_committed = self.common.committed_before.wrapping_add(committed);
        let all = all_committed.wrapping_add(pending);
        assert_eq!(received, all, "CONS-C: events were lost or doubled");
        let windows =
            results.iter().map(|worker| worker.counters.windows).max().unwrap_or_default();
        Details {
            counters: vec![("windows", windows), ("mail", sum(|worker| worker.counters.mail))],
            remarks: remarks(self.workers, committed, windows),
            heap_memory: self.common.memory.heap_memory::<M>(),
            ..Details::default()
        }
    }
}

/// Why the run was slow, if it was.
fn remarks(workers: usize, committed: u64, windows: u64) -> Vec<String> {
    /// A barrier takes as long as about ten events.
    const FEW: u64 = 100;
    let each = committed / windows.max(1) / workers as u64;
    let few = workers > 1 && windows > 0 && each < FEW;
    let remark = || {
        format!(
            "a worker had {each} events between two barriers: the lookahead is short for so few \
             events; a longer lookahead, more events at the same time, or fewer workers would help"
        )
    };
    few.then(remark).into_iter().collect()
}

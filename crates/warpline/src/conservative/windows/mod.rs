//! Windows: virtual time is cut into windows, a little shorter than the model's lookahead. What a
//! process sends to another one is due in a later window than its cause; so within a window
//! processes do not depend on each other. A worker takes one process after the other, each with all
//! its events of the window in the order of their keys. Then the workers meet, exchange what they
//! have sent, and agree on the next window that has events: the least that any of them knows.
//!
//! That is YAWNS (D. M. Nicol, *The cost of conservative synchronization in parallel discrete event
//! simulations*, Journal of the ACM 40(2), 1993) on windows with fixed borders. Fixed borders need
//! no priority queue: an event is appended to its window's list, in any order. That, and that each
//! process is loaded once for all its events of a window, makes this engine faster than the
//! sequential one even with a single worker.
//!
//! | module     | what it does                                                          |
//! |------------|-----------------------------------------------------------------------|
//! | `worker`   | the main loop: meet, handle a window                                  |
//! | `calendar` | pending events, by window                                             |
//! | `schedule`   | a window's events, by process                                         |
//! | `sender`     | where sent events go                                                  |
//! | `exchange` | where workers meet                                                    |
//! | `remote`   | mail between ranks                                                    |
//! | `shared`   | what workers share                                                    |
//!
//! # Invariants
//!
//! - **CONS-A.** An event to another process is due in a later window than its cause. The rules of
//!   sending see to it (`Admission::admit` computes a lookahead's end as `Grid` assumes); `Sender`
//!   checks it.
//! - **CONS-B.** Each process handles its events in the order of their keys.
//! - **CONS-C.** Every event that was sent was handled once, or is pending at the end. Checked.
//!
//! # When a handler makes a mistake
//!
//! The other processes finish the window, so that the first mistake in the order of events is the
//! one that is reported, as by every engine; but nobody handles what comes after one that is known.
//! Non-blocking I/O events after it are not written. A blocking one of another process in the same
//! window may have been handled.
//!
//! # When a run is stopped
//!
//! It ends after the window, so that what was committed is a prefix of the run. A window that does
//! not end self_sent is cut off within: then some processes are further than others.

pub(crate) mod barrier;
mod calendar;
mod remote;
mod schedule;
mod sending;
mod shared;
mod worker;

use warpline_core::{Model, Wires};

use super::{
    algorithm::{Algorithm, Common, WorkerResult},
    lookout::Lookout,
};
use crate::{
    Details, RunError,
    event::{Buffer, Event, Message},
};
pub(super) use shared::Shared;
use worker::Worker;

/// What a worker counts besides.
pub(super) struct Counters {
    windows: u64,
    /// Events for other workers.
    mail: u64,
    /// Events that are still pending.
    pending: u64,
    /// Events that it sent to, less those that it got from, other ranks.
    remote: i64,
}

impl<'m, M: Model, B: Buffer<Message<M>> + Send> Algorithm<'m, M, B> for Shared<'m, M, B> {
    type Counters = Counters;

    const EVENT_BYTES: u64 = (size_of::<Event<B>>() + B::BYTES_ELSEWHERE) as u64;

    fn make(common: Common<'m, M, B>, wires: Option<Wires<M>>) -> Result<Self, RunError> {
        Self::new(common, wires)
    }

    fn common(&self) -> &Common<'m, M, B> {
        &self.common
    }

    fn work(&self, me: usize, lookout: &mut Lookout<'_, '_>) -> WorkerResult<M::Lp, Counters> {
        let mut worker = Worker::new(self, me);
        let ended = worker.work(lookout);
        let Worker { lps, sender, tally, bucket, due_outputs, .. } = worker;
        let pending = sender.calendar.len() as u64 + tally.left;
        let count =
            Counters { windows: tally.windows, mail: sender.mail, pending, remote: sender.remote };
        self.common.drop_guarded(move || drop((sender, bucket, due_outputs)));
        WorkerResult {
            lps,
            ended,
            committed: tally.committed,
            last_time: tally.last_time,
            peak: tally.peak,
            rounds: tally.barriers,
            count,
        }
    }

    fn abort(&self) {
        self.barrier.set_broken();
    }

    fn details(&self, results: &[WorkerResult<M::Lp, Counters>]) -> Details {
        let sum = |count: fn(&WorkerResult<M::Lp, Counters>) -> u64| {
            results.iter().map(count).sum::<u64>()
        };
        let committed = sum(|worker| worker.committed);
        let sent = sum(|worker| worker.lps.iter().map(|lp| lp.core.sent).sum());
        let pending = sum(|worker| worker.count.pending);
        let remote: i64 = results.iter().map(|worker| worker.count.remote).sum();
        let here = sent.wrapping_add_signed(-remote);
        assert_eq!(here, committed + pending, "CONS-C: events were lost or doubled");
        let windows = results.iter().map(|worker| worker.count.windows).max().unwrap_or_default();
        Details {
            counters: vec![("windows", windows), ("mail", sum(|worker| worker.count.mail))],
            remarks: remarks(self.workers, committed, windows),
            costs: Vec::new(),
        }
    }
}

/// Why the run was slow, if it was.
fn remarks(workers: usize, committed: u64, windows: u64) -> Vec<String> {
    /// A round of workers takes as long as some ten events.
    const FEW: u64 = 100;
    let each = committed / windows.max(1) / workers as u64;
    let few = workers > 1 && windows > 0 && each < FEW;
    let remark = || {
        format!(
            "a worker had {each} events between two barriers: the lookahead is short for so few \
             events; a greater one, more events at the same time, or fewer workers would help"
        )
    };
    few.then(remark).into_iter().collect()
}

//! A run between two events: what one engine hands over to the next ([`Cut`]), and what it has
//! counted until then ([`Leg`]).
//!
//! An engine begins with a cut or with the model's first events, and leaves a cut where it ends or
//! is told to end. [`auto`](crate::auto) runs leg after leg. The speculative engine also uses cuts
//! within a run, where it handles events one by one.
//!
//! # Invariants
//!
//! - **CUT-A.** All events that sort before some key are committed, and nothing else is. Each event
//!   that was sent is committed or pending, so an engine that begins with a cut goes on as the one
//!   before it would have.

use std::sync::{Mutex, PoisonError};

use warpline_core::{LogicalProcess, LpId, Model, UndoLog, VirtualTime};

use crate::{Details, Totals, handling::Lp, placement::LpDirectory};

/// All LPs, or those of one worker, and the events that are pending for them.
#[derive(Debug)]
pub(crate) struct Cut<L, E> {
    /// In the order of their numbers.
    pub(crate) lps: Vec<Lp<L>>,
    /// In any order.
    pub(crate) pending: Vec<E>,
    /// Behind the ends of all undo logs that the LPs were in, so that a log that begins there has
    /// none of their entries (UNDO-C).
    pub(crate) log_end: u64,
}

impl<L, E> Default for Cut<L, E> {
    fn default() -> Self {
        Self::new(Vec::new(), Vec::new())
    }
}

impl<L, E> Cut<L, E> {
    /// What an engine without undo logs leaves.
    pub(crate) const fn new(lps: Vec<Lp<L>>, pending: Vec<E>) -> Self {
        Self { lps, pending, log_end: UndoLog::NONE + 1 }
    }
}

impl<L: LogicalProcess, E> Cut<L, E> {
    /// How many events were committed before it.
    pub(crate) fn committed(&self) -> u64 {
        let sent: u64 = self.lps.iter().map(|lp| lp.core.sent).sum();
        debug_assert!(sent >= self.pending.len() as u64, "CUT-A: events that nobody has sent");
        sent - self.pending.len() as u64
    }

    /// Divides it among the workers of a rank that runs alone. `to` is the receiver of an event.
    pub(crate) fn divide<F: From<E>>(
        self,
        directory: &LpDirectory,
        to: impl Fn(&E) -> LpId,
    ) -> Parts<L, F> {
        let mut parts: Vec<_> = (0..directory.workers())
            .map(|worker| {
                let lps = Vec::with_capacity(directory.lps_of(worker).len());
                // About as many as the others, and not the memory of all again and again.
                let pending = Vec::with_capacity(self.pending.len() / directory.workers());
                Cut { lps, pending, log_end: self.log_end }
            })
            .collect();
        let worker = |id| directory.place(id).worker.index();
        for (index, lp) in self.lps.into_iter().enumerate() {
            parts[worker(LpId::from_index(index))].lps.push(lp);
        }
        debug_assert!(
            (0..directory.workers())
                .all(|worker| parts[worker].lps.len() == directory.lps_of(worker).len()),
            "PLACE-A: a worker has not the LPs that are placed there"
        );
        for event in self.pending {
            parts[worker(to(&event))].pending.push(event.into());
        }
        Parts(Mutex::new(parts))
    }

    /// Puts the parts of all workers of a rank together.
    pub(crate) fn unite(directory: &LpDirectory, parts: Vec<Self>) -> Self {
        let (mut lps, mut pending) = (Vec::new(), Vec::new());
        let mut log_end = UndoLog::NONE + 1;
        for mut part in parts {
            lps.push(part.lps);
            log_end = log_end.max(part.log_end);
            if pending.is_empty() {
                pending = part.pending;
            } else {
                pending.append(&mut part.pending);
            }
        }
        let lps = directory.in_order(lps);
        debug_assert!(lps.len() <= directory.lp_count(), "PLACE-A: an LP is there twice");
        Self { lps, pending, log_end }
    }
}

/// The parts of a cut, by worker, until the workers take them.
#[derive(Debug)]
pub(crate) struct Parts<L, E>(Mutex<Vec<Cut<L, E>>>);

impl<L, E> Parts<L, E> {
    /// What a worker begins with.
    pub(crate) fn take(&self, worker: usize) -> Cut<L, E> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(worker < parts.len(), "there is no part for worker {worker}");
        std::mem::take(&mut parts[worker])
    }
}

/// What an engine has done from its beginning to its end.
pub(crate) struct Leg<M: Model, E> {
    /// Whether there may be events left before the end of the run.
    pub(crate) interrupted: bool,
    /// The time of the last committed event, or a later one up to which the run has come.
    pub(crate) last_time: VirtualTime,
    /// Without the digest.
    pub(crate) totals: Totals,
    pub(crate) details: Details,
    /// The LPs of this rank, and what is pending, if another leg follows.
    pub(crate) cut: Cut<M::Lp, E>,
}

//! A run between two events: what one engine hands over to the next ([`Cut`]), and what it has
//! counted until then ([`Stage`]).
//!
//! An engine begins with a cut or with the model's first events, and leaves a cut where it ends or
//! is told to end. [`auto`](crate::auto) runs stage after stage. The speculative engine also uses
//! cuts within a run, where it handles events one by one.
//!
//! # Invariants
//!
//! - **CUT-A.** All events that sort before some key are committed, and nothing else is. Each event
//!   that was sent is committed or pending, so an engine that begins with a cut goes on as the one
//!   before it would have.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use warpline_core::{CommitDigest, LogicalProcess, LpId, Model, UndoLog, VirtualTime};

use crate::{
    Details, Report, RunError, Totals,
    event::{Buffer, Event, Inline, Message},
    handling::Lp,
    placement::LpDirectory,
};

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

impl<L, B> Cut<L, Event<B>> {
    /// The same cut for an engine with another kind of buffers.
    pub(crate) fn rebuffered<T, C: Buffer<T>>(self) -> Cut<L, Event<C>>
    where
        B: Buffer<T>,
    {
        let Self { lps, pending, log_end } = self;
        let before = pending.len();
        let pending: Vec<_> = pending.into_iter().map(Event::rebuffered).collect();
        debug_assert_eq!(pending.len(), before, "CUT-A: an event is lost on its way");
        Cut { lps, pending, log_end }
    }
}

impl<L: LogicalProcess, E> Cut<L, E> {
    /// How many events were committed before it. Of a rank's part, the events that other ranks
    /// have sent there count against it, so that only the (wrapping) sum over all ranks says that.
    pub(crate) fn committed(&self) -> u64 {
        let sent: u64 = self.lps.iter().map(|lp| lp.core.sent).sum();
        sent.wrapping_sub(self.pending.len() as u64)
    }

    /// The digest of what was committed before it; `ids` are the LPs.
    pub(crate) fn digest(&self, ids: &[LpId]) -> CommitDigest {
        assert_eq!(ids.len(), self.lps.len(), "CUT-A: an LP has no number");
        let mut digest = CommitDigest::default();
        for (&id, Lp { core, .. }) in ids.iter().zip(&self.lps) {
            digest.add_lp(id, core.digest, &core.rng, core.sent);
        }
        digest
    }

    /// Divides it, or this rank's part of it, among the workers of this rank. `at` is the LP that
    /// an event goes with.
    pub(crate) fn divide<F: From<E>>(
        self,
        directory: &LpDirectory,
        at: impl Fn(&E) -> LpId,
    ) -> Parts<L, F> {
        let workers = directory.workers_here();
        let mut parts: Vec<_> = directory
            .by_worker(self.lps)
            .into_iter()
            .map(|lps| {
                // About as many as the others, and not the memory of all again and again.
                let pending = Vec::with_capacity(self.pending.len() / workers);
                Cut { lps, pending, log_end: self.log_end }
            })
            .collect();
        let worker = |id| {
            let local = directory.local(directory.place(id).worker);
            local.unwrap_or_else(|| unreachable!("PLACE-A: {id} is at another rank"))
        };
        for event in self.pending {
            parts[worker(at(&event))].pending.push(event.into());
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
pub(crate) struct Parts<L, E>(Mutex<Vec<Cut<L, E>>>);

impl<L, E> fmt::Debug for Parts<L, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl<L, E> Parts<L, E> {
    /// What a worker begins with.
    pub(crate) fn take(&self, worker: usize) -> Cut<L, E> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(worker < parts.len(), "there is no part for worker {worker}");
        std::mem::take(&mut parts[worker])
    }
}

/// What an engine has done from its beginning to its end.
pub(crate) struct Stage<M: Model, E> {
    /// Whether there may be events left before the end of the run.
    pub(crate) interrupted: bool,
    /// Whether it has ended because windows without rollbacks cannot go on.
    pub(crate) has_given_up: bool,
    /// The time of the last committed event, or a later one up to which the run has come.
    pub(crate) last_time: VirtualTime,
    /// Without the digest.
    pub(crate) totals: Totals,
    pub(crate) details: Details,
    /// The LPs of this rank, and what is pending, if another stage follows.
    pub(crate) cut: Cut<M::Lp, E>,
}

/// An event as no engine in particular has it.
pub(crate) type LeftEvent<M> = Event<Inline<Message<M>>>;

/// All LPs of a model and all events that are pending for them, as no engine in particular has
/// them: between two steps of a [`Session`](crate::Session).
pub struct Whole<M: Model>(pub(crate) Cut<M::Lp, LeftEvent<M>>);

impl<M: Model> Default for Whole<M> {
    fn default() -> Self {
        Self(Cut::default())
    }
}

impl<M: Model> Whole<M> {
    /// What an engine has left.
    pub(crate) fn of<B: Buffer<Message<M>>>(cut: Cut<M::Lp, Event<B>>) -> Self {
        Self(cut.rebuffered())
    }

    /// Divides it among ranks: an event goes with its sender, or with its receiver. The directory
    /// may be that of any rank.
    pub(crate) fn divide(
        self,
        directory: &LpDirectory,
        ranks: usize,
        is_with_sender: bool,
    ) -> Vec<Self> {
        let Cut { lps, pending, log_end } = self.0;
        let mut parts = Vec::with_capacity(ranks);
        parts.resize_with(ranks, || Cut { log_end, ..Cut::default() });
        for (index, lp) in lps.into_iter().enumerate() {
            parts[directory.rank(LpId::from_index(index))].lps.push(lp);
        }
        debug_assert!(
            parts.iter().map(|part| part.lps.len()).sum::<usize>() == directory.lp_count(),
            "CUT-A: a cut of some LPs is divided as the whole"
        );
        for event in pending {
            let at = if is_with_sender { event.key.sender() } else { event.to };
            parts[directory.rank(at)].pending.push(event);
        }
        parts.into_iter().map(Self).collect()
    }

    /// Puts the parts of all ranks together.
    ///
    /// # Errors
    ///
    /// With the rank whose part has not the LPs that are there.
    pub(crate) fn unite(directory: &LpDirectory, parts: Vec<Self>) -> Result<Self, usize> {
        let mut whole = Cut::default();
        let mut lps = Vec::with_capacity(parts.len());
        for Self(mut part) in parts {
            lps.push(part.lps.into_iter());
            whole.pending.append(&mut part.pending);
            whole.log_end = whole.log_end.max(part.log_end);
        }
        whole.lps.reserve(directory.lp_count());
        for id in (0..directory.lp_count()).map(LpId::from_index) {
            let rank = directory.rank(id);
            whole.lps.push(lps[rank].next().ok_or(rank)?);
        }
        debug_assert_eq!(whole.lps.len(), directory.lp_count(), "CUT-A: an LP is missing");
        match lps.iter().position(|more| more.len() > 0) {
            None => Ok(Self(whole)),
            Some(rank) => Err(rank),
        }
    }

    /// What the next engine begins with.
    pub(crate) fn into_cut<B: Buffer<Message<M>>>(self) -> Cut<M::Lp, Event<B>> {
        self.0.rebuffered()
    }
}

/// What is left of a run at its end.
pub enum Rest<M: Model> {
    /// What the LPs have come to.
    Output(M::Output),
    /// The LPs themselves, for a run that leaves a cut.
    Cut(Whole<M>),
}

impl<M: Model> Rest<M> {
    /// The output of a run that leaves no cut.
    pub(crate) fn output(self) -> M::Output {
        match self {
            Self::Output(output) => output,
            Self::Cut(_) => unreachable!("CUT-A: a run has left a cut that nobody wanted"),
        }
    }

    /// The cut of a run that leaves one.
    pub(crate) fn cut(self) -> Whole<M> {
        match self {
            Self::Cut(cut) => cut,
            Self::Output(_) => unreachable!("CUT-A: a run has left no cut"),
        }
    }
}

/// How a run ends: rank 0 gets the report.
pub(crate) type Ended<M> = Result<Option<Report<Rest<M>>>, RunError>;

impl<M: Model> fmt::Debug for Whole<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut { lps, pending, .. } = &self.0;
        write!(f, "{} LPs, {} pending events", lps.len(), pending.len())
    }
}

impl<M: Model> fmt::Debug for Rest<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(_) => f.write_str("an output"),
            Self::Cut(whole) => whole.fmt(f),
        }
    }
}

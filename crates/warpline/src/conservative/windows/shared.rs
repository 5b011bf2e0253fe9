//! What the workers of a rank share: read-only tables, the mailboxes, and the barrier.

use std::sync::{Mutex, PoisonError};

use warpline_core::{LpId, Model, Wires};
use warpline_memory::CachePadded;

use super::{super::common::Common, calendar::Grid, rank_barrier::RankBarrier};
use crate::{
    ConfigError, EngineKind, RunError,
    event::{Bucket, Buffer, Event, Message},
    local_lp::LocalLp,
    run::Barrier,
};

/// What one worker has sent to another one.
type Mailbox<B> = CachePadded<Mutex<Bucket<Event<B>>>>;

/// The state of the windows algorithm that all workers of a rank share.
pub(in crate::conservative) struct WindowShared<'m, M: Model, B> {
    pub(super) common: Common<'m, M, B>,
    pub(super) workers: usize,
    /// The last window that has events before the end.
    pub(super) last_window: u64,
    /// Whether another engine goes on where windows cannot.
    pub(super) gives_up: bool,
    pub(super) grid: Grid,
    pub(super) barrier: Barrier,
    /// The barrier with other ranks, if there are any.
    pub(super) ranks: Option<RankBarrier<'m, M>>,
    /// For even and for odd rounds of the barrier: by receiver, and then by sender.
    mail: [Box<[Mailbox<B>]>; 2],
}

impl<'m, M: Model, B: Buffer<Message<M>>> WindowShared<'m, M, B> {
    pub(super) fn new(common: Common<'m, M, B>, wires: Option<Wires<M>>) -> Result<Self, RunError> {
        let grid = grid(common.model)?;
        let workers = common.workers();
        let mail = || (0..workers * workers).map(|_| CachePadded::default()).collect();
        Ok(Self {
            workers,
            last_window: grid.window(common.end_time().get()),
            gives_up: false,
            grid,
            barrier: Barrier::new(workers),
            ranks: RankBarrier::new(&common, wires),
            mail: [mail(), mail()],
            common,
        })
    }

    /// Ends where the run would perhaps fail, and leaves what is left to another engine: before
    /// rounding may put an event and its cause into one window, and before a window may need more
    /// memory than there is.
    pub(in crate::conservative) fn give_up_in_time(&mut self) {
        self.gives_up = true;
    }

    /// Whether this window is left to another engine for its time.
    pub(super) fn is_too_late(&self, window: u64) -> bool {
        self.gives_up && window >= Grid::WINDOWS_MAX
    }

    /// Whether the next window is left to another engine for the memory that it may need.
    pub(super) fn is_short_of_memory(&self) -> bool {
        self.gives_up && self.common.memory.is_half_taken()
    }

    /// Whether there is only one worker in all: then no table of places is needed.
    #[inline]
    fn is_alone(&self) -> bool {
        self.workers == 1 && self.ranks.is_none()
    }

    /// The worker of this rank that has an LP; nothing if another rank has it.
    #[inline]
    pub(super) fn worker_of(&self, lp: LpId) -> Option<usize> {
        if self.is_alone() {
            return Some(0);
        }
        let directory = &self.common.directory;
        let worker = directory.local(directory.place(lp).worker);
        debug_assert!(worker.is_some() || self.ranks.is_some(), "PLACE-A: {lp} is at no worker");
        worker
    }

    /// The index of an LP at its worker.
    #[inline]
    pub(super) fn local_of(&self, lp: LpId) -> LocalLp {
        debug_assert!(lp.index() < self.common.directory.lp_count(), "PLACE-A: {lp} has no place");
        // A worker that has all LPs has each at its number.
        if self.is_alone() { LocalLp::new(lp.get()) } else { self.common.directory.place(lp).lp }
    }

    /// Lets `work` use the mailbox from one worker to another one. The sender uses it before a
    /// barrier and the receiver after it, so nobody waits for the lock.
    pub(super) fn mail<R>(
        &self,
        round: u64,
        from: usize,
        to: usize,
        work: impl FnOnce(&mut Bucket<Event<B>>) -> R,
    ) -> R {
        debug_assert!(from < self.workers && to < self.workers, "there is no such worker");
        let mail = &self.mail[(round % 2) as usize][to * self.workers + from];
        work(&mut mail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The windows that the model's lookahead allows.
fn grid<M: Model>(model: &M) -> Result<Grid, ConfigError> {
    let Some(lookahead) = model.lookahead().filter(|&lookahead| lookahead > 0.0) else {
        let allowed = "auto, sequential, timewarp or speculative for a model that declares no \
                       lookahead (to declare one, give its Model a `lookahead`: a delay above 0 \
                       that no event between two LPs goes below)";
        return Err(ConfigError::new("engine", EngineKind::Conservative, allowed));
    };
    Grid::new(lookahead)
        .ok_or_else(|| ConfigError::new("lookahead", lookahead, "large enough to divide 1 by"))
}

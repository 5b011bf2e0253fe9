//! What the workers of a run share: read-only tables, and the places where they meet.

use std::sync::{Mutex, PoisonError};

use warpline_core::{LpId, Model, Wires};
use warpline_memory::CachePadded;

use super::{
    super::algorithm::Common,
    barrier::Barrier,
    calendar::{Bucket, Grid},
    remote::Remote,
};
use crate::{
    ConfigError, Engine, RunError,
    event::{Buffer, Event, Message},
    placement::WorkerId,
};

/// What one worker has for another one.
type Mailbox<B> = CachePadded<Mutex<Bucket<Event<B>>>>;

/// One for all workers.
pub(in crate::conservative) struct Shared<'m, M: Model, B> {
    pub(super) common: Common<'m, M, B>,
    pub(super) workers: usize,
    /// The last window that has events before the end.
    pub(super) last_window: u64,
    pub(super) grid: Grid,
    pub(super) barrier: Barrier,
    /// Mail to other ranks, if there are any.
    pub(super) remote: Option<Remote<'m, M>>,
    /// For even and for odd barriers: by receiver, and then by sender.
    mail: [Box<[Mailbox<B>]>; 2],
}

impl<'m, M: Model, B: Buffer<Message<M>>> Shared<'m, M, B> {
    pub(super) fn new(common: Common<'m, M, B>, wires: Option<Wires<M>>) -> Result<Self, RunError> {
        let grid = grid(common.model)?;
        let workers = common.workers();
        let mail = || (0..workers * workers).map(|_| CachePadded::default()).collect();
        Ok(Self {
            workers,
            last_window: grid.window(common.end_time().get()),
            grid,
            barrier: Barrier::new(workers),
            remote: wires
                .zip(common.ranks.transport())
                .map(|(wires, transport)| Remote::new(transport, wires, workers)),
            mail: [mail(), mail()],
            common,
        })
    }

    /// Whether there is only one worker in all: then nobody asks where a process lives.
    #[inline]
    fn is_alone(&self) -> bool {
        self.workers == 1 && self.remote.is_none()
    }

    /// The worker that has an LP.
    #[inline]
    pub(super) fn worker_of(&self, lp: LpId) -> WorkerId {
        if self.is_alone() { WorkerId::default() } else { self.common.directory.place(lp).worker }
    }

    /// The place of a process at its worker.
    #[inline]
    pub(super) fn local_of(&self, lp: LpId) -> u32 {
        if self.is_alone() { lp.get() } else { self.common.directory.place(lp).index }
    }

    /// Does something with the mail of one worker to another one. The sender has it before a
    /// round, the receiver after it, so nobody waits for the lock.
    pub(super) fn mail<R>(
        &self,
        round: u64,
        from: usize,
        to: usize,
        work: impl FnOnce(&mut Bucket<Event<B>>) -> R,
    ) -> R {
        let mail = &self.mail[(round % 2) as usize][to * self.workers + from];
        work(&mut mail.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The windows that the model's lookahead allows.
fn grid<M: Model>(model: &M) -> Result<Grid, ConfigError> {
    let Some(lookahead) = model.lookahead().filter(|&lookahead| lookahead > 0.0) else {
        let allowed = "sequential or timewarp for a model that declares no lookahead (to declare one, \
                       give its Model a `lookahead`: a delay above 0 that no event between two \
                       processes goes below)";
        return Err(ConfigError::new("engine", Engine::Conservative, allowed));
    };
    Grid::new(lookahead)
        .ok_or_else(|| ConfigError::new("lookahead", lookahead, "large enough to divide 1 by"))
}

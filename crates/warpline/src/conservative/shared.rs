//! What the workers of a run share: read-only tables, and the places where they meet.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, AtomicUsize},
};

use warpline_core::{EventKey, LpId, Model, VirtualTime};
use warpline_memory::CachePadded;

use super::{
    abroad::Abroad,
    calendar::{Bucket, Grid},
    exchange::Exchange,
};
use crate::{
    ConfigError, Engine, RunError,
    admission::Admission,
    failure::FirstFailure,
    homes::Homes,
    ranks::Ranks,
    sequential::{Buffer, Event, Message},
    simulation::Settings,
};

/// Whether the run is to end early.
#[derive(Debug, Default)]
pub(super) struct Stop {
    /// After the window.
    pub(super) soon: AtomicBool,
    /// Within it.
    pub(super) at_once: AtomicBool,
}

/// What one worker has for another one.
type Mailbox<B> = CachePadded<Mutex<Bucket<Event<B>>>>;

/// One for all workers.
pub(super) struct Shared<'m, M: Model, B> {
    pub(super) model: &'m M,
    pub(super) settings: &'m Settings,
    pub(super) workers: usize,
    pub(super) end: f64,
    /// The last window that has events before the end.
    pub(super) last_window: u64,
    pub(super) admission: Admission,
    pub(super) grid: Grid,
    pub(super) homes: Homes,
    pub(super) exchange: Exchange,
    /// Mail to other ranks, if there are any.
    pub(super) abroad: Option<Abroad<'m, M>>,
    pub(super) ranks: &'m Ranks<'m>,
    /// See [`wait`](crate::workers::wait).
    pub(super) spins: u32,
    /// For even and for odd meetings: by receiver, and then by sender.
    mail: [Box<[Mailbox<B>]>; 2],
    /// Non-blocking I/O events of the window, to be written in the order of their keys.
    pub(super) outputs: Mutex<Vec<Event<B>>>,
    pub(super) failure: FirstFailure,
    pub(super) stop: Stop,
    /// Events committed so far, for people.
    pub(super) committed: AtomicU64,
    /// The most events that may be pending, if memory is limited.
    pub(super) room: Option<usize>,
    /// How many are, if it is.
    pub(super) pending: AtomicUsize,
}

impl<'m, M: Model, B: Buffer<Message<M>>> Shared<'m, M, B> {
    pub(super) fn new(
        model: &'m M,
        settings: &'m Settings,
        ranks: &'m Ranks<'m>,
    ) -> Result<Self, RunError> {
        settings.timewarp.validate()?;
        let admission = Admission::new(model)?;
        let workers = settings.timewarp.workers;
        let grid = grid(model)?;
        let end = settings.checked_end()?;
        let last = VirtualTime::new(end).unwrap_or(VirtualTime::MAX).get();
        let mail = || (0..workers * workers).map(|_| CachePadded::default()).collect();
        let room = settings.memory.map(|bytes| bytes / Self::event_bytes());
        Ok(Self {
            model,
            settings,
            workers,
            end,
            last_window: grid.window(last),
            homes: Homes::new(
                model,
                admission.lp_count(),
                &settings.placement,
                ranks.workers(settings),
                ranks.here(settings),
            )?,
            admission,
            grid,
            exchange: Exchange::new(workers),
            abroad: ranks
                .connect(model, Engine::Conservative, settings)?
                .zip(ranks.transport())
                .map(|(wires, transport)| Abroad::new(transport, wires, workers)),
            ranks,
            spins: super::spins(ranks.workers(settings)),
            mail: [mail(), mail()],
            outputs: Mutex::default(),
            failure: FirstFailure::default(),
            stop: Stop::default(),
            committed: AtomicU64::new(0),
            room: room.map(|events| usize::try_from(events).unwrap_or(usize::MAX)),
            pending: AtomicUsize::new(0),
        })
    }

    /// The bytes that the buffer of one event takes.
    pub(super) const fn event_bytes() -> u64 {
        (size_of::<Event<B>>() + B::BYTES_ELSEWHERE) as u64
    }

    /// Whether there is only one worker in all: then nobody asks where a process lives.
    #[inline]
    fn is_alone(&self) -> bool {
        self.homes.residents.len() == 1 && self.abroad.is_none()
    }

    /// The worker, of those of all ranks, that a process lives at.
    #[inline]
    pub(super) fn worker_of(&self, lp: LpId) -> usize {
        if self.is_alone() { 0 } else { self.homes.directory[lp.index()].worker as usize }
    }

    /// The place of a process at its worker.
    #[inline]
    pub(super) fn local_of(&self, lp: LpId) -> u32 {
        if self.is_alone() { lp.get() } else { self.homes.directory[lp.index()].local }
    }

    /// Does something with the mail of one worker to another one. The sender has it before a meeting, the
    /// receiver after it, so nobody waits for the lock.
    pub(super) fn mail<R>(
        &self,
        meeting: u64,
        from: usize,
        to: usize,
        work: impl FnOnce(&mut Bucket<Event<B>>) -> R,
    ) -> R {
        let mail = &self.mail[(meeting % 2) as usize][to * self.workers + from];
        work(&mut mail.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where a run is, for an error.
    pub(super) fn place(
        &self,
        worker: usize,
        lp: Option<LpId>,
        event: Option<EventKey>,
    ) -> warpline_core::Place {
        let (engine, seed) = (Engine::Conservative.name(), self.settings.seed);
        warpline_core::Place { lp, event, engine, worker, seed }
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

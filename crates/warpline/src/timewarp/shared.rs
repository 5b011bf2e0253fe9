//! What the workers of a run share: read-only tables, and the few places where they meet.

use std::sync::atomic::{AtomicU64, Ordering};

use warpline_core::{Model, Wire, Wires};
use warpline_memory::{Arena, BLOCK_ITEMS, Block, CachePadded, Inbox};

use super::{
    Message,
    across::{Across, Barrier},
    event::Event,
    gvt::Gvt,
    history::{Record, Sent},
    io::IoStage,
};
use crate::{
    RunError,
    handling::Admission,
    monitor::Board,
    placement::LpDirectory,
    run::{FirstFailure, Ranks},
    settings::Settings,
};

/// Mail between workers: events and anti-messages, in the order in which they were sent.
pub(super) type Mail = Box<Block<Event>>;

const _: () = assert!(BLOCK_ITEMS >= 1);

/// One for all workers.
#[derive(Debug)]
pub(super) struct Shared<M: Model> {
    pub(super) settings: Settings,
    pub(super) end: f64,
    pub(super) admission: Admission,
    pub(super) directory: LpDirectory,
    pub(super) arena: Arena<Message<M>>,
    pub(super) inboxes: Box<[CachePadded<Inbox<Event>>]>,
    /// Emptied blocks on their way back to the worker that made them.
    pub(super) returned: Box<[CachePadded<Inbox<Event>>]>,
    pub(super) shown: Board,
    pub(super) gvt: Gvt,
    /// The simulated time barrier, as ordered bits; all ones for none.
    pub(super) barrier: AtomicU64,
    pub(super) io: IoStage<M>,
    pub(super) failure: FirstFailure,
    /// If there are other ranks.
    pub(super) across: Option<Across>,
    pub(super) wire: Option<Wire<Message<M>>>,
}

impl<M: Model> Shared<M> {
    /// For a rank of those, whose processes travel by `wires`, if there are several.
    pub(super) fn new(
        model: &M,
        settings: &Settings,
        ranks: &Ranks<'_>,
        wires: Option<Wires<M>>,
    ) -> Result<Self, RunError> {
        settings.timewarp.validate()?;
        let admission = Admission::new(model)?;
        let workers = settings.timewarp.workers;
        let (all, here) = (ranks.workers(settings), ranks.here(settings));
        let lps = admission.lp_count();
        let directory = LpDirectory::new(model, lps, &settings.placement, all, here)?;
        let buffers = |bytes| u32::try_from(bytes / Self::buffer_bytes(workers));
        let limit = settings.memory.map(|bytes| buffers(bytes).unwrap_or(u32::MAX));
        let barrier = settings.timewarp.barrier.map_or(u64::MAX, |time| time.to_ordered_bits());
        let padded = || (0..workers).map(|_| CachePadded::default()).collect();
        Ok(Self {
            settings: settings.clone(),
            end: settings.checked_end()?,
            admission,
            directory,
            arena: Arena::new(settings.timewarp.pool_plan(limit))
                .traced(settings.timewarp.trace.clone()),
            inboxes: padded(),
            returned: padded(),
            shown: (0..workers).map(|_| CachePadded::default()).collect(),
            gvt: Gvt::new(workers, ranks.count() > 1),
            barrier: AtomicU64::new(barrier),
            io: IoStage::new(workers),
            failure: FirstFailure::default(),
            across: (ranks.count() > 1).then(|| Across::new(ranks.count())),
            wire: wires.map(|wires| wires.message),
        })
    }

    pub(super) const fn workers(&self) -> usize {
        self.settings.timewarp.workers
    }

    /// Would like to know GVT.
    pub(super) fn ask_for_gvt(&self) {
        match &self.across {
            None => self.gvt.start(),
            Some(across) => across.ask(),
        }
    }

    /// Takes over the time barrier that was set at another rank.
    pub(super) fn learn_barrier(&self) {
        let barrier = self.across.as_ref().map(|across| across.barrier(Barrier::default()));
        if let Some(Barrier { bits, .. }) = barrier.filter(|barrier| barrier.round > 0) {
            // Ordering: Relaxed; workers may see it late, it only limits optimism.
            self.barrier.store(bits, Ordering::Relaxed);
        }
    }

    /// What one event takes: its buffer, its entry in the pending set, its record with the saved
    /// state, and its sender's memory of it.
    pub(super) const fn buffer_bytes(workers: usize) -> u64 {
        let state = size_of::<Option<M::Lp>>();
        let event = size_of::<Event>() + size_of::<Record>() + size_of::<Sent>();
        (Arena::<Message<M>>::buffer_bytes(workers) + event + state) as u64
    }

    /// An estimate of GVT: that of the slowest worker, where it is seen what all workers do.
    pub(super) fn snooped_gvt_or(&self, gvt: f64) -> f64 {
        if self.across.is_some() { gvt } else { self.snooped_gvt() }
    }

    /// The least time that a worker shows: an estimate of GVT, and mostly ahead of it.
    pub(super) fn snooped_gvt(&self) -> f64 {
        // Ordering: Relaxed; an estimate.
        let next = self.shown.iter().map(|shown| shown.next.load(Ordering::Relaxed)).min();
        f64::from_bits(next.unwrap_or(0))
    }
}

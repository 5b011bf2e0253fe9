//! What the workers of a rank share: read-only tables, the mail, and a few flags and counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use warpline_core::{Model, Wires};
use warpline_memory::{Arena, BLOCK_ITEMS, Block, CachePadded, Inbox, Ticket, Worth};

use super::{
    Message,
    bottom_halves::BottomHalves,
    event::Event,
    gvt::Gvt,
    history::{Record, Sent},
    io::IoStage,
    lp_memory::LpMemory,
    moves::SharedMoves,
    remote::shared::{RemoteShared, TimeBarrier},
};
use crate::{
    RunError,
    cut::{LeftEvent, Parts, Whole},
    handling::Admission,
    monitor::{Board, board},
    placement::LpDirectory,
    run::{FirstFailure, Ranks},
    settings::{MailQueue, Settings, TimeWarp},
    timeline::Timeline,
};

/// Mail between workers: events and anti-messages, in the order in which they were sent.
pub(super) type Mail = Box<Block<Event>>;

const _: () = assert!(BLOCK_ITEMS >= 1);

/// One for all workers.
#[derive(Debug)]
pub(super) struct TimeWarpShared<M: Model> {
    pub(super) settings: Settings<TimeWarp>,
    pub(super) end: f64,
    pub(super) admission: Admission,
    pub(super) directory: LpDirectory,
    /// What workers begin with, if it is a cut, and the events that were committed before it.
    pub(super) cut: Option<Parts<M::Lp, LeftEvent<M>>>,
    pub(super) committed_before: u64,
    /// Whether another engine may go on with what is left.
    pub(super) is_stage: bool,
    pub(super) arena: Arena<Message<M>>,
    pub(super) inboxes: Box<[CachePadded<Inbox<Event>>]>,
    /// If mail waits with its LPs: then inboxes have notices of it.
    pub(super) halves: Option<BottomHalves>,
    /// Emptied blocks on their way back to the worker that made them.
    pub(super) returned: Box<[CachePadded<Inbox<Event>>]>,
    pub(super) shown: Board,
    pub(super) gvt: Gvt,
    /// The simulated time barrier, as ordered bits; all ones for none.
    pub(super) barrier: AtomicU64,
    pub(super) io: IoStage<M>,
    /// If LPs have memory of their own.
    pub(super) memory: Option<LpMemory>,
    /// If LPs move.
    pub(super) moves: Option<SharedMoves<M>>,
    pub(super) failure: FirstFailure,
    /// Whether the run is to stop; workers that start look at it.
    pub(super) stop: AtomicBool,
    /// Where workers tell what they do.
    pub(super) timeline: Option<Timeline>,
    /// If there are other ranks.
    pub(super) remote: Option<RemoteShared<Message<M>>>,
}

impl<M: Model> TimeWarpShared<M> {
    /// For one rank of those. If there are several, `wires` write messages as bytes.
    pub(super) fn new(
        model: &M,
        settings: &Settings<TimeWarp>,
        ranks: &Ranks<'_>,
        wires: Option<Wires<M>>,
        from: Option<Whole<M>>,
    ) -> Result<Self, RunError> {
        let parallel = settings.parallel();
        parallel.validate()?;
        settings.engine.validate(ranks.count())?;
        let admission = Admission::new(model)?;
        let workers = settings.engine.workers;
        let (all, here) = (ranks.workers(&parallel), ranks.here(&parallel));
        let lps = admission.lp_count();
        let directory = LpDirectory::new(model, lps, &settings.engine.placement, all, here)?;
        let committed_before = from.as_ref().map_or(0, |whole| whole.0.committed());
        // BEGIN-A.
        let divide = |whole: Whole<M>| {
            whole.0.divide(&directory, |event| {
                let sender = event.key.sender();
                if directory.is_here(sender) { sender } else { event.to }
            })
        };
        let cut = from.map(divide);
        let buffers = |bytes| u32::try_from(bytes / Self::buffer_bytes(&settings.engine));
        let limit = settings.memory.map(|bytes| buffers(bytes).unwrap_or(u32::MAX));
        let barrier = settings
            .engine
            .flow_control
            .time_barrier
            .map_or(u64::MAX, |time| time.to_ordered_bits());
        let padded = || (0..workers).map(|_| CachePadded::default()).collect();
        Ok(Self {
            settings: settings.clone(),
            end: settings.checked_end()?,
            admission,
            cut,
            committed_before,
            is_stage: false,
            directory,
            arena: Arena::new(settings.engine.pool_plan(limit, Self::worth(&settings.engine)))
                .traced(settings.engine.instrumentation.trace.clone())
                // HALF-C.
                .unclaimed(settings.engine.numa.mail == MailQueue::BottomHalf),
            inboxes: padded(),
            halves: (settings.engine.numa.mail == MailQueue::BottomHalf)
                .then(|| BottomHalves::new(lps)),
            returned: padded(),
            shown: board(workers),
            gvt: Gvt::new(workers, ranks.count() > 1),
            barrier: AtomicU64::new(barrier),
            io: IoStage::new(workers, ranks, wires.as_ref().map(|wires| wires.message)),
            memory: LpMemory::new(&settings.engine, lps),
            moves: settings.engine.moves_lps(ranks.count()).then(|| SharedMoves::new(workers)),
            failure: FirstFailure::default(),
            stop: AtomicBool::new(false),
            timeline: None,
            remote: wires.map(|wires| RemoteShared::new(ranks.count(), wires.message)),
        })
    }

    /// Takes all mail, after the workers have ended.
    pub(super) fn all_mail(&self) -> Vec<Event> {
        if let Some(halves) = &self.halves {
            return halves.all();
        }
        let blocks = self.inboxes.iter().flat_map(|inbox| inbox.drain());
        blocks.flat_map(|block| block.items).collect()
    }

    /// Whether there are no other ranks.
    pub(super) const fn is_alone(&self) -> bool {
        self.remote.is_none()
    }

    pub(super) const fn workers(&self) -> usize {
        self.settings.engine.workers
    }

    /// Sets the simulated time barrier, as ordered bits, after this many rounds of GVT.
    pub(super) fn set_barrier(&self, bits: u64, round: u64) {
        debug_assert!(bits == u64::MAX || f64::from_bits(bits) >= 0.0, "not the bits of a time");
        // Ordering: Relaxed; workers may see it late, it only limits optimism.
        self.barrier.store(bits, Ordering::Relaxed);
        self.tell_barrier(TimeBarrier { round, bits });
    }

    /// The memory that one event takes: its buffer, its entry in the pending set, its record with
    /// the saved state, and its sender's memory of it; and that its buffer was returned early.
    pub(super) const fn buffer_bytes(engine: &TimeWarp) -> u64 {
        let early = if engine.pool.is_on_the_fly() { Ticket::BYTES } else { 0 };
        let state = size_of::<Option<M::Lp>>();
        let event = size_of::<Event>() + size_of::<Record>() + size_of::<Sent>();
        (Arena::<Message<M>>::buffer_bytes(engine.workers) + event + state + early) as u64
    }

    /// What a buffer is worth that no event uses. The pages of one that was used stay, as does its
    /// entry in the pending set; records and copies are only as many as the log is long.
    const fn worth(engine: &TimeWarp) -> Worth {
        let fresh = Self::buffer_bytes(engine) as usize;
        let stays = Arena::<Message<M>>::buffer_bytes(engine.workers) + size_of::<Event>();
        Worth { fresh, used: fresh - stays }
    }

    /// The least time that a worker shows: an estimate of GVT, and mostly ahead of it.
    pub(super) fn snooped_gvt(&self) -> f64 {
        // Ordering: Relaxed; an estimate.
        let next = self.shown.iter().map(|shown| shown.next.load(Ordering::Relaxed)).min();
        f64::from_bits(next.unwrap_or(0))
    }
}

//! What the workers of a run share: read-only tables, and the few places where they meet.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use warpline_core::{EventKey, LpId, Model};
use warpline_memory::{Arena, BLOCK_ITEMS, Block, CachePadded, Inbox};

use super::{
    Message,
    event::Event,
    gvt::Gvt,
    history::{Record, Sent},
    io::IoStage,
};
use crate::{ConfigError, RunError, admission::Admission, monitor::Board, simulation::Settings};

/// Mail between workers: events and anti-messages, in the order in which they were sent.
pub(super) type Mail = Box<Block<Event>>;

const _: () = assert!(BLOCK_ITEMS >= 1);

/// Where an LP lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    pub(super) worker: u32,
    /// Its place among the LPs of that worker.
    pub(super) local: u32,
}

/// A failure, with its place in the order of failures.
pub(super) type Failure = (FailureOrder, RunError);

/// The first failure counts: in `start` by LP, then by event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FailureOrder {
    Start(LpId),
    Event(EventKey),
}

/// One for all workers.
#[derive(Debug)]
pub(super) struct Shared<M: Model> {
    pub(super) settings: Settings,
    pub(super) end: f64,
    pub(super) admission: Admission,
    /// The home of every LP.
    pub(super) directory: Vec<Home>,
    /// The LPs of every worker, in ascending order.
    pub(super) residents: Vec<Vec<LpId>>,
    pub(super) arena: Arena<Message<M>>,
    pub(super) inboxes: Box<[CachePadded<Inbox<Event>>]>,
    /// Emptied blocks on their way back to the worker that made them.
    pub(super) returned: Box<[CachePadded<Inbox<Event>>]>,
    pub(super) shown: Board,
    pub(super) gvt: Gvt,
    /// The simulated time barrier, as ordered bits; all ones for none.
    pub(super) barrier: AtomicU64,
    pub(super) io: IoStage<M>,
    /// Set after `failure`, so that workers look there.
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl<M: Model> Shared<M> {
    pub(super) fn new(model: &M, settings: &Settings) -> Result<Self, RunError> {
        settings.timewarp.validate()?;
        let admission = Admission::new(model)?;
        let workers = settings.timewarp.workers;
        let (directory, residents) = place_lps(model, admission.lp_count(), workers)?;
        let buffers = |bytes| u32::try_from(bytes / Self::buffer_bytes(workers));
        let limit = settings.memory.map(|bytes| buffers(bytes).unwrap_or(u32::MAX));
        let barrier = settings.timewarp.barrier.map_or(u64::MAX, |time| time.to_ordered_bits());
        let padded = || (0..workers).map(|_| CachePadded::default()).collect();
        Ok(Self {
            settings: settings.clone(),
            end: settings.checked_end()?,
            admission,
            directory,
            residents,
            arena: Arena::new(settings.timewarp.pool_plan(limit)),
            inboxes: padded(),
            returned: padded(),
            shown: (0..workers).map(|_| CachePadded::default()).collect(),
            gvt: Gvt::new(workers),
            barrier: AtomicU64::new(barrier),
            io: IoStage::new(workers),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        })
    }

    pub(super) const fn workers(&self) -> usize {
        self.settings.timewarp.workers
    }

    /// What one event takes: its buffer, its entry in the pending set, its record with the saved
    /// state, and its sender's memory of it.
    pub(super) const fn buffer_bytes(workers: usize) -> u64 {
        let state = size_of::<Option<M::Lp>>();
        let event = size_of::<Event>() + size_of::<Record>() + size_of::<Sent>();
        (Arena::<Message<M>>::buffer_bytes(workers) + event + state) as u64
    }

    /// Notes a failure, unless an earlier one is known, and ends the run.
    pub(super) fn fail(&self, order: FailureOrder, error: RunError) {
        // A worker that panicked in here left the failure whole.
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.as_ref().is_none_or(|(first, _)| order < *first) {
            *failure = Some((order, error));
        }
        // Ordering: Release; who sees it also sees the GVT round that the failing worker has seen.
        self.failed.store(true, Ordering::Release);
    }

    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        // Ordering: Acquire, see `fail`.
        self.failed.load(Ordering::Acquire)
    }

    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The least time that a worker shows: an estimate of GVT, and mostly ahead of it.
    pub(super) fn snooped_gvt(&self) -> f64 {
        // Ordering: Relaxed; an estimate.
        let next = self.shown.iter().map(|shown| shown.next.load(Ordering::Relaxed)).min();
        f64::from_bits(next.unwrap_or(0))
    }
}

/// Asks the model where its LPs go.
fn place_lps<M: Model>(
    model: &M,
    lp_count: usize,
    workers: usize,
) -> Result<(Vec<Home>, Vec<Vec<LpId>>), ConfigError> {
    let mut directory = Vec::new();
    if directory.try_reserve_exact(lp_count).is_err() {
        let bytes = lp_count.saturating_mul(size_of::<Home>() + size_of::<M::Lp>());
        let allowed = format!("less: the processes would take {bytes} bytes of memory");
        return Err(ConfigError::new("lp_count", lp_count, allowed));
    }
    let mut residents = vec![Vec::new(); workers];
    for index in 0..lp_count {
        let id = LpId::from_index(index);
        let worker = model.placement(id, workers);
        if worker >= workers {
            let allowed = format!("below {workers}, the number of workers, for {id:?}");
            return Err(ConfigError::new("placement", worker, allowed));
        }
        let local = u32::try_from(residents[worker].len()).unwrap_or(u32::MAX);
        directory.push(Home { worker: worker as u32, local });
        residents[worker].push(id);
    }
    Ok((directory, residents))
}

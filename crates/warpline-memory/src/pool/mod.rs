//! Pools: where free buffers are kept, and which of them a sender takes.
//!
//! A pool deals in numbers of buffers and knows nothing of what is in them; the arena fills, reads
//! and empties them. The strategies are those of Fujimoto and Panesar, *Buffer management in
//! shared-memory Time Warp systems*, PADS 1995, and one that they name as future work:
//!
//! | pool            | a sender takes from                     | a receiver puts back into    |
//! |-----------------|-----------------------------------------|------------------------------|
//! | [`receiver`]    | the receiver's pool, under its lock     | its own, under the same lock |
//! | [`sender`]      | its own; a global one evens out         | its own                      |
//! | [`partitioned`] | B(me, receiver), of a fixed size        | B(me, sender)                |
//! | [`adaptive`]    | B(me, receiver), as large as it must be | B(me, sender)                |
//!
//! [`Pool`] names a strategy; a [`PoolSide`] is one worker's side of it. What its workers share lies in the [`Shared`]
//! of the arena: the [`Stock`] for all of them, shelves and mailboxes by worker.
//!
//! # Invariants
//!
//! - **POOL-A.** A number is in exactly one place: not issued so far, in one list of a pool, in the
//!   stock, or with who acquired it. Required for soundness of the arena.
//! - **POOL-B.** No more numbers than the limit are ever issued.
//! - **POOL-C.** When all workers have given up their buffers, one is refused only if there is
//!   none: in a shortage nothing is kept back.

pub(crate) mod adaptive;
pub(crate) mod partitioned;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod stock;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Mutex, Ordering};
use stock::Stock;

/// The most buffers of one arena: three bits of an identifier are left to its users.
pub const BUFFERS_MAX: u32 = 1 << 29;

/// A pool, with what its strategy reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pool {
    /// Buffers belong to the receiver, under a lock.
    Receiver {
        /// Whether a worker has another list, without a lock, for sends to itself.
        local_pool: bool,
    },
    /// Buffers belong to the sender; a global pool evens out differences.
    Sender {
        /// The part of all buffers, from 0 to 1, that lies in the global pool at the start. Read
        /// where memory is limited.
        global_share: f64,
    },
    /// Buffers belong to pairs of workers, as many to each as at the start.
    Partitioned {
        /// The part of its buffers, from 0 to 1, that a worker keeps for sends to itself, where
        /// memory is limited; `None` for an equal part for each receiver.
        local_share: Option<f64>,
    },
    /// Buffers belong to pairs of workers, as many to each as the messages between them need.
    #[default]
    Adaptive,
}

impl Pool {
    /// A receiver pool as in the paper.
    pub const RECEIVER: Self = Self::Receiver { local_pool: false };
    /// A sender pool with the paper's share of buffers in the global pool.
    pub const SENDER: Self = Self::Sender { global_share: 0.3 };
    /// A partitioned pool with equal parts.
    pub const PARTITIONED: Self = Self::Partitioned { local_share: None };

    /// Whether a free buffer is put where the worker that sent in it finds it.
    const fn knows_senders(self) -> bool {
        match self {
            Self::Receiver { local_pool } => local_pool,
            Self::Sender { .. } | Self::Partitioned { .. } | Self::Adaptive => self.is_by_pairs(),
        }
    }

    /// Whether buffers belong to pairs of workers.
    const fn is_by_pairs(self) -> bool {
        matches!(self, Self::Partitioned { .. } | Self::Adaptive)
    }

    /// Whether a worker without buffers can have those of any other one, once they are free.
    pub(crate) const fn is_common(self) -> bool {
        matches!(self, Self::Sender { .. })
    }

    /// Whether there is a shelf for each worker.
    const fn has_shelves(self) -> bool {
        !matches!(self, Self::Sender { .. })
    }
}

/// What a pool is made for.
#[derive(Clone, Debug)]
pub struct PoolPlan {
    /// Where free buffers are kept.
    pub pool: Pool,
    /// How many workers there are; each has a number below this.
    pub workers: usize,
    /// The most buffers in all; `None` for no limit.
    pub limit: Option<u32>,
    /// How many free buffers a worker of a sender pool keeps where there is no limit.
    pub keep: usize,
}

impl PoolPlan {
    /// A plan that keeps as many buffers as Time Warp does by default.
    #[must_use]
    pub const fn new(pool: Pool, workers: usize, limit: Option<u32>) -> Self {
        Self { pool, workers, limit, keep: 2304 }
    }

    /// Whether the pool makes use of what [`PoolSide::release`] is told of the sender.
    pub(crate) const fn wants_sender(&self) -> bool {
        self.workers > 1 && self.pool.knows_senders()
    }
}

/// One worker's side of a pool.
pub(crate) trait PoolSide {
    /// A free buffer for a message to worker `to`; none if this worker may not take one now.
    fn acquire(&mut self, to: usize) -> Option<u32>;

    /// Puts back a buffer that this worker was the last to have, with a message from worker `from`
    /// in it.
    fn release(&mut self, buffer: u32, from: usize);

    /// Restores the balance between the workers; called after each fossil collection, but the first
    /// after `give_up`. Somebody may be `short` of buffers: then nothing is kept that belongs
    /// to others.
    fn redistribute(&mut self, short: bool);

    /// Gives all free buffers to the stock, for whoever needs them: there is a shortage.
    fn give_up(&mut self);

    /// The buffers that this worker can count on.
    fn free(&self) -> usize;
}

/// Where the workers of a pool meet.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: PoolPlan,
    pub(crate) stock: Stock,
    /// By worker: the pools of receivers, or buffers on their way back to who sent in them.
    shelves: Box<[CachePadded<Shelf>]>,
}

/// A number that may be wrong at any time. The model checker need not try all of its values, so it
/// is std's there, too.
type Estimate = std::sync::atomic::AtomicUsize;

/// Free buffers that one worker takes, and others as well, or others put there.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    /// Each with the worker that put it there.
    buffers: Mutex<Vec<(u32, u32)>>,
    /// How many there are, to look at without the lock.
    count: AtomicUsize,
    /// What the worker has drawn from the stock and not given back.
    drawn: AtomicUsize,
    /// How many buffers the worker could use, as it knows.
    wanted: Estimate,
    /// What nobody else may draw, less what it has drawn.
    promised: Estimate,
}

impl Shelf {
    /// Puts buffers there that are `from` a worker's hands.
    fn put(&self, buffers: impl Iterator<Item = u32>, from: usize) {
        self.with(|list| list.extend(buffers.map(|buffer| (buffer, from as u32))));
    }

    /// Takes all that is there: each buffer, and the worker that put it there.
    fn take_all(&self, mut take: impl FnMut(u32, usize)) {
        if self.count() > 0 {
            self.with(|list| list.drain(..).for_each(|(buffer, from)| take(buffer, from as usize)));
        }
    }

    /// Works on the list under the lock.
    fn with<R>(&self, work: impl FnOnce(&mut Vec<(u32, u32)>) -> R) -> R {
        // A worker that panicked while it held the lock left the list whole: `Vec` keeps it so.
        let mut buffers = self.buffers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let result = work(&mut buffers);
        // Ordering: Relaxed; a hint, the lock guards the list.
        self.count.store(buffers.len(), Ordering::Relaxed);
        result
    }

    fn count(&self) -> usize {
        // Ordering: Relaxed, as in `with`.
        self.count.load(Ordering::Relaxed)
    }
}

impl Shared {
    pub(crate) fn new(mut plan: PoolPlan) -> Self {
        if plan.workers == 1 && plan.pool.is_by_pairs() {
            // There is one pair, and one list costs less than a list of lists.
            plan.pool = Pool::SENDER;
        }
        let stock = Stock::new(plan.workers, plan.limit);
        let shelves = if plan.pool.has_shelves() { plan.workers } else { 0 };
        let shelves = (0..shelves).map(|_| CachePadded::default()).collect();
        Self { plan, stock, shelves }
    }

    /// Worker `me`'s side.
    pub(crate) fn join(&self, me: usize) -> Side<'_> {
        let pool = match self.plan.pool {
            Pool::Receiver { local_pool } => {
                AnyPool::Receiver(receiver::Receiver::new(self, me, local_pool))
            }
            Pool::Sender { global_share } => {
                AnyPool::Sender(sender::Sender::new(self, global_share))
            }
            Pool::Partitioned { local_share } => {
                AnyPool::Partitioned(partitioned::Partitioned::new(self, me, local_share))
            }
            Pool::Adaptive => AnyPool::Adaptive(adaptive::Adaptive::new(self, me)),
        };
        Side { pool, gave_up: false }
    }
}

/// One worker's side of whichever pool it is.
#[derive(Debug)]
pub(crate) struct Side<'a> {
    pool: AnyPool<'a>,
    /// Whether this worker has given up its buffers since the last redistribution.
    gave_up: bool,
}

/// One of the strategies. A predictable branch costs less than compiling the engine for each of
/// them.
#[derive(Debug)]
enum AnyPool<'a> {
    Receiver(receiver::Receiver<'a>),
    Sender(sender::Sender<'a>),
    Partitioned(partitioned::Partitioned<'a>),
    Adaptive(adaptive::Adaptive<'a>),
}

macro_rules! delegate {
    ($side:expr, $pool:ident => $call:expr) => {
        match $side {
            AnyPool::Receiver($pool) => $call,
            AnyPool::Sender($pool) => $call,
            AnyPool::Partitioned($pool) => $call,
            AnyPool::Adaptive($pool) => $call,
        }
    };
}

impl PoolSide for Side<'_> {
    #[inline]
    fn acquire(&mut self, to: usize) -> Option<u32> {
        delegate!(&mut self.pool, pool => pool.acquire(to))
    }

    #[inline]
    fn release(&mut self, buffer: u32, from: usize) {
        delegate!(&mut self.pool, pool => pool.release(buffer, from));
    }

    fn redistribute(&mut self, short: bool) {
        // What was given up is for those who need it more; put on shelves or taken back from the
        // stock, it would be where they do not look.
        if !std::mem::take(&mut self.gave_up) {
            delegate!(&mut self.pool, pool => pool.redistribute(short));
        }
    }

    fn give_up(&mut self) {
        self.gave_up = true;
        delegate!(&mut self.pool, pool => pool.give_up());
    }

    fn free(&self) -> usize {
        delegate!(&self.pool, pool => pool.free())
    }
}

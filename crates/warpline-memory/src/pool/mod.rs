//! Pools: where free buffers are kept, and which of them a sender takes.
//!
//! A pool handles the numbers of buffers and not their contents; the [`arena`](crate::arena), which
//! calls it, fills, reads and empties them. The strategies are those of Fujimoto and Panesar,
//! *Buffer management in shared-memory Time Warp systems*, PADS 1995, and one that they name as
//! future work. B(*i*, *j*) is a list of buffers in which worker *i* sends to worker *j*:
//!
//! | pool            | a sender takes from                     | a receiver puts back into    |
//! |-----------------|-----------------------------------------|------------------------------|
//! | [`receiver`]    | the receiver's pool, under its lock     | its own, under the same lock |
//! | [`sender`]      | its own; a global one evens out         | its own                      |
//! | [`partitioned`] | B(me, receiver), of a fixed size        | B(me, sender)                |
//! | [`adaptive`]    | B(me, receiver), sized by its traffic   | B(me, sender)                |
//!
//! [`Pool`] is a strategy with its parameters, [`PoolKind`] names it, and a [`PoolSide`] is the
//! side of one worker. To add a pool, write its file, and here a variant of [`Pool`], a line in the
//! list of `pools!`, and the arms that the compiler misses. The arena has one [`SharedPool`] for
//! all workers: a [`Stock`] of buffers that belong to no worker, and for each worker a [`Shelf`], a
//! list under a lock. Beside the lists of any pool there may be buffers that were returned
//! [`early`].
//!
//! # Invariants
//!
//! - **POOL-A.** A number is in exactly one place: not issued yet, in one list of a pool, in the
//!   stock, or with the worker that acquired it, which may have returned it early. The soundness
//!   of the arena depends on it.
//! - **POOL-B.** No more numbers than the limit are ever issued.
//! - **POOL-C.** After all workers have given up their buffers, a worker is refused a buffer only
//!   if none is free: in a shortage, no list keeps any back.

pub(crate) mod adaptive;
pub(crate) mod early;
pub(crate) mod outside;
pub(crate) mod pair_sizes;
pub(crate) mod partitioned;
pub(crate) mod receiver;
pub(crate) mod sender;
pub(crate) mod side;
pub(crate) mod stock;

use std::{error::Error, fmt, str::FromStr};

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Mutex, Ordering};
pub use early::{Stamp, Ticket};
pub use outside::Worth;
pub use pair_sizes::PairSizes;
use stock::Stock;

/// The most buffers of one arena; it leaves three bits of an identifier to its users.
pub const BUFFERS_MAX: u32 = 1 << 29;

/// The strategy of a pool, with its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pool {
    /// Buffers belong to the receiver; their list has a lock.
    Receiver {
        /// Whether a worker has a second list, without a lock, for sends to itself.
        local_pool: bool,
    },
    /// Buffers belong to the sender; a global pool evens out the differences between workers.
    Sender {
        /// The fraction of all buffers, from 0 to 1, that is in the global pool at the start. It
        /// is used only if memory is limited.
        global_share: f64,
        /// How many buffers are to reside at a worker, if that is not left to the division of a
        /// limited memory.
        quota: Option<Quota>,
    },
    /// Buffers belong to pairs of workers; the division is fixed at the start.
    Partitioned {
        /// How a limited memory is divided.
        parts: Parts,
        /// Whether a buffer returns to its pool as soon as its event was processed, to be used
        /// again once global virtual time has passed the event: on-the-fly fossil collection
        /// (Fujimoto and Panesar 1995, section 6).
        on_the_fly: bool,
        /// A list may gain this part of its size, from 0 to 1, before the buffers that it has
        /// gained go back to the other worker (section 6).
        gain: f64,
        /// Whether a worker whose list for a receiver is empty takes a buffer of another of its
        /// lists. The buffer then belongs to another pair of workers (section 5).
        sharing: bool,
    },
    /// Buffers belong to pairs of workers, in proportion to the messages between them.
    #[default]
    Adaptive,
}

/// How a partitioned pool divides a limited memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Parts {
    /// Into equal parts for each pair of workers.
    #[default]
    Equal,
    /// Into equal parts for each worker, which keeps this fraction of its own, from 0 to 1, for
    /// sends to itself.
    LocalShare(f64),
    /// Into these parts for each pair of workers, of each rank.
    Sizes(PairSizes),
}

/// How many buffers are to reside at a worker of a sender pool after fossil collection (GTW,
/// section 3.3): its free ones, and those whose events it has not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    /// What it has beyond this number goes to the global pool, as far as it is free: N_buf.
    pub buffers: u32,
    /// When it has fewer than `buffers` less this number, it fills up to `buffers`: Δ.
    pub margin: u32,
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.buffers, self.margin)
    }
}

/// N_buf, or N_buf:Δ; without Δ it is a quarter of N_buf.
impl FromStr for Quota {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|&number| number <= BUFFERS_MAX);
        let quota = match text.split_once(':') {
            None => number(text).map(|buffers| Self { buffers, margin: buffers / 4 }),
            Some((buffers, margin)) => number(buffers)
                .zip(number(margin))
                .map(|(buffers, margin)| Self { buffers, margin }),
        };
        quota.filter(|quota| quota.buffers > 0 && quota.margin <= quota.buffers).ok_or_else(|| {
            format!(
                "must be a number of buffers from 1 to {BUFFERS_MAX}, or two such as 1000:250, \
                 the second of them at most the first"
            )
        })
    }
}

impl Pool {
    /// A receiver pool as in the paper.
    pub const RECEIVER: Self = Self::Receiver { local_pool: false };
    /// A sender pool with the global share of the paper.
    pub const SENDER: Self = Self::Sender { global_share: 0.3, quota: None };
    /// A partitioned pool with equal parts.
    pub const PARTITIONED: Self = Self::partitioned(Parts::Equal, false);
    /// The same with on-the-fly fossil collection.
    pub const ON_THE_FLY: Self = Self::partitioned(Parts::Equal, true);

    /// A partitioned pool with these parts, and otherwise as in the paper.
    #[must_use]
    pub const fn partitioned(parts: Parts, on_the_fly: bool) -> Self {
        Self::Partitioned { parts, on_the_fly, gain: 0.25, sharing: false }
    }

    /// The parameters that must be from 0 to 1: their names, and their values.
    #[must_use]
    pub fn fractions(&self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Sender { global_share, .. } => vec![("global-share", *global_share)],
            Self::Partitioned { parts, gain, .. } => match parts {
                Parts::LocalShare(share) => vec![("local-share", *share), ("gain", *gain)],
                Parts::Equal | Parts::Sizes(_) => vec![("gain", *gain)],
            },
            Self::Receiver { .. } | Self::Adaptive => Vec::new(),
        }
    }

    /// Whether buffers return to their pool as soon as their events were processed.
    #[must_use]
    pub const fn is_on_the_fly(&self) -> bool {
        matches!(self, Self::Partitioned { on_the_fly: true, .. })
    }

    /// Whether a free buffer is put into a list that depends on the sender of its last message.
    const fn knows_senders(&self) -> bool {
        match self {
            Self::Receiver { local_pool } => *local_pool,
            Self::Sender { .. } | Self::Partitioned { .. } | Self::Adaptive => self.is_by_pairs(),
        }
    }

    /// Whether buffers belong to pairs of workers.
    const fn is_by_pairs(&self) -> bool {
        matches!(self, Self::Partitioned { .. } | Self::Adaptive)
    }

    /// Whether a worker without buffers can get the free ones of any other worker.
    pub(crate) const fn is_common(&self) -> bool {
        matches!(self, Self::Sender { .. })
    }

    /// Whether the pool has a shelf for each worker.
    const fn has_shelves(&self) -> bool {
        !matches!(self, Self::Sender { .. })
    }
}

/// Declares the kinds: their names, what each has for parameters by default, and the type of a
/// worker's side.
macro_rules! pools {
    ($($(#[$doc:meta])* $kind:ident = $name:literal => $pool:expr, $side:ty;)*) => {
        /// Where free buffers are kept (Fujimoto and Panesar 1995): the strategies by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum PoolKind { $($(#[$doc])* $kind,)* }

        impl PoolKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// The name on the command line and in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }
        }

        /// The pool of that kind, with default values for its parameters.
        impl From<PoolKind> for Pool {
            fn from(kind: PoolKind) -> Self {
                match kind { $(PoolKind::$kind => $pool,)* }
            }
        }

        impl From<Pool> for PoolKind {
            fn from(pool: Pool) -> Self {
                match pool { $(Pool::$kind { .. } => Self::$kind,)* }
            }
        }

        /// One of the strategies. A predictable branch is better than an engine compiled for each
        /// of them.
        #[derive(Debug)]
        enum AnyPool<'a> { $($kind($side),)* }

        impl PoolSide for AnyPool<'_> {
            #[inline]
            fn acquire(&mut self, to: usize) -> Option<u32> {
                match self { $(Self::$kind(side) => side.acquire(to),)* }
            }
            #[inline]
            fn release(&mut self, buffer: u32, from: usize) {
                match self { $(Self::$kind(side) => side.release(buffer, from),)* }
            }
            fn redistribute(&mut self, short: bool) {
                match self { $(Self::$kind(side) => side.redistribute(short),)* }
            }
            fn note_uncommitted(&mut self, messages: usize) {
                match self { $(Self::$kind(side) => side.note_uncommitted(messages),)* }
            }
            fn note_in_use(&mut self, buffers: usize) {
                match self { $(Self::$kind(side) => side.note_in_use(buffers),)* }
            }
            fn give_up(&mut self) {
                match self { $(Self::$kind(side) => side.give_up(),)* }
            }
            fn free(&self) -> usize {
                match self { $(Self::$kind(side) => side.free(),)* }
            }
        }
    };
}

pools! {
    /// With the sender; a global pool evens out differences.
    Sender = "sender" => Self::SENDER, sender::SenderPool<'a>;
    /// With the receiver, under a lock.
    Receiver = "receiver" => Self::RECEIVER, receiver::ReceiverPool<'a>;
    /// With each pair of workers, an equal part for each.
    Partitioned = "partitioned" => Self::PARTITIONED, partitioned::PartitionedPool<'a>;
    /// With each pair of workers, as many as the messages between them need.
    Adaptive = "adaptive" => Self::Adaptive, adaptive::AdaptivePool<'a>;
}

impl Default for PoolKind {
    fn default() -> Self {
        Pool::default().into()
    }
}

impl fmt::Display for PoolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PoolKind {
    type Err = UnknownPool;

    fn from_str(name: &str) -> Result<Self, UnknownPool> {
        let kind = Self::ALL.iter().copied().find(|kind| kind.name() == name);
        kind.ok_or_else(|| UnknownPool { name: name.to_owned() })
    }
}

/// A name that no pool has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPool {
    /// The name.
    pub name: String,
}

impl UnknownPool {
    /// What is allowed instead.
    #[must_use]
    pub fn allowed(&self) -> String {
        let names: Vec<_> = PoolKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("one of {}", names.join(", "))
    }
}

impl fmt::Display for UnknownPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pool is {}, but must be {}", self.name, self.allowed())
    }
}

impl Error for UnknownPool {}

/// The strategy of a pool, and the sizes that it works with.
#[derive(Clone, Debug)]
pub struct PoolPlan {
    /// The strategy.
    pub pool: Pool,
    /// The number of workers; they are numbered from 0.
    pub workers: usize,
    /// The most buffers of all workers together; `None` for no limit.
    pub limit: Option<u32>,
    /// How many free buffers a worker of a sender pool keeps if there is no limit.
    pub keep: usize,
    /// What buffers are worth that are not used, where messages own memory outside of them.
    pub worth: Worth,
}

impl PoolPlan {
    /// A plan with Time Warp's default for [`keep`](Self::keep).
    #[must_use]
    pub const fn new(pool: Pool, workers: usize, limit: Option<u32>) -> Self {
        Self { pool, workers, limit, keep: 2304, worth: Worth::NOTHING }
    }

    /// Whether the pool uses the sender that [`PoolSide::release`] gets.
    pub(crate) const fn wants_sender(&self) -> bool {
        self.workers > 1 && self.pool.knows_senders()
    }
}

/// Puts a buffer into a list of free ones.
///
/// Only a list that has room is written to here, so this takes no registers that a caller would
/// have to save for each buffer.
#[inline]
fn push(list: &mut Vec<u32>, buffer: u32) {
    if list.len() == list.capacity() {
        return grow(list, buffer);
    }
    list.push(buffer);
}

#[cold]
#[inline(never)]
fn grow(list: &mut Vec<u32>, buffer: u32) {
    list.push(buffer);
}

/// The side of one worker of a pool.
///
/// What is called for each buffer, [`acquire`](Self::acquire) and [`release`](Self::release), ends
/// with whatever it calls: so the compiler makes jumps of these calls, and saves no registers.
pub(crate) trait PoolSide {
    /// A free buffer for a message to worker `to`; `None` if this worker may not take one now.
    fn acquire(&mut self, to: usize) -> Option<u32>;

    /// Puts back a buffer that this worker holds, in which worker `from` sent a message.
    fn release(&mut self, buffer: u32, from: usize);

    /// Restores the balance between the workers. It is called after each fossil collection, except
    /// the first after `give_up`. If some worker is `short` of buffers, this one keeps none that
    /// belong to others.
    fn redistribute(&mut self, short: bool);

    /// Notes that this many of the messages that this worker has sent may still be canceled.
    fn note_uncommitted(&mut self, _messages: usize) {}

    /// Notes that this many buffers hold messages for this worker.
    fn note_in_use(&mut self, _buffers: usize) {}

    /// Gives all free buffers to the stock, because there is a shortage.
    fn give_up(&mut self);

    /// The number of free buffers that others do not take unless there is a shortage.
    fn free(&self) -> usize;
}

/// The part of a pool that all its workers share.
#[derive(Debug)]
pub(crate) struct SharedPool {
    pub(crate) plan: PoolPlan,
    pub(crate) stock: Stock,
    /// By worker: the pool of a receiver, or buffers that return to the worker that sent in them.
    shelves: Box<[CachePadded<Shelf>]>,
    /// Bytes that may be used outside of buffers, and that no worker has in its account.
    credit: CachePadded<AtomicUsize>,
}

/// A number that may be out of date at any time. It has the type of std under the model checker
/// too, which then need not try all of its values.
type Estimate = std::sync::atomic::AtomicUsize;

/// Free buffers of one worker that other workers take as well, or that they return.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    /// Each with the worker that returned it.
    buffers: Mutex<Vec<(u32, u32)>>,
    /// The length of the list, to read without the lock.
    count: AtomicUsize,
    /// The buffers that the worker has drawn from the stock and not returned.
    drawn: AtomicUsize,
    /// How many buffers the worker could use, by its own estimate.
    wanted: Estimate,
    /// How many the worker cannot do without, by its own estimate.
    needed: Estimate,
    /// Of these, how many it may have: what it has not drawn of them, others may not draw.
    promised: Estimate,
}

impl Shelf {
    /// Adds buffers that worker `from` returns.
    fn put(&self, buffers: impl Iterator<Item = u32>, from: usize) {
        self.with(|list| list.extend(buffers.map(|buffer| (buffer, from as u32))));
    }

    /// Passes all buffers to `take`, each with the worker that returned it.
    fn take_all(&self, mut take: impl FnMut(u32, usize)) {
        if self.count() > 0 {
            self.with(|list| list.drain(..).for_each(|(buffer, from)| take(buffer, from as usize)));
        }
    }

    /// Runs `work` on the list under the lock.
    fn with<R>(&self, work: impl FnOnce(&mut Vec<(u32, u32)>) -> R) -> R {
        // A panic under the lock leaves the list valid, because each operation of `Vec` does.
        let mut buffers = self.buffers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        debug_assert_eq!(
            // Ordering: Relaxed; changed only under this lock.
            self.count.load(Ordering::Relaxed),
            buffers.len(),
            "POOL-A: a list changed without its lock"
        );
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

impl SharedPool {
    pub(crate) fn new(mut plan: PoolPlan) -> Self {
        if plan.workers == 1 && plan.pool.is_by_pairs() {
            // There is a single pair, and one list costs less than a list of lists.
            plan.pool = Pool::SENDER;
        }
        debug_assert!(plan.workers > 0, "a pool is for some workers");
        debug_assert!(
            plan.worth.fresh > 0 && plan.worth.used > 0,
            "OUTSIDE-A: a buffer that is worth nothing pays for nothing"
        );
        let stock = Stock::new(plan.workers, plan.limit);
        let shelves = if plan.pool.has_shelves() { plan.workers } else { 0 };
        let shelves = (0..shelves).map(|_| CachePadded::default()).collect();
        Self { plan, stock, shelves, credit: CachePadded::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kind has a name, a pool of that kind, and no other name.
    #[test]
    fn kinds_have_names_and_pools() {
        for &kind in PoolKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(PoolKind::from(Pool::from(kind)), kind);
        }
        assert_eq!(PoolKind::default(), PoolKind::Adaptive);
        let error = "plum".parse::<PoolKind>().expect_err("no pool has this name");
        let says = "the pool is plum, but must be one of sender, receiver, partitioned, adaptive";
        assert_eq!(error.to_string(), says);
    }
}

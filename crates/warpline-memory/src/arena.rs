//! Event buffers: memory for messages that pass from worker to worker without a copy.
//!
//! The workers of a run share an [`Arena`], and each has a [`Buffers`] of its own. A sender fills a
//! buffer and names its next owner; from then on only that worker can read or free it. A
//! [pool](crate::pool) decides which free buffer a sender gets, and where a freed buffer goes.
//!
//! The identifier of a buffer can be copied: a sender keeps it to cancel the event. So each buffer
//! has an owner word, which every access checks. An engine with a bug panics; it cannot read a
//! message while another worker writes it.
//!
//! # Invariants
//!
//! - **ARENA-A.** A buffer is in exactly one place: in the pool (POOL-A), filled, or with the
//!   worker that fills or empties it.
//! - **ARENA-B.** While a buffer is filled, `owner` is the worker that may read and free it, or
//!   `UNCLAIMED` until one worker claims it; otherwise it is `NOBODY` or `STALE`. Only the worker
//!   that fills the buffer or claims it sets it, and only the owner clears it or names the next
//!   owner.
//! - **ARENA-E.** A buffer that its owner has returned early is filled, and its owner word has
//!   `RETURNED`. It is read only by [`Buffers::get_returned`], and no reference to its message is
//!   left when the buffer is given out again.
//! - **ARENA-D.** A buffer that is `STALE` has a valid message, of a type without a destructor. It
//!   belongs to whoever has the buffer, who may write over it.
//! - **ARENA-F.** Of messages that are not stored, no more are moved out at the end than there are
//!   buffers that hold one: those that were issued, less the free ones, which each worker tells.
//! - **ARENA-C.** Buffers never move, and their memory is freed only with the arena.
//!
//! Messages without data and without a destructor are not stored: their buffers are only numbers.
//! The arena keeps the first such message, and every access returns a reference to it. Therefore
//! messages must be `Sync`, and [`Buffers::take`] does not always return one by value: a type
//! without data may rely on there being a single value of it. ([`Arena::take`] moves out no more of
//! them than were put in.)
//!
//! # Happens-before edges
//!
//! | Edge    | Release side         | Acquire side          | Publishes                        |
//! |---------|----------------------|-----------------------|----------------------------------|
//! | ARENA-1 | `fill_with`, owner   | `owned`, owner load   | the message                      |
//! | ARENA-1 | `pass_on`, owner     | `owned`, owner load   | the message                      |
//! | ARENA-1 | `fill_with`, owner   | `claim`, exchange     | the message                      |
//! | ARENA-2 | unlock in the pool   | lock in the pool      | the last access of its last user |
//! | ARENA-3 | `slot_to_fill`, init | `slot`, chunk found   | the owner words, zeroed          |

#![expect(unsafe_code, reason = "messages change threads in place")]

mod accounts;
mod early;
mod ending;
mod filling;
mod owners;

use std::{
    cell::UnsafeCell,
    collections::BTreeSet,
    fmt,
    marker::PhantomData,
    mem::needs_drop,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

use crate::{
    pool::{BUFFERS_MAX, PoolPlan, PoolSide, SharedPool, side::Side},
    slots::{Chunk, LINE, NOBODY, RETURNED, STALE, Slot, UNCLAIMED},
    trace::{BufferAccess, BufferAction, BufferTrace},
};

/// The number of buffers in the first chunk; each later one has twice as many as the one before.
const FIRST_CHUNK: u32 = if cfg!(miri) { 1 << 4 } else { 1 << 10 };
const CHUNKS: usize = (BUFFERS_MAX / FIRST_CHUNK).ilog2() as usize + 1;

/// Names a buffer of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(u32);

impl BufferId {
    /// The buffer with this number, which [`get`](Self::get) returned.
    #[inline]
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number of the buffer, below [`BUFFERS_MAX`].
    #[inline]
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// The buffers of one run, shared by its workers.
pub struct Arena<T> {
    chunks: [OnceLock<Chunk<T>>; CHUNKS],
    pool: SharedPool,
    /// Bytes from one buffer to the next: with several workers, no two buffers share a cache line.
    stride: usize,
    /// The first message, if messages are not stored.
    representative: OnceLock<T>,
    /// Whether messages for others have no owner until one claims them.
    unclaimed: bool,
    /// The workers whose `Buffers` exist or existed.
    workers: Mutex<BTreeSet<u32>>,
    trace: Option<BufferTrace>,
    /// Workers that have given up their buffers, and the buffers without a message that they had.
    ended: AtomicUsize,
    idle: AtomicUsize,
    /// How many messages that are not stored were moved out at the end.
    moved_out: usize,
}

impl<T: Send + Sync> Arena<T> {
    /// Whether messages are not stored.
    const TRIVIAL: bool = size_of::<T>() == 0 && !needs_drop::<T>();

    /// The bytes that one buffer takes, in an arena for `workers` workers.
    #[must_use]
    pub const fn buffer_bytes(workers: usize) -> usize {
        let bytes = size_of::<Slot<T>>();
        if Self::TRIVIAL {
            0
        } else if workers > 1 {
            bytes.next_multiple_of(LINE)
        } else {
            bytes
        }
    }

    /// An arena whose free buffers are kept as `plan` says.
    ///
    /// # Panics
    ///
    /// Without workers, or with 2^31 - 2 of them or more.
    #[must_use]
    pub fn new(plan: PoolPlan) -> Self {
        // Required for soundness: no worker's owner word, with RETURNED or not, is one that says
        // that there is no owner (ARENA-B, ARENA-E).
        let ok = (1..(UNCLAIMED & !RETURNED) as usize).contains(&plan.workers);
        assert!(ok, "an arena is for 1 to 2^31 - 3 workers, not for {}", plan.workers);
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            stride: Self::buffer_bytes(plan.workers),
            pool: SharedPool::new(plan),
            representative: OnceLock::new(),
            unclaimed: false,
            workers: Mutex::default(),
            trace: None,
            ended: AtomicUsize::new(0),
            idle: AtomicUsize::new(0),
            moved_out: 0,
        }
    }

    /// The arena with a trace of every access to a buffer. Messages that are not stored have no
    /// accesses.
    #[must_use]
    pub fn traced(self, trace: Option<BufferTrace>) -> Self {
        Self { trace, ..self }
    }

    /// The arena in which, if `unclaimed`, a message for another worker belongs to the worker that
    /// [claims](Buffers::claim) it, and not to the one that it was sent to.
    #[must_use]
    pub fn unclaimed(self, unclaimed: bool) -> Self {
        Self { unclaimed, ..self }
    }

    /// The buffers of worker `worker`.
    ///
    /// # Panics
    ///
    /// If this worker had its buffers before, or there is no such worker.
    #[must_use]
    pub fn buffers(&self, worker: usize) -> Buffers<'_, T> {
        // Required for soundness: see `new`; and pools have lists for these workers only.
        assert!(worker < self.pool.plan.workers, "there is no worker {worker}");
        let owner = owner_word(worker);
        let first = self.workers.lock().unwrap_or_else(PoisonError::into_inner).insert(owner);
        // Required for soundness: one worker is one thread (ARENA-B).
        assert!(first, "worker {worker} already has its buffers");
        let pool = UnsafeCell::new(self.pool.join(worker));
        Buffers { arena: self, owner, pool, _not_sync: PhantomData }
    }

    /// The most buffers that were in use or in free lists at one time.
    #[must_use]
    pub fn issued(&self) -> u32 {
        self.pool.stock.issued()
    }

    /// The most buffers that were issued, or whose memory was used outside of buffers, at one time.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.pool.stock.most()
    }

    /// The most bytes that workers had set aside for memory outside of buffers at one time, apart
    /// from what buffers that were used paid for.
    #[must_use]
    pub fn outside_most(&self) -> usize {
        self.pool.stock.aside_most() as usize * self.pool.plan.worth.fresh
    }

    /// The most buffers there may be.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.pool.stock.limit()
    }

    /// The most buffers there may be while so much memory is in use outside of them as now.
    #[must_use]
    pub fn limit_now(&self) -> u32 {
        let (limit, aside) = (self.limit(), self.pool.stock.aside());
        debug_assert!(aside <= limit, "OUTSIDE-A: more is set aside than there is");
        limit - aside
    }

    /// The number of buffers that belong to no worker.
    #[must_use]
    pub fn available(&self) -> usize {
        self.pool.stock.available()
    }

    /// The message that [`Buffers::take`] took.
    ///
    /// # Panics
    ///
    /// If messages are not stored, and `taken` is from another arena while this one never had any.
    #[must_use]
    pub fn message<'a>(&'a self, taken: &'a Taken<T>) -> &'a T {
        taken.0.as_ref().unwrap_or_else(|| self.representative())
    }

    #[inline]
    fn representative(&self) -> &T {
        self.representative.get().expect("ARENA-B: no message was ever sent")
    }

    /// The slot of a buffer, if its chunk was made.
    #[inline]
    fn slot(&self, id: BufferId) -> Option<&Slot<T>> {
        let (chunk, offset) = place(id.0);
        // Ordering: the acquire of `OnceLock`, edge ARENA-3.
        self.chunks.get(chunk)?.get()?.slot(offset)
    }

    /// The slot of a buffer that is about to be filled, perhaps for the first time.
    #[inline]
    fn slot_to_fill(&self, id: BufferId) -> &Slot<T> {
        debug_assert!(id.0 < self.limit(), "POOL-B: buffer {} is beyond the limit", id.0);
        let (chunk, offset) = place(id.0);
        // Ordering: the release and acquire of `OnceLock`, edge ARENA-3.
        let slots = self.chunks[chunk].get_or_init(|| {
            let len = FIRST_CHUNK << chunk;
            // The last chunk has only the buffers up to the limit.
            Chunk::new(len.min(self.limit() - (len - FIRST_CHUNK)) as usize, self.stride)
        });
        slots.slot(offset).expect("POOL-B: a number beyond the limit was issued")
    }
}

/// The chunk of a buffer, and its place in the chunk. A number that is no buffer of any arena has a
/// chunk that does not exist.
#[inline]
const fn place(id: u32) -> (usize, usize) {
    let place = id as u64 + FIRST_CHUNK as u64;
    let chunk = (place / FIRST_CHUNK as u64).ilog2();
    (chunk as usize, (place - ((FIRST_CHUNK as u64) << chunk)) as usize)
}

/// The owner word of a buffer that worker `worker` owns.
#[inline]
const fn owner_word(worker: usize) -> u32 {
    debug_assert!(worker < (UNCLAIMED & !RETURNED) as usize, "ARENA-B: no word is left");
    worker as u32 + 1
}

impl<T: Send + Sync> fmt::Debug for Arena<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("issued", &self.issued())
            .field("limit", &self.limit())
            .finish_non_exhaustive()
    }
}

/// The buffers of one worker: those that it owns, and its free ones.
pub struct Buffers<'a, T> {
    arena: &'a Arena<T>,
    owner: u32,
    pool: UnsafeCell<Side<'a>>,
    /// `&self` reaches the messages of this worker, so `&Buffers` must stay on its thread.
    _not_sync: PhantomData<UnsafeCell<T>>,
}

impl<T: Send + Sync> Buffers<'_, T> {
    /// The message in a buffer that this worker owns.
    ///
    /// # Panics
    ///
    /// If the buffer is not this worker's, or not filled.
    #[inline]
    #[must_use]
    pub fn get(&self, id: BufferId) -> &T {
        if Arena::<T>::TRIVIAL {
            return self.arena.representative();
        }
        let slot = self.owned(id);
        self.trace(id, BufferAction::Read, size_of::<Slot<T>>());
        // SAFETY: the buffer is filled, and this worker owns it (ARENA-B, edge ARENA-1); only
        // `free` and `take` change that, and they need `&mut self`.
        unsafe { &*slot.message() }
    }

    /// Drops the message in a buffer that this worker owns, and frees the buffer. Worker `from`
    /// sent the message; the pool uses it to choose a free list, so a wrong one costs only
    /// speed.
    ///
    /// # Panics
    ///
    /// If this worker does not own the buffer, it is not filled, or there is no worker `from`.
    #[inline]
    pub fn free(&mut self, id: BufferId, from: usize) {
        if Arena::<T>::TRIVIAL {
            return self.pool.get_mut().release(id.0, from);
        }
        let message = self.disown(id, if needs_drop::<T>() { NOBODY } else { STALE });
        // A panic in the destructor leaves the buffer free.
        let _emptied = Emptied { pool: self.pool.get_mut(), id, from };
        if needs_drop::<T>() {
            // SAFETY: this worker owned the filled buffer until it was disowned (ARENA-B), and it
            // is not in the pool yet, so no worker can fill it.
            unsafe { message.drop_in_place() };
        }
    }

    /// Frees a buffer like [`free`](Self::free), but keeps its message, for [`Arena::message`].
    ///
    /// # Panics
    ///
    /// As [`free`](Self::free).
    #[inline]
    pub fn take(&mut self, id: BufferId, from: usize) -> Taken<T> {
        if Arena::<T>::TRIVIAL {
            self.pool.get_mut().release(id.0, from);
            return Taken(None);
        }
        let message = self.disown(id, NOBODY);
        let _emptied = Emptied { pool: self.pool.get_mut(), id, from };
        // SAFETY: as in `free`; the message is moved out only here.
        Taken(Some(unsafe { message.read() }))
    }

    /// Starts to load a buffer into the cache.
    #[inline]
    pub fn prefetch(&self, id: BufferId) {
        if !Arena::<T>::TRIVIAL
            && let Some(slot) = self.arena.slot(id)
        {
            crate::prefetch(slot);
        }
    }

    /// Whether the pool uses the sender that [`free`](Self::free) gets.
    #[must_use]
    pub fn wants_sender(&self) -> bool {
        self.arena.pool.plan.wants_sender()
    }

    /// Whether a worker without buffers can get the free ones of any other worker.
    #[must_use]
    pub fn is_common(&self) -> bool {
        self.arena.pool.plan.pool.is_common()
    }

    /// Notes that this many of the messages that this worker has sent may still be canceled: the
    /// pool divides the buffers by the others.
    pub fn note_uncommitted(&mut self, messages: usize) {
        self.pool.get_mut().note_uncommitted(messages);
    }

    /// Notes that this many buffers hold messages for this worker: with a [`Quota`](crate::Quota),
    /// they count toward it, as its free ones do.
    pub fn note_in_use(&mut self, buffers: usize) {
        self.pool.get_mut().note_in_use(buffers);
    }

    /// Traces an access to the first `bytes` of a buffer.
    #[inline]
    fn trace(&self, id: BufferId, action: BufferAction, bytes: usize) {
        if let Some(trace) = &self.arena.trace {
            let address = u64::from(id.0) * self.arena.stride as u64;
            let (worker, bytes) = (self.owner - 1, bytes as u32);
            trace.record(BufferAccess { worker, action, address, bytes });
        }
    }

    /// Ends the ownership of this worker. The caller then owns the message, and must move or drop
    /// it before it puts the buffer into the pool, because others may take it from there at
    /// once.
    #[inline]
    fn disown(&mut self, id: BufferId, then: u32) -> *mut T {
        debug_assert!(matches!(then, NOBODY | STALE), "ARENA-B: {then} names an owner");
        debug_assert!(then != STALE || !needs_drop::<T>(), "ARENA-D: it would not be dropped");
        let slot = self.owned(id);
        self.trace(id, BufferAction::Free, size_of::<AtomicU32>());
        // Ordering: Relaxed; the next owner gets the buffer from this worker by edge ARENA-1 or
        // ARENA-2.
        slot.owner.store(then, Ordering::Relaxed);
        slot.message()
    }
}

/// A message that was moved out of its buffer.
#[derive(Debug)]
pub struct Taken<T>(Option<T>);

/// Puts a buffer into the pool when dropped, after its message was moved or dropped.
struct Emptied<'a, 'b> {
    pool: &'a mut Side<'b>,
    id: BufferId,
    from: usize,
}

impl Drop for Emptied<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        self.pool.release(self.id.0, self.from);
    }
}

/// A buffer out of the pool; returns there when dropped before it is filled.
struct Unfilled<'a, 'b, T> {
    buffers: &'a Buffers<'b, T>,
    id: BufferId,
    to: usize,
}

impl<T> Drop for Unfilled<'_, '_, T> {
    fn drop(&mut self) {
        // SAFETY: as in `acquire`.
        let pool = unsafe { &mut *self.buffers.pool.get() };
        pool.release(self.id.0, self.to);
    }
}

// SAFETY: the messages of a worker can change threads with it, because `T: Send`; and the arena,
// which lends one message to all, is `Sync` because `T` is.
unsafe impl<T: Send + Sync> Send for Buffers<'_, T> {}

impl<T> fmt::Debug for Buffers<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").field("owner", &self.owner).finish_non_exhaustive()
    }
}

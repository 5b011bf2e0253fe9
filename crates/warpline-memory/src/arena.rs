//! Event buffers: memory for messages that passes from worker to worker without being copied.
//!
//! An [`Arena`] is shared by the workers of one run, and hands each a [`Buffers`] of its own. A
//! sender fills a buffer in place and names the worker that owns it from then on; only that worker
//! can read or free it. Which free buffer a sender gets, and where it goes when it is freed, is the
//! business of a [pool](crate::pool).
//!
//! The identifier of a buffer can be copied: a sender keeps it to cancel what it has sent. So each
//! buffer carries its owner, which is checked at every access. A confused engine panics; it cannot
//! read what another worker is writing.
//!
//! # Invariants
//!
//! - **ARENA-A.** A buffer is in exactly one place: in the pool (POOL-A), filled, or with the
//!   worker that fills or empties it.
//! - **ARENA-B.** `owner` is the worker that may read and free the buffer while it is filled, and
//!   `NOBODY` otherwise. Only the worker that filled the buffer sets it, and only its owner clears
//!   it.
//! - **ARENA-C.** Buffers stay where they are, and their memory is not freed before the arena is.
//!
//! Messages without data and without a destructor are not stored: their buffers are numbers alone.
//! The first one that was ever given is kept, and shown wherever one is asked for. (That is why
//! messages have to be `Sync`, and why [`Buffers::take`] does not always give one back: a type
//! without data may still promise that there is one value of it.)
//!
//! # Happens-before edges
//!
//! | Edge    | Release side         | Acquire side          | Publishes                        |
//! |---------|----------------------|-----------------------|----------------------------------|
//! | ARENA-1 | `fill_with`, owner   | `owned`, owner load   | the message                      |
//! | ARENA-2 | unlock in the pool   | lock in the pool      | who had the buffer last is done  |
//! | ARENA-3 | `slot_to_fill`, made | `slot`, chunk found   | the owners, zeroed               |

#![expect(unsafe_code, reason = "messages change threads in place")]

use std::{
    cell::UnsafeCell,
    collections::BTreeSet,
    fmt,
    marker::PhantomData,
    mem::needs_drop,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use crate::{
    pool::{BUFFERS_MAX, PoolPlan, PoolSide, Shared, Side},
    slots::{Chunk, LINE, NOBODY, Slot},
    trace::{BufferAccess, BufferAction, BufferTrace},
};

/// The first chunk has so many buffers, each later one twice as many as the one before.
const FIRST_CHUNK: u32 = if cfg!(miri) { 1 << 4 } else { 1 << 10 };
const CHUNKS: usize = (BUFFERS_MAX / FIRST_CHUNK).ilog2() as usize + 1;

/// Names a buffer of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(u32);

impl BufferId {
    /// The buffer with this number, as [`get`](Self::get) gave it.
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
    pool: Shared,
    /// Bytes from one buffer to the next: with several workers, each buffer has lines of its own.
    stride: usize,
    /// The first message, where messages are not stored.
    keepsake: OnceLock<T>,
    /// The workers that have their buffers.
    workers: Mutex<BTreeSet<u32>>,
    trace: Option<BufferTrace>,
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
    /// Without workers, or with 2^32 - 1 of them or more.
    #[must_use]
    pub fn new(plan: PoolPlan) -> Self {
        // Required for soundness: no worker's owner word is NOBODY (ARENA-B).
        let ok = (1..u32::MAX as usize).contains(&plan.workers);
        assert!(ok, "an arena is for 1 to 2^32 - 2 workers, not for {}", plan.workers);
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            stride: Self::buffer_bytes(plan.workers),
            pool: Shared::new(plan),
            keepsake: OnceLock::new(),
            workers: Mutex::default(),
            trace: None,
        }
    }

    /// The arena, with every access to a buffer told to `trace`. Messages that are not stored are
    /// never accessed.
    #[must_use]
    pub fn traced(self, trace: Option<BufferTrace>) -> Self {
        Self { trace, ..self }
    }

    /// The buffers of worker `worker`.
    ///
    /// # Panics
    ///
    /// When they were already given out, or there is no such worker.
    #[must_use]
    pub fn buffers(&self, worker: usize) -> Buffers<'_, T> {
        // Required for soundness: see `new`; and pools know all workers.
        assert!(worker < self.pool.plan.workers, "there is no worker {worker}");
        let owner = owner_word(worker);
        let first = self.workers.lock().unwrap_or_else(PoisonError::into_inner).insert(owner);
        // Required for soundness: one worker is one thread (ARENA-B).
        assert!(first, "worker {worker} already has its buffers");
        let pool = UnsafeCell::new(self.pool.join(worker));
        Buffers { arena: self, owner, pool, _not_sync: PhantomData }
    }

    /// How many buffers were in use or in free lists at the peak.
    #[must_use]
    pub fn issued(&self) -> u32 {
        self.pool.stock.issued()
    }

    /// The most buffers there may be.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.pool.stock.limit()
    }

    /// Buffers that belong to no worker.
    #[must_use]
    pub fn available(&self) -> usize {
        self.pool.stock.available()
    }

    /// The message that [`Buffers::take`] took.
    ///
    /// # Panics
    ///
    /// If it was taken from another arena, of messages that are not stored, and this one has none.
    #[must_use]
    pub fn message<'a>(&'a self, taken: &'a Taken<T>) -> &'a T {
        taken.0.as_ref().unwrap_or_else(|| self.keepsake())
    }

    #[inline]
    fn keepsake(&self) -> &T {
        self.keepsake.get().expect("ARENA-B: no message was ever given")
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
        let (chunk, offset) = place(id.0);
        // Ordering: the release and acquire of `OnceLock`, edge ARENA-3.
        let slots = self.chunks[chunk].get_or_init(|| {
            let len = FIRST_CHUNK << chunk;
            // The last one has no more than the limit needs.
            Chunk::new(len.min(self.limit() - (len - FIRST_CHUNK)) as usize, self.stride)
        });
        slots.slot(offset).expect("POOL-B: a number beyond the limit was issued")
    }
}

/// The chunk that a buffer is in, and its place there. What is no buffer of any arena is in a chunk
/// that there is not.
#[inline]
const fn place(id: u32) -> (usize, usize) {
    let place = id as u64 + FIRST_CHUNK as u64;
    let chunk = (place / FIRST_CHUNK as u64).ilog2();
    (chunk as usize, (place - ((FIRST_CHUNK as u64) << chunk)) as usize)
}

/// What the owner word of a buffer says while it is worker `worker`'s.
#[inline]
const fn owner_word(worker: usize) -> u32 {
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

/// The buffers of one worker: those it owns, and those it has free.
pub struct Buffers<'a, T> {
    arena: &'a Arena<T>,
    owner: u32,
    pool: UnsafeCell<Side<'a>>,
    /// Owned messages are reached through `&self`, so `&Buffers` stays on its thread.
    _not_sync: PhantomData<UnsafeCell<T>>,
}

impl<T: Send + Sync> Buffers<'_, T> {
    /// Fills a free buffer with what `make` makes, and gives it to worker `to`; `None` if the pool
    /// has none for this worker and that receiver, and then nothing is made.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    #[inline]
    pub fn fill_with(&self, to: usize, make: impl FnOnce() -> T) -> Option<BufferId> {
        assert!(to < self.arena.pool.plan.workers, "there is no worker {to}");
        // SAFETY: no reference to the pool outlives a method of this type, and none of them runs
        // foreign code while it has one; the type is not `Sync`.
        let id = BufferId(unsafe { &mut *self.pool.get() }.acquire(to)?);
        // `make` is foreign code: a panic in it must not lose the buffer, and it may come back
        // here.
        let unfilled = Unfilled { buffers: self, id, to };
        if Arena::<T>::TRIVIAL {
            let message = make();
            self.arena.keepsake.get_or_init(|| message);
            std::mem::forget(unfilled);
            return Some(id);
        }
        let slot = self.arena.slot_to_fill(id);
        self.trace(id, BufferAction::Fill { to: to as u32 }, size_of::<Slot<T>>());
        // SAFETY: the buffer was taken out of the pool, so nobody else reaches it and it holds no
        // message (ARENA-A, POOL-A).
        unsafe { slot.message().write(make()) };
        // Ordering: Release, edge ARENA-1.
        slot.owner.store(owner_word(to), Ordering::Release);
        std::mem::forget(unfilled);
        Some(id)
    }

    /// The message in a buffer of this worker's.
    ///
    /// # Panics
    ///
    /// If the buffer is not this worker's, or not filled.
    #[inline]
    #[must_use]
    pub fn get(&self, id: BufferId) -> &T {
        if Arena::<T>::TRIVIAL {
            return self.arena.keepsake();
        }
        let slot = self.owned(id);
        self.trace(id, BufferAction::Read, size_of::<Slot<T>>());
        // SAFETY: it is filled and this worker's (ARENA-B, edge ARENA-1); only `free` and `take`
        // change that, and they need `&mut self`.
        unsafe { &*slot.message() }
    }

    /// Frees a buffer of this worker's, in which `from` sent a message, and drops the message.
    /// `from` is a hint for the pool: which buffer lies where, not who may use it.
    ///
    /// # Panics
    ///
    /// If the buffer is not this worker's, or not filled, or there is no such worker.
    #[inline]
    pub fn free(&mut self, id: BufferId, from: usize) {
        if Arena::<T>::TRIVIAL {
            return self.pool.get_mut().release(id.0, from);
        }
        let message = self.disown(id);
        // A panic in the destructor leaves the buffer free.
        let _emptied = Emptied { pool: self.pool.get_mut(), id, from };
        if needs_drop::<T>() {
            // SAFETY: it was filled and this worker's until it was disowned (ARENA-B), and it is
            // not in the pool yet, so nobody can fill it.
            unsafe { message.drop_in_place() };
        }
    }

    /// Frees a buffer as [`free`](Self::free) does, and takes its message out, for
    /// [`Arena::message`].
    ///
    /// # Panics
    ///
    /// As `free` does.
    #[inline]
    pub fn take(&mut self, id: BufferId, from: usize) -> Taken<T> {
        if Arena::<T>::TRIVIAL {
            self.pool.get_mut().release(id.0, from);
            return Taken(None);
        }
        let message = self.disown(id);
        let _emptied = Emptied { pool: self.pool.get_mut(), id, from };
        // SAFETY: as in `free`, so the message is read out once.
        Taken(Some(unsafe { message.read() }))
    }

    /// Whether this worker owns the buffer; always, where messages are not stored.
    #[must_use]
    pub fn owns(&self, id: BufferId) -> bool {
        // Ordering: Relaxed; nothing is read through the answer.
        Arena::<T>::TRIVIAL
            || self
                .arena
                .slot(id)
                .is_some_and(|slot| slot.owner.load(Ordering::Relaxed) == self.owner)
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

    /// How many buffers this worker can count on: free ones, that others do not take without a
    /// shortage.
    #[must_use]
    pub fn free_count(&self) -> usize {
        // SAFETY: as in `fill_with`.
        unsafe { &*self.pool.get() }.free()
    }

    /// Whether the pool makes use of what [`free`](Self::free) is told of the sender.
    #[must_use]
    pub fn wants_sender(&self) -> bool {
        self.arena.pool.plan.wants_sender()
    }

    /// Whether a worker without buffers can have those of any other one, once they are free.
    #[must_use]
    pub fn is_common(&self) -> bool {
        self.arena.pool.plan.pool.is_common()
    }

    /// Lets the pool restore the balance between workers; to be called after each fossil
    /// collection. Where somebody is `short` of buffers, nothing is kept that belongs to
    /// others.
    pub fn redistribute(&mut self, short: bool) {
        self.pool.get_mut().redistribute(short);
    }

    /// Gives all free buffers to whoever needs them: there is a shortage.
    pub fn give_up(&mut self) {
        self.pool.get_mut().give_up();
    }

    #[inline]
    fn owned(&self, id: BufferId) -> &Slot<T> {
        let slot = self.arena.slot(id).expect("ARENA-B: no such buffer");
        // Ordering: Acquire, edge ARENA-1. Required for soundness.
        let owner = slot.owner.load(Ordering::Acquire);
        assert!(owner == self.owner, "ARENA-B: worker {} touched a buffer of {owner}", self.owner);
        slot
    }

    /// Tells an access to the first `bytes` of a buffer.
    #[inline]
    fn trace(&self, id: BufferId, action: BufferAction, bytes: usize) {
        if let Some(trace) = &self.arena.trace {
            let address = u64::from(id.0) * self.arena.stride as u64;
            let (worker, bytes) = (self.owner - 1, bytes as u32);
            trace.tell(BufferAccess { worker, action, address, bytes });
        }
    }

    /// Takes a buffer away from this worker; its message is the caller's, until it puts the buffer
    /// into the pool. (Not before: others may take it from there at once.)
    #[inline]
    fn disown(&mut self, id: BufferId) -> *mut T {
        let slot = self.owned(id);
        self.trace(id, BufferAction::Free, size_of::<AtomicU32>());
        // Ordering: Relaxed; the next owner gets the buffer from this worker, by edge ARENA-1 or
        // ARENA-2.
        slot.owner.store(NOBODY, Ordering::Relaxed);
        slot.message()
    }
}

/// A message that was taken out of its buffer.
#[derive(Debug)]
pub struct Taken<T>(Option<T>);

/// A buffer that goes back into the pool once its message is gone.
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

/// A buffer taken out of the pool; goes back there unless it is filled.
struct Unfilled<'a, 'b, T> {
    buffers: &'a Buffers<'b, T>,
    id: BufferId,
    to: usize,
}

impl<T> Drop for Unfilled<'_, '_, T> {
    fn drop(&mut self) {
        // SAFETY: as in `fill_with`.
        let pool = unsafe { &mut *self.buffers.pool.get() };
        pool.release(self.id.0, self.to);
    }
}

// SAFETY: what a worker owns can go to another thread with it, since `T: Send`; the arena, which
// shows one message to all, is `Sync` as `T` is.
unsafe impl<T: Send + Sync> Send for Buffers<'_, T> {}

impl<T> fmt::Debug for Buffers<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffers").field("owner", &self.owner).finish_non_exhaustive()
    }
}

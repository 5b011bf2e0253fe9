//! Event buffers: memory for messages that passes from worker to worker without being copied.
//!
//! An [`Arena`] is shared by the workers of one run, and hands each a [`Buffers`] of its own. A
//! sender fills a buffer in place and names the worker that owns it from then on; only that worker
//! can read or free it. Free buffers stay with the worker that freed them (the sender-based pools of
//! GTW, section 3.3), apart from a common list of spare ones that evens out differences.
//!
//! The identifier of a buffer can be copied: a sender keeps it to cancel what it has sent. So each
//! buffer carries its owner, which is checked at every access. A confused engine panics; it cannot
//! read what another worker is writing.
//!
//! # Invariants
//!
//! - **ARENA-A.** A buffer is in exactly one place: never handed out so far, in one worker's free
//!   list, in the spare list, or filled.
//! - **ARENA-B.** `owner` is the worker that may read and free the buffer while it is filled, and
//!   `NOBODY` otherwise. Only the worker that filled the buffer sets it, and only its owner clears
//!   it.
//! - **ARENA-C.** Buffers stay where they are, and their memory is not freed before the arena is.
//!
//! Messages without data and without a destructor are not stored: their buffers are numbers alone.
//! The first one that was ever given is kept, and shown wherever one is asked for. (That is why
//! messages have to be `Sync`, and why [`Buffers::take`] does not always give one back: a type without
//! data may still promise that there is one value of it.)
//!
//! # Happens-before edges
//!
//! | Edge    | Release side         | Acquire side          | Publishes                        |
//! |---------|----------------------|-----------------------|----------------------------------|
//! | ARENA-1 | `fill_with`, owner   | `owned`, owner load   | the message                      |
//! | ARENA-2 | `spare` unlock       | `spare` lock          | who had the buffer last is done  |
//! | ARENA-3 | `refill`, chunk made | `slot`, chunk found   | the owners, zeroed               |

#![expect(unsafe_code, reason = "messages change threads in place")]

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    cell::UnsafeCell,
    collections::BTreeSet,
    fmt,
    marker::PhantomData,
    mem::{MaybeUninit, needs_drop},
    ptr::NonNull,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
};

use crossbeam_utils::CachePadded;

/// The most buffers of one arena: three bits of an identifier are left to its users.
pub const BUFFERS_MAX: u32 = 1 << 29;

/// The first chunk has so many buffers, each later one twice as many as the one before.
const FIRST_CHUNK: u32 = if cfg!(miri) { 1 << 4 } else { 1 << 10 };
const CHUNKS: usize = (BUFFERS_MAX / FIRST_CHUNK).ilog2() as usize + 1;
/// The most buffers that a worker takes from the arena at a time.
const BATCH_MAX: u32 = 256;
const NOBODY: u32 = 0;

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

struct Slot<T> {
    /// The worker's number plus one, or `NOBODY` (ARENA-B).
    owner: AtomicU32,
    message: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    /// Where the message is, or will be.
    #[inline]
    const fn message(&self) -> *mut T {
        self.message.get().cast()
    }
}

/// Slots from one allocation that starts out zeroed: its pages cost nothing before they are used.
struct Chunk<T> {
    memory: NonNull<u8>,
    len: usize,
    /// Bytes from one slot to the next.
    stride: usize,
    _slots: PhantomData<Slot<T>>,
}

/// Two workers that write to one line take it from each other every time.
const LINE: usize = 64;

impl<T> Chunk<T> {
    fn new(len: usize, stride: usize) -> Self {
        let layout = Self::layout(len, stride);
        // SAFETY: a slot has an owner, so the layout is not empty.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout) };
        Self { memory, len, stride, _slots: PhantomData }
    }

    /// Required for soundness: slots do not overlap and are aligned.
    fn layout(len: usize, stride: usize) -> Layout {
        assert!(stride >= size_of::<Slot<T>>() && stride.is_multiple_of(align_of::<Slot<T>>()));
        let bytes = len.checked_mul(stride);
        let layout = bytes.map(|bytes| Layout::from_size_align(bytes, LINE.max(align_of::<T>())));
        layout.and_then(Result::ok).expect("a chunk of buffers fits into the address space")
    }

    #[inline]
    fn slot(&self, index: usize) -> Option<&Slot<T>> {
        if index >= self.len {
            return None;
        }
        // SAFETY: the allocation has `len` times `stride` bytes, and `index` is below `len`.
        let slot = unsafe { self.memory.add(index * self.stride) }.cast();
        // SAFETY: zeroes are a valid slot, whose owner is NOBODY and whose message may be
        // uninitialised. It lives as long as the chunk (ARENA-C).
        Some(unsafe { slot.as_ref() })
    }
}

impl<T> Drop for Chunk<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            for slot in (0..self.len).filter_map(|index| self.slot(index)) {
                // Ordering: Relaxed; whoever drops the arena has synchronised with its workers.
                if slot.owner.load(Ordering::Relaxed) != NOBODY {
                    // SAFETY: no `Buffers` is left, for each borrows the arena; the slot is filled
                    // (ARENA-B) and dropped once, here.
                    unsafe { slot.message().drop_in_place() };
                }
            }
        }
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.memory.as_ptr(), Self::layout(self.len, self.stride)) };
    }
}

// SAFETY: a chunk owns its slots; messages in them may be dropped on another thread as `T: Send`.
unsafe impl<T: Send> Send for Chunk<T> {}
// SAFETY: through a shared chunk a message is reached by its owner only (ARENA-B), which is one
// `Buffers`, and that is not `Sync`: threads share slots, but never a `T`.
unsafe impl<T: Send> Sync for Chunk<T> {}

/// The buffers of one run, shared by its workers.
pub struct Arena<T> {
    chunks: [OnceLock<Chunk<T>>; CHUNKS],
    limit: u32,
    /// Workers take so many at a time, unless they are frugal.
    batch: u32,
    /// Bytes from one buffer to the next: with several workers, each buffer has lines of its own.
    stride: usize,
    /// The first message, where messages are not stored.
    keepsake: OnceLock<T>,
    /// Away from what is only read, above.
    changing: CachePadded<Changing>,
}

/// What changes while workers run.
#[derive(Default)]
struct Changing {
    /// Buffers handed out so far; they never come back here.
    issued: AtomicU32,
    /// Free buffers that no worker holds.
    spare: Mutex<Vec<u32>>,
    spares: AtomicUsize,
    /// The workers that have their buffers.
    workers: Mutex<BTreeSet<u32>>,
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

    /// An arena for `workers` workers, with at most `limit` buffers in all.
    #[must_use]
    pub fn new(workers: usize, limit: u32) -> Self {
        let limit = limit.min(BUFFERS_MAX);
        let fair = limit / (8 * u32::try_from(workers).unwrap_or(u32::MAX).clamp(1, 1 << 20));
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            limit,
            batch: fair.clamp(1, BATCH_MAX),
            stride: Self::buffer_bytes(workers),
            keepsake: OnceLock::new(),
            changing: CachePadded::default(),
        }
    }

    /// The buffers of worker `worker`.
    ///
    /// # Panics
    ///
    /// When they were already given out, or the number is 2^32 - 1 or more.
    #[must_use]
    pub fn buffers(&self, worker: usize) -> Buffers<'_, T> {
        let owner = owner_word(worker);
        let first =
            self.changing.workers.lock().unwrap_or_else(PoisonError::into_inner).insert(owner);
        // Required for soundness: one worker is one thread (ARENA-B).
        assert!(first, "worker {worker} already has its buffers");
        let free = UnsafeCell::new(Vec::new());
        Buffers { arena: self, owner, batch: self.batch, free, _not_sync: PhantomData }
    }

    /// How many buffers were in use or in free lists at the peak.
    #[must_use]
    pub fn issued(&self) -> u32 {
        // Ordering: Relaxed; a count for reports.
        self.changing.issued.load(Ordering::Relaxed)
    }

    /// The most buffers there may be.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Buffers that any worker could still take.
    #[must_use]
    pub fn available(&self) -> usize {
        // Ordering: Relaxed; an estimate.
        self.changing.spares.load(Ordering::Relaxed) + (self.limit - self.issued()) as usize
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

    /// Makes the chunks that hold the buffers from `first` to `last`.
    fn make_chunks(&self, first: u32, last: u32) {
        if Self::TRIVIAL {
            return;
        }
        for chunk in place(first).0..=place(last).0 {
            // Ordering: the release of `OnceLock`, edge ARENA-3.
            self.chunks[chunk].get_or_init(|| {
                let len = FIRST_CHUNK << chunk;
                // The last one has no more than the limit needs.
                Chunk::new(len.min(self.limit - (len - FIRST_CHUNK)) as usize, self.stride)
            });
        }
    }

    /// Adds up to `batch` free buffers to `free`; false if there are none left.
    #[cold]
    fn refill(&self, free: &mut Vec<u32>, batch: u32) -> bool {
        // Ordering: Relaxed; only a hint whether to take the lock.
        if self.changing.spares.load(Ordering::Relaxed) > 0 {
            // A worker that panicked while it held the lock left the list whole: `Vec` keeps it so.
            let mut spare = self.changing.spare.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = spare.len().saturating_sub(batch as usize);
            free.extend(spare.drain(kept..));
            self.changing.spares.store(kept, Ordering::Relaxed);
        }
        if free.is_empty() {
            // Ordering: Relaxed; the number alone gives the buffers to one worker (ARENA-A), and
            // nothing has been written to them.
            let issue = |issued: u32| {
                (issued < self.limit).then(|| issued.saturating_add(batch).min(self.limit))
            };
            if let Ok(first) =
                self.changing.issued.fetch_update(Ordering::Relaxed, Ordering::Relaxed, issue)
            {
                let end = first.saturating_add(batch).min(self.limit);
                self.make_chunks(first, end - 1);
                free.extend((first..end).rev());
            }
        }
        !free.is_empty()
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
fn owner_word(worker: usize) -> u32 {
    // Required for soundness: no worker is NOBODY (ARENA-B).
    assert!(worker < u32::MAX as usize, "there is no worker {worker}");
    worker as u32 + 1
}

impl<T: Send + Sync> fmt::Debug for Arena<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arena")
            .field("issued", &self.issued())
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// The buffers of one worker: those it owns, and those it has free.
pub struct Buffers<'a, T> {
    arena: &'a Arena<T>,
    owner: u32,
    /// How many to take from the arena at a time.
    batch: u32,
    /// Free buffers, the one freed last at the end: it is the one most likely in the cache.
    free: UnsafeCell<Vec<u32>>,
    /// Owned messages are reached through `&self`, so `&Buffers` stays on its thread.
    _not_sync: PhantomData<UnsafeCell<T>>,
}

impl<T: Send + Sync> Buffers<'_, T> {
    /// Fills a free buffer with what `make` makes, and gives it to worker `to`; `None` if this worker
    /// has no free buffer and the arena has none to give, and then nothing is made.
    ///
    /// # Panics
    ///
    /// If the worker's number is 2^32 - 1 or more.
    #[inline]
    pub fn fill_with(&self, to: usize, make: impl FnOnce() -> T) -> Option<BufferId> {
        let to = owner_word(to);
        let id = self.acquire()?;
        // `make` is foreign code: a panic in it must not lose the buffer, and it may come back here.
        let unfilled = Unfilled { buffers: self, id };
        if Arena::<T>::TRIVIAL {
            let message = make();
            self.arena.keepsake.get_or_init(|| message);
            std::mem::forget(unfilled);
            return Some(id);
        }
        let slot = self.arena.slot(id).expect("ARENA-A: a free buffer has a slot");
        // SAFETY: the buffer was taken out of the free list, so nobody else reaches it and it
        // holds no message (ARENA-A).
        unsafe { slot.message().write(make()) };
        // Ordering: Release, edge ARENA-1.
        slot.owner.store(to, Ordering::Release);
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
        // SAFETY: it is filled and this worker's (ARENA-B, edge ARENA-1); only `free` and `take`
        // change that, and they need `&mut self`.
        unsafe { &*slot.message() }
    }

    /// Frees a buffer of this worker's, and drops its message.
    ///
    /// # Panics
    ///
    /// If the buffer is not this worker's, or not filled.
    #[inline]
    pub fn free(&mut self, id: BufferId) {
        if Arena::<T>::TRIVIAL {
            return self.free.get_mut().push(id.0);
        }
        let message = self.disown(id);
        if needs_drop::<T>() {
            // SAFETY: it was filled and this worker's until it was disowned (ARENA-B), and this
            // worker cannot fill it again before this borrow ends. A panic here leaves it free.
            unsafe { message.drop_in_place() };
        }
    }

    /// Frees a buffer of this worker's, and takes its message out, for [`Arena::message`].
    ///
    /// # Panics
    ///
    /// If the buffer is not this worker's, or not filled.
    #[inline]
    pub fn take(&mut self, id: BufferId) -> Taken<T> {
        if Arena::<T>::TRIVIAL {
            self.free.get_mut().push(id.0);
            return Taken(None);
        }
        let message = self.disown(id);
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

    /// How many buffers this worker has free.
    #[inline]
    #[must_use]
    pub fn free_count(&self) -> usize {
        // SAFETY: no reference to the list outlives a method of this type, and none of them runs
        // foreign code while it has one; the type is not `Sync`.
        unsafe { (*self.free.get()).len() }
    }

    /// Whether this worker takes one buffer at a time from the arena: slower, but it leaves to the others
    /// all that it does not need.
    pub fn be_frugal(&mut self, on: bool) {
        self.batch = if on { 1 } else { self.arena.batch };
    }

    /// Gives free buffers beyond `keep` to the workers that have none.
    pub fn give_up_beyond(&mut self, keep: usize) {
        let free = self.free.get_mut();
        if free.len() > keep {
            let mut spare =
                self.arena.changing.spare.lock().unwrap_or_else(PoisonError::into_inner);
            // Those freed first: the others are in this worker's cache.
            let excess = free.len() - keep;
            spare.extend(free.drain(..excess));
            // Ordering: Relaxed; only a hint, the lock guards the list.
            self.arena.changing.spares.store(spare.len(), Ordering::Relaxed);
        }
    }

    #[inline]
    fn acquire(&self) -> Option<BufferId> {
        // SAFETY: as in `free_count`.
        let free = unsafe { &mut *self.free.get() };
        if free.is_empty() && !self.arena.refill(free, self.batch) {
            return None;
        }
        free.pop().map(BufferId)
    }

    #[inline]
    fn owned(&self, id: BufferId) -> &Slot<T> {
        let slot = self.arena.slot(id).expect("ARENA-B: no such buffer");
        // Ordering: Acquire, edge ARENA-1. Required for soundness.
        let owner = slot.owner.load(Ordering::Acquire);
        assert!(owner == self.owner, "ARENA-B: worker {} touched a buffer of {owner}", self.owner);
        slot
    }

    /// Puts a buffer of this worker's into its free list; its message is the caller's, for as long as
    /// the caller has the worker's buffers to itself.
    #[inline]
    fn disown(&mut self, id: BufferId) -> *mut T {
        let slot = self.owned(id);
        // Ordering: Relaxed; the next owner gets the buffer from this worker, by edge ARENA-1 or
        // ARENA-2.
        slot.owner.store(NOBODY, Ordering::Relaxed);
        let message = slot.message();
        self.free.get_mut().push(id.0);
        message
    }
}

/// A message that was taken out of its buffer.
#[derive(Debug)]
pub struct Taken<T>(Option<T>);

/// A buffer taken out of the free list; goes back there unless it is filled.
struct Unfilled<'a, 'b, T> {
    buffers: &'a Buffers<'b, T>,
    id: BufferId,
}

impl<T> Drop for Unfilled<'_, '_, T> {
    fn drop(&mut self) {
        // SAFETY: as in `free_count`.
        unsafe { (*self.buffers.free.get()).push(self.id.0) };
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

//! The memory of event buffers: slots in chunks that never move.
//!
//! Only [`arena`](crate::arena) uses it, and defines which worker may access a slot and when.

#![expect(unsafe_code, reason = "slots are reached by number, and other threads write them")]

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    cell::UnsafeCell,
    marker::PhantomData,
    mem::{MaybeUninit, needs_drop},
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

use crate::numa::{out_of_memory, unrouted};

/// The owner word of a buffer that is not filled.
pub(crate) const NOBODY: u32 = 0;
/// The owner word of a buffer that is not filled, but has a message of before that is still good.
pub(crate) const STALE: u32 = u32::MAX;
/// The owner word of a buffer that is filled, and belongs to the worker that claims it first.
pub(crate) const UNCLAIMED: u32 = u32::MAX - 1;

/// Set in the owner word of a buffer that its owner has returned early.
pub(crate) const RETURNED: u32 = 1 << 31;

/// A buffer: its owner word and its message.
pub(crate) struct Slot<T> {
    /// The worker's number plus one, perhaps with `RETURNED`; `NOBODY`, `STALE` or `UNCLAIMED`
    /// (ARENA-B, ARENA-E).
    pub(crate) owner: AtomicU32,
    message: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    /// The place of the message.
    #[inline]
    pub(crate) const fn message(&self) -> *mut T {
        self.message.get().cast()
    }
}

/// Slots in one allocation. It starts zeroed, so its pages take no memory before they are used.
pub(crate) struct Chunk<T> {
    memory: NonNull<u8>,
    len: usize,
    /// Bytes from one slot to the next.
    stride: usize,
    _slots: PhantomData<Slot<T>>,
}

/// The size of a cache line. Two workers that write to the same line slow each other down.
pub(crate) const LINE: usize = 64;

impl<T> Chunk<T> {
    pub(crate) fn new(len: usize, stride: usize) -> Self {
        debug_assert!(len > 0, "ARENA-C: a chunk without slots");
        let layout = Self::layout(len, stride);
        // All workers fill slots: the chunk is not of the heap of the one that comes first.
        let _shared = unrouted();
        // SAFETY: a slot has an owner word, so the layout is not empty.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else { out_of_memory(layout) };
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
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot<T>> {
        if index >= self.len {
            return None;
        }
        // SAFETY: the allocation has `len` times `stride` bytes, and `index` is below `len`.
        let slot = unsafe { self.memory.add(index * self.stride) }.cast();
        // SAFETY: zeroes are a valid slot, with the owner NOBODY and a message that may be
        // uninitialized. It lives as long as the chunk (ARENA-C).
        Some(unsafe { slot.as_ref() })
    }
}

impl<T> Drop for Chunk<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            for slot in (0..self.len).filter_map(|index| self.slot(index)) {
                // Ordering: Relaxed; the thread that drops the arena has synchronized with all
                // workers.
                if slot.owner.load(Ordering::Relaxed) != NOBODY {
                    // SAFETY: no `Buffers` is left, because each borrows the arena; the slot is
                    // filled (ARENA-B), and its message is dropped only here.
                    unsafe { slot.message().drop_in_place() };
                }
            }
        }
        // SAFETY: `new` allocated it with this layout.
        unsafe { dealloc(self.memory.as_ptr(), Self::layout(self.len, self.stride)) };
    }
}

// SAFETY: a chunk owns its slots; messages in them may be dropped on another thread, as `T: Send`.
unsafe impl<T: Send> Send for Chunk<T> {}
// SAFETY: only its owner reaches a message through a shared chunk (ARENA-B). The owner is one
// `Buffers`, which is not `Sync`: so threads share slots, but never a `T`.
unsafe impl<T: Send> Sync for Chunk<T> {}

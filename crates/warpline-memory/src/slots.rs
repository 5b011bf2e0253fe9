//! The memory of event buffers: slots in chunks that are never moved.
//!
//! Used by [`arena`](crate::arena) alone, which says who may touch what is in a slot, and when.

#![expect(unsafe_code, reason = "slots are reached by their number, and hold what others write")]

use std::{
    alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error},
    cell::UnsafeCell,
    marker::PhantomData,
    mem::{MaybeUninit, needs_drop},
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

/// What the owner word says of a buffer that is not filled.
pub(crate) const NOBODY: u32 = 0;

pub(crate) struct Slot<T> {
    /// The worker's number plus one, or `NOBODY` (ARENA-B).
    pub(crate) owner: AtomicU32,
    message: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    /// Where the message is, or will be.
    #[inline]
    pub(crate) const fn message(&self) -> *mut T {
        self.message.get().cast()
    }
}

/// Slots from one allocation that starts out zeroed: its pages cost nothing before they are used.
pub(crate) struct Chunk<T> {
    memory: NonNull<u8>,
    len: usize,
    /// Bytes from one slot to the next.
    stride: usize,
    _slots: PhantomData<Slot<T>>,
}

/// Two workers that write to one line take it from each other every time.
pub(crate) const LINE: usize = 64;

impl<T> Chunk<T> {
    pub(crate) fn new(len: usize, stride: usize) -> Self {
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
    pub(crate) fn slot(&self, index: usize) -> Option<&Slot<T>> {
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

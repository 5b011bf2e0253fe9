//! The memory of [`Lists`](crate::Lists): chunks of items in slabs that never move.

#![expect(unsafe_code, reason = "a slab is allocated with the alignment of a huge page")]

use std::{
    alloc::{Layout, alloc, dealloc},
    marker::PhantomData,
    ptr::NonNull,
};

use crate::numa::out_of_memory;

/// Items in a chunk.
pub(crate) const ITEMS: usize = 32;
/// Chunks are allocated in slabs of at most this size: that of a huge page, if there are any. An
/// item goes to a page that was not used for long, and finding where small pages are takes longer
/// than all the rest of an append.
const SLAB_BYTES: usize = if cfg!(miri) { 64 << 10 } else { 2 << 20 };
/// Bits of a chunk's number that are its place in its slab.
pub(crate) const PLACE_BITS: u32 = 12;
/// Chunks in one allocation.
pub(crate) struct Slab<T> {
    memory: NonNull<T>,
    _items: PhantomData<T>,
}

// SAFETY: a slab is memory without any content of its own; the items are those of `Lists`, which
// passes to another thread if they may.
unsafe impl<T: Send> Send for Slab<T> {}
// SAFETY: as above; shared lists give out nothing but numbers.
unsafe impl<T: Sync> Sync for Slab<T> {}

impl<T> Slab<T> {
    /// How many chunks a slab has.
    pub(crate) const CHUNKS: usize = {
        let bytes = if size_of::<T>() == 0 { 1 } else { size_of::<T>() } * ITEMS;
        let chunks = SLAB_BYTES / bytes;
        if chunks == 0 {
            1
        } else if chunks > 1 << PLACE_BITS {
            1 << PLACE_BITS
        } else {
            chunks
        }
    };

    /// One with the alignment of a huge page, so that it can be one.
    const LAYOUT: Layout = {
        let bytes = size_of::<T>() * ITEMS * Self::CHUNKS;
        let align = if align_of::<T>() > SLAB_BYTES { align_of::<T>() } else { SLAB_BYTES };
        // An allocation is not empty.
        match Layout::from_size_align(if bytes == 0 { 1 } else { bytes }, align) {
            Ok(layout) => layout,
            Err(_) => panic!("a chunk fits into the address space"),
        }
    };

    pub(crate) fn new(is_huge: bool) -> Self {
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(Self::LAYOUT) };
        let Some(memory) = NonNull::new(memory) else { out_of_memory(Self::LAYOUT) };
        debug_assert!(
            memory.as_ptr().addr().is_multiple_of(Self::LAYOUT.align()),
            "the memory of a slab has not the alignment of the layout"
        );
        if is_huge {
            advise_huge(memory, Self::LAYOUT.size());
        }
        Self { memory: memory.cast(), _items: PhantomData }
    }
}

impl<T> Slab<T> {
    /// Its first item.
    #[inline]
    pub(crate) const fn memory(&self) -> NonNull<T> {
        self.memory
    }
}

impl<T> Drop for Slab<T> {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout, and `Lists` has dropped the items.
        unsafe { dealloc(self.memory.as_ptr().cast(), Self::LAYOUT) };
    }
}

/// Asks for huge pages, which is no more than a hint.
fn advise_huge(memory: NonNull<u8>, bytes: usize) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        use rustix::mm::{Advice, madvise};
        // Without them everything works, a little slower.
        // SAFETY: the range is allocated; the advice does not change what the memory contains.
        let _ = unsafe { madvise(memory.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (memory, bytes);
}

//! The inbox of a worker: any worker pushes blocks of items, and the owner drains all of them.
//!
//! Items are sent in blocks, because a push (a compare-and-swap on a contended line) and a step
//! along the list then serve many items, and the hardware prefetcher finds the items of a block
//! side by side. An empty block returns to the worker that made it, through a second inbox, so that
//! a worker that only sends does not allocate again and again.
//!
//! # Invariants
//!
//! - **INBOX-A.** A block has exactly one owner: the holder of its `Box`, the list under `head`, or
//!   one [`Drain`].
//! - **INBOX-B.** Blocks leave the list only all at once, when `head` is swapped for null. So a
//!   producer that loses a race never follows a stale pointer.
//! - **INBOX-C.** The blocks of one producer are drained in the order in which it pushed them.
//!
//! # A known compromise
//!
//! With two producers, the block under `head` may be freed, and another one allocated at its
//! address, after a producer loads `head` and before its exchange. The exchange then succeeds with
//! the right address in `next`, but formally with the provenance of the freed block. This needs an
//! inbox whose owner drops blocks, because blocks are otherwise reused; and the list is right on
//! every machine.
//!
//! # Happens-before edges
//!
//! | Edge    | Release side           | Acquire side  | Publishes                      |
//! |---------|------------------------|---------------|--------------------------------|
//! | INBOX-1 | `push`, successful CAS | `drain`, swap | `Block::items`, `Block::next`  |
//!
//! Several producers share one edge: each later CAS is a read-modify-write, so it continues the
//! release sequence of the pushes before it, and one acquiring swap synchronizes with all of them.

use std::{fmt, ptr};

use arrayvec::ArrayVec;

use crate::sync::{AtomicPtr, Ordering};

/// Items per block: with items of 32 bytes, a block has 2 KiB.
pub const BLOCK_ITEMS: usize = 63;

/// Items for one worker, in the order in which they were sent.
#[derive(Debug)]
pub struct Block<T> {
    next: *mut Self,
    /// The worker that the block is returned to.
    pub home: u32,
    /// Whatever the worker that fills the block says about it.
    pub stamp: u64,
    /// The items.
    pub items: ArrayVec<T, BLOCK_ITEMS>,
}

impl<T> Block<T> {
    /// An empty block that is returned to worker `home`.
    #[must_use]
    pub fn new(home: u32) -> Box<Self> {
        Box::new(Self { next: ptr::null_mut(), home, stamp: 0, items: ArrayVec::new() })
    }
}

// SAFETY: `next` is null or a block of the same list, and only the owner of the list follows it
// (INBOX-A); the items may change threads because `T` may.
#[expect(unsafe_code, reason = "a raw pointer links the blocks of a list")]
unsafe impl<T: Send> Send for Block<T> {}

/// A list of blocks with many producers, which is always drained whole.
pub struct Inbox<T> {
    /// The block pushed last, or null. Edge INBOX-1.
    head: AtomicPtr<Block<T>>,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<T: Send> Inbox<T> {
    /// Adds a block. Callable from any worker.
    #[expect(unsafe_code, reason = "links the block into the list by a raw pointer")]
    pub fn push(&self, block: Box<Block<T>>) {
        debug_assert!(block.next.is_null(), "INBOX-A: the block is in a list");
        let block = Box::into_raw(block);
        // Ordering: Relaxed; a first guess for the CAS, nothing is read through it.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: this producer owns the block until the CAS succeeds (INBOX-A).
            unsafe { (*block).next = head };
            // Ordering: Release on success, edge INBOX-1; Relaxed on failure, again a guess.
            match self.head.compare_exchange_weak(head, block, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(seen) => head = seen,
            }
        }
    }

    /// Takes all blocks that have been pushed, in the order of the pushes.
    #[inline]
    pub fn drain(&self) -> Drain<T> {
        // Ordering: Relaxed; an empty inbox publishes nothing, and a load leaves the line shared.
        // The next drain finds a block that is pushed meanwhile; a caller that must see it now puts
        // a fence before.
        if self.head.load(Ordering::Relaxed).is_null() {
            return Drain { next: ptr::null_mut() };
        }
        // Ordering: Acquire, edge INBOX-1.
        Drain::in_order_of_pushes(self.head.swap(ptr::null_mut(), Ordering::Acquire))
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        // Ordering: Acquire, edge INBOX-1; the thread that drops the inbox sees all pushes.
        drop(Drain { next: self.head.swap(ptr::null_mut(), Ordering::Acquire) });
    }
}

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

/// The blocks that one [`Inbox::drain`] took. Dropping it drops the blocks that are left.
pub struct Drain<T> {
    next: *mut Block<T>,
}

impl<T> Drain<T> {
    /// Reverses the list, which begins with the last push (INBOX-C).
    #[expect(unsafe_code, reason = "walks the list by raw pointers")]
    fn in_order_of_pushes(mut last: *mut Block<T>) -> Self {
        let mut next = ptr::null_mut();
        while !last.is_null() {
            // SAFETY: this drain has owned the list under `last` since the swap (INBOX-A), and
            // every block in it came from a `Box`.
            let block = unsafe { &mut *last };
            (next, last) = (last, std::mem::replace(&mut block.next, next));
        }
        Self { next }
    }
}

impl<T> Iterator for Drain<T> {
    type Item = Box<Block<T>>;

    #[inline]
    #[expect(unsafe_code, reason = "takes the first block out of the list")]
    fn next(&mut self) -> Option<Box<Block<T>>> {
        if self.next.is_null() {
            return None;
        }
        // SAFETY: `push` made the pointer with `Box::into_raw`, this drain owns the block
        // (INBOX-A), and takes it only once because `self.next` moves past it below.
        let mut block = unsafe { Box::from_raw(self.next) };
        self.next = std::mem::replace(&mut block.next, ptr::null_mut());
        debug_assert!(block.next.is_null(), "INBOX-A: the block is still in a list");
        Some(block)
    }
}

impl<T> Drop for Drain<T> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<T> fmt::Debug for Drain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").finish_non_exhaustive()
    }
}

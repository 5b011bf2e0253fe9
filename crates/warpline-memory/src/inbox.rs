//! The inbox of a worker: any worker pushes blocks of mail, the owner drains them all at once.
//!
//! Mail travels in blocks so that a push (one compare-and-swap on a line that both sides want) and
//! the walk along the list are paid once for many items, and the items of a block lie side by side
//! for the prefetcher. An emptied block goes back to the worker that made it, through an inbox of
//! its own, so that a worker that only sends does not allocate for ever.
//!
//! # Invariants
//!
//! - **INBOX-A.** A block is owned by exactly one of: whoever holds its `Box`, the list under
//!   `head`, or one [`Drain`].
//! - **INBOX-B.** Blocks leave the list only all at once, when `head` is swapped for null, so a
//!   producer that lost a race has nothing stale to follow.
//! - **INBOX-C.** The blocks of one producer are drained in the order in which it pushed them.
//!
//! # A known compromise
//!
//! With two producers, the block under `head` may be freed, and another one allocated at its
//! address, between a producer's look at `head` and its exchange. The exchange then succeeds with
//! the right address in `next`, but formally with the provenance of the block that was freed.
//! Blocks are recycled rather than freed, so it takes an inbox whose owner is dropping blocks; the
//! list is right on every machine.
//!
//! # Happens-before edges
//!
//! | Edge    | Release side           | Acquire side  | Publishes                      |
//! |---------|------------------------|---------------|--------------------------------|
//! | INBOX-1 | `push`, successful CAS | `drain`, swap | `Block::items`, `Block::next`  |
//!
//! Several producers share one edge: each later CAS is a read-modify-write, so it continues the
//! release sequence of the pushes under it, and one acquiring swap sees them all.

use std::{fmt, ptr};

use arrayvec::ArrayVec;

use crate::sync::{AtomicPtr, Ordering};

/// Items per block: with 32-byte items and the block's own fields, 2 KiB.
pub const BLOCK_ITEMS: usize = 63;

/// Mail for one worker, in the order in which it was written.
#[derive(Debug)]
pub struct Block<T> {
    next: *mut Self,
    /// The worker that the block is returned to.
    pub home: u32,
    /// The mail.
    pub items: ArrayVec<T, BLOCK_ITEMS>,
}

impl<T> Block<T> {
    /// An empty block that belongs to worker `home`.
    #[must_use]
    pub fn new(home: u32) -> Box<Self> {
        Box::new(Self { next: ptr::null_mut(), home, items: ArrayVec::new() })
    }
}

// SAFETY: `next` is null or a block of the list that this one is in, which nobody else follows
// (INBOX-A); the items may change threads because `T` may.
#[expect(unsafe_code, reason = "a raw pointer links the blocks of a list")]
unsafe impl<T: Send> Send for Block<T> {}

/// A list of blocks with many producers, always drained whole.
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
        let block = Box::into_raw(block);
        // Ordering: Relaxed; only a first guess for the CAS, nothing is read through it.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // SAFETY: until the CAS succeeds the block is still this producer's alone (INBOX-A).
            unsafe { (*block).next = head };
            // Ordering: Release on success, edge INBOX-1; Relaxed on failure, again only a guess.
            match self.head.compare_exchange_weak(head, block, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(seen) => head = seen,
            }
        }
    }

    /// Takes every block pushed so far, in the order of the pushes.
    #[inline]
    pub fn drain(&self) -> Drain<T> {
        // Ordering: Relaxed; an empty inbox publishes nothing, and looking first leaves the line
        // shared. What is pushed meanwhile is found by the next drain; who needs to see it in this
        // one puts a fence before.
        if self.head.load(Ordering::Relaxed).is_null() {
            return Drain { next: ptr::null_mut() };
        }
        // Ordering: Acquire, edge INBOX-1.
        Drain::in_order_of_pushes(self.head.swap(ptr::null_mut(), Ordering::Acquire))
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        // Ordering: Acquire, edge INBOX-1; whoever drops the inbox sees the pushes before.
        drop(Drain { next: self.head.swap(ptr::null_mut(), Ordering::Acquire) });
    }
}

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}

/// The blocks taken by one [`Inbox::drain`]. Dropping it drops those not yet yielded.
pub struct Drain<T> {
    next: *mut Block<T>,
}

impl<T> Drain<T> {
    /// Turns the list, which has the last push in front, around (INBOX-C).
    #[expect(unsafe_code, reason = "walks the list by raw pointers")]
    fn in_order_of_pushes(mut last: *mut Block<T>) -> Self {
        let mut next = ptr::null_mut();
        while !last.is_null() {
            // SAFETY: the swap made this drain the only owner of the list under `last` (INBOX-A),
            // and every block in it came from a `Box`.
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
        // (INBOX-A), and it is taken here once because `self.next` moves past it below.
        let mut block = unsafe { Box::from_raw(self.next) };
        self.next = std::mem::replace(&mut block.next, ptr::null_mut());
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

//! The address space of all heaps: runs of segments, which heaps take and give back.
//!
//! A segment is [`SEGMENT`] bytes, so no page is in two of them. A run is a power of two of
//! segments, at a multiple of its size. A table says which heap has which segment; so whoever frees
//! a block finds its heap.
//!
//! # Invariants
//!
//! - **SPACE-A.** A run is with one heap, or in one free list, or was never taken; none overlaps
//!   another one.
//! - **SPACE-B.** A run that a heap takes reads as zeroes.

#![expect(unsafe_code, reason = "addresses are reserved, and heaps are found by address")]

use std::{
    ptr::{self, NonNull},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicPtr, Ordering},
    },
};

use super::system;

/// The bytes of a segment: 16 pages, or a single one where pages are large.
pub(super) const SEGMENT: usize = 64 << 10;
/// Runs have up to two to this power of segments, less one.
pub(super) const ORDERS: usize = 24;
/// The start of the space is a multiple of this, the size of a huge page; no run has a greater
/// alignment.
pub(super) const ALIGN_MAX: usize = 2 << 20;
/// What is reserved: a quarter of it, and so on, where the system refuses that much.
const MOST: usize = 1 << 40;
const LEAST: usize = 1 << 28;

/// Segments side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) memory: NonNull<u8>,
    pub(super) order: u32,
}

impl Run {
    pub(super) const fn bytes(self) -> usize {
        SEGMENT << self.order
    }
}

// SAFETY: a run is addresses; who may write there is a matter of SPACE-A.
unsafe impl Send for Run {}

/// The reserved addresses, of which heaps of the type `H` take runs.
pub(super) struct Space<H: 'static> {
    base: NonNull<u8>,
    bytes: usize,
    /// By segment: its heap. Zeroes, which are null, at first.
    heaps: NonNull<AtomicPtr<H>>,
    runs: Mutex<Runs>,
}

/// The runs of no heap.
struct Runs {
    /// The first segment of each free run, by order.
    free: [Vec<usize>; ORDERS],
    /// Segments from here on were never taken.
    next: usize,
}

// SAFETY: `base` and `heaps` are only addresses: what lies there is atomic, or belongs to whoever
// has the run (SPACE-A). Heaps themselves are lent, for which they are `Sync`.
unsafe impl<H: Sync> Send for Space<H> {}
// SAFETY: as above; the free runs are under a lock.
unsafe impl<H: Sync> Sync for Space<H> {}

impl<H> Space<H> {
    pub(super) fn new() -> Option<Self> {
        let mut bytes = MOST;
        let memory = loop {
            match system::reserve(bytes + ALIGN_MAX) {
                Some(memory) => break memory,
                None if bytes > LEAST => bytes /= 4,
                None => return None,
            }
        };
        let heaps = system::reserve(bytes / SEGMENT * size_of::<AtomicPtr<H>>())?.cast();
        // SAFETY: the offset is below `ALIGN_MAX`, and that much more was reserved.
        let base = unsafe { memory.add(memory.align_offset(ALIGN_MAX)) };
        debug_assert!(base.addr().get().is_multiple_of(ALIGN_MAX), "SPACE-A: a crooked base");
        let runs = Mutex::new(Runs { free: [const { Vec::new() }; ORDERS], next: 0 });
        Some(Self { base, bytes, heaps, runs })
    }

    fn segments(&self) -> usize {
        self.bytes / SEGMENT
    }

    /// The heap of a segment of the space.
    fn heap(&self, segment: usize) -> &AtomicPtr<H> {
        assert!(segment < self.segments(), "SPACE-A: there is no segment {segment}");
        // SAFETY: the table has a place for each segment.
        let place = unsafe { self.heaps.add(segment) };
        // SAFETY: zeroes are a null pointer, and the table is never given back.
        unsafe { place.as_ref() }
    }

    /// The heap of a block, if its address is in the space.
    #[inline]
    pub(super) fn heap_of(&self, block: *const u8) -> Option<&'static H> {
        let offset = block.addr().wrapping_sub(self.base.addr().get());
        if offset >= self.bytes {
            return None;
        }
        // Ordering: Relaxed; who has the block has it from a thread that read or wrote this entry.
        let heap = self.heap(offset / SEGMENT).load(Ordering::Relaxed);
        // SAFETY: heaps are never dropped.
        unsafe { heap.as_ref() }
    }

    /// Takes a run for a heap. `None` if the space is used up.
    pub(super) fn take(&self, order: u32, heap: &'static H) -> Option<Run> {
        let segment = {
            let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            match runs.free.get_mut(order as usize)?.pop() {
                Some(segment) => segment,
                None => runs.cut(order, self.segments())?,
            }
        };
        debug_assert!(segment + (1 << order) <= self.segments(), "SPACE-A: beyond the space");
        debug_assert!(segment.is_multiple_of(1 << order), "SPACE-A: a run at no multiple of it");
        for segment in segment..segment + (1 << order) {
            // Ordering: Relaxed; see `heap_of`.
            self.heap(segment).store(ptr::from_ref(heap).cast_mut(), Ordering::Relaxed);
        }
        // SAFETY: the segment is one of the space.
        Some(Run { memory: unsafe { self.base.add(segment * SEGMENT) }, order })
    }

    /// Gives back a run.
    ///
    /// # Safety
    ///
    /// A heap took it, and nothing in it is used any more.
    pub(super) unsafe fn give(&self, run: Run) {
        // SAFETY: as the caller promises.
        if !unsafe { system::discard(run.memory, run.bytes()) } {
            // SPACE-B: what is not zero is not taken again.
            return;
        }
        let segment = (run.memory.addr().get() - self.base.addr().get()) / SEGMENT;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(segment < runs.next, "SPACE-A: a run that was never taken");
        runs.free[run.order as usize].push(segment);
        debug_assert!(
            runs.free[run.order as usize].len() << run.order <= runs.next,
            "SPACE-A: more is free than was ever taken"
        );
    }

    /// The segments that heaps have.
    pub(super) fn taken(&self) -> usize {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let free = runs.free.iter().enumerate().map(|(order, free)| free.len() << order);
        runs.next - free.sum::<usize>()
    }
}

impl Runs {
    /// Cuts a run off the segments that were never taken. Those in front of it, which it leaves out
    /// to be at a multiple of its size, become smaller free runs.
    fn cut(&mut self, order: u32, segments: usize) -> Option<usize> {
        let first = self.next.next_multiple_of(1 << order);
        if first + (1 << order) > segments {
            return None;
        }
        while self.next < first {
            let order = self.next.trailing_zeros().min((first - self.next).ilog2());
            self.free[order as usize].push(self.next);
            self.next += 1 << order;
        }
        debug_assert_eq!(self.next, first, "SPACE-A: a segment was left out");
        self.next = first + (1 << order);
        Some(first)
    }
}

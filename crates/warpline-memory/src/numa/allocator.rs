//! The allocator that a program installs, so that what a worker allocates lies in a heap of its
//! own.
//!
//! Each thread has a *route*: the heap that it allocates in, or none. Without one, and in a program
//! that has no heaps, [`NodeAllocator`] is the system's allocator behind one comparison. A block
//! is freed where its address says that it was allocated, whatever the route is.
//!
//! A worker's thread is in one of two modes (*NUMA Time Warp*, section 3.1). In *platform mode* it
//! allocates in the worker's heap. In *application mode*, while code of an LP runs, it allocates in
//! the heap of that LP ([`Home::enter_application`]), and what the engine allocates in between is
//! the platform's again ([`enter_platform`]). On the event path a guard would cost those who have
//! no such heaps, too, so there are switches without one ([`Home::switch`], [`switch_to_platform`],
//! [`Way::resume`]).

#![expect(unsafe_code, reason = "an allocator is an unsafe trait")]

use std::{
    alloc::{GlobalAlloc, Layout, System, handle_alloc_error},
    cell::Cell,
    marker::PhantomData,
    ptr::NonNull,
    sync::OnceLock,
};

use super::{
    heap::{Heap, ORDER_MAX, ROUTE, Route, reserve, reserved},
    residency::{Realigned, Residency},
    space::Space,
};

thread_local! {
    /// The heap that it allocates in while it is in platform mode.
    static PLATFORM: Cell<Option<&'static Heap>> = const { Cell::new(None) };
    /// Whether it only tries to allocate.
    static TRIES: Cell<bool> = const { Cell::new(false) };
}

/// The small blocks of a worker are cut from runs of this order: huge pages, if there are any.
const WORKER_ORDER: u32 = ORDER_MAX;
/// Those of LPs, of which there are many, from single segments at first.
const LP_ORDER: u32 = 0;

/// An allocator that serves a worker from memory of its node ([`Home`]), and all other threads as
/// the system's allocator does. A program installs it with `#[global_allocator]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeAllocator;

// Never inline, which would compile it in the crate that installs it: for the command, that is not
// optimized.
//
// SAFETY: `System` keeps the contract, and so do heaps: a block has the size and the alignment of
// its class, is nobody else's (HEAP-A), and is freed where it was allocated.
unsafe impl GlobalAlloc for NodeAllocator {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(heap) = ROUTE.get() {
            // SAFETY: the caller's contract.
            return unsafe { allocate(heap, layout) };
        }
        // SAFETY: the caller's contract.
        served(unsafe { System.alloc(layout) }, layout)
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(heap) = ROUTE.get() {
            // SAFETY: the caller's contract.
            return unsafe { allocate_zeroed(heap, layout) };
        }
        // SAFETY: the caller's contract.
        served(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if let Some(space) = reserved() {
            // SAFETY: the caller's contract.
            return unsafe { free(space, block, layout) };
        }
        // SAFETY: the caller's contract; without a space, all blocks are the system's.
        unsafe { System.dealloc(block, layout) }
    }

    #[inline(never)]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if ROUTE.get().is_none() && heap_of(block).is_none() {
            // SAFETY: the caller's contract.
            let moved = unsafe { System.realloc(block, layout, size) };
            if moved.is_null() {
                exhausted(size);
            }
            return moved;
        }
        // SAFETY: the caller promises that the size is allowed with this alignment.
        let wider = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: `size` is not zero, as the caller promises.
        let moved = unsafe { self.alloc(wider) };
        if !moved.is_null() {
            // SAFETY: both blocks have these bytes, and they are two.
            unsafe { block.copy_to_nonoverlapping(moved, layout.size().min(size)) };
            // SAFETY: the caller's contract.
            unsafe { self.dealloc(block, layout) };
        }
        moved
    }
}

/// What is done when there is no memory left.
static EXHAUSTED: OnceLock<fn(usize)> = OnceLock::new();

/// Has `act` called with the size (bytes) of an allocation that the system does not serve, in a
/// program that has installed [`NodeAllocator`]. It may end the program with a message, and must
/// not allocate; if it returns, the program aborts. The first call counts.
pub fn on_exhausted(act: fn(usize)) {
    let _ = EXHAUSTED.set(act);
}

/// Reserves room for exactly that many more elements, or returns false: who asks has an error of
/// its own to tell, so what was set with [`on_exhausted`] is not called. (`Vec::try_reserve_exact`
/// does not tell the allocator that somebody only tries.)
#[must_use]
pub fn try_reserve_exact<T>(list: &mut Vec<T>, more: usize) -> bool {
    let before = TRIES.replace(true);
    let outcome = list.try_reserve_exact(more);
    TRIES.set(before);
    debug_assert!(outcome.is_err() || list.capacity() - list.len() >= more, "no room for {more}");
    outcome.is_ok()
}

/// There is no memory for this, and nobody who asked for it can go on.
pub(crate) fn out_of_memory(layout: Layout) -> ! {
    exhausted(layout.size());
    handle_alloc_error(layout)
}

/// The block, if there is one.
#[inline]
fn served(block: *mut u8, layout: Layout) -> *mut u8 {
    if block.is_null() {
        exhausted(layout.size());
    }
    block
}

#[cold]
#[inline(never)]
fn exhausted(bytes: usize) {
    if let Some(act) = EXHAUSTED.get().filter(|_| !TRIES.get()) {
        act(bytes);
    }
}

// What a program without heaps never does is out of line, so that the rest saves no registers.

/// # Safety
///
/// As [`GlobalAlloc::alloc`].
#[inline(never)]
unsafe fn allocate(heap: &'static Heap, layout: Layout) -> *mut u8 {
    match heap.allocate(layout) {
        Some((block, _)) => {
            debug_assert!(
                block.addr().get().is_multiple_of(layout.align()),
                "HEAP-A: the block is not aligned"
            );
            block.as_ptr()
        }
        // SAFETY: the caller's contract.
        None => served(unsafe { System.alloc(layout) }, layout),
    }
}

/// # Safety
///
/// As [`GlobalAlloc::alloc_zeroed`].
#[inline(never)]
unsafe fn allocate_zeroed(heap: &'static Heap, layout: Layout) -> *mut u8 {
    let Some((block, is_zero)) = heap.allocate(layout) else {
        // SAFETY: the caller's contract.
        return served(unsafe { System.alloc_zeroed(layout) }, layout);
    };
    debug_assert!(block.addr().get().is_multiple_of(layout.align()), "HEAP-A: not aligned");
    if !is_zero {
        // SAFETY: the block has these bytes.
        unsafe { block.write_bytes(0, layout.size()) };
    }
    block.as_ptr()
}

/// # Safety
///
/// As [`GlobalAlloc::dealloc`].
#[inline(never)]
unsafe fn free(space: &Space<Heap>, block: *mut u8, layout: Layout) {
    if let Some(heap) = space.heap_of(block)
        && let Some(block) = NonNull::new(block)
    {
        // SAFETY: the address is in a segment of this heap, and the rest is the caller's contract.
        return unsafe { heap.free(block, layout) };
    }
    // SAFETY: the caller's contract; blocks outside of the space are the system's.
    unsafe { System.dealloc(block, layout) }
}

/// The heap of a block.
#[inline]
fn heap_of(block: *const u8) -> Option<&'static Heap> {
    reserved()?.heap_of(block)
}

/// A heap of its owner's own. What it has allocated lives on after it.
#[derive(Debug)]
pub struct Home(Owned);

struct Owned(&'static Heap);

impl std::fmt::Debug for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Heap").field(&self.0.node()).finish()
    }
}

impl Home {
    /// A heap for a worker, with its pages on that node, if it is known. `None` if the program has
    /// not installed [`NodeAllocator`], or if the system has no addresses to spare.
    #[must_use]
    pub fn of_worker(node: Option<u32>) -> Option<Self> {
        reserve()?;
        let home = Self(Owned(Heap::owned(node, WORKER_ORDER)));
        let probe = {
            let _route = home.enter();
            std::hint::black_box(Box::new(0_u64))
        };
        let heap = heap_of(std::ptr::from_ref(&*probe).cast());
        (heap == Some(home.0.0)).then_some(home)
    }

    /// As many heaps for LPs, with no page yet. `None` as for workers. What each costs before it
    /// is used is some 600 bytes.
    #[must_use]
    pub fn of_lps(count: usize) -> Option<Box<[Self]>> {
        drop(Self::of_worker(None)?);
        Some((0..count).map(|_| Self(Owned(Heap::owned(None, LP_ORDER)))).collect())
    }

    /// From now on, this thread is in platform mode and allocates here, until the guard is dropped.
    pub fn enter(&self) -> PlatformRoute {
        let before = PLATFORM.replace(Some(self.0.0));
        PlatformRoute { _route: self.enter_application(), before }
    }

    /// From now on, this thread allocates here, until the route is dropped. The heap of its
    /// platform mode stays the same.
    #[inline]
    pub fn enter_application(&self) -> Route {
        Route { before: ROUTE.replace(Some(self.0.0)), _not_send: PhantomData }
    }

    /// As [`enter_application`](Self::enter_application), until the next switch.
    #[inline]
    pub fn switch(&self) {
        ROUTE.set(Some(self.0.0));
    }

    /// The node that pages are taken from.
    #[must_use]
    pub fn node(&self) -> Option<u32> {
        self.0.0.node()
    }

    /// From now on, pages are taken from that node. Those that the heap has stay where they are,
    /// until [`realign`](Self::realign) moves them.
    pub fn set_node(&self, node: Option<u32>) {
        self.0.0.set_node(node);
    }

    /// Moves all pages to the heap's node, one segment at a time. Others may allocate and free
    /// here meanwhile: they are held up by no more than a copy of one entry of the table of
    /// segments, and who touches a page that is being moved waits for that page.
    #[must_use]
    pub fn realign(&self) -> Realigned {
        self.0.0.realign()
    }

    /// Where the pages are; no pages are counted if no node is known.
    #[must_use]
    pub fn residency(&self) -> Residency {
        self.0.0.residency()
    }
}

/// From now on, this thread is in platform mode, until the route is dropped.
#[inline]
pub fn enter_platform() -> Route {
    Route { before: ROUTE.replace(PLATFORM.get()), _not_send: PhantomData }
}

/// As [`enter_platform`], until the next switch. Returns the way of before.
#[inline]
pub fn switch_to_platform() -> Way {
    Way(ROUTE.replace(PLATFORM.get()))
}

/// A way that this thread's allocations had.
#[derive(Clone, Copy, Debug)]
pub struct Way(Option<&'static Heap>);

impl Way {
    /// Lets them go this way again. The heap must still be there: a way is for the time between
    /// two switches.
    #[inline]
    pub fn resume(self) {
        ROUTE.set(self.0);
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.disown();
    }
}

/// The way of this thread's allocations in platform mode. When it is dropped, that mode and the
/// way are what they were before.
#[derive(Debug)]
#[must_use = "allocations go this way for as long as it lives"]
pub struct PlatformRoute {
    _route: Route,
    before: Option<&'static Heap>,
}

impl Drop for PlatformRoute {
    fn drop(&mut self) {
        PLATFORM.set(self.before);
    }
}

//! Heaps: memory in segments of their own, whose pages lie on one node.
//!
//! A block has the size of its class, which its layout decides: four classes from each power of two
//! to the next up to [`SMALL_MAX`], cut off the heap's last run one after the other; larger blocks
//! are runs of their own. A freed block goes to the list of its class, and the heap uses it again.
//! Any thread may free. A heap has a lock, which is nearly always free: one worker allocates.
//!
//! # Invariants
//!
//! - **HEAP-A.** A block is with whoever allocated it, or in one free list of its heap.
//! - **HEAP-B.** A heap without an owner and without blocks in use has no runs: they go back when
//!   the last of both does. So what a run leaves behind (its output) may lie in its heaps.
//! - **HEAP-C.** While the lock is held, nothing allocates in a heap: lists of runs come from the
//!   system's allocator.
//! - **HEAP-D.** A run that is bound to a node, or was, has one of the [`BINDINGS`] of the process,
//!   until it goes back.

#![expect(unsafe_code, reason = "free blocks are linked through their own memory")]

use std::{
    alloc::Layout,
    ptr::{self, NonNull},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{
    allocator,
    bindings::BINDINGS,
    residency::{Realigned, Residency, residency_of},
    space::{self, ALIGN_MAX, ORDERS, Run, SEGMENT},
    system,
};

/// The most bytes of a block that shares its run with others.
const SMALL_MAX: usize = 8 << 10;
/// How many classes small blocks have.
const SMALL_CLASSES: usize = 32;
const CLASSES: usize = SMALL_CLASSES + ORDERS;
/// No node.
const NOWHERE: u32 = u32::MAX;
/// A heap with this many runs more takes runs for small blocks of twice the size, up to
/// [`ORDER_MAX`]: many small ones would use up the bindings of the process.
const RUNS_OF_A_SIZE: usize = 4;
/// The order of the largest runs for small blocks.
pub(super) const ORDER_MAX: u32 = 5;

/// The class of a block and its bytes, which are a multiple of its alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Class {
    index: usize,
    bytes: usize,
}

impl Class {
    /// The class for a layout, if any is large enough.
    fn of(layout: Layout) -> Option<Self> {
        let class = Self::find(layout);
        debug_assert!(
            class.is_none_or(|class| class.index < CLASSES && class.bytes >= layout.size()),
            "the block of a class has no room for its layout"
        );
        class
    }

    fn find(layout: Layout) -> Option<Self> {
        let mut bytes = layout.size().max(16);
        if layout.align() > 16 {
            bytes = bytes.max(layout.align()).next_power_of_two();
        }
        if bytes <= 64 {
            let index = (bytes - 1) / 16;
            return Some(Self { index, bytes: 16 * (index + 1) });
        }
        if bytes <= SMALL_MAX {
            let power = (bytes - 1).ilog2();
            let step = 1 << (power - 2);
            let place = (bytes - 1 - (1 << power)) / step;
            let index = 4 * (power as usize - 5) + place;
            return Some(Self { index, bytes: (1 << power) + step * (place + 1) });
        }
        let order = bytes.div_ceil(SEGMENT).next_power_of_two().ilog2();
        let fits = (order as usize) < ORDERS && layout.align() <= ALIGN_MAX;
        fits.then(|| Self { index: SMALL_CLASSES + order as usize, bytes: SEGMENT << order })
    }
}

/// A free block: the next one of its class.
type Free = Option<NonNull<u8>>;

/// A heap.
pub(super) struct Heap {
    memory: Mutex<Memory>,
    /// The node of its pages, or `NOWHERE` if they are where they are first touched.
    node: AtomicU32,
}

struct Memory {
    free: [Free; CLASSES],
    /// The part of the last run that is not cut into blocks.
    rest: NonNull<u8>,
    rest_bytes: usize,
    /// The table of segments: all runs, each with whether it has a binding (HEAP-D).
    runs: Vec<(Run, bool)>,
    /// The order of the first run that is cut into small blocks.
    order: u32,
    /// Blocks in use.
    live: usize,
    is_owned: bool,
    /// How often the system did not bind memory to the node.
    unbound: u64,
    /// Runs that were not bound, because the process has no more bindings.
    beyond: u64,
}

// SAFETY: the pointers are into runs that the heap has (SPACE-A), and nobody else touches what is
// free there (HEAP-A).
unsafe impl Send for Memory {}

/// Heaps without an owner and without blocks, to be used again.
static RETIRED: Mutex<Vec<&'static Heap>> = Mutex::new(Vec::new());

fn retired() -> MutexGuard<'static, Vec<&'static Heap>> {
    RETIRED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Heap {
    /// A heap with an owner, whose small blocks are cut from runs of that order.
    pub(super) fn owned(node: Option<u32>, order: u32) -> &'static Self {
        let _system = allocator::unrouted();
        let heap = retired().pop().unwrap_or_else(|| Box::leak(Box::new(Self::empty())));
        // Ordering: Relaxed; other threads get to the heap by synchronizing with this one.
        heap.node.store(node.unwrap_or(NOWHERE), Ordering::Relaxed);
        let mut memory = heap.lock();
        debug_assert!(!memory.is_owned, "HEAP-B: a heap with an owner was retired");
        debug_assert!(
            memory.live == 0 && memory.runs.is_empty(),
            "HEAP-B: a retired heap has runs"
        );
        (memory.is_owned, memory.order) = (true, order);
        (memory.unbound, memory.beyond) = (0, 0);
        drop(memory);
        heap
    }

    const fn empty() -> Self {
        let memory = Memory {
            free: [None; CLASSES],
            rest: NonNull::dangling(),
            rest_bytes: 0,
            runs: Vec::new(),
            order: 0,
            live: 0,
            is_owned: false,
            unbound: 0,
            beyond: 0,
        };
        Self { memory: Mutex::new(memory), node: AtomicU32::new(NOWHERE) }
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        // No code that holds the lock panics, so the value is whole.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node of its pages.
    pub(super) fn node(&self) -> Option<u32> {
        // Ordering: Relaxed; a run that is bound to the former node is bound again by who changes
        // it.
        let node = self.node.load(Ordering::Relaxed);
        (node != NOWHERE).then_some(node)
    }

    pub(super) fn set_node(&self, node: Option<u32>) {
        // Ordering: Relaxed, see `node`. `realign` takes the lock after this: a run that is taken
        // before is in the table by then, and one that is taken after is bound to the new node.
        self.node.store(node.unwrap_or(NOWHERE), Ordering::Relaxed);
    }

    /// Moves the pages of all runs to the node.
    pub(super) fn realign(&self) -> Realigned {
        let _system = allocator::unrouted();
        let mut done = Realigned::default();
        let Some(node) = self.node() else { return done };
        // A heap with an owner gives no run back (HEAP-B), so the table only grows, and a run can
        // be moved without the lock.
        let run = |index: usize| self.lock().bindable(index);
        for (run, has_binding) in (0..).map_while(run) {
            for segment in (0..run.bytes()).step_by(SEGMENT) {
                let address = run.memory.as_ptr().wrapping_add(segment);
                let Some(address) = NonNull::new(address) else { continue };
                done.segments += 1;
                if !has_binding {
                    done.refused += 1;
                } else if !system::prefer(address, SEGMENT, node) {
                    done.refused += 1;
                    self.lock().unbound += 1;
                }
                let found = residency_of(address.as_ptr(), SEGMENT, node);
                done.pages_left += found.pages - found.pages_at_home;
            }
        }
        done
    }

    /// A block for a layout, and whether it reads as zeroes. `None` if the space is used up, or the
    /// layout has no class.
    #[inline]
    pub(super) fn allocate(&'static self, layout: Layout) -> Option<(NonNull<u8>, bool)> {
        let class = Class::of(layout)?;
        let mut memory = self.lock();
        if let Some(block) = memory.free[class.index] {
            // SAFETY: a free block has the next one in its first word (HEAP-A).
            memory.free[class.index] = unsafe { block.cast::<Free>().read() };
            debug_assert_ne!(memory.free[class.index], Some(block), "HEAP-A: freed twice");
            memory.live += 1;
            return Some((block, false));
        }
        let block = self.cut(&mut memory, class)?;
        memory.live += 1;
        Some((block, true))
    }

    /// A new block, which reads as zeroes (SPACE-B).
    #[cold]
    fn cut(&'static self, memory: &mut Memory, class: Class) -> Option<NonNull<u8>> {
        if class.index >= SMALL_CLASSES {
            return Some(self.take(memory, (class.index - SMALL_CLASSES) as u32)?.memory);
        }
        let align = 1 << class.bytes.trailing_zeros();
        let mut skipped = memory.rest.align_offset(align);
        if skipped + class.bytes > memory.rest_bytes {
            let run = self.take(memory, memory.order_of_next())?;
            (memory.rest, memory.rest_bytes, skipped) = (run.memory, run.bytes(), 0);
        }
        debug_assert!(skipped + class.bytes <= memory.rest_bytes, "the rest is too small");
        // SAFETY: the rest has that many bytes.
        let block = unsafe { memory.rest.add(skipped) };
        // SAFETY: as above.
        memory.rest = unsafe { block.add(class.bytes) };
        memory.rest_bytes -= skipped + class.bytes;
        Some(block)
    }

    /// Takes a run, and binds it to the node.
    fn take(&'static self, memory: &mut Memory, order: u32) -> Option<Run> {
        let _system = allocator::unrouted();
        debug_assert!(!allocator::is_routed(), "HEAP-C: the table would be in a heap");
        let run = space::reserve()?.take(order, self)?;
        memory.runs.push((run, false));
        if memory.order == 0 {
            system::refuse_huge_pages(run.memory, run.bytes());
        }
        if let Some(node) = self.node()
            && let Some((_, true)) = memory.bindable(memory.runs.len() - 1)
        {
            memory.unbound += u64::from(!system::prefer(run.memory, run.bytes(), node));
        }
        Some(run)
    }

    /// Frees a block.
    ///
    /// # Safety
    ///
    /// This heap allocated it with this layout, and it is not used any more.
    #[inline]
    pub(super) unsafe fn free(&'static self, block: NonNull<u8>, layout: Layout) {
        let Some(class) = Class::of(layout) else { return };
        let mut memory = self.lock();
        // SAFETY: a block has room for a pointer and its alignment, and nobody uses it (HEAP-A).
        unsafe { block.cast::<Free>().write(memory.free[class.index]) };
        memory.free[class.index] = Some(block);
        debug_assert!(memory.live > 0, "HEAP-A: a block was freed twice");
        memory.live -= 1;
        if memory.live == 0 && !memory.is_owned {
            self.retire(memory);
        }
    }

    /// The owner leaves.
    pub(super) fn disown(&'static self) {
        let mut memory = self.lock();
        debug_assert!(memory.is_owned, "HEAP-B: the heap has no owner");
        memory.is_owned = false;
        if memory.live == 0 {
            self.retire(memory);
        }
    }

    /// Gives all runs back (HEAP-B).
    #[cold]
    fn retire(&'static self, mut memory: MutexGuard<'_, Memory>) {
        let _system = allocator::unrouted();
        debug_assert!(memory.live == 0 && !memory.is_owned, "HEAP-B: it is in use");
        memory.free = [None; CLASSES];
        memory.rest_bytes = 0;
        let runs = std::mem::take(&mut memory.runs);
        let space = space::reserved().filter(|_| !runs.is_empty());
        // A run knows its heap until another one takes it, and no block is left to ask.
        for (run, has_binding) in runs {
            if has_binding {
                system::prefer_none(run.memory, run.bytes());
                BINDINGS.give_back();
            }
            if let Some(space) = space {
                // SAFETY: the heap took the run, and none of its blocks is in use or in a list.
                unsafe { space.give(run) };
            }
        }
        drop(memory);
        retired().push(self);
    }

    /// Where the pages are.
    pub(super) fn residency(&self) -> Residency {
        let _system = allocator::unrouted();
        let (runs, known) = {
            let memory = self.lock();
            let (refused, beyond_limit) = (memory.unbound, memory.beyond);
            (memory.runs.clone(), Residency { refused, beyond_limit, ..Residency::default() })
        };
        let Some(node) = self.node() else { return known };
        let of_run = |(run, _): &(Run, bool)| residency_of(run.memory.as_ptr(), run.bytes(), node);
        runs.iter().map(of_run).fold(known, Residency::plus)
    }
}

impl Memory {
    /// A run of the table that is to be bound, and whether it may be: it gets a binding if it has
    /// none and there are some (HEAP-D).
    fn bindable(&mut self, index: usize) -> Option<(Run, bool)> {
        let (run, has_binding) = self.runs.get_mut(index)?;
        if !*has_binding {
            *has_binding = BINDINGS.take();
            self.beyond += u64::from(!*has_binding);
        }
        Some((*run, *has_binding))
    }

    /// The order of the next run that is cut into small blocks.
    fn order_of_next(&self) -> u32 {
        let doubled = (self.runs.len() / RUNS_OF_A_SIZE) as u32;
        (self.order + doubled).min(ORDER_MAX.max(self.order))
    }
}

impl PartialEq for Heap {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self, other)
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Held by tests that count the segments and the bindings of all heaps.
    static ALONE: Mutex<()> = Mutex::new(());

    /// HEAP-D: runs beyond the bindings that there are work as well, but are not bound, nor are
    /// they later; and all bindings go back. (A binding counts whether or not the system binds.)
    ///
    /// Red if `take` binds each run, or if `retire` keeps bindings.
    #[test]
    fn bindings_are_limited() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = BINDINGS.limit_to(3);
        let heap = Heap::owned(Some(0), 0);
        let layout = Layout::from_size_align(SEGMENT, 8).unwrap();
        let blocks: Vec<_> = (0..5).map(|_| heap.allocate(layout).unwrap().0).collect();
        assert_eq!((heap.residency().beyond_limit, BINDINGS.taken()), (2, 3));
        let done = heap.realign();
        assert!(done.segments == 5 && done.refused >= 2, "{done:?}");
        heap.disown();
        for block in blocks {
            // SAFETY: it was allocated above, with this layout.
            unsafe { heap.free(block, layout) };
        }
        assert_eq!(BINDINGS.taken(), 0, "HEAP-D");
        BINDINGS.limit_to(before);
    }

    /// A heap of an LP with much memory has few runs. (Red if all runs are single segments.)
    #[test]
    fn runs_grow_with_their_heap() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let heap = Heap::owned(None, 0);
        let layout = Layout::from_size_align(SMALL_MAX, 8).unwrap();
        let blocks: Vec<_> =
            (0..(8 << 20) / SMALL_MAX).map(|_| heap.allocate(layout).unwrap().0).collect();
        let runs = heap.lock().runs.len();
        assert!(runs < 30, "{runs} runs for 8 MiB, which are 128 segments");
        heap.disown();
        for block in blocks {
            // SAFETY: it was allocated above, with this layout.
            unsafe { heap.free(block, layout) };
        }
    }

    /// HEAP-B, and that blocks have the size and alignment of their layouts.
    #[test]
    fn what_is_freed_goes_back() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let before = space::reserve().unwrap().taken();
        let layouts = prop::collection::vec((1_usize..200_000, 0_u32..22), 1..60);
        proptest!(|(layouts in layouts, keep in any::<bool>())| {
            let heap = Heap::owned(Some(0), 1);
            let mut blocks = Vec::new();
            for (size, power) in layouts {
                let layout = Layout::from_size_align(size, 1 << power).unwrap();
                let (block, is_zero) = heap.allocate(layout).unwrap();
                prop_assert!(is_zero && block.as_ptr().addr().is_multiple_of(layout.align()));
                // SAFETY: the block is as long as its layout says.
                let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), size) };
                prop_assert!(bytes.iter().all(|&byte| byte == 0), "SPACE-B: not zero");
                bytes.fill(0xff);
                blocks.push((block, layout));
            }
            prop_assert!(space::reserved().unwrap().taken() > before);
            if !keep {
                heap.disown();
            }
            for (block, layout) in blocks {
                // SAFETY: it was allocated above, with this layout.
                unsafe { heap.free(block, layout) };
            }
            if keep {
                heap.disown();
            }
            prop_assert_eq!(space::reserved().unwrap().taken(), before, "HEAP-B");
        });
    }

    /// No class is too small, nor much too large.
    #[test]
    fn classes_fit() {
        for size in 1..=SMALL_MAX {
            let class = Class::of(Layout::from_size_align(size, 8).unwrap()).unwrap();
            assert!((size..=size + size / 4 + 16).contains(&class.bytes), "{size}: {class:?}");
            let again = Class::of(Layout::from_size_align(class.bytes, 8).unwrap());
            assert_eq!(again, Some(class));
        }
        assert_eq!(Class::of(Layout::from_size_align(16, 4 << 20).unwrap()), None);
        assert_eq!(Class::of(Layout::from_size_align(SEGMENT << ORDERS, 8).unwrap()), None);
    }
}

//! Heaps: memory in segments of their own, whose pages lie on one node.
//!
//! A block has the size of its class, which its layout decides: four classes from each power of two
//! to the next up to [`SMALL_MAX`], cut off the heap's last run one after the other; larger blocks
//! are runs of their own. A freed block goes to the list of its class, and the heap uses it again.
//! Any thread may free. A heap has a lock, which is nearly always free: one worker allocates. The
//! route of a thread says in which heap it allocates, if in any.
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
    cell::Cell,
    marker::PhantomData,
    ptr::{self, NonNull},
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use super::{
    bindings::BINDINGS,
    residency::{Realigned, Residency, residency_of},
    space::{ALIGN_MAX, ORDERS, Run, SEGMENT, Space},
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
        let _system = unrouted();
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
        let _system = unrouted();
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
        let _system = unrouted();
        debug_assert!(!is_routed(), "HEAP-C: the table would be in a heap");
        let run = reserve()?.take(order, self)?;
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
        let _system = unrouted();
        debug_assert!(memory.live == 0 && !memory.is_owned, "HEAP-B: it is in use");
        memory.free = [None; CLASSES];
        memory.rest_bytes = 0;
        let runs = std::mem::take(&mut memory.runs);
        let space = reserved().filter(|_| !runs.is_empty());
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
        let _system = unrouted();
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

thread_local! {
    /// The heap that this thread allocates in. It has no destructor, so it can always be read.
    pub(super) static ROUTE: Cell<Option<&'static Heap>> = const { Cell::new(None) };
}

static SPACE: OnceLock<Option<Space<Heap>>> = OnceLock::new();

/// The space, if it was reserved.
#[inline]
pub(super) fn reserved() -> Option<&'static Space<Heap>> {
    SPACE.get()?.as_ref()
}

/// How many segments are with heaps now, of the whole process: those of runs that go on, and of
/// what they have left behind.
#[must_use]
pub fn segments_in_use() -> usize {
    reserved().map_or(0, Space::taken)
}

/// The space, which is reserved now if it was not before. `None` where the system refuses it.
pub(super) fn reserve() -> Option<&'static Space<Heap>> {
    SPACE.get_or_init(Space::new).as_ref()
}

/// The way of this thread's allocations. When it is dropped, they go where they went before.
#[derive(Debug)]
#[must_use = "allocations go this way for as long as it lives"]
pub struct Route {
    pub(super) before: Option<&'static Heap>,
    pub(super) _not_send: PhantomData<*const ()>,
}

/// Lets this thread allocate as a program without heaps does.
pub fn unrouted() -> Route {
    Route { before: ROUTE.replace(None), _not_send: PhantomData }
}

/// Whether this thread allocates in a heap.
fn is_routed() -> bool {
    ROUTE.get().is_some()
}

impl Drop for Route {
    fn drop(&mut self) {
        ROUTE.set(self.before);
    }
}

impl std::fmt::Debug for Heap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Heap").field("node", &self.node()).finish_non_exhaustive()
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests;

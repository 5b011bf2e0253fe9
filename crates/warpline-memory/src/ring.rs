//! A ring: one thread pushes items, another one takes them, in the same order.
//!
//! The speculative engine has one from each worker to each other worker. Items lie in the ring by
//! value. The producer publishes what it has pushed when it chooses to: the two threads exchange a
//! cache line per publication, not per item.
//!
//! # Invariants
//!
//! - **RING-A.** `head <= published tail <= head + capacity`. The places from head to the published
//!   tail hold items, which only the consumer touches; all others only the producer touches.
//! - **RING-B.** Items come out in the order in which they were pushed, each of them once.
//!
//! # Happens-before edges
//!
//! | Edge   | Release side            | Acquire side                     | Publishes          |
//! |--------|-------------------------|----------------------------------|--------------------|
//! | RING-1 | the producer, `tail`    | the consumer, `tail`             | the items          |
//! | RING-2 | the consumer, `head`    | the producer, `head`             | the free places    |

#![expect(unsafe_code, reason = "items pass from thread to thread in uninitialized memory")]

use std::{
    cell::UnsafeCell,
    fmt,
    mem::{MaybeUninit, needs_drop},
    sync::Arc,
};

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Ordering};

/// What both ends share.
struct Ring<T> {
    /// A power of two of places; an item's number modulo their count is its place.
    places: Box<[UnsafeCell<MaybeUninit<T>>]>,
    /// The number of the first item that is not taken.
    head: CachePadded<AtomicUsize>,
    /// The number after the last published item.
    tail: CachePadded<AtomicUsize>,
}

// SAFETY: by RING-A, an item belongs to one thread at a time, and passes to the other along an edge
// RING-1 or RING-2; so the items need to be `Send` only.
unsafe impl<T: Send> Sync for Ring<T> {}

/// The end that pushes.
pub struct Producer<T> {
    ring: Arc<Ring<T>>,
    /// The number of the next item.
    tail: usize,
    /// The head when it was last read.
    head: usize,
    published: usize,
}

/// The end that takes.
pub struct Consumer<T> {
    ring: Arc<Ring<T>>,
    head: usize,
}

/// Makes a ring for at most `capacity` items at a time, rounded up to a power of two.
#[must_use]
pub fn ring<T>(capacity: usize) -> (Producer<T>, Consumer<T>) {
    let places = (0..capacity.max(1).next_power_of_two())
        .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
        .collect();
    let head = CachePadded::new(AtomicUsize::new(0));
    let tail = CachePadded::new(AtomicUsize::new(0));
    let ring = Arc::new(Ring { places, head, tail });
    let producer = Producer { ring: Arc::clone(&ring), tail: 0, head: 0, published: 0 };
    (producer, Consumer { ring, head: 0 })
}

impl<T> Ring<T> {
    #[inline]
    fn place(&self, number: usize) -> *mut MaybeUninit<T> {
        // There is at least one place, and their count is a power of two, so the mask fits.
        debug_assert!(self.places.len().is_power_of_two(), "RING-A: places that no mask fits");
        self.places[number & (self.places.len() - 1)].get()
    }
}

impl<T> Producer<T> {
    /// Appends an item, or returns it if the ring is full. The consumer sees it once it is
    /// [published](Self::publish).
    #[inline]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if !self.is_room() {
            return Err(item);
        }
        self.push_within(|| item);
        Ok(())
    }

    /// Whether there is room for another item.
    #[inline]
    pub fn is_room(&mut self) -> bool {
        self.tail.wrapping_sub(self.head) < self.ring.places.len() || self.has_room()
    }

    /// Appends the item that `make` makes, in its place: an item that is assembled elsewhere in
    /// small stores, and then copied by large loads, takes longer. Panics if there is no room.
    #[inline]
    pub fn push_within(&mut self, make: impl FnOnce() -> T) {
        let items = self.tail.wrapping_sub(self.head);
        assert!(items < self.ring.places.len(), "RING-A: a ring is full");
        // SAFETY: the place is below head + capacity and not published, so it belongs to the
        // producer (RING-A), of which there is one.
        unsafe { self.ring.place(self.tail).write(MaybeUninit::new(make())) };
        self.tail = self.tail.wrapping_add(1);
    }

    #[cold]
    fn has_room(&mut self) -> bool {
        // Ordering: Acquire, edge RING-2.
        let head = self.ring.head.load(Ordering::Acquire);
        debug_assert!(
            head.wrapping_sub(self.head) <= self.published.wrapping_sub(self.head),
            "RING-A: an item was taken that is not published"
        );
        self.head = head;
        self.tail.wrapping_sub(self.head) < self.ring.places.len()
    }

    /// Lets the consumer see all items that were pushed.
    #[inline]
    pub fn publish(&mut self) {
        if self.published != self.tail {
            debug_assert!(
                self.tail.wrapping_sub(self.published) <= self.ring.places.len(),
                "RING-A: more items are published than there are places"
            );
            self.published = self.tail;
            // Ordering: Release, edge RING-1.
            self.ring.tail.store(self.tail, Ordering::Release);
        }
    }
}

impl<T> Consumer<T> {
    /// Passes all published items to `take`, and returns their number.
    #[inline]
    pub fn drain(&mut self, mut take: impl FnMut(T)) -> usize {
        // Ordering: Acquire, edge RING-1.
        let tail = self.ring.tail.load(Ordering::Acquire);
        let count = tail.wrapping_sub(self.head);
        debug_assert!(count <= self.ring.places.len(), "RING-A: more items than places");
        if count == 0 {
            return 0;
        }
        while self.head != tail {
            let place = self.ring.place(self.head);
            // Taken before `take` runs: if it panics, the item is not taken twice.
            self.head = self.head.wrapping_add(1);
            // SAFETY: the item was published and not taken, so it belongs to the consumer (RING-A),
            // of which there is one.
            let item = unsafe { place.read() };
            // SAFETY: the producer has initialized it before it was published.
            take(unsafe { item.assume_init() });
        }
        // Ordering: Release, edge RING-2.
        self.ring.head.store(self.head, Ordering::Release);
        count
    }
}

/// Items that were pushed and not published become visible, so that they are dropped with the ring.
impl<T> Drop for Producer<T> {
    fn drop(&mut self) {
        self.publish();
    }
}

/// What was taken out by a `drain` that panicked is not dropped again.
impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        // Ordering: Release, edge RING-2.
        self.ring.head.store(self.head, Ordering::Release);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        if needs_drop::<T>() {
            // Ordering: Relaxed; both ends are gone, and dropping the last `Arc` has synchronized
            // with them.
            let (mut head, tail) =
                (self.head.load(Ordering::Relaxed), self.tail.load(Ordering::Relaxed));
            while head != tail {
                // SAFETY: nobody else is left to touch it.
                let item = unsafe { &mut *self.place(head) };
                // SAFETY: items from head to tail are initialized (RING-A).
                unsafe { item.assume_init_drop() };
                head = head.wrapping_add(1);
            }
        }
    }
}

impl<T> fmt::Debug for Producer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("tail", &self.tail).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("head", &self.head).finish_non_exhaustive()
    }
}

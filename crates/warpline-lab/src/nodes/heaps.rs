//! Where the memory of a replay lies: heaps that take segments of their own, as those of
//! `--memory-placement lp` and of the workers do.
//!
//! [`Replay`](super) allocates here what the engine's records say; pages are given to nodes there.
//!
//! # Invariants
//!
//! - **HEAPS-A.** A segment belongs to one heap, so no page has blocks of two heaps.

/// A heap takes segments of this size, as the engine's do, or larger ones for large blocks.
pub(super) const SEGMENT: u64 = 64 << 10;
/// Blocks are powers of two from this size on.
const LEAST: u64 = 64;
const CLASSES: usize = 40;

/// A block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) address: u64,
    heap: u32,
    class: u8,
}

impl Block {
    pub(super) const fn size(self) -> u64 {
        LEAST << self.class
    }
}

/// A heap: free blocks by size, the last that was freed first, and the rest of its last segment.
#[derive(Clone, Debug)]
struct Heap {
    free: Vec<Vec<u64>>,
    next: u64,
    end: u64,
}

/// All heaps.
#[derive(Clone, Debug)]
pub(super) struct Heaps {
    heaps: Vec<Heap>,
    /// The heap of each segment.
    owners: Vec<u32>,
}

impl Heaps {
    pub(super) fn new(count: usize) -> Self {
        let heap = Heap { free: vec![Vec::new(); CLASSES], next: 0, end: 0 };
        Self { heaps: vec![heap; count], owners: Vec::new() }
    }

    /// The bytes of all segments.
    pub(super) const fn bytes(&self) -> u64 {
        self.owners.len() as u64 * SEGMENT
    }

    /// The segments of a heap.
    pub(super) fn segments(&self, heap: usize) -> impl Iterator<Item = u64> {
        let of_heap = (0..).zip(&self.owners).filter(move |(_, owner)| **owner as usize == heap);
        of_heap.map(|(segment, _)| segment)
    }

    /// A block of at least `bytes`.
    pub(super) fn allocate(&mut self, heap: usize, bytes: u64) -> Block {
        let size = bytes.max(LEAST).next_power_of_two();
        let class = (size / LEAST).trailing_zeros() as u8;
        let place = &mut self.heaps[heap];
        let address = place.free[class as usize].pop().unwrap_or_else(|| {
            if place.end - place.next < size {
                let begin = self.owners.len() as u64 * SEGMENT;
                let segments = size.div_ceil(SEGMENT);
                self.owners.extend((0..segments).map(|_| heap as u32));
                (place.next, place.end) = (begin, begin + segments * SEGMENT);
            }
            place.next += size;
            place.next - size
        });
        debug_assert_eq!(self.owners[(address / SEGMENT) as usize], heap as u32, "HEAPS-A");
        Block { address, heap: heap as u32, class }
    }

    /// Gives a block back to its heap.
    pub(super) fn free(&mut self, block: Block) {
        self.heaps[block.heap as usize].free[block.class as usize].push(block.address);
    }

    /// Room for `bytes` in place of a block of the same heap, if it is too small or of another.
    pub(super) fn ensure(&mut self, block: Option<Block>, heap: usize, bytes: u64) -> Block {
        match block {
            Some(block) if block.size() >= bytes && block.heap as usize == heap => block,
            Some(block) => {
                self.free(block);
                self.allocate(heap, bytes)
            }
            None => self.allocate(heap, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks do not overlap, are used again, and heaps share no segment (HEAPS-A).
    #[test]
    fn blocks_are_used_again_by_their_heap() {
        let mut heaps = Heaps::new(2);
        let [a, b] = [0, 1].map(|heap| heaps.allocate(heap, 100));
        assert_eq!((a.address, b.address, a.size()), (0, SEGMENT, 128));
        let large = heaps.allocate(0, SEGMENT + 1);
        assert_eq!((large.address, heaps.bytes()), (2 * SEGMENT, 4 * SEGMENT));
        assert_eq!(heaps.segments(0).collect::<Vec<_>>(), [0, 2, 3]);
        let next = heaps.allocate(0, 1);
        heaps.free(a);
        assert_eq!(heaps.allocate(0, 65), a);
        assert_ne!(next.address, a.address);
        assert_eq!(heaps.ensure(Some(b), 1, 128), b);
        assert_ne!(heaps.ensure(Some(b), 1, 129).address, b.address);
        let moved = heaps.ensure(Some(b), 0, 1);
        assert_eq!((moved.heap, heaps.owners[(moved.address / SEGMENT) as usize]), (0, 0));
    }
}

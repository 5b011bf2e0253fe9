//! The bytes that an allocation takes of the heap, for models that say how much they own of it, and
//! for the logs of tracked fields.

/// What the allocator puts before each block.
const HEADER: usize = size_of::<usize>();
/// Blocks are at multiples of this.
const ALIGNMENT: usize = 2 * size_of::<usize>();
/// No block is smaller.
const LEAST: usize = 2 * ALIGNMENT;

/// The bytes that an allocation of `bytes` bytes takes of the memory, with what usual allocators
/// add (glibc's does so exactly, up to 128 KiB); 0 for an empty one, which is not made.
///
/// For [`LogicalProcess::heap_bytes`](crate::LogicalProcess::heap_bytes) of a vector:
///
/// ```
/// use warpline_core::heap_block;
///
/// fn heap_bytes(numbers: &Vec<u64>) -> usize {
///     heap_block(numbers.capacity() * size_of::<u64>())
/// }
/// assert_eq!(heap_bytes(&vec![1; 100]), 816);
/// assert_eq!(heap_bytes(&Vec::new()), 0);
/// ```
#[inline]
#[must_use]
pub const fn heap_block(bytes: usize) -> usize {
    if bytes == 0 {
        return 0;
    }
    let block = (bytes + HEADER).next_multiple_of(ALIGNMENT);
    if block < LEAST { LEAST } else { block }
}

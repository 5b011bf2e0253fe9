//! A small cache of a worker in front of its cache, as the KSR-2 has one: it allocates blocks, and
//! loads parts of a block one by one.
//!
//! [`Machine`](super::Machine) asks it for each part of a line that was read or written.
//!
//! # Invariants
//!
//! - **SUBCACHE-A.** Only blocks that it has allocated have parts in it.
//! - **SUBCACHE-B.** It holds parts only of lines that the worker's cache holds: a line that leaves
//!   the cache leaves the sub-cache, too.

use super::{
    Replacement, SubCacheParams,
    sets::{Sets, Touched},
};

/// The sub-cache of one worker.
#[derive(Clone, Debug)]
pub(super) struct SubCache {
    params: SubCacheParams,
    blocks: Sets,
    /// For each block of memory, a bit for each of its parts that is here.
    parts: Vec<u32>,
}

impl SubCache {
    pub(super) fn new(
        params: SubCacheParams,
        replacement: Replacement,
        worker: u32,
        memory_bytes: u64,
    ) -> Self {
        let blocks = memory_bytes.div_ceil(params.block_bytes.into()) as usize;
        Self {
            params,
            blocks: Sets::new(params.blocks, replacement, worker),
            parts: vec![0; blocks],
        }
    }

    /// The block and the bit of the part that has the byte at `address`.
    const fn place(&self, address: u64) -> (u32, u32) {
        let SubCacheParams { block_bytes, part_bytes, .. } = self.params;
        let block = (address / block_bytes as u64) as u32;
        (block, 1 << (address % block_bytes as u64 / part_bytes as u64))
    }

    /// Touches the parts from `begin` up to `end`, which lie in one line. Returns how many were
    /// here, and how many were not.
    pub(super) fn touch(&mut self, begin: u64, end: u64) -> (u64, u64) {
        let part_bytes = u64::from(self.params.part_bytes);
        let (mut hits, mut misses) = (0, 0);
        for part in begin / part_bytes..=(end - 1) / part_bytes {
            let (block, bit) = self.place(part * part_bytes);
            let touched = self.blocks.touch(block);
            if let Touched::Replaced(old) = touched {
                self.parts[old as usize] = 0;
            }
            let parts = &mut self.parts[block as usize];
            debug_assert!(
                touched == Touched::Present || *parts == 0,
                "SUBCACHE-A: block {block} was not allocated, but has parts"
            );
            let is_here = *parts & bit != 0;
            *parts |= bit;
            *(if is_here { &mut hits } else { &mut misses }) += 1;
        }
        (hits, misses)
    }

    /// Removes all parts of a line.
    pub(super) fn remove(&mut self, begin: u64, end: u64) {
        for address in (begin..end).step_by(self.params.part_bytes as usize) {
            let (block, bit) = self.place(address);
            self.parts[block as usize] &= !bit;
        }
    }
}

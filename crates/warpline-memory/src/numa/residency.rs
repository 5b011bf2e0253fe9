//! Where the pages of a heap are, and what became of those that were to be moved.
//!
//! [`heap`](super::heap) counts, and reports of runs tell.

use super::system;

/// Pages are counted in steps of this many.
const COUNTED_AT_ONCE: usize = 1 << 12;

/// Where the pages of a heap are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residency {
    /// Pages that have memory.
    pub pages: u64,
    /// Those of them that are on the heap's node.
    pub pages_at_home: u64,
    /// How often the system refused to bind pages.
    pub refused: u64,
    /// Runs of segments that were not bound, because the system has room for so many bindings of a
    /// process only.
    pub beyond_limit: u64,
}

impl Residency {
    /// The sum of both.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            pages: self.pages + other.pages,
            pages_at_home: self.pages_at_home + other.pages_at_home,
            refused: self.refused + other.refused,
            beyond_limit: self.beyond_limit + other.beyond_limit,
        }
    }
}

/// What became of the pages of a heap that were to be moved to its node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Realigned {
    /// Segments whose pages were looked at.
    pub segments: u64,
    /// Pages that are elsewhere still.
    pub pages_left: u64,
    /// Segments that could not be bound to the node: to try again makes no sense.
    pub refused: u64,
}

/// Where the pages of a range are, with this node as their home.
pub(super) fn residency_of(memory: *const u8, bytes: usize, node: u32) -> Residency {
    let pages = (0..bytes).step_by(system::page_size()).map(|page| memory.wrapping_add(page));
    let pages: Vec<_> = pages.collect();
    let mut residency = Residency::default();
    for nodes in pages.chunks(COUNTED_AT_ONCE).filter_map(system::nodes_of) {
        residency.pages += nodes.iter().filter(|&&found| found >= 0).count() as u64;
        let is_home = |found: &&i32| u32::try_from(**found) == Ok(node);
        residency.pages_at_home += nodes.iter().filter(is_home).count() as u64;
    }
    residency
}

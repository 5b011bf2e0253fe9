//! A skew heap: a heap-ordered tree without balance information, which adjusts itself at every
//! merge.
//!
//! Both operations are a merge, which goes down the right spines of two trees and swaps the
//! children of each node on the way. Their amortized cost is logarithmic.
//!
//! # Invariants
//!
//! - **SKEW-A.** No entry is less than its parent's.
//!
//! # References
//!
//! D. D. Sleator and R. E. Tarjan, *Self-adjusting heaps*, SIAM Journal on Computing 15(1), 1986.

use super::{
    Entry, MinQueue,
    arena::{Arena, LEFT, NIL, RIGHT},
};

/// A skew heap with top-down merging.
#[derive(Debug)]
pub struct SkewHeap<E> {
    nodes: Arena<E>,
    root: u32,
}

impl<E> Default for SkewHeap<E> {
    fn default() -> Self {
        Self { nodes: Arena::default(), root: NIL }
    }
}

impl<E: Entry> SkewHeap<E> {
    /// Merges two trees into one, and returns its root.
    #[inline]
    fn merge(&mut self, mut a: u32, mut b: u32) -> u32 {
        // The merged tree grows downwards along left links, from the left link of NIL.
        let mut end = NIL;
        while let (Some(first), Some(second)) = (self.nodes.entry(a), self.nodes.entry(b)) {
            if second < first {
                (a, b) = (b, a);
            }
            debug_assert!(self.nodes.entry(end) <= self.nodes.entry(a), "SKEW-A");
            self.nodes.links_mut(end)[LEFT] = a;
            end = a;
            let links = self.nodes.links_mut(a);
            a = links[RIGHT];
            links[RIGHT] = links[LEFT];
        }
        self.nodes.links_mut(end)[LEFT] = if a == NIL { b } else { a };
        self.nodes.link(NIL, LEFT)
    }
}

impl<E: Entry> MinQueue<E> for SkewHeap<E> {
    #[inline]
    fn push(&mut self, entry: E) {
        let node = self.nodes.add(entry, [NIL; 2]);
        self.root = self.merge(node, self.root);
    }

    #[inline]
    fn pop_min(&mut self) -> Option<E> {
        let (least, [left, right]) = self.nodes.take(self.root)?;
        self.root = self.merge(left, right);
        debug_assert!(
            self.nodes.entry(self.root).is_none_or(|next| least <= *next),
            "SKEW-A: the root was not the least"
        );
        Some(least)
    }

    #[inline]
    fn peek_min(&mut self) -> Option<&E> {
        self.nodes.entry(self.root)
    }

    #[inline]
    fn count(&self) -> usize {
        self.nodes.count()
    }
}

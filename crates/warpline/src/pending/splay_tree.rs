//! A splay tree: a search tree that moves the entry it has searched to its root, which keeps it
//! balanced.
//!
//! Most events are inserted near those that were searched last, which makes it fast as a pending
//! set; and as a search tree it removes a canceled event at once. The amortized cost of all
//! operations is logarithmic.
//!
//! # Invariants
//!
//! - **SPLAY-A.** In the order of the tree, entries never decrease. Equal entries may be on either
//!   side of each other.
//!
//! # References
//!
//! D. D. Sleator and R. E. Tarjan, *Self-adjusting binary search trees*, Journal of the ACM 32(3),
//! 1985.

use std::cmp::Ordering;

use super::{
    Entry, PendingSet,
    arena::{Arena, LEFT, NIL, RIGHT},
};

/// A splay tree with top-down splaying.
#[derive(Debug)]
pub struct SplayTree<E> {
    nodes: Arena<E>,
    root: u32,
}

impl<E> Default for SplayTree<E> {
    fn default() -> Self {
        Self { nodes: Arena::default(), root: NIL }
    }
}

impl<E: Entry> SplayTree<E> {
    /// Splays the tree under `root` for a place in the order, and returns its new root: a node at
    /// the place, or one next to it.
    ///
    /// `compare` compares the place to an entry. The nodes on the way down are split into two
    /// trees: those before the place, whose greatest node is `ends[LEFT]`, and those after it,
    /// whose least node is `ends[RIGHT]`. Until the end, the links of NIL have the roots of the
    /// two.
    #[inline]
    fn splay(&mut self, root: u32, compare: impl Fn(&E) -> Ordering) -> u32 {
        let nodes = &mut self.nodes;
        let side = |nodes: &Arena<E>, at| match nodes.entry(at).map(&compare) {
            Some(Ordering::Less) => Some(LEFT),
            Some(Ordering::Greater) => Some(RIGHT),
            Some(Ordering::Equal) | None => None,
        };
        *nodes.links_mut(NIL) = [NIL; 2];
        let mut ends = [NIL; 2];
        let mut at = root;
        let mut way = side(nodes, at);
        while let Some(near) = way {
            let far = 1 - near;
            let mut child = nodes.link(at, near);
            way = side(nodes, child);
            if way == Some(near) {
                // Two steps to the same side: a rotation, which halves the depth of the path.
                nodes.links_mut(at)[near] = nodes.link(child, far);
                nodes.links_mut(child)[far] = at;
                at = child;
                child = nodes.link(at, near);
                way = side(nodes, child);
            }
            if child == NIL {
                break;
            }
            nodes.links_mut(ends[far])[near] = at;
            ends[far] = at;
            at = child;
        }
        let [left, right] = *nodes.links_mut(at);
        nodes.links_mut(ends[LEFT])[RIGHT] = left;
        nodes.links_mut(ends[RIGHT])[LEFT] = right;
        let [after, before] = *nodes.links_mut(NIL);
        *nodes.links_mut(at) = [before, after];
        at
    }

    /// Makes the least node of the tree under `root` its root, which then has no left child.
    #[inline]
    fn splay_least(&mut self, root: u32) -> u32 {
        if self.nodes.link(root, LEFT) == NIL {
            return root;
        }
        self.splay(root, |_| Ordering::Less)
    }
}

impl<E: Entry> PendingSet<E> for SplayTree<E> {
    #[inline]
    fn insert(&mut self, entry: E) {
        let mut links = [NIL; 2];
        if self.root != NIL {
            // The place after all equal entries.
            let near = |other: &E| if entry < *other { Ordering::Less } else { Ordering::Greater };
            let root = self.splay(self.root, near);
            let below = self.nodes.entry(root).is_some_and(|other| entry < *other);
            let side = if below { LEFT } else { RIGHT };
            links[side] = std::mem::replace(&mut self.nodes.links_mut(root)[side], NIL);
            links[1 - side] = root;
        }
        self.root = self.nodes.add(entry, links);
    }

    #[inline]
    fn pop(&mut self) -> Option<E> {
        self.root = self.splay_least(self.root);
        let (least, links) = self.nodes.take(self.root)?;
        debug_assert_eq!(links[LEFT], NIL, "SPLAY-A: lesser entries are lost");
        debug_assert!(
            self.nodes.entry(links[RIGHT]).is_none_or(|greater| least <= *greater),
            "SPLAY-A"
        );
        self.root = links[RIGHT];
        Some(least)
    }

    #[inline]
    fn peek(&mut self) -> Option<&E> {
        self.root = self.splay_least(self.root);
        self.nodes.entry(self.root)
    }

    fn remove(&mut self, entry: E) {
        self.root = self.splay(self.root, |other| entry.cmp(other));
        if self.nodes.entry(self.root) != Some(&entry) {
            return;
        }
        if let Some((_, [left, right])) = self.nodes.take(self.root) {
            debug_assert!(
                self.nodes.entry(left).is_none_or(|less| *less <= entry),
                "SPLAY-A: a greater entry on the left"
            );
            self.root = left;
            if right != NIL {
                self.root = self.splay_least(right);
                debug_assert_eq!(
                    self.nodes.link(self.root, LEFT),
                    NIL,
                    "SPLAY-A: entries are lost"
                );
                self.nodes.links_mut(self.root)[LEFT] = left;
            }
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.nodes.count()
    }
}

//! The nodes of a binary tree in one vector, linked by index. Used by the skew heap and the splay
//! tree.
//!
//! The node that was freed last is the next one to be used, while it is still in the cache.
//!
//! # Invariants
//!
//! - **NODE-A.** Node [`NIL`] has no entry. It stands for "no node", and its links serve as the
//!   ends of a tree that is under construction.

/// No node.
pub(super) const NIL: u32 = 0;
/// The index of the link to smaller entries.
pub(super) const LEFT: usize = 0;
/// The index of the link to greater entries.
pub(super) const RIGHT: usize = 1;

#[derive(Debug)]
struct Node<E> {
    /// `None` when the node is free, and in [`NIL`].
    entry: Option<E>,
    /// A free node's left link is the next free node.
    links: [u32; 2],
}

/// Nodes with an entry and two links each.
#[derive(Debug)]
pub(super) struct Arena<E> {
    nodes: Vec<Node<E>>,
    free: u32,
    count: usize,
}

impl<E> Default for Arena<E> {
    fn default() -> Self {
        let nil = Node { entry: None, links: [NIL; 2] };
        Self { nodes: vec![nil], free: NIL, count: 0 }
    }
}

impl<E> Arena<E> {
    /// The number of nodes that hold an entry.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Makes a node.
    #[inline]
    pub(super) fn add(&mut self, entry: E, links: [u32; 2]) -> u32 {
        debug_assert!(self.nodes[NIL as usize].entry.is_none(), "NODE-A: NIL has an entry");
        self.count += 1;
        let node = Node { entry: Some(entry), links };
        let at = self.free;
        if at == NIL {
            let at = u32::try_from(self.nodes.len()).expect("fewer than 2^32 pending events");
            self.nodes.push(node);
            return at;
        }
        debug_assert!(self.entry(at).is_none(), "NODE-A: a free node has an entry");
        self.free = self.link(at, LEFT);
        self.nodes[at as usize] = node;
        at
    }

    /// Frees a node, and returns its entry and its links.
    #[inline]
    pub(super) fn take(&mut self, at: u32) -> Option<(E, [u32; 2])> {
        let node = &mut self.nodes[at as usize];
        let entry = node.entry.take()?;
        debug_assert_ne!(at, NIL, "NODE-A: NIL had an entry");
        let links = std::mem::replace(&mut node.links, [self.free, NIL]);
        debug_assert!(self.count > 0, "NODE-A: an entry beyond the count");
        self.free = at;
        self.count -= 1;
        Some((entry, links))
    }

    /// A node's entry; `None` for [`NIL`].
    #[inline]
    pub(super) fn entry(&self, at: u32) -> Option<&E> {
        self.nodes[at as usize].entry.as_ref()
    }

    /// One of a node's links.
    #[inline]
    pub(super) fn link(&self, at: u32, side: usize) -> u32 {
        self.nodes[at as usize].links[side]
    }

    /// Both of a node's links, mutable.
    #[inline]
    pub(super) fn links_mut(&mut self, at: u32) -> &mut [u32; 2] {
        &mut self.nodes[at as usize].links
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a run's memory would grow with the number of events that it handles.
    #[test]
    fn freed_nodes_are_used_again() {
        let mut arena = Arena::default();
        for round in 0..100 {
            let nodes = [round, 10 + round, 20 + round].map(|entry| arena.add(entry, [NIL; 2]));
            for node in nodes {
                assert!(node != NIL && arena.take(node).is_some());
            }
        }
        assert_eq!((arena.count(), arena.nodes.len()), (0, 4), "three nodes and NIL");
    }
}

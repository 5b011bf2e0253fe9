//! Components of a graph, from its edges: union-find.
//!
//! Used by the [partition](crate::partition) and by the [operating point](crate::operating_point).
//!
//! # References
//!
//! Tarjan and van Leeuwen, *Worst-Case Analysis of Set Union Algorithms*, J. ACM 31(2), 1984: path
//! halving.

/// Vertices in components, each of which has its least vertex as representative.
#[derive(Clone, Debug)]
pub(crate) struct Forest {
    parents: Vec<u32>,
}

impl Forest {
    /// Each vertex alone.
    pub(crate) fn new(vertices: u32) -> Self {
        Self { parents: (0..vertices).collect() }
    }

    /// The representative of a vertex.
    pub(crate) fn find(&mut self, vertex: u32) -> u32 {
        let parents = &mut self.parents;
        let mut at = vertex;
        while parents[at as usize] != at {
            let above = parents[parents[at as usize] as usize];
            parents[at as usize] = above;
            at = above;
        }
        at
    }

    /// Makes one component of two.
    pub(crate) fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    proptest! {
        /// Two vertices have the same representative if a path leads from one to the other.
        #[test]
        fn components_are_those_of_paths(edges in vec((0..12_u32, 0..12_u32), 0..16)) {
            let mut forest = Forest::new(12);
            let mut least: Vec<u32> = (0..12).collect();
            for &(a, b) in &edges {
                forest.unite(a, b);
                let [one, other] = [least[a as usize], least[b as usize]];
                for mark in &mut least {
                    if [one, other].contains(mark) {
                        *mark = one.min(other);
                    }
                }
            }
            let found: Vec<u32> = (0..12).map(|vertex| forest.find(vertex)).collect();
            prop_assert_eq!(found, least);
        }
    }
}

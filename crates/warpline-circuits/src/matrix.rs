//! The factorization of a subcircuit's matrix, with an order and a pattern that are found once.
//!
//! Made by the [partition](crate::partition), used in every step of
//! [`subcircuit`](crate::subcircuit). The matrices are symmetric and positive definite, so no
//! pivoting is needed: LDLᵀ in an order of minimum degree. Most subcircuits are trees of
//! transistors, for which this order has no fill.
//!
//! # Invariants
//!
//! - **LDL-A.** An entry that is not zero, before or after elimination, has a position.

use std::collections::BTreeSet;

/// The most changes that an elimination makes: 64 MiB of positions.
const CHANGES_MAX: usize = 1 << 24;

/// Where the entries of a matrix are. Positions are indices of a slice of numbers: first the
/// diagonal, then the lower triangle by columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    nodes: usize,
    /// By column, and one more: where its rows begin in `rows`.
    starts: Box<[u32]>,
    rows: Box<[u32]>,
    /// By column: the positions that its elimination changes, in the order of the elimination.
    targets: Box<[u32]>,
}

/// The nodes in the order of their elimination, for a matrix with these entries off its diagonal;
/// nothing if the pattern would be too large. Ties are broken by the number of the node.
pub(crate) fn order(nodes: usize, edges: &[(u32, u32)]) -> Option<Vec<u32>> {
    let mut neighbors = adjacency(nodes, edges);
    let mut queue: BTreeSet<(usize, u32)> =
        neighbors.iter().enumerate().map(|(node, near)| (near.len(), node as u32)).collect();
    let (mut order, mut changes) = (Vec::with_capacity(nodes), 0);
    while let Some((degree, node)) = queue.pop_first() {
        changes += degree * (degree + 1) / 2;
        if changes > CHANGES_MAX {
            return None;
        }
        order.push(node);
        let near = std::mem::take(&mut neighbors[node as usize]);
        for &one in &near {
            let of_one = &mut neighbors[one as usize];
            queue.remove(&(of_one.len(), one));
            of_one.remove(&node);
            of_one.extend(near.iter().copied().filter(|&other| other != one));
            queue.insert((of_one.len(), one));
        }
    }
    Some(order)
}

fn adjacency(nodes: usize, edges: &[(u32, u32)]) -> Vec<BTreeSet<u32>> {
    let mut neighbors = vec![BTreeSet::new(); nodes];
    for &(a, b) in edges {
        if a != b {
            neighbors[a as usize].insert(b);
            neighbors[b as usize].insert(a);
        }
    }
    neighbors
}

impl Pattern {
    /// The pattern for nodes that are numbered in the order of their elimination.
    pub(crate) fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        let mut later = adjacency(nodes, edges);
        let (mut starts, mut rows) = (vec![0], Vec::new());
        for node in 0..nodes {
            let near: Vec<u32> =
                later[node].iter().copied().filter(|&other| other as usize > node).collect();
            for &one in &near {
                later[one as usize].extend(near.iter().copied().filter(|&other| other > one));
            }
            rows.extend(near);
            starts.push(rows.len() as u32);
        }
        let mut pattern =
            Self { nodes, starts: starts.into(), rows: rows.into(), targets: Box::default() };
        let mut targets = Vec::new();
        for node in 0..nodes {
            let column = pattern.column(node);
            for p in column.clone() {
                for q in column.start..=p {
                    targets.push(pattern.position(pattern.rows[p], pattern.rows[q]));
                }
            }
        }
        pattern.targets = targets.into();
        pattern
    }

    fn column(&self, node: usize) -> std::ops::Range<usize> {
        self.starts[node] as usize..self.starts[node + 1] as usize
    }

    /// How many numbers a matrix has.
    pub(crate) fn len(&self) -> usize {
        self.nodes + self.rows.len()
    }

    /// The position of an entry.
    ///
    /// # Panics
    ///
    /// If it has none (LDL-A).
    pub(crate) fn position(&self, a: u32, b: u32) -> u32 {
        let (column, row) = (a.min(b), a.max(b));
        if column == row {
            return column;
        }
        let rows = self.column(column as usize);
        let place = self.rows[rows.clone()].binary_search(&row).expect("LDL-A: no such entry");
        (self.nodes + rows.start + place) as u32
    }

    /// Replaces a matrix by its factors, with the inverse of D on the diagonal.
    #[inline]
    pub(crate) fn factor(&self, matrix: &mut [f64]) {
        let (diagonal, lower) = matrix.split_at_mut(self.nodes);
        let mut targets = self.targets.iter();
        for node in 0..self.nodes {
            let inverse = 1.0 / diagonal[node];
            diagonal[node] = inverse;
            let column = self.column(node);
            for p in column.clone() {
                let factor = lower[p] * inverse;
                for q in column.start..=p {
                    let change = factor * lower[q];
                    let target = *targets.next().expect("one for each pair") as usize;
                    match target.checked_sub(self.nodes) {
                        None => diagonal[target] -= change,
                        Some(target) => lower[target] -= change,
                    }
                }
            }
            for entry in &mut lower[column] {
                *entry *= inverse;
            }
        }
    }

    /// Solves with [factors](Self::factor) for the right-hand side in `x`, and leaves the solution
    /// there.
    #[inline]
    pub(crate) fn solve(&self, factors: &[f64], x: &mut [f64]) {
        let (inverses, lower) = factors.split_at(self.nodes);
        for node in 0..self.nodes {
            let value = x[node];
            for p in self.column(node) {
                x[self.rows[p] as usize] -= lower[p] * value;
            }
        }
        for node in (0..self.nodes).rev() {
            let mut value = x[node] * inverses[node];
            for p in self.column(node) {
                value -= lower[p] * x[self.rows[p] as usize];
            }
            x[node] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    proptest! {
        /// The solution fulfills the equations, for every graph of conductances.
        #[test]
        fn solves_the_equations(
            nodes in 1..12_usize,
            edges in vec((0..12_u32, 0..12_u32, 1e-6..1e-2), 0..30),
            right in vec(-1.0..1.0, 12),
        ) {
            let n = nodes as u32;
            let edges = edges.into_iter().map(|(a, b, g)| (a % n, b % n, g));
            let edges: Vec<_> = edges.filter(|edge| edge.0 != edge.1).collect();
            let pairs: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
            let order = order(nodes, &pairs).expect("small");
            let mut place = vec![0; nodes];
            for (at, &node) in order.iter().enumerate() {
                place[node as usize] = at as u32;
            }
            let pairs: Vec<_> =
                pairs.iter().map(|&(a, b)| (place[a as usize], place[b as usize])).collect();
            let pattern = Pattern::new(nodes, &pairs);
            let mut matrix = vec![0.0; pattern.len()];
            matrix[..nodes].fill(1e-3);
            for (&(a, b), &(_, _, g)) in pairs.iter().zip(&edges) {
                matrix[a as usize] += g;
                matrix[b as usize] += g;
                matrix[pattern.position(a, b) as usize] -= g;
            }
            let mut x = right[..nodes].to_vec();
            pattern.factor(&mut matrix);
            pattern.solve(&matrix, &mut x);
            let mut left: Vec<f64> = x.iter().map(|x| 1e-3 * x).collect();
            for (&(a, b), &(_, _, g)) in pairs.iter().zip(&edges) {
                let current = g * (x[a as usize] - x[b as usize]);
                left[a as usize] += current;
                left[b as usize] -= current;
            }
            for (left, right) in left.iter().zip(&right) {
                prop_assert!((left - right).abs() < 1e-9, "{left} is not {right}");
            }
        }
    }
}

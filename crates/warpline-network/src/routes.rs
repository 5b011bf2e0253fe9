//! Equal-cost routes: which links lead from a node to a destination on the shortest way.
//!
//! Made once for a network; handlers look links up.
//!
//! # Invariants
//!
//! - **ROUTE-B.** The links of a node are in the order of the neighbors; of those that are nearer
//!   to the destination, a flow takes the one that its hash with the node says. So all packets of a
//!   flow take the same way.

use std::collections::{BTreeMap, VecDeque};

/// The most entries of all tables: 2 GiB.
const ENTRIES_MAX: usize = 1 << 30;
/// The most steps of the searches for routes: minutes.
const STEPS_MAX: usize = 1 << 36;
/// The distance of what cannot be reached.
const FAR: u32 = u32::MAX;

/// A table for each node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes(Vec<Table>);

/// The links of a node that lead to each destination.
#[derive(Clone, Debug, Default)]
struct Table {
    /// By destination, which of `sets` leads there. Empty for a node with one link.
    choice: Vec<u16>,
    /// Links, as places among those of the node. The first one is empty.
    sets: Vec<Vec<u32>>,
}

/// Why there are no routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// A node that a packet may come from does not reach a destination.
    Apart {
        /// The node.
        from: u32,
        /// The destination.
        to: u32,
    },
    /// The tables are too large, or too long to make.
    TooLarge,
}

/// A hash of a flow and a node.
#[inline]
const fn hash(flow: u32, node: u32) -> u32 {
    let mut x = ((flow as u64) << 32 | node as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    (x ^ x >> 32) as u32
}

impl Routes {
    /// The routes to these destinations, each of which is reached by these nodes.
    pub(crate) fn new<'a>(
        neighbors: &[Vec<(u32, usize)>],
        wanted: impl Iterator<Item = (u32, &'a [u32])>,
    ) -> Result<Self, NoRoute> {
        let wanted: Vec<_> = wanted.collect();
        let width = wanted.iter().map(|(to, _)| *to as usize + 1).max().unwrap_or(0);
        let switches = neighbors.iter().filter(|ports| ports.len() > 1).count();
        let links: usize = neighbors.iter().map(Vec::len).sum();
        let is_large = links.saturating_mul(wanted.len()) > STEPS_MAX;
        if is_large || switches.saturating_mul(width) > ENTRIES_MAX {
            return Err(NoRoute::TooLarge);
        }
        let table = |ports: &Vec<_>| {
            let choice = if ports.len() > 1 { vec![0; width] } else { Vec::new() };
            Table { choice, sets: vec![Vec::new()] }
        };
        let mut tables: Vec<_> = neighbors.iter().map(table).collect();
        // By node: the numbers of the sets that there are.
        let mut known = vec![BTreeMap::new(); neighbors.len()];
        let mut near = Vec::new();
        for (to, sources) in wanted {
            let distances = distances(neighbors, to);
            if let Some(&from) = sources.iter().find(|from| distances[**from as usize] == FAR) {
                return Err(NoRoute::Apart { from, to });
            }
            for (node, table) in tables.iter_mut().enumerate() {
                let here = distances[node];
                if table.choice.is_empty() || here == FAR || here == 0 {
                    continue;
                }
                near.clear();
                let ports = (0_u32..).zip(&neighbors[node]);
                let nearer = ports.filter(|(_, (next, _))| distances[*next as usize] < here);
                near.extend(nearer.map(|(port, _)| port));
                let all = known[node].len() + 1;
                let number = *known[node].entry(near.clone()).or_insert(all);
                if number == all {
                    table.sets.push(near.clone());
                }
                table.choice[to as usize] = u16::try_from(number).map_err(|_| NoRoute::TooLarge)?;
            }
        }
        Ok(Self(tables))
    }

    /// The place among the links of a node of the one that a flow takes (ROUTE-B).
    #[inline]
    pub(crate) fn next(&self, node: usize, destination: u32, flow: u32) -> usize {
        let table = &self.0[node];
        // A node with one link has no choice.
        let Some(&choice) = table.choice.get(destination as usize) else { return 0 };
        let set = &table.sets[usize::from(choice)];
        match set.len() {
            1 => set[0] as usize,
            all => set[hash(flow, node as u32) as usize % all] as usize,
        }
    }
}

/// How many links each node is away from a destination.
fn distances(neighbors: &[Vec<(u32, usize)>], to: u32) -> Vec<u32> {
    let mut distances = vec![FAR; neighbors.len()];
    distances[to as usize] = 0;
    let mut queue = VecDeque::from([to]);
    while let Some(node) = queue.pop_front() {
        let next = distances[node as usize] + 1;
        for &(neighbor, _) in &neighbors[node as usize] {
            let distance = &mut distances[neighbor as usize];
            if *distance == FAR {
                *distance = next;
                queue.push_back(neighbor);
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ports::neighbors,
        topology::{Link, Topology},
    };

    fn topology(pairs: &[[u32; 2]]) -> Topology {
        let link = |&ends: &[u32; 2]| Link { ends, rate: 1, delay: 1, queue: 1 };
        let nodes = pairs.iter().flatten().max().map_or(0, |most| *most as usize + 1);
        let links = pairs.iter().map(link).collect();
        Topology { nodes, links, ..Topology::default() }
    }

    /// ROUTE-B: flows spread over the shortest ways, each flow keeps to one, and no other is taken.
    #[test]
    fn flows_take_the_shortest_ways() {
        // From 0 to 5: over 1, 2 or 3, with two links to 3; the way over 4 and 6 is longer.
        let pairs =
            [[0, 3], [0, 1], [0, 2], [0, 3], [0, 4], [4, 6], [6, 5], [1, 5], [2, 5], [3, 5]];
        let topology = topology(&pairs);
        let neighbors = neighbors(&topology);
        assert_eq!(neighbors[0], [(1, 1), (2, 2), (3, 0), (3, 3), (4, 4)]);
        let routes = Routes::new(&neighbors, [(5, &[0][..])].into_iter()).expect("routes");
        let mut taken = [0; 5];
        for flow in 0..4_000 {
            let port = routes.next(0, 5, flow);
            assert_eq!(port, routes.next(0, 5, flow));
            taken[port] += 1;
        }
        assert!(taken[..4].iter().all(|&flows| (900..1_100).contains(&flows)), "{taken:?}");
        assert_eq!(taken[4], 0);
    }

    #[test]
    fn what_cannot_be_reached_is_told() {
        let topology = topology(&[[0, 1], [2, 3]]);
        let wanted = [(1, &[0][..]), (3, &[2, 0][..])];
        let error = Routes::new(&neighbors(&topology), wanted.into_iter()).expect_err("no way");
        assert_eq!(error, NoRoute::Apart { from: 0, to: 3 });
    }
}

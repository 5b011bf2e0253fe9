//! Networks by their shape.
//!
//! `source.rs` names them. Hosts have the lowest numbers.

use crate::topology::{Cable, Topology, circle};

/// Nodes, and the pairs of them that are connected.
#[derive(Debug, Default)]
struct Plan {
    hosts: u32,
    pairs: Vec<[u32; 2]>,
    places: Vec<[f64; 2]>,
}

impl Plan {
    fn build(self, cable: Cable) -> Topology {
        let Self { hosts, pairs, places } = self;
        let links = pairs.into_iter().enumerate().map(|(n, ends)| cable.link(n, ends)).collect();
        Topology { nodes: places.len(), hosts: (0..hosts).collect(), links, places }
    }

    /// Adds a row of nodes to the picture, as wide as all others.
    fn row(&mut self, nodes: u32, north: f64) {
        let east = |n| (f64::from(n) + 0.5) / f64::from(nodes);
        self.places.extend((0..nodes).map(|n| [east(n), north]));
    }
}

/// The fat tree of `k`-port switches, `k` even: `k` pods of `k / 2` edge and as many aggregation
/// switches, `k / 2` hosts at each edge switch, and `(k / 2)²` core switches.
///
/// # References
///
/// Al-Fares, Loukissas and Vahdat, *A Scalable, Commodity Data Center Network Architecture*, 2008.
pub(crate) fn fat_tree(k: u32, cable: Cable) -> Topology {
    let half = k / 2;
    let hosts = k * half * half;
    let (edge, aggregation) = (hosts, hosts + k * half);
    let core = aggregation + k * half;
    let mut plan = Plan { hosts, ..Plan::default() };
    for (nodes, north) in [(hosts, 0.0), (k * half, 0.3), (k * half, 0.6), (half * half, 1.0)] {
        plan.row(nodes, north);
    }
    for pod in 0..k {
        for n in pod * half..(pod + 1) * half {
            plan.pairs.extend((0..half).map(|host| [n * half + host, edge + n]));
            plan.pairs.extend((0..half).map(|up| [edge + n, aggregation + pod * half + up]));
        }
        for n in 0..half {
            let up = aggregation + pod * half + n;
            plan.pairs.extend((0..half).map(|far| [up, core + n * half + far]));
        }
    }
    plan.build(cable)
}

/// Racks of `hosts` at one leaf switch each; every leaf is connected with every spine.
pub(crate) fn leaf_spine(leaves: u32, spines: u32, hosts: u32, cable: Cable) -> Topology {
    let (all, spine) = (leaves * hosts, leaves * hosts + leaves);
    let mut plan = Plan { hosts: all, ..Plan::default() };
    for (nodes, north) in [(all, 0.0), (leaves, 0.4), (spines, 1.0)] {
        plan.row(nodes, north);
    }
    for leaf in 0..leaves {
        plan.pairs.extend((0..hosts).map(|host| [leaf * hosts + host, all + leaf]));
        plan.pairs.extend((0..spines).map(|n| [all + leaf, spine + n]));
    }
    plan.build(cable)
}

/// Groups of `routers`, each connected with all others of its group, with `hosts` hosts, and with
/// `globals` other groups; there are as many groups as that allows, `routers * globals + 1`.
///
/// # References
///
/// Kim, Dally, Scott and Abts, *Technology-Driven, Highly-Scalable Dragonfly Topology*, 2008.
pub(crate) fn dragonfly(routers: u32, hosts: u32, globals: u32, cable: Cable) -> Topology {
    let groups = routers * globals + 1;
    let all = groups * routers * hosts;
    let router = |group: u32, n: u32| all + group * routers + n;
    let mut plan = Plan { hosts: all, ..Plan::default() };
    // Routers on a circle, hosts outside of them.
    let inner = circle((groups * routers) as usize);
    let outer = circle(all as usize);
    plan.places.extend(outer.into_iter().map(|[east, north]| [1.2 * east, 1.2 * north]));
    plan.places.extend(inner);
    for n in 0..groups * routers {
        plan.pairs.extend((0..hosts).map(|host| [n * hosts + host, all + n]));
    }
    for group in 0..groups {
        for n in 0..routers {
            plan.pairs.extend((n + 1..routers).map(|m| [router(group, n), router(group, m)]));
        }
        // The nth port of a group leads to the nth group after it, counted around.
        for other in group + 1..groups {
            let here = (other - group - 1) / globals;
            let there = (groups - (other - group) - 1) / globals;
            plan.pairs.push([router(group, here), router(other, there)]);
        }
    }
    plan.build(cable)
}

/// A ring of nodes that send, receive and pass on.
pub(crate) fn ring(nodes: u32, cable: Cable) -> Topology {
    let pairs = (0..nodes).map(|n| [n, (n + 1) % nodes]).collect();
    Plan { hosts: nodes, pairs, places: circle(nodes as usize) }.build(cable)
}

/// A grid of nodes that send, receive and pass on.
pub(crate) fn grid(width: u32, height: u32, cable: Cable) -> Topology {
    let mut plan = Plan { hosts: width * height, ..Plan::default() };
    for row in 0..height {
        for column in 0..width {
            let n = row * width + column;
            plan.places.push([f64::from(column), f64::from(height - row)]);
            if column + 1 < width {
                plan.pairs.push([n, n + 1]);
            }
            if row + 1 < height {
                plan.pairs.push([n, n + width]);
            }
        }
    }
    plan.build(cable)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CABLE: Cable = Cable { rate: 1, delay: 1000.0, spread: 0.5, queue: 1 };

    /// How many links each node has.
    fn degrees(topology: &Topology) -> Vec<usize> {
        let mut degrees = vec![0; topology.nodes];
        topology.links.iter().flat_map(|link| link.ends).for_each(|end| degrees[end as usize] += 1);
        assert_eq!(topology.places.len(), topology.nodes);
        degrees
    }

    #[test]
    fn a_fat_tree_uses_all_ports() {
        for k in [2, 4, 8, 16] {
            let topology = fat_tree(k, CABLE);
            let (k, hosts) = (k as usize, topology.hosts.len());
            assert_eq!((hosts, topology.nodes), (k * k * k / 4, k * k * k / 4 + 5 * k * k / 4));
            let degrees = degrees(&topology);
            assert!(degrees[..hosts].iter().all(|&degree| degree == 1));
            assert!(degrees[hosts..].iter().all(|&degree| degree == k));
        }
    }

    #[test]
    fn a_dragonfly_connects_each_pair_of_groups_once() {
        for (routers, hosts, globals) in [(4, 2, 2), (3, 1, 2), (1, 2, 3), (6, 3, 3)] {
            let topology = dragonfly(routers, hosts, globals, CABLE);
            let groups = routers * globals + 1;
            let all = groups * routers * hosts;
            assert_eq!(topology.hosts.len(), all as usize);
            let degree = (routers - 1 + hosts + globals) as usize;
            assert!(degrees(&topology)[all as usize..].iter().all(|&found| found == degree));
            let group = |end: u32| (end - all) / routers;
            let between = topology.links.iter().map(|link| link.ends).filter(|[a, _]| *a >= all);
            let mut pairs: Vec<_> = between.map(|ends| ends.map(group)).collect();
            pairs.retain(|[a, b]| a != b);
            pairs.sort_unstable();
            let expected = (0..groups).flat_map(|a| (a + 1..groups).map(move |b| [a, b]));
            assert_eq!(pairs, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_other_shapes_have_their_links() {
        assert_eq!(degrees(&ring(5, CABLE)), [2; 5]);
        assert_eq!(degrees(&grid(3, 2, CABLE)), [2, 3, 2, 2, 3, 2]);
        assert_eq!(degrees(&leaf_spine(2, 3, 1, CABLE)), [1, 1, 4, 4, 2, 2, 2]);
    }

    /// Delays differ by the spread at most, and do differ; a spread of 0 makes them equal.
    #[test]
    fn delays_are_spread() {
        let delays: Vec<_> = grid(20, 20, CABLE).links.iter().map(|link| link.delay).collect();
        assert!(delays.iter().all(|delay| (500..=1500).contains(delay)));
        assert!(
            delays.iter().any(|delay| *delay < 600) && delays.iter().any(|delay| *delay > 1400)
        );
        let equal = grid(20, 20, Cable { spread: 0.0, ..CABLE });
        assert!(equal.links.iter().all(|link| link.delay == 1000));
    }
}

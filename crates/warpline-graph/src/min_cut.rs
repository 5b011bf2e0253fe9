//! Assigns nodes to workers with METIS, so that few edges lead from one worker to another; behind
//! the cargo feature `metis`.

use std::{
    error::Error,
    sync::{Mutex, PoisonError},
};

use crate::{EdgeId, NodeId, PlanError, Topology, round_robin};

/// Up to this number of parts, METIS bisects recursively, which cuts less than a direct k-way
/// partition (its manual, section 3.1).
const HALVES_MAX: usize = 8;

/// Assigns nodes to workers so that few edges lead from one worker to another, and workers have
/// nodes of about equal weight: a partition by METIS (G. Karypis and V. Kumar, *A fast and high
/// quality multilevel scheme for partitioning irregular graphs*, SIAM Journal on Scientific
/// Computing 20(1), 1998). The same graph gets the same partition every time and at every rank.
///
/// # Errors
///
/// When there is not a weight for each node, the graph has 2^30 nodes or edges, or METIS fails,
/// most likely for lack of memory.
pub fn min_cut(
    topology: &Topology,
    weights: &[u64],
    workers: usize,
) -> Result<Vec<usize>, PlanError> {
    /// METIS has one random generator for the whole operating-system process, which each call
    /// seeds: calls must not overlap.
    static METIS: Mutex<()> = Mutex::new(());
    let nodes = topology.nodes();
    if weights.len() != nodes {
        return Err(PlanError::OtherPartition { entries: weights.len(), nodes });
    }
    if workers <= 1 || nodes <= workers {
        return Ok(round_robin(nodes, workers.max(1)));
    }
    if nodes.max(topology.edges()) >= 1 << 30 || workers >= 1 << 30 {
        return Err(PlanError::TooLarge);
    }
    let (offsets, neighbors, links) = undirected(topology);
    let of_nodes = scaled(weights);
    let mut parts = vec![0; nodes];
    let failed = |error: &dyn Error| PlanError::Partitioner(error.to_string());
    let graph = metis::Graph::new(1, workers as metis::Idx, &offsets, &neighbors);
    let graph = graph.map_err(|error| failed(&error))?;
    let graph = graph.set_adjwgt(&links).set_vwgt(&of_nodes);
    let alone = METIS.lock().unwrap_or_else(PoisonError::into_inner);
    let cut = if workers <= HALVES_MAX {
        graph.part_recursive(&mut parts)
    } else {
        graph.part_kway(&mut parts)
    };
    drop(alone);
    cut.map_err(|error| failed(&error))?;
    Ok(parts.into_iter().map(|part| part as usize).collect())
}

/// The weights in METIS's form: their sum fits into its numbers, and none is 0, so that nodes
/// without weight are shared, too.
fn scaled(weights: &[u64]) -> Vec<metis::Idx> {
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    // With one more for each node it stays below 2^31.
    let least = (total >> 29) + 1;
    weights.iter().map(|&weight| (u128::from(weight) / least) as metis::Idx + 1).collect()
}

/// The graph in METIS's form: for each node the index of its first neighbor, then the sorted
/// neighbors, then the number of edges to each, in both directions. Edges from a node to itself are
/// left out.
fn undirected(topology: &Topology) -> (Vec<metis::Idx>, Vec<metis::Idx>, Vec<metis::Idx>) {
    let (mut offsets, mut all, mut weights) = (vec![0], Vec::new(), Vec::new());
    for node in (0..topology.nodes() as u32).map(NodeId) {
        let to = topology.outgoing(node).map(|edge| topology.to(EdgeId(edge)));
        let from = topology.incoming(node).iter().map(|&edge| topology.from(edge));
        let mut neighbors: Vec<_> = to.chain(from).filter(|other| *other != node).collect();
        neighbors.sort_unstable();
        for same in neighbors.chunk_by(|a, b| a == b) {
            all.push(same[0].0 as metis::Idx);
            weights.push(same.len() as metis::Idx);
        }
        offsets.push(all.len() as metis::Idx);
    }
    (offsets, all, weights)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks;
    use proptest::{collection::vec, prelude::*};

    fn cut(topology: &Topology, parts: &[usize]) -> usize {
        let ends = |edge| [topology.from(EdgeId(edge)), topology.to(EdgeId(edge))];
        let is_cut = |[from, to]: [NodeId; 2]| parts[from.index()] != parts[to.index()];
        (0..topology.edges() as u32).map(ends).filter(|ends| is_cut(*ends)).count()
    }

    /// A torus whose nodes are numbered at random: neighbors do not have neighboring numbers.
    fn torus(side: usize) -> Topology {
        let number = |x: usize, y: usize| ((x % side) * side + y % side) * 7919 % (side * side);
        let nodes = (0..side).flat_map(|x| (0..side).map(move |y| (x, y)));
        let edges = nodes.flat_map(|(x, y)| {
            let neighbors = [(x + 1, y), (x, y + 1), (x + side - 1, y), (x, y + side - 1)];
            neighbors.map(|(to_x, to_y)| (number(x, y), number(to_x, to_y)))
        });
        Topology::new(side * side, edges).unwrap()
    }

    #[test]
    fn few_edges_of_a_torus_are_cut() {
        let torus = torus(32);
        for workers in [2, 3, 4, 8, 16] {
            let parts = min_cut(&torus, &[1; 1024], workers).unwrap();
            let share = 1024 / workers;
            for worker in 0..workers {
                let nodes = parts.iter().filter(|part| **part == worker).count();
                assert!((share * 9 / 10..=share * 11 / 10 + 1).contains(&nodes), "{nodes}");
            }
            // Square parts have a border of four sides; METIS may be off by a half.
            let best = 4 * workers * share.isqrt() * 3 / 2;
            assert!(cut(&torus, &parts) <= best, "{} of {best}", cut(&torus, &parts));
            assert!(best < cut(&torus, &blocks(1024, workers)) / 2);
        }
    }

    /// A corner of the torus is a hundred times as busy as the rest: the workers share it, and cut
    /// little. (With equal weights one of two workers has nearly all of it.)
    #[test]
    fn a_busy_corner_is_shared() {
        let number = |x: usize, y: usize| (x * 32 + y) * 7919 % 1024;
        let mut weights = [10; 1024];
        let corner = (0..8).flat_map(|x| (0..8).map(move |y| number(x, y)));
        corner.for_each(|node| weights[node] = 1000);
        let torus = torus(32);
        for workers in [2, 3, 4, 8] {
            let parts = min_cut(&torus, &weights, workers).unwrap();
            let mut loads = vec![0; workers];
            parts.iter().zip(weights).for_each(|(part, weight)| loads[*part] += weight);
            let (most, total) = (loads.iter().max().unwrap(), weights.iter().sum::<u64>());
            assert!(most * workers as u64 * 10 <= total * 11, "{loads:?}");
            assert!(cut(&torus, &parts) < cut(&torus, &blocks(1024, workers)) / 2);
        }
        let equal = min_cut(&torus, &[1; 1024], 2).unwrap();
        let load: u64 = (0..1024).filter(|node| equal[*node] == 0).map(|node| weights[node]).sum();
        let total: u64 = weights.iter().sum();
        assert!(load.max(total - load) * 10 > total * 7, "{load} of {total}");
    }

    /// Weights of any size are scaled, and none vanishes.
    #[test]
    fn weights_fit() {
        for weights in [vec![u64::MAX; 1000], vec![0; 1000], vec![1, u64::MAX, 3]] {
            let scaled = scaled(&weights);
            let sum: i64 = scaled.iter().map(|&weight| i64::from(weight)).sum();
            assert!(sum < 1 << 31 && scaled.iter().all(|weight| *weight > 0), "{sum}");
        }
    }

    /// Ranks that are threads call at the same time.
    #[test]
    fn all_threads_get_the_same() {
        let torus = torus(24);
        let expected = min_cut(&torus, &[1; 576], 6).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for workers in [3, 6, 12, 6] {
                        let parts = min_cut(&torus, &[1; 576], workers).unwrap();
                        assert!(workers != 6 || parts == expected);
                    }
                });
            }
        });
    }

    proptest! {
        #[test]
        fn every_node_of_any_graph_is_assigned(
            (nodes, edges) in (1..40_usize)
                .prop_flat_map(|nodes| (Just(nodes), vec((0..nodes, 0..nodes), 0..120))),
            workers in 1..12_usize,
        ) {
            let topology = Topology::new(nodes, edges).unwrap();
            let parts = min_cut(&topology, &vec![1; nodes], workers).unwrap();
            prop_assert_eq!(parts.len(), nodes);
            prop_assert!(parts.iter().all(|part| *part < workers));
        }
    }
}

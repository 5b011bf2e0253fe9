//! Simple ways to assign nodes to workers; `min_cut` has a costlier one. Any other table of workers
//! is as good.

/// Equal blocks of consecutive nodes.
#[must_use]
pub fn blocks(nodes: usize, workers: usize) -> Vec<usize> {
    (0..nodes).map(|node| node * workers / nodes).collect()
}

/// Node by node, to each worker in turn.
#[must_use]
pub fn round_robin(nodes: usize, workers: usize) -> Vec<usize> {
    (0..nodes).map(|node| node % workers).collect()
}

/// Blocks of consecutive nodes of about equal weight: a node is of the worker in whose share of all
/// weight the middle of its own lies. Nodes without weight count a little, so that they
/// are shared, too.
#[must_use]
pub fn weighted_blocks(weights: &[u64], workers: usize) -> Vec<usize> {
    // A sum of 2^32 weights of 64 bits fits.
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let (nodes, workers) = (weights.len() as u128, workers as u128);
    // All together count as a hundredth, as nodes that have done nothing may do something later.
    let weight_of = |weight: u64| 100 * nodes * u128::from(weight) + total.max(1);
    let all = 100 * nodes * total + nodes * total.max(1);
    let mut before = 0;
    let worker = |&weight: &u64| {
        let own = weight_of(weight);
        let middle = 2 * before + own;
        before += own;
        ((middle * workers / (2 * all)) as usize).min(workers as usize - 1)
    };
    weights.iter().map(worker).collect()
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        /// No worker has more than its share and the greatest node, and nodes keep their order.
        #[test]
        fn blocks_have_equal_weight(weights in vec(0..1000_u64, 1..200), workers in 1..9_usize) {
            let parts = weighted_blocks(&weights, workers);
            prop_assert!(parts.is_sorted() && parts.iter().all(|part| *part < workers));
            let (total, most) = (weights.iter().sum::<u64>(), weights.iter().max().unwrap());
            let mut loads = vec![0; workers];
            parts.iter().zip(&weights).for_each(|(part, weight)| loads[*part] += weight);
            let share = total as f64 / workers as f64;
            for load in loads {
                let bound = 1.02 * (share + *most as f64) + 1.0;
                prop_assert!(load as f64 <= bound, "{load}: {weights:?}");
            }
        }

        #[test]
        fn equal_weights_are_equal_blocks(
            each in 1..50_usize,
            workers in 1..9_usize,
            weight in 0..3_u64,
        ) {
            let nodes = each * workers;
            prop_assert_eq!(weighted_blocks(&vec![weight; nodes], workers), blocks(nodes, workers));
        }
    }
}

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

//! Simple ways to deal nodes to workers; `min_cut` has a costlier one. Any other table of numbers
//! will do as well.

/// Equal blocks of neighbouring numbers.
#[must_use]
pub fn blocks(nodes: usize, workers: usize) -> Vec<usize> {
    (0..nodes).map(|node| node * workers / nodes).collect()
}

/// One after the other, in turn.
#[must_use]
pub fn round_robin(nodes: usize, workers: usize) -> Vec<usize> {
    (0..nodes).map(|node| node % workers).collect()
}

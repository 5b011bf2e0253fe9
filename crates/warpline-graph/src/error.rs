//! What can be wrong with a plan, which `topology`, `plan` and `min_cut` report.

/// What is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An end of an edge is not a node.
    #[error("an edge has node {node} at one end, but there are {nodes} nodes")]
    NoSuchNode {
        /// The node.
        node: usize,
        /// How many there are.
        nodes: usize,
    },
    /// The numbers of nodes or edges do not fit.
    #[error("the graph has more nodes or edges than 32-bit numbers can count")]
    TooLarge,
    /// The graph partitioner has failed.
    #[error("METIS cannot partition the graph: {0}")]
    Partitioner(String),
    /// The partition does not have one entry per node.
    #[error("the partition has {entries} nodes, but the graph has {nodes}")]
    OtherPartition {
        /// The nodes of the partition.
        entries: usize,
        /// The nodes of the graph.
        nodes: usize,
    },
    /// A node is assigned to a worker that does not exist.
    #[error("node {node} is assigned to worker {worker}, but there are {workers} workers")]
    NoSuchWorker {
        /// The node.
        node: usize,
        /// The worker it is assigned to.
        worker: usize,
        /// How many there are.
        workers: usize,
    },
    /// The capacity of edges is out of range.
    #[error("an edge must hold 1 event or more, and at most 2^30")]
    Capacity,
}

//! Memory of a machine with several NUMA nodes: which nodes there are, and what lies on which.
//!
//! - [`Topology`]: the nodes, their cores and their memory, as the system shows them.
//! - `system`: the system calls, with a fallback where there are none.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, section 3.

pub(crate) mod system;
mod topology;

pub use system::MemoryPolicy;
pub use topology::{Node, Topology, TopologyError};

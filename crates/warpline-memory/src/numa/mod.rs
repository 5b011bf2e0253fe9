//! Memory of a machine with several NUMA nodes: which nodes there are, and what lies on which.
//!
//! - [`Topology`]: the nodes, their cores and their memory, as the system shows them.
//! - [`NodeAllocator`] and [`Home`]: what a worker allocates lies on its node.
//! - `heap` and `space`: where that memory comes from; `bindings`: how much of it may be bound;
//!   `residency`: where its pages are.
//! - `system`: the system calls, with a fallback where there are none.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, section 3.

mod allocator;
mod bindings;
mod heap;
mod residency;
mod space;
pub(crate) mod system;
mod topology;

pub(crate) use allocator::out_of_memory;
pub use allocator::{
    Home, NodeAllocator, PlatformRoute, Way, enter_platform, on_exhausted, switch_to_platform,
    try_reserve_exact,
};
pub use heap::{Route, segments_in_use, unrouted};
pub use residency::{Realigned, Residency};
pub use system::MemoryPolicy;
pub use topology::{Node, Topology, TopologyError};

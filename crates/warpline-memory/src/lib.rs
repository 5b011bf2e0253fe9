//! Memory that the workers of a run share: event buffers, their pools, and inboxes.
//!
//! Engines use this crate, and models never see it. It has all unsafe code of the shared-memory
//! engines, behind interfaces that are safe whatever the caller does.
//!
//! - [`Arena`] and [`Buffers`]: event buffers that pass from worker to worker without a copy.
//! - [`Pool`], [`PoolKind`] and [`PoolPlan`]: where free buffers are kept.
//! - [`BufferTrace`]: which worker touches which buffer, for experiments with memory systems.
//! - [`Inbox`]: any worker pushes blocks of items, and the owner drains them.
//! - [`Lists`]: many short lists that share their memory.
//! - [`ring()`]: one thread pushes items by value, another one takes them.
//! - [`prefetch()`]: a hint to the cache.
//! - [`Clock`]: a clock that costs little to look at.
//! - [`bind_worker`]: binds a worker to a core of the process's affinity mask; [`cores`] and
//!   [`processor_name`] say what there is.
//! - [`Topology`]: the machine's NUMA nodes, their cores and their memory.
//! - [`NodeAllocator`] and [`Home`]: what a worker allocates lies on its node.
//! - [`standard_output_was_closed`]: what can be known only before `main`.

mod affinity;
mod arena;
mod clock;
mod inbox;
mod lists;
mod numa;
mod pool;
mod prefetch;
mod ring;
mod slab;
mod slots;
mod standard_output;
mod sync;
mod trace;

pub use affinity::{Binding, bind_worker, cores, processor_name, processor_time, running_threads};
pub use arena::{Arena, BufferId, Buffers, Taken};
pub use clock::Clock;
pub use crossbeam_utils::{Backoff, CachePadded};
pub use inbox::{BLOCK_ITEMS, Block, Drain, Inbox};
pub use lists::Lists;
pub use numa::{
    Home, MemoryPolicy, Node, NodeAllocator, PlatformRoute, Realigned, Residency, Route, Topology,
    TopologyError, Way, enter_platform, on_exhausted, segments_in_use, switch_to_platform,
    try_reserve_exact, unrouted,
};
pub use pool::{
    BUFFERS_MAX, PairSizes, Parts, Pool, PoolKind, PoolPlan, Quota, Stamp, Ticket, UnknownPool,
    Worth,
};
pub use prefetch::{prefetch, prefetch_ends};
pub use ring::{Consumer, Producer, ring};
pub use standard_output::standard_output_was_closed;
pub use trace::{BufferAccess, BufferAction, BufferTrace};

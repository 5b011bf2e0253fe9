//! The machine room: what workers that share memory share it with.
//!
//! Engines use this crate, models never see it. All unsafe code of the shared-memory engines is in
//! here, behind safe interfaces that no caller can break.
//!
//! - [`Arena`] and [`Buffers`]: event buffers that pass from worker to worker without being copied.
//! - [`PoolPlan`]: where free buffers are kept.
//! - [`BufferTrace`]: who touches which buffer, for experiments with memory systems.
//! - [`Inbox`]: any worker pushes blocks of mail, the owner drains them.
//! - [`prefetch()`]: a hint to the cache.
//! - [`bind_worker`]: one core for one worker, within the process's affinity mask.

mod affinity;
mod arena;
mod inbox;
mod pool;
mod prefetch;
mod slots;
mod sync;
mod trace;

pub use affinity::{Binding, bind_worker};
pub use arena::{Arena, BufferId, Buffers, Taken};
pub use crossbeam_utils::{Backoff, CachePadded};
pub use inbox::{BLOCK_ITEMS, Block, Drain, Inbox};
pub use pool::{BUFFERS_MAX, Pool, PoolPlan};
pub use prefetch::prefetch;
pub use trace::{BufferAccess, BufferAction, BufferTrace};

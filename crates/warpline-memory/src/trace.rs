//! Traces of buffer accesses: which worker touched which part of a buffer, and how.
//!
//! They are for experiments with memory systems: the laboratory replays a trace through simulated
//! caches. The [`arena`](crate::arena) reports the accesses. Without a trace, an access costs one
//! more predictable branch.

use std::{fmt, sync::Arc};

/// An access of a worker to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferAccess {
    /// The worker.
    pub worker: u32,
    /// The kind of access.
    pub action: BufferAction,
    /// The address in bytes, as if all buffers lay in one piece that begins at 0.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u32,
}

/// The kinds of accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferAction {
    /// The worker writes a message to worker `to`.
    Fill {
        /// The receiver, which may be the sender.
        to: u32,
    },
    /// The worker reads the message.
    Read,
    /// The worker writes the owner word, because the buffer is free.
    Free,
}

/// A function that is called for every access, on the thread of the worker.
#[derive(Clone)]
pub struct BufferTrace(Arc<dyn Fn(BufferAccess) + Send + Sync>);

impl BufferTrace {
    /// A trace that calls `sink`.
    pub fn new(sink: impl Fn(BufferAccess) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    #[cold]
    pub(crate) fn record(&self, access: BufferAccess) {
        (self.0)(access);
    }
}

impl fmt::Debug for BufferTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferTrace").finish_non_exhaustive()
    }
}

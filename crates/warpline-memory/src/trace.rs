//! Traces of buffer accesses: which worker touched which part of the buffers' memory, and how.
//!
//! For experiments with memory systems: the laboratory replays a trace through simulated caches.
//! Without a trace, an access costs a predictable branch more.

use std::{fmt, sync::Arc};

/// One worker's access to a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferAccess {
    /// The worker.
    pub worker: u32,
    /// What it did.
    pub action: BufferAction,
    /// Where, in bytes from the beginning of all buffers, as if they lay in one piece.
    pub address: u64,
    /// How many bytes.
    pub bytes: u32,
}

/// What a worker does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferAction {
    /// It writes a message to worker `to`.
    Fill {
        /// The receiver, which may be the sender.
        to: u32,
    },
    /// It reads the message.
    Read,
    /// It writes the buffer's header: the buffer is free.
    Free,
}

/// What is told every access. It is called on the worker's own thread.
#[derive(Clone)]
pub struct BufferTrace(Arc<dyn Fn(BufferAccess) + Send + Sync>);

impl BufferTrace {
    /// A trace that tells `sink`.
    pub fn new(sink: impl Fn(BufferAccess) + Send + Sync + 'static) -> Self {
        Self(Arc::new(sink))
    }

    #[cold]
    pub(crate) fn tell(&self, access: BufferAccess) {
        (self.0)(access);
    }
}

impl fmt::Debug for BufferTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferTrace").finish_non_exhaustive()
    }
}

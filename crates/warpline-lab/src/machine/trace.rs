//! The accesses to memory that a machine replays, and the errors of accesses that it cannot.
//!
//! [`replay`](crate::replay) and the tests make them, for
//! [`Machine::replay`](super::Machine::replay). Addresses are offsets into one block of memory, so
//! they are dense, and the same from run to run.

/// Whether an access changes its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// It does not.
    Read,
    /// It does.
    Write,
}

/// One entry of a trace: a worker and the bytes that it touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The worker, from 0.
    pub worker: u32,
    /// Whether it was a read or a write.
    pub kind: AccessKind,
    /// The first byte, counted from the beginning of the memory.
    pub address: u64,
    /// The number of bytes. They may span lines and pages; 0 bytes touch no line.
    pub bytes: u32,
}

/// An access that a machine cannot replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The machine has no such worker.
    #[error(
        "access {position} of the trace is by worker {worker}, but the machine has {workers}, \
         numbered from 0\n  what to do: give the machine as many workers as the recorded run had"
    )]
    NoSuchWorker {
        /// The number of the access in the trace, from 0.
        position: u64,
        /// The worker that it names.
        worker: u32,
        /// The machine's workers.
        workers: u32,
    },
    /// It reaches beyond the memory.
    #[error(
        "access {position} of the trace touches {bytes} bytes from {address} on, but the memory \
         ends at {memory_bytes}\n  what to do: give the machine as much memory as the recorded run \
         had; addresses count from the beginning of that memory"
    )]
    BeyondMemory {
        /// The number of the access in the trace, from 0.
        position: u64,
        /// Its first byte.
        address: u64,
        /// The number of its bytes.
        bytes: u32,
        /// The size of the machine's memory.
        memory_bytes: u64,
    },
}

//! What a machine replays: accesses to memory, and what can be wrong with one.
//!
//! Recorded by whoever runs the program under study, and given to
//! [`Machine::replay`](super::Machine::replay). Addresses are offsets into one block of memory, so
//! they are dense, and the same from run to run.

/// What an access does with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Looks at them.
    Read,
    /// Changes them.
    Write,
}

/// One entry of a trace: who touched which bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// The worker, from 0.
    pub worker: u32,
    /// Whether it read or wrote.
    pub kind: AccessKind,
    /// The first byte, counted from the beginning of the memory.
    pub address: u64,
    /// The number of bytes. They may span lines and pages; without any, no line is touched.
    pub bytes: u32,
}

/// An access that a machine cannot replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// It is by a worker that the machine does not have.
    #[error(
        "access {position} of the trace is by worker {worker}, but the machine has {workers}, \
         numbered from 0\n  what to do: raise `workers` to what the trace was recorded with"
    )]
    NoSuchWorker {
        /// Which access of the trace, counted from 0.
        position: u64,
        /// The worker that it names.
        worker: u32,
        /// The machine's workers.
        workers: u32,
    },
    /// It reaches beyond the memory.
    #[error(
        "access {position} of the trace touches {bytes} bytes from {address} on, but the memory \
         ends at {memory_bytes}\n  what to do: give the machine as much memory as the run had that \
         the trace was recorded in; addresses count from the beginning of that memory"
    )]
    BeyondMemory {
        /// Which access of the trace, counted from 0.
        position: u64,
        /// Its first byte.
        address: u64,
        /// The number of its bytes.
        bytes: u32,
        /// The size of the machine's memory.
        memory_bytes: u64,
    },
}

//! What figures 1, 2, 5, 6 and `architectures` ask a model of a machine: what the buffers of a run
//! cost there.
//!
//! [`Replay`](crate::replay::Replay) is a [`MemorySystem`] with a model of the paper's machine;
//! tests make others up. Counters of this machine are no memory system, because they cannot tell a
//! send's lock from its misses; they are in the tables of real runs.

use std::fmt;

use warpline::settings::Pool;
use warpline_models::phold::PholdParams;

use crate::{LabError, machine::Replacement};

/// A model of a machine's caches and pages, which tells what a run of Time Warp costs there.
pub trait MemorySystem: fmt::Debug + Sync {
    /// The costs of the run.
    ///
    /// # Errors
    ///
    /// When the run fails.
    fn costs(&self, run: &BufferRun) -> Result<MemoryCosts, LabError>;

    /// The machine and the method, for the text.
    fn describe(&self) -> String;
}

/// A run whose accesses to event buffers are studied.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferRun {
    /// PHOLD; the payload is the size of a message.
    pub model: PholdParams,
    /// The virtual time at which it ends.
    pub end: f64,
    /// The seed of all random streams.
    pub seed: u64,
    /// The number of workers that share the LPs.
    pub workers: usize,
    /// The buffer pool.
    pub pool: Pool,
    /// Bytes of event buffers, of all workers together.
    pub memory: u64,
    /// How a worker fetches a message that it has received.
    pub fetch: Fetch,
    /// Which line or page leaves a full set.
    pub replacement: Replacement,
}

/// How a worker fetches a message that it has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fetch {
    /// For writing, before it reads the message: no other cache has a copy any more when it changes
    /// the buffer's pointers and flags. Both of the buffer paper's systems prefetch buffers in this
    /// way (3.4).
    #[default]
    Exclusive,
    /// For reading, when it reads the message. Its first write then has to be announced.
    Shared,
}

/// The costs of a run on a memory system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemoryCosts {
    /// References that missed the worker's sub-cache, but not its cache.
    pub sub_misses: f64,
    /// References that missed the worker's cache.
    pub cache_misses: f64,
    /// Those of them that only a cache on another ring could serve.
    pub far_misses: f64,
    /// References to pages that were not mapped to the worker's cache.
    pub page_misses: f64,
    /// The average time of a send to another worker.
    pub remote_send: SendTime,
    /// The average time that a worker waits for the caches of others when it receives a message, in
    /// microseconds. It is all that a prefetch that comes early enough can hide.
    pub receive: f64,
}

/// The parts of the time of a send to another worker, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SendTime {
    /// Locking the free pool.
    pub lock: f64,
    /// Cache misses while the message is written.
    pub caching: f64,
    /// Writing the message.
    pub copy: f64,
    /// Everything else: allocating and enqueuing the buffer.
    pub rest: f64,
}

impl SendTime {
    /// All of it.
    #[must_use]
    pub fn total(self) -> f64 {
        self.lock + self.caching + self.copy + self.rest
    }
}

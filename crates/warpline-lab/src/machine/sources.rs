//! Where the numbers of a machine are from, one [`Provenance`] for each group of them.
//!
//! The presets of `params` carry their [`Sources`], and `listed` lists the numbers with them.

use crate::Provenance::{self, Estimated, Fitted, Paper, Published};

/// Where the numbers of a machine are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The number of workers, and of those on a ring.
    pub workers: Provenance,
    /// The sizes of lines and pages.
    pub sizes: Provenance,
    /// The sub-cache.
    pub sub_cache: Provenance,
    /// The cache.
    pub cache: Provenance,
    /// How many pages a worker maps.
    pub pages: Provenance,
    /// Which line or page is evicted.
    pub replacement: Provenance,
    /// The time of a hit, in the sub-cache as well.
    pub hit: Provenance,
    /// The time of a line from another worker's cache, and of a write that is announced.
    pub remote_miss: Provenance,
    /// The time of a line from a cache on another ring.
    pub far_miss: Provenance,
    /// The time of a line from memory.
    pub memory_miss: Provenance,
    /// The time of a page miss.
    pub page_miss: Provenance,
    /// The times of locks.
    pub lock: Provenance,
}

const KSR1: Provenance =
    Published("Ramachandran and others 1996, for the KSR-1; not checked for the KSR-2");
const BUFFER_3_4: Provenance = Paper("buffer paper, section 3.4");
const INTEL: Provenance = Published("Intel, Optimization Reference Manual, Golden Cove");
const ROUND: Provenance = Estimated("a round number of the order that is published");

impl Sources {
    /// Of `MachineParams::ksr2`.
    pub(super) const KSR2: Self = Self {
        workers: Paper("buffer paper, section 4; a ring: as for the KSR-1"),
        sizes: Published("the KSR-1 in netlib's Top 500 report of 1994; buffer paper, section 4"),
        sub_cache: KSR1,
        cache: Paper("buffer paper, section 4: lines come into frames of pages one by one"),
        pages: KSR1,
        replacement: Estimated("the paper says nothing about it"),
        hit: BUFFER_3_4,
        remote_miss: Published("the KSR-1 in netlib's Top 500 report of 1994"),
        far_miss: BUFFER_3_4,
        memory_miss: Estimated("as a line from another cache: no line is in none"),
        page_miss: Fitted(
            "the decline of the rate in the buffer paper's figures 4 and 5; counts of misses do \
             not depend on it",
        ),
        lock: BUFFER_3_4,
    };
    /// Of `MachineParams::server`.
    pub(super) const SERVER: Self = Self {
        workers: Estimated("a socket of the usual size"),
        sizes: Published("the architecture"),
        sub_cache: Estimated("the L1 is left out"),
        cache: INTEL,
        pages: INTEL,
        replacement: Estimated("the nearest simple rule"),
        hit: INTEL,
        remote_miss: ROUND,
        far_miss: ROUND,
        memory_miss: ROUND,
        page_miss: Estimated("a walk of about 30 cycles whose tables are in the caches"),
        lock: Estimated("measured alone and between two cores; across sockets a guess"),
    };
    /// Of `MachineParams::opteron`.
    pub(super) const OPTERON: Self = Self {
        workers: Paper("NUMA paper, section 4"),
        cache: Estimated("the L2 and a quarter of the L3 (NUMA paper, section 4) as one cache"),
        pages: Published("AMD, Software Optimization Guide for AMD Family 10h Processors"),
        hit: Estimated("about 15 cycles of L2 and 40 of L3 at 2 GHz"),
        page_miss: Estimated("a walk whose tables are in the caches"),
        ..Self::SERVER
    };
}

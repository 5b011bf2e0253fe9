//! What a machine is like: sizes, protocol, costs, and the presets, each number with its source.
//!
//! An experiment chooses the parameters; [`Machine::new`](super::Machine::new) checks them once.

use std::fmt;

use warpline::ConfigError;

use super::Sources;

/// The greatest number of workers: one bit each in a line's masks.
pub const WORKERS_MAX: u32 = 64;

/// The greatest number of lines in the memory of a machine, and of places in a cache or page map.
///
/// A line takes 40 bytes of the simulation's own memory, so this is 2.5 GiB.
pub const LINES_MAX: u64 = 1 << 26;

/// How writes reach the copies in other caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// A write removes all other copies. The states are those of MESI.
    Invalidate,
    /// A write brings all other copies up to date. The states are those of the Dragon protocol.
    Update,
}

/// Which line (or page) of a full set is evicted for a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replacement {
    /// The least recently used.
    Lru,
    /// A random one; each worker has its own stream of random numbers from this seed.
    Random(u64),
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lru => "the least recently used one leaves",
            Self::Random(_) => "a random one leaves",
        })
    }
}

/// The capacity for lines or pages, and the places where each may lie.
///
/// Number `n` lies in set `n % sets`, in any of its `ways` places. A lookup takes time in
/// proportion to its depth in the set, so large sets are for small experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// The number of sets; it need not be a power of two.
    pub sets: u32,
    /// The places in each set.
    pub ways: u32,
}

impl Geometry {
    /// One set: anything may lie anywhere.
    #[must_use]
    pub const fn fully_associative(places: u32) -> Self {
        Self { sets: 1, ways: places }
    }

    /// The capacity, in lines or pages.
    #[must_use]
    pub const fn places(self) -> u64 {
        self.sets as u64 * self.ways as u64
    }
}

/// A small cache in front of each worker's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubCacheParams {
    /// Its blocks, the unit of allocation.
    pub blocks: Geometry,
    /// The size of a block; a power of two.
    pub block_bytes: u32,
    /// The size of a part of a block, the unit of transfer; a power of two, at most a line, and at
    /// least a 32nd of a block.
    pub part_bytes: u32,
}

/// How long a lock or an unlock takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LockCosts {
    /// If nobody else uses the lock.
    pub alone_ns: f64,
    /// If another worker nearby uses it, too.
    pub near_ns: f64,
    /// If a worker far away uses it, too.
    pub far_ns: f64,
}

/// How long each kind of access takes, in nanoseconds. [`Counts::time_ns`](super::Counts::time_ns)
/// adds them up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// A part of a line that the worker's sub-cache holds.
    pub sub_hit_ns: f64,
    /// A line that the worker's own cache holds; with a sub-cache, a part of it.
    pub hit_ns: f64,
    /// A line from another worker's cache.
    pub remote_miss_ns: f64,
    /// A line from a cache on another ring, or a write that is announced to one.
    pub far_miss_ns: f64,
    /// A line that no worker's cache holds.
    pub memory_miss_ns: f64,
    /// A write to a line that other caches hold, too: on top of the hit.
    pub announcement_ns: f64,
    /// Mapping a page, on top of the time for its lines.
    pub page_miss_ns: f64,
    /// A lock or an unlock. A trace has no locks, so the estimate leaves them out.
    pub lock: LockCosts,
}

/// A machine with shared memory: equal workers, each with a private cache and a page map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineParams {
    /// The number of workers, at most [`WORKERS_MAX`].
    pub workers: u32,
    /// The workers of a ring (or of a socket): what another ring has is farther away.
    pub ring_workers: u32,
    /// The small cache in front of each worker's cache, if there is one.
    pub sub_cache: Option<SubCacheParams>,
    /// The unit of transfer and of coherence, in bytes; a power of two.
    pub line_bytes: u32,
    /// Each worker's cache, in lines. With `None` it holds every line of every mapped page, and a
    /// line is evicted only with its page.
    pub cache: Option<Geometry>,
    /// A power of two, at least a line.
    pub page_bytes: u32,
    /// How many pages a worker can map: the frames of its cache, or the reach of its TLB.
    pub pages: Geometry,
    /// Whether the lines of a page leave a worker's cache when the page is unmapped there.
    pub unmapping_evicts: bool,
    /// Which line or page is evicted.
    pub replacement: Replacement,
    /// How writes reach other copies.
    pub protocol: Protocol,
    /// How long accesses take.
    pub costs: Costs,
    /// Where these numbers are from.
    pub sources: Sources,
}

impl MachineParams {
    /// Eight processors of one ring of the Kendall Square Research KSR-2, as far as message
    /// buffers are concerned.
    ///
    /// The machine has no memory but the local caches. A local cache holds 32 MiB in page frames
    /// of 16 KiB; lines of 128 bytes (*subpages*) come into a frame one by one. So pages are what a
    /// cache runs out of: there is no geometry of lines here, and a page that is unmapped takes its
    /// lines with it.
    ///
    /// The numbers and their sources:
    ///
    /// - 8 processors on one ring, 40 MHz, 32 MiB of local cache, pages of 16 KiB: buffer paper,
    ///   3.4 and 4.
    /// - Frames are allocated by page, and lines loaded on demand: buffer paper, 4.
    /// - 16 ways, hence 128 sets: U. Ramachandran and others, *Scalability study of the KSR-1*,
    ///   Parallel Computing 22, 1996; the local cache is the same.
    /// - Lines of 128 bytes: the KSR-1 in netlib's Top 500 report of 1994.
    /// - Hit, 20 cycles of 25 ns: buffer paper, 3.4, access to the local cache. Of the sub-cache, 2
    ///   cycles: the same.
    /// - Sub-cache for data, 256 KiB: buffer paper, 3.4. It allocates blocks of 2 KiB in 64 sets of
    ///   2 ways, and loads them by 64 bytes: as for the KSR-1 (Ramachandran and others), **not
    ///   checked** against that publication. All of it is for buffers here, so misses are a lower
    ///   bound.
    /// - 32 processors on a ring: the same, because the number is missing in the text of the buffer
    ///   paper that we have.
    /// - Miss, 150 cycles: the KSR-1, the same report. This is 3.75 µs; the buffer paper measured 3
    ///   to 4, in 3.4. From another ring, 600 cycles: buffer paper, 3.4.
    /// - Lock, 3, 14 and 32 µs: buffer paper, 3.4. It is **an input**, so figure 1 cannot confirm
    ///   it.
    /// - Page miss, 0.4 ms: **fitted** to the buffer paper's figures 4 and 5, see below.
    ///
    /// All frames serve the buffers here. On the real machine the rest of the program (code, LP
    /// states, event lists) takes some of them: there the paper found page misses beyond 25 MiB of
    /// buffers, where this model has them beyond 32 MiB.
    ///
    /// The paper gives no time for a page miss, and no other source for one is known to us. By the
    /// axes of its figures, the event rate falls from about 60 000 to about 30 000 per second while
    /// page misses grow to about 350 000 in a million events. That is 33 s instead of 17 s on 8
    /// processors, so 8 * 16 s / 350 000 = 0.4 ms each, within a factor of two or so. It is the
    /// system's tables that take so long, not the ring. A claim that rests on this time is
    /// [`Basis::Fitted`](crate::Basis::Fitted); counts of misses do not depend on it.
    ///
    /// A write to a shared line goes round the ring as a miss does. A line in no cache costs the
    /// same again: the real machine never drops the last copy of a line, but moves it to another
    /// cache. Replacement is taken to be LRU, in the sub-cache as well; the paper says nothing
    /// about it.
    #[must_use]
    pub const fn ksr2() -> Self {
        const CYCLE_NS: f64 = 25.0;
        Self {
            workers: 8,
            ring_workers: 32,
            sub_cache: Some(SubCacheParams {
                blocks: Geometry { sets: 64, ways: 2 },
                block_bytes: 2 << 10,
                part_bytes: 64,
            }),
            line_bytes: 128,
            cache: None,
            page_bytes: 16 << 10,
            pages: Geometry { sets: 128, ways: 16 },
            unmapping_evicts: true,
            replacement: Replacement::Lru,
            protocol: Protocol::Invalidate,
            costs: Costs {
                sub_hit_ns: 2.0 * CYCLE_NS,
                hit_ns: 20.0 * CYCLE_NS,
                remote_miss_ns: 150.0 * CYCLE_NS,
                far_miss_ns: 600.0 * CYCLE_NS,
                memory_miss_ns: 150.0 * CYCLE_NS,
                announcement_ns: 150.0 * CYCLE_NS,
                page_miss_ns: 400_000.0,
                lock: LockCosts { alone_ns: 3_000.0, near_ns: 14_000.0, far_ns: 32_000.0 },
            },
            sources: Sources::KSR2,
        }
    }

    /// Eight cores of one socket of a server with x86 processors, built about 2023.
    ///
    /// The private cache is the L2. A miss that no other L2 can serve goes to memory: the shared
    /// L3 is left out, and so are the L1 and prefetchers. A page that leaves the TLB keeps its
    /// lines. All workers are on one socket, however many they are.
    ///
    /// The numbers and their sources:
    ///
    /// - Lines of 64 bytes, pages of 4 KiB: the architecture.
    /// - L2 of 2 MiB with 16 ways: Intel, *64 and IA-32 Architectures Optimization Reference
    ///   Manual*, Golden Cove.
    /// - Second-level TLB of 2048 entries with 16 ways: the same.
    /// - Hit, 5 ns: 15 cycles of L2 at 3 GHz, the same.
    /// - Miss, 80 ns from another core and 115 ns from memory: round numbers of the order that is
    ///   published for such processors.
    /// - Page miss, 10 ns: a walk of about 30 cycles whose tables are in the caches, estimated.
    /// - Lock, 8, 110 and 250 ns: measured alone, and as half of a line's round trip between two
    ///   cores; across sockets an estimate.
    ///
    /// The costs differ between machines by a factor of two: measure them on the machine that you
    /// want to know about. The counts do not depend on them.
    #[must_use]
    pub const fn server() -> Self {
        Self {
            workers: 8,
            ring_workers: WORKERS_MAX,
            sub_cache: None,
            line_bytes: 64,
            cache: Some(Geometry { sets: 2048, ways: 16 }),
            page_bytes: 4 << 10,
            pages: Geometry { sets: 128, ways: 16 },
            unmapping_evicts: false,
            replacement: Replacement::Lru,
            protocol: Protocol::Invalidate,
            costs: Costs {
                sub_hit_ns: 0.0,
                hit_ns: 5.0,
                remote_miss_ns: 80.0,
                far_miss_ns: 80.0,
                memory_miss_ns: 115.0,
                announcement_ns: 80.0,
                page_miss_ns: 10.0,
                lock: LockCosts { alone_ns: 8.0, near_ns: 110.0, far_ns: 250.0 },
            },
            sources: Sources::SERVER,
        }
    }

    /// Thirty-two cores of a server with four AMD Opteron 6128, built in 2010: the machine of the
    /// NUMA paper, as if all memory were on the node of the worker; `nodes` knows where it is.
    ///
    /// The numbers and their sources:
    ///
    /// - 32 cores at 2 GHz, 512 KiB of L2 per core and 6 MiB of L3 for 4 cores: NUMA paper,
    ///   section 4. A worker's cache is its L2 and a quarter of the L3, as if they were one.
    /// - Lines of 64 bytes, pages of 4 KiB: the architecture.
    /// - Second-level TLB of 512 entries with 4 ways: AMD, *Software Optimization Guide for AMD
    ///   Family 10h Processors*.
    /// - Hit, 10 ns: about 15 cycles of L2 and 40 of L3 at 2 GHz, estimated.
    /// - Miss, 70 ns from memory and twice that from another core: round numbers of the order that
    ///   is published for such processors.
    /// - Page miss, 20 ns: an estimate. Locks: those of [`server`](Self::server); no trace has any.
    #[must_use]
    pub const fn opteron() -> Self {
        Self {
            workers: 32,
            pages: Geometry { sets: 128, ways: 4 },
            costs: Costs {
                sub_hit_ns: 0.0,
                hit_ns: 10.0,
                remote_miss_ns: 140.0,
                far_miss_ns: 140.0,
                memory_miss_ns: 70.0,
                announcement_ns: 140.0,
                page_miss_ns: 20.0,
                lock: Self::server().costs.lock,
            },
            sources: Sources::OPTERON,
            ..Self::server()
        }
    }

    /// Refuses parameters that no machine can have.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::check(
            (1..=WORKERS_MAX).contains(&self.workers),
            "workers",
            self.workers,
            &format!("from 1 to {WORKERS_MAX}"),
        )?;
        let line_bytes = self.line_bytes;
        ConfigError::check(
            line_bytes.is_power_of_two(),
            "line_bytes",
            line_bytes,
            "a power of two",
        )?;
        ConfigError::check(
            self.page_bytes.is_power_of_two() && self.page_bytes >= line_bytes,
            "page_bytes",
            self.page_bytes,
            &format!("a power of two, at least a line of {line_bytes} bytes"),
        )?;
        ConfigError::check(self.ring_workers > 0, "ring_workers", 0, "1 or more")?;
        let blocks = self.sub_cache.map(|sub_cache| sub_cache.blocks);
        if let Some(SubCacheParams { block_bytes, part_bytes, .. }) = self.sub_cache {
            ConfigError::check(
                part_bytes.is_power_of_two() && part_bytes <= line_bytes,
                "part_bytes",
                part_bytes,
                &format!("a power of two, at most a line of {line_bytes} bytes"),
            )?;
            ConfigError::check(
                block_bytes.is_power_of_two() && (1..=32).contains(&(block_bytes / part_bytes)),
                "block_bytes",
                block_bytes,
                &format!("a power of two, 1 to 32 parts of {part_bytes} bytes"),
            )?;
        }
        let geometries =
            [("pages", Some(self.pages)), ("cache", self.cache), ("sub_cache", blocks)];
        for (key, geometry) in geometries {
            let Some(geometry) = geometry else { continue };
            ConfigError::check(
                (1..=LINES_MAX).contains(&geometry.places()),
                key,
                format!("{} sets of {} ways", geometry.sets, geometry.ways),
                &format!("at least one place, and at most {LINES_MAX}"),
            )?;
        }
        Ok(())
    }

    /// The number of lines in a memory of `memory_bytes` bytes.
    pub(super) fn lines_in(&self, memory_bytes: u64) -> Result<usize, ConfigError> {
        let lines = memory_bytes.div_ceil(u64::from(self.line_bytes));
        ConfigError::check(
            lines <= LINES_MAX,
            "memory_bytes",
            memory_bytes,
            &format!("at most {LINES_MAX} lines of {} bytes", self.line_bytes),
        )?;
        Ok(lines as usize)
    }
}

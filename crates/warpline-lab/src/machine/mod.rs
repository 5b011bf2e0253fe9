//! A machine with shared memory, private caches and a page map per worker, that replays a trace of
//! memory accesses and counts what happens.
//!
//! An experiment makes a [`Machine`] from [`MachineParams`], replays the accesses of a warm-up,
//! calls [`Machine::reset_counts`], replays the rest and reads the [`Counts`].
//! [`replay`](crate::replay) does so with the buffer accesses of Time Warp.
//!
//! | module | contents |
//! |---|---|
//! | this one | [`Machine`]: the page map, then the cache, then the other caches. |
//! | `params` | The parameters of a machine; the KSR-2 and a present-day server. |
//! | `sources` | Where the numbers of these machines are from. |
//! | `listed` | These numbers with their sources, in a list. |
//! | `trace` | The accesses that are replayed. |
//! | `counts` | The counts, and the time estimate. |
//! | `sets` | The lines or pages that a cache or page map holds, and which one is evicted. |
//! | `sub_cache` | A small cache in front of a worker's cache. |
//!
//! # The steps of an access
//!
//! An access is replayed line by line, in the order of addresses. Workers are ordered by the trace
//! alone, and each line is finished before the next begins.
//!
//! 1. If the line's page is not mapped at the worker, it is mapped, and another one may be
//!    unmapped. Depending on the parameters, the lines of that page are then evicted from the
//!    worker's cache.
//! 2. If the line is not in the worker's cache, it is a miss: the line is loaded, and another may
//!    be evicted. An invalidated copy leaves an empty place.
//! 3. A write then reaches the copies in other caches: they are invalidated or updated.
//! 4. The parts of the line that were touched are looked up in the worker's sub-cache, if there is
//!    one, and loaded. An update reaches a sub-cache as it reaches its cache.
//!
//! # States of a line
//!
//! | [`CopyState`] | invalidate (MESI) | update (Dragon) |
//! |---|---|---|
//! | `Absent` | not in this cache | the same |
//! | `Shared` | in several caches, as memory has it | the same |
//! | `Exclusive` | in this cache only, as memory has it | the same |
//! | `Modified` | in this cache only, newer than memory | in this cache, perhaps in others, newer than memory |
//!
//! Unlike in real machines, a cache knows when the other copies have been evicted and its own is
//! the only one. (With real MESI the line would stay `Shared`, and its next write would be
//! announced to nobody.)
//!
//! # Invariants
//!
//! - **MACHINE-A.** A worker is among a line's `holders` if and only if its cache has the line.
//! - **MACHINE-B.** When writes invalidate, a modified line has one holder.
//! - **MACHINE-C.** If unmapping evicts, a worker holds lines of mapped pages only.
//! - **MACHINE-D.** A modified line has a holder.
//!
//! # References
//!
//! R. M. Fujimoto and K. S. Panesar, *Buffer Management in Shared-Memory Time Warp Systems*, 1995
//! (the *buffer paper*): 3.1 to 3.3 for caches, 3.4 and 4 for pages. The states are those of
//! M. Papamarcos and J. Patel, *A low-overhead coherence solution for multiprocessors with private
//! cache memories*, ISCA 1984, and of E. McCreight, *The Dragon computer system*, 1984.

mod counts;
mod listed;
mod params;
mod sets;
mod sources;
mod sub_cache;
mod trace;

use warpline::ConfigError;

pub use counts::Counts;
pub use params::{
    Costs, Geometry, LINES_MAX, LockCosts, MachineParams, Protocol, Replacement, SubCacheParams,
    WORKERS_MAX,
};
use sets::{Sets, Touched};
pub use sources::Sources;
use sub_cache::SubCache;
pub use trace::{Access, AccessKind, TraceError};

/// The state of a line in one worker's cache; the [module](self) has a table of the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyState {
    /// The cache does not have it.
    Absent,
    /// Other caches have it, too.
    Shared,
    /// No other cache has it.
    Exclusive,
    /// The copy is newer than memory.
    Modified,
}

/// The state of a line of memory. Each mask has a bit per worker.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Workers whose caches have a copy.
    holders: u64,
    /// Workers whose caches have ever had one.
    seen: u64,
    /// Workers that lost their latest copy to another worker's write.
    invalidated: u64,
    /// Holders that have not touched their copy since it was updated. The bits of other workers
    /// mean nothing; loading a copy touches it.
    untouched: u64,
    /// Whether the copies are newer than memory.
    modified: bool,
}

/// One worker's share of the machine.
#[derive(Clone, Debug)]
struct WorkerMemory {
    pages: Sets,
    cache: Option<Sets>,
    sub_cache: Option<SubCache>,
    counts: Counts,
}

/// A machine with shared memory that replays a trace and counts.
///
/// # Examples
///
/// ```
/// use warpline_lab::machine::{Access, AccessKind, Machine, MachineParams};
///
/// let mut machine = Machine::new(MachineParams::ksr2(), 1 << 20)?;
/// let buffer = |worker, kind| Access { worker, kind, address: 4096, bytes: 512 };
/// machine.replay([buffer(0, AccessKind::Write), buffer(1, AccessKind::Read)])?;
/// machine.reset_counts();
/// machine.access(buffer(0, AccessKind::Write))?;
/// assert_eq!(machine.counts(0).hits, 4);
/// assert_eq!(machine.counts(1).invalidations_received, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Machine {
    params: MachineParams,
    memory_bytes: u64,
    /// Accesses since the machine was made: the position in the trace, for errors.
    position: u64,
    lines: Vec<Line>,
    /// For each page, a mask of the workers that have ever mapped it.
    pages_seen: Vec<u64>,
    workers: Vec<WorkerMemory>,
}

impl Machine {
    /// A machine with empty caches, and memory for the addresses below `memory_bytes`.
    ///
    /// # Errors
    ///
    /// If no machine can have the parameters, or the memory has more than [`LINES_MAX`] lines.
    pub fn new(params: MachineParams, memory_bytes: u64) -> Result<Self, ConfigError> {
        params.check()?;
        let lines = params.lines_in(memory_bytes)?;
        let pages = memory_bytes.div_ceil(u64::from(params.page_bytes)) as usize;
        let worker = |worker| WorkerMemory {
            pages: Sets::new(params.pages, params.replacement, worker),
            cache: params.cache.map(|cache| Sets::new(cache, params.replacement, worker)),
            sub_cache: params
                .sub_cache
                .map(|part| SubCache::new(part, params.replacement, worker, memory_bytes)),
            counts: Counts::default(),
        };
        Ok(Self {
            params,
            memory_bytes,
            position: 0,
            lines: vec![Line::default(); lines],
            pages_seen: vec![0; pages],
            workers: (0..params.workers).map(worker).collect(),
        })
    }

    /// Gives the machine more memory, if it has less than `memory_bytes`. A sub-cache keeps the
    /// size of its tables, so only a machine without one can grow.
    ///
    /// # Errors
    ///
    /// If that has more than [`LINES_MAX`] lines.
    pub fn grow(&mut self, memory_bytes: u64) -> Result<(), ConfigError> {
        debug_assert!(self.params.sub_cache.is_none(), "a sub-cache does not grow");
        if memory_bytes > self.memory_bytes {
            self.lines.resize(self.params.lines_in(memory_bytes)?, Line::default());
            let pages = memory_bytes.div_ceil(u64::from(self.params.page_bytes)) as usize;
            self.pages_seen.resize(pages, 0);
            self.memory_bytes = memory_bytes;
        }
        Ok(())
    }

    /// The parameters of the machine.
    #[must_use]
    pub const fn params(&self) -> &MachineParams {
        &self.params
    }

    /// The counts of one worker since the last reset.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    #[must_use]
    pub fn counts(&self, worker: u32) -> &Counts {
        &self.workers[worker as usize].counts
    }

    /// The counts of all workers together since the last reset.
    #[must_use]
    pub fn total(&self) -> Counts {
        self.workers.iter().map(|worker| worker.counts).sum()
    }

    /// Sets all counts to 0; caches and page maps stay as they are.
    ///
    /// Earlier updates are forgotten: they are not counted, even if they turn out to be needless.
    pub fn reset_counts(&mut self) {
        for worker in &mut self.workers {
            worker.counts = Counts::default();
        }
        for line in &mut self.lines {
            line.untouched = 0;
        }
    }

    /// The state of the line at an address in a worker's cache.
    ///
    /// # Panics
    ///
    /// If there is no such worker, or no such address.
    #[must_use]
    pub fn copy_state(&self, worker: u32, address: u64) -> CopyState {
        assert!(worker < self.params.workers, "there is a worker {worker}");
        let line = &self.lines[(address / u64::from(self.params.line_bytes)) as usize];
        let me = 1 << worker;
        if line.holders & me == 0 {
            CopyState::Absent
        } else if line.modified {
            CopyState::Modified
        } else if line.holders == me {
            CopyState::Exclusive
        } else {
            CopyState::Shared
        }
    }

    /// Replays a trace, or a part of one.
    ///
    /// # Errors
    ///
    /// The error of the first access that the machine cannot replay; those before it are replayed.
    pub fn replay(&mut self, trace: impl IntoIterator<Item = Access>) -> Result<(), TraceError> {
        trace.into_iter().try_for_each(|access| self.access(access))
    }

    /// Replays one access.
    ///
    /// # Errors
    ///
    /// If there is no such worker, or the access reaches beyond the memory. Then nothing has
    /// changed.
    pub fn access(&mut self, access: Access) -> Result<(), TraceError> {
        let Access { worker, kind, address, bytes } = access;
        let end = self.check(&access)?;
        self.position += 1;
        let worker = worker as usize;
        self.workers[worker].counts.accesses += 1;
        if bytes == 0 {
            return Ok(());
        }
        let line_shift = self.params.line_bytes.trailing_zeros();
        let page_shift = self.params.page_bytes.trailing_zeros() - line_shift;
        for line in address >> line_shift..=(end - 1) >> line_shift {
            let line = line as u32;
            self.map(worker, line >> page_shift);
            let hit = self.touch(worker, kind, line);
            let (begin, until) = self.bytes_of(line);
            self.touch_parts(worker, hit, begin.max(address), until.min(end));
        }
        Ok(())
    }

    /// The first byte of a line, and the end of the line.
    fn bytes_of(&self, line: u32) -> (u64, u64) {
        let bytes = u64::from(self.params.line_bytes);
        (u64::from(line) * bytes, ((u64::from(line) + 1) * bytes).min(self.memory_bytes))
    }

    /// Looks up bytes of a line in the worker's sub-cache; `hit` is whether its cache had the line.
    fn touch_parts(&mut self, worker: usize, hit: bool, begin: u64, end: u64) {
        let WorkerMemory { sub_cache, counts, .. } = &mut self.workers[worker];
        let Some(sub_cache) = sub_cache else {
            counts.sub_misses += u64::from(hit);
            return;
        };
        let (hits, misses) = sub_cache.touch(begin, end);
        debug_assert!(hit || hits == 0, "SUBCACHE-B: worker {worker} had part of a missing line");
        counts.sub_hits += hits;
        counts.sub_misses += if hit { misses } else { 0 };
    }

    /// A line is no longer in a worker's cache.
    fn forget_parts(&mut self, worker: usize, line: u32) {
        let (begin, end) = self.bytes_of(line);
        if let Some(sub_cache) = &mut self.workers[worker].sub_cache {
            sub_cache.remove(begin, end);
        }
    }

    /// The workers on the ring of a worker.
    fn ring_of(&self, worker: usize) -> u64 {
        let ring_workers = self.params.ring_workers.min(WORKERS_MAX);
        let first = worker as u32 / ring_workers * ring_workers;
        (u64::MAX >> (WORKERS_MAX - ring_workers)) << first
    }

    /// The end of the access, if the machine can replay it.
    fn check(&self, access: &Access) -> Result<u64, TraceError> {
        let (position, workers) = (self.position, self.params.workers);
        let &Access { worker, address, bytes, .. } = access;
        if worker >= workers {
            return Err(TraceError::NoSuchWorker { position, worker, workers });
        }
        let memory_bytes = self.memory_bytes;
        address
            .checked_add(bytes.into())
            .filter(|&end| end <= memory_bytes)
            .ok_or(TraceError::BeyondMemory { position, address, bytes, memory_bytes })
    }

    /// Makes sure that `worker` has mapped `page`.
    fn map(&mut self, worker: usize, page: u32) {
        let WorkerMemory { pages, counts, .. } = &mut self.workers[worker];
        let touched = pages.touch(page);
        if touched == Touched::Present {
            return;
        }
        counts.page_misses += 1;
        let (me, seen) = (1 << worker, &mut self.pages_seen[page as usize]);
        counts.cold_page_misses += u64::from(*seen & me == 0);
        *seen |= me;
        if let Touched::Replaced(unmapped) = touched
            && self.params.unmapping_evicts
        {
            let lines = self.params.page_bytes / self.params.line_bytes;
            let begin = unmapped * lines;
            for line in begin..(begin + lines).min(self.lines.len() as u32) {
                if self.lines[line as usize].holders & me != 0 {
                    if let Some(cache) = &mut self.workers[worker].cache {
                        cache.remove(line);
                    }
                    self.leave(worker, line);
                }
            }
        }
    }

    /// Reads or writes a line of a mapped page. Returns whether the worker's cache had it.
    fn touch(&mut self, worker: usize, kind: AccessKind, line: u32) -> bool {
        let ring = self.ring_of(worker);
        let touched = self.workers[worker].cache.as_mut().map(|cache| cache.touch(line));
        if let Some(Touched::Replaced(victim)) = touched {
            self.leave(worker, victim);
        }
        let Line { holders, seen, invalidated, untouched, .. } = &mut self.lines[line as usize];
        let me = 1 << worker;
        let others = *holders & !me;
        let hit = *holders & me != 0;
        debug_assert!(
            touched.is_none_or(|touched| (touched == Touched::Present) == hit),
            "MACHINE-A: the cache of worker {worker} has line {line} if it is a holder"
        );
        let counts = &mut self.workers[worker].counts;
        if hit {
            counts.hits += 1;
        } else {
            counts.remote_misses += u64::from(others != 0);
            counts.far_misses += u64::from(others != 0 && others & ring == 0);
            *if *seen & me == 0 {
                &mut counts.cold_misses
            } else if *invalidated & me != 0 {
                &mut counts.coherence_misses
            } else {
                &mut counts.capacity_misses
            } += 1;
        }
        *holders |= me;
        *seen |= me;
        *invalidated &= !me;
        *untouched &= !me;
        match (kind, self.params.protocol) {
            (AccessKind::Read, Protocol::Invalidate) => self.read_elsewhere(line, others),
            (AccessKind::Read, Protocol::Update) => {}
            (AccessKind::Write, protocol) => {
                self.lines[line as usize].modified = true;
                if others != 0 {
                    let counts = &mut self.workers[worker].counts;
                    counts.announcements += u64::from(hit);
                    counts.far_announcements += u64::from(hit && others & !ring != 0);
                    match protocol {
                        Protocol::Invalidate => self.invalidate(worker, line, others),
                        Protocol::Update => self.update(worker, line, others),
                    }
                }
            }
        }
        hit
    }

    /// Writes a line that one of `others` modified back to memory, because it is read elsewhere.
    fn read_elsewhere(&mut self, line: u32, others: u64) {
        let modified = &mut self.lines[line as usize].modified;
        if *modified && others != 0 {
            *modified = false;
            self.workers[others.trailing_zeros() as usize].counts.write_backs += 1;
        }
    }

    /// Invalidates the copies of `others`, because `writer` has written.
    fn invalidate(&mut self, writer: usize, line: u32, others: u64) {
        self.workers[writer].counts.invalidations_sent += u64::from(others.count_ones());
        for other in bits(others) {
            let WorkerMemory { cache, counts, .. } = &mut self.workers[other];
            counts.invalidations_received += 1;
            if let Some(cache) = cache {
                cache.remove(line);
            }
            self.forget_parts(other, line);
        }
        let state = &mut self.lines[line as usize];
        state.holders &= !others;
        state.invalidated |= others;
        debug_assert_eq!(state.holders, 1 << writer, "MACHINE-B: line {line} has one holder");
    }

    /// Updates the copies of `others`, because `writer` has written.
    fn update(&mut self, writer: usize, line: u32, others: u64) {
        self.workers[writer].counts.updates_sent += u64::from(others.count_ones());
        let untouched = &mut self.lines[line as usize].untouched;
        for other in bits(others) {
            let counts = &mut self.workers[other].counts;
            counts.updates_received += 1;
            counts.needless_updates += *untouched >> other & 1;
        }
        *untouched |= others;
    }

    /// Accounts for a line that was evicted from a worker's cache.
    fn leave(&mut self, worker: usize, line: u32) {
        self.forget_parts(worker, line);
        let Line { holders, untouched, modified, .. } = &mut self.lines[line as usize];
        let counts = &mut self.workers[worker].counts;
        let me = 1 << worker;
        *holders &= !me;
        counts.needless_updates += u64::from(*untouched & me != 0);
        if *modified && *holders == 0 {
            *modified = false;
            counts.write_backs += 1;
        }
        debug_assert!(!*modified || *holders != 0, "MACHINE-D: line {line} is modified nowhere");
    }
}

/// The positions of the bits that are set, the lowest first.
fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        bit
    })
}

//! Machines of several nodes: which accesses to memory are near and which are far, where pages lie
//! by the rules of three memory managers, and how long a run takes by that.
//!
//! Figures 6 to 9 of the NUMA paper call [`replay`]. It takes a trace of a run of Time Warp, gives
//! its LPs to workers, and lets every event read its message and the state of its LP, write that
//! state, and save it, through the caches of a [`Machine`]: with the sizes of the engine's own
//! states and copies. A line that no cache has comes from the memory of the node where its page
//! lies. LPs move between workers when one of them has had more to do than the others; their pages
//! follow or not.
//!
//! | module | contents |
//! |---|---|
//! | this one | the replay |
//! | `params` | the machine, its costs, where each is from, and variations of them |
//! | `heaps` | where blocks of memory lie |
//!
//! # The time
//!
//! A worker does what the trace says in the order of the trace, what was rolled back included. It
//! waits for an event until that was sent, for an LP until the worker that it came from is done
//! with it, and for nothing else. The run takes as long as the worker that is done last.
//!
//! # What it leaves out
//!
//! The trace is of workers that take turns, an event each, so rollbacks are those of workers of the
//! same speed. Anti-messages and GVT take no time of their own (`overhead_ns` stands for them).
//! Memory and links between nodes are as fast when many use them as when one does: a far access
//! takes longer than a near one by the distance alone. A line from another worker's cache takes as
//! long wherever that is.
//!
//! # Invariants
//!
//! - **NODES-A.** No handling begins before the one that sent its event has ended.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, 2015: 3.1 to 3.4 for the memory managers, 4 for the
//! machine.

mod heaps;
mod params;

use heaps::{Block, Heaps, SEGMENT};
use params::{GAIN, LOOKS};

pub use params::{NodeParams, Variation, variations};

use crate::{
    LabError,
    machine::{Access, AccessKind, Counts, Machine, TraceError},
    traffic_trace::{Touch, TrafficTrace},
};

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The sequential engine's: nothing is saved.
    Sequential,
    /// A page lies where it is touched first. States and saved states come from the memory of the
    /// worker, and event buffers from that of the sender.
    Plain,
    /// An LP has segments of its own for its state, saved states and events. A page of them stays
    /// where it was touched first.
    Segments,
    /// The same, with daemons that move the pages of LPs after so many looks at the load.
    Daemons(usize),
}

/// What a replay found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeCounts {
    /// Lines that were read from the memory of the worker's node.
    pub near: u64,
    /// Lines that were read from the memory of another node.
    pub far: u64,
    /// Lines that were written, and lay in no cache and in the memory of another node.
    pub far_written: u64,
    /// LPs that went to another worker.
    pub moved: u64,
    /// The bytes of all heaps.
    pub bytes: u64,
    /// The time of the run: that of the worker that is done last (s).
    pub seconds: f64,
}

/// The bytes of an event.
const EVENT: u32 = 64;

/// Replays a trace on a machine.
///
/// # Errors
///
/// When there is no such machine.
pub fn replay(
    trace: &TrafficTrace,
    params: NodeParams,
    memory: Memory,
) -> Result<NodeCounts, LabError> {
    let mut replay = Replay::new(trace, params, memory)?;
    let look = trace.touches.len().div_ceil(params.looks.max(1) as usize).max(1);
    for (number, touches) in trace.touches.chunks(look).enumerate() {
        if let Memory::Daemons(period) = memory
            && number % period.max(1) == 0
        {
            replay.move_pages();
        }
        for &touch in touches {
            replay.touch(touch)?;
        }
        replay.look();
    }
    replay.counts.bytes = replay.heaps.bytes();
    replay.counts.seconds = replay.clocks.iter().copied().fold(0.0, f64::max) * 1e-9;
    Ok(replay.counts)
}

/// Event buffers that are used in turn.
#[derive(Clone, Copy, Debug)]
struct Ring {
    block: Block,
    slots: u64,
    next: u64,
}

impl Ring {
    /// The places of the next event that is written, and of the one that was written first.
    const fn turn(&mut self) -> [u64; 2] {
        let written = self.block.address + self.next * EVENT as u64;
        self.next = (self.next + 1) % self.slots;
        [written, self.block.address + self.next * EVENT as u64]
    }
}

struct Replay {
    params: NodeParams,
    memory: Memory,
    machine: Machine,
    heaps: Heaps,
    /// The node of each page.
    homes: Vec<Option<u32>>,
    /// The worker of each LP.
    owners: Vec<u32>,
    /// Of each LP: its state.
    states: Vec<Option<Block>>,
    /// The saved states, by their numbers in the trace.
    copies: Vec<Option<Block>>,
    /// Event buffers: of each LP, or of each worker.
    mail: Vec<Ring>,
    /// When each worker is done with what it has had (ns), and when each handling was.
    clocks: Vec<f64>,
    done: Vec<f64>,
    /// When what each LP had was done, by whatever worker (ns).
    ready: Vec<f64>,
    /// The time of each LP since the last look, and of each worker (ns).
    work: Vec<f64>,
    busy: Vec<f64>,
    /// For how many looks one worker has had too much to do.
    uneven: u32,
    counts: NodeCounts,
}

impl Replay {
    fn new(trace: &TrafficTrace, params: NodeParams, memory: Memory) -> Result<Self, LabError> {
        let (lps, workers) = (trace.lps, params.machine.workers as usize);
        let owners = shares(&vec![1.0; lps], workers);
        let mut heaps = Heaps::new(lps + workers);
        // As many buffers as events waited at a time; two at least, one to write and one to read.
        let mut ring = |heap: usize, waiting: u32| {
            let slots = u64::from(waiting) + 2;
            Ring { block: heaps.allocate(heap, slots * u64::from(EVENT)), slots, next: 0 }
        };
        let mail: Vec<_> = match memory {
            Memory::Sequential | Memory::Plain => {
                let mut waiting = vec![0; workers];
                for (&owner, &of_lp) in owners.iter().zip(&trace.waiting) {
                    waiting[owner as usize] += of_lp;
                }
                waiting.iter().enumerate().map(|(w, &waiting)| ring(lps + w, waiting)).collect()
            }
            _ => trace.waiting.iter().enumerate().map(|(lp, &most)| ring(lp, most)).collect(),
        };
        Ok(Self {
            params,
            memory,
            machine: Machine::new(params.machine, SEGMENT)?,
            heaps,
            homes: Vec::new(),
            owners,
            states: vec![None; lps],
            copies: Vec::new(),
            mail,
            clocks: vec![0.0; workers],
            done: Vec::new(),
            ready: vec![0.0; lps],
            work: vec![0.0; lps],
            busy: vec![0.0; workers],
            uneven: 0,
            counts: NodeCounts::default(),
        })
    }

    const fn node(&self, worker: u32) -> u32 {
        worker / self.params.workers_per_node
    }

    /// Whether LPs have heaps of their own.
    const fn is_apart(&self) -> bool {
        matches!(self.memory, Memory::Segments | Memory::Daemons(_))
    }

    /// The heap for what an LP's worker allocates for it.
    fn heap(&self, lp: u32) -> usize {
        if self.is_apart() {
            lp as usize
        } else {
            self.owners.len() + self.owners[lp as usize] as usize
        }
    }

    /// Moves the pages of all LPs to the nodes where they are.
    fn move_pages(&mut self) {
        let per_segment = SEGMENT / u64::from(self.params.machine.page_bytes);
        for lp in 0..self.owners.len() {
            let node = self.node(self.owners[lp]);
            for segment in self.heaps.segments(lp) {
                for page in segment * per_segment..(segment + 1) * per_segment {
                    // A page that nobody has touched is nowhere.
                    if let Some(Some(home)) = self.homes.get_mut(page as usize) {
                        *home = node;
                    }
                }
            }
        }
    }

    fn touch(&mut self, touch: Touch) -> Result<(), LabError> {
        match touch {
            Touch::Handled { lp, cause, from, read, written } => {
                let sent = cause.and_then(|cause| self.done.get(cause as usize).copied());
                let worker = self.owners[lp as usize] as usize;
                self.clocks[worker] = self.clocks[worker].max(sent.unwrap_or(0.0));
                self.handle([lp, from], [read, written])?;
                self.done.push(self.clocks[worker]);
                debug_assert!(sent.is_none_or(|sent| sent <= self.clocks[worker]), "NODES-A");
                Ok(())
            }
            Touch::Saved { lp, copy, bytes } => {
                let state = self.state(lp, bytes);
                self.access(lp, AccessKind::Read, state, bytes)?;
                let copy = self.copy(lp, copy, bytes);
                self.access(lp, AccessKind::Write, copy, bytes)
            }
            Touch::Restored { lp, copy, bytes } => {
                let copy = self.copy(lp, copy, bytes);
                self.access(lp, AccessKind::Read, copy, bytes)?;
                let state = self.state(lp, bytes);
                self.access(lp, AccessKind::Write, state, bytes)
            }
        }
    }

    /// A worker handles an event for an LP, which was sent by another.
    fn handle(&mut self, [lp, from]: [u32; 2], [read, written]: [u32; 2]) -> Result<(), LabError> {
        let [fixed, per_byte] = self.params.handling_ns;
        let mut ns = fixed + per_byte * f64::from(read);
        if self.memory != Memory::Sequential {
            ns += self.params.overhead_ns;
        }
        self.spend(lp, ns);
        let ring = if self.is_apart() { lp } else { self.owners[from as usize] };
        let [sent, received] = self.mail[ring as usize].turn();
        self.access(from, AccessKind::Write, sent, EVENT)?;
        self.access(lp, AccessKind::Read, received, EVENT)?;
        let state = self.state(lp, read);
        self.access(lp, AccessKind::Read, state, read)?;
        self.access(lp, AccessKind::Write, state, written)
    }

    /// Where the state of an LP lies, if it has this size.
    fn state(&mut self, lp: u32, bytes: u32) -> u64 {
        // A state that has grown stays as large, and where it is.
        let block = self.states[lp as usize];
        let block = block.filter(|block| block.size() >= u64::from(bytes)).unwrap_or_else(|| {
            let heap = self.heap(lp);
            block.into_iter().for_each(|block| self.heaps.free(block));
            self.heaps.allocate(heap, u64::from(bytes))
        });
        self.states[lp as usize] = Some(block);
        block.address
    }

    /// Where a copy of an LP's state lies.
    fn copy(&mut self, lp: u32, copy: u32, bytes: u32) -> u64 {
        let (heap, copy) = (self.heap(lp), copy as usize);
        if self.copies.len() <= copy {
            self.copies.resize(copy + 1, None);
        }
        let block = self.heaps.ensure(self.copies[copy], heap, u64::from(bytes));
        self.copies[copy] = Some(block);
        block.address
    }

    /// The worker of an LP takes time for it, after what the LP had before.
    fn spend(&mut self, lp: u32, ns: f64) {
        let worker = self.owners[lp as usize] as usize;
        let ready = &mut self.ready[lp as usize];
        self.clocks[worker] = self.clocks[worker].max(*ready) + ns;
        *ready = self.clocks[worker];
        self.busy[worker] += ns;
        self.work[lp as usize] += ns;
    }

    /// The worker of an LP reads or writes `bytes` at an address.
    fn access(
        &mut self,
        lp: u32,
        kind: AccessKind,
        address: u64,
        bytes: u32,
    ) -> Result<(), LabError> {
        let failed = |error: TraceError| LabError::Trace { reason: error.to_string() };
        let page_bytes = u64::from(self.params.machine.page_bytes);
        self.machine.grow(self.heaps.bytes())?;
        self.homes.resize((self.heaps.bytes() / page_bytes) as usize, None);
        let worker = self.owners[lp as usize];
        let (mut ns, mut at, end) = (0.0, address, address + u64::from(bytes));
        while at < end {
            let piece = (end - at).min((at / page_bytes + 1) * page_bytes - at);
            let before = *self.machine.counts(worker);
            let access = Access { worker, kind, address: at, bytes: piece as u32 };
            self.machine.access(access).map_err(failed)?;
            let counts = *self.machine.counts(worker) - before;
            ns += self.price(worker, kind, at / page_bytes, &counts);
            at += piece;
        }
        self.spend(lp, ns);
        Ok(())
    }

    /// The time that a worker takes for accesses to a page.
    fn price(&mut self, worker: u32, kind: AccessKind, page: u64, counts: &Counts) -> f64 {
        let (costs, node) = (self.params.machine.costs, self.node(worker));
        let from_memory = counts.misses() - counts.remote_misses;
        let is_near = *self.homes[page as usize].get_or_insert(node) == node;
        let distance = if is_near { 1.0 } else { self.params.distance };
        match (kind, is_near) {
            (AccessKind::Read, true) => self.counts.near += from_memory,
            (AccessKind::Read, false) => self.counts.far += from_memory,
            (AccessKind::Write, true) => {}
            (AccessKind::Write, false) => self.counts.far_written += from_memory,
        }
        let waiting = counts.remote_misses as f64 * costs.remote_miss_ns
            + counts.announcements as f64 * costs.announcement_ns
            + from_memory as f64 * costs.memory_miss_ns * distance;
        let waits = if kind == AccessKind::Read { 1.0 } else { self.params.write_waits };
        counts.line_accesses() as f64 * costs.hit_ns
            + counts.page_misses as f64 * costs.page_miss_ns
            + waits * waiting
    }

    /// LPs move if one worker has been much busier than the others for a while.
    fn look(&mut self) {
        let busiest = self.busy.iter().copied().fold(0.0, f64::max);
        let mean = self.busy.iter().sum::<f64>() / self.busy.len() as f64;
        self.uneven = if busiest > self.params.uneven * mean { self.uneven + 1 } else { 0 };
        if self.uneven >= LOOKS {
            self.uneven = 0;
            self.move_lps();
        }
        self.busy.fill(0.0);
        // What was measured before counts half.
        self.work.iter_mut().for_each(|work| *work /= 2.0);
    }

    /// Gives LPs to other workers, if that takes enough off the busiest one.
    fn move_lps(&mut self) {
        let owners = shares(&self.work, self.busy.len());
        let busiest = |owners: &[u32]| {
            let mut busy = vec![0.0; self.busy.len()];
            for (&owner, work) in owners.iter().zip(&self.work) {
                busy[owner as usize] += work;
            }
            busy.into_iter().fold(0.0, f64::max)
        };
        if busiest(&owners) < GAIN * busiest(&self.owners) {
            let moved = owners.iter().zip(&self.owners).filter(|(new, old)| new != old);
            self.counts.moved += moved.count() as u64;
            self.owners = owners;
        }
    }
}

/// Gives the LPs to workers in their order, so that each has about the same to do.
fn shares(work: &[f64], workers: usize) -> Vec<u32> {
    let total: f64 = work.iter().sum();
    let mut before = 0.0;
    let owner = |&work: &f64| {
        let middle = before + work / 2.0;
        before += work;
        ((middle / total * workers as f64) as usize).min(workers - 1) as u32
    };
    work.iter().map(owner).collect()
}

#[cfg(test)]
mod tests;

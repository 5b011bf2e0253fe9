//! Machines of several nodes: which accesses to memory are near and which are far, where pages lie
//! by the rules of three memory managers, and how long a run takes by that.
//!
//! [`replay`] takes a trace of a real run, gives its LPs to workers, and lets every event read its
//! buffer, write its LP's state and save it, through the caches of a [`Machine`]. A line that no
//! cache has comes from the memory of the node where its page lies. LPs move between workers when
//! one of them has had more to do than the others; their pages follow or not.
//!
//! # What it leaves out
//!
//! Rollbacks, GVT, and that memory and links between nodes are slower when many use them at the
//! same time: a far access takes longer than a near one by the distance alone. A line from another
//! worker's cache takes as long as a far one. How much memory an LP has, that every access is a
//! write, and that workers wait for each other after each step are assumptions without a source.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, 2015: 3.1 to 3.4 for the memory managers, 4 for the
//! machine.

use warpline::ConfigError;

use crate::{
    LabError,
    machine::{Access, AccessKind, Geometry, Machine, MachineParams},
    traffic_trace::{Touch, TrafficTrace},
};

/// A machine of several nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeParams {
    /// Its workers and their caches. A miss that memory serves has the cost of the near one.
    pub machine: MachineParams,
    /// Workers of a node, which have close numbers.
    pub workers_per_node: u32,
    /// The time of a far access by that of a near one.
    pub distance: f64,
    /// What handling an event takes without waiting for memory, and for each byte of state (ns).
    pub handling_ns: [f64; 2],
}

impl NodeParams {
    /// The machine of the NUMA paper: 8 nodes of 4 cores.
    ///
    /// - Four Opteron 6128 with two nodes of 4 cores each, 2 GHz, 512 KiB of L2 per core, 6 MiB of
    ///   L3 per node, distances 10 and 20: the paper, section 4. That a far access takes twice as
    ///   long is **an input** from there.
    /// - A worker's cache is its L2 and its part of the L3: 2 MiB.
    /// - Handling takes 60 ns and 0.07 ns per byte of the state: measured for our model on an AMD
    ///   EPYC by a profile, a car of 56 bytes takes 4 ns.
    #[must_use]
    pub const fn opteron() -> Self {
        Self {
            machine: MachineParams::opteron(),
            workers_per_node: 4,
            distance: 2.0,
            handling_ns: [60.0, 0.07],
        }
    }

    /// One core of it, which has the L3 of its node for itself.
    #[must_use]
    pub const fn one_core(self) -> Self {
        let cache = Some(Geometry { sets: 6656, ways: 16 });
        let machine = MachineParams { workers: 1, cache, ..self.machine };
        Self { machine, workers_per_node: 1, ..self }
    }
}

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The sequential engine's: states only, nothing is saved and nothing sent.
    Sequential,
    /// A page lies where it is touched first. Saved states come from the memory of the worker that
    /// saves, and event buffers from that of the sender.
    Plain,
    /// An LP has pages of its own for its state, saved states and events. They stay on the node
    /// where it was at the start.
    Segments,
    /// The same, with daemons that move the pages of LPs after so many steps.
    Daemons(usize),
}

/// What a replay found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeCounts {
    /// Lines that came from the memory of the worker's node.
    pub near: u64,
    /// Lines that came from the memory of another node.
    pub far: u64,
    /// LPs that went to another worker.
    pub moved: u64,
    /// The time of the run: the sum over the steps of that of the busiest worker (s).
    pub seconds: f64,
}

/// The memory of an LP: for its state, its saved states, and its events.
const STATE: u64 = 32 << 10;
const SAVED: u64 = 32 << 10;
const MAIL: u64 = 4 << 10;
const SEGMENT: u64 = STATE + SAVED + MAIL;
/// The memory of a worker for saved states and for events, where LPs have none of their own: as
/// much as 32 LPs have.
const HEAP: [u64; 2] = [32 * SAVED, 32 * MAIL];
/// The bytes of an event.
const EVENT: u32 = 64;
/// LPs move when the busiest worker has had this many times the mean to do, so many steps in a row,
/// and would have at most this part of it after the move: as with `--balance on`.
const UNEVEN: f64 = 1.1;
const LOOKS: u32 = 3;
const GAIN: f64 = 0.95;

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
    let mut replay = Replay::new(trace.lps, params, memory)?;
    for (number, step) in trace.steps.iter().enumerate() {
        if let Memory::Daemons(period) = memory
            && number % period.max(1) == 0
        {
            replay.move_pages();
        }
        for &touch in step {
            replay.handle(touch)?;
        }
        replay.end_step();
    }
    Ok(replay.counts)
}

struct Replay {
    params: NodeParams,
    memory: Memory,
    machine: Machine,
    /// The node of each page.
    homes: Vec<Option<u32>>,
    /// The worker of each LP.
    owners: Vec<u32>,
    /// The next free byte: of each LP's saved states, of its events, and of each worker's heaps.
    next: Vec<u64>,
    /// The time of each LP in this step, and of each worker (ns).
    work: Vec<f64>,
    busy: Vec<f64>,
    /// For how many steps one worker has had too much to do.
    uneven: u32,
    counts: NodeCounts,
}

impl Replay {
    fn new(lps: usize, params: NodeParams, memory: Memory) -> Result<Self, ConfigError> {
        let workers = params.machine.workers as usize;
        let bytes = lps as u64 * SEGMENT + workers as u64 * (HEAP[0] + HEAP[1]);
        let pages = bytes.div_ceil(u64::from(params.machine.page_bytes)) as usize;
        let mut replay = Self {
            params,
            memory,
            machine: Machine::new(params.machine, bytes)?,
            homes: vec![None; pages],
            owners: shares(&vec![1.0; lps], workers),
            next: vec![0; 2 * (lps + workers)],
            work: vec![0.0; lps],
            busy: vec![0.0; workers],
            uneven: 0,
            counts: NodeCounts::default(),
        };
        if !matches!(memory, Memory::Sequential | Memory::Plain) {
            replay.move_pages();
        }
        Ok(replay)
    }

    const fn node(&self, worker: u32) -> u32 {
        worker / self.params.workers_per_node
    }

    /// Moves the pages of all LPs to the nodes where they are.
    fn move_pages(&mut self) {
        let per_lp = (SEGMENT / u64::from(self.params.machine.page_bytes)) as usize;
        for lp in 0..self.owners.len() {
            let node = self.node(self.owners[lp]);
            self.homes[lp * per_lp..(lp + 1) * per_lp].fill(Some(node));
        }
    }

    /// A worker handles an event.
    fn handle(&mut self, Touch { lp, from, bytes }: Touch) -> Result<(), LabError> {
        let (worker, sender) = (self.owners[lp as usize], self.owners[from as usize]);
        let bytes = bytes.min(STATE as u32);
        let segment = u64::from(lp) * SEGMENT;
        let [fixed, per_byte] = self.params.handling_ns;
        let mut ns = fixed + per_byte * f64::from(bytes);
        if self.memory != Memory::Sequential {
            let mail = match self.memory {
                Memory::Plain => self.heap(1, sender, EVENT),
                _ => {
                    let ring = self.owners.len() + lp as usize;
                    segment + STATE + SAVED + self.room(ring, EVENT, MAIL)
                }
            };
            let sent = self.touch(sender, mail, EVENT)?;
            self.busy[sender as usize] += sent;
            ns += self.touch(worker, mail, EVENT)?;
            let saved = match self.memory {
                Memory::Plain => self.heap(0, worker, bytes),
                _ => segment + STATE + self.room(lp as usize, bytes, SAVED),
            };
            ns += self.touch(worker, saved, bytes)?;
        }
        ns += self.touch(worker, segment, bytes)?;
        self.work[lp as usize] += ns;
        self.busy[worker as usize] += ns;
        Ok(())
    }

    /// Room for `bytes` in a worker's heap: for states, or for events.
    fn heap(&mut self, which: usize, worker: u32, bytes: u32) -> u64 {
        let (lps, workers) = (self.owners.len(), self.busy.len());
        let (size, worker) = (HEAP[which], worker as usize);
        let begin = lps as u64 * SEGMENT
            + workers as u64 * (if which == 0 { 0 } else { HEAP[0] })
            + worker as u64 * size;
        begin + self.room(2 * lps + which * workers + worker, bytes, size)
    }

    /// Room for `bytes` in a ring of `size` bytes.
    fn room(&mut self, ring: usize, bytes: u32, size: u64) -> u64 {
        let at = self.next[ring];
        let at = if at + u64::from(bytes) > size { 0 } else { at };
        self.next[ring] = at + u64::from(bytes).next_multiple_of(64);
        at
    }

    /// A worker writes `bytes` at an address. Returns the time that it waits (ns).
    fn touch(&mut self, worker: u32, address: u64, bytes: u32) -> Result<f64, LabError> {
        let page_bytes = u64::from(self.params.machine.page_bytes);
        let costs = self.params.machine.costs;
        let (mut ns, mut at, end) = (0.0, address, address + u64::from(bytes));
        while at < end {
            let page = at / page_bytes;
            let piece = (end - at).min((page + 1) * page_bytes - at);
            let before = *self.machine.counts(worker);
            let access =
                Access { worker, kind: AccessKind::Write, address: at, bytes: piece as u32 };
            let failed =
                |error: crate::machine::TraceError| LabError::Trace { reason: error.to_string() };
            self.machine.access(access).map_err(failed)?;
            let counts = *self.machine.counts(worker) - before;
            ns += counts.time_ns(&costs);
            let node = self.node(worker);
            let from_memory = counts.misses() - counts.remote_misses;
            if *self.homes[page as usize].get_or_insert(node) == node {
                self.counts.near += from_memory;
            } else {
                self.counts.far += from_memory;
                ns += from_memory as f64 * costs.memory_miss_ns * (self.params.distance - 1.0);
            }
            at += piece;
        }
        Ok(ns)
    }

    /// All workers wait for the busiest one, and LPs move if it was much busier than the others.
    fn end_step(&mut self) {
        let busiest = self.busy.iter().copied().fold(0.0, f64::max);
        let mean = self.busy.iter().sum::<f64>() / self.busy.len() as f64;
        self.counts.seconds += busiest * 1e-9;
        self.uneven = if busiest > UNEVEN * mean { self.uneven + 1 } else { 0 };
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
mod tests {
    use super::*;

    /// Two nodes of one worker each, whose caches hold next to nothing.
    fn two_nodes() -> NodeParams {
        let cache = Some(Geometry { sets: 1, ways: 2 });
        let machine = MachineParams { workers: 2, cache, ..MachineParams::opteron() };
        NodeParams { machine, workers_per_node: 1, distance: 2.0, handling_ns: [0.0; 2] }
    }

    /// Ten steps with a hundred events at each of these LPs, each sent by the LP itself.
    fn trace(lps: &[u32]) -> TrafficTrace {
        let events =
            (0..100).flat_map(|_| lps.iter().map(|&lp| Touch { lp, from: lp, bytes: 640 }));
        TrafficTrace { lps: 4, steps: vec![events.collect(); 10] }
    }

    fn counts(trace: &TrafficTrace, memory: Memory) -> NodeCounts {
        replay(trace, two_nodes(), memory).expect("a sound machine")
    }

    /// LPs stay in their order, and each worker has about the same to do.
    #[test]
    fn shares_are_even() {
        assert_eq!(shares(&[1.0; 6], 3), [0, 0, 1, 1, 2, 2]);
        assert_eq!(shares(&[4.0, 1.0, 1.0, 2.0], 2), [0, 1, 1, 1]);
        assert_eq!(shares(&[0.0, 0.0, 9.0], 2), [0, 0, 1]);
    }

    /// While no LP moves, nothing is far.
    #[test]
    fn an_even_load_is_near() {
        for memory in [Memory::Plain, Memory::Segments, Memory::Daemons(1)] {
            let counts = counts(&trace(&[0, 1, 2, 3]), memory);
            assert_eq!((counts.moved, counts.far), (0, 0), "{memory:?}");
            assert!(counts.near > 4 * 10 * 100 * 20, "{memory:?}: {counts:?}");
        }
    }

    /// LP 1 goes to the other node. Without daemons all that it has stays behind, with plain memory
    /// only its state; daemons bring its pages before the next step.
    #[test]
    fn pages_follow_with_daemons() {
        let uneven = trace(&[0, 1]);
        let [plain, segments, daemons] = [Memory::Plain, Memory::Segments, Memory::Daemons(1)]
            .map(|memory| counts(&uneven, memory));
        // The lines of the state in the seven steps after the move.
        let lines = 10 * 100 * 7;
        assert_eq!([plain.moved, segments.moved, daemons.moved], [1; 3]);
        assert_eq!((plain.far, daemons.far), (lines, 0));
        assert!(segments.far > 2 * lines, "{segments:?}");
        assert!(daemons.seconds < plain.seconds && plain.seconds < segments.seconds);
        assert!(counts(&uneven, Memory::Daemons(5)).far > 0);
    }

    /// An event for another node is written there, but with plain memory where its sender is. Its
    /// receiver then gets it out of the sender's cache.
    #[test]
    fn events_lie_at_their_receiver_or_their_sender() {
        let mut sent = trace(&[0, 1, 2, 3]);
        for touch in sent.steps.iter_mut().flatten() {
            touch.from = 3 - touch.lp;
        }
        let far = |memory| counts(&sent, memory).far;
        assert_eq!((far(Memory::Plain), far(Memory::Segments)), (0, 4 * 1000));
        let alone = replay(&sent, two_nodes().one_core(), Memory::Sequential).expect("a machine");
        assert_eq!((alone.far, alone.moved), (0, 0));
    }
}

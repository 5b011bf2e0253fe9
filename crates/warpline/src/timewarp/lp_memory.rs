//! Memory of its own for each LP (`--memory-placement lp`), which follows the LP to other nodes.
//!
//! An LP has a *home*: a heap whose segments no other LP's data shares, on the node of its worker.
//! There lies what the LP's code allocates: in its state, in the copies of its state, in messages
//! that it sends. ([`TimeWarpWorker::start`](super::worker::TimeWarpWorker::start), `handle` and
//! `undo` enter it around that code; a send goes back to platform mode.) A state's own fields, its
//! records and its pending events are in lists of the worker, and are copied to those of the next
//! worker when the LP moves, so they need no pages of their own. Event buffers are shared by all.
//!
//! If an LP comes to a worker on another node ([`LpMemory::follow`]), its home takes new pages
//! there; the *page migration daemons* move those that it has: threads that wake up now and then,
//! each for some homes. The system binds the pages anew as it moves them, so that its automatic
//! balancing leaves them where they are. A worker only writes a request.
//!
//! A worker that comes to another thread, perhaps on another node, takes its own heap and the homes
//! of its LPs there in the same way ([`worker_with_heap`](super::worker_with_heap)).
//!
//! Where there are many LPs, neighbors share a home, which follows the first of them.
//!
//! # Invariants
//!
//! - **HOME-A.** A home's node is that of the worker which its first LP came to last, and the node
//!   of a worker's heap is that of the thread which the worker came to last.
//! - **HOME-B.** After a change of node a request is with one daemon, which tries again whenever it
//!   wakes up, until all pages are on the node of then, or the system has refused to move them.
//!
//! # References
//!
//! Pellegrini and Quaglia, *NUMA Time Warp*, sections 3.2 and 3.4. Ours differs from the paper's
//! daemon in three ways: it finds requests in lists, not by a look at each object; it binds and
//! moves with one call (`mbind`), where the paper's only moves (`move_pages`); and bottom halves
//! lie in the LP's heap, so they move with the rest of it.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, Scope},
    time::Duration,
};

use warpline_core::{LpId, mix};
use warpline_memory::{Home, Realigned, Residency, Route};

use crate::{
    counted::counted,
    run::thread_resources,
    settings::{MemoryPlacement, TimeWarp},
};

/// More LPs than this share homes: a home that is used costs a page at the least, and a range with
/// a binding of its own, of which a process may have some 24 000
/// (`warpline_memory::numa::bindings`).
const HOMES_MAX: usize = 1 << 14;
/// No node.
const NOWHERE: u32 = u32::MAX;

/// What has pages on a node: a [`Home`], or what a test has in its place.
pub(super) trait Pages: Send + Sync {
    fn node(&self) -> Option<u32>;
    fn set_node(&self, node: Option<u32>);
    fn realign(&self) -> Realigned;
    fn residency(&self) -> Residency;
}

impl Pages for Home {
    fn node(&self) -> Option<u32> {
        self.node()
    }

    fn set_node(&self, node: Option<u32>) {
        self.set_node(node);
    }

    fn realign(&self) -> Realigned {
        self.realign()
    }

    fn residency(&self) -> Residency {
        self.residency()
    }
}

/// The homes of all LPs.
#[derive(Debug)]
pub(super) struct LpMemory<H = Home> {
    homes: Box<[H]>,
    /// Two to this power LPs share a home.
    shift: u32,
    lps: usize,
    /// By LP: the node of its worker, where LPs share homes.
    lp_nodes: Box<[AtomicU32]>,
    /// By worker of this rank: its node.
    nodes: Box<[AtomicU32]>,
    /// By worker of this rank: its heap. Their places follow those of `homes`.
    heaps: Box<[OnceLock<Arc<H>>]>,
    daemons: Daemons,
}

/// The page migration daemons.
#[derive(Debug)]
struct Daemons {
    period: Duration,
    /// How many have started.
    started: AtomicUsize,
    /// By daemon: the homes that it is to look after.
    requests: Box<[Mutex<Vec<Request>>]>,
    /// By place: whether a daemon has a request for it.
    requested: Box<[AtomicBool]>,
    is_over: Mutex<bool>,
    wake: Condvar,
    segments: AtomicU64,
    retries: AtomicU64,
    pages_not_moved: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    /// Which of the homes and heaps.
    place: usize,
    /// Pages that were elsewhere after the last attempt.
    left: u64,
}

/// Takes the lock. Nothing panics while it is held, so the value is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LpMemory {
    /// For that many LPs, if the settings say so, and the program has installed the allocator.
    pub(super) fn new(settings: &TimeWarp, lps: usize) -> Option<Self> {
        let numa = &settings.numa;
        if numa.memory_placement != MemoryPlacement::Lp {
            return None;
        }
        let shift = shift_of(lps);
        let homes = Home::of_lps(lps.div_ceil(1 << shift))?;
        Some(Self::of(homes, shift, lps, settings))
    }

    /// Lets this thread allocate in the home of an LP, until the route is dropped.
    #[inline]
    pub(super) fn enter(&self, lp: LpId) -> Route {
        self.homes[self.home_of(lp)].enter_application()
    }

    /// As [`enter`](Self::enter), until the thread switches to another way.
    #[inline]
    pub(super) fn switch(&self, lp: LpId) {
        self.homes[self.home_of(lp)].switch();
    }
}

/// Two to this power of so many LPs share a home.
fn shift_of(lps: usize) -> u32 {
    lps.div_ceil(HOMES_MAX).next_power_of_two().ilog2()
}

impl<H: Pages> LpMemory<H> {
    fn of(homes: Box<[H]>, shift: u32, lps: usize, settings: &TimeWarp) -> Self {
        assert!(lps <= homes.len() << shift, "{lps} LPs have {} homes", homes.len());
        let nowhere = |count| (0..count).map(|_| AtomicU32::new(NOWHERE)).collect();
        let daemons = Daemons {
            period: settings.numa.migration_period,
            started: AtomicUsize::new(0),
            requests: (0..settings.numa.migration_daemons).map(|_| Mutex::default()).collect(),
            requested: (0..homes.len() + settings.workers).map(|_| AtomicBool::default()).collect(),
            is_over: Mutex::new(false),
            wake: Condvar::new(),
            segments: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            pages_not_moved: AtomicU64::new(0),
        };
        let lp_nodes = nowhere(if shift > 0 { lps } else { 0 });
        let heaps = (0..settings.workers).map(|_| OnceLock::new()).collect();
        Self { homes, shift, lps, lp_nodes, nodes: nowhere(settings.workers), heaps, daemons }
    }

    /// The home or heap at that place.
    fn at(&self, place: usize) -> &H {
        match place.checked_sub(self.homes.len()) {
            None => &self.homes[place],
            Some(worker) => self.heaps[worker].get().expect("only a heap that is known is moved"),
        }
    }

    /// Worker `me` has this heap, which the daemons look after as well.
    pub(super) fn take_in(&self, me: usize, heap: Arc<H>) {
        assert!(self.heaps[me].set(heap).is_ok(), "worker {me} has two heaps");
    }

    /// The heap of worker `me` comes to that node with its worker (HOME-A).
    pub(super) fn move_heap(&self, me: usize, node: Option<u32>) {
        self.settle(self.homes.len() + me, node);
    }

    /// Worker `me` is on that node from now on.
    pub(super) fn set_node(&self, me: usize, node: Option<u32>) {
        // Ordering: Relaxed; only this worker's thread reads it during the run.
        self.nodes[me].store(node.unwrap_or(NOWHERE), Ordering::Relaxed);
    }

    /// The node of a worker, if it is known.
    pub(super) fn node_of(&self, worker: usize) -> Option<u32> {
        // Ordering: Relaxed, see `set_node`.
        let node = self.nodes[worker].load(Ordering::Relaxed);
        (node != NOWHERE).then_some(node)
    }

    const fn home_of(&self, lp: LpId) -> usize {
        debug_assert!(lp.index() < self.lps, "no LP, and in the last home");
        lp.index() >> self.shift
    }

    /// An LP has come to worker `me`, or begins there (HOME-A).
    pub(super) fn follow(&self, lp: LpId, me: usize) {
        let (place, node) = (self.home_of(lp), self.node_of(me));
        if let Some(of_lp) = self.lp_nodes.get(lp.index()) {
            // Ordering: Relaxed; read for the report, after the threads have ended.
            of_lp.store(node.unwrap_or(NOWHERE), Ordering::Relaxed);
        }
        if lp.index() == place << self.shift {
            self.settle(place, node);
        }
    }

    /// A home or heap takes its pages from that node from now on; the daemons bring those that it
    /// has.
    fn settle(&self, place: usize, node: Option<u32>) {
        let home = self.at(place);
        if home.node() == node {
            return;
        }
        let had_node = home.node().is_some();
        home.set_node(node);
        // Ordering: Relaxed; daemons start before the workers.
        let daemons = self.daemons.started.load(Ordering::Relaxed);
        debug_assert_eq!(home.node(), node, "HOME-A: place {place}");
        // Ordering: AcqRel. Either the daemon takes this change of node with the request that is
        // there, because it clears the flag before it looks for the node; or it gets another one.
        let is_new = || !self.daemons.requested[place].swap(true, Ordering::AcqRel);
        if had_node && node.is_some() && daemons > 0 && is_new() {
            let daemon = mix(place as u64, 0) as usize % daemons;
            let mut requests = lock(&self.daemons.requests[daemon]);
            debug_assert!(
                requests.iter().all(|known| known.place != place),
                "HOME-B: two requests for place {place}"
            );
            requests.push(Request { place, left: 0 });
        }
    }

    /// Where the pages of all homes are. Of a home that several LPs share, as many pages are at
    /// home as is its part of the LPs whose workers are on its node.
    fn residency(&self) -> Residency {
        let of_home = |(place, home): (usize, &H)| {
            let found = home.residency();
            debug_assert!(found.pages_at_home <= found.pages, "HOME-A: {found:?}");
            let first = place << self.shift;
            let sharing = first..(first + (1 << self.shift)).min(self.lps);
            let Some(nodes) = self.lp_nodes.get(sharing) else { return found };
            let at_home = home.node().unwrap_or(NOWHERE);
            // Ordering: Relaxed, see `follow`.
            let here = nodes.iter().filter(|node| node.load(Ordering::Relaxed) == at_home).count();
            let pages_at_home = found.pages_at_home * here as u64 / nodes.len() as u64;
            Residency { pages_at_home, ..found }
        };
        self.homes.iter().enumerate().map(of_home).fold(Residency::default(), Residency::plus)
    }

    /// Starts the daemons. They end when the result is dropped.
    pub(super) fn start_daemons<'scope, 'env: 'scope>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Ending<'env> {
        for me in 0..self.daemons.requests.len() {
            let builder = thread::Builder::new().name(format!("page migration daemon {me}"));
            if builder.spawn_scoped(scope, move || self.migrate(me)).is_err() {
                break;
            }
            // Ordering: Relaxed; see `settle`.
            self.daemons.started.store(me + 1, Ordering::Relaxed);
        }
        Ending(&self.daemons)
    }

    /// What a daemon does.
    fn migrate(&self, me: usize) {
        let daemons = &self.daemons;
        loop {
            let is_over = lock(&daemons.is_over);
            let wait = daemons.wake.wait_timeout_while(is_over, daemons.period, |over| !*over);
            if *wait.unwrap_or_else(PoisonError::into_inner).0 {
                return;
            }
            self.serve(me);
        }
    }

    /// One look of a daemon at its requests (HOME-B).
    fn serve(&self, me: usize) {
        let daemons = &self.daemons;
        let mut requests = std::mem::take(&mut *lock(&daemons.requests[me]));
        while let Some(Request { place, left }) = requests.pop() {
            if *lock(&daemons.is_over) {
                requests.push(Request { place, left });
                break;
            }
            // Ordering: AcqRel, see `settle`.
            let was_requested = daemons.requested[place].swap(false, Ordering::AcqRel);
            debug_assert!(was_requested, "HOME-B: nobody has asked for place {place}");
            let done = self.at(place).realign();
            // Ordering: Relaxed; counts for the report, read after the threads have ended.
            daemons.segments.fetch_add(done.segments, Ordering::Relaxed);
            let is_new = || !daemons.requested[place].swap(true, Ordering::AcqRel);
            if done.refused > 0 {
                // It would refuse again.
                daemons.pages_not_moved.fetch_add(done.pages_left, Ordering::Relaxed);
            } else if done.pages_left > 0 && is_new() {
                daemons.retries.fetch_add(1, Ordering::Relaxed);
                lock(&daemons.requests[me]).push(Request { place, left: done.pages_left });
            }
        }
        // What the end of the run has left.
        lock(&daemons.requests[me]).append(&mut requests);
    }

    /// What the daemons have done, if there are any.
    fn of_daemons(&self) -> Vec<(&'static str, u64)> {
        let daemons = &self.daemons;
        if daemons.requests.is_empty() {
            return Vec::new();
        }
        // Ordering: Relaxed, see `serve`.
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (mut pending, mut away, mut left) = (0, 0, count(&daemons.pages_not_moved));
        for requests in &daemons.requests {
            for request in lock(requests).iter() {
                let found = self.at(request.place).residency();
                pending += 1;
                away += found.pages - found.pages_at_home;
                left += request.left;
            }
        }
        // Ordering: Relaxed, see `serve`.
        let requested = daemons.requested.iter().filter(|one| one.load(Ordering::Relaxed));
        debug_assert_eq!(requested.count() as u64, pending, "HOME-B: a request is lost or doubled");
        vec![
            ("segments_realigned", count(&daemons.segments)),
            ("realignments_retried", count(&daemons.retries)),
            ("realignments_pending", pending),
            ("pages_pending", away),
            ("pages_not_moved", left),
        ]
    }

    /// What the report says of homes that LPs share, and of daemons that make little sense.
    pub(super) fn remarks(&self, cores: usize) -> Vec<String> {
        let wanted = self.daemons.requests.len();
        // Ordering: Relaxed, see `settle`.
        let started = self.daemons.started.load(Ordering::Relaxed);
        let shared = (self.shift > 0).then(|| {
            format!(
                "more than {HOMES_MAX} LPs: {} neighbors share memory, which follows the first of \
                 them; its pages count as at home by the part of its LPs that are",
                1 << self.shift
            )
        });
        let lacking = (started < wanted).then(|| {
            format!("the system let only {started} of {wanted} page migration daemons start")
        });
        let many = (started == wanted && wanted > cores).then(|| {
            format!(
                "{wanted} page migration daemons on {} are more than can run at a time; 1 per node \
                 is enough (--memory-placement lp:daemons=N)",
                counted(cores, "core")
            )
        });
        [shared, lacking, many].into_iter().flatten().collect()
    }
}

/// Where the pages of all workers and LPs are, and what the daemons have done, for the report.
pub(super) fn counters(
    memory: Option<&LpMemory>,
    of_workers: &mut dyn Iterator<Item = Option<Residency>>,
) -> Vec<(&'static str, u64)> {
    let mut counters =
        thread_resources::counters(&mut of_workers.chain([memory.map(LpMemory::residency)]));
    counters.extend(memory.map(LpMemory::of_daemons).unwrap_or_default());
    counters
}

/// Ends the daemons when it is dropped, also if a worker has panicked.
#[derive(Debug)]
pub(super) struct Ending<'a>(&'a Daemons);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *lock(&self.0.is_over) = true;
        self.0.wake.notify_all();
    }
}

#[cfg(test)]
impl LpMemory {
    /// The node of each home.
    pub(super) fn home_nodes(&self) -> Vec<Option<u32>> {
        self.homes.iter().map(Home::node).collect()
    }

    /// How many segments each home has. (The system may refuse to move them.)
    pub(super) fn segments(&self) -> Vec<u64> {
        self.homes.iter().map(|home| home.realign().segments).collect()
    }
}

#[cfg(test)]
mod tests;

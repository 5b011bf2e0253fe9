//! Binds workers to cores, and unbinds a worker when another program uses its core.
//!
//! Engines bind each worker thread at its start.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// How often a bound thread checks that no other program uses its core.
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// The time between two counts of running threads.
const BETWEEN_LOOKS: Duration = Duration::from_micros(40);
/// A thread that hardly ever sleeps shares its core if it runs for less than this fraction of the
/// time.
const OWN_SHARE: f64 = 0.8;

/// The binding of a thread to a core. When it is dropped, the thread may use its former cores
/// again.
#[derive(Debug)]
#[must_use = "the thread is bound for as long as this lives"]
pub struct Binding {
    /// Whether the thread is bound to its core still.
    is_bound: bool,
    /// The cores that the thread had before, if they are others than it has now.
    #[cfg(target_os = "linux")]
    before: Option<rustix::thread::CpuSet>,
    /// The cores of the node, if there are several: a thread that leaves its core stays near its
    /// memory.
    #[cfg(target_os = "linux")]
    near: Option<rustix::thread::CpuSet>,
    node: Option<u32>,
    /// The time of the last check.
    looked: Instant,
    /// The processor time of the thread at the last check.
    ran: Duration,
}

/// How many cores the calling thread may use: so many threads can run at the same time.
///
/// On Linux a limit of the process's control group counts, too. To read that takes 50 microseconds,
/// and a run asks several times before its first event; so it is read again only when the number of
/// cores that the thread is bound to is another one.
#[must_use]
pub fn cores() -> usize {
    /// How many cores a thread was bound to (the upper half), and how many it might use.
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let bound_to = u64::from(cores_bound_to());
    // Ordering: Relaxed, here and below; one word says all, an old one as truly of its binding.
    let known = KNOWN.load(Ordering::Relaxed);
    if bound_to != 0 && known >> 32 == bound_to {
        return known as u32 as usize;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    debug_assert!(cores > 0 && cores <= u32::MAX as usize, "a machine of {cores} cores");
    KNOWN.store(bound_to << 32 | cores as u64, Ordering::Relaxed);
    cores
}

/// To how many cores the calling thread is bound; 0 if nobody knows.
#[cfg(target_os = "linux")]
fn cores_bound_to() -> u32 {
    rustix::thread::sched_getaffinity(None).map_or(0, |set| set.count())
}

/// To how many cores the calling thread is bound: not known on this system.
#[cfg(not(target_os = "linux"))]
const fn cores_bound_to() -> u32 {
    0
}

/// The model of the processor, if the system says it.
#[must_use]
pub fn processor_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or("unknown processor", |(_, name)| name.trim()).to_owned()
}

/// Binds the calling thread to core number `worker` of those that it may use, node by node, if
/// there are at least `workers` of them.
///
/// Otherwise, and on systems without thread affinity, the scheduler places the thread. A thread
/// that a bound one starts inherits its binding, so start the other threads first.
#[cfg(target_os = "linux")]
pub fn bind_worker(worker: usize, workers: usize) -> Binding {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use crate::Topology;

    let set = |cores: &[usize]| {
        let mut set = CpuSet::new();
        cores.iter().for_each(|&core| set.set(core));
        set
    };
    debug_assert!(worker < workers, "there is no worker {worker}");
    let (looked, ran) = (Instant::now(), time_run());
    let unbound = Binding { is_bound: false, before: None, near: None, node: None, looked, ran };
    let Ok(before) = sched_getaffinity(None) else { return unbound };
    if (before.count() as usize) < workers {
        return unbound;
    }
    let topology = Topology::of_process();
    let Some(core) = topology.cores().nth(worker) else { return unbound };
    if sched_setaffinity(None, &set(&[core])).is_err() {
        return unbound;
    }
    let node = topology.node_of_core(core);
    let near = node.filter(|_| topology.nodes_with_cores() > 1).map(|node| set(&node.cores));
    let node = node.map(|node| node.id);
    Binding { is_bound: true, before: Some(before), near, node, ..unbound }
}

/// Does nothing: on this system the scheduler places the threads.
#[cfg(not(target_os = "linux"))]
pub fn bind_worker(_worker: usize, _workers: usize) -> Binding {
    Binding { is_bound: false, node: None, looked: Instant::now(), ran: time_run() }
}

/// The processor time that the calling thread has had so far; `None` where that is not known. It
/// takes some hundred nanoseconds.
#[cfg(target_os = "linux")]
#[must_use]
pub fn processor_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).ok()
}

/// The processor time that the calling thread has had so far; not known on this system.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub const fn processor_time() -> Option<Duration> {
    None
}

fn time_run() -> Duration {
    processor_time().unwrap_or_default()
}

/// How many threads run or wait for a core, of all programs of the machine, this one included;
/// `None` where the system does not tell. It is the least of several looks within a time, or the
/// first one that finds `few` at the most: a thread that has just been started, or goes to sleep,
/// says nothing of the next second. (While programs are started, others run for 2 to 4 ms.)
#[must_use]
pub fn running_threads(few: usize, patience: Duration) -> Option<usize> {
    let look = || runnable(&std::fs::read_to_string("/proc/loadavg").ok()?);
    let (began, mut least) = (Instant::now(), look()?);
    while least > few && began.elapsed() < patience {
        // To sleep so little takes three times as long; and beside a program that shares the core,
        // whoever gives it away comes back after milliseconds.
        let since = Instant::now();
        while since.elapsed() < BETWEEN_LOOKS {
            std::hint::spin_loop();
        }
        least = least.min(look()?);
    }
    Some(least)
}

/// The number of runnable threads in the text of Linux' `/proc/loadavg`: three averages, then
/// `runnable/all`.
fn runnable(text: &str) -> Option<usize> {
    text.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

impl Binding {
    /// Unbinds the calling thread, which must be the bound one and hardly ever sleep, if another
    /// program runs on its core. A bound thread would share this core to the end; the scheduler can
    /// move an unbound one to a core with more time.
    #[inline]
    pub fn let_go_of_shared_core(&mut self) {
        if self.is_bound && self.looked.elapsed() >= LOOK_EVERY {
            let (ran, wall) = (time_run(), self.looked.elapsed());
            debug_assert!(ran >= self.ran, "the processor time of a thread went back");
            let share = (ran - self.ran).as_secs_f64() / wall.as_secs_f64();
            (self.looked, self.ran) = (Instant::now(), ran);
            if share < OWN_SHARE {
                self.let_go_of_core();
            }
        }
    }

    /// The thread has slept: what it has had of its core until now says nothing.
    pub fn look_afresh(&mut self) {
        (self.looked, self.ran) = (Instant::now(), time_run());
    }

    /// Lets the thread use all its former cores, or those of its node if there are several nodes.
    fn let_go_of_core(&mut self) {
        debug_assert!(self.is_bound, "a thread without a core lets go of it");
        self.is_bound = false;
        #[cfg(target_os = "linux")]
        if let Some(near) = self.near.take() {
            // If these cores are no longer allowed, the thread stays on its core.
            let _ = rustix::thread::sched_setaffinity(None, &near);
            return;
        }
        self.let_go();
    }

    fn let_go(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(before) = self.before.take() {
            // If these cores are no longer allowed, the thread stays on its core.
            let _ = rustix::thread::sched_setaffinity(None, &before);
        }
    }

    /// Whether the thread is bound.
    #[must_use]
    pub const fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// The node that the thread stays on, if it was bound and the node is known.
    #[must_use]
    pub const fn node(&self) -> Option<u32> {
        self.node
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LOOK_EVERY, bind_worker, runnable, running_threads, time_run};
    use rustix::thread::sched_getaffinity;

    #[test]
    fn runnable_threads_are_read() {
        assert_eq!(runnable("0.52 0.58 0.59 3/467 11206\n"), Some(3));
        for wrong in ["", "0.5 0.5 0.5", "0.5 0.5 0.5 3", "0.5 0.5 0.5 x/4 1"] {
            assert_eq!(runnable(wrong), None, "{wrong}");
        }
    }

    /// Who has found what it looks for does not look again, nor does who has no patience. (This
    /// does not end otherwise.)
    #[test]
    fn looks_for_running_threads_end() {
        for (few, patience) in [(usize::MAX, Duration::MAX), (0, Duration::ZERO)] {
            let running = running_threads(few, patience);
            assert!(running.is_none_or(|threads| threads > 0), "this one runs");
        }
    }

    /// A bound thread has one core, and its former cores after that; also where `cores` knows the
    /// answer of another binding.
    #[test]
    fn a_binding_ends_when_it_is_dropped() {
        let bound_to = || sched_getaffinity(None).map_or(0, |cores| cores.count());
        let before = (bound_to(), super::cores());
        let binding = bind_worker(0, 1);
        assert!(binding.is_bound() && (bound_to(), super::cores()) == (1, 1));
        drop(binding);
        assert_eq!((bound_to(), super::cores()), before);
        let read = std::thread::available_parallelism().ok().map(usize::from);
        assert_eq!(read, Some(super::cores()), "what is known is what the files say");
        assert!(!bind_worker(0, 100_000).is_bound());
    }

    /// A thread that hardly ran since the last check shares its core.
    #[test]
    fn a_thread_leaves_a_shared_core() {
        let mut binding = bind_worker(0, 1);
        let past = |binding: &mut super::Binding, share: f64| {
            binding.looked = Instant::now() - 2 * LOOK_EVERY;
            binding.ran = time_run() - LOOK_EVERY.mul_f64(2.0 * share);
            binding.let_go_of_shared_core();
        };
        while time_run() < 2 * LOOK_EVERY {}
        past(&mut binding, 0.95);
        assert!(binding.is_bound());
        past(&mut binding, 0.5);
        assert!(!binding.is_bound());
    }
}

//! Binds workers to cores, as far as the process may choose, and for as long as that is good.

use std::time::{Duration, Instant};

/// A bound thread looks so often whether its core is its own.
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// A core is not a thread's own if the thread, which hardly ever sleeps, runs for less than this
/// share of the time.
const OWN_SHARE: f64 = 0.8;

/// A thread that is bound to a core. Dropping this gives it back the cores that it had before.
#[derive(Debug)]
#[must_use = "the thread is bound for as long as this lives"]
pub struct Binding {
    #[cfg(target_os = "linux")]
    before: Option<rustix::thread::CpuSet>,
    looked: Instant,
    /// How long the thread had run by then.
    ran: Duration,
}

/// Binds the calling thread to the `worker`-th of the cores that it may use, if there is one for
/// each of `workers`.
///
/// Where there are fewer cores, or the system has no such thing, the scheduler decides. A thread
/// that is started by a bound one may use that one core only: start the others first.
#[cfg(target_os = "linux")]
pub fn bind_worker(worker: usize, workers: usize) -> Binding {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let allowed = sched_getaffinity(None).ok().filter(|cores| cores.count() as usize >= workers);
    let bound = allowed.filter(|allowed| {
        let core = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).nth(worker);
        let mut one = CpuSet::new();
        core.inspect(|&core| one.set(core)).is_some_and(|_| sched_setaffinity(None, &one).is_ok())
    });
    Binding { before: bound, looked: Instant::now(), ran: time_run() }
}

/// Does nothing: this system is left to place its threads.
#[cfg(not(target_os = "linux"))]
pub fn bind_worker(_worker: usize, _workers: usize) -> Binding {
    Binding { looked: Instant::now(), ran: time_run() }
}

/// How long the calling thread has run.
#[cfg(target_os = "linux")]
fn time_run() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
const fn time_run() -> Duration {
    Duration::ZERO
}

impl Binding {
    /// Lets the calling thread, which is the bound one and hardly ever sleeps, go to any core again
    /// if another program runs on its core. Bound, it would have to share this core for good;
    /// free, the scheduler can give it what is left of all cores.
    #[inline]
    pub fn let_go_of_shared_core(&mut self) {
        if self.is_bound() && self.looked.elapsed() >= LOOK_EVERY {
            let (ran, wall) = (time_run(), self.looked.elapsed());
            let share = (ran - self.ran).as_secs_f64() / wall.as_secs_f64();
            (self.looked, self.ran) = (Instant::now(), ran);
            if share < OWN_SHARE {
                self.let_go();
            }
        }
    }

    fn let_go(&mut self) {
        #[cfg(target_os = "linux")]
        if let Some(before) = self.before.take() {
            // It was allowed before; if it is not any more, the thread stays where it is.
            let _ = rustix::thread::sched_setaffinity(None, &before);
        }
    }

    /// Whether the thread is bound.
    #[must_use]
    pub const fn is_bound(&self) -> bool {
        #[cfg(target_os = "linux")]
        return self.before.is_some();
        #[cfg(not(target_os = "linux"))]
        return false;
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::time::Instant;

    use super::{LOOK_EVERY, bind_worker, time_run};
    use rustix::thread::sched_getaffinity;

    /// A bound thread has one core, and afterwards those that it had before.
    #[test]
    fn gives_the_cores_back() {
        let cores = || sched_getaffinity(None).map_or(0, |cores| cores.count());
        let before = cores();
        let binding = bind_worker(0, 1);
        assert!(binding.is_bound() && cores() == 1);
        drop(binding);
        assert_eq!(cores(), before);
        assert!(!bind_worker(0, 100_000).is_bound());
    }

    /// A thread that hardly ran since the last look has lost its core to somebody else.
    #[test]
    fn lets_go_of_a_shared_core() {
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

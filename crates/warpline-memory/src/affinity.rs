//! Binds workers to cores, as far as the process may choose.

/// A thread that is bound to a core. Dropping this gives it back the cores that it had before.
#[derive(Debug)]
#[must_use = "the thread is bound for as long as this lives"]
pub struct Binding {
    #[cfg(target_os = "linux")]
    before: Option<rustix::thread::CpuSet>,
}

/// Binds the calling thread to the `worker`-th of the cores that it may use, if there is one for each
/// of `workers`.
///
/// Where there are fewer cores, or the system has no such thing, the scheduler decides. A thread that
/// is started by a bound one may use that one core only: start the others first.
#[cfg(target_os = "linux")]
pub fn bind_worker(worker: usize, workers: usize) -> Binding {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let allowed = sched_getaffinity(None).ok().filter(|cores| cores.count() as usize >= workers);
    let bound = allowed.filter(|allowed| {
        let core = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).nth(worker);
        let mut one = CpuSet::new();
        core.inspect(|&core| one.set(core)).is_some_and(|_| sched_setaffinity(None, &one).is_ok())
    });
    Binding { before: bound }
}

/// Does nothing: this system is left to place its threads.
#[cfg(not(target_os = "linux"))]
pub fn bind_worker(_worker: usize, _workers: usize) -> Binding {
    Binding {}
}

impl Binding {
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
        #[cfg(target_os = "linux")]
        if let Some(before) = &self.before {
            // It was allowed before; if it is not any more, the thread stays where it is.
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::bind_worker;
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
}

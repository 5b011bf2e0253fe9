//! Binds workers to cores, as far as the process may choose.

/// Binds the calling thread to the `worker`-th of the cores that the process may use, if there is
/// one for each of `workers`; gives back whether it is bound.
///
/// Where there are fewer cores, or the system has no such thing, the scheduler decides.
#[cfg(target_os = "linux")]
pub fn bind_worker(worker: usize, workers: usize) -> bool {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return false };
    if (allowed.count() as usize) < workers {
        return false;
    }
    let core = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).nth(worker);
    core.is_some_and(|core| {
        let mut one = CpuSet::new();
        one.set(core);
        sched_setaffinity(None, &one).is_ok()
    })
}

/// Does nothing: this system is left to place its threads.
#[cfg(not(target_os = "linux"))]
pub fn bind_worker(_worker: usize, _workers: usize) -> bool {
    false
}

//! How many runs of memory the process may bind to nodes.
//!
//! Each run with a binding of its own is a mapping of the system's, and so is what lies between two
//! of them. A process has room for so many mappings only (`vm.max_map_count`), and when they are
//! used up, not only a binding fails but any `mmap`: of the allocator, of a thread that starts. So
//! [`heap`](super::heap) asks here before it binds.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

/// What the system allows if it does not say.
const MAPPINGS: usize = 65_530;

/// The bindings of the process.
pub(super) static BINDINGS: Bindings =
    Bindings { taken: AtomicUsize::new(0), most: AtomicUsize::new(0) };

/// A count of bindings, with a limit.
#[derive(Debug)]
pub(super) struct Bindings {
    taken: AtomicUsize,
    /// 0 before the system was asked.
    most: AtomicUsize,
}

// Ordering: Relaxed throughout; counts, which publish nothing.
impl Bindings {
    /// Takes one, if there are some.
    pub(super) fn take(&self) -> bool {
        let most = self.most();
        let more = |taken| (taken < most).then_some(taken + 1);
        // Ordering: Relaxed, see above.
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    pub(super) fn give_back(&self) {
        // Ordering: Relaxed, see above.
        let before = self.taken.fetch_sub(1, Ordering::Relaxed);
        debug_assert!(before > 0, "HEAP-D: more bindings go back than were taken");
    }

    /// Three eighths of the mappings that the system allows: with as many gaps, they leave a
    /// quarter to others.
    fn most(&self) -> usize {
        // Ordering: Relaxed, see above; who asks at the same time gets the same answer.
        let known = self.most.load(Ordering::Relaxed);
        if known > 0 {
            return known;
        }
        let text = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
        let mappings = text.and_then(|text| text.trim().parse().ok()).unwrap_or(MAPPINGS);
        let most = (mappings / 8 * 3).max(1);
        self.most.store(most, Ordering::Relaxed);
        most
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
impl Bindings {
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Sets the limit, and returns the one from before.
    pub(super) fn limit_to(&self, most: usize) -> usize {
        self.most();
        self.most.swap(most, Ordering::Relaxed)
    }
}

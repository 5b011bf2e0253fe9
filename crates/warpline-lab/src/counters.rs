//! Counters of this process and its threads, of the hardware and of the system, where the machine
//! offers them.
//!
//! Sampling counts each real run with [`count`], and the tables have the counts per event. The
//! counters are opened before the run starts its threads, which inherit them, and read after the
//! threads have ended. Many virtual machines and containers offer no hardware counters: then the
//! cells of the tables are empty, and [`unavailable`] has the system's reason for the text.

/// The names of the counters, in the order of [`Counts`].
pub(crate) const NAMES: [&str; 3] = ["cache misses", "dTLB misses", "page faults"];

/// The counts of a sample; `None` for a counter that the machine does not offer.
pub(crate) type Counts = [Option<u64>; NAMES.len()];

#[cfg(target_os = "linux")]
mod system {
    use std::io;

    use perf_event::{
        Builder, Counter,
        events::{Cache, CacheId, CacheOp, CacheResult, Hardware, Software},
    };

    /// Opens each counter by itself, because a machine may offer only some of them.
    pub(super) fn open() -> [io::Result<Counter>; 3] {
        let dtlb =
            Cache { which: CacheId::DTLB, operation: CacheOp::READ, result: CacheResult::MISS };
        [
            Builder::new(Hardware::CACHE_MISSES).inherit(true).build(),
            Builder::new(dtlb).inherit(true).build(),
            Builder::new(Software::PAGE_FAULTS).inherit(true).build(),
        ]
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    /// A counter of a system whose counters cannot be read.
    #[derive(Debug)]
    pub(super) enum Counter {}

    impl Counter {
        pub(super) fn enable(&mut self) -> io::Result<()> {
            match *self {}
        }

        pub(super) fn read(&mut self) -> io::Result<u64> {
            match *self {}
        }
    }

    pub(super) fn open() -> [io::Result<Counter>; 3] {
        [(); 3].map(|()| Err(io::ErrorKind::Unsupported.into()))
    }
}

/// Does `work`, and counts while it runs.
pub(crate) fn count<T>(work: impl FnOnce() -> T) -> (T, Counts) {
    let mut counters = system::open().map(|counter| {
        let mut counter = counter.ok()?;
        counter.enable().ok().map(|()| counter)
    });
    let outcome = work();
    let counts = counters.each_mut().map(|counter| counter.as_mut()?.read().ok());
    (outcome, counts)
}

/// The counters that this machine does not offer, each with the system's reason.
pub(crate) fn unavailable() -> Vec<(&'static str, String)> {
    let opened = NAMES.into_iter().zip(system::open());
    opened.filter_map(|(name, counter)| Some((name, counter.err()?.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every counter counts or has a reason why it does not; the threads that are started count,
    /// too.
    #[test]
    fn a_counter_counts_or_says_why_not() {
        let touch = || {
            let pages = vec![1_u8; 1 << 24];
            pages.iter().map(|&byte| u64::from(byte)).sum::<u64>()
        };
        let (sum, counts) = count(|| std::thread::scope(|scope| scope.spawn(touch).join()));
        assert_eq!(sum.ok(), Some(1 << 24));
        let missing: Vec<_> = unavailable().into_iter().map(|(name, _)| name).collect();
        for (name, count) in NAMES.into_iter().zip(counts) {
            assert_eq!(count.is_none(), missing.contains(&name), "{name}: {count:?}");
        }
        if let Some(faults) = counts[2] {
            assert!(faults >= 4096 / 512, "{faults} page faults for 16 MiB");
        }
    }
}

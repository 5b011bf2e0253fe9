//! Why a run was slow, if it was, and how to change that: concluded from the workers' counters.
//!
//! Called once, when the report is made. Each rule is a function that returns a remark or none.

use super::statistics::Statistics;
use crate::counted::counted;

/// The input of the rules.
#[derive(Clone, Debug)]
pub(super) struct Evidence<'a> {
    pub(super) workers: &'a [Statistics],
    pub(super) cores: usize,
    pub(super) lps: usize,
    /// Whether there are other ranks, whose events are not among these.
    pub(super) is_part: bool,
    /// The bytes that one event takes, and the most events there were at a time.
    pub(super) event_bytes: u64,
    pub(super) events_peak: u64,
    /// Events committed per second of wall time.
    pub(super) rate: f64,
}

/// Fractions above which a rule makes a remark.
const ROLLED_BACK_MUCH: f64 = 0.2;
const MAILED_MUCH: f64 = 0.25;
const IDLE_MUCH: f64 = 0.5;
const IMBALANCE_MUCH: f64 = 1.5;
const EVENTS_PER_LP_FEW: f64 = 10.0;
/// Fewer events than this say little.
const EVENTS_MIN: u64 = 10_000;
/// Events that take less than this are hardly worth a message to another worker, in nanoseconds.
const FINE_GRAIN_NS: f64 = 1_000.0;
/// More bytes than this do not fit into the caches nearest to a core.
const CACHE_BYTES: u64 = 4 << 20;

impl Evidence<'_> {
    /// The remarks of all rules, the most important first.
    pub(super) fn remarks(&self) -> Vec<String> {
        let rules = [
            Self::too_many_workers,
            Self::out_of_memory,
            Self::rollback_storm,
            Self::one_worker_behind,
            Self::few_events,
            Self::waiting,
            Self::much_mail,
            Self::memory_bound,
        ];
        rules.iter().filter_map(|rule| rule(self)).collect()
    }

    fn total(&self) -> Statistics {
        let mut total = Statistics::default();
        self.workers.iter().for_each(|worker| total.add(worker));
        total
    }

    fn is_parallel(&self) -> bool {
        self.workers.len() > 1
    }

    fn too_many_workers(&self) -> Option<String> {
        let (workers, cores) = (self.workers.len(), self.cores);
        (workers > cores).then(|| {
            format!(
                "{workers} workers share {}: those that wait for a core are passed by, and hold \
                 the others up; use --workers {cores} or fewer",
                counted(cores, "core")
            )
        })
    }

    fn out_of_memory(&self) -> Option<String> {
        let total = self.total();
        (total.cancelbacks > 0).then(|| {
            format!(
                "buffers ran out: {} handled events were undone to get some back (cancelback); \
                 raise --memory",
                total.cancelbacks
            )
        })
    }

    fn rollback_storm(&self) -> Option<String> {
        let total = self.total();
        let undone = total.rolled_back as f64 / total.processed.max(1) as f64;
        (undone > ROLLED_BACK_MUCH && total.processed > EVENTS_MIN).then(|| {
            format!(
                "{:.0} % of the handled events were undone: workers run too far ahead of each \
                 other; try a smaller --batch or a --window, place LPs that talk to each other on \
                 one worker, or use --workers 1",
                100.0 * undone
            )
        })
    }

    fn one_worker_behind(&self) -> Option<String> {
        let committed = self.workers.iter().map(|worker| worker.committed);
        let (most, total) = (committed.clone().max()?, committed.clone().sum::<u64>());
        let mean = total as f64 / self.workers.len() as f64;
        let busiest = committed.enumerate().max_by_key(|(_, events)| *events)?.0;
        (most as f64 > IMBALANCE_MUCH * mean && total > EVENTS_MIN).then(|| {
            format!(
                "worker {busiest} has {:.1} times the events of the average worker, and the others \
                 wait for it; spread the busy LPs (Model::placement)",
                most as f64 / mean
            )
        })
    }

    fn few_events(&self) -> Option<String> {
        let few = self.is_parallel().then_some("starting workers takes longer; use --workers 1");
        (!self.is_part).then(|| remark_on_few(self.total().committed, self.lps, few)).flatten()
    }

    fn waiting(&self) -> Option<String> {
        let total = self.total();
        let idle = total.idle_turns as f64 / total.turns.max(1) as f64;
        let why = if 2 * total.full_turns > total.idle_turns {
            "they had as many uncommitted ones as they may keep, because another worker was behind \
             or because events take less time than GVT; try --engine auto"
        } else {
            "few LPs have events at the same time, or a --window, a time barrier or the throttle \
             holds workers back; use fewer workers"
        };
        (self.is_parallel() && idle > IDLE_MUCH && total.committed > EVENTS_MIN).then(|| {
            format!(
                "workers found no event that they may handle in {:.0} % of their turns: {why}",
                100.0 * idle
            )
        })
    }

    fn much_mail(&self) -> Option<String> {
        let total = self.total();
        let mailed = total.received as f64 / total.processed.max(1) as f64;
        let grain = 1e9 * self.workers.len() as f64 / self.rate;
        let much = self.is_parallel() && mailed > MAILED_MUCH && total.committed > EVENTS_MIN;
        (much && grain < FINE_GRAIN_NS).then(|| {
            format!(
                "{:.0} % of the events came from another worker, and an event takes only \
                 {grain:.0} ns, a good part of it for the way through memory; place LPs that send \
                 to each other on one worker, or try --workers 1",
                100.0 * mailed
            )
        })
    }

    fn memory_bound(&self) -> Option<String> {
        let bytes = self.event_bytes * self.events_peak;
        (bytes > CACHE_BYTES * self.workers.len() as u64).then(|| {
            format!(
                "events and their records take {} MiB, more than the caches hold: much of the time \
                 is spent waiting for memory; smaller messages and states help",
                bytes >> 20
            )
        })
    }
}

/// The remark on the events of several ranks together, if they were few.
pub(super) fn few_on_ranks(committed: u64, lps: usize) -> Option<String> {
    let few = "starting ranks takes longer; use one rank with --workers 1";
    remark_on_few(committed, lps, Some(few))
}

/// The remark that there were few events, and what that means, if it does; or few of each LP.
fn remark_on_few(committed: u64, lps: usize, few: Option<&str>) -> Option<String> {
    let few = few.filter(|_| committed < EVENTS_MIN);
    let events = counted(committed as usize, "event");
    let few = few.map(|few| format!("the run had only {events}: {few}"));
    let per_lp = committed as f64 / lps.max(1) as f64;
    few.or_else(|| {
        (per_lp < EVENTS_PER_LP_FEW).then(|| {
            format!(
                "an LP had {per_lp:.1} events on average: most of the time goes into making LPs \
                 and into cold caches; a longer run tells more"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(processed: u64, rolled_back: u64) -> Statistics {
        let committed = processed - rolled_back;
        Statistics { processed, committed, rolled_back, turns: 1000, ..Statistics::default() }
    }

    fn remarks(workers: &[Statistics]) -> Vec<String> {
        let evidence = Evidence {
            workers,
            cores: 2,
            lps: 100,
            is_part: false,
            event_bytes: 100,
            events_peak: 1000,
            rate: 1e7,
        };
        evidence.remarks()
    }

    /// A run without trouble gets no remark; each trouble gets its own.
    #[test]
    fn says_what_is_wrong_and_nothing_else() {
        let good = worker(1_000_000, 1000);
        assert_eq!(remarks(&[good.clone(), good.clone()]), [""; 0]);
        let says = |workers: &[Statistics], words: &str| {
            let remarks = remarks(workers);
            assert!(remarks.iter().any(|remark| remark.contains(words)), "{words}: {remarks:?}");
        };
        says(&[worker(1_000_000, 500_000), good.clone()], "undone");
        says(&[worker(5_000_000, 0), worker(100, 0)], "worker 0 has");
        says(&[worker(1000, 0), worker(1000, 0)], "--workers 1");
        says(&[good.clone(), good.clone(), good.clone()], "share 2 cores");
        says(&[Statistics { cancelbacks: 5, ..good.clone() }, good.clone()], "--memory");
        let idle = Statistics { idle_turns: 990, ..good.clone() };
        says(&[idle.clone(), idle.clone()], "few LPs have events");
        let full = Statistics { full_turns: 500, ..idle };
        says(&[full.clone(), full], "uncommitted ones");
        let mail = Statistics { received: 500_000, ..good };
        says(&[mail.clone(), mail], "another worker");
    }
}

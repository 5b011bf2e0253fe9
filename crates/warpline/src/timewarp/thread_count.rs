//! How many threads work: as many as is fastest.
//!
//! Called by the first thread at each look at the clock. If another program takes a core, the
//! workers of the thread that ran there hold all others up: no GVT without their reports. The rate
//! shows that, and fewer threads do the work of all workers, as long as that is faster
//! ([`worker_threads`](super::worker_threads)). Whether it is, and when more threads are tried
//! again, is the choice that the engines with windows have ([`Choice`]); there is nothing to hand
//! over here.

use warpline_core::{LpId, Stream};

use crate::{
    EngineKind,
    counted::{counted, named_rates},
    settings::{Balance, Settings, TimeWarp},
    stages::{Candidate, Choice},
    watch::Progress,
};

/// Decides how many threads work.
#[derive(Debug)]
pub(super) struct ThreadCount {
    /// The numbers of threads that are tried.
    candidates: Vec<Candidate>,
    choice: Choice,
    /// For tests: threads come and go with this probability at each look.
    at_random: Option<(f64, Stream)>,
    /// Events committed by each number of threads, and those before the present one.
    committed: Vec<u64>,
    now: usize,
    before: u64,
    /// The candidate that is to begin, where other programs have cores.
    begins_with: Option<usize>,
}

impl ThreadCount {
    /// For a run with these settings and from `least` to `threads` threads, if the number may
    /// change. `idle` of them may have a core of their own now; a run that begins on all of them
    /// beside other programs may be over before it shows that fewer are faster.
    pub(super) fn new(
        settings: &Settings<TimeWarp>,
        (least, threads): (usize, usize),
        idle: usize,
    ) -> Option<Self> {
        let &TimeWarp { balance, ref instrumentation, .. } = &settings.engine;
        if threads <= least || balance == Balance::Off || instrumentation.in_turn {
            return None;
        }
        let mut candidates = Candidate::of(EngineKind::TimeWarp, threads, threads, balance);
        candidates.retain(|one| one.workers >= least);
        debug_assert_eq!(candidates[0].workers, threads, "all threads work at first");
        let mut choice = Choice::preferring_the_first(candidates.len());
        let at_random = match balance {
            Balance::Randomly(share) => Some((share, Stream::for_lp(settings.seed, LpId::new(1)))),
            Balance::On | Balance::Off => None,
        };
        let (now, committed) = (choice.begin_stage(), vec![0; candidates.len()]);
        let fits = candidates.iter().position(|one| one.workers <= idle.max(least));
        let begins_with = fits.filter(|&number| number > 0);
        Some(Self { candidates, choice, at_random, committed, now, before: 0, begins_with })
    }

    /// Looks how far the run is. Says how many threads are to work from now on, if that changes.
    pub(super) fn look(&mut self, progress: &Progress) -> Option<usize> {
        if let Some((share, dice)) = &mut self.at_random {
            let most = self.candidates[0].workers as u64;
            return dice.chance(*share).then(|| 1 + dice.below(most) as usize);
        }
        if let Some(number) = self.begins_with.take() {
            self.choice.begin_with(number);
        } else if !self.choice.look(progress) {
            return None;
        }
        self.committed[self.now] += progress.committed_events - self.before;
        (self.now, self.before) = (self.choice.begin_stage(), progress.committed_events);
        Some(self.candidates[self.now].workers)
    }

    /// What the report says at the end, if fewer threads did much of the work.
    pub(super) fn remark(&self, committed: u64) -> Option<String> {
        debug_assert_eq!(
            self.committed.iter().sum::<u64>(),
            self.before,
            "of no number of threads"
        );
        let mut by_number = self.committed.clone();
        by_number[self.now] += committed - self.before;
        let by_fewer: u64 = by_number[1..].iter().sum();
        let share = by_fewer as f64 / committed.max(1) as f64;
        if share < FEWER_MUCH {
            return None;
        }
        let rates = self.candidates.iter().enumerate().filter_map(|(number, one)| {
            Some((counted(one.workers, "thread"), self.choice.rate(number)?))
        });
        let share = format!("{:.0} % of the events", 100.0 * share);
        Some(format!("fewer threads than workers committed {share}{}", named_rates(rates)))
    }
}

/// The report tells if fewer threads committed this part of the events.
const FEWER_MUCH: f64 = 0.1;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use warpline_core::VirtualTime;

    use super::*;
    use crate::settings::Instrumentation;

    fn settings(balance: Balance, in_turn: bool) -> Settings<TimeWarp> {
        let instrumentation = Instrumentation { in_turn, ..Instrumentation::default() };
        let engine = TimeWarp { workers: 2, balance, instrumentation, ..TimeWarp::default() };
        Settings { end: 1e3, engine, ..Settings::default() }
    }

    /// Plays a run in which the first core is taken for a while: two threads commit so many events
    /// per second then, otherwise 10 million, and one 6 million. Returns the share of the time in
    /// which the faster number of threads worked.
    fn play(disturbed: f64) -> f64 {
        let mut thread_count =
            ThreadCount::new(&settings(Balance::On, false), (1, 2), 2).expect("two workers");
        let (mut threads, mut committed, mut right) = (2, 0.0, 0_u32);
        let steps: u32 = 40_000;
        for step in 1..=steps {
            let time = 0.25e-3 * f64::from(step);
            let is_taken = (3.0..7.0).contains(&time);
            let rates = [6e6, if is_taken { disturbed } else { 10e6 }];
            committed += 0.25e-3 * rates[threads - 1];
            let best = if rates[0] > rates[1] { 1 } else { 2 };
            right += u32::from(threads == best);
            let progress = Progress {
                virtual_time: VirtualTime::new(time * 100.0).expect("a time"),
                end: VirtualTime::new(1e3).expect("a time"),
                committed_events: committed as u64,
                processed_events: committed as u64,
                wall: Duration::from_secs_f64(time),
            };
            if let Some(number) = thread_count.look(&progress) {
                threads = number;
            }
        }
        assert!(
            thread_count.remark(committed as u64).is_some_and(|text| text.contains("1 thread 6.0"))
        );
        f64::from(right) / f64::from(steps)
    }

    /// Fewer threads work while a core is taken, and all when it is back.
    #[test]
    fn a_core_that_is_taken_is_left() {
        let share = play(4e6);
        assert!(share > 0.85, "{share}");
    }

    /// One worker, a balance that is off, and workers that take turns have nothing to choose.
    #[test]
    fn there_may_be_nothing_to_choose() {
        assert!(ThreadCount::new(&settings(Balance::Off, false), (1, 2), 2).is_none());
        assert!(ThreadCount::new(&settings(Balance::On, true), (1, 2), 2).is_none());
        assert!(ThreadCount::new(&settings(Balance::On, false), (2, 2), 2).is_none());
    }

    /// Beside other programs a run begins on as many threads as there are idle cores, and on one at
    /// least; when the cores are idle again, all threads work.
    #[test]
    fn a_run_begins_on_idle_cores() {
        let progress = |committed_events, milliseconds| Progress {
            virtual_time: VirtualTime::new(1.0 + 0.01 * milliseconds as f64).expect("a time"),
            end: VirtualTime::new(1e3).expect("a time"),
            committed_events,
            processed_events: committed_events,
            wall: Duration::from_millis(milliseconds),
        };
        for idle in [0, 1] {
            let mut thread_count =
                ThreadCount::new(&settings(Balance::On, false), (1, 2), idle).expect("two");
            assert_eq!(thread_count.look(&progress(0, 1)), Some(1), "{idle} idle cores");
            let rates = [0, 6_000, 10_000];
            let (mut threads, mut committed) = (1, 0);
            for time in 2..20_000 {
                committed += rates[threads];
                threads = thread_count.look(&progress(committed, time)).unwrap_or(threads);
            }
            assert_eq!(threads, 2, "{idle} idle cores");
        }
        let mut thread_count =
            ThreadCount::new(&settings(Balance::On, false), (1, 2), 2).expect("two");
        assert_eq!(thread_count.look(&progress(0, 1)), None);
    }
}

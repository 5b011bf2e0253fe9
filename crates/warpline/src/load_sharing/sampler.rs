//! How long LPs take: measured by their worker in some of its windows, gathered for all.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use warpline_core::LpId;
use warpline_memory::CachePadded;

use crate::local_lp::LocalLp;

/// One window of this number is measured. (Two looks at the clock for each LP with events cost
/// about as much as two events.)
const EVERY: u64 = 16;
/// After this number of measured windows, what was measured before counts half.
const HALF_LIFE: u64 = 32;
/// An LP that takes longer than this, and this number of times what is usual, has probably lost its
/// core for a while. If that happens to the same LP again soon, it is the LP.
const LONG: Duration = Duration::from_micros(50);
const LONG_BY_MEAN: f64 = 32.0;

/// Whether a time is so long that the core was probably lost meanwhile; `usual` in nanoseconds.
pub(crate) fn is_suspicious(spent: Duration, usual: f64) -> bool {
    spent > LONG && spent.as_nanos() as f64 > LONG_BY_MEAN * usual
}

/// How much there is to do, for all workers of a stage.
#[derive(Debug)]
pub(crate) struct Loads {
    workers: Box<[CachePadded<Load>]>,
    /// LPs are to move, so that what each of them has done is of use.
    are_wanted: AtomicBool,
    gathered: Gathered,
}

/// What workers have handed in, by LP.
#[derive(Debug, Default)]
pub(crate) struct Gathered(Mutex<Vec<Measured>>);

impl Gathered {
    /// A worker hands in what its LPs have done.
    pub(crate) fn put(&self, worker: usize, loads: impl Iterator<Item = (LpId, f64)>) {
        let mut measured = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (lp, load) in loads {
            debug_assert!(load >= 0.0, "{lp} has a load of {load}");
            if measured.len() <= lp.index() {
                measured.resize(lp.index() + 1, Measured::default());
            }
            measured[lp.index()] = Measured { worker: worker as u32, load };
        }
    }

    /// What all of them have handed in.
    pub(crate) fn take(&self) -> Vec<Measured> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How much a worker has to do.
#[derive(Debug, Default)]
struct Load {
    /// Measured windows.
    samples: AtomicU64,
    /// The bits of nanoseconds in handlers, per window.
    busy: AtomicU64,
}

/// Where an LP was, and what it has done there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) worker: u32,
    /// In any unit.
    pub(crate) load: f64,
}

impl Loads {
    pub(super) fn new(workers: usize) -> Self {
        let workers = (0..workers).map(|_| CachePadded::default()).collect();
        Self { workers, are_wanted: AtomicBool::new(false), gathered: Gathered::default() }
    }

    /// The stage ends so that LPs can move: workers hand in what theirs have done.
    pub(super) fn request(&self) {
        // Ordering: Relaxed; workers look when all of them have met at the end of the stage.
        self.are_wanted.store(true, Ordering::Relaxed);
    }

    /// Whether they are to.
    pub(super) fn are_wanted(&self) -> bool {
        // Ordering: Relaxed, see `request`.
        self.are_wanted.load(Ordering::Relaxed)
    }

    /// How many windows each worker has measured, at the least.
    pub(super) fn samples(&self) -> u64 {
        // Ordering: Relaxed, here and below; these are estimates, which publish nothing.
        let samples = self.workers.iter().map(|load| load.samples.load(Ordering::Relaxed));
        samples.min().unwrap_or(0)
    }

    /// What the busiest worker has to do, by the mean.
    pub(super) fn unevenness(&self) -> f64 {
        let busy = |load: &CachePadded<Load>| f64::from_bits(load.busy.load(Ordering::Relaxed));
        most_by_mean(self.workers.iter().map(busy))
    }

    /// What all workers have handed in, by LP.
    pub(super) fn take(&self) -> Vec<Measured> {
        self.gathered.take()
    }

    /// A worker hands in what its LPs have done.
    pub(super) fn put(&self, worker: usize, loads: impl Iterator<Item = (LpId, f64)>) {
        self.gathered.put(worker, loads);
    }

    #[cfg(test)]
    pub(super) fn set(&self, worker: usize, samples: u64, busy: f64) {
        self.workers[worker].samples.store(samples, Ordering::Relaxed);
        self.workers[worker].busy.store(busy.to_bits(), Ordering::Relaxed);
    }
}

/// Measures the LPs of one worker.
#[derive(Debug)]
pub(crate) struct Sampler<'l> {
    loads: Option<&'l Loads>,
    me: usize,
    /// By LP of this worker: nanoseconds in its handlers.
    spent: Vec<f32>,
    /// By LP: whether it has taken suspiciously long.
    suspects: Vec<bool>,
    /// Of the window that is measured: nanoseconds, and LPs.
    window: f64,
    handled: u32,
    /// Nanoseconds per window, and per LP that has events in it: averages.
    busy: f64,
    each: f64,
    samples: u64,
}

impl<'l> Sampler<'l> {
    /// A sampler for worker `me` with this number of LPs; it measures nothing without `loads`.
    pub(crate) fn new(loads: Option<&'l Loads>, me: usize, lps: usize) -> Self {
        let lps = if loads.is_some() { lps } else { 0 };
        let (spent, suspects) = (vec![0.0; lps], vec![false; lps]);
        Self {
            loads,
            me,
            spent,
            suspects,
            window: 0.0,
            handled: 0,
            busy: 0.0,
            each: 0.0,
            samples: 0,
        }
    }

    /// Whether this window is measured.
    #[inline]
    pub(crate) const fn measures(&self, window: u64) -> bool {
        self.loads.is_some() && window.is_multiple_of(EVERY)
    }

    /// Notes that an LP has handled its events since this time.
    pub(crate) fn note(&mut self, local: LocalLp, since: Instant) {
        self.add(local, since.elapsed());
    }

    fn add(&mut self, local: LocalLp, spent: Duration) {
        debug_assert!(local.index() < self.spent.len(), "the LP is another worker's");
        let mut nanoseconds = spent.as_nanos() as f64;
        if self.samples > 0 && !self.suspects[local.index()] {
            let usual = self.each.max(f64::from(self.spent[local.index()]) / self.samples as f64);
            if is_suspicious(spent, usual) {
                self.suspects[local.index()] = true;
                nanoseconds = usual;
            }
        }
        self.spent[local.index()] += nanoseconds as f32;
        self.window += nanoseconds;
        self.handled += 1;
    }

    /// A window that was measured is over: the others may see it.
    pub(crate) fn end_window(&mut self) {
        let Some(loads) = self.loads else { return };
        let window = std::mem::take(&mut self.window);
        let handled = std::mem::take(&mut self.handled);
        self.samples += 1;
        let weight = (1.0 / self.samples as f64).max(2.0 / HALF_LIFE as f64);
        self.busy += weight * (window - self.busy);
        if handled > 0 {
            self.each += weight * (window / f64::from(handled) - self.each);
        }
        if self.samples.is_multiple_of(HALF_LIFE) {
            self.spent.iter_mut().for_each(|spent| *spent /= 2.0);
            self.suspects.fill(false);
        }
        // Ordering: Relaxed, see `Loads::samples`.
        loads.workers[self.me].busy.store(self.busy.to_bits(), Ordering::Relaxed);
        loads.workers[self.me].samples.store(self.samples, Ordering::Relaxed);
    }

    /// At the end of a stage: gives what was measured to whoever places the LPs of the next one, if
    /// they are to move; `lps` are those of this worker.
    pub(crate) fn hand_in(&self, lps: &[LpId]) {
        let Some(loads) = self.loads.filter(|loads| loads.are_wanted()) else { return };
        debug_assert_eq!(lps.len(), self.spent.len(), "an LP was not measured");
        let spent = self.spent.iter().map(|&spent| f64::from(spent));
        loads.put(self.me, lps.iter().copied().zip(spent));
    }
}

/// The greatest of these loads by their mean. Each is looked at once: other workers may change them
/// meanwhile.
pub(crate) fn most_by_mean(loads: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = loads.len();
    let add = |(most, total): (f64, f64), load: f64| (most.max(load), total + load);
    let (most, total) = loads.fold((0.0, 0.0), add);
    debug_assert!(most * count as f64 >= 0.999 * total, "the most is below the mean");
    if total > 0.0 { most * count as f64 / total } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Duration = Duration::from_nanos(10);
    const FIRST: LocalLp = LocalLp::new(0);
    const SECOND: LocalLp = LocalLp::new(1);

    /// Loads that fall while they are looked at: a worker has published new ones. Red (by the
    /// assertion) if the mean is of one look and the greatest of another.
    #[test]
    fn loads_may_change_while_they_are_looked_at() {
        let load = std::cell::Cell::new(16.0);
        let falling = (0..2).map(|_| load.replace(load.get() / 2.0));
        assert!((most_by_mean(falling) - 16.0 / 12.0).abs() < 1e-9);
    }

    #[test]
    fn loads_are_gathered_by_lp() {
        let loads = Loads::new(2);
        let mut samplers = [0, 1].map(|me| Sampler::new(Some(&loads), me, 2 - me));
        assert!(samplers[0].measures(EVERY) && !samplers[0].measures(EVERY + 1));
        assert!(!Sampler::new(None, 0, 2).measures(EVERY));
        for _ in 0..3 {
            samplers[0].add(FIRST, TEN);
            samplers[0].add(SECOND, 5 * TEN);
            samplers[0].end_window();
        }
        assert_eq!(loads.samples(), 0, "the other worker has measured nothing");
        samplers[1].add(FIRST, 3 * TEN);
        samplers[1].end_window();
        assert_eq!((loads.samples(), loads.unevenness()), (1, 60.0 * 2.0 / 90.0));
        samplers[0].hand_in(&[LpId::new(0), LpId::new(2)]);
        assert!(loads.take().is_empty(), "no LP is to move");
        loads.request();
        samplers[0].hand_in(&[LpId::new(0), LpId::new(2)]);
        samplers[1].hand_in(&[LpId::new(1)]);
        let of = |worker, load| Measured { worker, load };
        assert_eq!(loads.take(), [of(0, 30.0), of(1, 30.0), of(0, 150.0)]);
        assert!(loads.take().is_empty());
    }

    /// A core that was lost for a while says nothing of the LP; an LP that is always slow does.
    #[test]
    fn one_long_handler_is_not_a_load() {
        let loads = Loads::new(1);
        let mut sampler = Sampler::new(Some(&loads), 0, 2);
        for window in 0..8 {
            sampler.add(FIRST, TEN);
            sampler.add(SECOND, if window == 4 { Duration::from_millis(4) } else { TEN });
            sampler.end_window();
        }
        assert!(sampler.spent[1] < 81.0, "{:?}", sampler.spent);
        for _ in 0..8 {
            sampler.add(FIRST, Duration::from_millis(4));
            sampler.end_window();
        }
        assert!(sampler.spent[0] > 8e6, "{:?}", sampler.spent);
    }

    /// What an LP did long ago is forgotten.
    #[test]
    fn the_past_fades() {
        let loads = Loads::new(1);
        let mut sampler = Sampler::new(Some(&loads), 0, 2);
        for (local, windows) in [(FIRST, HALF_LIFE), (SECOND, 4 * HALF_LIFE)] {
            for _ in 0..windows {
                sampler.add(local, TEN);
                sampler.end_window();
            }
        }
        assert!(sampler.spent[0] * 10.0 < sampler.spent[1], "{:?}", sampler.spent);
    }
}

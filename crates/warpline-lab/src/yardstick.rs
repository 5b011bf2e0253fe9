//! The yardstick: PHOLD as bare loops without any engine, as tight as we can write them.
//!
//! `warpline bench` measures every engine against the best of these, in the same run. They are here
//! and not in the command, whose crate is compiled for a short build and not for speed. There is no
//! process trait, no event key, no digest and no statistics here: an event is a time and a process,
//! a process is a counter, and one random stream serves all.
//!
//! `hold` is the loop of any sequential simulator. `windows` uses the lookahead of a workload:
//! within one window of that length no event can affect another process, so each process's events
//! are taken together, while its state is in the cache.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    hint::black_box,
    time::{Duration, Instant},
};

use warpline::{
    LpId, Stream,
    pending::{Entry, PendingFamily, PendingKind, PendingSet, WithPending},
};
use warpline_models::{
    catalog::{self, Load},
    phold::PholdParams,
};

/// A bare event.
#[derive(Clone, Copy, Debug, Default)]
struct Bare {
    time: f64,
    lp: u32,
}

impl Entry for Bare {
    #[inline]
    fn time(&self) -> f64 {
        self.time
    }
}

impl Ord for Bare {
    // Times are not negative, so their bits order as they do. Ties may go either way here.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.to_bits().cmp(&other.time.to_bits())
    }
}

impl PartialOrd for Bare {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bare {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Bare {}

/// One way to run the bare loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yardstick {
    /// A sequential loop with one of the engine's pending sets.
    Hold(PendingKind),
    /// The same with the standard library's binary heap.
    StdHeap,
    /// Windows of the workload's lookahead.
    Windows,
    /// The model's own loop.
    Own,
}

impl Yardstick {
    /// All that make sense for a workload: windows need lookahead.
    #[must_use]
    pub fn all(load: Load) -> Vec<Self> {
        let Load::Hold(params) = load else { return vec![Self::Own] };
        let holds = PendingKind::ALL.iter().map(|&kind| Self::Hold(kind));
        let windows = (params.lookahead > 0.0).then_some(Self::Windows);
        holds.chain([Self::StdHeap]).chain(windows).collect()
    }

    /// The name in the table.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Hold(kind) => format!("hold {kind}"),
            Self::StdHeap => "hold std-heap".to_owned(),
            Self::Windows => "windows".to_owned(),
            Self::Own => "loop".to_owned(),
        }
    }

    /// Nanoseconds for each event. Handles at least `events` events, set-up included; the model's
    /// own loop does what a run up to `end` does, in which there are that many.
    #[must_use]
    pub fn nanoseconds_per_event(self, load: Load, events: u64, end: f64) -> f64 {
        let (handled, time) = match load {
            Load::Hold(hold) => {
                let catalog::Hold { lps, population, remote, lookahead } = hold;
                let params =
                    PholdParams { lps, population, remote, lookahead, ..PholdParams::default() };
                self.hold(&params, events)
            }
            Load::Loop(run) => (events, run(end)),
        };
        time.as_secs_f64() * 1e9 / handled as f64
    }

    /// How many events were handled, and how long that took.
    fn hold(self, params: &PholdParams, events: u64) -> (u64, Duration) {
        struct Hold<'p>(&'p PholdParams, u64);
        impl WithPending for Hold<'_> {
            type Output = (u64, Duration);
            fn with<P: PendingFamily>(self) -> Self::Output {
                hold::<P::Set<Bare>>(self.0, self.1)
            }
        }
        match self {
            Self::Hold(kind) => kind.dispatch(Hold(params, events)),
            Self::StdHeap => hold::<StdHeap>(params, events),
            Self::Windows => windows(params, events),
            Self::Own => unreachable!("the model of a hold has no loop of its own"),
        }
    }
}

/// The standard library's heap as a pending set; it is never asked to remove.
#[derive(Debug, Default)]
struct StdHeap(BinaryHeap<Reverse<Bare>>);

impl PendingSet<Bare> for StdHeap {
    #[inline]
    fn insert(&mut self, entry: Bare) {
        self.0.push(Reverse(entry));
    }

    #[inline]
    fn pop(&mut self) -> Option<Bare> {
        self.0.pop().map(|Reverse(entry)| entry)
    }

    fn peek(&mut self) -> Option<&Bare> {
        self.0.peek().map(|Reverse(entry)| entry)
    }

    fn remove(&mut self, entry: Bare) {
        self.0.retain(|Reverse(other)| *other != entry);
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// What a PHOLD event draws.
#[derive(Debug)]
struct Draws<'p> {
    params: &'p PholdParams,
    rng: Stream,
}

impl<'p> Draws<'p> {
    fn new(params: &'p PholdParams) -> Self {
        Self { params, rng: Stream::for_lp(1, LpId::new(0)) }
    }

    #[inline]
    fn successor(&mut self, event: Bare) -> Bare {
        let PholdParams { lps, remote, mean, lookahead, .. } = *self.params;
        let far = remote >= 1.0 || self.rng.chance(remote);
        let lp = if far { self.rng.below(lps as u64) as u32 } else { event.lp };
        Bare { time: event.time + lookahead + self.rng.exponential(mean), lp }
    }

    /// The events at the start, dealt evenly.
    fn population(&mut self) -> Vec<Bare> {
        let lps = self.params.lps;
        let start = |event: usize| Bare { time: 0.0, lp: (event % lps) as u32 };
        let delay = |rng: &Stream| self.params.lookahead + rng.exponential(self.params.mean);
        (0..self.params.population)
            .map(|event| Bare { time: delay(&mut self.rng), ..start(event) })
            .collect()
    }
}

fn hold<S: PendingSet<Bare>>(params: &PholdParams, events: u64) -> (u64, Duration) {
    let start = Instant::now();
    let mut draws = Draws::new(params);
    let mut handled_by_lp = vec![0_u64; params.lps];
    let mut pending = S::default();
    for event in draws.population() {
        pending.insert(event);
    }
    let mut handled = 0;
    while handled < events
        && let Some(event) = pending.pop()
    {
        handled_by_lp[event.lp as usize] += 1;
        pending.insert(draws.successor(event));
        handled += 1;
    }
    black_box(&handled_by_lp);
    (handled, start.elapsed())
}

/// Processes per group: the state and the sort of one group stay in the nearest cache.
const GROUP_LPS: usize = 1024;
/// Windows ahead that events are kept apart in; later ones share the last.
const WINDOWS: usize = 256;
const CHUNK: usize = 32;
const NONE: u32 = u32::MAX;

/// Events of one window and one group of processes: a list of chunks.
#[derive(Clone, Copy, Debug)]
struct Bin {
    chunk: u32,
    fill: u32,
}

const EMPTY: Bin = Bin { chunk: NONE, fill: CHUNK as u32 };

/// Chunks of all bins, with a list of free ones.
#[derive(Debug, Default)]
struct Chunks {
    events: Vec<[Bare; CHUNK]>,
    next: Vec<u32>,
    free: Vec<u32>,
}

impl Chunks {
    #[inline]
    fn push(&mut self, bin: &mut Bin, event: Bare) {
        if bin.fill as usize == CHUNK {
            let chunk = self.free.pop().unwrap_or_else(|| {
                self.events.push([Bare::default(); CHUNK]);
                self.next.push(NONE);
                self.events.len() as u32 - 1
            });
            self.next[chunk as usize] = bin.chunk;
            *bin = Bin { chunk, fill: 0 };
        }
        self.events[bin.chunk as usize][bin.fill as usize] = event;
        bin.fill += 1;
    }

    fn pour(&mut self, bin: Bin, into: &mut Vec<Bare>) {
        let Bin { mut chunk, mut fill } = bin;
        while chunk != NONE {
            into.extend_from_slice(&self.events[chunk as usize][..fill as usize]);
            self.free.push(chunk);
            (chunk, fill) = (self.next[chunk as usize], CHUNK as u32);
        }
    }
}

fn windows(params: &PholdParams, events: u64) -> (u64, Duration) {
    let start = Instant::now();
    let mut draws = Draws::new(params);
    let mut handled_by_lp = vec![0_u64; params.lps];
    let groups = params.lps.div_ceil(GROUP_LPS);
    let mut bins = vec![EMPTY; WINDOWS * groups];
    let mut chunks = Chunks::default();
    let per_window = 1.0 / params.lookahead;
    // A successor lies at least one window ahead, up to rounding, which is pushed up here.
    let bin_of = |event: Bare, window: usize| {
        let due = ((event.time * per_window) as usize).clamp(window + 1, window + WINDOWS - 1);
        (due % WINDOWS) * groups + event.lp as usize / GROUP_LPS
    };
    for event in draws.population() {
        chunks.push(&mut bins[bin_of(event, 0)], event);
    }
    let (mut handled, mut window) = (0, 0);
    let (mut taken, mut sorted, mut counts) = (Vec::new(), Vec::new(), vec![0_u32; GROUP_LPS + 1]);
    while handled < events {
        window += 1;
        for group in 0..groups {
            let bin = std::mem::replace(&mut bins[(window % WINDOWS) * groups + group], EMPTY);
            taken.clear();
            chunks.pour(bin, &mut taken);
            // The last bin also holds what is due later than the windows reach.
            taken.retain(|event: &Bare| {
                let due = (event.time * per_window) as usize <= window;
                if !due {
                    chunks.push(&mut bins[bin_of(*event, window)], *event);
                }
                due
            });
            sort_by_lp_and_time(&taken, &mut sorted, &mut counts);
            for &event in &sorted {
                handled_by_lp[event.lp as usize] += 1;
                let next = draws.successor(event);
                chunks.push(&mut bins[bin_of(next, window)], next);
            }
            handled += taken.len() as u64;
        }
    }
    black_box(&handled_by_lp);
    (handled, start.elapsed())
}

/// Counting sort by process, then insertion sort by time within each.
fn sort_by_lp_and_time(events: &[Bare], sorted: &mut Vec<Bare>, counts: &mut [u32]) {
    counts.fill(0);
    for event in events {
        counts[event.lp as usize % GROUP_LPS + 1] += 1;
    }
    for lp in 1..counts.len() {
        counts[lp] += counts[lp - 1];
    }
    sorted.clear();
    sorted.resize(events.len(), Bare::default());
    for &event in events {
        let at = &mut counts[event.lp as usize % GROUP_LPS];
        sorted[*at as usize] = event;
        *at += 1;
    }
    for end in 1..sorted.len() {
        let event = sorted[end];
        let mut at = end;
        while at > 0 && sorted[at - 1].lp == event.lp && sorted[at - 1].time > event.time {
            sorted[at] = sorted[at - 1];
            at -= 1;
        }
        sorted[at] = event;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> PholdParams {
        PholdParams {
            lps: 2000,
            population: 5000,
            lookahead: 0.1,
            remote: 0.5,
            ..PholdParams::default()
        }
    }

    /// In one window, each process's events come together and in the order of their times.
    #[test]
    fn sorts_by_process_and_time() {
        let params = PholdParams { lps: GROUP_LPS, population: 4000, ..params() };
        let mut draws = Draws::new(&params);
        let (mut sorted, mut counts) = (Vec::new(), vec![0; GROUP_LPS + 1]);
        let events = draws.population();
        sort_by_lp_and_time(&events, &mut sorted, &mut counts);
        assert_eq!(sorted.len(), events.len());
        assert!(sorted.is_sorted_by_key(|event| (event.lp, event.time.to_bits())));
    }

    /// The loops lose no event: with a constant delay, all of them are due again and again, so the
    /// number of events handled by a time follows from the population.
    #[test]
    fn windows_handle_every_event() {
        // All events are due at each multiple of the lookahead, and none between: whole rounds of
        // 1 000 are handled, so a lost event would show.
        let params = PholdParams { mean: 0.0, lookahead: 0.25, population: 1000, ..params() };
        let (handled, _) = windows(&params, 50_000);
        assert_eq!(handled, 50_000);
        let (handled, _) = hold::<StdHeap>(&params, 50_000);
        assert_eq!(handled, 50_000);
    }
}

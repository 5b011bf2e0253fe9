//! Each core of the machine is shared with another program that takes every other turn.
//!
//! The sequential engine then has half a core, and an engine with two workers goes on only while
//! both have theirs; what a slice of half a millisecond tells is worth little.

use warpline_core::{LpId, Stream};

use super::*;
use crate::watch::Hint;

/// Between two looks of the simulation at its cores, in seconds.
const TICK: f64 = 0.05e-3;
/// To hand over takes this much work, in seconds.
const HANDOVER: f64 = 0.25e-3;
/// The sequential engine, two engines with two workers, and these with one.
const WORKERS: [usize; 5] = [1, 2, 2, 1, 1];

/// A candidate: its workers, and its rate while all of them have their cores.
type Candidate = (usize, f64);

/// Two cores, and which turns the run has.
struct Cores([(f64, f64); 2]);

impl Cores {
    fn new(dice: &Stream) -> Self {
        Self([(); 2].map(|()| (2.5e-3 + 2e-3 * dice.uniform(), 10e-3 * dice.uniform())))
    }

    fn are_ours(&self, count: usize, time: f64) -> bool {
        let is_ours =
            |&(turn, from): &(f64, f64)| (((time + from) / turn) as u64).is_multiple_of(2);
        self.0[..count].iter().all(is_ours)
    }
}

/// How long a run takes on these cores, with a choice, or else with the first candidate only, if
/// each of the `pending` events takes its part of a hand-over.
fn time_of(
    cores: &Cores,
    mut choice: Option<Choice>,
    candidates: &[Candidate],
    events: f64,
    pending: u64,
) -> f64 {
    let handover = HANDOVER.max(pending as f64 * 100e-9);
    let (mut time, mut committed, mut first) = (0.0, 0.0, true);
    loop {
        let candidate = choice.as_mut().map_or(0, Choice::begin_stage);
        // A hand-over is work, too.
        let mut ahead = if std::mem::take(&mut first) { 4.0 * HANDOVER } else { handover };
        let (workers, rate) = candidates[candidate];
        let mut looked = time;
        loop {
            if cores.are_ours(workers, time) {
                if ahead > 0.0 { ahead -= TICK } else { committed += rate * TICK }
            }
            time += TICK;
            if committed >= events {
                return time;
            }
            // It is the first worker that looks at the clock.
            if cores.are_ours(1, time) && time - looked >= STEP {
                looked = time;
                let progress = progress(time, committed, events);
                let Some(choice) = &mut choice else { continue };
                let pending = pending / workers as u64;
                choice.note(Hint::Windows { handling: None, pending, may_gain: 1.0 });
                if choice.look(&progress) {
                    break;
                }
            }
        }
    }
}

/// By the sequential engine on the same cores: how fast runs of this length are, from the slowest
/// to the fastest.
fn by_sequential(seconds: f64, factor: f64) -> Vec<f64> {
    let dice = Stream::for_lp(7, LpId::new(0));
    let rates = [1.0, factor, 0.8 * factor, 0.9, 0.6].map(|factor| 10e6 * factor);
    let candidates: Vec<_> = WORKERS.into_iter().zip(rates).collect();
    let events = rates[0] * seconds / 2.0;
    let mut all: Vec<f64> = (0..60)
        .map(|_| {
            let cores = Cores::new(&dice);
            let alone = time_of(&cores, None, &candidates, events, 0);
            let choice = Choice::new(WORKERS.len());
            alone / time_of(&cores, Some(choice), &candidates, events, 0)
        })
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

/// Whether two workers would gain or lose without the other programs, hardly anything is lost by
/// looking, and what happened in one turn does not decide.
#[test]
fn other_programs_do_not_change_the_engine() {
    for (seconds, least) in [(0.1, 0.9), (0.5, 0.94)] {
        for factor in [0.1, 0.3, 1.0, 2.0] {
            let all = by_sequential(seconds, factor);
            let (tenth, median) = (all[all.len() / 10], all[all.len() / 2]);
            assert!(median > 0.93, "{seconds} s, {factor} times as fast: {median}");
            assert!(tenth > least, "{seconds} s, {factor} times as fast: {tenth}");
        }
    }
}

/// An engine that is worth it in spite of them is found.
#[test]
fn what_is_faster_all_the_same_is_found() {
    let all = by_sequential(2.0, 4.0);
    assert!(all[all.len() / 2] > 1.4, "{all:?}");
}

/// An engine that the user named soon goes on with one worker, also if so many events are pending
/// that a way back would cost more than trials may lose.
#[test]
fn the_named_engine_goes_on_alone() {
    let dice = Stream::for_lp(8, LpId::new(0));
    for (pending, least) in [(1000, 0.85), (1 << 20, 0.7)] {
        let (alone, both) = ((1, 10e6), (2, 8e6));
        let mut all: Vec<f64> = (0..20)
            .map(|_| {
                let cores = Cores::new(&dice);
                let best = time_of(&cores, None, &[alone], 15e6, 0);
                let choice = Choice::preferring_the_first(2)
                    .on_shared_cores(true)
                    .between(|number| (2 - number, false, false));
                best / time_of(&cores, Some(choice), &[both, alone], 15e6, pending)
            })
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        assert!(all[2] > least, "{pending} pending events: {all:.2?}");
    }
}

//! Runs that are played, without running anything.
//!
//! What trials may lose is in [`bounds`], and machines that are shared with other programs are in
//! [`shared_machine`].
//!
//! # Mutations, each found
//!
//! - `Choice::look` does not ask whether a trial is over, or `Choice::trial` sets no limit:
//!   `one_that_hardly_moves_costs_no_more`, `a_trial_loses_what_it_may`.
//! - `Trial::is_over` leaves out the way back, or `LIMIT` is 30: `a_trial_loses_what_it_may`.
//! - `Choice::note_loss`, `Choice::note_win` or `Choice::begin_counting` charges nothing:
//!   `the_account_is_true`.
//! - `Choice::note_loss` waits for the same time after each loss: `trials_become_rare`.
//! - `Choice::begin_stage` begins another trial when LPs move: `a_trial_in_pieces_loses_no_more`.
//! - `Choice::judge` goes on with one that is clearly slower, or gives up one that copies after its
//!   first slice: `one_that_is_clearly_slower_has_one_slice`,
//!   `one_that_is_clearly_slower_may_not_rise`.
//! - `Hints::may_rise_to` says no, or yes in any case: `who_searches_has_more_time`.
//! - `Choice::copying` is nothing, or always searches: `copies_make_a_trial_dear`.
//! - `Known::is_narrower` says no: `narrow_windows_come_last_or_never`.
//! - `Choice::look` ends slices where nothing was committed: `a_slice_has_whole_windows`.
//! - `Choice::fastest_other` finds nobody: `what_was_faster_is_called_back`.
//! - `Choice::work` notes no change: `a_change_of_the_rate_calls_for_trials`.
//! - `Lag::pays_for` says yes, or `Choice::slice_length` leaves out gaps:
//!   `other_programs_do_not_change_the_engine`.
//! - `Choice::is_thought_to_win` says no, or `Choice::limit_of` allows what is left in any case:
//!   `the_named_engine_goes_on_alone`.
//! - `Budget::left` looks at the whole run near its end: `what_is_left`.
//! - `Budget::note_change` adds the same each time: `changes_add_a_share_of_the_time`.
//! - `Budget::foresee` counts the start as if it had events: `dear_hand_overs_are_left_out`.
//! - `Choice::way` leaves out LPs: `many_lps_are_dear_to_move`.
//! - `Choice::left_for` allows a first trial as much of any model:
//!   `few_events_of_many_lps_are_not_tried_first`.
//! - `Budget::foresee` believes in a long run where no end is seen:
//!   `runs_without_an_end_lose_a_share_of_the_time_so_far`.

mod bounds;
mod hints;
mod shared_machine;

use std::time::Duration;

use proptest::prelude::*;
use warpline_core::VirtualTime;

use super::*;
use crate::watch::Hint;

/// Seconds between two looks.
const STEP: f64 = 0.25e-3;
/// A start takes as long as this number of hand-overs.
const START: f64 = 3.0;

/// What a played run has come to.
struct Played {
    /// How long it takes, in seconds.
    time: f64,
    /// When each stage began with which candidate.
    stages: Vec<(f64, usize)>,
    choice: Choice,
}

impl Played {
    /// The part of the time from one moment to another in which a candidate ran.
    fn share_of(&self, candidate: usize, from: f64, to: f64) -> f64 {
        let ends = self.stages.iter().skip(1).map(|stage| stage.0).chain([self.time]);
        let own = self.stages.iter().zip(ends).filter(|(stage, _)| stage.1 == candidate);
        own.map(|(stage, end)| (end.min(to) - stage.0.max(from)).max(0.0)).sum::<f64>()
            / (to - from)
    }
}

/// A run of this number of events. It takes `handover` seconds until a stage begins, and the start
/// of the run takes longer by the factor [`START`]. `rate` says how fast a candidate is, a time
/// after its stage began and at a time of the run.
fn play(
    choice: Choice,
    events: f64,
    handover: f64,
    rate: impl Fn(usize, f64, f64) -> f64,
) -> Played {
    play_in_pieces(choice, events, handover, f64::INFINITY, rate)
}

/// The same, but stages of challengers end after so many seconds in any case, as where LPs move.
fn play_in_pieces(
    mut choice: Choice,
    events: f64,
    handover: f64,
    piece: f64,
    rate: impl Fn(usize, f64, f64) -> f64,
) -> Played {
    let (mut time, mut committed, mut stages) = (0.0, 0.0, Vec::new());
    while committed < events {
        let candidate = choice.begin_stage();
        stages.push((time, candidate));
        time += if stages.len() == 1 { START * handover } else { handover };
        let began = time;
        loop {
            committed += rate(candidate, time - began, time) * STEP;
            time += STEP;
            let progress = progress(time, committed, events);
            let is_cut = candidate > 0 && time > began + piece;
            if committed >= events || choice.look(&progress) || is_cut {
                break;
            }
            assert!(time < 1e3, "the run never ends: {stages:?}");
        }
    }
    Played { time, stages, choice }
}

/// Candidates whose rates stay as they are.
fn steady(rates: &[f64]) -> impl Fn(usize, f64, f64) -> f64 {
    |which, _, _| rates[which]
}

/// What the sequential engine tells where it has measured nothing.
fn sequential(pending: u64) -> Hint {
    Hint::Sequential { pending, copying: None, remote: None, ran: None }
}

/// That of a run of this number of events.
fn progress(time: f64, committed: f64, events: f64) -> Progress {
    let virtual_time = |share| VirtualTime::new(100.0 * share).expect("a time");
    Progress {
        virtual_time: virtual_time((committed / events).min(1.0)),
        end: virtual_time(1.0),
        committed_events: committed as u64,
        processed_events: committed as u64,
        wall: Duration::from_secs_f64(time),
    }
}

/// One whose windows become longer than a slice, because each event takes long, loses nothing by
/// it: the run takes hardly longer than 10 s.
#[test]
fn a_slice_has_whole_windows() {
    // Two workers of the speculative engine on a wireless network with 30 microseconds of work.
    let [windows, sequential] = [64e3, 33e3];
    for looks in (10..400).step_by(30) {
        let in_windows = |which, since: f64, time: f64| match which {
            0 if time < 0.45 => windows,
            0 if (since / STEP).round() as u64 % looks == looks - 1 => looks as f64 * windows,
            0 => 0.0,
            _ => sequential,
        };
        let played = play(Choice::new(2), 10.0 * windows, 10e-3, in_windows);
        assert!(played.time < 10.4, "windows of {looks} looks: {} s", played.time);
    }
}

proptest! {
    /// A run takes hardly longer than with the best candidate from the beginning, whichever
    /// that is.
    #[test]
    fn hardly_slower_than_the_best(
        rates in prop::collection::vec(1e6..50e6_f64, 1..6),
        seconds in prop_oneof![Just(0.05), 0.05..0.2, Just(1.0), 1.0..5.0, Just(10.0)],
        handover in 0.05e-3..0.3e-3,
    ) {
        let best = rates.iter().copied().fold(0.0, f64::max);
        let choice = Choice::new(rates.len());
        let Played { time, .. } = play(choice, best * seconds, handover, steady(&rates));
        if seconds < 1.0 {
            // There is hardly time to find the best one.
            let first = best * seconds / rates[0];
            prop_assert!(first > 0.93 * time, "{} s, {} s with the first", time, first);
        } else {
            prop_assert!(seconds > 0.94 * time, "{} s, {} s with the best", time, seconds);
        }
    }

    /// When another candidate becomes the best one, it runs soon.
    #[test]
    fn follows_the_machine(
        fast in 10e6..50e6_f64,
        factor in 3.0..30.0_f64,
        at in 0.2..1.0_f64,
    ) {
        // The first candidate loses almost all at that time, as workers do that do not get
        // their cores; and has it back later.
        let rate = |candidate: usize, _, time: f64| match candidate {
            0 if time > at && time < 2.0 * at => fast / factor,
            0 => fast,
            _ => fast / 2.0,
        };
        let played = play(Choice::new(2), fast * 4.0 * at, 0.2e-3, rate);
        prop_assert!(played.share_of(1, at + 0.05, 2.0 * at) > 0.75, "{:?}", played.stages);
        let end = played.time;
        prop_assert!(played.share_of(0, 2.0 * at + 0.45, end) > 0.9, "{:?}", played.stages);
    }
}

/// Also where a handler takes a millisecond, and a slice has no event or one.
#[test]
fn slow_events_are_compared() {
    for rates in [[1e3, 0.9e3, 0.5e3], [1e3, 0.5e3, 1.9e3]] {
        let best = rates.iter().copied().fold(0.0, f64::max);
        let Played { time, stages, .. } = play(Choice::new(3), 10.0 * best, 0.2e-3, steady(&rates));
        assert!(time < 10.6, "{time} s, {stages:?}");
    }
}

/// Where handlers take long, windows that are faster win soon, though a slice of milliseconds has
/// a few windows, and chance says how many events these have. (Red if slices or costs count no
/// events.)
#[test]
fn windows_of_slow_events_are_measured_for_long_enough() {
    for rate in [4e3, 10e3, 40e3] {
        let size = |window: u64| (window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59) as f64 + 0.5;
        let each = 16.0 / (1.6 * rate);
        let in_windows = |which, since: f64, _: f64| match which {
            0 => rate,
            _ => {
                let over = |since: f64| (since / each) as u64;
                (over(since - STEP)..over(since)).map(size).sum::<f64>() / STEP
            }
        };
        let choice = Choice::new(2).between(|number| ([1, 2][number], number > 0, false));
        let played = play(choice, 25e3, 0.2e-3, in_windows);
        let (gain, stages) = (25e3 / rate / played.time, &played.stages);
        assert!(gain > 1.4, "{gain} at {rate} events/s: {stages:?}");
    }
}

/// What was faster when it ran last has the next stage soon, also if little has changed.
#[test]
fn what_was_faster_is_called_back() {
    let rate = |which: usize, _, time: f64| match which {
        0 if time < 1.0 => 10e6,
        0 => 7.5e6,
        _ => 9e6,
    };
    let played = play(Choice::new(2), 30e6, 0.2e-3, rate);
    let first = played.stages.iter().find(|&&(at, which)| at > 1.0 && which == 1);
    assert!(first.is_some_and(|stage| stage.0 < 1.03), "{:?}", played.stages);
    assert!(played.share_of(1, 1.05, played.time) > 0.9, "{:?}", played.stages);
}

/// When a program goes that took a core, the engine at work becomes faster, and the others are
/// tried again at once: they may have become faster still.
#[test]
fn a_change_of_the_rate_calls_for_trials() {
    let rate = |which: usize, _, time: f64| match which {
        0 if time < 1.0 => 10e6,
        0 => 16e6,
        _ if time < 1.0 => 5e6,
        _ => 30e6,
    };
    let played = play(Choice::new(2), 40e6, 0.2e-3, rate);
    assert!(played.share_of(1, 1.06, played.time) > 0.9, "{:?}", played.stages);
}

/// What the user named works, unless another one is clearly faster; then that one does, until
/// the first one is as fast again.
#[test]
fn the_first_is_preferred() {
    let share_of_first = |rates: [f64; 2]| {
        let choice = Choice::preferring_the_first(2);
        let played = play(choice, 2.0 * rates[0], 0.2e-3, steady(&rates));
        played.share_of(0, 0.0, played.time)
    };
    assert!(share_of_first([20e6, 21e6]) > 0.97);
    assert!(share_of_first([20e6, 10e6]) > 0.97);
    assert!(share_of_first([20e6, 60e6]) < 0.25);
    let choice = Choice::preferring_the_first(2);
    let lost = |which: usize, _, time: f64| match which {
        0 if time < 1.0 => 5e6,
        0 => 20e6,
        _ => 20e6,
    };
    let Played { stages, .. } = play(choice, 80e6, 0.2e-3, lost);
    assert_eq!(stages.last().map(|stage| stage.1), Some(0), "{stages:?}");
}

/// A hand-over that takes far longer than thought may lose all that its trial may. What has come
/// through it shows its rate all the same, and stays if it is faster.
///
/// Red if `look` aborts at once, or `abort` does not look at the rate.
#[test]
fn what_has_paid_for_its_hand_over_shows_its_rate() {
    let (mut choice, mut time, mut committed) = (Choice::preferring_the_first(2), 0.0, 0.0);
    let mut of_second = 0.0;
    while time < 2.0 {
        let candidate = choice.begin_stage();
        time += if time == 0.0 { 0.2e-3 } else { 60e-3 };
        loop {
            let events = STEP * [10e6, 20e6][candidate];
            (committed, time) = (committed + events, time + STEP);
            of_second += if candidate == 1 { STEP } else { 0.0 };
            if time >= 2.0 || choice.look(&progress(time, committed, 40e6)) {
                break;
            }
        }
    }
    assert!(of_second > 1.2, "{of_second} s");
}

/// The first engine of a large model is slow while its memory is new, and is not compared before
/// it is faster. (Seen red: the other one kept the run, because the way back is long.)
#[test]
fn a_slow_beginning_is_waited_for() {
    let rate = |which: usize, _, time: f64| match which {
        0 => 20e6 * (0.2 + 0.8 * time).min(1.0),
        _ => 10e6,
    };
    let Played { time, stages, .. } = play(Choice::new(2), 20e6 * 3.0, 0.1, rate);
    assert!(time < 3.9, "{time} s, {stages:?}");
}

/// Where a hand-over takes longer than it could gain, there is none.
#[test]
fn dear_hand_overs_are_left_out() {
    let rates = [30e6, 10e6, 5e6];
    let Played { stages, choice, .. } = play(Choice::new(3), 30e6 * 0.3, 40e-3, steady(&rates));
    assert_eq!(stages.len(), 1, "{stages:?}");
    let cost = choice.cost_of_untried().expect("nobody was tried");
    assert!((80e-3..110e-3).contains(&cost), "there and back, and slices: {cost} s");
}

/// Many LPs are dear to move, though the run began soon, and few events are pending.
#[test]
fn many_lps_are_dear_to_move() {
    let trials = |lps, bytes| {
        let mut choice = Choice::new(2);
        choice.note_lps(lps, bytes);
        play(choice, 10e6 * 0.06, 0.5e-3, steady(&[10e6, 2e6])).choice.trials()
    };
    assert_eq!((trials(1_000, 8), trials(65_000, 8)), (1, 0));
    assert_eq!((trials(5_000, 8), trials(5_000, 4_000)), (1, 0), "large states are, too");
}

/// To move many LPs, hardly any of which has an event, is not worth the share of a first trial.
#[test]
fn few_events_of_many_lps_are_not_tried_first() {
    let trials = |lps, pending| {
        let mut choice = Choice::new(2);
        choice.note_lps(lps, 8);
        choice.note(sequential(pending));
        play(choice, 10e6, 0.5e-3, steady(&[10e6, 2e6])).choice.trials()
    };
    assert_eq!((trials(100_000, 300), trials(100_000, 2_000)), (0, 1));
    assert!(trials(1_000, 10) > 0, "few LPs are moved soon");
}

/// Candidates that the user does not allow do not run, and the best one is back when it is allowed.
#[test]
fn a_limit_is_kept() {
    let mut choice = Choice::preferring_the_first(3);
    let rates = [30e6, 16e6, 9e6];
    let (mut time, mut committed, mut wrong, mut last) = (0.0, 0.0, 0, 0);
    while time < 3.0 {
        last = choice.begin_stage();
        time += 0.2e-3;
        loop {
            let first = if (1.0..2.0).contains(&time) { 2 } else { 0 };
            choice.allow(|candidate| candidate >= first);
            wrong += u32::from(last < first);
            (time, committed) = (time + STEP, committed + STEP * rates[last]);
            let progress = Progress {
                virtual_time: VirtualTime::new(time).expect("a time"),
                end: VirtualTime::new(3.0).expect("a time"),
                ..progress(time, committed, f64::MAX)
            };
            if time >= 3.0 || choice.look(&progress) {
                break;
            }
        }
    }
    assert!(wrong <= 2, "a candidate that is not allowed ran for {wrong} looks");
    assert_eq!(last, 0, "the best one is back");
}

//! What trials may lose, whatever the candidates are.

use super::*;
use crate::stages::choice::budget::{SHARE, SHARE_FIRST};

/// Runs of these lengths, in seconds.
const LENGTHS: [f64; 4] = [10e-3, 0.1, 1.0, 10.0];
/// Hand-overs that are paid, and the looks at which a trial's end may be late; in seconds.
const HANDOVER: f64 = 0.2e-3;

/// A run with candidates of these rates, of which the first would take `seconds`.
fn run_of(seconds: f64, rates: &[f64]) -> Played {
    play(Choice::new(rates.len()), rates[0] * seconds, HANDOVER, steady(rates))
}

/// How long a slice of a trial takes that begins at this time, in a long run.
fn choice_slice(time: f64) -> f64 {
    (budget::FORESIGHT * time / 400.0).clamp(SLICE_LEAST, TRIAL_SLICE_MOST)
}

/// A candidate that commits its first events only after it has done a window's work for them.
fn in_windows(seconds: f64, events: f64, factor: f64) -> Played {
    let rate = |which: usize, since: f64, _: f64| match which {
        0 => 10e6,
        // Nothing, and then the whole window at once.
        _ if (since * 10e6 / factor) % events < STEP * 10e6 / factor && since > STEP => {
            events / STEP
        }
        _ => 0.0,
    };
    play(Choice::new(2), 10e6 * seconds, HANDOVER, rate)
}

/// A candidate at a hundredth of the rate, and one that commits nothing at all, lose no more than
/// one at half of it: what bounds a trial is the clock.
#[test]
fn one_that_hardly_moves_costs_no_more() {
    for seconds in LENGTHS {
        for factor in [2.0, 100.0, 1e4, f64::INFINITY] {
            let Played { time, choice, .. } = run_of(seconds, &[10e6, 10e6 / factor]);
            let allowed = 0.03 * seconds + 2.0 * HANDOVER;
            assert!(time - seconds < allowed, "{time} s of {seconds} s at 1/{factor}");
            assert!(choice.budget.spent() < allowed, "{:?}", choice.budget);
        }
        // Windows of 2 ms at the incumbent's rate take 200 ms at a hundredth of it.
        let [half, hundredth] = [2.0, 100.0].map(|factor| in_windows(seconds, 20e3, factor));
        let [half, hundredth] = [half, hundredth].map(|played| played.choice.budget.spent());
        assert!(hundredth < half.max(0.025 * seconds) + 2e-3, "{hundredth} s and {half} s");
    }
}

/// The time of each single trial is what it may lose, and no more.
#[test]
fn a_trial_loses_what_it_may() {
    for seconds in LENGTHS {
        let Played { time, stages, choice, .. } = run_of(seconds, &[10e6, 0.0, 1e3, 1e5]);
        let ends = stages.iter().skip(1).map(|stage| stage.0).chain([time]);
        let trials = stages.iter().zip(ends).filter(|(stage, _)| stage.1 != 0);
        let longest = trials.map(|(stage, end)| end - stage.0).fold(0.0, f64::max);
        // Three times what it will probably lose: two ways, which end with a look, and two slices.
        let slices = 2.0 * (seconds / 400.0).clamp(SLICE_LEAST, TRIAL_SLICE_MOST);
        let most = 3.0 * (2.0 * (HANDOVER + STEP) + slices) + STEP;
        assert!(longest < most, "{longest} s of {seconds} s, {:?}", choice.budget);
    }
}

/// One that is clearly slower is given up after its first slice; but where states are copied that
/// one is of windows and memory that are new, and there is a second.
#[test]
fn one_that_is_clearly_slower_has_one_slice() {
    for (rate, copying, slices) in [(2e6, None, 1.0), (4e6, None, 2.0), (2e6, Some(1e-9), 2.0)] {
        let mut choice = Choice::new(2).between(|number| (1, false, number == 1));
        choice.note(Hint::Sequential { pending: 0, copying, remote: None, ran: None });
        let Played { stages, .. } = play(choice, 100e6, HANDOVER, steady(&[10e6, rate]));
        let lasted = stages[2].0 - stages[1].0 - HANDOVER - STEP;
        let longer = lasted / choice_slice(stages[1].0);
        assert!((longer - slices).abs() < 0.5 + 1e-9, "{longer} slices at {rate}");
    }
}

/// One that becomes faster from slice to slice has more of them, but not if it is clearly slower.
#[test]
fn one_that_is_clearly_slower_may_not_rise() {
    let first_trial = |least: f64| {
        let rising = move |since: f64| least * (1.0 + 100.0 * since);
        let rate = |which, since: f64, _| if which == 0 { 10e6 } else { rising(since) };
        let Played { stages, .. } = play(Choice::new(2), 100e6, HANDOVER, rate);
        let end = stages.get(2).map_or(f64::INFINITY, |stage| stage.0);
        (end - stages[1].0 - HANDOVER - STEP) / choice_slice(stages[1].0)
    };
    assert!(first_trial(1.5e6) < 2.6, "{} slices", first_trial(1.5e6));
    assert!(first_trial(7e6) > 100.0, "{} slices, and it would win", first_trial(7e6));
}

/// Windows that still search for their width have more time to become fast, as far as that may be
/// enough.
#[test]
fn who_searches_has_more_time() {
    let wins = |may_gain: f64, found: f64| {
        let mut choice = Choice::new(2);
        choice.note(Hint::Windows { handling: None, pending: 0, may_gain });
        let rate = |which, since: f64, _| match which {
            0 => 10e6,
            _ if since < 8e-3 => 3e6,
            _ => found,
        };
        let played = play(choice, 40e6, HANDOVER, rate);
        played.share_of(1, 1.0, played.time) > 0.9
    };
    assert!(wins(8.0, 20e6) && !wins(1.0, 20e6));
    assert!(!wins(2.0, 20e6), "it may not come that far");
    assert!(!wins(8.0, 5e6), "it has not come that far");
}

/// The account knows what trials have really lost.
#[test]
fn the_account_is_true() {
    for seconds in LENGTHS {
        let (rates, way) = ([10e6, 6e6, 1e5, 0.0], 2e-3);
        let Played { time, choice, .. } =
            play(Choice::new(4), rates[0] * seconds, way, steady(&rates));
        let (lost, spent) = (time - seconds - START * way, choice.budget.spent());
        let looks = f64::from(choice.trials) * STEP + 1e-9;
        assert!((lost - spent).abs() < looks, "{lost} s of {seconds} s, not {spent} s");
    }
    // A hand-over to a winner is paid, too.
    let Played { stages, choice, .. } = run_of(0.05, &[10e6, 11e6]);
    assert_eq!(stages.len(), 2, "{stages:?}");
    assert!(choice.budget.spent() > 0.0, "{:?}", choice.budget);
}

/// A trial is one trial, though LPs move in it.
#[test]
fn a_trial_in_pieces_loses_no_more() {
    let rates = [10e6, 0.0];
    let piece = |seconds| {
        let choice = Choice::new(2);
        play_in_pieces(choice, 10e6, HANDOVER, seconds, steady(&rates)).choice.budget.spent()
    };
    let (whole, pieces) = (piece(f64::INFINITY), piece(0.6e-3));
    assert!(pieces > 0.0 && pieces < 2.0 * whole, "{pieces} s and {whole} s");
}

/// A run without an end that can be seen loses a share of the time that has passed.
#[test]
fn runs_without_an_end_lose_a_share_of_the_time_so_far() {
    let mut choice = Choice::new(4);
    let (mut time, mut committed) = (0.0, 0.0);
    while time < 1.0 {
        let candidate = choice.begin_stage();
        time += HANDOVER;
        loop {
            committed += [10e6, 1e6, 1e4, 0.0][candidate] * STEP;
            time += STEP;
            let spent = choice.budget.spent();
            assert!(spent < 0.3 * time, "AUTO-A: {spent} s of {time} s");
            let progress = Progress { end: VirtualTime::MAX, ..progress(time, committed, 1e12) };
            if time >= 1.0 || choice.look(&progress) {
                break;
            }
        }
    }
    assert!(choice.trials >= 4, "{choice:?}");
}

/// While the winner stays, trials come more and more rarely.
#[test]
fn trials_become_rare() {
    let Played { stages, .. } = run_of(20.0, &[10e6, 3e6, 5e6]);
    let trials = |from: f64, to: f64| {
        stages.iter().filter(|stage| stage.1 != 0 && (from..to).contains(&stage.0)).count()
    };
    assert!(trials(0.0, 1.0) >= 4, "{stages:?}");
    assert!(trials(1.0, 2.0) <= 6, "{stages:?}");
    assert!(trials(10.0, 20.0) <= 20, "{stages:?}");
}

/// Nothing is tried that cannot pay any more.
#[test]
fn nothing_is_tried_near_the_end() {
    for seconds in LENGTHS {
        let Played { stages, .. } = run_of(seconds, &[10e6, 9e6, 8e6, 7e6, 6e6]);
        let rest = seconds.min(10e-3);
        assert!(stages.iter().all(|stage| stage.0 < seconds - rest / 2.0), "{stages:?}");
    }
}

proptest! {
    /// AUTO-A: whatever the rates are, and however they change, trials take their share.
    #[test]
    fn trials_take_their_share(
        phases in prop::collection::vec(prop::collection::vec(0.0..50e6_f64, 4), 1..12),
        length in 5e-3..0.3_f64,
        handover in 0.05e-3..0.5e-3,
    ) {
        // The first one is never slow, so that the run ends.
        let rate = |which: usize, _: f64, time: f64| {
            let phase = (time / length) as usize % phases.len();
            if which == 0 { 5e6 + phases[phase][0] } else { phases[phase][which] }
        };
        let Played { time, choice, .. } = play(Choice::new(4), 20e6, handover, rate);
        let spent = choice.budget.spent();
        let once = LIMIT * (2.0 * handover + 8.0 * TRIAL_SLICE_MOST);
        prop_assert!(spent < 0.15 * time + once, "AUTO-A: {} s of {} s", spent, time);
    }

    /// AUTO-A without changes, for short runs and long ones.
    #[test]
    fn steady_rates_cost_little(
        rates in prop::collection::vec(0.0..50e6_f64, 1..6),
        seconds in prop_oneof![Just(10e-3), Just(0.1), Just(1.0), Just(10.0)],
        handover in 0.05e-3..0.4e-3,
    ) {
        let first = 1e6 + rates[0];
        let rate = |which: usize, _: f64, _: f64| if which == 0 { first } else { rates[which] };
        let Played { time, choice, .. } =
            play(Choice::new(rates.len()), first * seconds, handover, rate);
        prop_assert!(time < 1.03 * seconds + 4.0 * handover, "{} s of {} s", time, seconds);
        // Of the run as it was foreseen: one that is 40 times as fast makes it shorter than that.
        let foreseen = time.max(seconds);
        let allowed = (SHARE_FIRST * foreseen).min(2e-3) + 1.25 * SHARE * foreseen;
        let allowed = allowed + 3.0 * handover;
        prop_assert!(choice.budget.spent() < allowed, "AUTO-A: {:?} of {}", choice.budget, time);
    }
}

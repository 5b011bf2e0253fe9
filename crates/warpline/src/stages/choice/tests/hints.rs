//! What engines tell of themselves: pending events at the start, the rate of handling, and how
//! dense events are.

use super::*;
use crate::{
    stages::{
        Forecast,
        choice::hints::{PENDING_FEW, WINDOW_FEW},
    },
    watch::Hint,
};

/// Two workers with windows, the sequential engine, and one worker with windows.
fn choice() -> Choice {
    Choice::new(3).between(|number| ([2, 1, 1][number], number != 1, false))
}

/// So many events are pending.
fn with_pending(events: u64) -> Hint {
    Hint::Pending { events, window: None }
}

/// Where a window of a given width has few events of many, wider ones begin, if there are any.
/// (Red without `with_wider`, or where `note_pending` does not look at the window.)
#[test]
fn windows_of_few_events_become_wider() {
    let first = |wider, events, window: Option<u64>| {
        let mut choice = choice().with_wider(wider);
        choice.begin_stage();
        choice.note(Hint::Pending { events, window: window.map(|events| (events, 1 << 20)) });
        choice.look(&progress(1e-3, 0.0, 1e6));
        choice.begin_stage()
    };
    assert_eq!(first(Some(2), 1 << 20, Some(WINDOW_FEW - 1)), 2);
    assert_eq!(first(Some(2), 1 << 20, Some(WINDOW_FEW)), 0);
    assert_eq!(first(Some(2), 1 << 20, None), 0, "nobody knows");
    assert_eq!(first(None, 1 << 20, Some(0)), 0, "others copy much");
    assert_eq!(first(Some(2), PENDING_FEW - 1, Some(0)), 1, "few events need no windows at all");
}

/// Where few events are pending, windows do not even begin. (Red without `note_pending`, and where
/// the user has named an engine that gives way all the same.)
#[test]
fn few_events_need_no_windows() {
    for (each, first) in [(PENDING_FEW - 1, 1), (PENDING_FEW, 0)] {
        let mut choice = choice();
        choice.begin_stage();
        choice.note(with_pending(each));
        let is_over = choice.look(&progress(1e-3, 0.0, 1e6));
        assert_eq!((is_over, choice.begin_stage()), (first == 1, first), "{each} events each");
    }
    let mut named = Choice::preferring_the_first(2).between(|number| (1, number == 0, false));
    named.begin_stage();
    named.note(with_pending(0));
    assert!(!named.look(&progress(1e-3, 0.0, 1e6)));
}

/// Nor where there are few for the number of LPs; and where windows are narrow, no wider ones begin
/// if a run is over when each LP has handled a few. (Red if `note_pending` asks for less, and if
/// windows wait that have enough events: they would begin at once.)
#[test]
fn many_lps_need_many_events() {
    let begins = |lps, events, window| {
        let mut choice = choice().with_wider(Some(2));
        choice.note_lps(lps, 8);
        choice.begin_stage();
        choice.note(Hint::Pending { events, window });
        choice.look(&progress(1e-3, 0.0, 1e6));
        (choice.begin_stage(), choice.waiting.is_some())
    };
    assert_eq!(begins(300_000, 3_000, None), (0, false));
    assert_eq!(begins(300_000, 2_000, None), (1, true), "hardly one LP in 64 has one");
    assert_eq!(begins(300_000, 150_000, Some((15_000, 50))), (2, false));
    assert_eq!(begins(300_000, 150_000, Some((15_000, 30))), (1, false), "the run is short");
    assert_eq!(begins(300_000, 150_000, Some((20_000, 20))), (0, false), "windows are wide");
    assert_eq!(begins(300_000, 1_000, Some((100, 30))), (1, true), "it may grow");
    assert_eq!(begins(300_000, 150_000, Some((15_000, u64::MAX))), (2, false), "it has no end");
}

/// The same is foreseen before windows make all LPs, as far as their first events tell.
/// (Red without `foresee`, and if windows wait that have enough events.)
#[test]
fn windows_do_not_even_make_lps_for_few_events() {
    let begins = |pending, events| {
        let mut choice = choice();
        choice.note_lps(300_000, 8);
        choice.foresee(Forecast { pending, events });
        (choice.begin_stage(), choice.waiting.is_some())
    };
    assert_eq!(begins(5_000.0, 1.2e6), (0, false));
    assert_eq!(begins(4_000.0, 1.2e6), (1, true), "it may have more later");
    assert_eq!(begins(300_000.0, 1e6), (1, false), "the run is short");
    assert_eq!(begins(300_000.0, f64::INFINITY), (0, false));
}

/// Windows that had few events at the start begin when they have enough, if that is soon; and the
/// engine without windows is back if it was faster. (Red if `lets_begin` does not ask for events,
/// or for what is left of the run, or `note_pending` does not say who waits.)
#[test]
fn windows_begin_when_they_have_events() {
    let share_of_windows = |pending: u64, after: f64, events: f64, rates: [f64; 3]| {
        let mut choice = choice();
        choice.begin_stage();
        choice.note(with_pending(PENDING_FEW - 1));
        assert!(choice.look(&progress(0.5e-3, 0.0, 1e6)));
        let (mut time, mut committed, mut in_windows) = (0.5e-3, 0.0, 0.0);
        let mut trials = None;
        // Its end cannot be seen, and trials would not pay.
        while time < 20e-3 {
            let candidate = choice.begin_stage();
            if candidate == 0 {
                trials = trials.or(Some(choice.trials()));
            }
            time += 0.3e-3;
            loop {
                committed += STEP * rates[candidate];
                time += STEP;
                in_windows += if candidate == 0 { STEP } else { 0.0 };
                let pending = if time < after { 1 } else { pending };
                if candidate == 1 {
                    choice.note(Hint::Sequential {
                        pending,
                        copying: Some(1.0),
                        remote: None,
                        ran: None,
                    });
                } else {
                    choice.note(Hint::Windows { handling: None, pending, may_gain: 1.0 });
                }
                if time >= 20e-3 || choice.look(&progress(time, committed, events)) {
                    break;
                }
            }
        }
        (in_windows / 20e-3, trials)
    };
    let faster = [20e6, 10e6, 1e6];
    let (share, trials) = share_of_windows(2 * PENDING_FEW, 2e-3, 1e12, faster);
    assert!(share > 0.7 && trials == Some(0), "{share}, {trials:?} trials");
    // Too few events, or too little left of the run: then it is a matter of trials.
    for (pending, events) in [(2 * PENDING_FEW - 1, 1e12), (2 * PENDING_FEW, 60e3)] {
        let (_, trials) = share_of_windows(pending, 2e-3, events, faster);
        assert_ne!(trials, Some(0), "{pending} of {events}");
    }
    let (share, _) = share_of_windows(2 * PENDING_FEW, 2e-3, 1e12, [4e6, 10e6, 1e6]);
    assert!((0.01..0.25).contains(&share), "{share}");
}

/// Where the sequential engine begins, the windows that wait for that begin as soon as there are
/// enough events for each worker, without a trial. (Red without `with_windows_waiting`.)
#[test]
fn windows_wait_behind_the_sequential_engine() {
    let first = |pending: u64| {
        let choice = Choice::new(3).between(|number| ([1, 16, 16][number], number > 0, false));
        let mut choice = choice.with_windows_waiting();
        choice.begin_stage();
        choice.note(sequential(pending));
        let is_over = (1..=20).any(|step| {
            let time = f64::from(step) * STEP;
            choice.look(&progress(time, time * 10e6, 1e12))
        });
        (is_over, choice.begin_stage(), choice.trials())
    };
    assert_eq!(first(16 * PENDING_FEW), (true, 1, 0));
    assert_eq!(first(16 * PENDING_FEW - 1), (false, 0, 0));
}

/// Who cannot win by what the incumbent shows is not tried; who may is. (Red if `may_reach` is
/// always true, or forgets the number of workers.)
#[test]
fn what_cannot_win_is_not_tried() {
    let rates = [50e6, 20e6, 20e6];
    let stages = |handling: Option<f64>| {
        let mut choice = choice();
        choice.note(Hint::Windows { handling, pending: 0, may_gain: 1.0 });
        play(choice, 25e6, 0.2e-3, steady(&rates)).stages.len()
    };
    assert_eq!(stages(Some(30e6)), 1);
    assert!(stages(Some(45e6)) > 1);
    assert!(stages(None) > 1);
}

/// Where very many events would have to move, a short run does not pay for a trial; where few
/// would, or if the run is long, it does. (Red if a hand-over is thought to take what the last one
/// took.)
#[test]
fn many_pending_events_are_not_moved_for_little() {
    let stages = |pending, events| {
        let mut choice = choice();
        choice.note(sequential(pending));
        play(choice, events, 0.2e-3, steady(&[50e6, 20e6, 20e6])).stages.len()
    };
    assert_eq!(stages(1 << 20, 25e6), 1);
    assert!(stages(1 << 10, 25e6) > 1);
    assert!(stages(1 << 20, 500e6) > 1);
}

/// The trials of a run of 1.2 s in which a hand-over takes 30 ms at least.
fn dear_trials(mut choice: Choice) -> u32 {
    choice.note(sequential(300_000));
    play(choice, 20e6 * 1.2, 0.2e-3, steady(&[20e6, 5e6])).choice.trials()
}

/// Where other programs have cores, a trial may lose a smaller part of the time so far: with so
/// many events to move, the run is nearly over then. (Red without `on_shared_cores`.)
#[test]
fn dear_trials_are_later_on_shared_cores() {
    let trials = |is_shared| dear_trials(Choice::new(2).on_shared_cores(is_shared));
    assert!(trials(false) > 0);
    assert_eq!(trials(true), 0);
}

/// What a trial may lose is less where there is less to win: by one worker, in windows. (Red if all
/// are worth the same.)
#[test]
fn dear_trials_of_one_worker_are_later() {
    let trials = |workers| {
        dear_trials(Choice::new(2).between(|number| ([1, workers][number], number == 1, false)))
    };
    assert!(trials(2) > 0);
    assert_eq!(trials(1), 0);
}

/// One worker with windows saves what caches gain, which is nothing where handlers take long: it is
/// not tried. (Red if it may save any part of an event, and if a lone incumbent tells nothing.)
#[test]
fn one_worker_with_windows_saves_little_of_slow_events() {
    let trials = |workers, rate| {
        let choice = Choice::new(2).between(|number| ([1, workers][number], number == 1, false));
        play(choice, rate, 0.2e-3, steady(&[rate, rate / 2.0])).choice.trials()
    };
    assert!(trials(1, 10e6) > 0 && trials(1, 200e3) > 0);
    assert_eq!((trials(1, 50e3), trials(1, 4e3)), (0, 0));
    assert!(trials(2, 50e3) > 0);
}

/// Where a copy of a state takes very much longer than an event, who copies is not tried: 4 us
/// before one event in 50 make two workers slower than one that handles an event in 40 ns. (Red if
/// `may_reach` leaves out copies, or counts them of those who make none.)
#[test]
fn copies_that_cannot_pay_are_not_tried() {
    let trials = |copying: Option<f64>, copies: bool| copying_trials(copying, None, copies, 25e6).0;
    assert_eq!(trials(Some(4e-6), true), 0);
    assert_eq!(trials(Some(f64::INFINITY), true), 0, "a state that cannot be copied");
    assert!(trials(Some(1e-6), true) > 0);
    assert!(trials(Some(4e-6), false) > 0);
    assert!(trials(None, true) > 0);
}

/// The number of trials of a challenger that `copies`, in a run of so many events, and when the
/// first one began.
fn copying_trials(
    copying: Option<f64>,
    remote: Option<f64>,
    copies: bool,
    events: f64,
) -> (u32, f64) {
    let kind = |number| (1 + number, number == 1, copies && number == 1);
    let mut choice = Choice::new(2).between(kind);
    choice.note_lps(1_000, 100);
    choice.note(Hint::Sequential { pending: 0, copying, remote, ran: None });
    let Played { choice, stages, .. } = play(choice, events, 0.2e-3, steady(&[25e6, 5e6]));
    (choice.trials(), stages.get(1).map_or(f64::INFINITY, |stage| stage.0))
}

/// A trial of windows that copy states begins when the time that their search takes can be lost.
/// (Red if `copying` does not ask how many events come from others.)
#[test]
fn copies_make_a_trial_dear() {
    let begins = |copying, remote, copies| copying_trials(copying, remote, copies, 25e6).1;
    let [cheap, dear] = [begins(None, None, true), begins(Some(1e-6), None, true)];
    assert!(cheap < 15e-3 && (30e-3..80e-3).contains(&dear), "{cheap}, {dear}");
    assert!((begins(Some(1e-6), None, false) - cheap).abs() < 1e-9, "it copies nothing");
    let (trials, _) = copying_trials(Some(1e-6), None, true, 2.5e6);
    assert_eq!(trials, 0, "a run of 0.1 s does not pay for it");
    // Where LPs hardly send to others, there is nothing to search.
    assert!((begins(Some(1e-6), Some(0.1), true) - dear).abs() < 1e-9);
    assert!(begins(Some(1e-6), Some(0.01), true) < 20e-3);
    assert!(copying_trials(Some(1e-6), Some(0.0), true, 2.5e6).0 > 0);
}

/// Windows as wide as a lookahead are not tried where they have next to nothing to do, and after
/// the others where they have little. (Red if `is_narrower` says no, or if `challenger` does not
/// ask who was tried.)
#[test]
fn narrow_windows_come_last_or_never() {
    // A microsecond of the sequential engine is `1e-4` of virtual time.
    let tried = |lookahead: f64| {
        let kind = |number: usize| (1 + number.min(1), number > 0, number == 2);
        let choice = Choice::new(3).between(kind).with_lookahead(Some(lookahead));
        let played = play(choice, 25e6, 0.2e-3, steady(&[25e6, 5e6, 5e6]));
        played.stages.iter().map(|stage| stage.1).filter(|&one| one > 0).collect::<Vec<_>>()
    };
    assert_eq!(tried(2.5e-4)[..2], [1, 2]);
    assert_eq!(tried(1.5e-4)[..2], [2, 1]);
    assert!(!tried(0.8e-4).contains(&1), "{:?}", tried(0.8e-4));
}

/// Where events get denser, windows that have lost a trial are back soon; where they do not, they
/// are not. (Red if `gain_since` is 1.)
#[test]
fn windows_come_back_where_events_get_denser() {
    let share_of_windows = |growth: f64| {
        let mut choice = Choice::new(2).between(|number| (1 + number, number == 1, false));
        let (mut time, mut committed, mut virtual_time) = (0.0, 0.0, 0.0);
        let (mut in_windows, mut looks, mut density) = (0, 0, 1e6);
        while time < 60e-3 {
            let candidate = choice.begin_stage();
            time += 0.2e-3;
            loop {
                density *= 1.0 + growth * STEP / 10e-3;
                let rate = if candidate == 1 { (3e6 * density).sqrt() } else { 10e6 };
                committed += STEP * rate;
                virtual_time += STEP * rate / density;
                time += STEP;
                looks += 1;
                in_windows += u32::from(candidate == 1);
                let progress = Progress {
                    virtual_time: VirtualTime::new(virtual_time).expect("a time"),
                    end: VirtualTime::new(1e3).expect("a time"),
                    ..progress(time, committed, f64::MAX)
                };
                if time >= 60e-3 || choice.look(&progress) {
                    break;
                }
            }
        }
        f64::from(in_windows) / f64::from(looks)
    };
    // From 1.7 million events per second to twice that of the sequential engine, and more.
    assert!(share_of_windows(1.5) > 0.45, "{}", share_of_windows(1.5));
    assert!(share_of_windows(0.0) < 0.1, "{}", share_of_windows(0.0));
}

/// While ever more events are pending, nothing is tried: the way back would be longer. Once there
/// are no more, it is. (Red without the look at what was pending before.)
#[test]
fn nothing_is_tried_while_events_become_many() {
    // By this part of them in a second.
    let first_trial = |growth: f64| {
        let mut choice = choice();
        let (mut time, mut committed, mut pending) = (0.0, 0.0, 1e3);
        choice.begin_stage();
        while choice.trials() == 0 {
            time += STEP;
            committed += 20e6 * STEP;
            pending *= 1.0 + if time < 0.03 { growth * STEP } else { 0.0 };
            choice.note(sequential(pending as u64));
            choice.look(&progress(time, committed, 100e6));
            assert!(time < 1.0, "nothing is ever tried");
        }
        time
    };
    assert!(first_trial(0.0) < 0.03);
    assert!(first_trial(200.0) > 0.03);
}

/// A worker that looks late was at work, if its thread has run all the time; but not in windows,
/// where it may have waited for one that had no core. (Red if `note` does not forget how long a
/// thread has run before, or never knows it.)
#[test]
fn who_waits_in_windows_may_run() {
    let running =
        |ran| Hint::Sequential { pending: 0, copying: None, remote: None, ran: Some(ran) };
    let tells = |last: Hint| {
        let mut choice = choice();
        for ran in [40, 45].map(Duration::from_millis) {
            choice.note(running(ran));
        }
        choice.note(last);
        choice.gaps.note(5e-3);
        choice.gaps.tell_of_others()
    };
    assert!(!tells(running(Duration::from_millis(50))));
    assert!(tells(Hint::Windows { handling: None, pending: 0, may_gain: 1.0 }));
}

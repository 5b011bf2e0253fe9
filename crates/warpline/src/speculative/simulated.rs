//! The whole engine on one thread, under a scheduler that a seed decides.
//!
//! The workers of a run are coroutines here ([`crate::scheduling`]): the scheduler picks the one
//! that goes on at each scheduling point, starves some for long, lets others find their
//! mail and the requests for resizes late, requests resizes of its own, makes windows narrow and
//! wide, and makes rings and limits small. The model, the settings and the schedule are drawn from
//! one seed, so every failure names the number that repeats it; `SIMULATED_SEED=1234 cargo test
//! speculative::simulated` runs that one.
//!
//! The oracle is the sequential engine: same digest, same states, same outputs in the same order,
//! same error. A run that was stopped has committed what the sequential engine commits up to there.
//!
//! # Mutations of the engine, each found
//!
//! The number is the first seed that found it, where that was above 1000.
//!
//! - `settle` drops what is left of a batch at a resize: "RESIZE-B".
//! - `settle` handles one batch only, so what came while a ring was full is left: "SPEC-B".
//! - `handle_late` rolls back only the window of the event: "RESIZE-B".
//! - `handle_late` compares times, not keys, with the last event: another digest.
//! - `handle_late` does not set the window that sends count for: "SPEC-B".
//! - `handle_late` does not set where that window ends: "SPEC-C".
//! - `handle_late` lets an LP go on that has stopped: an assertion in a handler.
//! - `handle_late` goes on although a resize is requested: "SPEC-C" (16 758).
//! - `handle_first` takes the LP's state from after the next window: "RESIZE-B".
//! - `roll_back` leaves the next window as it is: "RESIZE-B".
//! - `redo_next` does not save the LP anew: "UNDO: an old value is restored twice", another digest.
//! - `roll_back` calls `replay_old_next` after it has replayed the older window: "SPEC-C".
//! - `change_events` looks for what is canceled among the gathered events only: an error that says
//!   that a handler does not repeat itself.
//! - `replay_old_next` does not enter the next window, or does not come back: "SPEC-C".
//! - `Record::rewind` keeps its point: "UNDO: an old value is restored twice".
//! - `Record::restore` leaves the core: "SPEC-C".
//! - `Window::touch` notes where the log begins after it has saved the LP: "UNDO-A".
//! - `Window::resume` resumes at 0, so that nothing is saved: other states.
//! - `Window::restore` or `Window::undo` leaves states that are saved by field: "RESIZE-B".
//! - `commit` drops the log of the next window, too: "UNDO-A".
//! - `undo_windows` keeps the log: "RESIZE-A".
//! - `replay_old` takes back executions once, not twice: "RESIZE-B".
//! - `replay` leaves the outputs of the first execution: another log.
//! - `is_equal` forgets the content: another digest.
//! - `find` forgets the receiver: another digest.
//! - `find` forgets whether it is an I/O event: another log (25 863).
//! - `roll_back` thinks that one send more came before the change: another digest (88).
//! - `is_equal` takes two messages without an identity for the same: another digest (1843).
//! - `late_in` looks at the newest window only: "SLOT-A".
//! - `late_in` misses the tile that was opened last: "SLOT-A".
//! - `receive` counts for the oldest window: "the run hangs".
//! - `send_away` does not count: "the run hangs".
//! - `wait_for_room` does not receive, or does not publish: "the run hangs".
//! - `keep` appends what an LP sends itself: "SPEC-A".
//! - `Calendar::cancel` ignores an event in the far list: "RESIZE-B" (19 241).
//! - `Calendar::look` leaves anti-messages out: "SPEC-C".
//! - `Calendar::look` never looks: an event is handled too late.
//! - `Calendar::is_near` takes one slot more: another digest.
//! - `Calendar::annihilate` drops the anti-messages for far events, or for those that are never
//!   handled: "RESIZE-B".
//! - `Calendar::advance` is not called: another digest (29 788).
//! - `annihilate` takes the last event of a key: another digest.
//! - `resize` does not receive after its first barrier: "RESIZE-B".
//! - `resize` does not receive while it waits there: "the run hangs".
//! - `resize` receives while it waits at its last barrier: "the run hangs".
//! - `resize` does not publish its rings: "RESIZE-B".
//! - `resize` does not commit what another worker has committed, or agrees on the least of the
//!   oldest windows: "RESIZE-B".
//! - `resize` drops all anti-messages: "RESIZE-B".
//! - `keep_valid` keeps one event more, or all anti-messages: "RESIZE-B", "SPEC-C".
//! - `undo_windows` undoes the oldest window first: another digest.
//! - `undo_windows` drops late events: "RESIZE-B".
//! - `undo_windows` forgets up to where events are to be handled one by one: "the run hangs".
//! - `handle_one_by_one` does not write before what was committed before: another log.
//! - `handle_one_by_one` goes on after an output has failed: another log.
//! - `restart` does not reset the counts of messages: "the run hangs".
//! - `restart` uses the numbers of windows again: "RESIZE-A".
//! - `announce` does not publish that it is active (WORD-A): "SPEC-B".
//! - `announce` goes on after settling was cut short: "SPEC-B".
//! - `announce` does not publish its rings: "the run hangs".
//! - `announce` or `settle_window` commits in spite of an LP that has stopped: "RESIZE-A".
//! - `settle_window` ends the run before its last commit: "the run hangs".
//! - `commit` leaves the worker idle: "RESIZE-A".
//! - `commit` writes the outputs of windows that others have not committed: another order.
//! - `is_committed` reads the words once: another digest (1545).
//! - `is_committed` does not compare counts, windows, or who is idle: "SPEC-B".
//! - `Window::undo` keeps places that anti-messages have emptied: "SPEC-C".
//! - `Window::forget` leaves the LP stopped: "SPEC-C".
//! - `Window::forget` leaves the last event: another end (9421).
//! - `Window::gather` does not sort: "SPEC-A".
//! - `execute` compares times, not keys, with what the LP sent itself: "SPEC-A".
//! - `execute` loses outputs that an LP sent itself: another log.
//! - `handle` goes on after an LP has stopped: "SPEC-C".
//! - `handle` does not stop at blocking I/O events: it is handled speculatively.
//! - `stop_after_panic` keeps what the LP has sent itself: "SPEC-A".
//! - `stop_after_panic` requests no resize when memory was short: "SPEC-C" (1728).
//! - `take_outputs` does not sort: another order.
//! - `coast_over` leaves an event out, or does not set where the window ends; `coast_forward`
//!   leaves the core; `restore` takes the other copy: another digest, "SPEC-C".
//! - `SparseCopies::copy` replaces the later copy: "SPARSE-B".
//! - `SparseCopies::commit` empties what it keeps, or does not look at what open windows need:
//!   "SPARSE-A" (6435).
//! - `SparseCopies::give_up` keeps the number of the first window: "SPARSE-A".
//! - `redo_next` makes no new copy among the sparse ones: "SPEC-C".
//! - `SpeculativeSender::pay` or `SpeculativeSender::can_copy` says yes and pays nothing: "SPEC-F".
//! - `OneByOne` handles events at the end, stops before its time, or goes by times, not keys:
//!   another digest, "the run hangs", an event in the past.
//!
//! Not found, because the results are the same:
//!
//! - `settle` puts what is left of a batch last: it is left only where a resize follows.
//! - sends are compared by position: more are withdrawn and sent again than need be.
//! - `late_in` takes an event for late whose tile is next: it is handled after the tile.
//! - `cancel` keeps the window of the event: a replay in the same window has made it.
//! - `Calendar::cancel` and `annihilate` go by the key alone: by SPEC-C the first one is the right
//!   one.
//! - `resize` receives at its second barrier: nobody sends before the last one.
//! - `poll` asks once, not twice, whether a resize is requested, or not at all whether everything
//!   is settled: `announce` has seen to it.
//! - `settle_window` settles once: `announce` settles, too.
//! - `Window::forget` leaves the LP in the list of those that have stopped: one resize more.
//! - `write_outputs` does not look for a failure: the other places do.
//! - `take_outputs` takes those of one window more: no worker has committed it yet.
//! - `Window::resume` does nothing: LPs save more often than need be.
//! - `SparseCopies::commit` keeps a window less: `touch` sees it, and copies.
//! - `coast_over` keeps what an LP has sent itself before it panicked again: not in 60 000 seeds.
//! - `announce` does not restore the window that sends count for: each tile and each late event set
//!   it.
//!
//! Not found although it matters: `redo_next` sends what is new in a window before the
//! anti-messages of the next one. That takes two sends of one key and content from two windows;
//! `warpline-models/tests/speculative.rs` finds it with the hypercube.

use std::{
    iter::Sum,
    sync::{Arc, Mutex},
    time::Instant,
};

use warpline_core::{LpId, Place, Stream};

use super::{Beginning, SpeculativeShared, Tally, WorkerResult, conclude, event_bytes, work};
use crate::{
    RunError, Speculative, Width,
    event::{Boxed, Buffer, Inline},
    run::{Left, Outcome, Ranks},
    scheduling::simulated::{self, Schedule},
    sequential,
    settings::{Sequential, Settings},
    simulated::{
        Dice, Truth,
        model::{Cell, Log, Note, Toy},
        named, on_all_cores, seeds, toy,
    },
    watch::Watch,
};

/// The seeds that the test runs; `SIMULATED_SEEDS` says how many others.
const SEEDS: u64 = 10_000;

/// What an LP writes to an undo log at a time, at the most, and what that log takes besides.
const LOG_BYTES: u64 = 8 << 10;

/// Seeds that have failed once, and why; with later changes of the engine they are other schedules.
const REGRESSIONS: &[u64] = &[
    // After an output had failed, later ones were written.
    345,
    // A handler was cut off because there was no memory, and found some in a replay: the replay
    // did not tell what had been sent, and events were doubled.
    1_728,
    // The same, and the replay was for the next late event of the same LP: sends were canceled that
    // had never been made.
    16_758,
];

fn settings(dice: &mut Dice, seed: u64) -> Settings<Speculative> {
    let fixed = [0.01, 0.3, 1.0, 4.0, 1e3].map(Width::Fixed);
    let width = dice.pick(&[&[Width::Auto; 2][..], &fixed].concat());
    let workers = dice.pick(&[1, 2, 2, 2, 3, 3, 4, 5]);
    let end = if dice.one_in(3) { dice.pick(&[0.0, 2.5, 6.0]) } else { f64::INFINITY };
    let engine = Speculative { workers, width, pin: false, ..Speculative::default() };
    Settings { seed, end, engine, ..Settings::default() }
}

fn schedule(dice: &mut Dice) -> Schedule {
    const NEVER: u64 = u64::MAX;
    Schedule {
        turn: dice.pick(&[1, 4, 20, 100]),
        naps: dice.pick(&[4, 10, 50, 1_000]),
        nap_max: dice.pick(&[5, 60, 400, 2_000]),
        late_mail: dice.pick(&[2, 5, 50, NEVER]),
        late_requests: dice.pick(&[2, 10, 100, NEVER]),
        resizes: dice.pick(&[20, 200, 2_000, NEVER, NEVER]),
        resizes_max: dice.0.below(100),
        widths: dice.pick(&[1, 3, 20, NEVER]),
        widths_max: dice.0.below(60),
        levels: dice.pick(&[[-12, 4], [-4, 8], [0, 12], [-8, -2]]),
        limits: dice.pick(&[1, 8, 64, 1_024]),
        ring: dice.pick(&[1, 2, 8, 64, 1 << 20]),
        tile_bits: dice.pick(&[0, 0, 1, 5]),
        stop: dice.one_in(6).then(|| dice.0.below(2_000)),
    }
}

/// How often LPs were rolled back.
#[derive(Default)]
struct Rollbacks {
    all: u64,
    /// In two windows at once, with states that are saved by field.
    deep_by_field: u64,
    /// Resizes between the first and the last one, with such states.
    resizes_by_field: u64,
    /// Events that were handled again after sparse copies.
    coasted: u64,
}

impl Sum for Rollbacks {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            all: sum.all + one.all,
            deep_by_field: sum.deep_by_field + one.deep_by_field,
            resizes_by_field: sum.resizes_by_field + one.resizes_by_field,
            coasted: sum.coasted + one.coasted,
        })
    }
}

/// One run, all of it decided by the seed. In two of three, states are saved by field.
fn simulate(seed: u64) -> Rollbacks {
    if seed.is_multiple_of(3) {
        simulate_saving::<false>(seed)
    } else {
        simulate_saving::<true>(seed)
    }
}

fn simulate_saving<const BY_FIELD: bool>(seed: u64) -> Rollbacks {
    let mut dice = Dice(Stream::for_lp(seed, LpId::new(0)));
    let mut settings = settings(&mut dice, seed);
    let toy = toy::<BY_FIELD>(&mut dice, true);
    let schedule = schedule(&mut dice);
    let truth = Truth::new(&toy, settings.with(Sequential::default()));
    let events = dice.one_in(4).then(|| 1 + dice.0.below(60));
    settings.memory = events.map(|events| events * event_bytes::<Toy<BY_FIELD>>());
    let is_boxed = dice.one_in(4);
    simulated::begin(dice, schedule, settings.engine.workers);
    let rollbacks = if is_boxed {
        simulate_with::<Boxed<Note>, BY_FIELD>(&toy, &settings, &truth)
    } else {
        simulate_with::<Inline<Note>, BY_FIELD>(&toy, &settings, &truth)
    };
    assert_eq!(Arc::strong_count(&toy.token), 1, "messages that were never dropped");
    rollbacks
}

fn simulate_with<B: Buffer<Note> + Send + 'static, const BY_FIELD: bool>(
    toy: &Toy<BY_FIELD>,
    settings: &Settings<Speculative>,
    truth: &Truth,
) -> Rollbacks {
    let beginning = Beginning { cut: None, width: None, loads: None };
    let shared =
        SpeculativeShared::<Toy<BY_FIELD>, B>::new(toy, settings, &Ranks::alone(), beginning);
    let shared = shared.expect("valid settings");
    let started = Instant::now();
    let results = Mutex::new((0..shared.workers()).map(|_| None).collect::<Vec<_>>());
    let worker = |me: usize| -> Box<dyn FnOnce() + Send + '_> {
        let (shared, results) = (&shared, &results);
        Box::new(move || {
            let result = work(shared, me, &mut Watch::default(), started);
            results.lock().expect("no panic in here")[me] = Some(result);
        })
    };
    let workers = (0..shared.workers()).map(worker).collect();
    let progress = || shared.words.committed();
    // Ordering: Relaxed; all workers are on this thread.
    let stop = || shared.stop.soon.store(true, std::sync::atomic::Ordering::Relaxed);
    simulated::run(workers, progress, stop);
    let results: Vec<WorkerResult<Cell<BY_FIELD>, B>> =
        results.into_inner().expect("no panic in there").into_iter().flatten().collect();
    let sum = |count: fn(&Tally) -> u64| results.iter().map(|one| count(&one.tally)).sum();
    let by_field = |count| if BY_FIELD { count } else { 0 };
    let rollbacks = Rollbacks {
        all: sum(|tally| tally.rollbacks),
        deep_by_field: by_field(sum(|tally| tally.deep_rollbacks)),
        // All have one at the beginning and one at the end, in which there is nothing to undo.
        resizes_by_field: by_field(results[0].tally.resizes.saturating_sub(2)),
        coasted: sum(|tally| tally.coasted),
    };
    let outcome = conclude(&shared, results).map_or_else(Outcome::failed, |(stage, _)| {
        Outcome::at_end(stage, shared.directory.ids(), &settings.parallel())
    });
    let log = std::mem::take(&mut *toy.log.lock().expect("no panic in here"));
    if let Some(limit) = settings.memory {
        let (peak, log) = (shared.budget.peak(), if BY_FIELD { LOG_BYTES } else { 0 });
        assert!(peak <= Some(limit + log), "SPEC-F: {peak:?} bytes of {limit}");
    }
    check(outcome, toy, &log, settings, truth, shared.events_max);
    rollbacks
}

fn check<const BY_FIELD: bool>(
    outcome: Outcome<Toy<BY_FIELD>>,
    toy: &Toy<BY_FIELD>,
    log: &Log,
    settings: &Settings<Speculative>,
    truth: &Truth,
    events_max: u64,
) {
    let done = match outcome {
        Outcome::Done(done) => done,
        Outcome::Failed(_, error) => return check_error(error, log, truth, events_max),
        Outcome::Stopped => panic!("the run has ended, and nothing says why"),
    };
    let Left::Lps(lps) = done.left else { panic!("nobody wants a cut") };
    let hashes: Vec<_> = lps.states().map(|cell| cell.hash).collect();
    let found = (done.totals.digest, done.totals.committed_events, done.last_time);
    if done.interrupted {
        if hashes.len() < toy.habits.len() || found.1 == 0 {
            // Perhaps not all LPs had sent their first events.
            assert!(log.outputs.is_empty() && log.blocking.is_empty());
            return assert_eq!(found.1, 0, "not all LPs had started");
        }
        let (last, events) = (done.last_time.get(), found.1);
        let part = Settings {
            end: last.next_up().min(settings.end),
            memory: None,
            ..settings.with(Sequential::default())
        };
        let part = sequential::run(toy, &part, &mut Watch::default(), None);
        let log_of_part = std::mem::take(&mut *toy.log.lock().expect("no panic in here"));
        match part {
            Ok(part) if events == part.committed_events => {
                assert_eq!(found.0, part.digest, "all events up to {last}, and no others");
                assert_eq!(hashes, part.output.output());
                assert_eq!(log.outputs, log_of_part.outputs);
                assert_eq!(log.blocking, log_of_part.blocking);
            }
            part => {
                // It was stopped where events were handled one by one, between two of one time; or
                // before the events at time 0.
                let all = truth.result.as_ref().map_or(u64::MAX, |result| result.1);
                let least = part.map_or(0, |part| part.committed_events);
                assert!(events < all && (events > least || last == 0.0), "{events} until {last}");
                assert!(truth.log.outputs.starts_with(&log.outputs));
                assert!(truth.log.blocking.starts_with(&log.blocking));
            }
        }
        return;
    }
    let Ok(expected) = &truth.result else {
        panic!("finished, but the sequential run ended with {:?}", truth.result);
    };
    assert_eq!((found.0, found.1), (expected.0, expected.1));
    if settings.end == f64::INFINITY {
        assert_eq!(found.2, expected.2, "the time of the last event");
    }
    let states = truth.log.states.iter().map(|states| states.last().map_or(0, |state| state.1));
    let states = states.chain(std::iter::repeat(0)).take(hashes.len());
    assert!(states.eq(hashes.iter().copied()), "states: {hashes:?}");
    assert_eq!(log.outputs, truth.log.outputs);
    assert_eq!(log.blocking, truth.log.blocking);
}

fn check_error(error: RunError, log: &Log, truth: &Truth, events_max: u64) {
    match (error, &truth.result) {
        (RunError::Model(found), Err(RunError::Model(expected))) => {
            let place = |place: &Place| (place.lp, place.event);
            assert_eq!(place(&found.place), place(&expected.place), "{found}");
            assert_eq!(found.fault, expected.fault);
            assert_eq!(log.outputs, truth.log.outputs, "{found}");
            assert_eq!(log.blocking, truth.log.blocking, "{found}");
        }
        (RunError::OutOfBuffers { .. }, Ok(_)) => {
            let peak = truth.peak;
            assert!(events_max <= peak, "{events_max} events are enough, {peak} are needed");
        }
        (RunError::OutOfBuffers { .. }, Err(_)) => {}
        (error, truth) => panic!("ended with {error}, but the sequential run with {truth:?}"),
    }
}

#[test]
fn simulated_runs_agree_with_the_sequential_engine() {
    let seeds = seeds(SEEDS);
    if let Some(rollbacks) = on_all_cores(0..u64::MAX, seeds, |seed| named(seed, simulate)) {
        let Rollbacks { all, deep_by_field, resizes_by_field, coasted } = rollbacks;
        assert!(all > seeds, "the schedules do not lead to rollbacks: {all}");
        assert!(deep_by_field > seeds / 20, "hardly any in two windows: {deep_by_field}");
        assert!(resizes_by_field > seeds, "the schedules do not lead to resizes");
        assert!(coasted > seeds / 10, "hardly any event after a sparse copy: {coasted}");
    }
}

#[test]
fn regression_seeds() {
    for &seed in REGRESSIONS {
        named(seed, simulate);
    }
}

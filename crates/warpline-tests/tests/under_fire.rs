//! Time Warp with real threads under hostile conditions: handlers that go wrong, floods, too little
//! memory, far more workers than cores, workers that are stopped, and runs that are.
//!
//! The oracle is the sequential engine. A watchdog looks after every run: a run that hangs
//! fails here, and names the worker that all others wait for.
//!
//! # Mutations of the engine, each seen red
//!
//! - `TimeWarpWorker::cut_off` ends the run at once instead of letting the LP wait
//!   (`mistakes_in_states_that_never_were`)
//! - `TimeWarpWorker::cut_off` leaves the event pending, too, for which the LP waits (the same)
//! - `TimeWarpWorker::is_next` handles blocking I/O events at once (the same)
//! - `FirstFailure::note` keeps the last failure in place of the first
//!   (`the_first_mistake_in_virtual_time_is_the_error`)
//! - `TimeWarpWorker::leave` delivers no outputs (the same)
//! - `Participant::sent` does not count what is sent after the flag was set (most)
//! - `TimeWarpWorker::adopt` does not undo what is not committed when the run is stopped
//!   (`stopped_runs_are_beginnings`)
//! - `Observer` in `run.rs` requests no GVT when it is told to stop, or looks at the clock every
//!   4096 turns (`runs_with_long_events_stop_soon`)
//! - `TimeWarpWorker::report` does not show the report (`the_watchdog_names_the_worker_that_hangs`)

mod hooked_phold;
#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use hooked_phold::{HandlerCall, HookedPhold, Lines, Optimists, simulation, truth};
use warpline::{
    Balance, Model, ModelError, Only, RunError, Simulation, Speculative, TimeWarp,
    digest::mix,
    monitor::{Activity, WorkerStatus},
    settings::{FlowControl, Instrumentation, Pool},
};

const LPS: u32 = 16;
const END: f64 = 100.0;
const WORKERS: [usize; 4] = [1, 2, 4, 8];

/// Every number of workers, with fossil collection in blocks and on the fly.
fn policies() -> impl Iterator<Item = (usize, Pool)> {
    WORKERS.into_iter().flat_map(|w| [(w, Pool::default()), (w, Pool::ON_THE_FLY)])
}

fn time_warp<M: Model>(
    model: M,
    workers: usize,
    pool: Pool,
) -> Simulation<'static, Only<Optimists, M>> {
    // Small batches and frequent rounds: more of everything that can go wrong.
    let (batch, gvt_interval) = (4, 64);
    // A worker alone must be able to be wrong, too.
    let instrumentation = Instrumentation::AS_IF_MANY;
    // Each worker has its thread, whatever other programs do: one that hangs must not hold another.
    let defaults = TimeWarp { pool, balance: Balance::Off, ..TimeWarp::default() };
    let engine = TimeWarp { workers, batch, gvt_interval, instrumentation, ..defaults };
    simulation(model).engine(engine)
}

/// Stands still in a handler until `go` or the time is over. The other workers cannot tell this
/// from a worker whose core the system has given to another thread.
fn stall(at_most: Duration, go: impl Fn() -> bool) {
    let until = Instant::now() + at_most;
    while !go() && Instant::now() < until {
        thread::park_timeout(Duration::from_millis(1));
    }
}

/// Panics and failures in states that are rolled back leave no trace, also those for which LPs
/// wait.
#[test]
fn mistakes_in_states_that_never_were() {
    let expected = simulation(HookedPhold::sound(LPS)).end(END).run().expect("a sound model");
    let known = Arc::new(truth(LPS, END));
    for (workers, pool) in policies() {
        let strange = Arc::new(AtomicU64::new(0));
        let (known, seen) = (Arc::clone(&known), Arc::clone(&strange));
        let model = HookedPhold::new(LPS, move |HandlerCall { lp, nth, hash, io }| {
            if lp == 0 && nth == 1 && workers > 1 {
                // The others run ahead without the events of this worker's LPs.
                // Ordering: Relaxed; a count.
                stall(Duration::from_secs(10), || seen.load(Ordering::Relaxed) > 0);
            }
            if nth > 0 && known[lp as usize].get(nth - 1) != Some(&hash) {
                assert!(!io, "a blocking I/O event was handled speculatively");
                // Ordering: Relaxed; a count.
                if seen.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                    return Some("this never was");
                }
                panic!("this never was");
            }
            None
        });
        let run = time_warp(model, workers, pool.clone()).end(END);
        let report = watchdog::run(run).expect("nothing goes wrong where it counts");
        assert_eq!(report.digest, expected.digest, "{workers} workers, {pool:?}");
        assert_eq!(report.output, expected.output);
        // A worker alone runs ahead, too, past the LPs that wait for blocking I/O events.
        assert!(strange.load(Ordering::Relaxed) > 0, "{workers} workers were never wrong");
    }
}

/// A mistake that is real: the LP that makes it, and the number of its event.
#[derive(Clone, Copy, Debug)]
struct Mistake {
    lp: u32,
    nth: usize,
    panics: bool,
}

/// A model with mistakes. The LP with the first mistake is late, so that the others come before.
fn broken(mistakes: &'static [Mistake], late: Duration) -> HookedPhold {
    HookedPhold::new(LPS, move |HandlerCall { lp, nth, .. }| {
        if lp == mistakes[0].lp && nth + 1 == mistakes[0].nth {
            stall(late, || false);
        }
        let mistake = mistakes.iter().find(|mistake| (mistake.lp, mistake.nth) == (lp, nth))?;
        assert!(!mistake.panics, "broken on purpose");
        Some("gave up on purpose")
    })
}

/// The error is the one that the sequential engine finds, and so are the outputs before it.
#[test]
fn the_first_mistake_in_virtual_time_is_the_error() {
    const fn mistake(lp: u32, nth: usize, panics: bool) -> Mistake {
        Mistake { lp, nth, panics }
    }
    const CASES: [&[Mistake]; 5] = [
        &[mistake(3, 40, true)],
        &[mistake(9, 77, false)],
        // Many at about the same time, on all workers.
        &[mistake(0, 60, true), mistake(5, 61, false), mistake(8, 61, true), mistake(15, 62, true)],
        &[mistake(15, 30, true), mistake(0, 90, true), mistake(2, 90, false)],
        // In their starts the first LP counts.
        &[mistake(6, 0, true), mistake(14, 0, false), mistake(1, 3, true)],
    ];
    for mistakes in CASES {
        let model = broken(mistakes, Duration::ZERO);
        let lines = Lines::clone(&model.lines);
        let expected = error_of(simulation(model).end(END).run());
        let expected_lines = lines.lock().unwrap().clone();
        for (workers, pool) in policies() {
            let model = broken(mistakes, Duration::from_millis(5));
            let lines = Lines::clone(&model.lines);
            let run = time_warp(model, workers, pool.clone()).end(END);
            let error = error_of(watchdog::run(run));
            let what = |error: &ModelError| {
                (error.place.lp, error.place.event, error.fault.clone(), error.place.seed)
            };
            assert_eq!(what(&error), what(&expected), "{workers} workers, {pool:?}");
            assert!(error.place.worker < workers && error.place.engine == "timewarp", "{error}");
            let same = *lines.lock().unwrap() == expected_lines;
            assert!(same, "{workers} workers, {pool:?}: other lines before {error}");
        }
    }
}

fn error_of<T>(outcome: Result<T, RunError>) -> ModelError {
    match outcome {
        Err(RunError::Model(error)) => error,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("no error"),
    }
}

/// Far more workers than this machine has cores, with less than an LP for each, one, and more.
#[test]
fn sixty_four_workers() {
    for lps in [48, 64, 200] {
        let end = 1_000.0 / f64::from(lps);
        let expected = simulation(HookedPhold::sound(lps)).end(end).run().expect("a sound model");
        let report =
            watchdog::run(time_warp(HookedPhold::sound(lps), 64, Pool::default()).end(end))
                .expect("a sound model");
        assert_eq!(report.digest, expected.digest, "{lps} LPs");
        assert_eq!(report.output, expected.output);
    }
}

/// Workers that stand still for up to 100 ms, each time another one, far out of step.
#[test]
fn workers_that_are_stopped() {
    const STALLS: usize = 8;
    let expected = simulation(HookedPhold::sound(LPS)).end(END).run().expect("a sound model");
    let mut stalled = 0;
    for (round, workers) in [2, 4].into_iter().enumerate() {
        let (calls, stalls) = (AtomicU64::new(0), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&stalls);
        let model = HookedPhold::new(LPS, move |_| {
            // Ordering: Relaxed; counts that decide where to stall.
            let dice = mix(round as u64, calls.fetch_add(1, Ordering::Relaxed));
            if dice.is_multiple_of(500) && count.fetch_add(1, Ordering::Relaxed) < STALLS {
                stall(Duration::from_millis(dice / 500 % 100), || false);
            }
            None
        });
        let run = time_warp(model, workers, Pool::default()).end(END);
        let report = watchdog::run(run).expect("a sound model");
        assert_eq!(report.digest, expected.digest, "{workers} workers");
        assert_eq!(report.output, expected.output);
        stalled += stalls.load(Ordering::Relaxed).min(STALLS);
    }
    assert_eq!(stalled, 2 * STALLS, "too few stalls");
}

/// A run that is told to stop has the events, the states and the lines of a run to that time.
#[test]
fn stopped_runs_are_beginnings() {
    static STOPS: [AtomicBool; 8] = [const { AtomicBool::new(false) }; 8];
    const ENOUGH: usize = 400;
    // No two events are due at the same time, so that a time is enough to say where a run ends.
    let make = || HookedPhold { line_delay: 0.125, ..HookedPhold::sound(LPS) };
    for ((workers, pool), stop) in policies().zip(&STOPS) {
        let mut model = make();
        model.on_line = Box::new(move |count| {
            if count == ENOUGH {
                // Ordering: Relaxed; the flag publishes nothing but itself.
                stop.store(true, Ordering::Relaxed);
            }
        });
        let lines = Lines::clone(&model.lines);
        // Only the flag ends this run.
        let run = time_warp(model, workers, pool.clone()).stop_when(stop);
        let is_short = !pool.is_on_the_fly();
        // Buffers for hardly more events than are always pending.
        let run = if is_short { run.memory(32_000) } else { run };
        let report = watchdog::run(run).expect("a sound model");
        assert!(report.interrupted);

        // The first time that is later than the end, for the events at the end took place.
        let end = f64::from_bits(report.end_time.get().to_bits() + 1);
        let model = make();
        let expected_lines = Lines::clone(&model.lines);
        let expected = simulation(model).end(end).run().expect("a sound model");
        let (lines, expected_lines) = (lines.lock().unwrap(), expected_lines.lock().unwrap());
        assert!(lines.len() >= ENOUGH && *lines == *expected_lines, "{workers}, {pool:?}");
        assert_eq!(report.committed_events, expected.committed_events);
        assert_eq!((report.digest, report.output), (expected.digest, expected.output));
    }
}

/// The watchdog names the worker that hangs in a handler, also if it is the one that calls
/// observers.
#[test]
fn the_watchdog_names_the_worker_that_hangs() {
    // With no more workers than most machines have cores, each has a thread of its own.
    for stuck in [0, 1] {
        let (hangs, release) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (hanging, released) = (Arc::clone(&hangs), Arc::clone(&release));
        let model = HookedPhold::new(LPS, move |HandlerCall { lp, nth, .. }| {
            if lp == stuck * LPS / 2 && nth == 20 {
                // Ordering: Relaxed; the flags publish nothing but themselves.
                hanging.store(true, Ordering::Relaxed);
                stall(watchdog::PATIENCE, || released.load(Ordering::Relaxed));
            }
            None
        });
        let run = watchdog::start(time_warp(model, 2, Pool::default()).end(END));
        let only_it = |workers: &[WorkerStatus]| {
            workers.iter().all(|worker| worker.is_awaited == (worker.worker == stuck as usize))
        };
        let until = Instant::now() + watchdog::PATIENCE / 2;
        let before = loop {
            let is_late = Instant::now() > until;
            let is_stuck = hangs.load(Ordering::Relaxed);
            let workers = run.monitor.workers();
            if is_late || (is_stuck && only_it(&workers)) {
                break workers;
            }
            thread::yield_now();
        };
        let text = watchdog::diagnosis(&before, &run.monitor);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(&*format!("worker {stuck} stands still")), "{text}");
        assert!(
            lines.next().is_some_and(|line| line.ends_with(&format!("worker {stuck}"))),
            "{text}"
        );
        // The others show why they wait; it shows what it did before.
        for (worker, line) in lines.enumerate() {
            let late = line.contains("has not reported yet");
            assert!(line.starts_with(&format!("  worker {worker} ")), "{text}");
            assert_eq!(late, worker == stuck as usize, "{text}");
        }
        // If it had reported since, GVT would not wait for it.
        let mut earlier = before;
        earlier[stuck as usize].gvt_reports = u64::MAX;
        let text = watchdog::diagnosis(&earlier, &run.monitor);
        assert!(text.starts_with("no worker stands still"), "{text}");
        release.store(true, Ordering::Relaxed);
        let report = run.end_within(watchdog::PATIENCE).expect("a sound model");
        let expected = simulation(HookedPhold::sound(LPS)).end(END).run().expect("a sound model");
        assert_eq!(report.digest, expected.digest);
    }
}

/// The workers of windows show themselves, too: when the run is over, all have ended.
#[test]
fn workers_of_windows_are_shown() {
    let (workers, balance) = (3, Balance::Off);
    let engine = Speculative { workers, balance, ..Speculative::default() };
    let run = watchdog::start(simulation(HookedPhold::sound(LPS)).engine(engine).end(END));
    let monitor = run.monitor.clone();
    run.end_within(watchdog::PATIENCE).expect("a sound model");
    let shown = monitor.workers();
    assert_eq!(shown.len(), workers);
    for worker in shown {
        assert!(worker.gvt_reports > 0 && worker.processed_events > 0, "{worker}");
        assert_eq!(worker.activity, Activity::Ended, "{worker}");
    }
}

/// A run with long events stops as soon as one with short events: within a few batches, and not
/// only when the next round would have begun.
#[test]
fn runs_with_long_events_stop_soon() {
    static STOP: AtomicBool = AtomicBool::new(false);
    const BEFORE: u64 = 100;
    for by_flag in [true, false] {
        let calls = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&calls);
        let mut model = HookedPhold::new(LPS, move |HandlerCall { nth, .. }| {
            // Ordering: Relaxed, here and below; counts, and a flag that publishes nothing but
            // itself.
            if nth > 0 {
                stall(Duration::from_millis(1), || false);
                if count.fetch_add(1, Ordering::Relaxed) == BEFORE {
                    STOP.store(by_flag, Ordering::Relaxed);
                }
            }
            None
        });
        // No worker is idle, so none requests GVT for that reason.
        (model.population, model.blocking) = (40, u64::MAX);
        // In turn, so that the number of events does not depend on which threads have cores.
        let flow_control = FlowControl { throttle: false, ..FlowControl::default() };
        let instrumentation = Instrumentation::IN_TURN;
        let engine = TimeWarp { workers: 2, flow_control, instrumentation, ..TimeWarp::default() };
        let run = simulation(model).engine(engine);
        let report = watchdog::run(if by_flag {
            run.stop_when(&STOP)
        } else {
            // The observer is called after 50 ms for the first time.
            run.observe(|_| ControlFlow::Break(()))
        });
        assert!(report.expect("a sound model").interrupted);
        let calls = calls.load(Ordering::Relaxed);
        assert!(calls < 600, "{calls} events were handled before the end");
    }
}

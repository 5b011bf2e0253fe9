//! Time Warp with real threads and far too little memory for much optimism.
//!
//! A run needs at least the memory that the sequential engine needs. With a little more than that
//! it has to come to the same end, and with less it has to fail with an error that says so. How
//! much memory a run takes depends on which threads the system lets run, so that is asserted of
//! runs in turn only.
//!
//! # Mutations of the engine, each seen red
//!
//! - `TimeWarpWorker::relieve` does not take anything back (`a_flood_stays_within_its_banks`,
//!   `io_and_mistakes_with_little_memory`)
//! - `Flow::notes` does not tell that the worker is starved (all; the watchdog ends it)
//! - a pool draws its first buffers in batches (`first_events_fit_if_they_do_sequentially`)
//! - `Flow::new` lets a worker begin before all have sent their first events (the same)
//! - `TimeWarpWorker::may_handle` makes no exception for the event that GVT has reached
//!   (`a_flood_stays_within_its_banks`, `less_than_the_least_is_an_error`; the watchdog ends them)

mod flood;
mod hooked_phold;
#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use flood::Flood;
use hooked_phold::{HandlerCall, HookedPhold, Lines, simulation, truth};
use warpline::{
    Engine, Model, Report, RunError, Sequential, TimeWarp,
    settings::{FlowControl, Instrumentation, Pool, PoolKind},
};

const END: f64 = 600.0;

/// The bytes that an event takes in a run on this engine, as the error of a run without memory
/// says.
fn event_bytes<M: Model<Output: Debug> + 'static>(model: M, engine: impl Into<Engine>) -> u64 {
    let run = simulation(model).engine(engine).memory(0).end(END);
    match watchdog::run(run) {
        Err(RunError::OutOfBuffers { event_bytes, events: 0, limit: 0, .. }) => event_bytes,
        other => panic!("there is no room for an event, but {other:?}"),
    }
}

/// Time Warp with this many workers, and the default settings.
fn time_warp(workers: usize) -> TimeWarp {
    TimeWarp { workers, instrumentation: Instrumentation::AS_IF_MANY, ..TimeWarp::default() }
}

/// The result of the sequential engine, and the most events that are pending in it at a time.
fn sequential(flood: &Flood) -> (Report<Vec<u64>>, u64) {
    let quick = Flood { at_sink: |_| (), ..flood.clone() };
    let report = simulation(quick).end(END).run().expect("sound");
    let peak = report.peak_buffer_bytes / event_bytes(Flood::new(|_| ()), Sequential::default());
    (report, peak)
}

/// Lets the source run ahead, if it can, for a while.
fn wait_for_the_source(ticks: &AtomicU64) {
    let until = Instant::now() + Duration::from_micros(20);
    // Ordering: Relaxed; a count.
    while ticks.load(Ordering::Relaxed) < END as u64 && Instant::now() < until {
        thread::yield_now();
    }
}

/// Without a limit the source is at its end before a sink has handled an event, and most events are
/// in buffers at the same time. A limit holds the source back.
#[test]
fn a_flood_stays_within_its_banks() {
    let flood = Flood::new(|_| ());
    let (expected, peak) = sequential(&flood);
    let flow_control = FlowControl { throttle: false, ..FlowControl::default() };
    let instrumentation = Instrumentation::IN_TURN;
    let engine = TimeWarp { instrumentation, batch: 1000, flow_control, ..time_warp(3) };
    let unlimited = watchdog::run(simulation(flood).engine(engine).end(END)).expect("sound");
    assert_eq!(unlimited.digest, expected.digest);
    let events = unlimited.peak_buffer_bytes / event_bytes(Flood::new(|_| ()), time_warp(3));
    assert!(events > 10 * peak, "no flood: {events} events, sequentially {peak}");

    for (round, answers) in [u64::MAX, 32].into_iter().enumerate() {
        let flood = Flood { answers, ..Flood::new(wait_for_the_source) };
        let (expected, peak) = sequential(&flood);
        for (workers, in_turn) in [1, 2, 4, 8].into_iter().flat_map(|n| [(n, true), (n, false)]) {
            for &pool in PoolKind::ALL {
                let pool = match pool {
                    PoolKind::Partitioned if round == 0 => Pool::ON_THE_FLY,
                    other => other.into(),
                };
                let events = peak + 2 * workers as u64 + 8;
                let engine = TimeWarp {
                    instrumentation: Instrumentation { in_turn, ..Instrumentation::AS_IF_MANY },
                    pool: pool.clone(),
                    flow_control: FlowControl {
                        few_buffers: [0, 5][round],
                        ..FlowControl::default()
                    },
                    ..time_warp(workers)
                };
                let memory = events * event_bytes(Flood::new(|_| ()), engine.clone());
                let run = simulation(Flood { ticks: Default::default(), ..flood.clone() })
                    .engine(engine)
                    .memory(memory)
                    .end(END);
                let report = watchdog::run(run)
                    .unwrap_or_else(|error| panic!("{pool:?}, {workers}: {error}"));
                let what = format!("{workers} workers, {pool:?}, {answers} answers");
                assert_eq!(report.digest, expected.digest, "{what}");
                assert_eq!(report.output, expected.output, "{what}");
                let peak = report.peak_buffer_bytes;
                assert!(peak <= memory, "{peak} of {memory}: {what}");
                assert!(!in_turn || peak > memory / 2, "{peak} of {memory}: {what}");
            }
        }
    }
}

/// A worker with few free buffers asks for GVT, so that it does not come to the event for which it
/// has none.
#[test]
fn a_worker_with_few_buffers_asks_for_gvt() {
    let flood = Flood { answers: 32, ..Flood::new(|_| ()) };
    let (expected, peak) = sequential(&flood);
    let cut_off = |few_buffers| {
        let engine = TimeWarp {
            instrumentation: Instrumentation { in_turn: true, ..Instrumentation::AS_IF_MANY },
            batch: 1,
            gvt_interval: 1 << 24,
            flow_control: FlowControl { few_buffers, ..FlowControl::default() },
            ..time_warp(1)
        };
        let memory = (2 * peak + 64) * event_bytes(Flood::new(|_| ()), time_warp(1));
        let run = simulation(Flood { ticks: Default::default(), ..flood.clone() });
        let report = watchdog::run(run.engine(engine).memory(memory).end(END)).expect("enough");
        assert_eq!(report.digest, expected.digest, "{few_buffers}");
        report.rolled_back_events
    };
    let (late, early) = (cut_off(0), cut_off(16));
    assert!(late > 10 && early == 0, "{late} events had no buffer, and {early}");
}

/// Less than the sequential run needs: an error, and no hang.
#[test]
fn less_than_the_least_is_an_error() {
    let flood = Flood { answers: 32, ..Flood::new(|_| ()) };
    let (_, peak) = sequential(&flood);
    for workers in [1, 2, 4, 8] {
        let few = [1, peak / 4, peak - 2];
        for (events, pool) in few.iter().flat_map(|&n| PoolKind::ALL.iter().map(move |&p| (n, p))) {
            let memory = events * event_bytes(Flood::new(|_| ()), time_warp(workers));
            let engine = TimeWarp { pool: pool.into(), ..time_warp(workers) };
            let run = simulation(flood.clone()).engine(engine);
            let outcome = watchdog::run(run.memory(memory).end(END));
            let Err(RunError::OutOfBuffers { place, limit, events: most, .. }) = outcome else {
                panic!("{events} of {peak} events are enough for {workers} workers: {outcome:?}");
            };
            assert_eq!((limit, most, place.engine), (memory, events, "timewarp"));
        }
    }
}

/// The events that all LPs send at their start fit, however they are spread over the workers.
#[test]
fn first_events_fit_if_they_do_sequentially() {
    // Not a multiple of the batch that a worker takes from the common pool.
    let flood = Flood { first: 1001, ..Flood::new(|_| ()) };
    let (expected, peak) = sequential(&flood);
    for workers in [1, 2, 4, 8] {
        let memory =
            (peak + 2 * workers as u64 + 8) * event_bytes(Flood::new(|_| ()), time_warp(workers));
        for &pool in PoolKind::ALL {
            let engine = TimeWarp { pool: pool.into(), ..time_warp(workers) };
            let run = simulation(flood.clone()).engine(engine).memory(memory).end(END);
            let report =
                watchdog::run(run).unwrap_or_else(|error| panic!("{pool}, {workers}: {error}"));
            assert_eq!(report.digest, expected.digest, "{workers} workers, {pool}");
        }
    }
}

/// I/O events and handlers that fail in states that are rolled back, with a little more memory than
/// a sequential run needs.
#[test]
fn io_and_mistakes_with_little_memory() {
    const LPS: u32 = 16;
    const END: f64 = 40.0;
    let model = HookedPhold::sound(LPS);
    let expected_lines = Lines::clone(&model.lines);
    let expected = simulation(model).end(END).run().expect("a sound model");
    let expected_lines = expected_lines.lock().unwrap();
    let bytes = event_bytes(HookedPhold::sound(LPS), Sequential::default());
    let peak = expected.peak_buffer_bytes / bytes;
    let known = Arc::new(truth(LPS, END));
    for workers in [1, 2, 4, 8, 32] {
        for &pool in PoolKind::ALL {
            let known = Arc::clone(&known);
            let model = HookedPhold::new(LPS, move |HandlerCall { lp, nth, hash, io }| {
                let strange = nth > 0 && known[lp as usize].get(nth - 1) != Some(&hash);
                assert!(!(io && strange), "a blocking I/O event was handled speculatively");
                strange.then_some("this never was")
            });
            let lines = Lines::clone(&model.lines);
            let bytes = event_bytes(HookedPhold::sound(LPS), time_warp(workers));
            let memory = (peak + 2 * workers as u64 + 8) * bytes;
            let engine = TimeWarp { pool: pool.into(), ..time_warp(workers) };
            let run = simulation(model).engine(engine).memory(memory).end(END);
            let report =
                watchdog::run(run).unwrap_or_else(|error| panic!("{pool}, {workers}: {error}"));
            let what = format!("{workers} workers, {pool}");
            assert_eq!(
                (report.digest, &report.output),
                (expected.digest, &expected.output),
                "{what}"
            );
            assert!(*lines.lock().unwrap() == *expected_lines, "{what}: other lines");
        }
    }
}

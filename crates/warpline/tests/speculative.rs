//! The speculative engine under hostile conditions: handlers that go wrong in states that never
//! were, blocking I/O events, runs that are stopped, too little memory.
//!
//! The oracle is the sequential engine. A watchdog looks after every run: a run that hangs fails
//! here.
//!
//! # Mutations of the engine, each seen red
//!
//! - `Worker::settle_window` commits a window in which an LP has stopped
//!   (`mistakes_in_states_that_never_were`)
//! - `Worker::regrid` goes on although its reason is `STOP` (`stopped_runs_are_beginnings`)
//!
//! Not found: `Worker::regrid` does not look at the memory limit; `Sender::accept` does, too.

#[allow(dead_code, reason = "Time Warp's tests use the rest")]
mod hooked_phold;
#[allow(dead_code, reason = "the same")]
mod watchdog;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use hooked_phold::{HandlerCall, HookedPhold, Lines, truth};
use warpline::{Only, RunError, Sequential, Simulation, Speculative};

const LPS: u32 = 16;
const END: f64 = 100.0;

type Run = Simulation<'static, Only<(Sequential, Speculative), HookedPhold>>;

fn sequential(model: HookedPhold) -> Run {
    Simulation::new(Only::new(model))
}

fn speculative(model: HookedPhold, workers: usize, width: Option<f64>) -> Run {
    sequential(model).engine(Speculative { workers, width, ..Speculative::default() })
}

/// Numbers of workers, and widths: narrow ones, and ones that hold the whole run.
fn settings() -> impl Iterator<Item = (usize, Option<f64>)> {
    let widths = [None, Some(0.05), Some(2.0), Some(1e3)];
    [1, 2, 4].into_iter().flat_map(move |workers| widths.map(|width| (workers, width)))
}

/// Panics and failures in states that are rolled back leave no trace; blocking I/O events are not
/// handled in such states; lines come out in order.
#[test]
fn mistakes_in_states_that_never_were() {
    let model = HookedPhold::sound(LPS);
    let expected_lines = Lines::clone(&model.lines);
    let expected = sequential(model).end(END).run().expect("a sound model");
    let known = Arc::new(truth(LPS, END));
    for (workers, width) in settings() {
        let known = Arc::clone(&known);
        let model = HookedPhold::new(LPS, move |HandlerCall { lp, nth, hash, io }| {
            if nth > 0 && known[lp as usize].get(nth - 1) != Some(&hash) {
                assert!(!io, "a blocking I/O event was handled speculatively");
                assert!(hash.is_multiple_of(2), "this never was");
                return Some("this never was");
            }
            None
        });
        let lines = Lines::clone(&model.lines);
        let report = watchdog::run(speculative(model, workers, width).end(END));
        let report = report.expect("nothing goes wrong where it counts");
        assert_eq!(report.digest, expected.digest, "{workers} workers, {width:?}");
        assert_eq!(report.output, expected.output);
        assert_eq!(*lines.lock().unwrap(), *expected_lines.lock().unwrap());
    }
}

/// A run that is stopped has committed all events up to the end that it reports, and no others.
#[test]
fn stopped_runs_are_beginnings() {
    static STOPS: [AtomicBool; 12] = [const { AtomicBool::new(false) }; 12];
    const ENOUGH: usize = 400;
    let make = || HookedPhold { line_delay: 0.125, ..HookedPhold::sound(LPS) };
    for ((workers, width), stop) in settings().zip(&STOPS) {
        let mut model = make();
        model.on_line = Box::new(move |count| {
            if count == ENOUGH {
                // Ordering: Relaxed; the flag publishes nothing but itself.
                stop.store(true, Ordering::Relaxed);
            }
        });
        let lines = Lines::clone(&model.lines);
        let report = watchdog::run(speculative(model, workers, width).stop_when(stop));
        let report = report.expect("a sound model");
        assert!(report.interrupted);

        let end = report.end_time.get().next_up();
        let model = make();
        let expected_lines = Lines::clone(&model.lines);
        let expected = sequential(model).end(end).run().expect("a sound model");
        let (lines, expected_lines) = (lines.lock().unwrap(), expected_lines.lock().unwrap());
        assert!(lines.len() >= ENOUGH && *lines == *expected_lines, "{workers}, {width:?}");
        assert_eq!(report.committed_events, expected.committed_events);
        assert_eq!((report.digest, report.output), (expected.digest, expected.output));
    }
}

/// With less memory than the pending events take, the run ends with an error; with enough, windows
/// are narrow enough for it.
#[test]
fn too_little_memory_is_an_error() {
    let expected = sequential(HookedPhold::sound(LPS)).end(END).run().expect("a sound model");
    for (workers, width) in settings() {
        let run = |bytes| {
            let run = speculative(HookedPhold::sound(LPS), workers, width).end(END).memory(bytes);
            watchdog::run(run)
        };
        let error = run(1_000).expect_err("there is no memory for so many events");
        assert!(matches!(error, RunError::OutOfBuffers { limit: 1_000, .. }), "{error}");
        let report = run(1 << 20).expect("enough memory");
        assert_eq!(report.digest, expected.digest, "{workers} workers, {width:?}");
    }
}

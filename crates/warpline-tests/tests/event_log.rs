//! The example `event_log`: its log is complete, in order, and the same whatever runs it.
//!
//! # Mutations of the engine, each seen red
//!
//! - `IoStage::deliver` handles outputs before the GVT of one worker, and not of all
//! - `TimeWarpWorker::deliver_outputs` leaves those behind a record that is not committed for later
//! - `TimeWarpWorker::take_output` takes an output again that was taken before

#[expect(dead_code, reason = "the example's `main` runs only in the example")]
#[path = "../../warpline/examples/event_log.rs"]
mod event_log;
#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use event_log::Office;
use warpline::{
    Engine, ModelError, Only, Report, RunError, Sequential, Simulation, Speculative, TimeWarp,
    VirtualTime, Width, error::Fault, pending::PendingKind, settings::FlowControl,
};

const END: f64 = 100.0;
const WINDOW: f64 = 10.0;

/// A log in memory, of at most this many bytes.
#[derive(Clone)]
struct Paper {
    text: Arc<Mutex<String>>,
    room: usize,
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = self.text.lock().unwrap();
        if text.len() + bytes.len() > self.room {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the paper is full"));
        }
        text.push_str(str::from_utf8(bytes).expect("text"));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the example on an engine, and returns its log.
fn run_with(room: usize, engine: impl Into<Engine>) -> (Result<Report<u64>, RunError>, String) {
    let text = Arc::default();
    let log: Box<dyn Write + Send> = Box::new(Paper { text: Arc::clone(&text), room });
    let log = Mutex::new(log);
    let office = Office { desks: 5, customers: 12, mean_service: 1.5, window: WINDOW, log };
    let office = Only::<(Sequential, (TimeWarp, Speculative)), _>::new(office);
    let run = watchdog::run(Simulation::new(office).engine(engine).end(END));
    let text = text.lock().unwrap().clone();
    (run, text)
}

fn run(pending: PendingKind, room: usize) -> (Result<Report<u64>, RunError>, String) {
    run_with(room, Sequential { pending })
}

/// Time Warp with each number of workers, batch and way to cancel.
fn on_time_warp(room: usize, mut check: impl FnMut(Result<Report<u64>, RunError>, String, &str)) {
    let first_barrier = VirtualTime::new(WINDOW).ok();
    for workers in [1, 2, 3, 8] {
        for (batch, time_barrier) in [(1, None), (16, None), (16, first_barrier)] {
            let flow_control = FlowControl { time_barrier, ..FlowControl::default() };
            let engine = TimeWarp { workers, batch, flow_control, ..TimeWarp::default() };
            let (run, log) = run_with(room, engine);
            check(run, log, &format!("{workers} workers, batch {batch}, {time_barrier:?}"));
        }
    }
}

/// The speculative engine with each number of workers, and windows of several widths.
fn on_speculative(room: usize, mut check: impl FnMut(Result<Report<u64>, RunError>, String, &str)) {
    for workers in [1, 2, 3] {
        for width in [Width::Auto, Width::Fixed(0.1), Width::Fixed(WINDOW), Width::Fixed(2.0 * END)]
        {
            let engine = Speculative { workers, width, ..Speculative::default() };
            let (run, log) = run_with(room, engine);
            check(run, log, &format!("{workers} workers, {width:?}"));
        }
    }
}

/// A line per visit, in the order of time; the window ends are events of their own.
#[test]
fn every_visit_is_a_line() {
    let (run, log) = run(PendingKind::default(), usize::MAX);
    let report = run.expect("sound");
    let time = |line: &str| line.split_whitespace().next().unwrap().parse::<f64>().unwrap();
    let times: Vec<f64> = log.lines().map(time).collect();
    assert!(times.is_sorted() && times[0] == 0.0 && times.iter().all(|time| *time < END));
    assert_eq!(times.len() as u64, report.output);
    assert!(report.output > 500, "{} visits", report.output);
    let window_ends = (END / WINDOW) as u64 - 1;
    assert_eq!(report.committed_events, 2 * report.output + window_ends);
    for customer in 0..12 {
        assert!(log.contains(&format!("customer {customer:3} is visitor")), "{customer}");
    }
}

#[test]
fn the_log_is_the_same_with_every_pending_set() {
    let (first, log) = run(PendingKind::default(), usize::MAX);
    let digest = first.expect("sound").digest;
    for &pending in PendingKind::ALL {
        let (again, same_log) = run(pending, usize::MAX);
        assert!(again.expect("sound").digest == digest && same_log == log, "{pending}");
    }
}

#[test]
fn the_log_is_the_same_with_optimistic_engines() {
    let (expected, log) = run(PendingKind::default(), usize::MAX);
    let digest = expected.expect("sound").digest;
    let check = |run: Result<Report<u64>, RunError>, same_log: String, what: &str| {
        let report = run.expect("sound");
        assert_eq!(report.digest, digest, "{what}");
        assert!(same_log == log, "{what}: another log, of {} bytes", same_log.len());
        assert_eq!(report.output, log.lines().count() as u64, "{what}");
    };
    on_time_warp(usize::MAX, check);
    on_speculative(usize::MAX, check);
}

/// The lines up to the error are written, and it names the event whose line could not be written.
#[test]
fn a_full_disk_is_an_error() {
    let (_, log) = run(PendingKind::default(), usize::MAX);
    let (run, cut) = run(PendingKind::default(), 1000);
    let Err(RunError::Model(ModelError { fault, place })) = run else { panic!("no error") };
    assert!(matches!(&fault, Fault::Panicked { message, .. } if message.contains("is full")));
    assert!(log.starts_with(&cut) && cut.len() > 900);
    let lost = log.lines().nth(cut.matches('\n').count()).expect("a line is lost").trim_start();
    let time = format!("{:.3} ", place.event.expect("in an event").time_value());
    assert!(lost.starts_with(&time), "{place:?} and not {lost:.60}");
}

/// The same lines are written and the same lines are lost, however far the workers are by then.
#[test]
fn a_full_disk_is_the_same_error_with_optimistic_engines() {
    let (expected, log) = run(PendingKind::default(), 1000);
    let Err(RunError::Model(expected)) = expected else { panic!("no error") };
    let check = |run: Result<Report<u64>, RunError>, same_log: String, what: &str| {
        let Err(RunError::Model(ModelError { fault, place })) = run else { panic!("no error") };
        assert_eq!(fault, expected.fault, "{what}");
        assert_eq!((place.lp, place.event), (expected.place.lp, expected.place.event), "{what}");
        assert_eq!(same_log, log, "{what}");
    };
    on_time_warp(1000, check);
    on_speculative(1000, check);
}

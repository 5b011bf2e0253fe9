//! What only the conservative engine could get wrong: mistakes in windows, early ends within one, memory.
//!
//! # Mutations of the engine, each seen red
//!
//! - `FirstFailure::note` keeps the first failure in wall time
//! - `Worker::handle_groups` does not ask whether to stop between events that a process sends to itself
//! - `Desk::accept` counts no room, or `Desk::give_room` gives none back
//! - `Desk::accept` lets an event to another process into the window that is being handled

mod watchdog;

use std::ops::ControlFlow;

use warpline::{
    Context, Engine, Fault, LogicalProcess, LpId, Model, RunError, Simulation, VirtualTime,
};

/// What the processes of a model do.
#[derive(Clone, Debug)]
enum Habit {
    /// Process `i` fails at the `i`-th time.
    FailAt(Vec<f64>),
    /// Each of so many sends itself another event after this delay, for ever.
    Repeat(usize, f64),
    /// The first process sends the second an event at this time, as soon as it may.
    SendAt(f64),
}

const LOOKAHEAD: f64 = 0.5;

#[derive(Clone, Debug)]
struct Process;

impl Model for Habit {
    type Lp = Process;
    type Output = ();

    fn name(&self) -> &'static str {
        "habit"
    }

    fn lp_count(&self) -> usize {
        match self {
            Self::FailAt(times) => times.len(),
            Self::Repeat(processes, _) => *processes,
            Self::SendAt(_) => 2,
        }
    }

    fn make_lp(&self, _: LpId) -> Process {
        Process
    }

    fn reduce(&self, done: impl Iterator<Item = ()>) {
        done.for_each(drop);
    }

    fn lookahead(&self) -> Option<f64> {
        Some(LOOKAHEAD)
    }
}

impl LogicalProcess for Process {
    type Model = Habit;
    type Message = ();
    type Summary = ();

    fn start(&mut self, habit: &Habit, cx: &mut impl Context<()>) {
        let me = cx.me();
        match habit {
            Habit::FailAt(times) => cx.send(me, times[me.index()], ()),
            Habit::Repeat(_, delay) => cx.send(me, *delay, ()),
            Habit::SendAt(time) => cx.send(me, *time, ()),
        }
    }

    fn handle(&mut self, habit: &Habit, (): &(), cx: &mut impl Context<()>) {
        let me = cx.me();
        match habit {
            Habit::FailAt(_) => cx.fail(format_args!("failed on purpose")),
            Habit::Repeat(_, delay) => cx.send(me, *delay, ()),
            Habit::SendAt(_) if me.index() == 0 => cx.send(LpId::new(1), LOOKAHEAD, ()),
            Habit::SendAt(_) => {}
        }
    }

    fn finish(self, _: &Habit, _: VirtualTime) {}
}

fn run(habit: Habit, workers: usize) -> Simulation<'static, Habit> {
    Simulation::new(habit).engine(Engine::Conservative).workers(workers)
}

/// The first mistake counts, in the order of events: whichever process and worker comes to its own first.
#[test]
fn the_first_mistake_of_a_window_is_reported() {
    let times = [0.4, 0.3, 0.35, 0.1, 0.2, 0.15];
    for turn in 0..times.len() {
        let mut times = times.to_vec();
        times.rotate_left(turn);
        let first = times.iter().position(|&time| time == 0.1).expect("it is there");
        for workers in 1..=4 {
            let Err(RunError::Model(error)) =
                watchdog::run(run(Habit::FailAt(times.clone()), workers))
            else {
                panic!("no error with {workers} workers")
            };
            let place = &error.place;
            assert_eq!(place.lp, Some(LpId::from_index(first)), "{workers} workers, {times:?}");
            assert_eq!(place.event.map(|event| event.time_value()), Some(0.1));
            assert_eq!((place.engine, place.worker < workers), ("conservative", true));
            assert_eq!(error.fault, Fault::Failed("failed on purpose".to_owned()));
        }
    }
}

/// An observer ends a run between windows, and within one in which a process keeps itself busy.
#[test]
fn a_run_can_be_ended_early() {
    for (delay, workers) in [(0.5, 1), (0.5, 3), (1e-12, 1), (1e-12, 3)] {
        let run = run(Habit::Repeat(6, delay), workers).observe(|_| ControlFlow::Break(()));
        let report = watchdog::run(run).expect("a sound run");
        assert!(report.interrupted, "delay {delay}, {workers} workers");
        assert!(report.committed_events > 0 && report.end_time > VirtualTime::ZERO);
    }
}

/// Memory is limited by the events that are pending: so many fit, and one less is an error that says so.
#[test]
fn memory_is_limited() {
    for workers in [1, 3] {
        let bytes = run(Habit::Repeat(60, 0.75), workers).event_bytes();
        // While one is handled, it and what it sends are both there.
        let with = |events| run(Habit::Repeat(60, 0.75), workers).end(100.0).memory(events * bytes);
        let report = watchdog::run(with(2 * 60)).expect("enough memory");
        assert_eq!(report.committed_events, 60 * 133);
        let error = watchdog::run(with(59)).expect_err("too little memory");
        assert!(matches!(error, RunError::OutOfBuffers { events: 59, .. }), "{error}");
        assert!(error.to_string().contains("--memory"), "{error}");
    }
}

/// So late that the lookahead is lost in rounding, events are refused, not handled out of order.
#[test]
fn a_lookahead_that_is_lost_is_an_error() {
    for workers in [1, 2] {
        let early = watchdog::run(run(Habit::SendAt(1e9), workers)).expect("enough digits");
        assert_eq!(early.committed_events, 3);
        let error = watchdog::run(run(Habit::SendAt(1e17), workers)).expect_err("too late");
        assert!(error.to_string().contains("rounding"), "{error}");
    }
}

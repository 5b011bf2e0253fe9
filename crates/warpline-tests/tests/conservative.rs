//! What only the conservative engine with windows could get wrong: failures within a window, early
//! ends within one, memory.
//!
//! # Mutations of the engine, each seen red
//!
//! - `FirstFailure::note` keeps the first failure in wall time
//! - `WindowWorker::handle_groups` does not ask whether to stop, or whether another LP has failed,
//!   between events that an LP sends to itself
//! - `WindowWorker::wait_at_barrier` does not look whether to stop while it waits
//! - `ProgressMonitor::look` does not keep the panic of an observer
//! - `Grid::window` goes up to the number that means "no window"
//! - `WindowSender::accept` reserves no memory, or `WindowWorker::handle_window` releases none
//! - `WindowSender::accept` lets an event to another LP into the window that is being handled

#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::ops::ControlFlow;

use warpline::{
    Conservative, Context, LogicalProcess, LpId, Model, Only, RunError, Simulation, VirtualTime,
    error::Fault,
};

/// What the LPs of a model do.
#[derive(Clone, Debug)]
enum Habit {
    /// LP `i` fails at the `i`-th time.
    FailAt(Vec<f64>),
    /// Each LP, of this number, sends itself another event after this delay, for ever.
    Repeat(usize, f64),
    /// The last LP, of this number, does so, and the others do nothing.
    LastRepeats(usize, f64),
    /// The first LP does so from time 0.02 on, and the second one fails at time 0.01.
    FailBeside(f64),
    /// Two LPs send themselves one event at this time.
    Once(f64),
    /// At this time, the first LP sends the second one an event, due as soon as it may be.
    SendAt(f64),
}

const LOOKAHEAD: f64 = 0.5;

#[derive(Clone, Debug)]
struct HabitLp;

impl Model for Habit {
    type Lp = HabitLp;
    type Output = ();

    fn name(&self) -> &'static str {
        "habit"
    }

    fn lp_count(&self) -> usize {
        match self {
            Self::FailAt(times) => times.len(),
            Self::Repeat(lps, _) | Self::LastRepeats(lps, _) => *lps,
            Self::SendAt(_) | Self::FailBeside(_) | Self::Once(_) => 2,
        }
    }

    fn make_lp(&self, _: LpId) -> HabitLp {
        HabitLp
    }

    fn reduce(&self, done: impl Iterator<Item = ()>) {
        done.for_each(drop);
    }

    fn lookahead(&self) -> Option<f64> {
        Some(LOOKAHEAD)
    }
}

impl LogicalProcess for HabitLp {
    type Model = Habit;
    type Message = ();
    type Summary = ();

    fn start(&mut self, habit: &Habit, cx: &mut impl Context<()>) {
        let me = cx.me();
        match habit {
            Habit::FailAt(times) => cx.send(me, times[me.index()], ()),
            Habit::Repeat(_, delay) => cx.send(me, *delay, ()),
            Habit::LastRepeats(lps, delay) => {
                if me.index() + 1 == *lps {
                    cx.send(me, *delay, ());
                }
            }
            Habit::FailBeside(_) => cx.send(me, [0.02, 0.01][me.index()], ()),
            Habit::SendAt(time) | Habit::Once(time) => cx.send(me, *time, ()),
        }
    }

    fn handle(&mut self, habit: &Habit, (): &(), cx: &mut impl Context<()>) {
        let me = cx.me();
        match habit {
            Habit::FailAt(_) => cx.fail(format_args!("failed on purpose")),
            Habit::Repeat(_, delay) | Habit::LastRepeats(_, delay) => cx.send(me, *delay, ()),
            Habit::FailBeside(delay) if me.index() == 0 => cx.send(me, *delay, ()),
            Habit::FailBeside(_) => cx.fail(format_args!("failed on purpose")),
            Habit::Once(_) => {}
            Habit::SendAt(_) if me.index() == 0 => cx.send(LpId::new(1), LOOKAHEAD, ()),
            Habit::SendAt(_) => {}
        }
    }

    fn finish(self, _: &Habit, _: VirtualTime) {}
}

fn run(habit: Habit, workers: usize) -> Simulation<'static, Only<Conservative, Habit>> {
    Simulation::new(Only::new(habit)).engine(Conservative { workers, ..Conservative::default() })
}

/// The first failure in the order of events is reported, whichever LP fails first in wall time.
#[test]
fn the_first_failure_of_a_window_is_reported() {
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

/// An observer ends a run between windows, and within a window that an LP never leaves.
#[test]
fn a_run_can_be_ended_early() {
    for (delay, workers) in [(0.5, 1), (0.5, 3), (1e-12, 1), (1e-12, 3)] {
        let run = run(Habit::Repeat(6, delay), workers).observe(|_| ControlFlow::Break(()));
        let report = watchdog::run(run).expect("a sound run");
        assert!(report.interrupted, "delay {delay}, {workers} workers");
        assert!(report.committed_events > 0 && report.end_time > VirtualTime::ZERO);
    }
}

/// The memory budget counts pending events: enough for all of them is enough, and with less the run
/// fails with an error that says so.
#[test]
fn memory_is_limited() {
    for workers in [1, 3] {
        let bytes = run(Habit::Repeat(60, 0.75), workers).event_bytes();
        // The events of a window count until its end, together with what they send.
        let with = |events| run(Habit::Repeat(60, 0.75), workers).end(100.0).memory(events * bytes);
        let report = watchdog::run(with(2 * 60)).expect("enough memory");
        assert_eq!(report.committed_events, 60 * 133);
        // Perhaps one worker has released its events before another one sends.
        let less = if workers == 1 { 119 } else { 79 };
        let error = watchdog::run(with(less)).expect_err("too little memory");
        assert!(
            matches!(error, RunError::OutOfBuffers { events, .. } if events == less),
            "{error}"
        );
        assert!(error.to_string().contains("--memory"), "{error}");
    }
}

/// A first worker that has nothing to do still notices that the run is to end: between windows, and
/// while another worker does not leave its window.
#[test]
fn an_idle_worker_hears_of_the_end() {
    for delay in [0.75, 1e-12] {
        let run = run(Habit::LastRepeats(4, delay), 2).observe(|_| ControlFlow::Break(()));
        assert!(watchdog::run(run).expect("a sound run").interrupted, "delay {delay}");
    }
}

/// An LP that never leaves its window does not hide the failure of another one.
#[test]
fn a_busy_lp_hides_no_failure() {
    let error = watchdog::run(run(Habit::FailBeside(1e-12), 2)).expect_err("a failure");
    let RunError::Model(error) = error else { panic!("{error}") };
    assert_eq!(error.place.event.map(|event| event.time_value()), Some(0.01));
}

/// Events are handled, too, at times beyond the greatest number of a window.
#[test]
fn the_last_window_is_a_window() {
    for workers in [1, 2] {
        let report = watchdog::run(run(Habit::Once(1e300), workers)).expect("a sound run");
        assert_eq!(report.committed_events, 2);
    }
}

/// A panic of the observer is not the model's: it goes to the caller.
#[test]
#[should_panic(expected = "a panic of the observer")]
fn a_panic_of_the_observer_is_not_the_models() {
    let mut calls = 0;
    let run = run(Habit::Repeat(6, 0.5), 2).observe(move |_| {
        calls += 1;
        assert!(calls > 1, "a panic of the observer");
        ControlFlow::Break(())
    });
    let _ = watchdog::run(run);
}

/// CONS-A: events so late that the lookahead is lost in rounding are refused, not handled out of
/// order.
#[test]
fn a_lookahead_that_is_lost_is_an_error() {
    for workers in [1, 2] {
        let early = watchdog::run(run(Habit::SendAt(1e9), workers)).expect("enough digits");
        assert_eq!(early.committed_events, 3);
        let error = watchdog::run(run(Habit::SendAt(1e17), workers)).expect_err("too late");
        assert!(error.to_string().contains("rounding"), "{error}");
    }
}

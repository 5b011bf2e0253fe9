//! The speculative engine under hostile conditions: handlers that go wrong in states that never
//! were, blocking I/O events, runs that are stopped, too little memory.
//!
//! The oracle is the sequential engine. A watchdog looks after every run: a run that hangs fails
//! here.
//!
//! # Mutations of the engine, each seen red
//!
//! - `SpeculativeWorker::settle_window` commits a window in which an LP has stopped
//!   (`mistakes_in_states_that_never_were`)
//! - `SpeculativeWorker::resize` goes on although its reason is `STOP`
//!   (`stopped_runs_are_beginnings`)
//! - `SpeculativeWorker::roll_back` thinks that no send came before the late event
//!   (`a_late_event_does_not_cancel_its_cause`)
//!
//! Not found: `SpeculativeWorker::resize` does not look at the memory limit;
//! `SpeculativeSender::accept` does, too.

#[allow(dead_code, reason = "Time Warp's tests use the rest")]
mod hooked_phold;
#[allow(dead_code, reason = "the same")]
#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use hooked_phold::{HandlerCall, HookedPhold, Lines, Next, truth};
use warpline::{
    Context, LogicalProcess, LpId, Model, Only, RunError, Sequential, Simulation, Speculative,
    VirtualTime, Width,
};

const LPS: u32 = 16;
const END: f64 = 100.0;

type Run = Simulation<'static, Only<(Sequential, Speculative), HookedPhold>>;

fn sequential(model: HookedPhold) -> Run {
    Simulation::new(Only::new(model))
}

fn speculative(model: HookedPhold, workers: usize, width: Width) -> Run {
    sequential(model).engine(Speculative { workers, width, ..Speculative::default() })
}

/// Numbers of workers, and widths: narrow ones, and ones that hold the whole run.
fn settings() -> impl Iterator<Item = (usize, Width)> {
    let widths =
        [Width::Auto, Width::From(1e3), Width::Fixed(0.05), Width::Fixed(2.0), Width::Fixed(1e3)];
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

/// The error is the one that the sequential engine finds, and so are the lines before it.
#[test]
fn the_first_mistake_in_virtual_time_is_the_error() {
    // LPs, and the numbers of their events; 0 is the start, where the first LP counts.
    const CASES: [&[(u32, usize)]; 4] = [
        &[(3, 40)],
        &[(0, 60), (5, 61), (8, 61), (15, 62)],
        &[(15, 30), (0, 90), (2, 90)],
        &[(6, 0), (14, 0), (1, 3)],
    ];
    let error_of = |run: Run| match watchdog::run(run.end(END)) {
        Err(RunError::Model(error)) => (error.place.lp, error.place.event, error.fault),
        other => panic!("no error of the model: {other:?}"),
    };
    for mistakes in CASES {
        let broken = || {
            HookedPhold::new(LPS, move |HandlerCall { lp, nth, .. }| {
                let is_wrong = mistakes.contains(&(lp, nth));
                assert!(!is_wrong || lp.is_multiple_of(2), "broken on purpose");
                is_wrong.then_some("gave up on purpose")
            })
        };
        let model = broken();
        let expected_lines = Lines::clone(&model.lines);
        let expected = error_of(sequential(model));
        for (workers, width) in settings() {
            let model = broken();
            let lines = Lines::clone(&model.lines);
            let found = error_of(speculative(model, workers, width));
            assert_eq!(found, expected, "{workers} workers, {width:?}");
            assert_eq!(*lines.lock().unwrap(), *expected_lines.lock().unwrap(), "{mistakes:?}");
        }
    }
}

/// More workers than this machine has cores, and than there are LPs.
#[test]
fn many_workers() {
    for lps in [5, 8, 40] {
        let end = 400.0 / f64::from(lps);
        let expected = sequential(HookedPhold::sound(lps)).end(end).run().expect("a sound model");
        let report = watchdog::run(speculative(HookedPhold::sound(lps), 8, Width::Auto).end(end));
        let report = report.expect("a sound model");
        assert_eq!(report.digest, expected.digest, "{lps} LPs");
        assert_eq!(report.output, expected.output);
    }
}

/// Each replication has workers of its own, and is the run with its seed.
#[test]
fn replications_are_the_sequential_ones() {
    let model = || HookedPhold::sound(LPS);
    let expected = sequential(model()).end(20.0).replicate(4, |_| {}).expect("a sound model");
    let found = speculative(model(), 2, Width::Auto).end(20.0).replicate(4, |_| {});
    let found = found.expect("a sound model");
    for (found, expected) in found.reports.iter().zip(&expected.reports) {
        assert_eq!((found.seed, found.digest), (expected.seed, expected.digest));
        assert_eq!(found.output, expected.output);
    }
    assert_eq!(found.reports.len(), 4);
}

/// Models that the method does not suit: clusters of tiny delays, chains of zero delay, an LP with
/// a fifth of all events, everything at whole times. Windows are given up before they waste much,
/// so the runs come to their end, and to the right one.
#[test]
fn adversarial_models_waste_a_bounded_amount() {
    let models: [(&str, Next); 4] = [
        ("clusters", |rng, lps| {
            let mean = if rng.uniform() < 0.9 { 1e-6 } else { 1.0 };
            (rng.lp(lps), rng.exponential(mean))
        }),
        ("chains", |rng, lps| {
            let delay = if rng.uniform() < 0.9 { 0.0 } else { rng.exponential(1.0) };
            (rng.lp(lps), delay)
        }),
        ("a hot LP", |rng, lps| {
            let to = if rng.uniform() < 0.2 { LpId::new(0) } else { rng.lp(lps) };
            (to, rng.exponential(1.0))
        }),
        ("whole times", |rng, lps| (rng.lp(lps), 1.0)),
    ];
    for (name, next) in models {
        let model = || HookedPhold { next, blocking: u64::MAX, ..HookedPhold::sound(64) };
        let end = if matches!(name, "clusters" | "chains") { 2.0 } else { 25.0 };
        let expected = sequential(model()).end(end).run().expect("a sound model");
        for workers in [1, 2] {
            for width in [Width::Auto, Width::Fixed(0.01), Width::Fixed(0.5), Width::Fixed(8.0)] {
                let report = watchdog::run(speculative(model(), workers, width).end(end));
                let report = report.expect("a sound model");
                let what = format!("{name}, {workers} workers, {width:?}");
                let (processed, committed) = (report.processed_events, report.committed_events);
                assert!(processed < 8 * committed, "{processed} for {committed}: {what}");
                assert_eq!(report.digest, expected.digest, "{what}");
                assert_eq!(report.output, expected.output, "{what}");
            }
        }
    }
}

/// The first events have one time, so that they say nothing about the model's scale: it is found
/// from what a few of them send, or from the time until then, and windows are used. A lookahead is
/// as good a scale. (Red if all first events are handled one by one.)
#[test]
fn a_beginning_without_a_scale() {
    let (exponential, whole): (Next, Next) =
        (|rng, lps| (rng.lp(lps), rng.exponential(1e-9)), |rng, lps| (rng.lp(lps), 1e-9));
    // How many may be handled one by one, of this number of first events. Where delays differ, a
    // window may be too wide for a while, too.
    type Most = fn(u64) -> u64;
    let cases: [(Next, Option<f64>, Most); 3] = [
        (exponential, None, |_| u64::MAX),
        (whole, None, |first| first / 16 + 64),
        (whole, Some(1e-9), |_| 0),
    ];
    let sizes = [(64, 4e-7, 1), (64, 4e-7, 2), (2048, 3e-8, 1), (2048, 3e-8, 2)];
    for ((next, lookahead, most), (lps, end, workers)) in
        cases.into_iter().flat_map(|case| sizes.map(|size| (case, size)))
    {
        let sound = || HookedPhold { lookahead, blocking: u64::MAX, ..HookedPhold::sound(lps) };
        let model = || HookedPhold { next, first: 0.0, ..sound() };
        let expected = sequential(model()).end(end).run().expect("a sound model");
        let report = watchdog::run(speculative(model(), workers, Width::Auto).end(end));
        let report = report.expect("a sound model");
        assert_eq!(report.digest, expected.digest, "{workers} workers");
        let mut counters = report.details.counters.iter();
        let (_, alone) = counters.find(|(name, _)| *name == "events_one_by_one").expect("counted");
        let committed = report.committed_events;
        assert!(8 * alone < committed, "{workers} workers: {alone} of {committed}");
        let most = most(u64::from(4 * lps));
        assert!(*alone <= most, "{lps} LPs, {workers} workers, {lookahead:?}: {alone} of {most}");
    }
}

/// A message goes around a circle of LPs, and comes back to the first one before another event that
/// this has handled: late. What that LP sent before stays as it is, also where nothing tells that
/// messages are equal. (If it were canceled, the anti-message would follow the message around the
/// circle until the window is given up.)
#[test]
fn a_late_event_does_not_cancel_its_cause() {
    let run = || Simulation::new(Only::<(Sequential, Speculative), _>::new(Circle)).end(2.0);
    let expected = run().run().expect("a sound model");
    let (workers, width) = (1, Width::Fixed(2.0));
    let engine = Speculative { workers, width, ..Speculative::default() };
    let report = watchdog::run(run().engine(engine)).expect("a sound model");
    assert_eq!(report.digest, expected.digest);
    assert_eq!((report.committed_events, report.rollbacks), (5, 1));
    // The first LP handles two events, and later the same two to find out what it sent, and three.
    assert_eq!(report.processed_events, 9);
}

struct Circle;

/// How many messages it has received.
#[derive(Clone, Debug)]
struct Post(u64);

impl Model for Circle {
    type Lp = Post;
    type Output = u64;

    fn name(&self) -> &'static str {
        "circle"
    }

    fn lp_count(&self) -> usize {
        3
    }

    fn make_lp(&self, _: LpId) -> Post {
        Post(0)
    }

    fn reduce(&self, received: impl Iterator<Item = u64>) -> u64 {
        received.sum()
    }
}

impl LogicalProcess for Post {
    type Model = Circle;
    /// How many LPs the message still goes to.
    type Message = u64;
    type Summary = u64;

    fn start(&mut self, _: &Circle, cx: &mut impl Context<u64>) {
        if cx.me() == LpId::new(0) {
            cx.send(cx.me(), 1.0, 3);
            cx.send(cx.me(), 1.5, 0);
        }
    }

    fn handle(&mut self, _: &Circle, &left: &u64, cx: &mut impl Context<u64>) {
        self.0 += 1;
        if left > 0 {
            cx.send(LpId::new((cx.me().get() + 1) % 3), 0.1, left - 1);
        }
    }

    fn fingerprint(_: &Circle, left: &u64) -> u64 {
        *left
    }

    fn finish(self, _: &Circle, _: VirtualTime) -> u64 {
        self.0
    }
}

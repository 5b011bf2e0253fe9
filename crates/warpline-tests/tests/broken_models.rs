//! Models that make mistakes: every mistake ends the run with an error that names its place, and no
//! message leaks, no run hangs, and no panic escapes.

mod scripted;
#[path = "broken_models/timeline.rs"]
mod timeline;

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use scripted::{Act, Payload, Scripted, Stage, scripted, simulation, two_events};
use warpline::{
    Auto, Balance, ConfigError, Conservative, Context, Engine, LogicalProcess, LpId, Model,
    ModelError, Only, Report, RunError, Sequential, Simulation, Speculative, VirtualTime,
    error::Fault, pending::PendingKind, settings::EngineKind, time::STEP_MAX,
};

const SEED: u64 = 41;

/// The error of a run, which must be the same for every pending set.
fn error_of(model: impl Fn() -> Scripted<0>) -> (RunError, String) {
    let run = |&pending: &PendingKind| {
        let run = simulation(model()).seed(SEED).end(1e9).engine(Sequential { pending }).run();
        run.expect_err("the model is broken")
    };
    let mut errors = PendingKind::ALL.iter().map(run);
    let first = errors.next().expect("there is a pending set");
    let text = first.to_string();
    // Compared as text, because a NaN differs from itself.
    errors.for_each(|error| assert_eq!(error.to_string(), text));
    (first, text)
}

/// A mistake of LP 2 at time 3.5, on the second event that LP 1 has sent.
fn fault_of(mistake: Act, lookahead: f64) -> Fault {
    let (error, text) = error_of(|| {
        let script = move |lp, n| match (lp, n) {
            (1, 0) => vec![Act::Send(0, 3.5), Act::Send(2, 3.5)],
            (2, 1) => vec![Act::Send(2, 0.0), mistake, Act::Send(99, f64::NAN)],
            _ => vec![],
        };
        scripted(script).lookahead(lookahead)
    });
    let RunError::Model(ModelError { fault, place }) = error else { panic!("{error}") };
    let event = place.event.expect("it was handling an event");
    assert_eq!(
        (place.lp.map(LpId::get), place.engine, place.worker, place.seed),
        (Some(2), "sequential", 0, 41)
    );
    assert_eq!((event.time().get(), event.step(), event.sender().get()), (3.5, 0, 1));
    assert_eq!(event.sequence(), 1);
    let names = ["LP 2 at virtual time 3.5", "event: number 1 sent by LP 1", "engine sequential"];
    for name in names.into_iter().chain(["worker 0", "seed 41", "what to do: ", fault.advice()]) {
        assert!(text.contains(name), "{name:?} is not in: {text}");
    }
    fault
}

#[test]
fn times_that_are_not_finite() {
    for bad in [f64::NAN, f64::INFINITY, -f64::NAN] {
        for act in [Act::Send(3, bad), Act::SendAt(3, bad)] {
            let Fault::NotFinite { to, value } = fault_of(act, 0.0) else { panic!("{act:?}") };
            assert_eq!((to.get(), value.is_nan()), (3, bad.is_nan()));
        }
    }
    // Each part is finite, but not the sum.
    let far = scripted(|lp, n| if (lp, n) < (0, 2) { vec![Act::Send(0, 1e308)] } else { vec![] });
    let error = simulation(far).run().expect_err("beyond the last time");
    assert!(error.to_string().contains("a delay or time of inf"), "{error}");
}

#[test]
fn events_into_the_past() {
    // The last one is too small to change the time; the one before it is before the start.
    let delays = [-1.0, -3.5, -100.0, -1e-9, -1e-300];
    for delay in delays {
        assert_eq!(fault_of(Act::Send(3, delay), 0.0), Fault::Past { to: LpId::new(3), delay });
    }
    for time in [3.25, 0.0, -1.0] {
        let expected = Fault::Past { to: LpId::new(2), delay: time - 3.5 };
        assert_eq!(fault_of(Act::SendAt(2, time), 0.0), expected);
    }
    let minus_infinity = Act::Send(3, f64::NEG_INFINITY);
    assert!(matches!(fault_of(minus_infinity, 0.0), Fault::Past { .. } | Fault::NotFinite { .. }));
}

#[test]
fn no_such_process() {
    for to in [4, u32::MAX] {
        let expected = Fault::NoSuchLp { to: LpId::new(to), lp_count: 4 };
        assert_eq!(fault_of(Act::Send(to, 1.0), 0.0), expected);
        assert_eq!(fault_of(Act::SendAt(to, 9.0), 0.0), expected);
    }
}

/// A delay equal to the lookahead is allowed, and an LP may send to itself sooner.
#[test]
fn broken_lookahead() {
    let fault = fault_of(Act::Send(3, 0.125), 0.5);
    let to = LpId::new(3);
    assert_eq!(fault, Fault::BrokenLookahead { to, delay: 0.125, lookahead: 0.5 });
    let script = |lp, n| match (lp, n) {
        (0, 0) => vec![Act::Send(0, 0.125), Act::Send(1, 0.5)],
        (0, 1) => vec![Act::Send(0, 0.0), Act::Send(1, 0.5), Act::SendAt(1, 0.625)],
        _ => vec![],
    };
    let report = simulation(scripted(script).lookahead(0.5)).run().expect("allowed");
    assert_eq!(report.committed_events, 5);
}

/// Delays of zero, and delays that are too small to change the time. (The script ends, so that an
/// engine without a limit fails here and does not hang.)
#[test]
fn endless_chain_at_one_instant() {
    for (at, delay) in [(5.0, 0.0), (1e6, 1e-12)] {
        let (error, text) = error_of(|| {
            scripted(move |lp, n| match (lp, n) {
                (0, 0) => vec![Act::Send(0, at)],
                (0, n) if n <= u64::from(STEP_MAX) => vec![Act::Send(1, delay)],
                (1, 1..) => vec![Act::Send(0, delay)],
                _ => vec![],
            })
        });
        let RunError::Model(ModelError { fault, place }) = error else { panic!("{error}") };
        assert_eq!(fault, Fault::ZeroDelayChain { to: LpId::new(1), limit: STEP_MAX });
        let event = place.event.expect("it was handling an event");
        assert_eq!((event.time().get(), event.step()), (at, STEP_MAX));
        let names = [&format!("LP 0 at virtual time {at}"), "zero-delay step 1000000", "seed 41"];
        names.iter().for_each(|&name| assert!(text.contains(name), "{name:?} not in: {text}"));
    }
}

#[test]
fn a_failure_of_the_models_own() {
    assert_eq!(fault_of(Act::Fail, 0.0), Fault::Failed("ran out of paper".to_owned()));
}

#[test]
fn panics_in_handlers() {
    for payload in [Payload::Str, Payload::Text, Payload::Other] {
        let Fault::Panicked { message, location } = fault_of(Act::Panic(payload), 0.0) else {
            panic!("{payload:?} was not reported as a panic");
        };
        assert_eq!(message, payload.message());
        assert!(location.expect("the line is known").contains("mod.rs:"));
    }
}

/// An error outside of handlers has no event, but an LP, an engine and a seed.
#[test]
fn panics_elsewhere() {
    let stages = [(Stage::MakeLp, 2), (Stage::Start, 2), (Stage::Finish, 0)];
    for payload in [Payload::Str, Payload::Text, Payload::Other] {
        for (stage, lp) in stages {
            let (error, text) = error_of(|| two_events().breaks(stage, payload));
            let RunError::Model(ModelError { fault, place }) = error else { panic!("{error}") };
            assert!(
                matches!(fault, Fault::Panicked { message, .. } if message == payload.message())
            );
            assert_eq!((place.lp.map(LpId::get), place.event), (Some(lp), None), "{stage:?}");
            let name = format!("LP {lp} outside of any event panicked at ");
            assert!(text.contains(&name) && text.contains("seed 41"), "{text}");
        }
        for stage in
            [Stage::LpCount, Stage::Lookahead, Stage::Name, Stage::ReduceFirst, Stage::Reduce]
        {
            let (error, text) = error_of(|| two_events().breaks(stage, payload));
            let RunError::Model(ModelError { fault, place }) = error else { panic!("{error}") };
            assert!(
                matches!(fault, Fault::Panicked { message, .. } if message == payload.message())
            );
            assert_eq!((place.lp, place.event), (None, None), "{stage:?}");
            assert!(text.contains("as a whole") && text.contains("seed 41"), "{text}");
        }
    }
}

/// The engines that run in stages ask the model before each stage: it may panic there.
#[test]
fn panics_before_a_stage() {
    type Engines = (Conservative, (Speculative, Auto));
    let balance = [Balance::On, Balance::Off];
    let engines = balance.into_iter().flat_map(|balance| -> [Engine; 3] {
        [
            Conservative { balance, ..Conservative::default() }.into(),
            Speculative { balance, ..Speculative::default() }.into(),
            Auto { workers: 2, balance, ..Auto::default() }.into(),
        ]
    });
    for engine in engines {
        for stage in [Stage::LpCount, Stage::Lookahead, Stage::Placement, Stage::Name] {
            let model = two_events().lookahead(0.5).breaks(stage, Payload::Str);
            let what = format!("{stage:?}, {engine:?}");
            let simulation = Simulation::new(Only::<Engines, _>::new(model)).end(9.0);
            let run = simulation.engine(engine.clone()).run();
            let Err(RunError::Model(ModelError { fault, place })) = run else {
                // With one worker, as `auto` begins, nobody has to be placed.
                assert!(stage == Stage::Placement && engine.kind() == EngineKind::Auto, "{what}");
                continue;
            };
            assert!(matches!(fault, Fault::Panicked { .. }), "{fault}: {what}");
            assert_eq!((place.lp, place.event), (None, None), "{what}");
        }
    }
}

/// A message that was never handled panics when it is dropped.
#[test]
fn panics_when_pending_messages_are_dropped() {
    let run = |end| {
        let model = two_events().breaks(Stage::DropOfMessage, Payload::Str);
        simulation(model).end(end).run()
    };
    assert!(run(1.0).is_ok(), "the message does not exist yet");
    let Err(RunError::Model(ModelError { fault, .. })) = run(2.0) else { panic!("no error") };
    assert!(matches!(fault, Fault::Panicked { message, .. } if message == "a literal"));
}

/// The first mistake of an event is reported, even if a panic follows.
#[test]
fn a_panic_does_not_hide_an_earlier_mistake() {
    for mistake in [Act::Fail, Act::Send(0, f64::NAN), Act::Send(9, 1.0)] {
        let (error, _) = error_of(|| {
            scripted(move |lp, n| match (lp, n) {
                (0, 0) => vec![Act::Send(1, 1.0)],
                (1, 1) => vec![mistake, Act::Panic(Payload::Str)],
                _ => vec![],
            })
        });
        let RunError::Model(ModelError { fault, .. }) = error else { panic!("{error}") };
        assert!(!matches!(fault, Fault::Panicked { .. }), "{mistake:?}: {fault}");
    }
}

/// A mistake before the first event names the LP that was starting.
#[test]
fn mistakes_in_start() {
    for (mistake, fault) in [
        (Act::Send(9, 0.0), Fault::NoSuchLp { to: LpId::new(9), lp_count: 4 }),
        (Act::Send(1, -0.5), Fault::Past { to: LpId::new(1), delay: -0.5 }),
        (Act::Fail, Fault::Failed("ran out of paper".to_owned())),
    ] {
        let (error, text) = error_of(|| {
            scripted(move |lp, n| if (lp, n) == (3, 0) { vec![mistake] } else { vec![] })
        });
        let RunError::Model(ModelError { fault: found, place }) = error else { panic!("{error}") };
        assert_eq!((found, place.lp.map(LpId::get), place.event), (fault, Some(3), None));
        assert!(text.contains("LP 3 outside of any event"), "{text}");
    }
}

/// Each event sends two, with no bound that these tests reach.
fn flood() -> Scripted<0> {
    scripted(|lp, n| match (lp, n) {
        (0, 0) => vec![Act::Send(0, 1.0)],
        (0, 1..100_000) => vec![Act::Send(0, 1.0), Act::Send(0, 1.5)],
        _ => vec![],
    })
}

fn flood_with_memory<const BYTES: usize>(bytes: u64) {
    for &pending in PendingKind::ALL {
        let run = simulation(flood().payload::<BYTES>())
            .engine(Sequential { pending })
            .memory(bytes)
            .run();
        let error = run.expect_err("the memory is not enough");
        let text = error.to_string();
        let RunError::OutOfBuffers { place, limit, events, event_bytes } = error else {
            panic!("{text}");
        };
        assert_eq!((limit, events), (bytes, bytes / event_bytes), "{text}");
        assert!(event_bytes >= BYTES as u64);
        let parts = [format!("{place}"), place.run(), limit.to_string(), events.to_string()];
        for part in parts.iter().map(String::as_str).chain(["--memory", "what to do"]) {
            assert!(text.contains(part), "{part:?} not in: {text}");
        }
    }
}

#[test]
fn a_flood_is_stopped_by_the_memory_limit() {
    for bytes in [0, 1, 1_000, 1_000_000] {
        flood_with_memory::<0>(bytes);
        flood_with_memory::<100>(bytes);
    }
}

fn just_enough<const BYTES: usize>() {
    for &pending in PendingKind::ALL {
        let run =
            || simulation(flood().payload::<BYTES>()).end(11.0).engine(Sequential { pending });
        let free = run().run().expect("no limit");
        let peak = free.peak_buffer_bytes;
        let tight = run().memory(peak).run().expect("just enough");
        assert_eq!(tight.digest, free.digest);
        assert_eq!(
            (tight.committed_events, tight.peak_buffer_bytes),
            (free.committed_events, peak)
        );
        let error = run().memory(peak - 1).run().expect_err("one byte short");
        assert!(matches!(error, RunError::OutOfBuffers { .. }), "{error}");
    }
}

#[test]
fn just_enough_memory_changes_nothing() {
    just_enough::<0>();
    just_enough::<100>();
}

fn config_error<T>(result: Result<T, RunError>) -> ConfigError {
    match result {
        Err(RunError::Config(error)) => error,
        Err(error) => panic!("not an error of the settings: {error}"),
        Ok(_) => panic!("the settings were accepted"),
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    for end in [f64::NAN, -1.0, f64::NEG_INFINITY] {
        let error = config_error(simulation(two_events()).end(end).run());
        assert_eq!((error.key.as_str(), error.value), ("end", end.to_string()));
    }
    for lookahead in [f64::NAN, -0.5, f64::INFINITY] {
        let error = config_error(simulation(two_events().lookahead(lookahead)).run());
        assert_eq!((error.key.as_str(), error.value), ("lookahead", lookahead.to_string()));
    }
    let error = config_error(simulation(two_events().lps(1 << 32)).run());
    assert_eq!(error.key, "lp_count");
}

/// Committed events are before the end; all others stay pending and are dropped.
#[test]
fn the_edges_of_what_is_allowed() {
    let run = |model: Scripted<0>, end| simulation(model).end(end).run().expect("sound");
    let counts =
        |report: Report<_>| (report.committed_events, report.end_time.get(), report.output);
    assert_eq!(counts(run(two_events().lps(0), 7.0)), (0, 7.0, (0, 0)));
    assert_eq!(counts(run(two_events(), 0.0)), (0, 0.0, (0, 1)));
    assert_eq!(counts(run(two_events(), 1.0)), (0, 1.0, (0, 1)));
    assert_eq!(counts(run(two_events(), 1.0_f64.next_up())).0, 1);
    assert_eq!(counts(run(two_events(), 9.0)), (2, 9.0, (2, 2)));
    assert_eq!(counts(run(two_events(), f64::INFINITY)), (2, 2.0, (2, 2)));
}

/// Every message is dropped once, whether it was handled, was pending at the end, or neither.
fn no_message_survives<const BYTES: usize>() {
    let ends =
        [None, Some(Act::Fail), Some(Act::Panic(Payload::Str)), Some(Act::Send(0, f64::NAN))];
    let cases = ends.iter().flat_map(|&last| PendingKind::ALL.iter().map(move |p| (last, *p)));
    for (last, pending) in cases {
        let model = scripted(move |lp, n| match (lp, n) {
            (_, 0) => (0..20).map(|i| Act::Send(i % 4, f64::from(i))).collect(),
            (1, 20) => last.into_iter().collect(),
            (_, 1..40) => vec![Act::Send((lp + 1) % 4, 0.75)],
            _ => vec![],
        });
        let model = model.payload::<BYTES>();
        let token = model.token.clone();
        let run = simulation(model).end(19.5).engine(Sequential { pending }).run();
        assert_eq!(run.is_err(), last.is_some());
        assert_eq!(Arc::strong_count(&token), 1, "messages leaked after {last:?}");
    }
}

#[test]
fn messages_are_dropped_once() {
    no_message_survives::<0>();
    no_message_survives::<100>();
}

/// An end that no run reaches.
const FAR: f64 = 1e12;

/// Ten events that circulate for ever. They are due at multiples of 1/16, never two at once.
fn endless() -> Scripted<0> {
    scripted(|lp, n| match (lp, n) {
        (0, 0) => (0..10).map(|i| Act::Send(i % 4, f64::from(i) / 16.0)).collect(),
        (_, 0) => vec![],
        _ => vec![Act::Send((lp + 1) % 4, 1.0)],
    })
}

/// An interrupted run reports the same as a run that ends there.
fn assert_sound_until_interrupted(report: &Report<(u64, u64)>) {
    assert!(report.interrupted);
    assert!(report.committed_events > 0 && report.end_time.get() < FAR);
    let (handled, sent) = report.output;
    assert_eq!((handled, sent), (report.committed_events, report.committed_events + 10));

    let end = report.end_time.get() + 1.0 / 32.0;
    let again = simulation(endless()).end(end).run().expect("sound");
    assert!(!again.interrupted);
    assert_eq!((again.digest, again.output), (report.digest, report.output));
}

#[test]
fn interrupted_by_the_observer() {
    let mut seen = Vec::new();
    let observer = |progress: &warpline::Progress| {
        seen.push((progress.virtual_time, progress.committed_events));
        if seen.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let report = simulation(endless()).end(FAR).observe(observer).run().expect("sound");
    assert_sound_until_interrupted(&report);
    assert!(seen.is_sorted() && seen[0] < seen[2]);
    assert_eq!(seen[2], (report.end_time, report.committed_events));
}

#[test]
fn interrupted_by_a_flag() {
    let stop = AtomicBool::new(false);
    let observer = |_: &warpline::Progress| {
        stop.store(true, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let report = simulation(endless()).end(FAR).stop_when(&stop).observe(observer).run();
    assert_sound_until_interrupted(&report.expect("sound"));

    // A run that is stopped before it begins makes no LP and handles no event.
    let report = simulation(endless()).end(FAR).stop_when(&stop).run().expect("sound");
    assert!(report.interrupted);
    assert_eq!((report.committed_events, report.output), (0, (0, 0)));
}

/// A handler that would send for ever ends at its first mistake or at the memory limit.
#[test]
fn handlers_that_never_return() {
    struct Gusher;
    #[derive(Clone, Debug)]
    struct Spring;
    impl Model for Gusher {
        type Lp = Spring;
        type Output = ();
        fn name(&self) -> &'static str {
            "gusher"
        }
        fn lp_count(&self) -> usize {
            3
        }
        fn make_lp(&self, _: LpId) -> Spring {
            Spring
        }
        fn reduce(&self, _: impl Iterator<Item = ()>) {}
    }
    impl LogicalProcess for Spring {
        type Model = Gusher;
        type Message = u32;
        type Summary = ();
        fn start(&mut self, _: &Gusher, cx: &mut impl Context<u32>) {
            cx.send(LpId::new(1), 1.0, 0);
        }
        fn handle(&mut self, _: &Gusher, _: &u32, cx: &mut impl Context<u32>) {
            for n in 0.. {
                cx.send(LpId::new(n / 1000), 1.0, n);
            }
        }
        fn finish(self, _: &Gusher, _: VirtualTime) {}
    }
    let error = simulation(Gusher).run().expect_err("there is no LP 3");
    assert!(error.to_string().contains("LP 1 at virtual time 1 sent an event to LP 3"), "{error}");
    let error = simulation(Gusher).memory(4096).run().expect_err("too many events");
    assert!(matches!(error, RunError::OutOfBuffers { .. }), "{error}");
}

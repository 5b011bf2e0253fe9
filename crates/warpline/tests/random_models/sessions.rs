//! Sessions: runs of random small models that stop anywhere and go on with any engine.
//!
//! The oracle is the simple executor of `random`: at each stop, and at the end, a session has
//! committed and written exactly what that has.
//!
//! # Mutations, each seen red
//!
//! - `take_pending` leaves out the events that LPs wait for, `cut` those in the mail, or those that
//!   are canceled stay
//! - `take_over` of Time Warp sends only the events of its own LPs
//! - the windows algorithm drops what an LP has sent itself beyond the end, or what is left in the
//!   last window
//! - null messages leave out the outbox, stop at once when they are told to, or are cut off before
//!   all LPs are where the first one is
//! - the speculative engine does not empty its calendar at the end
//! - `inject` does not count the event as sent
//! - on ranks: `directory` lets events of a cut begin with their receivers in Time Warp, or with
//!   their senders in others; `Whole::unite` leaves out the events of a rank; `Common` counts no
//!   events before a part; `lead` does not agree before a run; `Lead` gives no last order

mod across;
mod far_ahead;
mod wires;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use proptest::{collection::vec, prelude::*, sample::select};
use warpline::{
    Auto, Balance, Conservative, Engine, LpId, Sequential, Session, Simulation, Speculative,
    TimeWarp, Width,
    pending::PendingKind,
    settings::{CheckpointInterval, Pool, Schedule, StateSaving, Synchronization},
};

use crate::random::{self, Message, Plain, Spec};

/// No session of the tests takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Models without mistakes.
fn spec() -> impl Strategy<Value = Spec> {
    random::specs(select(&[None, Some(0.0), Some(0.5), Some(0.5), Some(1.0)][..]))
}

/// Engines that run any model, and those that need a lookahead.
fn engine() -> impl Strategy<Value = Engine> {
    let workers = 1..=5_usize;
    let pending = select(PendingKind::ALL);
    let saving = select(&[StateSaving::COPY, StateSaving::Auto][..]);
    let every = 1..=4_u32;
    let balance = select(&[Balance::Off, Balance::Randomly(0.3)][..]);
    let pool = select(vec![Pool::default(), Pool::ON_THE_FLY]);
    let (edge_capacity, schedule) = (2, Schedule::default());
    let algorithm = select(vec![
        Synchronization::Windows,
        Synchronization::NullMessages { edge_capacity, schedule },
    ]);
    prop_oneof![
        pending.prop_map(|pending| Sequential { pending }.into()),
        (workers.clone(), balance.clone(), select(&[None, Some(0.3)][..])).prop_map(
            |(workers, balance, width)| {
                let width = width.map_or(Width::Auto, Width::Fixed);
                let balance = if width == Width::Auto { balance } else { Balance::Off };
                Speculative { workers, balance, width, pin: false, ..Speculative::default() }.into()
            }
        ),
        (workers.clone(), balance, pool, saving, every).prop_map(
            |(workers, balance, pool, saving, every)| {
                let sparse = StateSaving::Copy { interval: CheckpointInterval::Every(every) };
                let saving = if every > 1 { sparse } else { saving };
                TimeWarp { workers, balance, pool, saving, ..TimeWarp::default() }.into()
            }
        ),
        (workers.clone(), algorithm).prop_map(|(workers, synchronization)| {
            let balance = Balance::Off;
            let pin = false;
            Conservative { workers, synchronization, balance, pin, ..Conservative::default() }
                .into()
        }),
        workers.prop_map(|workers| Auto { workers, pin: false, ..Auto::default() }.into()),
    ]
}

/// What is done at a stop.
#[derive(Clone, Debug)]
enum Act {
    /// Goes on by so much virtual time.
    Until(f64),
    /// Goes on by so many events.
    Events(u64),
    /// The next steps are another engine's, on so many ranks if it can.
    Engine(Box<Engine>, usize),
}

fn ranks() -> impl Strategy<Value = usize> {
    select(&[1, 1, 1, 1, 2, 3][..])
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let by = select(&[0.0, 1e-17, 1e-3, 0.1, 0.5, 1.0, 1.0, 2.5, 10.0][..]);
    let act = prop_oneof![
        4 => by.prop_map(Act::Until),
        1 => (0..20_u64).prop_map(Act::Events),
        4 => (engine(), ranks()).prop_map(|(it, ranks)| Act::Engine(Box::new(it), ranks)),
    ];
    vec(act, 0..8)
}

/// The engine, or another one if it needs a lookahead that the model has not.
fn fitting(engine: Engine, spec: &Spec) -> Engine {
    let has_lookahead = spec.lookahead.is_some_and(|lookahead| lookahead > 0.0);
    match engine {
        Engine::Conservative(_) if !has_lookahead => Sequential::default().into(),
        other => other,
    }
}

/// So many ranks, or one if the engine takes no more.
fn on_ranks(engine: &Engine, ranks: usize) -> usize {
    match engine {
        Engine::TimeWarp(TimeWarp { balance: Balance::Randomly(_), .. }) => 1,
        Engine::Conservative(_) | Engine::TimeWarp(_) | Engine::Auto(_) => ranks,
        _ => 1,
    }
}

/// Lets this engine, or one that fits, go on.
fn hand_over(session: &mut Session<'_, Spec>, engine: Engine, ranks: usize, spec: &Spec) {
    let engine = fitting(engine, spec);
    let ranks = on_ranks(&engine, ranks);
    session.set_engine_on(engine, ranks).expect("it fits");
}

/// Lets a test that hangs fail.
fn watched<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, outcome) = mpsc::channel();
    let thread = thread::spawn(move || drop(done.send(run())));
    match outcome.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("no end after {PATIENCE:?}"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("it has sent a result, or it has panicked"),
        },
    }
}

/// Compares what a session has done with what the simple executor has done until `end`.
fn check(session: &Session<'_, Spec>, spec: &Spec, seed: u64, end: f64) {
    let plain = Plain::run(spec, seed, end);
    let report = session.report().expect("the model makes no mistake");
    assert_eq!(report.digest, plain.digest(), "at {end}");
    assert_eq!(report.committed_events, (plain.history.len() + plain.lines.len()) as u64);
    assert_eq!(session.pending_events().expect("no step failed"), plain.pending.len());
    let next = plain.pending.first_key_value().map(|(key, _)| key.time());
    assert_eq!(session.next_event_time().expect("no step failed"), next);
    assert_eq!(*session.model().lines.lock().unwrap(), plain.lines, "at {end}");
    for ((sent, handled), (lp, ..)) in report.output.iter().zip(&plain.lps) {
        assert_eq!((sent, handled), (&lp.sent, &lp.handled));
    }
    let lps: Vec<_> = session.lps().expect("no step failed").collect();
    assert_eq!(lps.len(), plain.lps.len());
}

/// Makes these acts, and checks the session wherever the simple executor can follow it.
fn act(session: &mut Session<'_, Spec>, spec: &Spec, seed: u64, acts: Vec<Act>) {
    let mut is_between = false;
    for act in acts {
        match act {
            Act::Engine(engine, ranks) => hand_over(session, *engine, ranks, spec),
            Act::Until(by) => {
                let now = session.now().expect("no step failed").get();
                let until = now + by;
                if is_between && until == now {
                    // Some of the events at this very time are committed.
                    assert!(session.run_until(until).is_err());
                    continue;
                }
                is_between = false;
                let step = session.run_until(until).expect("the model makes no mistake");
                assert!(!step.interrupted);
                assert_eq!(session.now().expect("no step failed").get(), until);
                check(session, spec, seed, until);
            }
            Act::Events(events) => {
                let step = session.run_events(events).expect("the model makes no mistake");
                let committed = step.totals.committed_events;
                is_between |= committed > 0;
                let pending = session.pending_events().expect("no step failed");
                assert!(committed == events || pending == 0, "{committed} of {events}");
            }
        }
    }
}

/// This many cases, or as many as `PROPTEST_CASES` says.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

fn apart(spec: &Spec) -> Spec {
    Spec { lines: Arc::default(), ..spec.clone() }
}

fn begin(spec: &Spec, seed: u64, engine: Engine, ranks: usize) -> Session<'static, Spec> {
    let engine = fitting(engine, spec);
    let ranks = on_ranks(&engine, ranks);
    let simulation = Simulation::new(apart(spec)).seed(seed).engine(engine).ranks(ranks);
    simulation.session().expect("the model makes no mistake")
}

/// `auto` gives a step to several workers only if it is long enough, as far as the step before it
/// tells.
#[test]
fn short_steps_are_sequential() {
    let spec = Spec {
        habits: vec![random::Habit::FanOut(1); 8],
        delays: vec![-1.0],
        lookahead: Some(0.5),
        first: 4,
        budget: 100,
        io: [0.0; 2],
        wrong: None,
        lines: Arc::default(),
    };
    let auto = Auto { workers: 2, pin: false, ..Auto::default() };
    let mut session = begin(&spec, 1, auto.into(), 1);
    let mut is_short = |until| {
        let step = session.run_until(until).expect("no mistake");
        step.details.remarks.iter().any(|remark| remark.contains("too short"))
    };
    assert_eq!([is_short(1.0), is_short(1.0 + 1e-9), is_short(1e9)], [false, true, false]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(300), ..ProptestConfig::default() })]

    /// SESSION-A: wherever it stops, and whichever engine goes on.
    #[test]
    fn sessions_commit_what_runs_commit(
        spec in spec(), seed in any::<u64>(), first in (engine(), ranks()), acts in acts(),
    ) {
        watched(move || {
            let mut session = begin(&spec, seed, first.0, first.1);
            act(&mut session, &spec, seed, acts);
            session.run_to_end().expect("the model makes no mistake");
            check(&session, &spec, seed, f64::INFINITY);
        });
    }

    /// A branch and what goes back to a snapshot end as the session itself does.
    #[test]
    fn branches_and_snapshots_go_on_alike(
        spec in spec(), seed in any::<u64>(), first in engine(), acts in (acts(), acts(), acts()),
    ) {
        watched(move || {
            let (before, other, after) = acts;
            let mut session = begin(&spec, seed, first, 1);
            let unchecked = |session: &mut Session<'_, Spec>, acts| {
                for act in acts {
                    let now = session.now().expect("no step failed").get();
                    match act {
                        Act::Engine(engine, ranks) => hand_over(session, *engine, ranks, &spec),
                        // Refused, and nothing changed, where events at `now` are committed.
                        Act::Until(by) => drop(session.run_until(now + by)),
                        Act::Events(n) => drop(session.run_events(n).expect("no mistake")),
                    }
                }
            };
            unchecked(&mut session, before);
            let snapshot = session.snapshot().expect("states can be copied");
            let mut branch = session.branch().expect("states can be copied");
            unchecked(&mut session, other);
            session.restore(&snapshot).expect("it is of this model");
            unchecked(&mut session, after);
            let plain = Plain::run(&spec, seed, f64::INFINITY);
            for session in [&mut session, &mut branch] {
                session.run_to_end().expect("the model makes no mistake");
                assert_eq!(session.report().expect("no mistake").digest, plain.digest());
            }
        });
    }

    /// SESSION-B: events from outside have the same place on every engine.
    #[test]
    fn events_from_outside_are_ordered_by_rule(
        spec in spec(),
        seed in any::<u64>(),
        stops in vec((select(&[0.0, 0.1, 1.0, 2.5][..]), any::<u32>(), 0..2_u32), 1..6),
        engines in vec((engine(), ranks()), 6),
    ) {
        watched(move || {
            let mut digests = BTreeMap::new();
            for is_sequential in [true, false] {
                let mut session = begin(&spec, seed, Sequential::default().into(), 1);
                for (&(by, to, later), (engine, ranks)) in stops.iter().zip(&engines) {
                    let until = session.now().expect("no step failed").get() + by;
                    if !is_sequential {
                        hand_over(&mut session, engine.clone(), *ranks, &spec);
                    }
                    session.run_until(until).expect("the model makes no mistake");
                    let to = LpId::new(to % spec.habits.len() as u32);
                    let time = until + f64::from(later);
                    let message = Message::from_outside(time);
                    session.inject(to, time, message).expect("it is not too early");
                }
                session.run_to_end().expect("the model makes no mistake");
                let report = session.report().expect("the model makes no mistake");
                digests.insert(report.digest.to_bits(), report.committed_events);
            }
            assert_eq!(digests.len(), 1, "{digests:?}");
        });
    }

    /// A session that is interrupted at a random moment goes on as if it had not been.
    #[test]
    fn interruptions_lose_nothing(
        spec in spec(),
        seed in any::<u64>(),
        engines in ((engine(), ranks()), (engine(), ranks())),
        after in 0..300_u64,
    ) {
        watched(move || {
            let stop = AtomicBool::new(false);
            let simulation = Simulation::new(apart(&spec)).seed(seed).stop_when(&stop);
            let mut session = simulation.session().expect("no mistake");
            hand_over(&mut session, engines.0.0, engines.0.1, &spec);
            thread::scope(|scope| {
                scope.spawn(|| {
                    (0..after * 20).for_each(|_| std::hint::spin_loop());
                    // Ordering: Relaxed; a flag.
                    stop.store(true, Ordering::Relaxed);
                });
                session.run_to_end().expect("the model makes no mistake");
            });
            // Ordering: Relaxed; as above.
            stop.store(false, Ordering::Relaxed);
            hand_over(&mut session, engines.1.0, engines.1.1, &spec);
            session.run_to_end().expect("the model makes no mistake");
            check(&session, &spec, seed, f64::INFINITY);
        });
    }
}

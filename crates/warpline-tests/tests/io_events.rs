//! I/O events: handled in the order of keys with all others, committed like them, and under the
//! same rules.
//!
//! The messages say what the handlers do, so a whole run is a tree of messages. A short executor
//! here computes the result that a run must have.
//!
//! # Mutations of the engine, each seen red
//!
//! - `TimeWarpWorker::is_next` handles blocking I/O events at once
//! - `IoStage::deliver` handles outputs before the GVT of one worker, and not of all
//! - `TimeWarpWorker::deliver_outputs` leaves those behind a record that is not committed for later
//! - `Participant::sent` does not count events that are sent after the flag was set

#[path = "../../warpline/tests/watchdog/mod.rs"]
mod watchdog;

use std::{collections::BTreeMap, panic, sync::Mutex};

use proptest::{collection::vec, option, prelude::*, sample::select};
use warpline::{
    Conservative, Context, Engine, EventKey, Io, IoContext, LogicalProcess, LpId, Model,
    ModelError, Only, Reversal, RunError, Sequential, Simulation, Speculative, Stream, TimeWarp,
    VirtualTime, Width,
    digest::{CommitDigest, LpDigest},
    error::Fault,
    pending::PendingKind,
    settings::{EngineKind, Pool, StateSavingKind},
};

const SEED: u64 = 3;
const LPS: u32 = 3;
const ENGINES: [EngineKind; 5] = [
    EngineKind::Sequential,
    EngineKind::ReverseCheck,
    EngineKind::SavingCheck,
    EngineKind::TimeWarp,
    EngineKind::Speculative,
];
/// For models with a lookahead.
const ALL_ENGINES: [EngineKind; 6] = [
    EngineKind::Sequential,
    EngineKind::ReverseCheck,
    EngineKind::SavingCheck,
    EngineKind::TimeWarp,
    EngineKind::Speculative,
    EngineKind::Conservative,
];

/// An event: its handler, and the events that it sends. Non-blocking I/O events send none.
#[derive(Clone, Debug)]
struct Act {
    io: Option<Io>,
    to: u32,
    delay: f64,
    what: What,
    then: Vec<Self>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Nothing,
    /// Draws a random number, if it can.
    Draw,
    Fail,
    Panic,
}

/// LP 0 sends the first acts.
struct Script {
    first: Vec<Act>,
    lookahead: f64,
    /// The arguments of the calls of `output`, in order.
    lines: Mutex<Vec<Line>>,
}

type Line = (EventKey, LpId);

/// Remembers the events that it has handled, and when.
#[derive(Clone, Debug, Default, PartialEq)]
struct Actor(Vec<(f64, Option<Io>)>);

impl Script {
    fn new(first: Vec<Act>) -> Self {
        Self { first, lookahead: 0.0, lines: Mutex::default() }
    }
}

impl Model for Script {
    type Lp = Actor;
    /// The events that each LP has handled, and the lines.
    type Output = (Vec<Actor>, Vec<Line>);

    fn name(&self) -> &'static str {
        "script"
    }

    fn lp_count(&self) -> usize {
        LPS as usize
    }

    fn make_lp(&self, _: LpId) -> Actor {
        Actor::default()
    }

    fn reduce(&self, actors: impl Iterator<Item = Actor>) -> Self::Output {
        (actors.collect(), self.lines.lock().unwrap().clone())
    }

    fn lookahead(&self) -> Option<f64> {
        Some(self.lookahead)
    }
}

fn send(acts: &[Act], cx: &mut impl Context<Act>) {
    for act in acts {
        let to = LpId::new(act.to);
        match act.io {
            None => cx.send(to, act.delay, act.clone()),
            Some(io) => cx.send_io(io, to, act.delay, act.clone()),
        }
    }
}

fn perform(act: &Act, cx: &mut impl Context<Act>) {
    match act.what {
        What::Nothing => {}
        What::Draw => _ = cx.rng().bits(),
        What::Fail => cx.fail(format_args!("failed on purpose")),
        What::Panic => panic!("broken on purpose"),
    }
    send(&act.then, cx);
}

impl LogicalProcess for Actor {
    type Model = Script;
    type Message = Act;
    type Summary = Self;
    const REVERSIBLE: bool = true;

    fn start(&mut self, script: &Script, cx: &mut impl Context<Act>) {
        if cx.me() == LpId::new(0) {
            send(&script.first, cx);
        }
    }

    fn handle(&mut self, _: &Script, act: &Act, cx: &mut impl Context<Act>) {
        assert_eq!((act.io, act.to), (None, cx.me().get()));
        self.0.push((cx.now().get(), act.io));
        perform(act, cx);
    }

    fn io_sends_max(_: &Script, act: &Act) -> usize {
        act.then.len()
    }

    fn handle_io(&mut self, _: &Script, act: &Act, cx: &mut impl IoContext<Act>) {
        assert_eq!((act.io, act.to), (Some(Io::Blocking), cx.me().get()));
        self.0.push((cx.now().get(), act.io));
        // Changes nothing, here or elsewhere.
        cx.set_time_barrier(Some(cx.now()));
        perform(act, cx);
    }

    fn output(script: &Script, lp: LpId, event: &EventKey, act: &Act) {
        assert_eq!((act.io, act.to), (Some(Io::NonBlocking), lp.get()));
        assert_ne!(act.what, What::Panic, "broken on purpose");
        script.lines.lock().unwrap().push((*event, lp));
    }

    fn reverse(&mut self, _: &Script, _: &Act, _: &mut Reversal) {
        self.0.pop();
    }

    fn finish(self, _: &Script, _: VirtualTime) -> Self {
        self
    }
}

/// The result that a run must have.
struct Expected {
    actors: Vec<Actor>,
    lines: Vec<Line>,
    digest: CommitDigest,
    events: u64,
}

/// The executor: one ordered map.
fn expected(first: &[Act]) -> Expected {
    let mut lps: Vec<_> = (0..LPS)
        .map(|lp| (Actor::default(), Stream::for_lp(SEED, LpId::new(lp)), 0, LpDigest::new()))
        .collect();
    let (mut pending, mut lines, mut events) = (BTreeMap::new(), Vec::new(), 0);
    let send = |pending: &mut BTreeMap<_, _>, from, now, step, sent: &mut u64, act: &Act| {
        let time: f64 = now + act.delay;
        let step = if time > now { 0 } else { step };
        let time = VirtualTime::new(time).expect("a time");
        pending.insert(EventKey::new(time, step, LpId::new(from), *sent), act.clone());
        *sent += 1;
    };
    first.iter().for_each(|act| send(&mut pending, 0, 0.0, 0, &mut lps[0].2, act));
    while let Some((key, act)) = pending.pop_first() {
        events += 1;
        let (actor, rng, sent, chain) = &mut lps[act.to as usize];
        chain.commit(&key, 0);
        if act.io == Some(Io::NonBlocking) {
            lines.push((key, LpId::new(act.to)));
            continue;
        }
        actor.0.push((key.time_value(), act.io));
        if act.what == What::Draw {
            rng.bits();
        }
        let effects = act.then.iter();
        effects.for_each(|effect| {
            send(&mut pending, act.to, key.time_value(), key.step() + 1, sent, effect);
        });
    }
    let mut digest = CommitDigest::default();
    for (lp, (_, rng, sent, chain)) in lps.iter().enumerate() {
        digest.add_lp(LpId::from_index(lp), *chain, rng, *sent);
    }
    Expected { actors: lps.into_iter().map(|lp| lp.0).collect(), lines, digest, events }
}

/// The settings of Time Warp. The speculative engine reads some of them, and the batch as the width
/// of its windows; the other engines read none.
#[derive(Clone, Copy, Debug)]
struct Settings {
    workers: usize,
    batch: usize,
    gvt_interval: usize,
    saving: StateSavingKind,
}

fn settings() -> impl Strategy<Value = Settings> {
    let (batches, gvt_intervals) = (select(&[1, 2, 16][..]), select(&[1, 16, 1024][..]));
    (1..=4_usize, batches, gvt_intervals, select(StateSavingKind::ALL)).prop_map(
        |(workers, batch, gvt_interval, saving)| Settings { workers, batch, gvt_interval, saving },
    )
}

impl Settings {
    /// The engine with these settings, as far as it reads them.
    fn engine(self, kind: EngineKind, pending: PendingKind) -> Engine {
        let Self { workers, batch, gvt_interval, saving } = self;
        let saving = saving.into();
        match kind {
            EngineKind::Sequential => Sequential { pending }.into(),
            EngineKind::TimeWarp => {
                let pool = if workers % 2 == 0 { Pool::ON_THE_FLY } else { Pool::default() };
                let defaults = TimeWarp { pool, ..TimeWarp::default() };
                TimeWarp { workers, batch, gvt_interval, saving, pending, ..defaults }.into()
            }
            EngineKind::Speculative => {
                let width = match batch {
                    0 | 1 => Width::Auto,
                    _ => Width::Fixed(batch as f64 / 4.0),
                };
                Speculative { workers, width, ..Speculative::default() }.into()
            }
            other => other.into(),
        }
    }
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let io = || option::of(select(&[Io::Blocking, Io::NonBlocking][..]));
    let alone = move || {
        let what = select(&[What::Nothing, What::Draw][..]);
        let delay = select(&[0.0, 0.5, 1.0, 1.5][..]);
        (io(), 0..LPS, delay, what)
    };
    let act = |((io, to, delay, what), then)| Act { io, to, delay, what, then };
    let leaf = alone().prop_map(move |alone| act((alone, Vec::new())));
    let tree =
        leaf.prop_recursive(5, 60, 4, move |inner| (alone(), vec(inner, 0..4)).prop_map(act));
    vec(tree, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// States, lines in the order of keys, and the digest are those of the executor.
    #[test]
    fn io_events_keep_the_order_of_all(first in acts(), settings in settings()) {
        let Expected { actors, lines, digest, events } = expected(&first);
        for engine in ENGINES {
            // The others do not read it, or have enough else to choose from.
            let pendings = PendingKind::ALL;
            let pendings = if engine == EngineKind::Sequential { pendings } else { &pendings[..1] };
            for &pending in pendings {
                let script = Script::new(first.clone());
                let engine = settings.engine(engine, pending);
                let run = Simulation::new(script).seed(SEED).engine(engine);
                let report = watchdog::run(run).expect("sound");
                prop_assert_eq!(&report.output.0, &actors);
                prop_assert_eq!(&report.output.1, &lines);
                prop_assert_eq!(report.digest, digest);
                prop_assert_eq!(report.committed_events, events);
            }
        }
    }
}

/// The error of a run in which LP 0 sends, from an event at time 2, an event to LP 1 with delay 1.5
/// that leads to `last`.
fn error_after(io: Option<Io>, what: What, last: Option<Act>, engine: EngineKind) -> ModelError {
    let then = last.into_iter().collect();
    let bad = Act { io, to: 1, delay: 1.5, what, then };
    let cause = Act { io: None, to: 0, delay: 2.0, what: What::Nothing, then: vec![bad] };
    let script = Script { lookahead: 0.25, ..Script::new(vec![cause]) };
    let run = Simulation::new(script).seed(SEED).engine(match engine {
        EngineKind::TimeWarp => TimeWarp { workers: 3, ..TimeWarp::default() }.into(),
        EngineKind::Speculative => Speculative { workers: 3, ..Speculative::default() }.into(),
        EngineKind::Conservative => Conservative { workers: 3, ..Conservative::default() }.into(),
        other => Engine::from(other),
    });
    let error = watchdog::run(run).expect_err("a mistake");
    let text = error.to_string();
    let RunError::Model(error) = error else { panic!("{text}") };
    let place = &error.place;
    let event = place.event.expect("in an event");
    assert_eq!((place.lp, place.engine, place.seed), (Some(LpId::new(1)), engine.name(), SEED));
    assert_eq!((event.time_value(), event.sender(), event.sequence()), (3.5, LpId::new(0), 1));
    assert!(text.contains("LP 1 at virtual time 3.5"), "{text}");
    error
}

#[test]
fn mistakes_in_io_handlers_name_their_place() {
    for engine in ALL_ENGINES {
        let failed = error_after(Some(Io::Blocking), What::Fail, None, engine);
        assert_eq!(failed.fault, Fault::Failed("failed on purpose".to_owned()));
        for io in [Io::Blocking, Io::NonBlocking] {
            let Fault::Panicked { message, .. } =
                error_after(Some(io), What::Panic, None, engine).fault
            else {
                panic!("{io:?}: not a panic");
            };
            assert!(message.contains("broken on purpose"), "{message}");
        }
    }
}

/// The rules for sending hold for I/O events, whether sent by an ordinary or an I/O handler.
#[test]
fn io_events_are_admitted_like_others() {
    let senders = [None, Some(Io::Blocking)];
    let kinds = [None, Some(Io::Blocking), Some(Io::NonBlocking)];
    for (sender, io) in senders.into_iter().flat_map(|s| kinds.map(|io| (s, io))) {
        for engine in ALL_ENGINES {
            let fault = |to, delay| {
                let last = Act { io, to, delay, what: What::Nothing, then: Vec::new() };
                error_after(sender, What::Nothing, Some(last), engine).fault
            };
            let to = LpId::new(2);
            assert_eq!(fault(2, -1e-300), Fault::Past { to, delay: -1e-300 });
            assert!(matches!(fault(2, f64::NAN), Fault::NotFinite { .. }));
            assert_eq!(fault(9, 1.0), Fault::NoSuchLp { to: LpId::new(9), lp_count: 3 });
            let expected = Fault::BrokenLookahead { to, delay: 0.125, lookahead: 0.25 };
            assert_eq!(fault(2, 0.125), expected);
        }
    }
}

/// An LP without `handle_io` or `output`.
#[derive(Clone, Debug)]
struct Plain;

struct Careless(Io);

impl Model for Careless {
    type Lp = Plain;
    type Output = ();

    fn name(&self) -> &'static str {
        "careless"
    }

    fn lp_count(&self) -> usize {
        2
    }

    fn make_lp(&self, _: LpId) -> Plain {
        Plain
    }

    fn reduce(&self, _: impl Iterator<Item = ()>) {}
}

impl LogicalProcess for Plain {
    type Model = Careless;
    type Message = ();
    type Summary = ();

    fn start(&mut self, model: &Careless, cx: &mut impl Context<()>) {
        if cx.me() == LpId::new(0) {
            cx.send_io(model.0, LpId::new(1), 0.5, ());
        }
    }

    fn handle(&mut self, _: &Careless, (): &(), _: &mut impl Context<()>) {
        unreachable!("no ordinary event is sent")
    }

    fn finish(self, _: &Careless, _: VirtualTime) {}
}

#[test]
fn blocking_events_need_a_handler_and_others_do_not() {
    for engine in [EngineKind::Sequential, EngineKind::TimeWarp, EngineKind::Speculative] {
        let run = |io| {
            watchdog::run(
                Simulation::new(Only::<(Sequential, (TimeWarp, Speculative)), _>::new(Careless(
                    io,
                )))
                .engine(engine),
            )
        };
        let text = run(Io::Blocking).expect_err("there is no handler").to_string();
        assert!(text.contains("LP 1 at virtual time 0.5 got a blocking I/O event"), "{text}");
        assert!(text.contains("`handle_io`"), "{text}");
        let report = run(Io::NonBlocking).expect("nothing is written");
        assert_eq!(report.committed_events, 1);
    }
}

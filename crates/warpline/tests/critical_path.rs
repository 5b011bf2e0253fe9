//! The engine `profile`: the critical path of models, against what the models compute themselves.

use proptest::prelude::*;
use warpline::{
    Context, EventKey, Io, IoContext, LogicalProcess, LpId, Model, Only, Profile, Report,
    Sequential, Simulation, VirtualTime,
    report::CriticalPath,
    settings::{Cost, EngineKind},
};

/// LPs that tell each other when the longest chain so far ends.
#[derive(Clone, Debug)]
struct Chained {
    lps: usize,
    /// How many events each LP sends at its start, and how many may come of each.
    first: u64,
    budget: u64,
    /// How often an event goes to another LP, and is an I/O event.
    elsewhere: f64,
    io: f64,
    latency: u64,
    /// Whether events carry on what sent them.
    kind: Option<Io>,
}

#[derive(Clone, Debug)]
struct Process {
    finish: u64,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    from: LpId,
    finish: u64,
    budget: u64,
}

impl Model for Chained {
    type Lp = Process;
    /// The length of the longest chain.
    type Output = u64;

    fn name(&self) -> &'static str {
        "chained"
    }

    fn lp_count(&self) -> usize {
        self.lps
    }

    fn make_lp(&self, _: LpId) -> Process {
        Process { finish: 0 }
    }

    fn reduce(&self, finishes: impl Iterator<Item = u64>) -> u64 {
        finishes.max().unwrap_or(0)
    }
}

impl Process {
    fn work(&mut self, model: &Chained, message: &Message, cx: &mut impl Context<Message>) {
        let latency = if message.from == cx.me() { 0 } else { model.latency };
        let arrival = if message.finish == 0 { 0 } else { message.finish + latency };
        self.finish = self.finish.max(arrival) + 1;
        let left = message.budget - 1;
        let children = left.min(cx.rng().below(3));
        for child in 0..children {
            let budget = left / children + u64::from(child < left % children);
            self.send(model, budget, cx);
        }
    }

    fn send(&self, model: &Chained, budget: u64, cx: &mut impl Context<Message>) {
        let elsewhere = cx.rng().uniform() < model.elsewhere;
        let to = if elsewhere { cx.rng().lp(model.lps) } else { cx.me() };
        let delay = if cx.rng().uniform() < 0.2 { 0.0 } else { cx.rng().exponential(1.0) };
        let message = Message { from: cx.me(), finish: self.finish, budget };
        match cx.rng().uniform() < model.io {
            true => cx.send_io(Io::Blocking, to, delay, message),
            false => cx.send(to, delay, message),
        }
    }
}

impl LogicalProcess for Process {
    type Model = Chained;
    type Message = Message;
    type Summary = u64;

    fn start(&mut self, model: &Chained, cx: &mut impl Context<Message>) {
        for _ in 0..model.first {
            match model.kind {
                None => self.send(model, model.budget, cx),
                Some(io) => {
                    let message = Message { from: cx.me(), finish: 0, budget: 1 };
                    cx.send_io(io, cx.me(), 1.0, message);
                }
            }
        }
    }

    fn handle(&mut self, model: &Chained, message: &Message, cx: &mut impl Context<Message>) {
        self.work(model, message, cx);
    }

    fn handle_io(&mut self, model: &Chained, message: &Message, cx: &mut impl IoContext<Message>) {
        self.work(model, message, cx);
    }

    fn io_sends_max(_: &Chained, message: &Message) -> usize {
        message.budget as usize
    }

    fn output(_: &Chained, _: LpId, _: &EventKey, _: &Message) {}

    fn finish(self, _: &Chained, _: VirtualTime) -> u64 {
        self.finish
    }
}

const SOUND: Chained =
    Chained { lps: 8, first: 5, budget: 100, elsewhere: 0.5, io: 0.1, latency: 0, kind: None };

type Compiled = Only<(Sequential, Profile), Chained>;

fn simulation<'a>(model: &Chained) -> Simulation<'a, Compiled> {
    Simulation::new(Only::new(model.clone()))
}

fn profiled(model: &Chained, seed: u64, cost: Cost) -> (Report<u64>, CriticalPath) {
    let profile = Profile { cost, latency: model.latency };
    let report = simulation(model).seed(seed).engine(profile).run().expect("sound");
    let path = report.details.critical_path.clone().expect("a profile");
    (report, path)
}

fn model() -> impl Strategy<Value = Chained> {
    let numbers = (1..20_usize, 0..5_u64, 1..80_u64, 0..5_u64);
    (numbers, 0.0..1.0, prop_oneof![Just(0.0), 0.0..1.0]).prop_map(
        |((lps, first, budget, latency), elsewhere, io)| Chained {
            lps,
            first,
            budget,
            elsewhere,
            io,
            latency,
            kind: None,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// PROFILE-A: the longest chain is the one that the model finds, in every run, and the engine
    /// commits what the sequential engine commits.
    #[test]
    fn finds_the_longest_chain(model in model(), seed in any::<u64>()) {
        let (report, path) = profiled(&model, seed, Cost::Events);
        prop_assert_eq!(path.length, report.output);
        prop_assert_eq!((path.events, path.work), (report.committed_events, path.events));
        prop_assert_eq!(&profiled(&model, seed, Cost::Events).1, &path);

        let plain = simulation(&model).seed(seed).run().expect("sound");
        prop_assert_eq!(plain.digest, report.digest);
        prop_assert_eq!(plain.committed_events, report.committed_events);
        prop_assert_eq!(&plain.details.critical_path, &None);

        prop_assert_eq!((path.speedups[0].speedup, path.speedups[0].placed), (1.0, 1.0));
        for at in &path.speedups[1..] {
            let most = path.parallelism().min(at.workers as f64);
            prop_assert!(at.speedup <= most * (1.0 + 1e-12), "{at:?} of {most}");
            let most = if model.latency == 0 { most } else { at.workers as f64 };
            prop_assert!(at.placed <= most * (1.0 + 1e-12), "{at:?} of {most}, placed");
        }
    }
}

/// What one LP does cannot be done in parallel.
#[test]
fn one_lp_has_no_parallelism() {
    let (report, path) = profiled(&Chained { lps: 1, ..SOUND }, 1, Cost::Events);
    assert!(report.committed_events > 20);
    assert_eq!(path.length, path.events);
    assert!(path.speedups.iter().all(|at| at.speedup == 1.0), "{path:?}");
}

/// LPs that do not talk to each other can all work at the same time. Non-blocking I/O events are
/// events of their LP, too.
#[test]
fn independent_lps_are_parallel() {
    let kinds = [Some(Io::NonBlocking), Some(Io::Blocking)];
    for model in kinds.map(|kind| Chained { lps: 16, first: 30, latency: 9, kind, ..SOUND }) {
        let (_, path) = profiled(&model, 1, Cost::Events);
        assert_eq!((path.events, path.length), (480, 30));
        assert_eq!(path.parallelism(), 16.0);
        for at in &path.speedups {
            let most = at.workers.min(16) as f64;
            assert_eq!((at.speedup, at.placed), (most, most));
        }
    }
}

/// Time is measured for every event, and a model without events has a result.
#[test]
fn time_is_measured() {
    let (report, path) = profiled(&SOUND, 1, Cost::Time);
    assert_eq!((report.engine, path.settings.cost), (EngineKind::Profile, Cost::Time));
    assert!(path.work >= path.events && path.length <= path.work, "{path:?}");
    assert!(u128::from(path.work) <= report.wall.as_nanos(), "{path:?} in {:?}", report.wall);
    assert_eq!(path.speedups[0].speedup, 1.0);

    let (_, path) = profiled(&Chained { first: 0, ..SOUND }, 1, Cost::Events);
    assert_eq!((path.events, path.work, path.length, path.parallelism()), (0, 0, 0, 1.0));
}

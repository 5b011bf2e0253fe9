//! Null messages and deadlock recovery commit what the sequential engine commits, on graphs of
//! every kind.
//!
//! # Mutations of the engine, each seen red here
//!
//! - `is_ready` lets an event at the EIT go: a cycle of full edges and random graphs commit other
//!   events.
//! - A null-message time ignores the outbox: the ring, Figure 4 and random graphs.
//! - A null-message time is a step too late: nearly all.
//! - Outputs at the least null-message time are written: random graphs write in another order.
//! - A recovery raises EITs by more than the lookahead: nearly all, and `failing_ranks`.
//! - A remote event reserves memory at its sender's rank: `memory_is_limited_by_rank`.
//!
//! A freeze that begins too early is no mistake: what is decided holds in any case.

mod random_graph;
mod rankwise;
mod watchdog;

use std::{
    ops::ControlFlow,
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
};

use proptest::{collection::vec, prelude::*, sample::select};
use random_graph::{Mistake, RandomGraph};
use warpline::{
    Conservative, Context, Link, LogicalProcess, LpId, Model, Only, Report, RunError, Sequential,
    Simulation, VirtualTime,
    ranks::Transport,
    settings::{Aggregation, Synchronization, SynchronizationKind},
};

/// The algorithms that use links.
const MODES: [SynchronizationKind; 3] = [
    SynchronizationKind::NullMessages,
    SynchronizationKind::NullMessagesOnDemand,
    SynchronizationKind::DeadlockRecovery,
];

/// A model for which Time Warp is not compiled.
type Compiled<M> = Only<(Sequential, Conservative), M>;

type Outcome = Result<Report<Vec<(u64, u64)>>, RunError>;

fn simulation(
    model: &RandomGraph,
    mode: SynchronizationKind,
    workers: usize,
    capacity: usize,
) -> Simulation<'static, Compiled<RandomGraph>> {
    unchosen(model).engine(engine(mode, workers, capacity))
}

/// A run on the sequential engine, unless another one is chosen.
fn unchosen<'a>(model: &RandomGraph) -> Simulation<'a, Compiled<RandomGraph>> {
    Simulation::new(Only::new(model.clone()))
}

fn engine(mode: SynchronizationKind, workers: usize, capacity: usize) -> Conservative {
    let synchronization = Synchronization::new(mode, capacity);
    Conservative { workers, synchronization, pin: false, ..Conservative::default() }
}

/// What a run reports, without what may differ between engines.
fn summary(run: &Outcome) -> String {
    match run {
        Ok(report) => format!(
            "digest {}, {} events, until {}: {:?}",
            report.digest, report.committed_events, report.end_time, report.output
        ),
        Err(RunError::Model(error)) => {
            format!("{}\nat {:?}, {:?}", error.fault, error.place.lp, error.place.event)
        }
        Err(error) => error.to_string(),
    }
}

/// A run commits and writes the same as a run of the sequential engine.
fn check(
    model: &RandomGraph,
    mode: SynchronizationKind,
    workers: usize,
    capacity: usize,
    end: f64,
) {
    let oracle = model.apart();
    let expected = unchosen(&oracle).end(end).run();
    let model = model.apart();
    let run = watchdog::run(simulation(&model, mode, workers, capacity).end(end));
    let context = format!("{mode}, {workers} workers, capacity {capacity}, end {end}");
    assert_eq!(summary(&run), summary(&expected), "{context}");
    assert_eq!(*model.lines.lock().unwrap(), *oracle.lines.lock().unwrap(), "{context}");
}

#[test]
fn a_ring() {
    for mode in MODES {
        for workers in [1, 2, 4] {
            for capacity in [1, 2, 8, 64] {
                for lookahead in [0.0, 0.5] {
                    check(&RandomGraph::ring(6, lookahead), mode, workers, capacity, f64::INFINITY);
                    check(&RandomGraph::ring(6, lookahead), mode, workers, capacity, 7.5);
                }
            }
        }
    }
}

/// Random graphs: cycles, islands, loops and double links among them, with lookaheads and without.
fn model() -> impl Strategy<Value = RandomGraph> {
    let lookahead = select(&[0.0, 0.0, 0.25, 1.0, 3.0][..]);
    let links = (1..=8_u32).prop_flat_map(move |lps| {
        let link = (0..lps, lookahead.clone());
        vec(vec(link, 0..4), lps as usize)
    });
    let delays = vec(select(&[0.0, 0.0, 1e-17, 0.5, -1.0, 40.0][..]), 1..4);
    let fan = select(&[[0, 1], [1, 1], [0, 3], [2, 5]][..]);
    let io = select(&[[0.0; 2], [0.0; 2], [0.1, 0.2], [0.0, 0.4], [0.3, 0.0]][..]);
    let mistake = (0..8_u32, 1..12_u64, select(&[Mistake::Fail, Mistake::Panic][..]));
    let wrong = proptest::option::weighted(0.3, mistake);
    (links, delays, fan, 0..4_u64, 1..60_u64, io, wrong).prop_map(
        |(links, delays, fan, first, budget, io, wrong)| RandomGraph {
            delays,
            fan,
            first,
            budget,
            io,
            wrong,
            ..RandomGraph::new(links)
        },
    )
}

/// Runs a model on several ranks, which are threads, and returns the outcome of rank 0. A rank that
/// does not end fails the test.
fn run_across(
    model: &RandomGraph,
    mode: SynchronizationKind,
    shape: [usize; 3],
    end: f64,
) -> Outcome {
    let [ranks, workers, capacity] = shape;
    let (done, outcomes) = mpsc::channel();
    for transport in warpline_net::network(ranks, workers + 1) {
        let aggregation = Aggregation::Bytes(200);
        let engine = Conservative { aggregation, ..engine(mode, workers, capacity) };
        let mut simulation = unchosen(model).engine(engine).end(end);
        let done = done.clone();
        std::thread::spawn(move || {
            let outcome = simulation.run_across(&transport);
            let _ = done.send((transport.rank(), outcome));
        });
    }
    let mut outcomes: Vec<_> = (0..ranks)
        .map(|_| outcomes.recv_timeout(watchdog::PATIENCE).expect("all ranks end"))
        .collect();
    outcomes.sort_by_key(|(rank, _)| *rank);
    let (_, first) = outcomes.remove(0);
    for (_, other) in outcomes {
        assert_eq!(other.is_err(), first.is_err(), "{other:?}, but {first:?}");
    }
    first.map(|report| report.expect("rank 0 gets the report"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs(
        model in model(),
        mode in select(&MODES[..]),
        workers in select(&[1, 2, 4][..]),
        capacity in select(&[1, 2, 8, 64][..]),
        end in select(&[f64::INFINITY, f64::INFINITY, 0.0, 3.5, 20.0][..]),
    ) {
        check(&model, mode, workers, capacity, end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_across_ranks(
        model in model(),
        mode in select(&MODES[..]),
        ranks in 1..=3_usize,
        workers in 1..=2_usize,
        capacity in select(&[1, 2, 8, 64][..]),
        end in select(&[f64::INFINITY, 3.5][..]),
    ) {
        let oracle = model.apart();
        let expected = unchosen(&oracle).end(end).run();
        let model = model.apart();
        let run = run_across(&model, mode, [ranks, workers, capacity], end);
        match (&run, &expected) {
            // The failure of another rank is reported as text.
            (Err(RunError::Rank { error, .. }), Err(RunError::Model(expected))) => {
                prop_assert!(error.contains(&expected.fault.to_string()), "{error}\n{expected}");
            }
            _ => prop_assert_eq!(summary(&run), summary(&expected)),
        }
        prop_assert_eq!(&*model.lines.lock().unwrap(), &*oracle.lines.lock().unwrap());
    }
}

/// Figure 4 of Wen and Yelick: r1 sends r2 and r3 an event at every step, and r2 hardly ever sends
/// r3 one. With a capacity of three events per edge, r3 waits for r2, r1 for r3, and r2 for r1.
#[derive(Clone, Debug)]
struct Figure4;

#[derive(Clone, Debug)]
struct Subcircuit {
    handled: u64,
}

impl Model for Figure4 {
    type Lp = Subcircuit;
    type Output = Vec<u64>;

    fn name(&self) -> &'static str {
        "figure-4"
    }

    fn lp_count(&self) -> usize {
        3
    }

    fn make_lp(&self, _: LpId) -> Subcircuit {
        Subcircuit { handled: 0 }
    }

    fn reduce(&self, handled: impl Iterator<Item = u64>) -> Vec<u64> {
        handled.collect()
    }

    fn links(&self, from: LpId) -> Option<Vec<Link>> {
        let link = |to| Link { to: LpId::new(to), lookahead: 0.0 };
        Some([vec![link(1), link(2)], vec![link(2)], vec![]][from.index()].clone())
    }
}

impl LogicalProcess for Subcircuit {
    type Model = Figure4;
    type Message = ();
    type Summary = u64;

    fn start(&mut self, _: &Figure4, cx: &mut impl Context<()>) {
        if cx.me().get() == 0 {
            cx.send(cx.me(), 10.0, ());
        }
    }

    fn handle(&mut self, _: &Figure4, (): &(), cx: &mut impl Context<()>) {
        self.handled += 1;
        match cx.me().get() {
            0 => {
                cx.send(cx.me(), 10.0, ());
                cx.send(LpId::new(1), 0.0, ());
                cx.send(LpId::new(2), 0.0, ());
            }
            1 if self.handled == 6 => cx.send(LpId::new(2), 0.0, ()),
            _ => {}
        }
    }

    fn finish(self, _: &Figure4, _: VirtualTime) -> u64 {
        self.handled
    }
}

/// Null messages of r2 keep r3 going. Without them the deadlock occurs, and is ended every time. It
/// is rarer where edges hold all events.
#[test]
fn the_deadlock_of_figure_4() {
    let run = |mode, workers, capacity| {
        let simulation = Simulation::new(Only::<Conservative, _>::new(Figure4))
            .engine(engine(mode, workers, capacity))
            .end(75.0);
        let report = watchdog::run(simulation).expect("a sound model");
        assert_eq!(report.output, [7, 7, 8]);
        report.details.counters.iter().find(|(name, _)| *name == "deadlocks").expect("counted").1
    };
    for workers in [1, 2, 3] {
        assert!(run(SynchronizationKind::DeadlockRecovery, workers, 3) > 0);
    }
    // A single worker is quiescent only when no LP can go on.
    assert_eq!(run(SynchronizationKind::NullMessages, 1, 3), 0);
    assert_eq!(run(SynchronizationKind::NullMessagesOnDemand, 1, 3), 0);
    // At 30 the edge to r3 is full, and r3 has waited since 10.
    let blocked = run(SynchronizationKind::DeadlockRecovery, 1, 3);
    let free = run(SynchronizationKind::DeadlockRecovery, 1, 64);
    assert!(
        free < blocked,
        "{free} deadlocks with capacity for all, {blocked} with capacity for three"
    );
}

/// Without lookahead, in a cycle of edges that hold one event each, the run goes on because
/// recovery exceeds the capacity.
#[test]
fn a_cycle_of_full_edges() {
    let model = RandomGraph { fan: [2, 4], delays: vec![0.0], ..RandomGraph::ring(3, 0.0) };
    for mode in MODES {
        for workers in [1, 3] {
            check(&model, mode, workers, 1, f64::INFINITY);
        }
    }
}

/// An error about a broken link names the link, and what to do.
#[test]
fn broken_links_are_told() {
    for mode in MODES {
        for (mistake, text) in [
            (Mistake::SendTo(0), "LP 2 at virtual time"),
            (Mistake::SendTo(0), "sent an event to LP 0 with delay 1, but has no link to it"),
            (Mistake::SendTo(0), "add the link to those that `links` of the model returns"),
            (
                Mistake::TooSoon,
                "sent an event to LP 3 with delay 0.25, below lookahead 0.5 of their link",
            ),
            (Mistake::TooSoon, "lower the lookahead of this link"),
        ] {
            let model = RandomGraph { wrong: Some((2, 3, mistake)), ..RandomGraph::ring(5, 0.5) };
            let error =
                watchdog::run(simulation(&model, mode, 2, 8)).expect_err("a broken promise");
            assert!(error.to_string().contains(text), "{error}");
        }
    }
}

/// An endless chain of zero-delay events is the same error as with the sequential engine, at the
/// same place. The chain stays at one LP, because a million deadlocks would take long.
#[test]
fn an_endless_chain_is_told() {
    let mut model = RandomGraph::ring(2, 1.0);
    (model.links, model.delays, model.first, model.budget) =
        (vec![vec![], vec![]], vec![0.0], 1, u64::MAX);
    for mode in MODES {
        check(&model, mode, 2, 4, f64::INFINITY);
    }
}

/// A run without an end ends when its observer says so, even if its LPs wait for each other all the
/// time.
#[test]
fn a_stopped_run_ends() {
    for mode in MODES {
        for (workers, lookahead) in [(1, 0.5), (2, 0.5), (2, 0.0)] {
            let model = RandomGraph { budget: u64::MAX / 8, ..RandomGraph::ring(4, lookahead) };
            let calls = AtomicU64::new(0);
            let run = simulation(&model, mode, workers, 8).observe(move |progress| {
                assert!(progress.virtual_time <= progress.end);
                match calls.fetch_add(1, Ordering::Relaxed) {
                    0..2 => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                }
            });
            let report = watchdog::run(run).expect("a sound model");
            assert!(report.interrupted && report.committed_events > 0);
        }
    }
}

/// With too little memory the run fails with an error that says so; with enough it does not.
#[test]
fn memory_is_limited() {
    for mode in MODES {
        let model = RandomGraph { fan: [3, 3], budget: 1_000, ..RandomGraph::ring(4, 0.5) };
        let run = simulation(&model, mode, 2, 8).memory(2_000);
        let error = watchdog::run(run).expect_err("too little");
        assert!(error.to_string().contains("out of event buffers"), "{error}");
        assert!(watchdog::run(simulation(&model, mode, 2, 8).memory(10 << 20)).is_ok());
    }
}

/// A remote event reserves memory at its receiver's rank only: a pipeline from one rank to the next
/// does not need more memory the longer it runs.
#[test]
fn memory_is_limited_by_rank() {
    let links = vec![vec![(2, 0.5), (3, 0.5)], vec![(2, 0.5)], vec![], vec![]];
    let model = RandomGraph { budget: 2_000, ..RandomGraph::new(links) };
    let expected = unchosen(&model.apart()).run().expect("sound");
    for mode in MODES {
        let all = (0..2).map(|_| simulation(&model.apart(), mode, 1, 8).memory(700)).collect();
        let mut outcomes = rankwise::run(1, all).into_iter();
        let report = outcomes.next().expect("rank 0").expect("enough").expect("a report");
        assert_eq!(report.digest, expected.digest, "{mode}");
    }
}

/// Models and settings that do not fit each other are refused, with what to declare instead.
#[test]
fn what_does_not_fit_is_refused() {
    let refusal = |run: Simulation<'static, Compiled<RandomGraph>>| match watchdog::run(run) {
        Err(RunError::Config(error)) => error.to_string(),
        run => panic!("{run:?}"),
    };
    let ring = RandomGraph::ring(3, 0.5);
    let error = refusal(simulation(&ring, SynchronizationKind::NullMessages, 1, 0));
    assert!(error.contains("`edge-capacity` is 0"), "{error}");
    let mut model = ring.clone();
    model.links[1] = vec![(3, 0.5)];
    let error = refusal(simulation(&model, SynchronizationKind::NullMessages, 1, 8));
    assert!(error.contains("`links`"), "{error}");
    model.links[1] = vec![(2, f64::NAN)];
    let error = refusal(simulation(&model, SynchronizationKind::NullMessages, 1, 8));
    assert!(error.contains("on the link from LP 1 to LP 2"), "{error}");
    // The model has links, but no lookahead of the whole model as windows need it.
    assert!(watchdog::run(simulation(&ring, SynchronizationKind::Auto, 2, 8)).is_ok());
    let error = refusal(simulation(&ring, SynchronizationKind::Windows, 1, 8));
    assert!(error.contains("lookahead"), "{error}");
}

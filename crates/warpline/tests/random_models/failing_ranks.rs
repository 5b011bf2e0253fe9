//! Both parallel engines on several ranks with a failure: of a model, of a rank, or of a parcel.
//!
//! The tests `engines` and those of the models compare runs without failures with the sequential
//! engine.

mod changed_parcels;
mod interceptor;

use std::{
    ops::ControlFlow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use interceptor::{Between, Interceptor};
use proptest::prelude::*;
use warpline::{
    Conservative, Engine, Only, RunError, Sequential, Simulation, TimeWarp,
    error::NetError,
    ranks::Transport,
    settings::{Aggregation, Synchronization, SynchronizationKind},
};
use warpline_net::{Address, Faulty, Flip, Parcel, Received, ThreadTransport, network};

use crate::{
    random::{self, Habit, Mistake, Spec, Where},
    rankwise,
};

/// The kind of Time Warp's parcels with events; those for the rounds of GVT come after it.
const EVENTS: u16 = 16;

/// The algorithm of a run.
#[derive(Clone, Copy, Debug)]
enum Algorithm {
    TimeWarp,
    Conservative(SynchronizationKind),
}

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::TimeWarp,
    Algorithm::Conservative(SynchronizationKind::Windows),
    Algorithm::Conservative(SynchronizationKind::NullMessages),
    Algorithm::Conservative(SynchronizationKind::NullMessagesOnDemand),
    Algorithm::Conservative(SynchronizationKind::DeadlockRecovery),
];

/// A model whose events never end, go mostly to other LPs, and are often undone.
fn spec(wrong: Option<(Where, Mistake)>) -> Spec {
    Spec {
        habits: vec![Habit::FanOut(1); 8],
        delays: vec![-1.0, 0.0],
        lookahead: Some(0.5),
        first: 2,
        budget: 1 << 40,
        io: [0.05, 0.0],
        wrong,
        lines: Arc::default(),
    }
}

/// Those that run it here: each takes long to build.
type Engines = (Sequential, (Conservative, TimeWarp));

type Run = Simulation<'static, Only<Engines, Spec>>;

fn sequential(spec: Spec, end: f64) -> Run {
    Simulation::new(Only::new(spec)).end(end)
}

fn simulation(algorithm: Algorithm, spec: &Spec, workers: usize, end: f64) -> Run {
    sequential(spec.clone(), end).engine(engine(algorithm, workers, 16))
}

fn engine(algorithm: Algorithm, workers: usize, edge_capacity: usize) -> Engine {
    match algorithm {
        Algorithm::TimeWarp => time_warp(workers).into(),
        Algorithm::Conservative(how) => {
            let synchronization = Synchronization::new(how, edge_capacity);
            Conservative { workers, synchronization, pin: false, ..Conservative::default() }.into()
        }
    }
}

/// Each event is sent in a parcel of its own.
fn without_aggregation(algorithm: Algorithm) -> Engine {
    let aggregation = Aggregation::Off;
    match engine(algorithm, 1, 16) {
        Engine::TimeWarp(engine) => TimeWarp { aggregation, ..engine }.into(),
        Engine::Conservative(engine) => Conservative { aggregation, ..engine }.into(),
        other => other,
    }
}

fn time_warp(workers: usize) -> TimeWarp {
    TimeWarp { workers, gvt_interval: 64, pin: false, ..TimeWarp::default() }
}

/// The lines that were written, in their order.
fn lines(spec: &Spec) -> Vec<random::Line> {
    spec.lines.lock().unwrap().clone()
}

/// If a network delays and reorders parcels but keeps NET-A, no event is lost or doubled, and lines
/// are written in order (COLLECT-A and B).
#[test]
fn delays_and_reordering_change_nothing() {
    let spec = Spec { io: [0.05, 0.1], ..spec(None) };
    let oracle = Spec { lines: Arc::default(), ..spec.clone() };
    let expected = sequential(oracle.clone(), 12.0).run().expect("sound");
    for algorithm in ALGORITHMS {
        for (seed, (ranks, workers)) in (0..).zip([(2, 1), (3, 1), (2, 2), (3, 2)]) {
            let spec = Spec { lines: Arc::default(), ..spec.clone() };
            let ends = network(ranks, workers + 1).into_iter().map(|end| Faulty::new(end, seed));
            let all = (0..ranks).map(|_| simulation(algorithm, &spec, workers, 12.0)).collect();
            let mut outcomes = rankwise::run_on(ends.collect(), all).into_iter().flatten();
            let context = format!("{algorithm:?}, {ranks} ranks of {workers} workers, seed {seed}");
            let report = outcomes.next().expect(&context).expect(&context).expect(&context);
            assert!(outcomes.all(|outcome| matches!(outcome, Ok(None))), "{context}");
            assert_eq!(report.digest, expected.digest, "{context}");
            assert_eq!(report.output, expected.output, "{context}");
            assert_eq!(lines(&spec), lines(&oracle), "{context}");
        }
    }
}

/// A rank that receives the parcels of engines long after those that end the run.
#[derive(Debug)]
struct Slow {
    calls: u32,
    /// By port: a parcel that is held back, and for how many more calls.
    held: Vec<Mutex<Option<(Received, u32)>>>,
}

/// More calls than a worker makes before it yields its core to others, which then end.
const HELD: u32 = 2_200;

impl Interceptor for Slow {
    fn receive(&self, inner: &ThreadTransport, port: usize) -> Result<Option<Received>, NetError> {
        if port == inner.ports() - 1 {
            return inner.receive(port);
        }
        let mut held = self.held[port].lock().unwrap();
        *held = match held.take() {
            None => inner.receive(port)?.map(|received| (received, self.calls)),
            Some((received, 0)) => return Ok(Some(received)),
            Some((received, calls)) => Some((received, calls - 1)),
        };
        Ok(None)
    }
}

/// A slow rank does not take the end of another rank for a failure.
#[test]
fn a_rank_that_is_late_ends() {
    let expected = sequential(spec(None), 1.0).run().expect("sound");
    for algorithm in &ALGORITHMS[..2] {
        for slow in 0..2 {
            let ends = network(2, 2).into_iter().enumerate().map(|(rank, inner)| {
                let calls = if rank == slow { HELD } else { 0 };
                let held = (0..2).map(|_| Mutex::default()).collect();
                Between { inner, who: Slow { calls, held } }
            });
            let all = (0..2).map(|_| simulation(*algorithm, &spec(None), 1, 1.0)).collect();
            let mut outcomes = rankwise::run_on(ends.collect(), all).into_iter().flatten();
            let report = outcomes.next().expect("rank 0").expect("sound").expect("a report");
            assert_eq!(report.digest, expected.digest, "{algorithm:?}, rank {slow} is slow");
            assert!(
                matches!(outcomes.next(), Some(Ok(None))),
                "{algorithm:?}, rank {slow} is slow"
            );
        }
    }
}

/// RANK-A: if a rank dies at any moment, every other rank ends and says which rank is lost.
#[test]
fn a_rank_that_dies_ends_the_others() {
    let seed = 7;
    for algorithm in ALGORITHMS {
        for sends in [0, 1, 2, 3, 5, 10, 30, 100, 300] {
            let (ranks, dies) = if sends % 2 == 0 { (2, 1) } else { (3, 0) };
            let end = |(rank, end)| {
                let end = Faulty::new(end, seed);
                if rank == dies { end.dying_after(sends) } else { end }
            };
            let ends = network(ranks, 2).into_iter().enumerate().map(end).collect();
            let all =
                (0..ranks).map(|_| simulation(algorithm, &spec(None), 1, f64::INFINITY)).collect();
            for (rank, outcome) in rankwise::run_on(ends, all).into_iter().enumerate() {
                match outcome {
                    Some(Err(RunError::Net(_) | RunError::Rank { .. })) => {}
                    outcome => panic!("{algorithm:?}, {sends} sends, rank {rank}: {outcome:?}"),
                }
            }
        }
    }
}

/// A setting that only one rank refuses ends all ranks, and all say why.
#[test]
fn a_refusal_of_one_rank_ends_all() {
    let algorithms = ALGORITHMS.into_iter().filter(|algorithm| {
        !matches!(
            algorithm,
            Algorithm::TimeWarp | Algorithm::Conservative(SynchronizationKind::Windows)
        )
    });
    for algorithm in algorithms {
        for culprit in 0..2 {
            let run = |rank| {
                let run = simulation(algorithm, &spec(None), 1, f64::INFINITY);
                if rank == culprit { run.engine(engine(algorithm, 1, 0)) } else { run }
            };
            for (rank, outcome) in
                rankwise::run(1, (0..2).map(run).collect()).into_iter().enumerate()
            {
                let error = outcome.expect_err("refused").to_string();
                assert!(error.contains("`edge-capacity` is 0"), "{error}");
                assert_eq!(error.contains(&format!("rank {culprit}")), rank != culprit, "{error}");
            }
        }
    }
}

/// WIRE-B: ranks with different settings refuse to run before the first event.
#[test]
fn ranks_with_different_settings_refuse_to_run() {
    for algorithm in ALGORITHMS {
        let run = |seed| simulation(algorithm, &spec(None), 1, f64::INFINITY).seed(seed);
        for outcome in rankwise::run(1, (0..2).map(run).collect()) {
            let error = outcome.expect_err("refused").to_string();
            assert!(error.contains("rank 1") && error.contains("--seed 1"), "{error}");
        }
    }
}

/// Ranks that have read different files, for example.
#[test]
fn ranks_with_different_parameters_of_the_model_refuse_to_run() {
    let refusal = |habits: [Vec<Habit>; 2]| {
        let spec = |habits| Spec { habits, ..spec(None) };
        let run = |habits| simulation(Algorithm::TimeWarp, &spec(habits), 1, f64::INFINITY);
        let mut outcomes = rankwise::run(1, habits.map(run).into()).into_iter();
        outcomes.next().expect("two ranks").expect_err("refused").to_string()
    };
    let [few, many] = [8, 800].map(|lps| vec![Habit::FanOut(1); lps]);
    let changed = |habits: &[Habit]| {
        let mut changed = habits.to_vec();
        changed[3] = Habit::FanOut(2);
        changed
    };
    let error = refusal([few.clone(), changed(&few)]);
    assert!(error.contains("FanOut(1), FanOut(2), FanOut(1)"), "{error}");
    let error = refusal([many.clone(), changed(&many)]);
    assert!(error.contains("with the hash") && error.len() < 2_000, "{error}");
}

/// RANK-B: the rank with the mistake reports the same error as the sequential engine, and the other
/// ranks name that rank.
#[test]
fn the_mistake_of_one_rank_is_reported_by_all() {
    let mistakes = [(0, 0), (3, 40), (7, 40), (5, 0)];
    for (algorithm, (lp, n)) in
        ALGORITHMS.iter().flat_map(|algorithm| mistakes.map(|mistake| (*algorithm, mistake)))
    {
        let spec = spec(Some((Where::Event(lp, n), Mistake::Fail)));
        let sequential = sequential(spec.clone(), 1e9).run().unwrap_err();
        let RunError::Model(expected) = sequential else { panic!("{sequential}") };
        for (ranks, workers) in [(2, 1), (2, 2), (3, 1)] {
            let all = (0..ranks).map(|_| simulation(algorithm, &spec, workers, 1e9)).collect();
            let culprit = lp as usize * ranks / 8;
            for (rank, outcome) in rankwise::run(workers, all).into_iter().enumerate() {
                match outcome {
                    Err(RunError::Model(error)) if rank == culprit => {
                        assert_eq!(error.fault, expected.fault);
                        let place = |place: &warpline::error::Place| (place.lp, place.event);
                        assert_eq!(place(&error.place), place(&expected.place));
                    }
                    Err(RunError::Rank { rank: named, error }) if rank != culprit => {
                        assert_eq!(named, culprit);
                        assert!(error.contains("broken on purpose"), "{error}");
                    }
                    outcome => panic!("{algorithm:?}, rank {rank} of {ranks}: {outcome:?}"),
                }
            }
        }
    }
}

/// If one rank is told to stop, all ranks stop.
#[test]
fn a_run_that_one_rank_stops_is_interrupted_on_all() {
    for (ranks, workers) in [(2, 1), (3, 2)] {
        let all = (0..ranks).map(|rank| {
            let simulation = simulation(Algorithm::TimeWarp, &spec(None), workers, f64::INFINITY);
            let look = move |progress: &warpline::Progress| {
                if rank == ranks - 1 && progress.committed_events > 500 {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            simulation.observe(look)
        });
        let mut outcomes = rankwise::run(workers, all.collect()).into_iter();
        let report = outcomes.next().expect("rank 0").expect("sound").expect("a report");
        assert!(report.interrupted && report.committed_events > 500);
        assert!(outcomes.all(|outcome| matches!(outcome, Ok(None))));
        // The committed events are the first of those of the sequential engine.
        let end = report.end_time.get();
        let more = sequential(spec(None), end + 1e-9).run().expect("sound");
        let less = sequential(spec(None), end).run().expect("sound");
        let committed = less.committed_events..=more.committed_events;
        assert!(committed.contains(&report.committed_events), "{committed:?}: {report:?}");
    }
}

/// A rank that panics drops its end of the network, and the other ranks notice.
#[test]
fn a_rank_that_panics_ends_the_others() {
    for (algorithm, culprit) in
        ALGORITHMS.iter().flat_map(|algorithm| [(*algorithm, 0), (*algorithm, 1), (*algorithm, 2)])
    {
        let all = (0..3).map(|rank| {
            let simulation = simulation(algorithm, &spec(None), 1, f64::INFINITY);
            simulation.observe(move |_| {
                assert!(rank != culprit, "this rank panics on purpose");
                ControlFlow::Continue(())
            })
        });
        let outcomes = rankwise::run_on(network(3, 2), all.collect());
        for (rank, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                None => assert_eq!(rank, culprit),
                Some(Err(RunError::Net(_))) => assert_ne!(rank, culprit),
                Some(outcome) => {
                    panic!("{algorithm:?}, rank {rank}, where {culprit} panics: {outcome:?}")
                }
            }
        }
    }
}

/// A rank whose last parcel to the workers of another rank comes late: after the alert of this
/// rank, and after the other one has left its main loop, unless this one waits for it.
#[derive(Debug, Default)]
struct Lagging {
    last: Mutex<Option<(Address, Parcel)>>,
    /// How often nothing was found at the control port.
    waited: AtomicU32,
}

impl Lagging {
    fn send_last(&self, inner: &ThreadTransport) -> Result<(), NetError> {
        let last = self.last.lock().unwrap().take();
        last.map_or(Ok(()), |(to, parcel)| inner.send(to, parcel))
    }
}

impl Interceptor for Lagging {
    fn send(&self, inner: &ThreadTransport, to: Address, parcel: Parcel) -> Result<(), NetError> {
        if to.port == inner.ports() - 1 {
            return inner.send(to, parcel);
        }
        self.send_last(inner)?;
        *self.last.lock().unwrap() = Some((to, parcel));
        Ok(())
    }

    fn receive(&self, inner: &ThreadTransport, port: usize) -> Result<Option<Received>, NetError> {
        let received = inner.receive(port)?;
        // In its main loop, a worker looks for parcels until there are none. After it, the rank
        // hears from the others at the control port, because they have left theirs.
        // A rank that waits there for the output of the others waits for what their workers do.
        let is_control = port == inner.ports() - 1;
        let waits = is_control && self.waited.fetch_add(1, Ordering::Relaxed) % 4096 == 4095;
        if received.is_some() == is_control || waits {
            self.send_last(inner)?;
        }
        Ok(received)
    }
}

/// RANK-C: a decision of rank 0 that rank 1 never reads, because it hears the alert first, is not
/// left for the next run.
#[test]
fn what_a_failed_run_has_sent_is_gone() {
    let broken = spec(Some((Where::Event(1, 30), Mistake::Panic)));
    let expected = sequential(spec(None), 5.0).run().expect("sound");
    for algorithm in &ALGORITHMS[2..] {
        let ends = network(2, 2).into_iter();
        let ends: Vec<_> = ends.map(|inner| Between { inner, who: Lagging::default() }).collect();
        std::thread::scope(|scope| {
            for end in &ends {
                let (broken, expected) = (&broken, &expected);
                scope.spawn(move || {
                    assert!(simulation(*algorithm, broken, 1, 1e9).run_across(end).is_err());
                    let good =
                        simulation(Algorithm::TimeWarp, &spec(None), 1, 5.0).run_across(&end.inner);
                    let good = good.unwrap_or_else(|error| panic!("{algorithm:?}: {error}"));
                    assert!(good.is_none_or(|report| report.digest == expected.digest));
                });
            }
        });
    }
}

/// RANK-C: a network can be used for another run, however the first one ends.
#[test]
fn a_network_can_be_used_again() {
    // The mistake is at rank 0, which is the first to notice the failure; the other rank goes on
    // for a while.
    let broken = spec(Some((Where::Event(1, 30), Mistake::Panic)));
    let expected = sequential(spec(None), 20.0).run().expect("sound");
    let ends = network(2, 2);
    std::thread::scope(|scope| {
        for end in &ends {
            let (broken, expected) = (&broken, &expected);
            scope.spawn(move || {
                // A run that fails leaves the most parcels if it sends many: each event alone, and
                // often undone.
                for turn in 0..60 {
                    let algorithm = if turn % 2 == 0 {
                        Algorithm::TimeWarp
                    } else {
                        ALGORITHMS[1 + turn / 2 % 4]
                    };
                    let good = simulation(algorithm, &spec(None), 1, 20.0).run_across(end);
                    let good = good.expect("sound");
                    assert_eq!(good.is_some(), end.rank() == 0);
                    assert!(good.is_none_or(|report| report.digest == expected.digest));
                    let mut broken = simulation(algorithm, broken, 1, 1e9)
                        .engine(without_aggregation(algorithm));
                    assert!(broken.run_across(end).is_err());
                }
            });
        }
    });
}

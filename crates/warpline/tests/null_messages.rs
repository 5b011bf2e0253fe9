//! Null messages and deadlock recovery commit what the sequential engine commits, on graphs of every kind.

mod watchdog;
mod web;

use std::sync::mpsc;

use proptest::{collection::vec, prelude::*, sample::select};
use warpline::{Aggregation, Engine, Report, RunError, Simulation, Synchronization, Transport};
use web::{Mistake, Web};

/// The algorithms that go along links.
const MODES: [Synchronization; 3] = [
    Synchronization::NullMessages,
    Synchronization::NullMessagesOnDemand,
    Synchronization::DeadlockRecovery,
];

type Outcome = Result<Report<Vec<(u64, u64)>>, RunError>;

fn simulation(
    web: &Web,
    mode: Synchronization,
    workers: usize,
    capacity: usize,
) -> Simulation<'static, Web> {
    Simulation::new(web.clone())
        .engine(Engine::Conservative)
        .synchronization(mode)
        .workers(workers)
        .edge_capacity(capacity)
        .pin(false)
}

/// What a run tells, without what may differ between engines.
fn told(run: &Outcome) -> String {
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

/// A run and the sequential engine's commit the same, and write the same.
fn check(web: &Web, mode: Synchronization, workers: usize, capacity: usize, end: f64) {
    let oracle = web.apart();
    let expected = Simulation::new(oracle.clone()).end(end).run();
    let web = web.apart();
    let run = watchdog::run(simulation(&web, mode, workers, capacity).end(end));
    let context = format!("{mode}, {workers} workers, capacity {capacity}, end {end}");
    assert_eq!(told(&run), told(&expected), "{context}");
    assert_eq!(*web.lines.lock().unwrap(), *oracle.lines.lock().unwrap(), "{context}");
}

#[test]
fn a_ring() {
    for mode in MODES {
        for workers in [1, 2, 4] {
            for capacity in [1, 2, 8, 64] {
                for lookahead in [0.0, 0.5] {
                    check(&Web::ring(6, lookahead), mode, workers, capacity, f64::INFINITY);
                    check(&Web::ring(6, lookahead), mode, workers, capacity, 7.5);
                }
            }
        }
    }
}

/// Random graphs: cycles, islands, loops and double links among them, with lookaheads and without.
fn web() -> impl Strategy<Value = Web> {
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
        |(links, delays, fan, first, budget, io, wrong)| Web {
            delays,
            fan,
            first,
            budget,
            io,
            wrong,
            ..Web::new(links)
        },
    )
}

/// Runs a model on so many ranks, which are threads; gives back what rank 0 says. One that does not end fails its
/// test.
fn run_across(web: &Web, mode: Synchronization, shape: [usize; 3], end: f64) -> Outcome {
    let [ranks, workers, capacity] = shape;
    let (done, outcomes) = mpsc::channel();
    for transport in warpline_net::network(ranks, workers + 1) {
        let simulation = simulation(web, mode, workers, capacity).end(end);
        let mut simulation = simulation.aggregation(Aggregation::Bytes(200));
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
        web in web(),
        mode in select(&MODES[..]),
        workers in select(&[1, 2, 4][..]),
        capacity in select(&[1, 2, 8, 64][..]),
        end in select(&[f64::INFINITY, f64::INFINITY, 0.0, 3.5, 20.0][..]),
    ) {
        check(&web, mode, workers, capacity, end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_across_ranks(
        web in web(),
        mode in select(&MODES[..]),
        ranks in 1..=3_usize,
        workers in 1..=2_usize,
        capacity in select(&[1, 2, 8, 64][..]),
        end in select(&[f64::INFINITY, 3.5][..]),
    ) {
        let oracle = web.apart();
        let expected = Simulation::new(oracle.clone()).end(end).run();
        let web = web.apart();
        let run = run_across(&web, mode, [ranks, workers, capacity], end);
        match (&run, &expected) {
            // The failure of another rank is told in its words.
            (Err(RunError::Rank { error, .. }), Err(RunError::Model(expected))) => {
                prop_assert!(error.contains(&expected.fault.to_string()), "{error}\n{expected}");
            }
            _ => prop_assert_eq!(told(&run), told(&expected)),
        }
        let mut lines = web.lines.lock().unwrap().clone();
        lines.sort_unstable();
        prop_assert_eq!(&lines, &*oracle.lines.lock().unwrap());
    }
}

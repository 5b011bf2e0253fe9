//! Time Warp on several ranks against the sequential engine: every model, with every policy and little memory.
//!
//! Ranks are threads here. Digests cover the keys, the order and the random streams of all committed events; the
//! results of the models are compared to the last bit.

use std::{
    fmt::Write,
    sync::mpsc,
    thread,
    time::Duration,
};

use warpline::{
    Aggregation, Cancellation, CheckpointInterval, CommitDigest, Engine, FossilCollection, Model,
    PoolKind, Report, Results, RunError, Simulation, StateSaving, Transport, network,
};
use warpline_models::{
    catalog::{ModelParams, WithModel},
    hypercube::HypercubeParams,
    pcs::PcsParams,
    phold::PholdParams,
};

/// No run of these tests takes this long, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a run differs from the others.
#[derive(Clone, Copy, Debug)]
struct Policy {
    ranks: usize,
    workers: usize,
    seed: u64,
    batch: usize,
    saving: StateSaving,
    every: CheckpointInterval,
    cancellation: Cancellation,
    fossil: FossilCollection,
    gvt_interval: usize,
    window: f64,
    pool: PoolKind,
    aggregation: Aggregation,
    in_turn: bool,
    memory: Option<u64>,
}

/// A model, and where it ends.
struct Case {
    name: &'static str,
    model: ModelParams,
    end: f64,
    reversible: bool,
}

/// A digest, the events, and the results as text (every bit of them).
type Outcome = (CommitDigest, u64, String);

struct Run<'t> {
    end: f64,
    engine: Engine,
    policy: Policy,
    transport: Option<&'t dyn Transport>,
}

impl WithModel for Run<'_> {
    type Output = Result<Option<Outcome>, RunError>;

    fn with<M: Model<Output: Results + 'static>>(self, model: M) -> Self::Output {
        let Self { end, engine, policy, transport } = self;
        let mut simulation = Simulation::new(model)
            .engine(engine)
            .seed(policy.seed)
            .end(end)
            .workers(policy.workers)
            .batch(policy.batch)
            .saving(policy.saving)
            .checkpoint_interval(policy.every)
            .cancellation(policy.cancellation)
            .fossil_collection(policy.fossil)
            .gvt_interval(policy.gvt_interval)
            .window(policy.window)
            .pool(policy.pool)
            .aggregation(policy.aggregation)
            .in_turn(policy.in_turn)
            .pin(false);
        if let Some(bytes) = policy.memory {
            simulation = simulation.memory(bytes);
        }
        let outcome = |report: Report<M::Output>| {
            let figures = report.output.figures();
            let results = figures.iter().fold(String::new(), |mut text, figure| {
                write!(text, "{}={:x} ", figure.name, figure.value.to_bits()).expect("a string");
                text
            });
            (report.digest, report.committed_events, results)
        };
        match transport {
            None => simulation.run().map(|report| Some(outcome(report))),
            Some(transport) => Ok(simulation.run_across(transport)?.map(outcome)),
        }
    }
}

fn run(case: &Case, engine: Engine, policy: Policy, transport: Option<&dyn Transport>) -> <Run<'static> as WithModel>::Output {
    let run = Run { end: case.end, engine, policy, transport };
    case.model.clone().dispatch(run).expect("valid parameters")
}

/// What rank 0 says; the others have to say nothing.
fn across(case: &Case, policy: Policy) -> Result<Outcome, RunError> {
    let (done, outcomes) = mpsc::channel();
    for (rank, transport) in network(policy.ranks, policy.workers + 1).into_iter().enumerate() {
        let done = done.clone();
        let case = Case { model: case.model.clone(), ..*case };
        // Left behind if it hangs.
        thread::spawn(move || {
            let outcome = run(&case, Engine::TimeWarp, policy, Some(&transport));
            drop(done.send((rank, outcome)));
        });
    }
    drop(done);
    let mut all = vec![None; policy.ranks];
    for _ in 0..policy.ranks {
        let (rank, outcome) = outcomes
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|error| panic!("{} hangs or has panicked ({error}): {policy:?}", case.name));
        all[rank] = Some(outcome);
    }
    let mut all = all.into_iter().flatten();
    let first = all.next().expect("rank 0");
    for other in all {
        match (&first, other) {
            (Ok(_), Ok(None)) | (Err(_), Err(_)) => {}
            (first, other) => panic!("{}: {first:?} and {other:?}: {policy:?}", case.name),
        }
    }
    first.map(|outcome| outcome.expect("rank 0 has the report"))
}

fn cases() -> [Case; 4] {
    let phold = PholdParams { lps: 24, population: 48, remote: 0.5, payload: 3, ..PholdParams::default() };
    let ticks = PholdParams { lookahead: 1.0, mean: 0.0, ..phold.clone() };
    let cube = HypercubeParams { dimension: 4, messages: 32, ..HypercubeParams::default() };
    let pcs =
        PcsParams { cells: "4x4".parse().expect("a grid"), portables: 150, ..PcsParams::default() };
    let case = |name, model, end, reversible| Case { name, model, end, reversible };
    [
        case("phold", ModelParams::Phold(phold), 8.0, true),
        case("phold on ticks", ModelParams::Phold(ticks), 8.0, true),
        case("hypercube", ModelParams::Hypercube(cube), 8.0, false),
        case("pcs", ModelParams::Pcs(pcs), 8.0, false),
    ]
}

fn savings(reversible: bool) -> Vec<(StateSaving, CheckpointInterval)> {
    use CheckpointInterval::Every;
    let mut all = vec![
        (StateSaving::Copy, Every(1)),
        (StateSaving::Copy, Every(3)),
        (StateSaving::Incremental, Every(1)),
    ];
    if reversible {
        all.push((StateSaving::Reverse, Every(1)));
    }
    all
}

/// Every cell of the small axes; the other axes take their values in turn.
fn policies(reversible: bool) -> Vec<Policy> {
    let mut all = Vec::new();
    for ranks in [1, 2, 3] {
        for workers in [1, 2] {
            for (saving, every) in savings(reversible) {
                for &cancellation in Cancellation::ALL {
                    for &pool in PoolKind::ALL {
                        let turn = all.len();
                        all.push(Policy {
                            ranks,
                            workers,
                            seed: 1 + turn as u64 / 7 % 3,
                            batch: [1, 16, 64][turn / 5 % 3],
                            saving,
                            every,
                            cancellation,
                            fossil: FossilCollection::ALL[turn / 3 % 2],
                            gvt_interval: [16, 256, 1024][turn % 3],
                            window: [f64::INFINITY, f64::INFINITY, 1.0, 0.1][turn / 2 % 4],
                            pool,
                            aggregation: [Aggregation::Adaptive, Aggregation::Off, Aggregation::Bytes(300)][turn % 3],
                            in_turn: turn % 8 == 3,
                            memory: None,
                        });
                    }
                }
            }
        }
    }
    all
}

#[test]
fn every_policy_commits_what_the_sequential_engine_does() {
    let mut wrong = String::new();
    for case in cases() {
        let all = policies(case.reversible);
        let truths: Vec<_> = (0..4)
            .map(|seed| run(&case, Engine::Sequential, Policy { seed, ..all[0] }, None))
            .map(|outcome| outcome.expect("sound").expect("a report"))
            .collect();
        for policy in all {
            let found = across(&case, policy);
            if found.as_ref() != Ok(&truths[policy.seed as usize]) {
                writeln!(wrong, "  {} {policy:?}: {found:?}", case.name).expect("a string");
            }
        }
    }
    assert!(wrong.is_empty(), "not what the sequential engine commits:\n{wrong}");
}

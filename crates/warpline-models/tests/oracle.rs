//! Time Warp against the sequential engine: every model, with every policy and every limit.
//!
//! The small axes are crossed in full. The values of the other axes are assigned to the cells by a
//! counter, so that every pair of values occurs often, without the cross product of all axes.
//! Digests cover the keys, the order and the random streams of all committed events; the results of
//! the models are compared to the last bit.
//!
//! # Mutations of the engine, each seen red
//!
//! - `TimeWarpWorker::notice_gvt` looks for the result before the flag: "GVT-2: a report before the
//!   last result was seen". Only real threads come there: the simulated runs take both looks in one
//!   step.
//! - `Participant::sent` forgets SendMin: "GVT decreased".
//! - `drop_front` compares times, not keys, with GVT: phold on ticks commits something else.
//! - `sent_before` keeps an event with another message: pcs commits something else.
//! - `cancel_back` is not called: phold with 24 spare events runs out of buffers.
//! - `Flow::new` lets a worker go on before all have started: the same.

mod matrix;

use std::fmt::Write;

use matrix::{crowded, exactly, jammed, owners};
use warpline::{
    AnyModel, Balance, Engine, RunError, Sequential, Simulation, TimeWarp,
    digest::CommitDigest,
    pending::PendingKind,
    settings::{
        CheckpointInterval, EngineKind, FlowControl, Instrumentation, MailQueue, Numa, Pool,
        PoolKind, StateSaving,
    },
};
use warpline_models::{
    catalog::ModelParams, hypercube::HypercubeParams, pcs::PcsParams, phold::PholdParams,
};

const SEED: u64 = 11;

/// The settings in which runs differ.
#[derive(Clone, Copy, Debug)]
struct Policy {
    workers: usize,
    batch: usize,
    saving: StateSaving,
    on_the_fly: bool,
    pending: PendingKind,
    gvt_interval: usize,
    window: f64,
    throttle: bool,
    pool: PoolKind,
    balance: Balance,
    mail: MailQueue,
    as_if_many: bool,
    /// Whether memory is short: for so many events more than are ever pending at once.
    spare: Option<u64>,
}

/// A model, its end, and its outcome with the sequential engine.
struct Case {
    name: &'static str,
    model: ModelParams,
    end: f64,
    reversible: bool,
}

/// A digest, the results as text with every bit, and the most bytes that events took.
type Outcome = (CommitDigest, String, u64);

struct Run {
    end: f64,
    engine: EngineKind,
    policy: Policy,
    memory: Option<u64>,
}

impl Run {
    fn of(self, model: AnyModel) -> Result<Outcome, RunError> {
        let Self { end, engine, policy, memory } = self;
        let engine = match engine {
            EngineKind::TimeWarp => TimeWarp {
                workers: policy.workers,
                batch: policy.batch,
                saving: policy.saving,
                gvt_interval: policy.gvt_interval,
                window: policy.window,
                pending: policy.pending,
                flow_control: FlowControl { throttle: policy.throttle, ..FlowControl::default() },
                balance: policy.balance,
                numa: Numa { mail: policy.mail, ..Numa::default() },
                instrumentation: Instrumentation {
                    as_if_many: policy.as_if_many,
                    ..Instrumentation::default()
                },
                pool: match policy.pool {
                    _ if policy.on_the_fly => Pool::ON_THE_FLY,
                    PoolKind::Receiver => Pool::Receiver { local_pool: policy.batch == 1 },
                    other => other.into(),
                },
                pin: false,
                ..TimeWarp::default()
            }
            .into(),
            _ => Engine::from(Sequential { pending: policy.pending }),
        };
        let mut simulation = Simulation::new(model).engine(engine).seed(SEED).end(end);
        if let Some(bytes) = memory {
            simulation = simulation.memory(bytes);
        }
        let report = simulation.run()?;
        let results = exactly(&report.output);
        Ok((report.digest, results, report.peak_buffer_bytes))
    }
}

fn cases() -> Vec<Case> {
    let phold = PholdParams { lps: 32, population: 64, remote: 0.5, ..PholdParams::default() };
    let ticks = PholdParams { lookahead: 1.0, mean: 0.0, ..phold.clone() };
    let cube = HypercubeParams { dimension: 4, messages: 48, ..HypercubeParams::default() };
    let pcs =
        PcsParams { cells: "6x6".parse().expect("a grid"), portables: 400, ..PcsParams::default() };
    let case = |name, model, end, reversible| Case { name, model, end, reversible };
    let mut cases = vec![
        case("phold", ModelParams::from(phold), 12.0, true),
        case("phold on ticks", ModelParams::from(ticks), 12.0, true),
        case("hypercube", ModelParams::from(cube), 12.0, false),
        case("pcs", ModelParams::from(pcs), 10.0, false),
        case("traffic", ModelParams::from(jammed()), 400.0, false),
        case("network", ModelParams::from(crowded()), 1e7, false),
    ];
    cases.extend(owners(0.0).map(|(name, model, end)| case(name, model, end, false)));
    cases
}

fn savings(reversible: bool) -> Vec<StateSaving> {
    use CheckpointInterval::{Auto, Every};
    let mut all = vec![
        StateSaving::COPY,
        StateSaving::Copy { interval: Every(4) },
        StateSaving::Copy { interval: Auto },
    ];
    if reversible {
        all.push(StateSaving::Reverse);
    }
    all
}

/// Every cell of the small axes; the other axes take their values in turn.
fn policies(reversible: bool) -> Vec<Policy> {
    let mut all = Vec::new();
    for workers in [1, 2, 4, 8] {
        for batch in [1, 16] {
            for saving in savings(reversible) {
                for spare in [None, Some(24), Some(300)] {
                    let turn = all.len();
                    all.push(Policy {
                        workers,
                        batch,
                        saving,
                        on_the_fly: false,
                        pending: PendingKind::ALL[turn % PendingKind::ALL.len()],
                        gvt_interval: [16, 256, 1024][turn % 3],
                        window: [f64::INFINITY, f64::INFINITY, 1.0, 0.1][turn / 2 % 4],
                        throttle: turn % 4 < 2,
                        pool: PoolKind::ALL[turn / 3 % PoolKind::ALL.len()],
                        balance: [Balance::Off, Balance::Randomly(0.3)][turn / 5 % 2],
                        mail: MailQueue::ALL[turn / 7 % 2],
                        as_if_many: turn % 5 > 0,
                        spare,
                    });
                }
            }
        }
    }
    let on_the_fly = true;
    let more: Vec<_> = all.iter().step_by(4).map(|&one| Policy { on_the_fly, ..one }).collect();
    all.extend(more);
    all
}

#[test]
fn every_policy_commits_what_the_sequential_engine_does() {
    let mut wrong = String::new();
    for case in cases() {
        let run = |engine, policy, memory| {
            let run = Run { end: case.end, engine, policy, memory };
            run.of(case.model.model().expect("valid parameters"))
        };
        let all = policies(case.reversible);
        let (digest, results, peak) =
            run(EngineKind::Sequential, all[0], None).expect("a run without errors");
        let event_bytes = |engine, policy| match run(engine, policy, Some(0)) {
            Err(RunError::OutOfBuffers { event_bytes, .. }) => event_bytes,
            other => panic!("there is no room for an event, but {other:?}"),
        };
        let peak = peak / event_bytes(EngineKind::Sequential, all[0]);
        for policy in all {
            let bytes = event_bytes(EngineKind::TimeWarp, policy);
            let memory = policy.spare.map(|spare| (peak + spare) * bytes);
            match run(EngineKind::TimeWarp, policy, memory) {
                Ok(found) if (found.0, &found.1) == (digest, &results) => {}
                found => {
                    writeln!(wrong, "  {} {policy:?}: {found:?}", case.name).expect("a string");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not what the sequential engine commits:\n{wrong}");
}

/// A worker alone has nobody to be wrong about: it saves nothing, needs no GVT, and takes the
/// memory that the sequential engine takes.
#[test]
fn one_worker_works_as_the_sequential_engine_does() {
    for case in cases() {
        let run = |engine: Engine| {
            let model = case.model.model().expect("valid parameters");
            Simulation::new(model).engine(engine).end(case.end).run().expect("a run without errors")
        };
        let time_warp = TimeWarp { workers: 1, ..TimeWarp::default() };
        let instrumentation = Instrumentation::AS_IF_MANY;
        let many = run(TimeWarp { instrumentation, ..time_warp.clone() }.into());
        let (alone, sequential) = (run(time_warp.into()), run(Sequential::default().into()));
        assert_eq!((alone.engine, alone.workers), (EngineKind::TimeWarp, 1));
        assert_eq!((alone.digest, many.digest), (sequential.digest, sequential.digest));
        assert_eq!(exactly(&alone.output), exactly(&sequential.output));
        assert_eq!(alone.peak_buffer_bytes, sequential.peak_buffer_bytes);
        assert_eq!(alone.gvt_rounds, 0);
        assert!(many.gvt_rounds > 0 && many.peak_buffer_bytes > alone.peak_buffer_bytes);
    }
}

//! Time Warp on several ranks against the sequential engine: every model, with every policy and
//! little memory.
//!
//! Ranks are threads here. Digests cover the keys, the order and the random streams of all
//! committed events; the results of the models are compared to the last bit.

mod matrix;

use std::{fmt::Write, sync::mpsc, thread, time::Duration};

use matrix::{crowded, exactly, jammed, owners};
use warpline::{
    AnyModel, Engine, RunError, Simulation, TimeWarp,
    digest::CommitDigest,
    settings::{
        Aggregation, CheckpointInterval, EngineKind, Instrumentation, Pool, PoolKind, StateSaving,
    },
};
use warpline_models::{
    catalog::ModelParams, hypercube::HypercubeParams, pcs::PcsParams, phold::PholdParams,
};

/// No run of these tests takes this long, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The settings in which runs differ.
#[derive(Clone, Copy, Debug)]
struct Policy {
    ranks: usize,
    workers: usize,
    seed: u64,
    batch: usize,
    saving: StateSaving,
    on_the_fly: bool,
    gvt_interval: usize,
    window: f64,
    pool: PoolKind,
    aggregation: Aggregation,
    in_turn: bool,
    /// Where memory is short: for how many events more than are ever pending at once each rank has
    /// memory.
    memory: Option<u64>,
}

/// A model and its end.
struct Case {
    name: &'static str,
    model: ModelParams,
    end: f64,
    reversible: bool,
}

/// The outcome of a run; the results are text, with every bit of the numbers.
#[derive(Debug)]
struct Outcome {
    digest: CommitDigest,
    committed: u64,
    results: String,
    /// The most bytes that events took.
    peak: u64,
    /// Remote events.
    sent: u64,
}

struct Run {
    end: f64,
    engine: EngineKind,
    policy: Policy,
}

impl Run {
    fn of(self, model: AnyModel) -> Result<Outcome, RunError> {
        let Self { end, engine: kind, policy } = self;
        let engine = match kind {
            EngineKind::TimeWarp => TimeWarp {
                workers: policy.workers,
                batch: policy.batch,
                saving: policy.saving,
                gvt_interval: policy.gvt_interval,
                window: policy.window,
                pool: if policy.on_the_fly { Pool::ON_THE_FLY } else { policy.pool.into() },
                aggregation: policy.aggregation,
                // The bytes of an event are found on one rank.
                instrumentation: Instrumentation {
                    in_turn: policy.in_turn,
                    ..Instrumentation::AS_IF_MANY
                },
                pin: false,
                ..TimeWarp::default()
            }
            .into(),
            other => Engine::from(other),
        };
        let mut simulation = Simulation::new(model).engine(engine).seed(policy.seed).end(end);
        if let Some(bytes) = policy.memory {
            simulation = simulation.memory(bytes);
        }
        let report = match kind {
            EngineKind::Sequential => simulation.run()?,
            _ => simulation.run_on_ranks(policy.ranks)?,
        };
        let results = exactly(&report.output);
        let counter = |name| {
            let counters = &report.details.counters;
            counters.iter().find(|counter| counter.0 == name).map_or(0, |counter| counter.1)
        };
        let sent = counter("remote_events") + counter("remote_anti_messages");
        assert_eq!(sent, counter("remote_received"), "remote events were lost or doubled");
        Ok(Outcome {
            digest: report.digest,
            committed: report.committed_events,
            results,
            peak: report.peak_buffer_bytes,
            sent,
        })
    }
}

impl Outcome {
    fn is_like(&self, other: &Self) -> bool {
        let of = |outcome: &Self| (outcome.digest, outcome.committed, outcome.results.clone());
        of(self) == of(other)
    }
}

/// Runs a case on a thread that is left behind if the run hangs.
fn run(case: &Case, engine: EngineKind, policy: Policy) -> Result<Outcome, RunError> {
    let (done, outcome) = mpsc::channel();
    let (model, run) = (case.model.clone(), Run { end: case.end, engine, policy });
    thread::spawn(move || drop(done.send(run.of(model.model().expect("valid parameters")))));
    let failed = |error| panic!("{} hangs or has panicked ({error}): {policy:?}", case.name);
    outcome.recv_timeout(PATIENCE).unwrap_or_else(failed)
}

fn cases() -> Vec<Case> {
    let phold =
        PholdParams { lps: 24, population: 48, remote: 0.5, payload: 3, ..PholdParams::default() };
    let ticks = PholdParams { lookahead: 1.0, mean: 0.0, ..phold.clone() };
    let cube = HypercubeParams { dimension: 4, messages: 32, ..HypercubeParams::default() };
    let pcs =
        PcsParams { cells: "4x4".parse().expect("a grid"), portables: 150, ..PcsParams::default() };
    let case = |name, model, end, reversible| Case { name, model, end, reversible };
    let mut cases = vec![
        case("phold", ModelParams::from(phold), 8.0, true),
        case("phold on ticks", ModelParams::from(ticks), 8.0, true),
        case("hypercube", ModelParams::from(cube), 8.0, false),
        case("pcs", ModelParams::from(pcs), 8.0, false),
        case("traffic", ModelParams::from(jammed()), 400.0, false),
        case("network", ModelParams::from(crowded()), 5e6, false),
    ];
    cases.extend(owners(0.0).map(|(name, model, end)| case(name, model, end / 3.0, false)));
    cases
}

fn savings(reversible: bool) -> Vec<StateSaving> {
    use CheckpointInterval::Every;
    let mut all = vec![StateSaving::COPY, StateSaving::Copy { interval: Every(3) }];
    if reversible {
        all.push(StateSaving::Reverse);
    }
    all
}

/// Every cell of the small axes; the other axes take their values in turn.
fn policies(reversible: bool) -> Vec<Policy> {
    let mut all = Vec::new();
    for ranks in [1, 2, 3] {
        for workers in [1, 2] {
            for saving in savings(reversible) {
                for &pool in PoolKind::ALL {
                    let turn = all.len();
                    all.push(Policy {
                        ranks,
                        workers,
                        seed: 1 + turn as u64 / 7 % 3,
                        batch: [1, 16, 64][turn / 5 % 3],
                        saving,
                        on_the_fly: false,
                        gvt_interval: [16, 256, 1024][turn % 3],
                        window: [f64::INFINITY, f64::INFINITY, 1.0, 0.1][turn / 2 % 4],
                        pool,
                        aggregation: [
                            Aggregation::Adaptive,
                            Aggregation::Off,
                            Aggregation::Bytes(300),
                        ][turn % 3],
                        in_turn: turn % 8 == 3,
                        memory: [None, Some(6), Some(40)][turn / 2 % 3],
                    });
                }
            }
        }
    }
    let on_the_fly = true;
    let more: Vec<_> = all.iter().step_by(5).map(|&one| Policy { on_the_fly, ..one }).collect();
    all.extend(more);
    all
}

#[test]
fn every_policy_commits_what_the_sequential_engine_does() {
    let mut wrong = String::new();
    for case in cases() {
        let all = policies(case.reversible);
        let truth = |seed| {
            run(&case, EngineKind::Sequential, Policy { seed, ..all[0] })
                .expect("a run without errors")
        };
        let truths: Vec<_> = (0..4).map(truth).collect();
        let event_bytes = |engine, policy| match run(&case, engine, policy) {
            Err(RunError::OutOfBuffers { event_bytes, .. }) => event_bytes,
            other => panic!("there is no room for an event, but {other:?}"),
        };
        let none = Policy { memory: Some(0), ..all[0] };
        let sequential = event_bytes(EngineKind::Sequential, none);
        for policy in all {
            let truth = &truths[policy.seed as usize];
            let none = Policy { memory: Some(0), ranks: 1, ..policy };
            // What is saved of a state that owns memory counts, too.
            let saved = match case.name {
                "hypercube" | "pcs" => 0,
                name if name.contains("phold") => 0,
                "traffic" => 64,
                _ => 256,
            };
            let memory = policy.memory.map(|spare| {
                (saved + truth.peak / sequential + spare) * event_bytes(EngineKind::TimeWarp, none)
            });
            match run(&case, EngineKind::TimeWarp, Policy { memory, ..policy }) {
                Ok(found) if found.is_like(truth) && (found.sent > 0) == (policy.ranks > 1) => {}
                found => {
                    writeln!(wrong, "  {} {policy:?}: {found:?}", case.name).expect("a string");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not what the sequential engine commits:\n{wrong}");
}

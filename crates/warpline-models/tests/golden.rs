//! Golden digests: every model commits exactly what it committed when the digests were recorded.
//!
//! They change when a model, the order of events, the random numbers or the digest changes. A
//! pending set, an optimization or a platform must not change them.

use std::fmt::Write;

use warpline::{
    AnyModel, SavingCheck, Sequential, Simulation, Speculative, digest::CommitDigest,
    pending::PendingKind,
};
use warpline_models::{
    catalog::ModelParams,
    epidemic::EpidemicParams,
    hypercube::HypercubeParams,
    network::{Arrivals, NetworkParams, Pattern},
    pcs::{Mobility, PcsParams, Topology},
    phold::PholdParams,
    queues::{Layout, QueuesParams},
    traffic::TrafficParams,
};

/// A run and its recorded digest.
struct Golden {
    name: &'static str,
    model: ModelParams,
    seed: u64,
    end: f64,
    digest: &'static str,
}

fn goldens() -> Vec<Golden> {
    let golden = |name, model, seed, end, digest| Golden { name, model, seed, end, digest };
    vec![
        golden("phold", phold(|_| ()), 1, 20.0, "6263f42282241ac8"),
        golden("phold, seed 2", phold(|_| ()), 2, 20.0, "e8e066b57146a149"),
        golden(
            "phold, lookahead",
            phold(|p| (p.lookahead, p.remote) = (0.1, 0.1)),
            1,
            20.0,
            "e253e35daed76975",
        ),
        golden("phold, 100 bytes", phold(|p| p.payload = 100), 1, 20.0, "cbd406aa7e982272"),
        golden("phold, neighborhood", phold(|p| p.neighborhood = 2), 1, 20.0, "d1f91588f1d522ea"),
        golden(
            "phold, ticks",
            phold(|p| (p.lookahead, p.mean) = (1.0, 0.0)),
            1,
            20.0,
            "50524a033678cacf",
        ),
        golden("hypercube", cube(|_| ()), 1, 20.0, "40e9362e55c9bd86"),
        golden(
            "hypercube, ties",
            cube(|p| (p.min_length, p.max_length) = (1.0, 1.0)),
            1,
            20.0,
            "7202a11137d6c160",
        ),
        golden(
            "hypercube, latency",
            cube(|p| (p.dimension, p.latency) = (3, 0.5)),
            1,
            100.0,
            "42d313c947781c0b",
        ),
        golden("pcs", pcs(|_| ()), 1, 20.0, "394e47c85d03d549"),
        golden("pcs, bounded", pcs(|p| p.grid = Topology::Bounded), 1, 20.0, "9c6a28f55e6d934a"),
        golden(
            "pcs, mobility",
            pcs(|p| p.mobility = Some(Mobility::High)),
            1,
            20.0,
            "1b617c2768a25cb7",
        ),
        golden("pcs, no moves", pcs(|p| p.stay = f64::INFINITY), 1, 20.0, "c423529cdd589093"),
        golden("traffic", traffic(|_| ()), 1, 3_600.0, "df9c8fb8688b94cb"),
        golden(
            "traffic, no lookahead",
            traffic(|p| p.speed_max = f64::INFINITY),
            1,
            3_600.0,
            "66a20c246b4eaab1",
        ),
        golden(
            "traffic, accidents",
            traffic(|p| (p.capacity, p.accidents, p.stop) = (5.0, 3.0, 0.01)),
            1,
            7_200.0,
            "2c5704e1a7ea0189",
        ),
        golden("network", network("fat-tree:4", |_| ()), 1, 2e8, "4c95fb320c6cabf2"),
        golden(
            "network, full queues",
            network("dragonfly:4x2x2", |p| (p.queue, p.load, p.mark_at) = (4, 0.9, Some(2))),
            1,
            1e8,
            "81557f293885a231",
        ),
        golden(
            "network, bursts",
            network("leaf-spine:3x2x4", |p| {
                (p.traffic, p.arrivals, p.rate) = (Pattern::Incast, Arrivals::OnOff, 3.0);
            }),
            1,
            1e9,
            "a5a2d1a4ca4fd9e5",
        ),
        golden(
            "network, all-reduce",
            network("ring:8", |p| p.traffic = Pattern::AllReduce),
            1,
            1e9,
            "e366e3ed0f7a83f3",
        ),
        golden(
            "network, permutation",
            network("grid:4x3", |p| {
                (p.traffic, p.arrivals) = (Pattern::Permutation, Arrivals::Constant);
            }),
            1,
            2e8,
            "be935ab440296328",
        ),
        golden("queues", queues(|_| ()), 1, 100.0, "385991977302247c"),
        golden("queues, chain", queues(|p| p.layout = Layout::Chain), 1, 100.0, "3004cde4e438537a"),
        golden("queues, transit", queues(|p| p.transit = 0.5), 1, 100.0, "ad7998217f060e5f"),
        golden("epidemic", epidemic(|_| ()), 1, 365.0, "fa059fce58adc271"),
        golden("epidemic, latent", epidemic(|p| p.latent = 2.0), 1, 365.0, "66e9a62a98d237c1"),
    ]
}

fn phold(change: fn(&mut PholdParams)) -> ModelParams {
    let mut params = PholdParams::default();
    change(&mut params);
    ModelParams::from(params)
}

fn cube(change: fn(&mut HypercubeParams)) -> ModelParams {
    let mut params = HypercubeParams::default();
    change(&mut params);
    ModelParams::from(params)
}

fn pcs(change: fn(&mut PcsParams)) -> ModelParams {
    let mut params = PcsParams { portables: 6_250, ..PcsParams::default() };
    params.cells = "16x16".parse().expect("a grid");
    change(&mut params);
    ModelParams::from(params)
}

fn traffic(change: fn(&mut TrafficParams)) -> ModelParams {
    let mut params = TrafficParams { lps: Some(200), ..TrafficParams::default() };
    change(&mut params);
    ModelParams::from(params)
}

fn network(topology: &str, change: fn(&mut NetworkParams)) -> ModelParams {
    let topology = topology.parse().expect("a topology");
    let mut params = NetworkParams { topology, ..NetworkParams::default() };
    change(&mut params);
    ModelParams::from(params)
}

fn queues(change: fn(&mut QueuesParams)) -> ModelParams {
    let mut params = QueuesParams { customers: 200, ..QueuesParams::default() };
    change(&mut params);
    ModelParams::from(params)
}

fn epidemic(change: fn(&mut EpidemicParams)) -> ModelParams {
    let mut params = EpidemicParams { people: 3_000, regions: 40, ..EpidemicParams::default() };
    change(&mut params);
    ModelParams::from(params)
}

struct Digest {
    seed: u64,
    end: f64,
    pending: PendingKind,
}

impl Digest {
    fn of(self, model: AnyModel) -> CommitDigest {
        let Self { seed, end, pending } = self;
        let run = Simulation::new(model).seed(seed).end(end).engine(Sequential { pending }).run();
        let report = run.expect("a run without errors");
        assert!(report.committed_events > 1_000, "too short a run to say anything");
        report.digest
    }
}

fn digest(model: &ModelParams, seed: u64, end: f64, pending: PendingKind) -> CommitDigest {
    Digest { seed, end, pending }.of(model.model().expect("valid parameters"))
}

/// The digest with two workers that speculate.
fn speculative(model: &ModelParams, seed: u64, end: f64) -> CommitDigest {
    let model = model.model().expect("valid parameters");
    let engine = Speculative { workers: 2, ..Speculative::default() };
    let report = Simulation::new(model).seed(seed).end(end).engine(engine).run();
    report.expect("a run without errors").digest
}

#[test]
fn every_model_commits_what_it_always_has() {
    let mut changed = String::new();
    for Golden { name, model, seed, end, digest: golden } in goldens() {
        for &pending in PendingKind::ALL {
            let found = digest(&model, seed, end, pending).to_string();
            if found != golden {
                writeln!(changed, "  {name:20} {pending:10} {golden} is now {found}").unwrap();
            }
        }
        let found = speculative(&model, seed, end).to_string();
        if found != golden {
            writeln!(changed, "  {name:20} speculative {golden} is now {found}").unwrap();
        }
    }
    assert!(
        changed.is_empty(),
        "committed events have changed:\n{changed}\
         If only some pending sets or the speculative engine are listed, these break the order of \
         events: repair them.\n\
         If all are, and the change to the model, the order of events, the random numbers or the \
         digest is intended, put the new digests into the table of this file, and say in the \
         change log that results differ from here on. Otherwise it is a mistake: repair it."
    );
}

/// Each event is undone by what was saved of the state, and handled again. That takes long, so
/// these are only the beginnings of the runs.
#[test]
fn every_model_saves_what_it_changes() {
    for Golden { name, model, seed, end, .. } in goldens() {
        let model = model.model().expect("valid parameters");
        let mut run = Simulation::new(model).seed(seed).end(end / 4.0);
        let expected = run.run().expect("a run without errors");
        assert!(expected.committed_events > 400, "{name}: too short a run to say anything");
        run = run.engine(SavingCheck);
        let report = run.run().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(report.digest, expected.digest, "{name}");
    }
}

#[test]
fn a_seed_repeats_and_another_differs() {
    for Golden { name, model, seed, end, .. } in goldens() {
        let run = |seed| digest(&model, seed, end, PendingKind::default());
        let first = run(seed);
        assert_eq!(first, run(seed), "{name}: the same seed gave another digest");
        assert_ne!(first, run(seed + 1), "{name}: another seed gave the same digest");
    }
}

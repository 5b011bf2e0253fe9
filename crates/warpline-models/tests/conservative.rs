//! The conservative engine commits what the sequential one does, at every number of workers.

use warpline::{
    AnyModel, Conservative, Engine, RunError, Sequential, Simulation,
    digest::CommitDigest,
    settings::{Synchronization, SynchronizationKind},
};
use warpline_models::{
    catalog::ModelParams,
    epidemic::EpidemicParams,
    hypercube::HypercubeParams,
    network::NetworkParams,
    pcs::PcsParams,
    phold::PholdParams,
    queues::{Layout, QueuesParams},
    traffic::{Source, TrafficParams},
};

struct Run {
    engine: Engine,
    seed: u64,
    end: f64,
}

impl Run {
    fn of(self, model: AnyModel) -> Result<(CommitDigest, u64, u64), RunError> {
        let mut simulation =
            Simulation::new(model).engine(self.engine).seed(self.seed).end(self.end);
        let report = simulation.run()?;
        let end = report.end_time.get().to_bits();
        Ok((report.digest, report.committed_events, end))
    }
}

fn run(
    params: &ModelParams,
    engine: impl Into<Engine>,
    seed: u64,
    end: f64,
) -> Result<(CommitDigest, u64, u64), RunError> {
    let run = Run { engine: engine.into(), seed, end };
    run.of(params.model().expect("sound parameters"))
}

fn phold(params: PholdParams) -> ModelParams {
    ModelParams::from(params)
}

/// Workloads with a lookahead: dense and sparse windows, few and many windows, large and small
/// messages.
fn workloads() -> Vec<(ModelParams, f64)> {
    let lookahead = |lookahead, remote, lps, population| {
        phold(PholdParams { lookahead, remote, lps, population, ..PholdParams::default() })
    };
    let payload = PholdParams {
        lookahead: 0.5,
        lps: 40,
        population: 80,
        payload: 512,
        ..PholdParams::default()
    };
    let hypercube = HypercubeParams { min_length: 1.0, ..HypercubeParams::default() };
    let epidemic =
        EpidemicParams { people: 900, regions: 30, latent: 1.0, ..EpidemicParams::default() };
    vec![
        (lookahead(0.1, 0.1, 64, 1024), 20.0),
        (lookahead(0.1, 0.5, 512, 1024), 10.0),
        (lookahead(0.001, 1.0, 16, 16), 20.0),
        (lookahead(5.0, 0.5, 32, 64), 200.0),
        (lookahead(1e-7, 0.5, 8, 8), 3.0),
        (lookahead(1000.0, 0.5, 8, 16), 100.0),
        (phold(payload), 30.0),
        (ModelParams::from(hypercube), 40.0),
        (ModelParams::from(traffic()), 1_500.0),
        (ModelParams::from(network()), 3e7),
        (ModelParams::from(QueuesParams { transit: 0.3, ..QueuesParams::default() }), 20.0),
        (ModelParams::from(chain()), 50.0),
        (ModelParams::from(epidemic), 100.0),
    ]
}

/// Packets on a fat tree of four-port switches.
fn network() -> NetworkParams {
    let topology = "fat-tree:4".parse().expect("a topology");
    NetworkParams { topology, ..NetworkParams::default() }
}

/// Queues in a chain, with some time between two stations.
fn chain() -> QueuesParams {
    QueuesParams { layout: Layout::Chain, transit: 0.1, ..QueuesParams::default() }
}

/// Traffic on 40 LPs, with accidents.
fn traffic() -> TrafficParams {
    let network = Source::Grid { width: 3, height: 2 };
    TrafficParams {
        network,
        lps: Some(40),
        capacity: 3.0,
        accident_time: 200.0,
        ..TrafficParams::default()
    }
}

#[test]
fn commits_what_the_sequential_engine_does() {
    for (place, (params, end)) in workloads().into_iter().enumerate() {
        for seed in 1..4 {
            let oracle = run(&params, Sequential::default(), seed, end).expect("a sound run");
            for workers in [1, 2, 3, 4] {
                let engine = Conservative { workers, ..Conservative::default() };
                let found = run(&params, engine, seed, end).expect("a sound run");
                assert_eq!(found, oracle, "workload {place}, {workers} workers, seed {seed}");
            }
        }
    }
}

/// A model without a lookahead is refused before it runs, and the error says what to declare. A
/// model whose links have no lookahead is refused, too, because it would deadlock after every
/// event.
#[test]
fn asks_for_a_lookahead_or_links() {
    let models = [phold(PholdParams::default()), ModelParams::from(PcsParams::default())];
    for params in models {
        let error = run(&params, Conservative::default(), 1, 10.0).expect_err("no lookahead");
        let text = error.to_string();
        let parts = ["lookahead", "links", "engine"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

/// With every algorithm that uses links, on one rank and on two, the models commit the same.
#[test]
fn links_commit_what_the_sequential_engine_does() {
    let lookahead = |lookahead, neighborhood| {
        let params =
            PholdParams { lps: 48, population: 200, remote: 0.5, ..PholdParams::default() };
        phold(PholdParams { lookahead, neighborhood, ..params })
    };
    let cells = "6x4".parse().expect("a grid");
    let pcs = PcsParams { cells, portables: 300, ..PcsParams::default() };
    let hypercube = HypercubeParams { dimension: 4, messages: 64, ..HypercubeParams::default() };
    let workloads = [
        (lookahead(0.5, 0), 10.0),
        (lookahead(0.5, 1), 10.0),
        (lookahead(0.0, 1), 1.0),
        (ModelParams::from(hypercube), 40.0),
        (ModelParams::from(pcs), 30.0),
        (ModelParams::from(traffic()), 1_500.0),
        (ModelParams::from(network()), 1e7),
        (ModelParams::from(chain()), 20.0),
    ];
    for (params, end) in workloads {
        let oracle = run(&params, Sequential::default(), 1, end).expect("a sound run");
        for &synchronization in &SynchronizationKind::ALL[2..] {
            for [ranks, workers] in [[1, 1], [1, 2], [1, 4], [2, 1], [2, 2], [3, 1], [3, 2]] {
                let run = Along { synchronization, ranks, workers, end };
                let found = run.of(params.model().expect("sound parameters"));
                assert_eq!(
                    found.expect("a sound run"),
                    oracle,
                    "{params:?}, {synchronization}, {ranks} ranks of {workers}"
                );
            }
        }
    }
}

struct Along {
    synchronization: SynchronizationKind,
    ranks: usize,
    workers: usize,
    end: f64,
}

impl Along {
    fn of(self, model: AnyModel) -> Result<(CommitDigest, u64, u64), RunError> {
        let engine = Conservative {
            workers: self.workers,
            synchronization: Synchronization::new(self.synchronization, 8),
            pin: false,
            ..Conservative::default()
        };
        let mut simulation = Simulation::new(model).engine(engine).end(self.end);
        let report = match self.ranks {
            1 => simulation.run()?,
            ranks => simulation.run_on_ranks(ranks)?,
        };
        let end = report.end_time.get().to_bits();
        Ok((report.digest, report.committed_events, end))
    }
}

//! Several ranks commit what the sequential engine does, however the LPs are placed.

use std::sync::Arc;

use warpline::{
    AnyModel, Auto, Conservative, Engine, Results, Simulation, TimeWarp,
    settings::{EngineKind, Placement, Weights},
};
use warpline_models::{catalog::ModelParams, hypercube::HypercubeParams, phold::PholdParams};

/// What a run commits, and its results.
type Found = (String, u64, u64, Vec<u64>);

#[derive(Clone, Debug)]
struct Run {
    engine: EngineKind,
    ranks: usize,
    workers: usize,
    placement: Placement,
    seed: u64,
    end: f64,
}

impl Run {
    fn of(self, model: AnyModel) -> Found {
        let (workers, placement) = (self.workers, self.placement);
        let engine = match self.engine {
            EngineKind::Conservative => {
                Conservative { workers, placement, ..Conservative::default() }.into()
            }
            EngineKind::TimeWarp => TimeWarp { workers, placement, ..TimeWarp::default() }.into(),
            EngineKind::Auto => Auto { workers, placement, ..Auto::default() }.into(),
            other => Engine::from(other),
        };
        let mut simulation = Simulation::new(model).engine(engine).seed(self.seed).end(self.end);
        let report =
            if self.ranks == 1 { simulation.run() } else { simulation.run_on_ranks(self.ranks) };
        let report = report.expect("a sound run");
        let figures = report.output.figures().into_iter().map(|figure| figure.value.to_bits());
        let end = report.end_time.get().to_bits();
        (report.digest.to_string(), report.committed_events, end, figures.collect())
    }
}

/// Workloads with a lookahead, and the number of LPs of each.
fn workloads() -> Vec<(ModelParams, usize, f64)> {
    let phold = |lps, population, remote, lookahead, payload| {
        let other = PholdParams::default();
        let params = PholdParams { lps, population, remote, lookahead, payload, ..other };
        (ModelParams::from(params), lps)
    };
    let hypercube = HypercubeParams { min_length: 1.0, dimension: 5, ..HypercubeParams::default() };
    [
        (phold(64, 512, 0.3, 0.1, 0), 20.0),
        (phold(7, 50, 1.0, 0.5, 100), 60.0),
        (phold(3, 3, 0.5, 1.0, 3000), 100.0),
        ((ModelParams::from(hypercube), 32), 40.0),
    ]
    .map(|((params, lps), end)| (params, lps, end))
    .into()
}

fn placements(lps: usize, workers: usize) -> Vec<Placement> {
    let table: Arc<[u32]> = (0..lps).map(|lp| (lp * lp % workers) as u32).collect();
    let table = Placement::Table(table);
    let blocks = [Weights::Equal, Weights::Trial { events: Some(100) }].map(Placement::Blocks);
    let mut placements = vec![Placement::Model, Placement::RoundRobin, table];
    placements.extend(blocks);
    if cfg!(feature = "metis") {
        let weights = [Weights::Equal, Weights::Trial { events: None }];
        placements.extend(weights.map(Placement::Graph));
    }
    placements
}

#[test]
fn any_ranks_and_placements_commit_the_same() {
    for (place, (params, lps, end)) in workloads().into_iter().enumerate() {
        let alone = Run {
            engine: EngineKind::Sequential,
            ranks: 1,
            workers: 1,
            placement: Placement::Model,
            seed: 5,
            end,
        };
        let oracle = alone.clone().of(params.model().expect("sound parameters"));
        for ranks in 1..4 {
            for workers in 1..3 {
                let auto = Run { engine: EngineKind::Auto, ranks, workers, ..alone.clone() };
                let found = auto.clone().of(params.model().expect("sound parameters"));
                assert_eq!(found, oracle, "workload {place}: {auto:?}");
                let placements = placements(lps, ranks * workers);
                for engine in [EngineKind::Conservative, EngineKind::TimeWarp] {
                    for placement in placements.iter().cloned() {
                        let run = Run { engine, ranks, workers, placement, ..alone.clone() };
                        let found = run.clone().of(params.model().expect("sound parameters"));
                        assert_eq!(found, oracle, "workload {place}: {run:?}");
                    }
                }
            }
        }
    }
}

#[cfg(not(feature = "metis"))]
#[test]
fn a_build_without_metis_refuses_placement_by_graph_and_says_how_to_build_it() {
    let phold = ModelParams::from(PholdParams::default()).model().expect("sound parameters");
    let engine = TimeWarp { placement: Placement::Graph(Weights::Equal), ..TimeWarp::default() };
    let report = Simulation::new(phold).engine(engine).run();
    let error = report.map(|_| ()).expect_err("this placement is refused").to_string();
    assert!(error.contains("`placement` is graph"), "{error}");
    assert!(error.contains("--features metis"), "{error}");
}

//! LPs that move to other workers while a run goes on: what is committed stays the same, and an
//! uneven load becomes even.

use std::ops::ControlFlow;

use warpline::{
    AnyModel, Auto, Balance, Conservative, Engine, Sequential, Simulation, Speculative, TimeWarp,
    WorkerLimit, digest::CommitDigest, settings::Pool,
};
use warpline_models::{
    catalog::ModelParams, hypercube::HypercubeParams, pcs::PcsParams, phold::PholdParams,
    traffic::TrafficParams,
};

/// What a run commits, and what its report says.
fn run(model: AnyModel, engine: impl Into<Engine>, end: f64) -> (CommitDigest, u64, Vec<String>) {
    let report = Simulation::new(model).engine(engine).end(end).run().expect("a sound run");
    (report.digest, report.committed_events, report.details.remarks)
}

fn hot(hot_period: f64) -> PholdParams {
    let (remote, hot, lookahead) = (0.5, 0.5, 0.1);
    PholdParams {
        lps: 400,
        population: 3200,
        remote,
        hot,
        hot_period,
        lookahead,
        ..PholdParams::default()
    }
}

fn engines(workers: usize, balance: Balance) -> [Engine; 5] {
    let pin = false;
    let time_warp = TimeWarp { workers, pin, balance, ..TimeWarp::default() };
    [
        Speculative { workers, pin, balance, ..Speculative::default() }.into(),
        Conservative { workers, pin, balance, ..Conservative::default() }.into(),
        Auto { workers, pin, balance, ..Auto::default() }.into(),
        time_warp.clone().into(),
        TimeWarp { pool: Pool::ON_THE_FLY, ..time_warp }.into(),
    ]
}

/// CUT-A: wherever LPs go, and however often.
#[test]
fn lps_that_move_at_random_change_nothing() {
    let cube = HypercubeParams { dimension: 6, messages: 512, ..HypercubeParams::default() };
    let cells = "8x8".parse().expect("a grid");
    let pcs = PcsParams { cells, portables: 1600, ..PcsParams::default() };
    let uneven = TrafficParams { lps: Some(200), uneven: 3.0, ..TrafficParams::default() };
    let cases: [(&str, ModelParams, f64); 5] = [
        ("phold with a hot spot", hot(0.0).into(), 60.0),
        ("phold with a hot spot that wanders", hot(20.0).into(), 60.0),
        ("hypercube", cube.into(), 300.0),
        ("pcs", pcs.into(), 60.0),
        ("traffic", uneven.into(), 3_000.0),
    ];
    let mut moves = 0;
    for (name, params, end) in cases {
        let model = || params.model().expect("sound parameters");
        let (digest, events, _) = run(model(), Sequential::default(), end);
        for workers in [2, 3] {
            for engine in engines(workers, Balance::Randomly(0.3)) {
                if engine.kind() == warpline::settings::EngineKind::Conservative && name == "pcs" {
                    continue;
                }
                let what = format!("{name}, {workers} workers, {:?}", engine.kind());
                let (found, count, remarks) = run(model(), engine, end);
                assert_eq!((found, count), (digest, events), "{what}");
                moves += usize::from(remarks.iter().any(|remark| remark.contains("load sharing")));
            }
        }
    }
    assert!(moves > 8, "LPs moved in {moves} runs only");
}

/// The number of workers changes whenever somebody says so, and nothing else does.
#[test]
fn the_number_of_workers_changes_nothing() {
    let model = || ModelParams::from(hot(0.0)).model().expect("sound parameters");
    let end = 400.0;
    let (digest, events, _) = run(model(), Sequential::default(), end);
    for engine in engines(3, Balance::On) {
        let (what, limit) = (format!("{:?}", engine.kind()), WorkerLimit::default());
        let mut workers = [1, 2, usize::MAX].into_iter().cycle();
        let simulation = Simulation::new(model()).engine(engine).end(end).worker_limit(&limit);
        let mut simulation = simulation.observe(|_| {
            limit.set_workers(workers.next().unwrap_or(1));
            ControlFlow::Continue(())
        });
        let report = simulation.run().expect("a sound run");
        assert_eq!((report.digest, report.committed_events), (digest, events), "{what}");
    }
}

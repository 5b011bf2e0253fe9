//! A run commits the same events wherever the memory of its workers is, in a program that installs
//! the allocator. On a machine with a single NUMA node, that node is all workers' home.

#![cfg(all(target_os = "linux", not(miri)))]

mod matrix;

use matrix::{crowded, exactly, jammed, owners};
use warpline::{
    AnyModel, Auto, Balance, Conservative, Engine, Report, Simulation, Speculative, TimeWarp,
    any_model::AnyOutput,
    nodes::NodeAllocator,
    settings::{CheckpointInterval, MailQueue, MemoryPlacement, Numa, StateSaving},
};
use warpline_models::{
    catalog::{ModelParams, Parameters},
    hypercube::HypercubeParams,
    phold::PholdParams,
};

#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

fn run(model: AnyModel, end: f64, engine: impl Into<Engine>) -> Report<AnyOutput> {
    Simulation::new(model).engine(engine).end(end).run().expect("the model is sound")
}

/// The engines with two workers and that placement; `pin` binds them to cores.
fn engines(memory_placement: MemoryPlacement, pin: bool) -> Vec<Engine> {
    let workers = 2;
    let saving = StateSaving::Copy { interval: CheckpointInterval::Every(3) };
    let balance = Balance::Randomly(0.1);
    let numa = Numa::new(memory_placement);
    let time_warp = TimeWarp { workers, pin, numa, ..TimeWarp::default() };
    let time_warps =
        [TimeWarp { saving, gvt_interval: 100, balance, ..time_warp.clone() }, time_warp];
    if memory_placement == MemoryPlacement::Lp {
        let daemons = |time_warp: TimeWarp, mail| TimeWarp {
            numa: Numa { migration_daemons: 2, mail, ..time_warp.numa },
            ..time_warp
        };
        let mails = [MailQueue::Worker, MailQueue::BottomHalf];
        let all = mails.map(|mail| time_warps.clone().map(|one| daemons(one, mail).into()));
        return all.concat();
    }
    let [moving, time_warp] = time_warps.map(Engine::from);
    vec![
        moving,
        time_warp,
        Conservative { workers, pin, memory_placement, ..Conservative::default() }.into(),
        Speculative { workers, pin, memory_placement, ..Speculative::default() }.into(),
        Auto { workers, pin, memory_placement, ..Auto::default() }.into(),
    ]
}

fn count(report: &Report<AnyOutput>, name: &str) -> Option<u64> {
    report.details.counters.iter().find(|(key, _)| *key == name).map(|(_, count)| *count)
}

/// Every engine, and models whose states own memory, and whose messages do.
#[test]
fn the_answer_is_the_same() {
    let phold = PholdParams { lps: 64, lookahead: 0.5, ..PholdParams::default() };
    let cube = HypercubeParams { dimension: 5, messages: 64, ..HypercubeParams::default() };
    let mut cases: Vec<(ModelParams, f64)> = vec![
        (phold.into(), 60.0),
        (cube.into(), 60.0),
        (jammed().into(), 1000.0),
        (crowded().into(), 2e7),
    ];
    cases.extend(owners(0.5).map(|(_, model, end)| (model, end)));
    for (params, end) in cases {
        let model = || params.clone().model().unwrap();
        let oracle = run(model(), end, Engine::default());
        let all = [MemoryPlacement::Worker, MemoryPlacement::Lp];
        for engine in all.into_iter().flat_map(|placement| engines(placement, false)) {
            let report = run(model(), end, engine.clone());
            assert_eq!(report.digest, oracle.digest, "{engine:?}");
            assert_eq!(exactly(&report.output), exactly(&oracle.output));
            let remark =
                report.details.remarks.iter().filter(|text| text.contains("memory placement"));
            assert_eq!(remark.count(), 1, "{:?}", report.details.remarks);
        }
    }
}

/// What workers that are bound to cores allocate lies on the nodes of their cores, and without a
/// placement nothing is counted. (Two ranks of a machine with one core are not bound.)
#[test]
fn the_report_says_where_memory_is() {
    let params =
        PholdParams { lps: 256, population: 4096, lookahead: 0.5, ..PholdParams::default() };
    let model = || params.clone().model().unwrap();
    let all = [MemoryPlacement::Worker, MemoryPlacement::Lp];
    for engine in all.into_iter().flat_map(|placement| engines(placement, true)) {
        let report = run(model(), 40.0, engine.clone());
        let Some(pages) = count(&report, "pages") else { continue };
        let refused = count(&report, "bindings_refused") != Some(0);
        assert!(refused || count(&report, "pages_at_home") == Some(pages), "{engine:?}: {pages}");
    }
    for engine in engines(MemoryPlacement::Lp, true) {
        let report = run(model(), 40.0, engine);
        assert!(
            count(&report, "segments_realigned").is_some() || count(&report, "pages").is_none()
        );
    }
    for engine in engines(MemoryPlacement::Off, true) {
        let report = run(model(), 40.0, engine);
        assert_eq!(count(&report, "pages"), None);
        assert!(!report.details.remarks.iter().any(|text| text.contains("memory placement")));
    }
}

//! Every model stops, goes on with another engine, is written to a file and read back, and ends as
//! a run in one piece does: the same digest, and the same results to the last bit.
//!
//! # Mutations, each seen red
//!
//! - a field of a state is `serde(skip)`: other results, or another digest
//! - `Trace` is read back in reverse: another picture of a circuit
//! - `Pcs::adapt` allows other cells

mod matrix;

use matrix::{crowded, exactly, jammed, owners};
use warpline::{
    AnyModel, Auto, Conservative, Engine, Results, Sequential, Simulation, Speculative, TimeWarp,
    any_model::AnySession,
};
use warpline_models::{
    catalog::{ModelParams, RunSetup},
    circuit::CircuitParams,
    hypercube::HypercubeParams,
    pcs::PcsParams,
    phold::PholdParams,
};

const SEED: u64 = 5;

/// Models, the times at which they stop, and the ends of their runs.
fn cases() -> Vec<(&'static str, ModelParams, f64)> {
    let phold = PholdParams {
        lps: 32,
        population: 64,
        remote: 0.5,
        lookahead: 0.1,
        ..PholdParams::default()
    };
    let mut cases = vec![
        ("phold", phold.clone().into(), 20.0),
        ("large messages", PholdParams { payload: 200, ..phold }.into(), 20.0),
        ("hypercube", HypercubeParams { dimension: 4, ..HypercubeParams::default() }.into(), 60.0),
        ("pcs", pcs(8).into(), 60.0),
        ("traffic", jammed().into(), 600.0),
        ("network", crowded().into(), 3e8),
        ("circuit", CircuitParams::default().into(), 2e-9),
    ];
    cases.extend(owners(0.2));
    cases
}

fn pcs(channels: u32) -> PcsParams {
    let cells = "6x6".parse().expect("a grid");
    PcsParams { cells, portables: 400, channels, ..PcsParams::default() }
}

fn model(params: &ModelParams) -> AnyModel {
    // With pictures, which are a part of states, too.
    let setup = RunSetup { seed: SEED, end: None, records: false, pictures: true, resumes: false };
    params.prepare(&setup).expect("sound parameters").model
}

fn engines(model: &AnyModel) -> Vec<Engine> {
    let pin = false;
    let mut engines: Vec<Engine> = vec![
        Sequential::default().into(),
        TimeWarp { workers: 3, ..TimeWarp::default() }.into(),
        Speculative { workers: 2, pin, ..Speculative::default() }.into(),
        Auto { workers: 2, pin, ..Auto::default() }.into(),
    ];
    if model.lookahead().is_some_and(|lookahead| lookahead > 0.0) {
        engines.push(Conservative { workers: 3, pin, ..Conservative::default() }.into());
    }
    engines
}

/// What a session has come to: the digest, results and pictures.
fn outcome(session: &dyn AnySession<'_>) -> (String, String, String) {
    let report = session.report().expect("the model makes no mistake");
    let pictures = format!("{:?}", report.output.pictures());
    (report.digest.to_string(), exactly(&report.output), pictures)
}

#[test]
fn every_model_goes_on_from_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ckpt");
    for (name, params, end) in cases() {
        let simulation = |engine: &Engine| {
            Simulation::new(model(&params)).seed(SEED).end(end).engine(engine.clone())
        };
        let engines = engines(&model(&params));
        let mut whole = simulation(&engines[0]).session().expect(name);
        whole.run_to_end().expect(name);
        let expected = outcome(&*whole);
        let run = simulation(&engines[0]).run().expect(name);
        assert_eq!(run.digest.to_string(), expected.0, "{name}: a run is a session");
        assert_eq!(exactly(&run.output), expected.1, "{name}: a run is a session");
        for (number, engine) in engines.iter().enumerate() {
            let next = &engines[(number + 1) % engines.len()];
            let mut session = simulation(engine).session().expect(name);
            session.run_until(0.4 * end).expect(name);
            let before = outcome(&*session);
            session.save(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut branch = session.branch().expect(name);
            let mut resumed = simulation(next).resume(&path).expect(name);
            assert_eq!(outcome(&*resumed), before, "{name} from {engine:?}");
            branch.set_engine(next.clone()).expect(name);
            for session in [&mut session, &mut branch, &mut resumed] {
                session.run_to_end().expect(name);
                assert_eq!(outcome(&**session), expected, "{name} from {engine:?} to {next:?}");
            }
        }
    }
}

/// Branches with other parameters have common random numbers, and are what they are on every
/// engine; other models than those that may follow are refused.
#[test]
fn branches_have_other_parameters() {
    let simulation =
        |params: PcsParams| Simulation::new(model(&params.into())).seed(SEED).end(60.0);
    let mut past = simulation(pcs(8)).session().expect("sound");
    past.run_until(20.0).expect("no mistake");
    let branch = |channels| past.branch_as(model(&pcs(channels).into()));
    let mut found = Vec::new();
    for channels in [4, 8, 12] {
        let mut outcomes = Vec::new();
        for engine in engines(&model(&pcs(8).into())) {
            let mut future = branch(channels).expect("it may follow");
            future.set_engine(engine).expect("it fits");
            future.run_to_end().expect("no mistake");
            outcomes.push(outcome(&*future));
        }
        assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "{outcomes:?}");
        let report = past.report().expect("no mistake");
        assert_eq!(report.end_time.get(), 20.0, "the past has not moved");
        found.push(outcomes.swap_remove(0));
    }
    past.run_to_end().expect("no mistake");
    assert_eq!(outcome(&*past), found[1], "the branch with the same parameters");
    assert_ne!(found[0], found[2]);

    let refusal = |refused: Result<Box<dyn AnySession<'_> + '_>, warpline::RunError>| {
        refused.map(|_| ()).expect_err("it is refused").to_string()
    };
    let other = PcsParams { portables: 300, ..pcs(8) };
    let error = refusal(past.branch_as(model(&other.into())));
    assert!(error.contains("--channels, --stay"), "{error}");
    let error = refusal(past.branch_as(model(&PholdParams::default().into())));
    assert!(
        error.contains("`branch` is phold, but must be the same type of model: pcs"),
        "{error}"
    );
}

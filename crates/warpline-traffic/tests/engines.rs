//! Random networks with random parameters: every engine commits what the sequential one does, and
//! no car is lost.
//!
//! # Mutations of the model, each seen red
//!
//! - `leave` sends with the difference of times in place of the notice: an engine finds a broken
//!   lookahead.
//! - `TrafficLp::clone_from` leaves out the queue: Time Warp and the speculative engine commit
//!   something else.

use std::path::Path;

use proptest::prelude::*;
use warpline::{
    Conservative, Engine, Results, Sequential, Simulation, Speculative, TimeWarp,
    settings::{Synchronization, SynchronizationKind},
};
use warpline_traffic::{model::Traffic, params::TrafficParams, source::Source};

/// A network of some junctions and random routes, as text; with it the number of its parts.
fn network() -> impl Strategy<Value = (String, usize)> {
    (1_usize..6).prop_flat_map(|junctions| {
        let ends = proptest::collection::vec((0..junctions, 0..junctions, 1_u32..60), 0..8);
        ends.prop_map(move |routes| {
            let mut text = "from,to,km,one_way\n".to_owned();
            // Every junction has to occur.
            for n in 0..junctions {
                text += &format!("{n},{},{},no\n", (n + 1) % junctions, n + 5);
            }
            for (n, (from, to, km)) in routes.iter().enumerate() {
                text += &format!("{from},{to},{km},{}\n", if n % 3 == 0 { "yes" } else { "no" });
            }
            (text, 2 * junctions + routes.len())
        })
    })
}

/// Parameters in all ranges, extremes among them.
fn params() -> impl Strategy<Value = TrafficParams> {
    let traffic = (2.0..60.0_f64, 1..4_u32, 0.0..=1.0_f64, 0.3..4.0_f64);
    let speeds = (
        prop::sample::select(vec![0.0, 20.0, 1e6]),
        prop::sample::select(vec![40.0, 110.0]),
        prop::sample::select(vec![110.0, 180.0, f64::INFINITY]),
        prop::sample::select(vec![0.01, 1.0, 30.0]),
    );
    let trouble = (
        prop::sample::select(vec![0.5, 4.0, 60.0]),
        prop::sample::select(vec![0.0, 0.5, 1.0]),
        prop::sample::select(vec![0.0, 1.0, 1e9]),
        prop::sample::select(vec![0.0, 0.01, 1.0]),
        prop::sample::select(vec![0.0, 60.0, 1e5]),
        prop::sample::select(vec![0.0, 2.0]),
    );
    (traffic, speeds, trouble).prop_map(|(traffic, speeds, trouble)| {
        let (interarrival, erlang_stages, leave, uneven) = traffic;
        let (speed_deviation, speed_min, speed_max, junction_length) = speeds;
        let (capacity, jam, accidents, stop, time, headway) = trouble;
        TrafficParams {
            interarrival: Some(interarrival),
            erlang_stages,
            leave: Some(leave),
            uneven,
            speed_deviation,
            speed_min,
            speed_max,
            junction_length,
            capacity,
            jam,
            accidents,
            accident_time: time,
            stop,
            stop_time: time,
            headway,
            ..TrafficParams::default()
        }
    })
}

/// The digest and the results, with every bit, of a run.
fn outcome(params: &TrafficParams, engine: Engine) -> (String, Vec<(String, u64)>) {
    let model = Traffic::new(params.clone()).expect("sound parameters").into_any();
    let report = Simulation::new(model).seed(7).end(900.0).engine(engine).run();
    let report = report.unwrap_or_else(|error| panic!("{error}: {params:?}"));
    let figures = report.output.figures().into_iter();
    let bits = figures.map(|figure| (figure.name.to_string(), figure.value.to_bits())).collect();
    (report.digest.to_string(), bits)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_engine_commits_the_same(
        (text, parts) in network(), more in 0_usize..20, params in params(), workers in 1_usize..4,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("roads.csv");
        std::fs::write(&path, text).expect("it can be written");
        let network = Source::File(Path::new(&path).to_owned());
        let params = TrafficParams { network, lps: Some(parts + more), ..params };
        let oracle = outcome(&params, Sequential::default().into());
        let mut engines: Vec<Engine> = vec![
            TimeWarp { workers, ..TimeWarp::default() }.into(),
            Speculative { workers, ..Speculative::default() }.into(),
        ];
        if params.speed_max.is_finite() {
            let windows = Conservative { workers, ..Conservative::default() };
            let synchronization = Synchronization::new(SynchronizationKind::NullMessages, 8);
            engines.push(Conservative { synchronization, ..windows.clone() }.into());
            engines.push(windows.into());
        }
        for engine in engines {
            let name = format!("{engine:?}");
            prop_assert_eq!(outcome(&params, engine), oracle.clone(), "{} {:?}", name, params);
        }
        let cars = |name| {
            let bits = oracle.1.iter().find(|(figure, _)| figure == name).expect("a figure").1;
            f64::from_bits(bits)
        };
        prop_assert_eq!(cars("cars_in"), cars("cars_out") + cars("cars_under_way"));
    }
}

//! PLAIN-A: Time Warp's loop over events is compiled for two policies, `Plain` and `Full`, and both
//! do the same in a run with none of the parts that `Full` asks for. Runs in turn repeat themselves
//! exactly, so their counts are compared as well: events that were undone, rollbacks, rounds of
//! GVT.
//!
//! Mutations of `Plain` that turn this red: `handle` notes no `undo_from`; it makes no copy before
//! one event in eight; `accept` sends to the worker after the right one; `deliver` does not note
//! one send in eight.

use warpline::{Simulation, TimeWarp, settings::Instrumentation};
use warpline_models::{
    catalog::ModelParams, pcs::PcsParams, phold::PholdParams, queues::QueuesParams,
};

/// A model whose states are copied, one with messages, one whose fields save what they change.
fn models() -> [(&'static str, ModelParams, f64); 3] {
    let phold = PholdParams { lps: 64, population: 256, ..PholdParams::default() };
    let pcs = PcsParams {
        cells: "8x8".parse().expect("a grid"),
        portables: 1600,
        ..PcsParams::default()
    };
    [
        ("phold", phold.into(), 100.0),
        ("pcs", pcs.into(), 60.0),
        ("queues", QueuesParams::default().into(), 200.0),
    ]
}

#[test]
fn plain_does_what_full_does() {
    for (name, params, end) in models() {
        let run = |measure_costs| {
            let instrumentation =
                Instrumentation { measure_costs, in_turn: true, ..Instrumentation::default() };
            let engine = TimeWarp { workers: 3, instrumentation, ..TimeWarp::default() };
            let model = params.clone().model().expect("sound parameters");
            let report = Simulation::new(model).engine(engine).end(end).run().expect("a sound run");
            assert_eq!(report.details.costs.is_empty(), !measure_costs, "{name}");
            report
        };
        let (plain, full) = (run(false), run(true));
        let counts = |report: &warpline::Report<_>| {
            let (processed, undone) = (report.processed_events, report.rolled_back_events);
            (report.digest, report.committed_events, processed, undone, report.gvt_rounds)
        };
        assert_eq!(counts(&plain), counts(&full), "{name}");
        assert!(plain.rolled_back_events > 0, "{name}: nothing was undone");
    }
}

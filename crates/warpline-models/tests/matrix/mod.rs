//! The results of runs, as the matrices of engines and policies compare them.

use std::fmt::Write;

use warpline::Results;
use warpline_models::{
    catalog::ModelParams,
    epidemic::EpidemicParams,
    network::NetworkParams,
    queues::{Layout, QueuesParams},
    traffic::{Source, TrafficParams},
};

/// The results of a run as text, with every bit of the numbers.
pub(crate) fn exactly(results: &impl Results) -> String {
    results.figures().iter().fold(String::new(), |mut text, figure| {
        write!(text, "{}={:x} ", figure.name, figure.value.to_bits()).expect("a string");
        text
    })
}

/// Traffic on a small grid, so dense that jams, stops and accidents occur all the time.
pub(crate) fn jammed() -> TrafficParams {
    TrafficParams {
        network: Source::Grid { width: 2, height: 2 },
        lps: Some(16),
        interarrival: Some(10.0),
        speed: 300.0,
        speed_max: 500.0,
        capacity: 4.0,
        accidents: 2.0,
        accident_time: 60.0,
        accident_deviation: 30.0,
        stop: 0.02,
        stop_time: 60.0,
        ..TrafficParams::default()
    }
}

/// A fat tree of four-port switches, so full that packets are dropped and marked all the time.
pub(crate) fn crowded() -> NetworkParams {
    NetworkParams {
        topology: "fat-tree:4".parse().expect("a topology"),
        queue: 5,
        mark_at: Some(3),
        load: 0.9,
        ..NetworkParams::default()
    }
}

/// Models whose LPs own queues and lists, with this lookahead: a closed network of queues, a chain,
/// and an epidemic; with the times at which they end.
pub(crate) fn owners(lookahead: f64) -> [(&'static str, ModelParams, f64); 3] {
    let (transit, latent) = (lookahead, lookahead);
    let closed = QueuesParams { stations: 9, customers: 60, transit, ..QueuesParams::default() };
    let chain = QueuesParams { layout: Layout::Chain, load: 0.9, ..closed.clone() };
    let epidemic = EpidemicParams { people: 400, regions: 16, latent, ..EpidemicParams::default() };
    [
        ("queues", closed.into(), 30.0),
        ("queues in a chain", chain.into(), 60.0),
        ("epidemic", epidemic.into(), 100.0),
    ]
}

//! The results of runs, as the matrices of engines and policies compare them.

use std::fmt::Write;

use warpline::Results;
use warpline_models::{
    network::NetworkParams,
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

//! How evenly weights share the events of models whose LPs are uneven: the events of the busiest
//! worker by the mean, with blocks of equal weight.
//!
//! `cargo run --release -p warpline-models --example weights`
//!
//! The events of an LP are the same in each engine and in each run, so these numbers are, too.

#![expect(clippy::print_stdout, reason = "it is what an example is for")]

use warpline::{RunError, Simulation};
use warpline_graph::{blocks, weighted_blocks};
use warpline_models::{
    catalog::ModelParams, pcs::PcsParams, phold::PholdParams, traffic::TrafficParams,
};

const WORKERS: [usize; 3] = [2, 4, 8];

fn main() -> Result<(), RunError> {
    let hot = PholdParams { lps: 1024, population: 16_384, ..PholdParams::default() };
    let hot = PholdParams { remote: 0.5, hot: 0.7, ..hot };
    let wanders = PholdParams { hot_period: 1000.0, ..hot.clone() };
    println!("{:42} {:>8} {:>7} {:>7} {:>7}", "", "events", "equal", "trial", "all");
    print_lines("phold, a hot spot", &hot.into(), 100.0)?;
    print_lines("phold, a hot spot that wanders", &wanders.into(), 100.0)?;
    print_lines("pcs", &PcsParams::default().into(), 400.0)?;
    print_lines("traffic", &TrafficParams::default().into(), 7_200.0)
}

/// A line for each number of workers: with equal weights, with those of a trial of 256 events for
/// each LP, and with the events of the whole run as weights, which is the best there is.
fn print_lines(name: &str, params: &ModelParams, end: f64) -> Result<(), RunError> {
    let model = params.model()?;
    let lps = model.lp_count();
    let simulation = Simulation::new(model).end(end);
    let trial = simulation.events_by_lp(256 * lps as u64)?;
    let all = simulation.events_by_lp(u64::MAX)?;
    for workers in WORKERS {
        let of = |parts: &[usize]| busiest(&all, parts, workers);
        println!(
            "{:42} {:8} {:7.2} {:7.2} {:7.2}",
            format!("{name}, {workers} workers"),
            all.iter().sum::<u64>(),
            of(&blocks(lps, workers)),
            of(&weighted_blocks(&trial, workers)),
            of(&weighted_blocks(&all, workers)),
        );
    }
    Ok(())
}

/// The events of the busiest worker by the mean.
fn busiest(events: &[u64], parts: &[usize], workers: usize) -> f64 {
    let mut loads = vec![0; workers];
    events.iter().zip(parts).for_each(|(events, part)| loads[*part] += events);
    let total: u64 = loads.iter().sum();
    loads.into_iter().max().unwrap_or_default() as f64 * workers as f64 / total as f64
}

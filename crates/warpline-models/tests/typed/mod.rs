//! Runs of the shipped models, with their typed results.
//!
//! Engines are compiled for the models once, in the library; a test that makes a simulation of a
//! model itself compiles them again.

use std::ops::Range;

use warpline::{AnyModel, Report, Simulation, any_model::AnyOutput, replication::Replications};
use warpline_models::catalog::Parameters;

/// A simulation of the model with these parameters.
pub(crate) fn simulation(params: impl Parameters) -> Simulation<'static, AnyModel> {
    Simulation::new(params.model().expect("valid parameters"))
}

/// A report with the model's typed result.
pub(crate) fn typed<O: Clone + 'static>(report: Report<AnyOutput>) -> Report<O> {
    report.map(|output| output.get::<O>().expect("the output of this model").clone())
}

/// Replications with the model's typed results, which are of this part of virtual time.
pub(crate) fn replicate<O: Clone + 'static>(
    params: impl Parameters,
    seed: u64,
    time: Range<f64>,
    count: usize,
) -> Replications<O> {
    let simulation = simulation(params).seed(seed).warm_up(time.start).end(time.end);
    let runs = simulation.replicate(count, |_| ()).expect("a run");
    let reports = runs.reports.into_iter().map(typed).collect();
    Replications { reports, interrupted: runs.interrupted }
}

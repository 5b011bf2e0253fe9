//! Points with made-up samples, for the tests of figures and claims.

use warpline::pending::PendingKind;
use warpline_models::{catalog::ModelParams, phold::PholdParams};

use crate::{Executor, Point, Sample, Setup, Workload};

/// A point with these rates.
pub(crate) fn point(curve: &str, x: f64, rates: &[f64]) -> Point {
    let setup = Setup {
        model: Workload::Shipped(ModelParams::from(PholdParams::default())),
        end: 1.0,
        executor: Executor::Sequential(PendingKind::default()),
    };
    let sample = |&rate| Sample {
        rate,
        efficiency: 1.0,
        null_messages: 0,
        deadlocks: 0,
        events_per_gvt: 1.0,
        events_per_turn: 1.0,
        local_share: None,
        moved_lps: 0,
        realigned: 0,
        counts: [None; 3],
    };
    let samples = rates.iter().map(sample).collect();
    Point { samples, ..Point::new(curve, x, setup) }
}

//! What figures 3, 7 and 8 share: the rate of a model by the number of workers, a curve per pool.

use crate::{
    Axis, Claim, Executor, Lab, LabError, Point, Setup, TimeWarp, Workload,
    figures::{PARTITIONED, RECEIVER, SENDER},
};
use warpline::PoolKind;

/// Runs `model` up to virtual time `end` with every pool and every number of workers.
pub(super) fn by_workers(
    lab: &Lab<'_>,
    model: &Workload,
    end: f64,
) -> Result<Vec<Point>, LabError> {
    let mut points = Vec::new();
    for &pool in PoolKind::ALL {
        for &workers in &lab.settings.workers {
            let executor = Executor::TimeWarp(TimeWarp::new(workers, pool));
            let setup = Setup { model: model.clone(), end, executor };
            points.push(Point::new(pool.name(), workers as f64, setup));
        }
    }
    lab.sample(points)
}

/// The axis with these numbers of workers.
pub(super) fn workers_axis(lab: &Lab<'_>) -> Axis {
    let workers = lab.settings.workers.iter();
    Axis::new("workers (threads)").with_ticks(workers.map(|&n| n as f64))
}

/// One worker sends nothing to another, so all pools are the same there.
pub(super) fn several(workers: f64) -> bool {
    workers > 1.0
}

/// That partitioned pools are the fastest, with several workers.
pub(super) fn partitioned_is_fastest(points: &[Point]) -> [Claim; 2] {
    [SENDER, RECEIVER].map(|other| {
        let text = format!("partitioned pools are faster than {other} pools with several workers");
        Claim::above(text, points, [PARTITIONED, other], several)
    })
}

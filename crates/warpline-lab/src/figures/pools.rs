//! The common part of figures 3, 7 and 8: the rate of a model by the number of workers, a curve per
//! pool.

use crate::{
    Axis, Claim, Executor, Lab, LabError, Point, Setup, TimeWarp, Workload,
    figures::{MIB, PARTITIONED, RECEIVER, SENDER},
};
use warpline::settings::PoolKind;

/// The memory for event buffers of each worker: as in the paper for partitioned pools (section 7).
const MEBIBYTES: u64 = 8;

/// Runs `model` up to virtual time `end` with every pool and every number of workers. Workers of
/// partitioned pools keep `local_share` of their buffers for sends to themselves.
pub(super) fn by_workers(
    lab: &Lab<'_>,
    model: &Workload,
    end: f64,
    local_share: Option<f64>,
) -> Result<Vec<Point>, LabError> {
    let mut points = Vec::new();
    for &pool in PoolKind::ALL {
        for &workers in &lab.settings.workers {
            let memory = Some(MEBIBYTES * MIB * workers as u64);
            let time_warp = TimeWarp { memory, local_share, ..TimeWarp::new(workers, pool) };
            let executor = Executor::TimeWarp(time_warp);
            let setup = Setup { model: model.clone(), end, executor };
            points.push(Point::new(pool.name(), workers as f64, setup));
        }
    }
    lab.sample(points)
}

/// The length of the runs and their memory, for the text.
pub(super) fn conditions(lab: &Lab<'_>, end: f64) -> String {
    format!(
        "Up to virtual time {end}, with {MEBIBYTES} MiB of event buffers for each worker; {} \
         rounds.",
        lab.settings.samples
    )
}

/// The axis with these numbers of workers.
pub(super) fn workers_axis(lab: &Lab<'_>) -> Axis {
    let workers = lab.settings.workers.iter();
    Axis::new("workers (threads)").with_ticks(workers.map(|&n| n as f64))
}

/// Whether claims are tested with this number of workers. One worker sends nothing to another, so
/// all pools are the same there; and more workers than cores wait for each other.
pub(super) fn comparable(workers: f64) -> bool {
    workers > 1.0 && workers <= warpline_memory::cores() as f64
}

/// The claims that partitioned pools are the fastest.
pub(super) fn partitioned_is_fastest(points: &[Point]) -> [Claim; 2] {
    [SENDER, RECEIVER].map(|other| {
        let text = format!(
            "partitioned pools are faster than {other} pools, with 2 workers up to as many as cores"
        );
        Claim::of_paper(text).test_faster(points, [PARTITIONED, other], comparable)
    })
}

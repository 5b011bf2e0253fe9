//! Figure 5 of the portable-runtime paper: speed-ups of conservative simulation with null messages.

use warpline::{
    pending::PendingKind,
    settings::{Aggregation, SynchronizationKind},
};
use warpline_models::{catalog::ModelParams, hypercube::HypercubeParams};

use super::pools;
use crate::{
    Bounds, Claim, Conservative, Executor, Figure, Findings, Lab, LabError, Point, Setup, Workload,
    claim::ratios, sampling::median,
};

/// Figure 5 of the portable-runtime paper.
#[derive(Debug)]
pub struct RuntimeFig5;

const NULL_MESSAGES: &str = SynchronizationKind::NullMessages.name();
const WINDOWS: &str = SynchronizationKind::Windows.name();
const SEQUENTIAL: &str = "sequential";
/// The paper's least speed-up by its number of processors: over 5 on the 8 nodes of a Paragon.
const PER_WORKER: f64 = 5.0 / 8.0;

impl Figure for RuntimeFig5 {
    fn name(&self) -> &'static str {
        "runtime-fig5"
    }

    fn title(&self) -> &'static str {
        "Conservative simulation with null messages: speed-up by number of workers"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(1_000.0);
        let points = lab.sample(points(lab, end))?;
        let (sequential, parallel): (Vec<_>, Vec<_>) =
            points.iter().cloned().partition(|point| point.curve == SEQUENTIAL);
        let mut findings =
            Findings::of_rates("Hypercube of dimension 7", pools::workers_axis(lab), &parallel);
        findings.table =
            Findings::of_rates("Hypercube of dimension 7", pools::workers_axis(lab), &points).table;
        findings.remarks.extend(beside_sequential(&parallel, &sequential));
        Ok(Findings {
            paper: "Wen and Yelick 1995, figure 5: circuits on a CM5, SP2 and Paragon. Against the \
                    parallel program on one processor the speed-up was over 5 on 8 nodes of the \
                    Paragon, over 20 on 32 of the CM5, and over 33 on 64 of the SP2; nearly linear \
                    for the larger circuit.",
            setup: format!(
                "{} up to virtual time {end}; {} rounds. The circuit simulator is not there yet.",
                describe(),
                lab.settings.samples
            ),
            claims: claims(&parallel),
            ..findings
        })
    }
}

/// The model of this figure and the next: it has links, each with a lookahead.
pub(super) fn model() -> Workload {
    Workload::Shipped(ModelParams::from(HypercubeParams::default()))
}

/// A description of the model, for the text.
pub(super) fn describe() -> &'static str {
    "Hypercube of dimension 7 with 2048 messages: 128 LPs with 7 links each, of lookahead \
     0.5, a mean time of 1 to pass one"
}

/// The conservative engine with its default settings.
pub(super) fn engine(workers: usize, synchronization: SynchronizationKind) -> Conservative {
    Conservative {
        ranks: 1,
        workers,
        synchronization,
        edge_capacity: 64,
        aggregation: Aggregation::default(),
    }
}

fn points(lab: &Lab<'_>, end: f64) -> Vec<Point> {
    let mut points = Vec::new();
    let mut point = |curve: &str, x, executor| {
        points.push(Point::new(curve, x, Setup { model: model(), end, executor }));
    };
    for synchronization in [SynchronizationKind::NullMessages, SynchronizationKind::Windows] {
        for &workers in &lab.settings.workers {
            let executor = Executor::Conservative(engine(workers, synchronization));
            point(synchronization.name(), workers as f64, executor);
        }
    }
    point(SEQUENTIAL, 1.0, Executor::Sequential(PendingKind::default()));
    points
}

/// The rate of every point by that of the sequential engine, for the text.
fn beside_sequential(parallel: &[Point], sequential: &[Point]) -> Vec<String> {
    let told = |point: &Point| {
        let sequential = sequential.first()?;
        let ratio = median(ratios(point, sequential).into_iter());
        Some(format!(
            "{} with {} worker(s): {ratio:.2} of the sequential engine's rate.",
            point.curve, point.x
        ))
    };
    parallel.iter().filter_map(told).collect()
}

/// The paper has null messages. The claim about windows is ours.
fn claims(parallel: &[Point]) -> Vec<Claim> {
    let claim = |new: fn(String) -> Claim, curve: &str| {
        let of_curve = || parallel.iter().filter(|point| point.curve == curve);
        let mut claim = new(format!(
            "{curve}: against one worker the speed-up is above {PER_WORKER:.3} per worker (over 5 \
             on 8)"
        ));
        let one = of_curve().find(|point| point.x == 1.0);
        for point in of_curve().filter(|point| point.x > 1.0 && !point.oversubscribed()) {
            let Some(one) = one else { continue };
            let parts: Vec<_> = ratios(point, one).iter().map(|ratio| ratio / point.x).collect();
            let place = format!("with {} workers", point.x);
            claim = claim.test_rounds(place, &parts, Bounds::Above(PER_WORKER));
        }
        claim
    };
    vec![claim(Claim::of_paper, NULL_MESSAGES), claim(Claim::own, WINDOWS)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    #[test]
    fn claims_tell_a_speed_up_from_none() {
        let verdicts = |growth| {
            let curve =
                |name| [1.0, 2.0].map(|x| point(name, x, &[if x > 1.0 { growth } else { 1.0 }; 5]));
            let points: Vec<_> = curve(NULL_MESSAGES).into_iter().chain(curve(WINDOWS)).collect();
            claims(&points).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(1.9), [Verdict::Yes; 2]);
        assert_eq!(verdicts(0.9), [Verdict::No; 2]);
    }
}

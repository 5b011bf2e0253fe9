//! Table 1 and figure 5 of the portable-runtime paper: circuits, and the speed-up of their
//! conservative simulation with null messages.

use warpline::{
    Results as _, RunError, Simulation,
    pending::PendingKind,
    settings::{Aggregation, PoolKind, SynchronizationKind},
};
use warpline_models::{
    catalog::ModelParams,
    circuit::{CircuitParams, Generator},
    hypercube::HypercubeParams,
};

use super::pools;
use crate::{
    Bounds, Claim, Conservative, Executor, Figure, Findings, Lab, LabError, Point, Setup, TimeWarp,
    Workload, claim::ratios, sampling::median,
};

/// Table 1 and figure 5 of the portable-runtime paper.
#[derive(Debug)]
pub struct RuntimeFig5;

/// The circuits: about the size of the paper's C2670, and a register file like the paper's.
const CIRCUITS: [Generator; 2] =
    [Generator::Multiplier(16), Generator::RegisterFile { words: 16, bits: 32 }];
/// The time that is simulated (s): ten vectors; the register file's are as long.
const END: f64 = 100e-9;
const NULL_MESSAGES: &str = SynchronizationKind::NullMessages.name();
const WINDOWS: &str = SynchronizationKind::Windows.name();
const TIME_WARP: &str = "timewarp";
const SEQUENTIAL: &str = "sequential";
/// The paper's least speed-up by its number of processors: over 5 on the 8 nodes of a Paragon.
const PER_WORKER: f64 = 5.0 / 8.0;

impl Figure for RuntimeFig5 {
    fn name(&self) -> &'static str {
        "runtime-fig5"
    }

    fn title(&self) -> &'static str {
        "Circuits, conservative with null messages: speed-up by number of workers"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(END);
        let points = lab.sample(points(lab, end))?;
        let (sequential, parallel): (Vec<_>, Vec<_>) =
            points.iter().cloned().partition(|point| point.curve.ends_with(SEQUENTIAL));
        let title = "Two circuits";
        let mut findings = Findings::of_rates(title, pools::workers_axis(lab), &parallel);
        findings.table = Findings::of_rates(title, pools::workers_axis(lab), &points).table;
        for circuit in CIRCUITS {
            findings.remarks.push(table_1(circuit, end, &points)?);
        }
        findings.remarks.extend(beside_sequential(&parallel, &sequential));
        Ok(Findings {
            paper: "Wen and Yelick 1995, table 1 and figure 5: C2670 (2033 subcircuits, 5364 \
                    transistors, 2.51 million steps, 0.76 million events, 402 s) and a register \
                    file (325, 4832, 0.18 million, 0.96 million, 112 s) on a CM5, SP2 and Paragon. \
                    Against the parallel program on one processor the speed-up was over 5 on 8 \
                    nodes of the Paragon, over 20 on 32 of the CM5, and over 33 on 64 of the SP2; \
                    nearly linear for the larger circuit.",
            setup: format!(
                "Generated circuits, `{}` and `{}`, up to {} ns; {} rounds. Rates are events of \
                 processes, each of up to 32 subcircuits.",
                CIRCUITS[0],
                CIRCUITS[1],
                end * 1e9,
                lab.settings.samples
            ),
            claims: claims(&parallel),
            ..findings
        })
    }
}

/// A generated circuit as a model.
fn model_of(circuit: Generator) -> ModelParams {
    CircuitParams { generate: Some(circuit), ..CircuitParams::default() }.into()
}

/// The model of figure 6: it has links, each with a lookahead.
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

fn name(circuit: Generator, how: &str) -> String {
    format!("{circuit}, {how}")
}

fn points(lab: &Lab<'_>, end: f64) -> Vec<Point> {
    let mut points = Vec::new();
    for circuit in CIRCUITS {
        let mut point = |how: &str, x, executor| {
            let model = Workload::Shipped(model_of(circuit));
            points.push(Point::new(name(circuit, how), x, Setup { model, end, executor }));
        };
        for &workers in &lab.settings.workers {
            for synchronization in [SynchronizationKind::NullMessages, SynchronizationKind::Windows]
            {
                let executor = Executor::Conservative(engine(workers, synchronization));
                point(synchronization.name(), workers as f64, executor);
            }
            let time_warp = TimeWarp::new(workers, PoolKind::default());
            point(TIME_WARP, workers as f64, Executor::TimeWarp(time_warp));
        }
        point(SEQUENTIAL, 1.0, Executor::Sequential(PendingKind::default()));
    }
    points
}

/// A row of the paper's table 1.
fn table_1(circuit: Generator, end: f64, points: &[Point]) -> Result<String, LabError> {
    let failed = |error: RunError| LabError::Run {
        what: format!("runtime-fig5, {circuit}"),
        source: Box::new(error),
    };
    let model = model_of(circuit).model().map_err(|error| failed(error.into()))?;
    let report = Simulation::new(model).end(end).run().map_err(failed)?;
    let figures = report.output.figures();
    let told = |name: &str| {
        let figure = figures.iter().find(|figure| figure.name == name);
        figure.map_or_else(String::new, |figure| format!("{:.0} {name}", figure.value))
    };
    let counts = ["subcircuits", "transistors", "steps", "events"].map(told).join(", ");
    let seconds = |how: &str| {
        let of_curve = |point: &&Point| point.curve == name(circuit, how) && point.x == 1.0;
        let point = points.iter().find(of_curve);
        point.map_or(f64::NAN, |point| point.committed as f64 / point.median(|sample| sample.rate))
    };
    Ok(format!(
        "{circuit}: {counts}; {:.3} s sequentially, {:.3} s with null messages on one worker.",
        seconds(SEQUENTIAL),
        seconds(NULL_MESSAGES)
    ))
}

/// The rate of every point by that of the sequential engine, for the text.
fn beside_sequential(parallel: &[Point], sequential: &[Point]) -> Vec<String> {
    let told = |point: &Point| {
        let sequential =
            sequential.iter().find(|sequential| sequential.setup.model == point.setup.model)?;
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
    let claim = |new: fn(String) -> Claim, how: &str| {
        let mut claim = new(format!(
            "{how}: against one worker the speed-up is above {PER_WORKER:.3} per worker (over 5 \
             on 8)"
        ));
        for circuit in CIRCUITS {
            let curve = name(circuit, how);
            let of_curve = || parallel.iter().filter(|point| point.curve == curve);
            let one = of_curve().find(|point| point.x == 1.0);
            for point in of_curve().filter(|point| point.x > 1.0 && !point.oversubscribed()) {
                let Some(one) = one else { continue };
                let parts: Vec<_> =
                    ratios(point, one).iter().map(|ratio| ratio / point.x).collect();
                let place = format!("{circuit} with {} workers", point.x);
                claim = claim.test_rounds(place, &parts, Bounds::Above(PER_WORKER));
            }
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
            let curve = |how| {
                let name = name(CIRCUITS[0], how);
                [1.0, 2.0].map(|x| point(&name, x, &[if x > 1.0 { growth } else { 1.0 }; 5]))
            };
            let points: Vec<_> = curve(NULL_MESSAGES).into_iter().chain(curve(WINDOWS)).collect();
            claims(&points).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(1.9), [Verdict::Yes; 2]);
        assert_eq!(verdicts(0.9), [Verdict::No; 2]);
    }
}

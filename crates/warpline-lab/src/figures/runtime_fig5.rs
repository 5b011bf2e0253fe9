//! Table 1 and figure 5 of the portable-runtime paper: circuits, and the speed-up of their
//! conservative simulation with null messages.

use warpline::{
    Results as _, RunError, Simulation,
    pending::PendingKind,
    settings::{PoolKind, SynchronizationKind},
};

use super::{
    circuits::{Circuit, Circuits, null_messages, on_ranks, transport},
    pools,
};
use crate::{
    Bounds, Claim, Conservative, Executor, Figure, Findings, Lab, LabError, Point, RankEngine,
    Ranks, TimeWarp, claim::ratios, sampling::median,
};

/// Table 1 and figure 5 of the portable-runtime paper.
#[derive(Debug)]
pub struct RuntimeFig5;

const NULL_MESSAGES: &str = SynchronizationKind::NullMessages.name();
const WINDOWS: &str = SynchronizationKind::Windows.name();
const TIME_WARP: &str = "timewarp";
const SEQUENTIAL: &str = "sequential";
/// The engines on ranks instead of threads.
const RANKS: [&str; 3] = ["null-messages on ranks", "windows on ranks", "timewarp on ranks"];
/// The paper's least speed-up by its number of processors: over 5 on the 8 nodes of a Paragon.
const PER_WORKER: f64 = 5.0 / 8.0;

impl Figure for RuntimeFig5 {
    fn name(&self) -> &'static str {
        "runtime-fig5"
    }

    fn title(&self) -> &'static str {
        "Circuits, conservative with null messages: speed-up by number of workers and of ranks"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let circuits = Circuits::of(lab);
        let points = lab.sample(points(lab, &circuits))?;
        let (sequential, parallel): (Vec<_>, Vec<_>) =
            points.iter().cloned().partition(|point| point.curve.ends_with(SEQUENTIAL));
        let title = "Two circuits";
        let mut findings = Findings::of_rates(title, pools::workers_axis(lab), &parallel);
        findings.table = Findings::of_rates(title, pools::workers_axis(lab), &points).table;
        for circuit in circuits.all() {
            findings.remarks.push(table_1(circuit, circuits.end, &points)?);
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
                "{}; {} rounds. Rates are events of processes, each of up to 32 subcircuits. {}",
                circuits.describe(),
                lab.settings.samples,
                transport(lab)
            ),
            claims: claims(&circuits.all().map(|circuit| circuit.name.as_str()), &parallel),
            ..findings
        })
    }
}

fn name(circuit: &str, how: &str) -> String {
    format!("{circuit}, {how}")
}

fn points(lab: &Lab<'_>, circuits: &Circuits) -> Vec<Point> {
    let mut points = Vec::new();
    for circuit in circuits.all() {
        let mut point = |how: &str, x: usize, executor| {
            points.push(circuits.point(circuit, name(&circuit.name, how), x as f64, executor));
        };
        let windows = |workers| Conservative::new(workers, SynchronizationKind::Windows);
        for &workers in &lab.settings.workers {
            point(NULL_MESSAGES, workers, Executor::Conservative(null_messages(workers)));
            point(WINDOWS, workers, Executor::Conservative(windows(workers)));
            let time_warp = TimeWarp::new(workers, PoolKind::default());
            point(TIME_WARP, workers, Executor::TimeWarp(time_warp));
            if workers > 1 {
                let time_warp =
                    Executor::Ranks(Ranks { count: workers, engine: RankEngine::TimeWarp });
                point(RANKS[0], workers, on_ranks(workers, null_messages(1)));
                point(RANKS[1], workers, on_ranks(workers, windows(1)));
                point(RANKS[2], workers, time_warp);
            }
        }
        point(SEQUENTIAL, 1, Executor::Sequential(PendingKind::default()));
    }
    points
}

/// A row of the paper's table 1.
fn table_1(circuit: &Circuit, end: f64, points: &[Point]) -> Result<String, LabError> {
    let Circuit { name: circuit, params } = circuit;
    let failed = |error: RunError| LabError::Run {
        what: format!("runtime-fig5, {circuit}"),
        source: Box::new(error),
    };
    let model = params.model().map_err(|error| failed(error.into()))?;
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
        let unit =
            if matches!(point.setup.executor, Executor::Ranks(_)) { "rank" } else { "worker" };
        Some(format!(
            "{} with {} {unit}(s): {ratio:.2} of the sequential engine's rate.",
            point.curve, point.x
        ))
    };
    parallel.iter().filter_map(told).collect()
}

/// The paper has null messages, on ranks. The claim about windows is ours. One worker is one rank.
fn claims(circuits: &[&str], parallel: &[Point]) -> Vec<Claim> {
    let claim = |new: fn(String) -> Claim, how: &str, alone: &str| {
        let mut claim = new(format!(
            "{how}: against one worker the speed-up is above {PER_WORKER:.3} per worker (over 5 \
             on 8)"
        ));
        for circuit in circuits {
            let of_curve = |how| {
                let curve = name(circuit, how);
                parallel.iter().filter(move |point| point.curve == curve)
            };
            let one = of_curve(alone).find(|point| point.x == 1.0);
            for point in of_curve(how).filter(|point| point.x > 1.0 && !point.oversubscribed()) {
                let Some(one) = one else { continue };
                let parts: Vec<_> =
                    ratios(point, one).iter().map(|ratio| ratio / point.x).collect();
                let place = format!("{circuit} with {} workers", point.x);
                claim = claim.test_rounds(place, &parts, Bounds::Above(PER_WORKER));
            }
        }
        claim
    };
    vec![
        claim(Claim::of_paper, NULL_MESSAGES, NULL_MESSAGES),
        claim(Claim::of_paper, RANKS[0], NULL_MESSAGES),
        claim(Claim::own, WINDOWS, WINDOWS),
        claim(Claim::own, RANKS[1], WINDOWS),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    #[test]
    fn claims_tell_a_speed_up_from_none() {
        let verdicts = |growth| {
            let curve = |how| {
                let name = name("circuit", how);
                [1.0, 2.0].map(|x| point(&name, x, &[if x > 1.0 { growth } else { 1.0 }; 5]))
            };
            let curves = [NULL_MESSAGES, WINDOWS, RANKS[0], RANKS[1]];
            let points: Vec<_> = curves.into_iter().flat_map(curve).collect();
            claims(&["circuit"], &points).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(1.9), [Verdict::Yes; 4]);
        assert_eq!(verdicts(0.9), [Verdict::No; 4]);
    }
}

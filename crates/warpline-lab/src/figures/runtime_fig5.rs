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
    Bounds, Claim, Conservative, Constant, Executor, Figure, Findings, Lab, LabError, Point,
    RankEngine, Ranks, TimeWarp, claim::ratios, sampling::median,
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
        let names = circuits.all().map(|circuit| circuit.name.as_str());
        let mut claims = claims(&names, &parallel);
        claims.push(one_beats_sequential(&names, &points));
        for (row, circuit) in TABLE_1.iter().zip(circuits.all()) {
            let counted = counted(circuit, circuits.end)?;
            findings.remarks.push(table_1(&circuit.name, counted, &points));
            claims.push(is_like(row, &circuit.name, counted));
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
            claims,
            constants: constants(&circuits),
            ..findings
        })
    }
}

fn constants(circuits: &Circuits) -> Vec<Constant> {
    let mut constants = circuits.constants();
    constants.extend([
        Constant::paper("a speed-up over 5 on 8 processors", "section 5, figure 5"),
        Constant::paper("subcircuits, transistors and events of both circuits", "table 1"),
        Constant::ours("a circuit is like the paper's within a fifth", "told in docs/lab.md"),
    ]);
    constants
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
                let engine = RankEngine::TimeWarp;
                let time_warp = Executor::Ranks(Ranks { count: workers, engine, network: None });
                point(RANKS[0], workers, on_ranks(workers, null_messages(1)));
                point(RANKS[1], workers, on_ranks(workers, windows(1)));
                point(RANKS[2], workers, time_warp);
            }
        }
        point(SEQUENTIAL, 1, Executor::Sequential(PendingKind::default()));
    }
    points
}

/// A circuit of the paper's table 1.
struct Row {
    name: &'static str,
    subcircuits: f64,
    transistors: f64,
    events_per_step: f64,
}

const TABLE_1: [Row; 2] = [
    Row { name: "C2670", subcircuits: 2033.0, transistors: 5364.0, events_per_step: 0.30 },
    Row { name: "register file", subcircuits: 325.0, transistors: 4832.0, events_per_step: 5.38 },
];
const COUNTED: [&str; 4] = ["subcircuits", "transistors", "steps", "events"];

/// What our circuit counts: [`COUNTED`].
fn counted(circuit: &Circuit, end: f64) -> Result<[f64; 4], LabError> {
    let failed = |error: RunError| LabError::Run {
        what: format!("runtime-fig5, {}", circuit.name),
        source: Box::new(error),
    };
    let model = circuit.params.model().map_err(|error| failed(error.into()))?;
    let report = Simulation::new(model).end(end).run().map_err(failed)?;
    let figures = report.output.figures();
    let of = |name: &str| figures.iter().find(|figure| figure.name == name);
    Ok(COUNTED.map(|name| of(name).map_or(f64::NAN, |figure| figure.value)))
}

/// A row of the paper's table 1 for our circuit.
fn table_1(circuit: &str, counted: [f64; 4], points: &[Point]) -> String {
    let counts = COUNTED.iter().zip(counted).map(|(name, count)| format!("{count:.0} {name}"));
    let seconds = |how: &str| {
        let of_curve = |point: &&Point| point.curve == name(circuit, how) && point.x == 1.0;
        let point = points.iter().find(of_curve);
        point.map_or(f64::NAN, |point| point.committed as f64 / point.median(|sample| sample.rate))
    };
    format!(
        "{circuit}: {}; {:.3} s sequentially, {:.3} s with null messages on one worker.",
        counts.collect::<Vec<_>>().join(", "),
        seconds(SEQUENTIAL),
        seconds(NULL_MESSAGES)
    )
}

/// Whether our circuit is like the paper's, within a fifth: if it is not, what follows is about
/// another circuit. The paper counts an event for each voltage point that a step changes, also
/// within a subcircuit; ours is a segment of a net that other subcircuits read.
fn is_like(row: &Row, circuit: &str, [subcircuits, transistors, steps, events]: [f64; 4]) -> Claim {
    let text = format!("the circuit is as the paper's {} in table 1, within a fifth", row.name);
    let pairs = [
        ("subcircuits", subcircuits / row.subcircuits),
        ("transistors", transistors / row.transistors),
        ("events for each step", events / steps / row.events_per_step),
    ];
    pairs.into_iter().fold(Claim::own(text), |claim, (what, ratio)| {
        claim.test(format!("{circuit}, {what} by the paper's"), ratio, Bounds::Within(0.8, 1.25))
    })
}

/// The claim that the parallel program on one processor sometimes beats the sequential one, by the
/// circuit where it does so most.
fn one_beats_sequential(circuits: &[&str], points: &[Point]) -> Claim {
    let find = |curve: String| points.iter().find(|point| point.curve == curve && point.x == 1.0);
    let claim = Claim::of_paper(
        "with one circuit or the other, null messages on one worker beat the sequential engine",
    );
    let by_median = |(_, ratios): &(&str, Vec<f64>)| median(ratios.iter().copied());
    let best = circuits.iter().filter_map(|&circuit| {
        let (one, alone) = (find(name(circuit, NULL_MESSAGES))?, find(name(circuit, SEQUENTIAL))?);
        Some((circuit, ratios(one, alone)))
    });
    match best.max_by(|a, b| by_median(a).total_cmp(&by_median(b))) {
        Some((circuit, ratios)) => claim.test_rounds(circuit, &ratios, Bounds::FASTER),
        None => claim,
    }
}

/// The rate of every point by that of the sequential engine, for the text.
fn beside_sequential(parallel: &[Point], sequential: &[Point]) -> Vec<String> {
    let remark = |point: &Point| {
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
    parallel.iter().filter_map(remark).collect()
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

    /// The paper's numbers are like themselves; ours of the register file are not.
    #[test]
    fn circuits_are_compared_with_the_papers() {
        let [c2670, regfile] = &TABLE_1;
        let verdict = |row, counted| is_like(row, "ours", counted).verdict();
        assert_eq!(verdict(c2670, [2033.0, 5364.0, 2_510_047.0, 760_166.0]), Verdict::Yes);
        assert_eq!(verdict(regfile, [325.0, 4832.0, 177_987.0, 957_412.0]), Verdict::Yes);
        let ours = [200.0, 4720.0, 147_225.0, 28_262.0];
        assert_eq!(verdict(regfile, ours), Verdict::Partly(1, 3));
    }

    #[test]
    fn one_circuit_that_gains_is_enough() {
        let verdict = |gains: [f64; 2]| {
            let circuits = ["a", "b"];
            let points: Vec<_> = circuits
                .into_iter()
                .zip(gains)
                .flat_map(|(circuit, gain)| {
                    [(NULL_MESSAGES, gain), (SEQUENTIAL, 1.0)]
                        .map(|(how, rate)| point(&name(circuit, how), 1.0, &[rate; 5]))
                })
                .collect();
            one_beats_sequential(&circuits, &points).verdict()
        };
        assert_eq!(verdict([0.9, 1.16]), Verdict::Yes);
        assert_eq!(verdict([0.9, 1.01]), Verdict::No);
    }

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

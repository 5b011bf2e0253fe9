//! Section 2 of the portable-runtime paper: conservative simulation for combinational circuits,
//! optimistic for sequential ones.
//!
//! A ring of inverters is generated; `--netlist` gives a circuit with flip-flops, as s5378 or
//! s38417 of ISCAS. A multiplier stands for combinational circuits.

use warpline::{
    pending::PendingKind,
    settings::{PoolKind, SynchronizationKind},
};
use warpline_models::circuit::{CircuitParams, Generator};

use super::{
    circuits::{Circuit, Circuits, null_messages},
    pools,
};
use crate::{
    Claim, Conservative, Constant, Executor, Figure, Findings, Lab, LabError, Point, TimeWarp,
};

/// Engines on circuits with and without feedback.
#[derive(Debug)]
pub struct RuntimeFeedback;

const RING: Generator = Generator::Ring(2001);
const COMBINATIONAL: Generator = Generator::Multiplier(12);

const NULL_MESSAGES: &str = SynchronizationKind::NullMessages.name();
const WINDOWS: &str = SynchronizationKind::Windows.name();
const TIME_WARP: &str = "timewarp";
const SEQUENTIAL: &str = "sequential";

fn generated(generator: Generator) -> Circuit {
    let params = CircuitParams { generate: Some(generator), ..CircuitParams::default() };
    Circuit { name: generator.to_string(), params: params.into() }
}

fn name(circuit: &str, engine: &str) -> String {
    format!("{circuit}, {engine}")
}

fn points(lab: &Lab<'_>, circuits: &[Circuit], of: &Circuits) -> Vec<Point> {
    let mut points = Vec::new();
    for circuit in circuits {
        let mut point = |engine: &str, x: usize, executor| {
            points.push(of.point(circuit, name(&circuit.name, engine), x as f64, executor));
        };
        for &workers in &lab.settings.workers {
            let windows = Conservative::new(workers, SynchronizationKind::Windows);
            point(NULL_MESSAGES, workers, Executor::Conservative(null_messages(workers)));
            point(WINDOWS, workers, Executor::Conservative(windows));
            let time_warp = TimeWarp::new(workers, PoolKind::default());
            point(TIME_WARP, workers, Executor::TimeWarp(time_warp));
        }
        point(SEQUENTIAL, 1, Executor::Sequential(PendingKind::default()));
    }
    points
}

/// The first of the circuits is combinational, and the others are not.
fn claims(circuits: &[&str], points: &[Point]) -> Vec<Claim> {
    let Some((combinational, sequential)) = circuits.split_first() else { return Vec::new() };
    let faster = |claim: Claim, circuit: &str, [fast, slow]: [&str; 2]| {
        let curves = [fast, slow].map(|engine| name(circuit, engine));
        claim.test_faster(points, curves.each_ref().map(String::as_str), pools::comparable)
    };
    let everywhere = |claim: Claim, engines: [&str; 2]| {
        sequential.iter().fold(claim, |claim, circuit| faster(claim, circuit, engines))
    };
    let conservative = "conservative simulation (null messages) is faster than optimistic (Time \
                        Warp) on a combinational circuit";
    let optimistic = "optimistic simulation is faster than conservative on sequential circuits";
    let windows = "windows, which are conservative, are faster than Time Warp on sequential \
                   circuits, too";
    vec![
        faster(Claim::of_paper(conservative), combinational, [NULL_MESSAGES, TIME_WARP]),
        everywhere(Claim::of_paper(optimistic), [TIME_WARP, NULL_MESSAGES]),
        everywhere(Claim::own(windows), [WINDOWS, TIME_WARP]),
    ]
}

fn constants(of: &Circuits, names: &[&str]) -> Vec<Constant> {
    let why = "the paper names no circuit here";
    let circuits = Constant::ours(format!("circuits {}", names.join(", ")), why);
    [circuits].into_iter().chain(of.conditions()).collect()
}

impl Figure for RuntimeFeedback {
    fn name(&self) -> &'static str {
        "runtime-feedback"
    }

    fn title(&self) -> &'static str {
        "Circuits with and without feedback: conservative and optimistic engines by workers"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let of = Circuits::of(lab);
        let mut circuits = vec![generated(COMBINATIONAL), generated(RING)];
        if lab.settings.netlist.is_some() {
            circuits.push(of.small_parts.clone());
        }
        let points = lab.sample(points(lab, &circuits, &of))?;
        let findings =
            Findings::of_rates("Three kinds of circuits", pools::workers_axis(lab), &points);
        let names: Vec<_> = circuits.iter().map(|circuit| circuit.name.as_str()).collect();
        Ok(Findings {
            paper: "Wen and Yelick 1995, section 2, of their earlier work (1993): conservative \
                    parallel simulation is primarily useful for combinational circuits, and \
                    optimistic scheduling much more effective for sequential ones, whose feedback \
                    leaves a conservative engine without lookahead.",
            setup: format!(
                "Circuits {}, up to {:.0} ns; {} rounds. `{}` is combinational; the others have \
                 feedback. Here every message takes at least the lookahead of a quarter of a \
                 gate's delay, so feedback does not stop a conservative engine.",
                names.join(", "),
                of.end * 1e9,
                lab.settings.samples,
                names[0]
            ),
            claims: claims(&names, &points),
            constants: constants(&of, &names),
            ..findings
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let verdicts = |combinational: f64, sequential: f64| {
            let of = |circuit: &str, time_warp: f64| {
                [(NULL_MESSAGES, 1.0), (WINDOWS, 1.2), (TIME_WARP, time_warp)]
                    .map(|(engine, rate)| point(&name(circuit, engine), 2.0, &[rate; 5]))
            };
            let points = [of("m", combinational), of("r", sequential), of("s", sequential)];
            let points = points.concat();
            claims(&["m", "r", "s"], &points).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts(0.5, 1.1), [yes, yes, yes]);
        assert_eq!(verdicts(1.5, 0.5), [no, no, yes]);
        assert_eq!(verdicts(0.5, 2.0), [yes, yes, no]);
    }
}

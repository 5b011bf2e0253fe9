//! Figure 6 of the portable-runtime paper, upper half, on a network that takes time: two ranks, by
//! degree of aggregation.
//!
//! [`runtime_fig6`](super::runtime_fig6) measures the same on this machine, where a parcel costs
//! next to nothing.

use std::time::Duration;

use super::{
    circuits::{Circuit, Circuits, null_messages, on_ranks},
    pools,
    runtime_fig6::{LONGER, matters_more, takes},
};
use crate::{
    Axis, Basis, Bounds, Claim, Conservative, Constant, Executor, Figure, Findings, Lab, LabError,
    Network, Point, Provenance, Ranks,
};
use warpline::settings::Aggregation;

/// Figure 6a on a network.
#[derive(Debug)]
pub struct RuntimeNetwork;

const RANKS: usize = 2;
/// Bytes of messages that are sent together; the first stands for no aggregation.
const THRESHOLDS: [usize; 4] = [1, 256, 2048, 16_384];
const LEAST: f64 = THRESHOLDS[0] as f64;
const BEST: f64 = 2048.0;
/// The part of the circuits' time that is simulated: a start-up time for each message is long.
const PART: f64 = 0.2;
/// Microseconds: the name, the latency and the start-up time of a network.
const NETWORKS: [(&str, u64, u64); 4] = [
    ("no network", 0, 0),
    ("latency", 50, 0),
    ("latency and start-up", 50, 5),
    ("latency and long start-up", 50, 20),
];
/// What claims rest on.
const GUESSED: Basis = Basis::Estimated("the latency and the start-up time are chosen");

fn network((_, latency, start_up): (&str, u64, u64)) -> Network {
    let [latency, start_up] = [latency, start_up].map(Duration::from_micros);
    Network { latency, start_up }
}

fn name(circuit: &str, network: &str) -> String {
    format!("{circuit}, {network}")
}

fn executor(threshold: usize, network: Network) -> Executor {
    let aggregation = match threshold {
        1 => Aggregation::Off,
        bytes => Aggregation::Bytes(bytes),
    };
    match on_ranks(RANKS, Conservative { aggregation, ..null_messages(1) }) {
        Executor::Ranks(ranks) => Executor::Ranks(Ranks { network: Some(network), ..ranks }),
        other => other,
    }
}

fn points(circuits: &Circuits) -> Vec<Point> {
    let mut points = Vec::new();
    for circuit in circuits.all() {
        for of in NETWORKS {
            for threshold in THRESHOLDS {
                let executor = executor(threshold, network(of));
                let curve = name(&circuit.name, of.0);
                points.push(circuits.point(circuit, curve, threshold as f64, executor));
            }
        }
    }
    points
}

/// `circuits` are the one with small subcircuits and the one with large ones.
fn claims([small, large]: [&str; 2], points: &[Point]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (network, ..) in &NETWORKS[1..] {
        let of = |circuit| name(circuit, network);
        let places = [LEAST, BEST];
        let [small, large] = [of(small), of(large)];
        let three = format!(
            "{network}: without aggregation the circuit with small subcircuits takes more than \
             three times as long"
        );
        let more = format!(
            "{network}: aggregation matters more with small subcircuits than with large ones"
        );
        let longer = format!("{network}: it takes longer without");
        let both = [small.as_str(), large.as_str()];
        claims.push(takes(&three, (&both[..1], points), places, Bounds::Above(3.0)));
        claims.push(takes(&longer, (&both, points), places, LONGER));
        claims.push(matters_more(&more, (both, points), places));
    }
    claims.into_iter().map(|claim| claim.with_basis(GUESSED)).collect()
}

impl Figure for RuntimeNetwork {
    fn name(&self) -> &'static str {
        "runtime-fig6a-network"
    }

    fn title(&self) -> &'static str {
        "Circuits, null messages over a network that takes time: rate by degree of aggregation"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let mut circuits = Circuits::of(lab);
        // A short look is short enough.
        circuits.end *= if lab.settings.quick { 1.0 } else { PART };
        let points = lab.sample(points(&circuits))?;
        let axis = Axis::new("bytes of messages that are sent together");
        let axis = axis.with_ticks(THRESHOLDS.map(|bytes| bytes as f64)).logarithmic();
        let findings = Findings::of_rates("Two ranks on networks", axis, &points);
        let curves = circuits.all().map(|Circuit { name, .. }| name.as_str());
        let comparable = pools::comparable(RANKS as f64);
        Ok(Findings {
            paper: "Wen and Yelick 1995, figure 6: without aggregation the running time of C2670, \
                    with small subcircuits, rose by more than a factor of 3, and that of the \
                    register file, with large ones, less. On a CM5, SP1, SP2 and Paragon, whose \
                    messages had a start-up cost and a latency.",
            setup: format!(
                "{}, on {RANKS} ranks that are threads of this process; {} rounds. Each parcel \
                 takes its sender a start-up time, and arrives a latency later \
                 (`warpline_lab::Network`).",
                circuits.describe(),
                lab.settings.samples
            ),
            claims: claims(curves, if comparable { &points } else { &[] }),
            constants: constants(),
            ..findings
        })
    }
}

fn constants() -> Vec<Constant> {
    let chosen = Provenance::Estimated("chosen, because the paper gives neither");
    let of = |name, us: u64| Constant::number(name, us as f64, "microseconds", chosen);
    let [_, (.., latency, _), (.., short), (.., long)] = NETWORKS;
    vec![
        of("latency of a parcel", latency),
        of("start-up time of a parcel", short),
        of("long start-up time of a parcel", long),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    /// Claims hold by what was chosen, or fail; never "yes".
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let verdicts = |small: f64, large: f64| {
            let points: Vec<_> = [("small", small), ("large", large)]
                .into_iter()
                .flat_map(|(circuit, slower)| {
                    NETWORKS.map(|(network, ..)| (circuit, network, slower))
                })
                .flat_map(|(circuit, network, slower)| {
                    let curve = name(circuit, network);
                    [point(&curve, LEAST, &[1.0; 5]), point(&curve, BEST, &[slower; 5])]
                })
                .collect();
            claims(["small", "large"], &points).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(4.0, 2.0), [Verdict::Estimated; 9]);
        assert_eq!(verdicts(0.9, 0.95), [Verdict::No; 9]);
    }
}

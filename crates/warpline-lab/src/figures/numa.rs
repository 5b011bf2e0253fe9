//! The common part of the NUMA paper's figures: its model, motorway traffic, traces of it for the
//! paper's machine, and execution times.

use warpline_models::traffic::TrafficParams;

use crate::{
    Axis, Basis, Constant, Findings, LabError, Point, Provenance, Settings,
    nodes::{Memory, NodeCounts, NodeParams, Variation, replay, variations},
    traffic_trace::TrafficTrace,
};

/// The workers of the paper's machine.
const WORKERS: usize = 32;
/// What 32 daemons that are woken every second take from the workers; **fitted** to figure 6.
pub(super) const INTERFERENCE: f64 = 0.10 / 32.0;

/// What everything rests on that `warpline_lab::nodes` finds (CONST-A).
pub(super) fn basis() -> Basis {
    Constant::basis(
        &constants(),
        "looks at the load and what daemons take are fitted, and the times of hits, misses and \
         Time Warp's own work are estimated",
    )
}

/// The machine's, with what of Time Warp a replay takes with it.
pub(super) fn constants() -> Vec<Constant> {
    let fitted = Provenance::Fitted("figure 6: 32 daemons every second cost at most 10 %");
    let daemon = "the part of the time that a daemon takes that is woken every second";
    let mut constants = NodeParams::opteron().constants();
    constants.push(Constant::number(daemon, INTERFERENCE, "", fitted));
    constants
}

/// The same part of a run by the sequential engine and by Time Warp.
pub(super) struct Traces {
    committed: TrafficTrace,
    pub(super) speculative: TrafficTrace,
}

impl Traces {
    pub(super) fn record(
        params: &TrafficParams,
        settings: &Settings,
        part: [f64; 2],
    ) -> Result<Self, LabError> {
        let (seed, part) = (settings.seed, part.map(|time| settings.shortened(time)));
        let committed = TrafficTrace::committed(params.clone(), seed, part)?;
        let speculative = TrafficTrace::speculative(params.clone(), seed, part, WORKERS)?;
        if let (Some(expected), Some(digest)) = (committed.digest, speculative.digest)
            && expected != digest
        {
            let (what, other) = ("a trace of Time Warp".into(), "one of the sequential engine");
            return Err(LabError::Differs { what, digest, other: other.into(), expected });
        }
        Ok(Self { committed, speculative })
    }

    /// Replays the part on a machine like the paper's; the sequential engine on a core of it.
    pub(super) fn replay(
        &self,
        machine: NodeParams,
        memory: Memory,
    ) -> Result<NodeCounts, LabError> {
        match memory {
            Memory::Sequential => replay(&self.committed, machine.one_core(), memory),
            _ => replay(&self.speculative, machine, memory),
        }
    }

    /// A line for the machine as it is, and one for each change of a number that nobody measured:
    /// the times of the first quarter with one kind of memory by those with another.
    pub(super) fn sensitivity(
        &self,
        ratios: &[(&str, [Memory; 2])],
    ) -> Result<Vec<String>, LabError> {
        let quarter = Self {
            committed: self.committed.first_quarter(),
            speculative: self.speculative.first_quarter(),
        };
        let unchanged = Variation { name: "as it is", apply: |params| params };
        let line = |variation: Variation| {
            let machine = (variation.apply)(NodeParams::opteron());
            let mut texts = Vec::new();
            for &ratio in ratios {
                texts.push(quarter.ratio_text(machine, ratio)?);
            }
            Ok(format!("Sensitivity, {}: {}.", variation.name, texts.join(", ")))
        };
        [unchanged].into_iter().chain(variations()).map(line).collect()
    }

    /// The time with one kind of memory by that with another, for the text.
    fn ratio_text(
        &self,
        machine: NodeParams,
        (name, [above, below]): (&str, [Memory; 2]),
    ) -> Result<String, LabError> {
        let [above, below] = [self.replay(machine, above)?, self.replay(machine, below)?];
        Ok(format!("{name} {:.2}", above.seconds / below.seconds))
    }

    /// What the trace is, for the text.
    pub(super) fn describe(&self) -> String {
        let Self { committed, speculative } = self;
        format!(
            "The trace: {} events are committed and {} handled; {:.1} % of what the whole run \
             handled was committed.",
            committed.handled(),
            speculative.handled(),
            100.0 * speculative.efficiency()
        )
    }
}

/// The motorways of Italy as so many LPs, with so many seconds between cars that join.
pub(super) fn italy(lps: usize, interarrival: f64) -> TrafficParams {
    TrafficParams { lps: Some(lps), interarrival: Some(interarrival), ..TrafficParams::default() }
}

/// What a ratio is with other traffic, by the first quarter of the part.
pub(super) fn with_other_traffic(
    traffic: &TrafficParams,
    settings: &Settings,
    [begin, end]: [f64; 2],
    ratio: (&str, [Memory; 2]),
) -> Result<String, LabError> {
    let quarter = [begin, begin + (end - begin) / 4.0];
    Traces::record(traffic, settings, quarter)?.ratio_text(NodeParams::opteron(), ratio)
}

/// Findings with the execution times of all points, where [`Findings::of_rates`] has their rates.
pub(super) fn of_times(title: &str, x: Axis, points: &[Point]) -> Findings {
    let mut findings = Findings::of_rates(title, x, points);
    findings.plot.y = Axis::new("execution time (s)");
    for curve in &mut findings.plot.curves {
        for dot in &mut curve.dots {
            let point = points.iter().find(|point| point.curve == curve.name && point.x == dot.x);
            let millions = point.map_or(f64::NAN, |point| point.committed as f64 / 1e6);
            // The highest rate is the shortest time.
            [dot.y, dot.low, dot.high] = [dot.y, dot.high, dot.low].map(|rate| millions / rate);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::testing::point;

    #[test]
    fn times_are_events_by_rates() {
        let points = [Point { committed: 12, ..point("a", 1.0, &[2.0, 3.0, 6.0]) }];
        let findings = of_times("title", Axis::new("x"), &points);
        let dot = findings.plot.curves[0].dots[0];
        assert_eq!([dot.low, dot.y, dot.high].map(|s| (s * 1e6).round() / 1e6), [2.0, 4.0, 6.0]);
    }
}

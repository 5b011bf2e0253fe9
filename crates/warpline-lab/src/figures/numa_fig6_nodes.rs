//! Figure 6 of the NUMA paper on the paper's machine: balanced motorway traffic, the execution time
//! by the load.
//!
//! [`nodes`](crate::nodes) replays a trace of a real run on a model of that machine.
//! [`numa_fig6`](super::numa_fig6) measures the same on the machine at hand.

use super::{
    numa,
    numa_daemons::INTERFERENCE,
    numa_fig6::{INTERARRIVALS, LPS},
};
use crate::{
    Axis, Basis, Bounds, Claim, Curve, Dot, Figure, Findings, Lab, LabError, Plot, Source, Table,
    nodes::{Memory, NodeCounts, NodeParams, replay},
    traffic_trace::TrafficTrace,
};

/// Figure 6 of the NUMA paper, by the model of its machine.
#[derive(Debug)]
pub struct NumaFig6Nodes;

/// The part of the day that is replayed (s).
const PART: [f64; 2] = [14_400.0, 21_600.0];
/// LPs may move after each step (s of virtual time).
const STEP: f64 = 180.0;
/// The paper's daemons, which are woken every second.
const DAEMONS: f64 = 32.0;

const SEQUENTIAL: &str = "sequential";
const PLAIN: &str = "Time Warp, plain memory";
const NUMA: &str = "Time Warp, NUMA memory";
const WITH_DAEMONS: &str = "Time Warp, NUMA memory, 32 daemons";
/// The curves, their memory, and the part of the time that daemons take in addition.
const CURVES: [(&str, Memory, f64); 4] = [
    (SEQUENTIAL, Memory::Sequential, 0.0),
    (PLAIN, Memory::Plain, 0.0),
    (NUMA, Memory::Segments, 0.0),
    (WITH_DAEMONS, Memory::Daemons(1), INTERFERENCE * DAEMONS),
];
const FITTED: Basis =
    Basis::Fitted("what a daemon takes from the workers is fitted to this figure of the paper");

/// A point: its curve, the seconds between two cars, what was counted, and the execution time.
struct Replayed {
    curve: &'static str,
    interarrival: f64,
    counts: NodeCounts,
    seconds: f64,
}

impl Figure for NumaFig6Nodes {
    fn name(&self) -> &'static str {
        "numa-fig6-nodes"
    }

    fn title(&self) -> &'static str {
        "Balanced traffic on 8 nodes, 137 LPs: execution time by the time between cars"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let settings = lab.settings;
        let part = PART.map(|time| settings.shortened(time));
        let machine = NodeParams::opteron();
        let mut points = Vec::new();
        for interarrival in INTERARRIVALS {
            let params = numa::italy(LPS, interarrival);
            let step = settings.shortened(STEP);
            let trace = TrafficTrace::record(params, settings.seed, part, step)?;
            for (curve, memory, taken) in CURVES {
                let alone = memory == Memory::Sequential;
                let machine = if alone { machine.one_core() } else { machine };
                let counts = replay(&trace, machine, memory)?;
                let seconds = counts.seconds * (1.0 + taken);
                points.push(Replayed { curve, interarrival, counts, seconds });
            }
        }
        let x = Axis::new("time between cars at a junction (s)").with_ticks(INTERARRIVALS);
        let y = Axis::new("execution time (s)");
        let plot = Plot { title: self.title().to_owned(), x, y, curves: curves(&points) };
        Ok(Findings {
            claims: claims(&points),
            plot,
            table: table(&points),
            paper: "Pellegrini and Quaglia 2015, figure 6: the motorways of mainland Italy as 137 \
                    LPs, with few accidents, on 32 cores of 8 NUMA nodes. Time Warp was faster \
                    than the sequential engine. With its NUMA memory manager it was up to 27 % \
                    faster than with that of glibc, and up to 20 % with 32 daemons that were \
                    woken every second and had little to do.",
            setup: format!(
                "Traffic on the motorways of Italy, {LPS} LPs, from {} to {} s of virtual time. \
                 The events of a run of the sequential engine are replayed through the caches of \
                 32 workers on 8 nodes (`warpline_lab::nodes`). There are no rollbacks, and nobody \
                 waits for memory that others use.",
                part[0], part[1]
            ),
            source: Source::Computed,
            constants: Vec::new(),
            remarks: vec![numa::ASSUMED.to_owned()],
        })
    }
}

fn curves(points: &[Replayed]) -> Vec<Curve> {
    let curve = |name: &'static str| {
        let of_curve = points.iter().filter(|point| point.curve == name);
        let dot = |point: &Replayed| {
            let (x, y) = (point.interarrival, point.seconds);
            Dot { x, y, low: y, high: y, hollow: false }
        };
        Curve::new(name.to_owned(), of_curve.map(dot).collect())
    };
    CURVES.map(|(name, ..)| curve(name)).into()
}

fn table(points: &[Replayed]) -> Table {
    let row = |point: &Replayed| {
        let NodeCounts { near, far, moved, .. } = point.counts;
        let counted = [near, far, moved].map(|count| count.to_string());
        let mut row = vec![point.curve.to_owned(), point.interarrival.to_string()];
        row.push(format!("{:.4}", point.seconds));
        row.extend(counted);
        row
    };
    let header = ["curve", "time between cars (s)", "execution time (s)", "near lines"];
    let header = header.into_iter().chain(["far lines", "LPs moved"]);
    Table { header: header.map(str::to_owned).collect(), rows: points.iter().map(row).collect() }
}

/// The greatest of the ratios of the times of two curves.
fn greatest(points: &[Replayed], slow: &str, fast: &str) -> f64 {
    let ratio = |x: f64| {
        let find = |curve: &str| {
            points.iter().find(|point| point.curve == curve && point.interarrival == x)
        };
        find(slow).zip(find(fast)).map_or(f64::NAN, |(slow, fast)| slow.seconds / fast.seconds)
    };
    INTERARRIVALS.map(ratio).into_iter().fold(f64::NEG_INFINITY, f64::max)
}

fn claims(points: &[Replayed]) -> Vec<Claim> {
    let test = |claim: Claim, [slow, fast]: [&str; 2], range| {
        claim.test("the greatest ratio", greatest(points, slow, fast), range)
    };
    vec![
        test(
            Claim::of_paper("Time Warp is faster than the sequential engine"),
            [SEQUENTIAL, PLAIN],
            Bounds::Above(1.0),
        ),
        test(
            Claim::of_paper("NUMA memory makes it up to 27 % faster"),
            [PLAIN, NUMA],
            Bounds::Within(1.2, 1.34),
        ),
        test(
            Claim::of_paper("with daemons that have little to do, up to 20 %").with_basis(FITTED),
            [PLAIN, WITH_DAEMONS],
            Bounds::Within(1.13, 1.27),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    fn verdicts(seconds: [f64; 4]) -> Vec<Verdict> {
        let of_load = |interarrival| {
            let point = move |((curve, ..), seconds): ((&'static str, Memory, f64), f64)| {
                let counts = NodeCounts::default();
                Replayed { curve, interarrival, counts, seconds }
            };
            CURVES.into_iter().zip(seconds).map(point)
        };
        let points: Vec<_> = INTERARRIVALS.into_iter().flat_map(of_load).collect();
        assert_eq!(curves(&points).len(), 4);
        assert_eq!(table(&points).rows.len(), 12);
        claims(&points).iter().map(Claim::verdict).collect()
    }

    /// Times like the paper's are as claimed, and others are not.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        use Verdict::{Fitted, No, Yes};
        assert_eq!(verdicts([20.0, 1.27, 1.0, 1.06]), [Yes, Yes, Fitted]);
        assert_eq!(verdicts([1.0, 1.27, 1.4, 1.5]), [No; 3]);
    }
}

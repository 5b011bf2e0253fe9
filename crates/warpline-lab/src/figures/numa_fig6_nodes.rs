//! Figure 6 of the NUMA paper on the paper's machine: balanced motorway traffic, the execution time
//! by the load.
//!
//! [`nodes`](crate::nodes) replays a trace of Time Warp on a model of that machine.
//! [`numa_fig6`](super::numa_fig6) measures the same on the machine at hand.

use super::{
    numa::{self, INTERFERENCE},
    numa_fig6::{INTERARRIVALS, LPS, OF_65_PERCENT},
};
use crate::{
    Axis, Basis, Bounds, Claim, Curve, Dot, Figure, Findings, Lab, LabError, Plot, Source, Table,
    nodes::{Memory, NodeCounts, NodeParams},
};

/// Figure 6 of the NUMA paper, by the model of its machine.
#[derive(Debug)]
pub struct NumaFig6Nodes;

/// The part of the day that is replayed (s).
const PART: [f64; 2] = [14_400.0, 21_600.0];
/// The load with the most cars.
const MOST_CARS: f64 = INTERARRIVALS[2];
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
/// What efficiencies rest on.
const IN_TURN: Basis = Basis::Estimated("workers that take turns, an event each, are a guess");

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
        let machine = NodeParams::opteron();
        let (mut points, mut efficiencies, mut remarks) = (Vec::new(), Vec::new(), Vec::new());
        for interarrival in INTERARRIVALS {
            let params = numa::italy(LPS, interarrival);
            let traces = numa::Traces::record(&params, settings, PART)?;
            for (curve, memory, taken) in CURVES {
                let counts = traces.replay(machine, memory)?;
                let seconds = counts.seconds * (1.0 + taken);
                points.push(Replayed { curve, interarrival, counts, seconds });
            }
            efficiencies.push((interarrival, traces.speculative.efficiency()));
            if interarrival == MOST_CARS {
                remarks.extend(traces.sensitivity(&[
                    ("sequential by plain memory", [Memory::Sequential, Memory::Plain]),
                    ("plain by NUMA memory", [Memory::Plain, Memory::Segments]),
                ])?);
                remarks.push(traces.describe());
            }
        }
        let x = Axis::new("time between cars at a junction (s)").with_ticks(INTERARRIVALS);
        let y = Axis::new("execution time (s)");
        let plot = Plot { title: self.title().to_owned(), x, y, curves: curves(&points) };
        Ok(Findings {
            claims: claims(&points, &efficiencies),
            plot,
            table: table(&points),
            paper: "Pellegrini and Quaglia 2015, figure 6: the motorways of mainland Italy as 137 \
                    LPs, with few accidents, on 32 cores of 8 NUMA nodes. Time Warp was faster \
                    than the sequential engine, the more so the more cars there were. With its \
                    NUMA memory manager it was up to 27 % faster than with that of glibc, and up \
                    to 20 % with 32 daemons that were woken every second and had little to do, \
                    which cost 10 % at most. Of what was handled 65 % was committed at most, with \
                    the most cars.",
            setup: format!(
                "Traffic on the motorways of Italy, {LPS} LPs, from {} to {} s of virtual time. A \
                 run of Time Warp whose 32 workers take turns is replayed through the caches of 32 \
                 workers on 8 nodes (`warpline_lab::nodes`): states, saved states and events with \
                 their sizes, what was rolled back included. Nobody waits for memory that others \
                 use.",
                settings.shortened(PART[0]),
                settings.shortened(PART[1])
            ),
            source: Source::Computed,
            constants: numa::constants(),
            remarks,
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
        let NodeCounts { near, far, far_written, moved, bytes, .. } = point.counts;
        let counted = [near, far, far_written, moved, bytes >> 20].map(|count| count.to_string());
        let mut row = vec![point.curve.to_owned(), point.interarrival.to_string()];
        row.push(format!("{:.4}", point.seconds));
        row.extend(counted);
        row
    };
    let header = ["curve", "time between cars (s)", "execution time (s)", "near lines read"];
    let header = header.into_iter().chain(["far lines read", "far lines written", "LPs moved"]);
    let header = header.chain(["MiB of heaps"]);
    Table { header: header.map(str::to_owned).collect(), rows: points.iter().map(row).collect() }
}

/// The ratio of the times of two curves at a load.
fn ratio(points: &[Replayed], [slow, fast]: [&str; 2], x: f64) -> f64 {
    let find =
        |curve: &str| points.iter().find(|point| point.curve == curve && point.interarrival == x);
    find(slow).zip(find(fast)).map_or(f64::NAN, |(slow, fast)| slow.seconds / fast.seconds)
}

fn claims(points: &[Replayed], efficiencies: &[(f64, f64)]) -> Vec<Claim> {
    let of_paper = |text: &str| Claim::of_paper(text).with_basis(numa::basis());
    let greatest = |claim: Claim, curves: [&str; 2], range| {
        let ratios = INTERARRIVALS.map(|x| ratio(points, curves, x));
        claim.test("the greatest ratio", ratios.into_iter().fold(0.0, f64::max), range)
    };
    let everywhere = |claim: Claim, curves: [&str; 2], range| {
        INTERARRIVALS.into_iter().fold(claim, |claim, x| {
            let place = format!("{} / {} at {x}", curves[0], curves[1]);
            claim.test(place, ratio(points, curves, x), range)
        })
    };
    let speed_up = |x| ratio(points, [SEQUENTIAL, PLAIN], x);
    let efficiency = efficiencies.iter().fold(
        Claim::of_paper("65 % of what is handled is committed at most").with_basis(IN_TURN),
        |claim, &(x, efficiency)| claim.test(format!("at {x}"), efficiency, OF_65_PERCENT),
    );
    vec![
        everywhere(
            of_paper("Time Warp is faster than the sequential engine"),
            [SEQUENTIAL, PLAIN],
            Bounds::Above(1.0),
        ),
        of_paper("the speed-up of Time Warp rises with the number of cars").test(
            "45 s / 120 s",
            speed_up(MOST_CARS) / speed_up(INTERARRIVALS[0]),
            Bounds::Above(1.0),
        ),
        greatest(
            of_paper("NUMA memory makes it up to 27 % faster"),
            [PLAIN, NUMA],
            Bounds::Within(1.2, 1.34),
        ),
        greatest(
            of_paper("with daemons that have little to do, up to 20 %"),
            [PLAIN, WITH_DAEMONS],
            Bounds::Within(1.13, 1.27),
        ),
        everywhere(
            of_paper("these daemons cost 10 % at most"),
            [WITH_DAEMONS, NUMA],
            Bounds::AtMost(1.1),
        ),
        efficiency,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    /// By the times of the curves with few cars and with many, and by the efficiency.
    fn verdicts(few: [f64; 4], many: [f64; 4], efficiency: f64) -> Vec<Verdict> {
        let of_load = |interarrival| {
            let seconds = if interarrival == MOST_CARS { many } else { few };
            let point = move |((curve, ..), seconds): ((&'static str, Memory, f64), f64)| {
                let counts = NodeCounts::default();
                Replayed { curve, interarrival, counts, seconds }
            };
            CURVES.into_iter().zip(seconds).map(point)
        };
        let points: Vec<_> = INTERARRIVALS.into_iter().flat_map(of_load).collect();
        assert_eq!(curves(&points).len(), 4);
        assert_eq!(table(&points).rows.len(), 12);
        assert_eq!(table(&points).header.len(), table(&points).rows[0].len());
        let efficiencies = INTERARRIVALS.map(|x| (x, efficiency));
        claims(&points, &efficiencies).iter().map(Claim::verdict).collect()
    }

    /// Times like the paper's are as claimed, which confirms nothing, and others are not.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        use Verdict::{Estimated, Fitted, No};
        let like = verdicts([10.0, 1.27, 1.0, 1.06], [20.0, 1.27, 1.0, 1.06], 0.6);
        assert_eq!(like, [Fitted, Fitted, Fitted, Fitted, Fitted, Estimated]);
        let unlike = verdicts([1.0, 1.27, 1.4, 1.6], [0.5, 1.27, 1.4, 1.6], 0.9);
        assert_eq!(unlike, [No; 6]);
    }
}

//! Figure 6 of the NUMA paper: balanced motorway traffic, the execution time by the load. Beside
//! the paper's curves there is one with LPs that move at random, so that daemons have work where
//! there are several nodes.

use warpline::{
    Balance,
    pending::PendingKind,
    settings::{MemoryPlacement, PoolKind, SynchronizationKind},
};
use warpline_memory::Topology;
use warpline_models::catalog::ModelParams;

use super::{numa, pools};
use crate::{
    Axis, Bounds, Claim, Conservative, Constant, Executor, Figure, Findings, Lab, LabError, Point,
    Sample, Setup, TimeWarp, Workload, claim::ratios,
};

/// Figure 6 of the NUMA paper.
#[derive(Debug)]
pub struct NumaFig6;

/// Seconds between two cars that join at a junction, from few cars to many.
pub(super) const INTERARRIVALS: [f64; 3] = [120.0, 60.0, 45.0];
/// An LP for each junction and each route.
pub(super) const LPS: usize = 137;
/// The most that was committed of what was handled, in the paper.
pub(super) const OF_65_PERCENT: Bounds = Bounds::AtMost(0.65);
/// A day.
const END: f64 = 86_400.0;

const SEQUENTIAL: &str = "sequential";
const PLAIN: &str = "Time Warp, plain memory";
const NUMA: &str = "Time Warp, NUMA memory";
const DAEMONS: &str = "Time Warp, NUMA memory, daemons";
const MOVING: &str = "the same, LPs that move at random";
/// The part of the LPs that move at each chance to.
const MOVES: f64 = 0.02;
/// What daemons cost at most, in the paper.
const AT_MOST_10_PERCENT: Bounds = Bounds::AtMost(1.1);
/// Efficiencies that daemons do not change.
const THE_SAME: Bounds = Bounds::Within(0.95, 1.05);
const WINDOWS: &str = "conservative windows";

impl Figure for NumaFig6 {
    fn name(&self) -> &'static str {
        "numa-fig6"
    }

    fn title(&self) -> &'static str {
        "Balanced traffic, 137 LPs: execution time by the time between cars"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let (end, workers) = (lab.settings.shortened(END), lab.settings.most_workers());
        let points = lab.sample(points(workers, end))?;
        let x = Axis::new("time between cars at a junction (s)").with_ticks(INTERARRIVALS);
        Ok(Findings {
            paper: "Pellegrini and Quaglia 2015, figure 6: the motorways of mainland Italy as 137 \
                    LPs, with few accidents, on 32 cores of 8 NUMA nodes. Time Warp was faster \
                    than the sequential engine, the more so the more cars there were. With its \
                    NUMA memory manager it was up to 27 % faster than with that of glibc, and up \
                    to 20 % with 32 daemons that were woken every second and had little to do. \
                    These cost 10 % at most, and did not change the pattern of rollbacks. Of what \
                    was handled 65 % was committed at most.",
            setup: format!(
                "Traffic on the motorways of Italy, {LPS} LPs, a car at each junction every 120, \
                 60 and 45 s, {end} s of virtual time; {workers} worker(s); {} rounds. The \
                 sequential engine has a calendar queue, as the paper's. Windows are our own: the \
                 model has a lookahead. So are LPs that move: {} % of them whenever they may.",
                lab.settings.samples,
                MOVES * 100.0
            ),
            remarks: vec![moves(&points)],
            claims: claims(
                if pools::comparable(workers as f64) { &points } else { &[] },
                Topology::of_process().nodes_with_cores(),
            ),
            constants: constants(),
            ..numa::of_times("Motorways of Italy, 137 LPs", x, &points)
        })
    }
}

fn constants() -> Vec<Constant> {
    vec![
        Constant::paper(
            format!("{LPS} LPs, a car at each junction every {INTERARRIVALS:?} s"),
            "section 4; 137 are the nodes and roads of mainland Italy",
        ),
        Constant::paper("a daemon for each core, woken every second", "section 4"),
        Constant::paper("65 % of what is handled is committed; daemons cost 10 %", "section 4"),
        Constant::ours(format!("{END} s are simulated"), "a day"),
        Constant::ours(
            format!("{} % of the LPs move at each chance, in a curve of ours", MOVES * 100.0),
            "so that daemons have work",
        ),
        Constant::ours("an efficiency is the same within 5 %", "the paper names no threshold"),
    ]
}

fn points(workers: usize, end: f64) -> Vec<Point> {
    let plain = TimeWarp::new(workers, PoolKind::default());
    let numa = TimeWarp { memory_placement: MemoryPlacement::Lp, ..plain.clone() };
    // One for each core, as in the paper.
    let daemons = TimeWarp { migration_daemons: workers, ..numa.clone() };
    let moving = TimeWarp { balance: Balance::Randomly(MOVES), ..daemons.clone() };
    let executors = [
        (SEQUENTIAL, Executor::Sequential(PendingKind::Calendar)),
        (PLAIN, Executor::TimeWarp(plain)),
        (NUMA, Executor::TimeWarp(numa)),
        (DAEMONS, Executor::TimeWarp(daemons)),
        (MOVING, Executor::TimeWarp(moving)),
        (WINDOWS, Executor::Conservative(Conservative::new(workers, SynchronizationKind::Windows))),
    ];
    let of_load = |interarrival: f64| {
        executors.clone().map(|(curve, executor)| {
            let model = Workload::Shipped(ModelParams::from(numa::italy(LPS, interarrival)));
            Point::new(curve, interarrival, Setup { model, end, executor })
        })
    };
    INTERARRIVALS.into_iter().flat_map(of_load).collect()
}

/// One worker is no parallel run, and more workers than cores wait for each other: then no point is
/// compared.
fn claims(points: &[Point], nodes: usize) -> Vec<Claim> {
    let faster = |claim: Claim, curve| claim.test_faster(points, [curve, SEQUENTIAL], |_| true);
    vec![
        faster(Claim::of_paper("Time Warp is faster than the sequential engine"), PLAIN),
        speed_up_rises(points),
        Claim::of_paper("Time Warp is faster with NUMA memory than with plain memory").test_faster(
            points,
            [NUMA, PLAIN],
            |_| true,
        ),
        Claim::of_paper("it is so with daemons that are woken every second, too").test_faster(
            points,
            [DAEMONS, PLAIN],
            |_| true,
        ),
        INTERARRIVALS
            .into_iter()
            .fold(Claim::of_paper("these daemons cost 10 % at most"), |claim, x| {
                claim.test_rounds(at(x), &pair(points, x, rate), AT_MOST_10_PERCENT)
            }),
        INTERARRIVALS
            .into_iter()
            .fold(Claim::of_paper("daemons do not change what is rolled back"), |claim, x| {
                claim.test_rounds(at(x), &pair(points, x, efficiency), THE_SAME)
            }),
        points.iter().filter(|point| point.curve == PLAIN).fold(
            Claim::of_paper("65 % of what is handled is committed at most"),
            |claim, point| {
                let efficiencies: Vec<_> = point.samples.iter().map(efficiency).collect();
                claim.test_rounds(format!("at {}", point.x), &efficiencies, OF_65_PERCENT)
            },
        ),
        faster(Claim::own("conservative windows are faster than it, too"), WINDOWS),
        pages_follow(points, nodes),
    ]
}

fn at(x: f64) -> String {
    format!("without daemons / with, at {x}")
}

const fn rate(sample: &Sample) -> f64 {
    sample.rate
}

const fn efficiency(sample: &Sample) -> f64 {
    sample.efficiency
}

/// A number of NUMA memory without daemons by that with daemons, in each round.
fn pair(points: &[Point], x: f64, number: fn(&Sample) -> f64) -> Vec<f64> {
    let find = |curve| points.iter().find(|point| point.curve == curve && point.x == x);
    let (Some(without), Some(with)) = (find(NUMA), find(DAEMONS)) else { return Vec::new() };
    let samples = without.samples.iter().zip(&with.samples);
    samples.map(|(without, with)| number(without) / number(with)).collect()
}

/// Our claim about LPs that move; on one node no page has to, so there is no place to test it.
fn pages_follow(points: &[Point], nodes: usize) -> Claim {
    let claim = Claim::own("daemons move pages after LPs that move to another node");
    let moving = points.iter().filter(|point| point.curve == MOVING && nodes > 1);
    moving.fold(claim, |claim, point| {
        // An LP that did not move needs no page.
        let moved = |sample: &Sample| sample.realigned as f64 / sample.moved_lps.max(1) as f64;
        let segments: Vec<_> = point.samples.iter().map(moved).collect();
        claim.test_rounds(
            format!("segments moved for each LP that moved, at {}", point.x),
            &segments,
            Bounds::Above(0.0),
        )
    })
}

/// What daemons had to do, for the text.
fn moves(points: &[Point]) -> String {
    let counted = |point: &Point| {
        let median = |number: fn(&Sample) -> u64| point.median(|sample| number(sample) as f64);
        let (lps, segments) =
            (median(|sample| sample.moved_lps), median(|sample| sample.realigned));
        format!("at {} {lps} LPs and {segments} segments", point.x)
    };
    let counted = points.iter().filter(|point| point.curve == MOVING).map(counted);
    let counted = counted.collect::<Vec<_>>().join(", ");
    format!("What moved, with LPs that move at random: {counted}. On one node no segment has to.")
}

fn speed_up_rises(points: &[Point]) -> Claim {
    let find = |curve, x| points.iter().find(|point| point.curve == curve && point.x == x);
    let speed_ups = |x| Some(ratios(find(PLAIN, x)?, find(SEQUENTIAL, x)?));
    let claim = Claim::of_paper("the speed-up of Time Warp rises with the number of cars");
    let Some((few, many)) =
        speed_ups(INTERARRIVALS[0]).zip(speed_ups(INTERARRIVALS[INTERARRIVALS.len() - 1]))
    else {
        return claim;
    };
    let rises: Vec<_> = many.iter().zip(&few).map(|(many, few)| many / few).collect();
    claim.test_rounds("45 s / 120 s", &rises, Bounds::FASTER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    /// Points with these speed-ups; `cost` is what daemons cost, and `segments` what they moved.
    fn points(
        speed_ups: [f64; 3],
        numa: f64,
        [cost, windows]: [f64; 2],
        segments: u64,
    ) -> Vec<Point> {
        let of_load = |(x, speed_up): (f64, f64)| {
            let placed = speed_up * numa;
            let rates = [1.0, speed_up, placed, placed / cost, placed, windows];
            let curves = [SEQUENTIAL, PLAIN, NUMA, DAEMONS, MOVING, WINDOWS];
            curves.into_iter().zip(rates).map(move |(curve, rate)| {
                let mut point = point(curve, x, &[rate; 5]);
                for sample in &mut point.samples {
                    (sample.moved_lps, sample.realigned) = (2, segments);
                    let cost = if curve == DAEMONS { cost } else { 1.0 };
                    sample.efficiency = 0.6 * numa / cost;
                }
                point
            })
        };
        INTERARRIVALS.into_iter().zip(speed_ups).flat_map(of_load).collect()
    }

    fn verdicts(points: &[Point]) -> Vec<Verdict> {
        claims(points, 2).iter().map(Claim::verdict).collect()
    }

    /// Data like the paper's gets the verdict yes, and the opposite gets no.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let mut like = points([1.2, 1.4, 1.6], 1.2, [1.05, 1.5], 3);
        // NUMA memory changes the time and not the rollbacks.
        like.iter_mut().flat_map(|p| &mut p.samples).for_each(|sample| sample.efficiency = 0.6);
        assert_eq!(verdicts(&like), [Verdict::Yes; 9]);
        let unlike = points([0.9, 0.8, 0.7], 0.8, [1.3, 0.5], 0);
        let on_one_node = claims(&unlike, 1).pop().map(|claim| claim.verdict());
        assert_eq!(on_one_node, Some(Verdict::Unknown), "no page had to move");
        let mut unlike = verdicts(&unlike);
        // What is committed is within the paper's 65 % here.
        assert_eq!(unlike.remove(6), Verdict::Yes);
        assert_eq!(unlike, [Verdict::No; 8]);
        let efficient = points([0.9, 0.8, 0.7], 1.2, [1.0, 0.5], 0);
        assert_eq!(verdicts(&efficient)[6], Verdict::No);
    }

    #[test]
    fn what_moved_is_told() {
        let remark = moves(&points([1.0; 3], 1.0, [1.0; 2], 3));
        assert!(remark.contains("at 120 2 LPs and 3 segments"), "{remark}");
    }
}

//! Figure 6 of the NUMA paper: balanced motorway traffic, the execution time by the load.

use warpline::{
    pending::PendingKind,
    settings::{MemoryPlacement, PoolKind, SynchronizationKind},
};
use warpline_models::catalog::ModelParams;

use super::{numa, pools};
use crate::{
    Axis, Bounds, Claim, Conservative, Executor, Figure, Findings, Lab, LabError, Point, Setup,
    TimeWarp, Workload, claim::ratios,
};

/// Figure 6 of the NUMA paper.
#[derive(Debug)]
pub struct NumaFig6;

/// Seconds between two cars that join at a junction, from few cars to many.
pub(super) const INTERARRIVALS: [f64; 3] = [120.0, 60.0, 45.0];
/// An LP for each junction and each route.
pub(super) const LPS: usize = 137;
/// A day.
const END: f64 = 86_400.0;

const SEQUENTIAL: &str = "sequential";
const PLAIN: &str = "Time Warp, plain memory";
const NUMA: &str = "Time Warp, NUMA memory";
const DAEMONS: &str = "Time Warp, NUMA memory, daemons";
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
                    to 20 % with 32 daemons that were woken every second and had little to do.",
            setup: format!(
                "Traffic on the motorways of Italy, {LPS} LPs, a car at each junction every 120, \
                 60 and 45 s, {end} s of virtual time; {workers} worker(s); {} rounds. Windows are \
                 our own: the model has a lookahead.",
                lab.settings.samples
            ),
            claims: claims(if pools::comparable(workers as f64) { &points } else { &[] }),
            ..numa::of_times("Motorways of Italy, 137 LPs", x, &points)
        })
    }
}

fn points(workers: usize, end: f64) -> Vec<Point> {
    let plain = TimeWarp::new(workers, PoolKind::default());
    let numa = TimeWarp { memory_placement: MemoryPlacement::Lp, ..plain.clone() };
    // One for each core, as in the paper.
    let daemons = TimeWarp { migration_daemons: workers, ..numa.clone() };
    let executors = [
        (SEQUENTIAL, Executor::Sequential(PendingKind::default())),
        (PLAIN, Executor::TimeWarp(plain)),
        (NUMA, Executor::TimeWarp(numa)),
        (DAEMONS, Executor::TimeWarp(daemons)),
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
fn claims(points: &[Point]) -> Vec<Claim> {
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
        faster(Claim::own("conservative windows are faster than it, too"), WINDOWS),
    ]
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

    fn verdicts(speed_ups: [f64; 3], numa: f64, windows: f64) -> Vec<Verdict> {
        let of_load = |(x, speed_up): (f64, f64)| {
            let placed = speed_up * numa;
            let rates = [1.0, speed_up, placed, placed, windows];
            let curves = [SEQUENTIAL, PLAIN, NUMA, DAEMONS, WINDOWS];
            curves.into_iter().zip(rates).map(move |(curve, rate)| point(curve, x, &[rate; 5]))
        };
        let points: Vec<_> = INTERARRIVALS.into_iter().zip(speed_ups).flat_map(of_load).collect();
        claims(&points).iter().map(Claim::verdict).collect()
    }

    /// Data like the paper's gets the verdict yes, and the opposite gets no.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        assert_eq!(verdicts([1.2, 1.4, 1.6], 1.2, 1.5), [Verdict::Yes; 5]);
        assert_eq!(verdicts([0.9, 0.8, 0.7], 0.8, 0.5), [Verdict::No; 5]);
    }
}

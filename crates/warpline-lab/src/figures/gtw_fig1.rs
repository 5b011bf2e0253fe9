//! Figure 1 of the GTW paper: the wireless network at three mobilities, and the speed-up.

use warpline::{pending::PendingKind, settings::PoolKind};
use warpline_models::{
    catalog::ModelParams,
    pcs::{Mobility, PcsParams},
};

use super::pools;
use crate::{
    Bounds, Claim, Curve, Dot, Executor, Figure, Findings, Lab, LabError, Point, Setup, TimeWarp,
    Workload, claim::ratios, sampling::median,
};

/// Figure 1 of the GTW paper.
#[derive(Debug)]
pub struct GtwFig1;

/// The mobilities, and the names of their curves: Time Warp, and the sequential engine with a splay
/// tree and with its default pending set, which is its best.
const MOBILITIES: [(Mobility, [&str; 3]); 3] = [
    (Mobility::Low, ["low mobility", "low, sequential splay", "low, sequential best"]),
    (Mobility::Medium, ["medium mobility", "medium, sequential splay", "medium, sequential best"]),
    (Mobility::High, ["high mobility", "high, sequential splay", "high, sequential best"]),
];
/// The places of the sequential engines among those names.
const SEQUENTIAL: [usize; 2] = [1, 2];
/// The paper's best speed-up, per processor.
const PER_WORKER: f64 = 38.0 / 42.0;

impl Figure for GtwFig1 {
    fn name(&self) -> &'static str {
        "gtw-fig1"
    }

    fn title(&self) -> &'static str {
        "PCS at three mobilities: committed event rate by number of workers, and speed-up"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(300.0);
        let points = lab.sample(points(lab, end))?;
        let title = "PCS, 64 x 32 cells, 50 000 portables";
        let (parallel, sequential): (Vec<_>, Vec<_>) = points
            .iter()
            .cloned()
            .partition(|point| matches!(point.setup.executor, Executor::TimeWarp(_)));
        let mut findings = Findings::of_rates(title, pools::workers_axis(lab), &parallel);
        findings.table = Findings::of_rates(title, pools::workers_axis(lab), &points).table;
        findings.plot.curves.extend(baselines(&sequential, &lab.settings.workers));
        findings.remarks.extend(speed_ups(&parallel, &sequential));
        Ok(Findings {
            paper: "Das, Fujimoto, Panesar, Allison and Hybinette 1994, figure 1 and section 4: a \
                    wireless network of 64 x 32 cells and over 50 000 portables on a KSR-2, with \
                    portables that move at 1/5, 1/9 and 1/25 of the rate at which calls end. The \
                    rate fell as mobility rose. Against a sequential simulator with a splay tree \
                    the speed-up was up to 38 with 42 processors.",
            setup: format!(
                "PCS, 64 x 32 cells, 50 000 portables, 10 channels, calls of 3 minutes and 6 \
                 between calls, up to minute {end}; {} rounds. Default pool, no limit on memory. \
                 The dashed lines are sequential engines: one with a splay tree, as the paper has \
                 it, and {}.",
                lab.settings.samples,
                best_engine()
            ),
            claims: claims(&parallel, &sequential),
            ..findings
        })
    }
}

fn points(lab: &Lab<'_>, end: f64) -> Vec<Point> {
    let mut points = Vec::new();
    for (mobility, [time_warp, splay, default]) in MOBILITIES {
        let params = PcsParams { mobility: Some(mobility), ..PcsParams::default() };
        let model = Workload::Shipped(ModelParams::from(params));
        let mut point = |curve, x, executor| {
            points.push(Point::new(curve, x, Setup { model: model.clone(), end, executor }));
        };
        for &workers in &lab.settings.workers {
            let executor = TimeWarp::new(workers, PoolKind::default());
            point(time_warp, workers as f64, Executor::TimeWarp(executor));
        }
        point(splay, 1.0, Executor::Sequential(PendingKind::Splay));
        point(default, 1.0, Executor::Sequential(PendingKind::default()));
    }
    points
}

/// The rates of both sequential engines, as lines over the whole width.
fn baselines(sequential: &[Point], workers: &[usize]) -> Vec<Curve> {
    let line = |n: usize, name: &str| {
        let point = sequential.iter().find(|point| point.curve == name)?;
        let y = point.median(|sample| sample.rate / 1e6);
        let ends = [workers.first(), workers.last()].into_iter().flatten();
        let dots = ends.map(|&x| Dot { x: x as f64, y, low: y, high: y, hollow: false });
        Some(Curve { baseline_of: Some(n), ..Curve::new(name, dots.collect()) })
    };
    let names = MOBILITIES.iter().enumerate();
    let lines = names.flat_map(|(n, (_, names))| SEQUENTIAL.map(|engine| line(n, names[engine])));
    lines.flatten().collect()
}

/// The speed-up of a point against a sequential curve, in each round.
fn speed_up(point: &Point, sequential: &[Point], curve: &str) -> Vec<f64> {
    let other = sequential.iter().find(|other| other.curve == curve);
    other.map(|other| ratios(point, other)).unwrap_or_default()
}

/// The speed-up of each mobility where it is greatest, against both sequential engines.
fn speed_ups(parallel: &[Point], sequential: &[Point]) -> Vec<String> {
    let told = |(_, [name, splay, best]): (Mobility, [&str; 3])| {
        let of_curve = parallel.iter().filter(|point| point.curve == name);
        let against = |point, curve| median(speed_up(point, sequential, curve).into_iter());
        let all = of_curve.map(|point| (against(point, splay), point));
        let (greatest, point) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(format!(
            "{name}, {} worker(s): speed-up {greatest:.2} against the sequential engine with a \
             splay tree, {:.2} against {}.",
            point.x,
            against(point, best),
            best_engine()
        ))
    };
    MOBILITIES.into_iter().filter_map(told).collect()
}

fn claims(parallel: &[Point], sequential: &[Point]) -> Vec<Claim> {
    let [low, medium, high] = MOBILITIES.map(|(_, names)| names[0]);
    let within = || parallel.iter().filter(|point| !point.oversubscribed());
    let mut rises =
        Claim::of_paper("the rate rises with the number of workers, up to the number of cores");
    for (_, [name, ..]) in MOBILITIES {
        let curve: Vec<_> = within().filter(|point| point.curve == name).collect();
        for pair in curve.windows(2) {
            let place = format!("{name}, {} / {} workers", pair[1].x, pair[0].x);
            rises = rises.test_rounds(place, &ratios(pair[1], pair[0]), Bounds::FASTER);
        }
    }
    let faster = |text: &str, curves| Claim::of_paper(text).test_faster(parallel, curves, |_| true);
    vec![
        faster("low mobility is faster than medium", [low, medium]),
        faster("medium mobility is faster than high", [medium, high]),
        rises,
        per_worker(within().rfind(|point| point.curve == low && point.x > 1.0), sequential),
    ]
}

/// The claim about the speed-up, tested against both sequential engines: the paper's pending set is
/// a splay tree, and ours is not, so that the first number alone would be the difference of the
/// two.
fn per_worker(most: Option<&Point>, sequential: &[Point]) -> Claim {
    let claim = Claim::of_paper(format!(
        "with as many workers as there are cores, the speed-up at low mobility against a \
         sequential engine is above {PER_WORKER:.2} per worker (38 with 42)"
    ));
    let Some(point) = most else { return claim };
    let (_, [_, splay, best]) = MOBILITIES[0];
    let engines =
        [(splay, "one with a splay tree, as in the paper".to_owned()), (best, best_engine())];
    engines.into_iter().fold(claim, |claim, (curve, engine)| {
        let speed_ups = speed_up(point, sequential, curve);
        let parts: Vec<_> = speed_ups.iter().map(|speed_up| speed_up / point.x).collect();
        let place = format!("{} workers against {engine}", point.x);
        claim.test_rounds(place, &parts, Bounds::Above(PER_WORKER))
    })
}

/// The best sequential engine, for texts: its pending set is the fastest on this model, level with
/// the calendar queue (`docs/pending-sets.md`).
fn best_engine() -> String {
    format!("our best one, with a {} queue", PendingKind::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    fn data(rates: [f64; 3], growth: f64, splay: f64) -> [Vec<Point>; 2] {
        let curves = MOBILITIES.into_iter().zip(rates);
        let parallel = curves.clone().flat_map(|((_, names), rate)| {
            [1.0, 2.0].map(|x| point(names[0], x, &[rate * if x > 1.0 { growth } else { 1.0 }; 5]))
        });
        let sequential = curves.flat_map(|((_, names), _)| {
            [(names[1], splay), (names[2], 2.0)].map(|(name, rate)| point(name, 1.0, &[rate; 5]))
        });
        [parallel.collect(), sequential.collect()]
    }

    /// Data like the paper's gets the verdict yes, and the opposite gets no.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let verdicts = |[parallel, sequential]: [Vec<Point>; 2]| {
            claims(&parallel, &sequential).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts(data([4.0, 3.0, 2.0], 1.9, 1.0)), [yes; 4]);
        assert_eq!(verdicts(data([1.0, 2.0, 3.0], 0.9, 1.0)), [no; 4]);
        // A speed-up that is only that of one pending set over another holds in part.
        let against_splay = Verdict::Partly(1, 2);
        assert_eq!(verdicts(data([1.8, 1.6, 1.4], 1.9, 1.0)), [yes, yes, yes, against_splay]);
    }

    /// The speed-up is told against both sequential engines, and both are dashed lines.
    #[test]
    fn speed_ups_are_against_both() {
        let [parallel, sequential] = data([3.0, 2.0, 1.0], 2.0, 1.5);
        let told = speed_ups(&parallel, &sequential);
        assert!(
            told[0].contains("2 worker(s): speed-up 4.00 against")
                && told[0].contains("3.00 against"),
            "{told:?}"
        );
        let lines = baselines(&sequential, &[1, 2]);
        assert_eq!(lines.len(), 6);
        for (line, rate) in lines.iter().zip([1.5e-6, 2.0e-6]) {
            assert!(line.dots.iter().all(|dot| dot.y == rate) && line.dots.len() == 2);
        }
    }
}

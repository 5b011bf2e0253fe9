//! Figure 1 of the GTW paper: the wireless network at three mobilities, and the speed-up.
//!
//! An event of the paper computes for about 30 microseconds, which are 1200 cycles of its machine
//! and a quarter of the time of a sequential event there. Here the same time is nearly all of an
//! event, so the speed-up is measured with that work and without any, and a claim about it holds
//! only if it does with both.

use warpline::{
    pending::PendingKind,
    settings::{FlowControl, Pool, Quota},
};
use warpline_models::{
    catalog::ModelParams,
    pcs::{Mobility, PcsParams},
};

use super::pools;
use crate::{
    Bounds, Claim, Constant, Curve, Dot, Executor, Figure, Findings, Lab, LabError, Limit, Point,
    Setup, TimeWarp, Workload, claim::ratios, sampling::median,
};

/// Figure 1 of the GTW paper.
#[derive(Debug)]
pub struct GtwFig1;

/// The mobilities, and what their curves' names begin with.
const MOBILITIES: [(Mobility, &str); 3] = [
    (Mobility::Low, "low mobility"),
    (Mobility::Medium, "medium mobility"),
    (Mobility::High, "high mobility"),
];
/// From the paper (section 4): its best speed-up, 38 with 42 processors, by processor.
const PER_WORKER: f64 = 38.0 / 42.0;
/// From the paper: portables, for "over 50,000". Each has at least one pending event.
const PORTABLES: u64 = 50_000;
/// What the paper does not say, of Time Warp and of the curves with more buffers: claims that may
/// hold are tested with both.
const GUESSES: [Guess; 2] = [
    Guess { buffers: 1.5, delta: 0.25, free: [0.1, 0.2] },
    Guess { buffers: 3.0, delta: 0.0625, free: [0.02, 0.04] },
];
/// From the paper: the processors of its largest run.
const PROCESSORS: usize = 42;
/// From the paper: typically more than this part of the messages stay on their processor.
const LOCAL: f64 = 0.9;

/// Numbers that the user of GTW sets.
#[derive(Debug)]
struct Guess {
    /// Buffers by portables; a worker's share of them is its quota, N_buf.
    buffers: f64,
    /// Δ, as a part of the quota.
    delta: f64,
    /// F_free1 and F_free2.
    free: [f64; 2],
}

/// What an event computes.
struct Work {
    nanoseconds: u64,
    /// What names of curves end with.
    suffix: &'static str,
    /// The minute at which runs end.
    end: f64,
}

/// The first one is the paper's. The lengths are ours, so that both take about as long.
const WORK: [Work; 2] = [
    Work { nanoseconds: 30_000, suffix: "", end: 6.0 },
    Work { nanoseconds: 0, suffix: ", no work", end: 60.0 },
];

/// The engines of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    TimeWarp,
    /// The same with the other number of buffers.
    Plenty,
    Speculative,
    Auto,
    /// The sequential engine with a splay tree, as in the paper, and with our best pending set.
    Splay,
    Best,
}

/// The engines that are reported beside Time Warp, with as many workers as it has at most.
const BESIDE: [Which; 2] = [Which::Speculative, Which::Auto];
const SEQUENTIAL: [Which; 2] = [Which::Splay, Which::Best];

impl Which {
    const fn name(self) -> &'static str {
        match self {
            Self::TimeWarp => "",
            Self::Plenty => ", more buffers",
            Self::Speculative => ", speculative",
            Self::Auto => ", auto",
            Self::Splay => ", sequential splay",
            Self::Best => ", sequential best",
        }
    }

    fn executor(self, workers: usize) -> Executor {
        match self {
            Self::TimeWarp => gtw(workers, &GUESSES[0]),
            Self::Plenty => gtw(workers, &GUESSES[1]),
            Self::Speculative => Executor::Speculative(workers),
            Self::Auto => Executor::Auto(workers),
            Self::Splay => Executor::Sequential(PendingKind::Splay),
            Self::Best => Executor::Sequential(PendingKind::default()),
        }
    }
}

fn curve(mobility: &str, which: Which, work: &Work) -> String {
    format!("{mobility}{}{}", which.name(), work.suffix)
}

/// Time Warp as in the paper (section 3.3): sender pools, of which each worker has an equal share
/// of all buffers as its quota, and GVT when a worker has none left.
fn gtw(workers: usize, &Guess { buffers, delta, free: [free1, free2] }: &Guess) -> Executor {
    let all = (buffers * PORTABLES as f64) as u64;
    let share = (all / workers as u64) as u32;
    let quota = Some(Quota { buffers: share, margin: (delta * f64::from(share)) as u32 });
    let Pool::Sender { global_share, .. } = Pool::SENDER else { unreachable!("a sender pool") };
    let time_warp = TimeWarp::new(workers, Pool::Sender { global_share, quota });
    let flow_control = FlowControl { free1, free2, ..time_warp.flow_control };
    let time_warp = TimeWarp { flow_control, ..time_warp };
    Executor::TimeWarp(time_warp.short_of(Limit::Buffers(all)))
}

impl Figure for GtwFig1 {
    fn name(&self) -> &'static str {
        "gtw-fig1"
    }

    fn title(&self) -> &'static str {
        "PCS at three mobilities: committed event rate by number of workers, and speed-up"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let points = lab.sample(points(lab))?;
        let local = lab.count(local(lab))?;
        let title = "PCS, 64 x 32 cells, 50 000 portables, 30 microseconds each event";
        let papers = |point: &&Point| !point.curve.ends_with(WORK[1].suffix);
        let (sequential, parallel): (Vec<_>, Vec<_>) = points
            .iter()
            .filter(papers)
            .cloned()
            .partition(|point| matches!(point.setup.executor, Executor::Sequential(_)));
        let mut findings = Findings::of_rates(title, pools::workers_axis(lab), &parallel);
        findings.table = Findings::of_rates(title, pools::workers_axis(lab), &points).table;
        findings.plot.curves.extend(baselines(&sequential, &lab.settings.workers));
        findings.remarks.extend(speed_ups(&points));
        findings.remarks.extend(local.iter().map(local_remark));
        let ends = WORK.map(|work| lab.settings.shortened(work.end));
        Ok(Findings {
            paper: "Das, Fujimoto, Panesar, Allison and Hybinette 1994, figure 1 and section 4: a \
                    wireless network of 64 x 32 cells and over 50 000 portables on a KSR-2, with \
                    portables that move at 1/5, 1/9 and 1/25 of the rate at which calls end, and \
                    30 microseconds of computation in each event. The rate fell as mobility rose. \
                    Typically over 90 % of the messages stayed on their processor. Against a \
                    sequential simulator with a splay tree the speed-up was up to 38 with 42 \
                    processors.",
            setup: format!(
                "PCS, 64 x 32 cells, {PORTABLES} portables, 10 channels, calls of 3 minutes and 6 \
                 between calls; with 30 microseconds of work in each event up to minute {}, and \
                 without any up to minute {}; {} rounds. Time Warp has sender pools with a quota, \
                 {} buffers by portables, and computes GVT when a worker has none left. Dashed \
                 lines are sequential engines: one with a splay tree, as the paper has it, and {}. \
                 The share of local events is counted on {PROCESSORS} workers that take turns.",
                ends[0],
                ends[1],
                lab.settings.samples,
                GUESSES[0].buffers,
                best_engine()
            ),
            claims: claims(&points, &local),
            constants: constants(),
            ..findings
        })
    }
}

fn constants() -> Vec<Constant> {
    vec![
        Constant::paper(
            "64 x 32 cells, 50 000 portables, mobilities 1/5, 1/9 and 1/25",
            "section 4",
        ),
        Constant::paper(
            "30 microseconds of work in an event",
            "section 4; a sequential event took 115 there, so this is a far greater part of an \
             event here: claims about the speed-up are tested without any, too",
        ),
        Constant::paper("a speed-up of 38 with 42 processors", "section 4"),
        Constant::paper("over 90 % of the messages are local", "section 4"),
        guess(&GUESSES[0]),
        guess(&GUESSES[1]),
        Constant::paper(
            "10 channels, calls of 3 minutes and 6 between them",
            "the buffer paper, section 7.2: this one gives none",
        ),
        Constant::ours("the lengths of the runs", "two million events, as there, take a minute"),
    ]
}

fn guess(Guess { buffers, delta, free: [free1, free2] }: &Guess) -> Constant {
    Constant::varied(
        format!(
            "{buffers} buffers by portables, of which a worker's quota is its share; Δ {delta} of \
             the quota, F_free1 {free1} and F_free2 {free2}"
        ),
        "users set them, and the paper gives none",
    )
}

fn model(mobility: Mobility, nanoseconds: u64) -> Workload {
    let mobility = Some(mobility);
    let params = PcsParams { mobility, grain: nanoseconds, ..PcsParams::default() };
    Workload::Shipped(ModelParams::from(params))
}

fn points(lab: &Lab<'_>) -> Vec<Point> {
    let mut points = Vec::new();
    let workers = &lab.settings.workers;
    let most = lab.settings.most_workers();
    for (mobility, name) in MOBILITIES {
        for work in &WORK {
            let (model, end) =
                (model(mobility, work.nanoseconds), lab.settings.shortened(work.end));
            let mut point = |which: Which, workers: usize| {
                let executor = which.executor(workers);
                let setup = Setup { model: model.clone(), end, executor };
                points.push(Point::new(curve(name, which, work), workers as f64, setup));
            };
            workers.iter().for_each(|&workers| point(Which::TimeWarp, workers));
            BESIDE.into_iter().for_each(|which| point(which, most));
            SEQUENTIAL.into_iter().for_each(|which| point(which, 1));
            if mobility == Mobility::Low {
                workers.iter().for_each(|&workers| point(Which::Plenty, workers));
            }
        }
    }
    points
}

/// Runs in turn on as many workers as the paper's largest run had.
fn local(lab: &Lab<'_>) -> Vec<Point> {
    let end = lab.settings.shortened(20.0);
    let point = |(mobility, name)| {
        let time_warp = TimeWarp { in_turn: true, ..TimeWarp::new(PROCESSORS, Pool::SENDER) };
        let executor = Executor::TimeWarp(time_warp);
        Point::new(name, PROCESSORS as f64, Setup { model: model(mobility, 0), end, executor })
    };
    MOBILITIES.map(point).into()
}

fn local_share(point: &Point) -> f64 {
    point.median(|sample| sample.local_share.unwrap_or(f64::NAN))
}

fn local_remark(point: &Point) -> String {
    format!("{}, {} workers in turn: {:.3} local events.", point.curve, point.x, local_share(point))
}

/// The rates of both sequential engines, as lines over the whole width.
fn baselines(sequential: &[Point], workers: &[usize]) -> Vec<Curve> {
    let line = |n: usize, name: String| {
        let point = sequential.iter().find(|point| point.curve == name)?;
        let y = point.median(|sample| sample.rate / 1e6);
        let ends = [workers.first(), workers.last()].into_iter().flatten();
        let dots = ends.map(|&x| Dot { x: x as f64, y, low: y, high: y, hollow: false });
        Some(Curve { baseline_of: Some(n), ..Curve::new(&name, dots.collect()) })
    };
    let names = MOBILITIES.iter().enumerate();
    let lines = names
        .flat_map(|(n, (_, name))| SEQUENTIAL.map(|engine| line(n, curve(name, engine, &WORK[0]))));
    lines.flatten().collect()
}

/// The speed-up of a point against a sequential curve, in each round.
fn speed_up(point: &Point, points: &[Point], curve: &str) -> Vec<f64> {
    let other = points.iter().find(|other| other.curve == curve);
    other.map(|other| ratios(point, other)).unwrap_or_default()
}

/// The speed-up of every engine with the most workers, against both sequential engines, and by
/// worker.
fn speed_ups(points: &[Point]) -> Vec<String> {
    let mut remarks = Vec::new();
    for work in &WORK {
        for (_, mobility) in MOBILITIES {
            for which in [Which::TimeWarp, Which::Plenty, Which::Speculative, Which::Auto] {
                let name = curve(mobility, which, work);
                let Some(point) = points.iter().rfind(|point| point.curve == name) else {
                    continue;
                };
                let against = |engine| {
                    let name = curve(mobility, engine, work);
                    median(speed_up(point, points, &name).into_iter())
                };
                let [splay, best] = SEQUENTIAL.map(against);
                let workers = point.x;
                remarks.push(format!(
                    "{name}, {workers} worker(s): speed-up {splay:.2} against the sequential \
                     engine with a splay tree, {:.2} per worker; {best:.2} against {}, {:.2} per \
                     worker. The paper: {PER_WORKER:.2}.",
                    splay / workers,
                    best_engine(),
                    best / workers
                ));
            }
        }
    }
    remarks
}

fn claims(points: &[Point], local: &[Point]) -> Vec<Claim> {
    let [low, medium, high] = MOBILITIES.map(|(_, name)| name);
    let within = |name: &str| {
        let name = name.to_owned();
        points.iter().filter(move |point| !point.oversubscribed() && point.curve == name)
    };
    let mut rises =
        Claim::of_paper("the rate rises with the number of workers, up to the number of cores");
    let more_buffers = curve(low, Which::Plenty, &WORK[0]);
    for name in MOBILITIES.map(|(_, name)| name).into_iter().chain([&*more_buffers]) {
        let curve: Vec<_> = within(name).collect();
        for pair in curve.windows(2) {
            let place = format!("{name}, {} / {} workers", pair[1].x, pair[0].x);
            rises = rises.test_rounds(place, &ratios(pair[1], pair[0]), Bounds::FASTER);
        }
    }
    let faster = |text: &str, curves| Claim::of_paper(text).test_faster(points, curves, |_| true);
    let most = |which, work| within(&curve(low, which, work)).rfind(|point| point.x > 1.0);
    let mut claims = vec![
        faster("low mobility is faster than medium", [low, medium]),
        faster("medium mobility is faster than high", [medium, high]),
        rises,
        mostly_local(local),
    ];
    let text = "with as many workers as there are cores, the speed-up at low mobility against a \
                sequential engine is above 0.90 per worker (38 with 42)";
    let engines: [(Claim, &[Which]); 3] = [
        (Claim::of_paper(text), &[Which::TimeWarp, Which::Plenty]),
        (Claim::own("the same of the speculative engine"), &[Which::Speculative]),
        (Claim::own("the same of `auto`"), &[Which::Auto]),
    ];
    claims.extend(engines.into_iter().map(|(claim, engines)| {
        let places = engines.iter().flat_map(|&which| WORK.iter().map(move |work| (which, work)));
        places
            .fold(claim, |claim, (which, work)| per_worker(claim, most(which, work), points, work))
    }));
    claims
}

/// Tests the speed-up by worker against both sequential engines: the paper's pending set is a splay
/// tree, and ours is not, so that the first number alone would be the difference of the two.
fn per_worker(claim: Claim, most: Option<&Point>, points: &[Point], work: &Work) -> Claim {
    let Some(point) = most else { return claim };
    let engines = SEQUENTIAL.into_iter().zip(["one with a splay tree".to_owned(), best_engine()]);
    engines.fold(claim, |claim, (engine, name)| {
        let speed_ups = speed_up(point, points, &curve(MOBILITIES[0].1, engine, work));
        let parts: Vec<_> = speed_ups.iter().map(|speed_up| speed_up / point.x).collect();
        let place = format!("{}, {} workers against {name}", point.curve, point.x);
        claim.test_rounds(place, &parts, Bounds::Above(PER_WORKER))
    })
}

/// The claim about local messages, at each mobility.
fn mostly_local(local: &[Point]) -> Claim {
    let claim = Claim::of_paper(format!(
        "over {LOCAL} of the messages stay on their worker, of {PROCESSORS}"
    ));
    let known = local.iter().filter(|point| local_share(point).is_finite());
    known.fold(claim, |claim, point| {
        claim.test(point.curve.clone(), local_share(point), Bounds::Above(LOCAL))
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
    use crate::{Sample, Verdict, figures::testing::point};

    /// Rates by mobility; how much two workers gain; the rate of the sequential engine with a splay
    /// tree, the other one having 1.2 times that.
    fn data(rates: [f64; 3], growth: f64, splay: f64) -> Vec<Point> {
        let mut points = Vec::new();
        for ((_, name), rate) in MOBILITIES.into_iter().zip(rates) {
            for work in &WORK {
                let mut add = |which: Which, x: f64, rate: f64| {
                    points.push(point(&curve(name, which, work), x, &[rate; 5]));
                };
                add(Which::TimeWarp, 1.0, rate);
                add(Which::Plenty, 1.0, rate);
                for which in [Which::TimeWarp, Which::Plenty, Which::Speculative, Which::Auto] {
                    add(which, 2.0, rate * growth);
                }
                add(Which::Splay, 1.0, splay);
                add(Which::Best, 1.0, 1.2 * splay);
            }
        }
        points
    }

    fn counted(shares: [f64; 3]) -> Vec<Point> {
        let share = |((_, name), share)| {
            let mut point = point(name, PROCESSORS as f64, &[1.0]);
            let sample = Sample { local_share: Some(share), ..point.samples[0] };
            point.samples = vec![sample];
            point
        };
        MOBILITIES.into_iter().zip(shares).map(share).collect()
    }

    /// Data like the paper's gets the verdict yes, and the opposite gets no.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let verdicts = |points: &[Point], shares| {
            claims(points, &counted(shares)).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts(&data([4.0, 3.0, 2.0], 1.9, 1.0), [0.98, 0.95, 0.91]), [yes; 7]);
        assert_eq!(verdicts(&data([1.0, 2.0, 3.0], 0.9, 1.0), [0.8, 0.8, 0.8]), [no; 7]);
        // A speed-up that is only that of one pending set over another holds in part.
        let against_splay = verdicts(&data([1.04, 1.0, 0.9], 1.9, 1.0), [0.98, 0.95, 0.87]);
        let in_part = Verdict::Partly(4, 8);
        assert_eq!(against_splay[3..5], [Verdict::Partly(2, 3), in_part]);
    }

    /// An efficiency that only long events have is no "yes".
    #[test]
    fn long_events_alone_do_not_decide() {
        let mut points = data([4.0, 3.0, 2.0], 1.9, 1.0);
        for point in &mut points {
            if point.curve.ends_with(WORK[1].suffix) && point.x > 1.0 {
                point.samples.iter_mut().for_each(|sample| sample.rate = 0.5);
            }
        }
        let verdicts: Vec<_> = claims(&points, &[]).iter().map(Claim::verdict).collect();
        assert_eq!(
            verdicts[4..],
            [Verdict::Partly(4, 8), Verdict::Partly(2, 4), Verdict::Partly(2, 4)]
        );
        assert_eq!(verdicts[3], Verdict::Unknown, "nothing was counted");
    }

    /// The speed-up is given against both sequential engines, and both are dashed lines.
    #[test]
    fn speed_ups_are_against_both() {
        let points = data([3.0, 2.0, 1.0], 2.0, 1.5);
        let remarks = speed_ups(&points);
        let first = &remarks[0];
        assert!(
            first.contains("2 worker(s): speed-up 4.00 against")
                && first.contains("2.00 per worker; 3.33 against")
                && first.contains("The paper: 0.90."),
            "{remarks:?}"
        );
        let lines = baselines(&points, &[1, 2]);
        assert_eq!(lines.len(), 6);
        for (line, rate) in lines.iter().zip([1.5e-6, 1.8e-6]) {
            assert!(line.dots.iter().all(|dot| (dot.y - rate).abs() < 1e-12));
            assert_eq!(line.dots.len(), 2);
        }
    }
}

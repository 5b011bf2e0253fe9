//! The two numbers of the buffer paper's pools: the part of the buffers in the global pool of
//! sender pools (30 %, section 3.4), and what a list of partitioned pools may gain (25 %, section
//! 6).
//!
//! The paper says of the first that it was selected empirically to maximize performance, and of the
//! second that it was used in the experiments. Both are varied here, with memory that binds: on
//! threads, and with the paper's eight workers in turn, whose turns are counted.

use warpline::settings::{FlowControl, Parts, Pool};

use super::fig3;
use crate::{
    Axis, Bounds, Claim, Constant, Executor, Figure, Findings, LEVEL, Lab, LabError, Limit, Point,
    Setup, TimeWarp, claim::ratios,
};

/// The figure.
#[derive(Debug)]
pub struct PoolParameters;

/// From the paper: its processors.
const WORKERS: usize = 8;
/// Buffers of sender and of partitioned pools: few enough that they run short of them. Estimated:
/// the paper gives none. Partitioned pools need more (`pool-memory`).
const BUFFERS: [u64; 2] = [2 * 1024, 4 * 1024];
/// The claims are tested with this many times as many, too.
const MORE: u64 = 2;
/// What the names of the curves with more buffers begin with.
const WITH_MORE: &str = "twice the buffers, ";
/// The parameters: the name of the curve, the paper's value, and the others.
const SHARE: Parameter =
    Parameter { name: "sender: global pool", papers: 0.3, others: [0.0, 0.1, 0.5, 0.7, 0.9] };
const GAIN: Parameter =
    Parameter { name: "partitioned: gain", papers: 0.25, others: [0.0, 0.1, 0.5, 0.75, 1.0] };
/// What the names of the counted curves begin with.
const IN_TURN: &str = "in turn, ";

struct Parameter {
    name: &'static str,
    papers: f64,
    others: [f64; 5],
}

impl Parameter {
    fn pool(&self, value: f64) -> Pool {
        match self.name == SHARE.name {
            true => Pool::Sender { global_share: value, quota: None },
            false => Pool::Partitioned {
                parts: Parts::Equal,
                on_the_fly: true,
                gain: value,
                sharing: false,
            },
        }
    }

    /// The points with this many times [`BUFFERS`], on threads or in turn.
    fn points(&self, lab: &Lab<'_>, workers: usize, in_turn: bool, times: u64) -> Vec<Point> {
        let end = lab.settings.shortened(if in_turn { 200.0 } else { 1_000.0 });
        let buffers = times * BUFFERS[usize::from(self.name == GAIN.name)];
        let point = |value| {
            let time_warp = TimeWarp {
                in_turn,
                flow_control: FlowControl::OFF,
                ..TimeWarp::new(workers, self.pool(value))
            };
            let batch = if in_turn { 1 } else { time_warp.batch };
            let time_warp = TimeWarp { batch, ..time_warp }.short_of(Limit::Buffers(buffers));
            let executor = Executor::TimeWarp(time_warp);
            let setup = Setup { model: fig3::phold(lab.settings.payload), end, executor };
            let with_more = if times > 1 { WITH_MORE } else { "" };
            let in_turn = if in_turn { IN_TURN } else { "" };
            Point::new(format!("{with_more}{in_turn}{}", self.name), value, setup)
        };
        [self.papers].into_iter().chain(self.others).map(point).collect()
    }
}

impl Figure for PoolParameters {
    fn name(&self) -> &'static str {
        "pool-parameters"
    }

    fn title(&self) -> &'static str {
        "The parts of 30 % and 25 % of sender and partitioned pools: rate by these parts"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let workers = lab.settings.most_workers();
        let both = [SHARE, GAIN];
        let all = |workers, in_turn| {
            let of =
                |times| both.iter().flat_map(move |one| one.points(lab, workers, in_turn, times));
            of(1).chain(of(MORE)).collect::<Vec<_>>()
        };
        let mut points = lab.sample(all(workers, false))?;
        points.sort_by(|a, b| a.curve.cmp(&b.curve).then(a.x.total_cmp(&b.x)));
        let counted = lab.count(all(WORKERS, true))?;
        let x = Axis::new("part of all buffers, or of the size of a list");
        let mut findings = Findings::of_rates("PHOLD, 256 LPs, 1024 events", x, &points);
        findings.remarks.extend(counted.iter().map(remark));
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, section 3.4: 30 % of all memory were in the global \
                    pool of sender pools, which was selected empirically to maximize performance. \
                    Section 6: a list of partitioned pools returned what it had gained beyond 25 \
                    % of its size.",
            setup: format!(
                "PHOLD as in figure 3, {workers} workers, {} buffers for sender and {} for \
                 partitioned pools, which have on-the-fly fossil collection; {} rounds. GVT is \
                 computed when buffers run short. Beside it {WORKERS} workers in turn, one event \
                 each, whose turns are counted. The claims are tested with {MORE} times the \
                 buffers, too.",
                BUFFERS[0], BUFFERS[1], lab.settings.samples
            ),
            claims: with_both(&points, &counted),
            constants: constants(),
            ..findings
        })
    }
}

fn constants() -> Vec<Constant> {
    vec![
        Constant::paper("30 % in the global pool", "section 3.4"),
        Constant::paper("25 % of gain", "section 6"),
        Constant::paper("256 LPs, 1024 events, 8 processors", "section 4"),
        Constant::varied(
            format!("{BUFFERS:?} buffers, and {MORE} times as many"),
            "the paper gives none; these bind",
        ),
    ]
}

fn remark(point: &Point) -> String {
    let turns = point.median(|sample| sample.events_per_turn);
    let rounds = point.median(|sample| sample.events_per_gvt);
    format!(
        "{} {}, {WORKERS} workers: {turns:.3} events by turn, {rounds:.0} by round of GVT.",
        point.curve, point.x
    )
}

/// The claims, tested with both numbers of buffers.
fn with_both(points: &[Point], counted: &[Point]) -> Vec<Claim> {
    let with_more = |points: &[Point]| -> Vec<_> {
        let curve = |point: &Point| Some(point.curve.strip_prefix(WITH_MORE)?.to_owned());
        points.iter().filter_map(|p| Some(Point { curve: curve(p)?, ..p.clone() })).collect()
    };
    let more = claims(&with_more(points), &with_more(counted));
    let what = format!("{MORE} times the buffers");
    Claim::all_tested_too(claims(points, counted), &what, more)
}

fn claims(points: &[Point], counted: &[Point]) -> Vec<Claim> {
    let [share, gain] = [SHARE, GAIN];
    let of_paper = "no other part of the buffers in the global pool is faster than 30 %";
    let matters = "that part makes a difference: the worst one is slower than 30 %";
    vec![
        is_best(Claim::of_paper(of_paper), &share, points),
        worst_is_slower(Claim::of_paper(matters), &share, points),
        is_best(Claim::own("no other gain than 25 % is faster"), &gain, points),
        counts_best(
            Claim::own("by turns of 8 workers, nor is another part than 30 %"),
            &share,
            counted,
        ),
        counts_best(
            Claim::own("by turns of 8 workers, nor is another gain than 25 %"),
            &gain,
            counted,
        ),
    ]
}

/// The point with the paper's value, and the others.
fn split<'a>(points: &'a [Point], name: &str, papers: f64) -> (Option<&'a Point>, Vec<&'a Point>) {
    let of_curve = points.iter().filter(|point| point.curve == name);
    let (best, others): (Vec<_>, Vec<_>) = of_curve.partition(|point| point.x == papers);
    (best.into_iter().next(), others)
}

fn is_best(claim: Claim, parameter: &Parameter, points: &[Point]) -> Claim {
    let Parameter { name, papers, .. } = *parameter;
    let (Some(best), others) = split(points, name, papers) else { return claim };
    others.into_iter().fold(claim, |claim, other| {
        let place = format!("rate with {} / with {papers}", other.x);
        claim.test_rounds(place, &ratios(other, best), Bounds::AtMost(1.0 + LEVEL))
    })
}

/// Without a difference, any value would be the best.
fn worst_is_slower(claim: Claim, parameter: &Parameter, points: &[Point]) -> Claim {
    let Parameter { name, papers, .. } = *parameter;
    let rate = |point: &&Point| point.median(|sample| sample.rate);
    let (best, others) = split(points, name, papers);
    let sampled = others.into_iter().filter(|point| !point.samples.is_empty());
    let worst = sampled.min_by(|a, b| rate(a).total_cmp(&rate(b)));
    best.zip(worst).map_or(claim.clone(), |(best, worst)| {
        let place = format!("rate with {papers} / with {}", worst.x);
        claim.test_rounds(place, &ratios(best, worst), Bounds::FASTER)
    })
}

fn counts_best(claim: Claim, parameter: &Parameter, counted: &[Point]) -> Claim {
    let name = format!("{IN_TURN}{}", parameter.name);
    let (Some(best), others) = split(counted, &name, parameter.papers) else { return claim };
    let progress = |point: &Point| point.median(|sample| sample.events_per_turn);
    others.into_iter().filter(|point| !point.samples.is_empty()).fold(claim, |claim, other| {
        let place = format!("events by turn with {} / with {}", other.x, parameter.papers);
        claim.test(place, progress(other) / progress(best), Bounds::AtMost(1.0 + LEVEL))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, Verdict, figures::testing::point};

    /// Rates and counts with the paper's values, by those with all others.
    fn verdicts(papers: f64, others: f64) -> Vec<Verdict> {
        let rates = |parameter: &Parameter, prefix: &str, with_more: &str| {
            let curve = format!("{with_more}{prefix}{}", parameter.name);
            let values = [parameter.papers].into_iter().chain(parameter.others);
            let point = values.map(|x| {
                let rate = if x == parameter.papers { papers } else { others };
                let mut point = point(&curve, x, &[rate; 5]);
                let samples = point.samples.iter_mut();
                samples.for_each(|sample| *sample = Sample { events_per_turn: rate, ..*sample });
                point
            });
            point.collect::<Vec<_>>()
        };
        let of = |prefix, more| [rates(&SHARE, prefix, more), rates(&GAIN, prefix, more)].concat();
        let all = |prefix| [of(prefix, ""), of(prefix, WITH_MORE)].concat();
        with_both(&all(""), &all(IN_TURN)).iter().map(Claim::verdict).collect()
    }

    #[test]
    fn the_papers_values_are_best_or_not() {
        assert_eq!(verdicts(1.0, 0.7), [Verdict::Yes; 5]);
        assert_eq!(verdicts(0.7, 1.0), [Verdict::No; 5]);
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts(1.0, 1.0), [yes, no, yes, yes, yes], "where all are level");
        assert!(claims(&[], &[]).iter().all(|claim| claim.verdict() == Verdict::Unknown));
    }
}

//! GVT thrashing (GTW paper, section 3.4): the wireless network with little memory, with workers
//! that are blocked while few of their buffers are free (F_free1, F_free2) and without.
//!
//! The paper describes it in words: where one processor is far ahead of the others, fossil
//! collection reclaims few buffers, and is called again soon. It observed that on PCS, as poor
//! performance or a large variation from run to run.

use warpline::settings::{FlowControl, Pool, Quota};
use warpline_models::{
    catalog::ModelParams,
    pcs::{Mobility, PcsParams},
};

use super::pools;
use crate::{
    Axis, Bounds, Claim, Constant, Executor, Figure, Findings, Lab, LabError, Limit, Point, Setup,
    TimeWarp, Workload, claim::ratios,
};

/// The figure.
#[derive(Debug)]
pub struct GtwThrashing;

/// From the paper: the portables of its network.
const PORTABLES: u64 = 50_000;
/// Buffers by portables. Estimated: the paper gives none. The claims are tested with all but the
/// last one, which is plenty.
const BUFFERS: [f64; 4] = [1.05, 1.1, 1.25, 2.0];
/// F_free1 and F_free2: estimated, as the engine's defaults are. The paper gives none.
const FREE: [[f64; 2]; 2] = [[0.1, 0.2], [0.02, 0.04]];
/// The curves: not blocked, and blocked by each of [`FREE`].
const NAMES: [&str; 3] = ["not blocked", "blocked below 0.1", "blocked below 0.02"];

impl Figure for GtwThrashing {
    fn name(&self) -> &'static str {
        "gtw-thrashing"
    }

    fn title(&self) -> &'static str {
        "GVT thrashing: PCS by memory, with workers that are blocked when few buffers are free"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let workers = lab.settings.most_workers();
        let end = lab.settings.shortened(40.0);
        let mobility = Some(Mobility::High);
        let params = PcsParams { mobility, portables: PORTABLES as usize, ..PcsParams::default() };
        let model = Workload::Shipped(ModelParams::from(params));
        let free = [[0.0; 2]].into_iter().chain(FREE);
        let mut points = Vec::new();
        for (name, [free1, free2]) in NAMES.into_iter().zip(free) {
            for amount in BUFFERS {
                let flow_control = FlowControl { free1, free2, ..FlowControl::OFF };
                let executor = executor(workers, amount, flow_control, None);
                let setup = Setup { model: model.clone(), end, executor };
                points.push(Point::new(name, amount, setup));
            }
        }
        let points = lab.sample(points)?;
        let x = Axis::new("event buffers by portables").with_ticks(BUFFERS);
        let title = "PCS, 64 x 32 cells, 50 000 portables, high mobility";
        let mut findings = Findings::of_rates(title, x, &points);
        findings.remarks.extend(points.iter().filter(|p| !p.samples.is_empty()).map(remark));
        let is_tested = pools::comparable(workers as f64);
        Ok(Findings {
            paper: "Das, Fujimoto, Panesar, Allison and Hybinette 1994, section 3.4, in words: \
                    where the processes of one processor advance far ahead of the others, fossil \
                    collection reclaims few buffers and is called again soon. This thrashing was \
                    observed on PCS, as poor performance or large variations in execution time \
                    from one run to the next. A processor that has too few free buffers after \
                    fossil collection (F_free1) is therefore blocked until enough could be \
                    reclaimed (F_free2).",
            setup: format!(
                "PCS, 64 x 32 cells, {PORTABLES} portables, high mobility, up to minute {end}, \
                 {workers} workers; {} rounds. Sender pools with a quota, an equal share of all \
                 buffers; GVT is computed when buffers run short, and nothing but F_free1 and \
                 F_free2 holds workers back.",
                lab.settings.samples
            ),
            claims: claims(if is_tested { &points } else { &[] }),
            constants: constants(),
            ..findings
        })
    }
}

fn constants() -> Vec<Constant> {
    vec![
        Constant::paper("64 x 32 cells, 50 000 portables, mobility 1/5", "section 4"),
        Constant::varied(
            format!("{BUFFERS:?} buffers by portables, the last of which are plenty"),
            "the paper gives none",
        ),
        Constant::varied(
            format!("F_free1 and F_free2 are {FREE:?}"),
            "users set them, and the paper gives none",
        ),
        Constant::estimated("Δ is a quarter of N_buf", "the paper gives none"),
    ]
}

/// Time Warp on GTW's terms, with so many buffers by portables; `quota` is N_buf by a worker's
/// equal share, and Δ by N_buf.
pub(super) fn executor(
    workers: usize,
    amount: f64,
    flow_control: FlowControl,
    quota: Option<[f64; 2]>,
) -> Executor {
    let all = (amount * PORTABLES as f64) as u64;
    let [n_buf, delta] = quota.unwrap_or([1.0, 0.25]);
    let buffers = (n_buf * all as f64 / workers as f64) as u32;
    let margin = (delta * f64::from(buffers)) as u32;
    let pool = Pool::Sender { global_share: 0.3, quota: Some(Quota { buffers, margin }) };
    let time_warp = TimeWarp { flow_control, ..TimeWarp::new(workers, pool) };
    Executor::TimeWarp(time_warp.short_of(Limit::Buffers(all)))
}

/// How far each round's rate is from the mean, as a part of the mean.
fn deviations(point: &Point) -> Vec<f64> {
    let rates = point.rates();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    rates.into_iter().map(|rate| (rate / mean - 1.0).abs()).collect()
}

fn remark(point: &Point) -> String {
    let rates = point.rates();
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    let spread = (squares / (count - 1.0).max(1.0)).sqrt() / mean;
    format!(
        "{} at {}: mean {:.3} million events/s, standard deviation {:.1} %, {:.0} events by round \
         of GVT.",
        point.curve,
        point.x,
        mean / 1e6,
        100.0 * spread,
        point.median(|sample| sample.events_per_gvt)
    )
}

/// A test of both kinds of points at one place, as [`Claim::test_rounds`] takes it.
type Compared = fn(&Point, &Point) -> Vec<f64>;

fn claims(points: &[Point]) -> Vec<Claim> {
    let [free, blocked @ ..] = NAMES;
    let find = |curve: &str, x: f64| points.iter().find(|p| p.curve == curve && p.x == x);
    let little = &BUFFERS[..BUFFERS.len() - 1];
    let compare = |text: &str, what: &str, numbers: Compared, wanted: Bounds| {
        let places = blocked.iter().flat_map(|&name| little.iter().map(move |&x| (name, x)));
        places.fold(Claim::of_paper(text), |claim, (name, x)| {
            let pair = find(name, x).zip(find(free, x));
            let numbers = pair.map_or_else(Vec::new, |(blocked, free)| numbers(blocked, free));
            claim.test_rounds(format!("{what}, {name} / {free} at {x}"), &numbers, wanted)
        })
    };
    let mut poor = Claim::of_paper(
        "without blocking, performance is poor with little memory: slower than with plenty",
    );
    for &x in little {
        let pair = find(free, BUFFERS[BUFFERS.len() - 1]).zip(find(free, x));
        let ratios = pair.map_or_else(Vec::new, |(plenty, little)| ratios(plenty, little));
        poor = poor.test_rounds(format!("rate with plenty / at {x}"), &ratios, Bounds::FASTER);
    }
    vec![
        poor,
        compare("blocking makes it faster", "rate", ratios, Bounds::FASTER),
        compare(
            "with blocking, the rate varies less from run to run",
            "deviation from the mean",
            |a, b| quotients(&deviations(a), &deviations(b)),
            Bounds::AtMost(1.0),
        ),
        compare(
            "with blocking, fossil collection is called less often",
            "events by round of GVT",
            |a, b| {
                let of = |point: &Point| {
                    point.samples.iter().map(|sample| sample.events_per_gvt).collect::<Vec<_>>()
                };
                quotients(&of(a), &of(b))
            },
            Bounds::FASTER,
        ),
    ]
}

fn quotients(upper: &[f64], lower: &[f64]) -> Vec<f64> {
    upper.iter().zip(lower).map(|(a, b)| a / b).filter(|quotient| !quotient.is_nan()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, Verdict, figures::testing::point};

    /// Five rounds with this mean and spread, and this number of events by round of GVT.
    fn made_up(curve: &str, x: f64, [rate, spread, events_per_gvt]: [f64; 3]) -> Point {
        let offsets = [-2.0_f64, -1.0, 1.0, 2.0, 1.5];
        let rates = offsets.map(|offset| rate * (1.0 + spread * offset));
        let mut point = point(curve, x, &rates);
        let samples = point.samples.iter_mut();
        samples.for_each(|sample| *sample = Sample { events_per_gvt, ..*sample });
        point
    }

    fn verdicts(free: [f64; 3], blocked: [f64; 3], plenty: f64) -> Vec<Verdict> {
        let mut points = Vec::new();
        for x in BUFFERS {
            let is_plenty = x == BUFFERS[BUFFERS.len() - 1];
            let free = if is_plenty { [plenty, 0.01, 1e5] } else { free };
            points.push(made_up(NAMES[0], x, free));
            points.extend(NAMES[1..].iter().map(|name| made_up(name, x, blocked)));
        }
        claims(&points).iter().map(Claim::verdict).collect()
    }

    /// Each of the paper's findings, and its opposite.
    #[test]
    fn thrashing_is_seen_or_not() {
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts([1.0, 0.2, 50.0], [3.0, 0.01, 900.0], 4.0), [yes; 4]);
        assert_eq!(verdicts([3.0, 0.01, 900.0], [1.0, 0.2, 50.0], 1.0), [no; 4]);
        // Level rates, less spread, as many computations of GVT.
        let level = verdicts([1.0, 0.1, 50.0], [1.0, 0.01, 50.0], 1.0);
        assert_eq!(level[2..], [yes, no]);
        assert!(claims(&[]).iter().all(|claim| claim.verdict() == Verdict::Unknown));
    }
}

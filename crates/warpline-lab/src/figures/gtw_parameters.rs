//! The parameters of GTW with memory that binds: how many events a worker handles between two looks
//! at its queues (the batch, section 3.6.3), N_buf and Δ (section 3.3).
//!
//! The paper expects that batches reduce overhead and that too large ones roll back more; which one
//! is right was under investigation. Of N_buf and Δ it says what they are for, and no values.

use warpline::settings::{FlowControl, Pool};
use warpline_models::{
    catalog::ModelParams,
    pcs::{Mobility, PcsParams},
};

use super::{gtw_thrashing, pools};
use crate::{
    Axis, Bounds, Claim, Constant, Executor, Figure, Findings, LEVEL, Lab, LabError, Point, Setup,
    TimeWarp, Workload, claim::ratios,
};

/// The figure.
#[derive(Debug)]
pub struct GtwParameters;

/// Events in a batch.
const BATCHES: [usize; 7] = [1, 4, 16, 64, 256, 1024, 4096];
/// The batch with which N_buf and Δ are compared: the engine's default.
const BATCH: f64 = 64.0;
/// Buffers by portables: few enough that workers run short. The paper gives none; the first amount
/// is plotted, and its claims are tested with both.
const BUFFERS: [f64; 2] = [1.1, 1.25];
/// The curves: N_buf by a worker's equal share, and Δ by N_buf. All others are compared with the
/// first one.
const QUOTAS: [(&str, [f64; 2]); 5] = [
    ("N_buf is the share", [1.0, 0.25]),
    ("N_buf is half of it", [0.5, 0.25]),
    ("N_buf is twice of it", [2.0, 0.25]),
    ("Δ is 1/16 of N_buf", [1.0, 0.0625]),
    ("Δ is all of N_buf", [1.0, 1.0]),
];
/// The buffer paper's rule in place of a quota.
const NO_QUOTA: &str = "no quota";

impl Figure for GtwParameters {
    fn name(&self) -> &'static str {
        "gtw-parameters"
    }

    fn title(&self) -> &'static str {
        "PCS with little memory: rate by batch, a curve per quota of buffers"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let workers = lab.settings.most_workers();
        let end = lab.settings.shortened(40.0);
        let points = lab.sample(points(workers, end))?;
        let (plotted, others) = divided(&points);
        let x = Axis::new("events in a batch")
            .logarithmic()
            .with_ticks(BATCHES.map(|batch| batch as f64));
        let title = "PCS, 64 x 32 cells, 50 000 portables, high mobility";
        let is_tested = pools::comparable(workers as f64);
        Ok(Findings {
            paper: "Das, Fujimoto, Panesar, Allison and Hybinette 1994. Section 3.6.3: to look for \
                    messages before a batch of events and not before each of them amortizes the \
                    overhead, but may lead to more rolled back computation, so a batch should not \
                    be too large; the appropriate size was under investigation. Section 3.3: a \
                    processor gives buffers beyond its quota N_buf to a global list, and takes \
                    some when it has fewer than N_buf - Δ, because free pools of processors that \
                    send more than they receive are depleted otherwise.",
            setup: format!(
                "PCS, 64 x 32 cells, 50 000 portables, high mobility, {} buffers by portables, up \
                 to minute {end}, {workers} workers; {} rounds. GVT is computed when buffers run \
                 short, and nothing else holds workers back. `{NO_QUOTA}` is the buffer paper's \
                 rule. The paper's claims are tested with {} buffers by portables, too.",
                BUFFERS[0], lab.settings.samples, BUFFERS[1]
            ),
            claims: if is_tested { both(&plotted, &others) } else { claims(&[]) },
            constants: vec![
                Constant::paper("64 x 32 cells, 50 000 portables, mobility 1/5", "section 4"),
                Constant::varied(
                    format!("{BUFFERS:?} buffers by portables"),
                    "the paper gives none; these bind",
                ),
                Constant::ours(
                    format!("batches of {BATCHES:?}, the quotas and Δ"),
                    "users set them, and the paper gives none",
                ),
            ],
            table: Findings::of_rates(title, x.clone(), &points).table,
            ..Findings::of_rates(title, x, &plotted)
        })
    }
}

/// The points with the first amount of buffers, and those with the other one under the same names.
fn divided(points: &[Point]) -> (Vec<Point>, Vec<Point>) {
    let (mut plotted, mut others) = (Vec::new(), Vec::new());
    for point in points {
        match point.curve.strip_prefix(&*prefix()) {
            Some(curve) => others.push(Point { curve: curve.to_owned(), ..point.clone() }),
            None => plotted.push(point.clone()),
        }
    }
    (plotted, others)
}

/// The claims, tested with both amounts of buffers.
fn both(plotted: &[Point], others: &[Point]) -> Vec<Claim> {
    let what = format!("{} buffers by portables", BUFFERS[1]);
    Claim::all_tested_too(claims(plotted), &what, claims(others))
}

/// What the names of curves with the other amount of buffers begin with.
fn prefix() -> String {
    format!("{} buffers by portables: ", BUFFERS[1])
}

fn points(workers: usize, end: f64) -> Vec<Point> {
    let mobility = Some(Mobility::High);
    let params = PcsParams { mobility, ..PcsParams::default() };
    let model = Workload::Shipped(ModelParams::from(params));
    let executor =
        |amount, quota| gtw_thrashing::executor(workers, amount, FlowControl::OFF, quota);
    let mut points = Vec::new();
    let mut add = |name: &str, executor: Executor, batch: usize| {
        let Executor::TimeWarp(time_warp) = executor else { return };
        let executor = Executor::TimeWarp(TimeWarp { batch, ..time_warp });
        let setup = Setup { model: model.clone(), end, executor };
        points.push(Point::new(name, batch as f64, setup));
    };
    let without = |amount| match executor(amount, None) {
        Executor::TimeWarp(time_warp) => {
            Executor::TimeWarp(TimeWarp { pool: Pool::SENDER, ..time_warp })
        }
        other => other,
    };
    let [amount, other] = BUFFERS;
    for batch in BATCHES {
        for (name, quota) in QUOTAS {
            add(name, executor(amount, Some(quota)), batch);
        }
        add(NO_QUOTA, without(amount), batch);
        let (share, quota) = QUOTAS[0];
        add(&format!("{}{share}", prefix()), executor(other, Some(quota)), batch);
    }
    add(&format!("{}{NO_QUOTA}", prefix()), without(other), BATCH as usize);
    points
}

fn claims(points: &[Point]) -> Vec<Claim> {
    let [(share, _), others @ ..] = QUOTAS;
    let curve = |name: &str| -> Vec<&Point> {
        let of_curve = points.iter().filter(|point| point.curve == name);
        of_curve.filter(|point| !point.samples.is_empty()).collect()
    };
    let of_share = curve(share);
    let rate = |point: &&&Point| point.median(|sample| sample.rate);
    let fastest = of_share.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let (one, most) = (of_share.first(), of_share.last());
    let faster = |text: &str, pair: Option<(&&Point, &&Point)>| {
        let claim = Claim::of_paper(text);
        let Some((upper, lower)) = pair else { return claim };
        let place = format!("rate with batches of {} / of {}", upper.x, lower.x);
        claim.test_rounds(place, &ratios(upper, lower), Bounds::FASTER)
    };
    let mut rolls_back = Claim::of_paper("large batches roll back more than events one by one");
    if let Some((one, most)) = one.zip(most) {
        let pairs = one.samples.iter().zip(&most.samples);
        let lost: Vec<_> = pairs.map(|(one, most)| one.efficiency - most.efficiency).collect();
        let place = format!("efficiency with batches of {} less that of {}", one.x, most.x);
        rolls_back = rolls_back.test_rounds(place, &lost, Bounds::Above(0.0));
    }
    let at_default = |name: &str| curve(name).into_iter().find(|point| point.x == BATCH);
    let mut seldom =
        Claim::of_paper("with a quota, pools are depleted less often than without one");
    if let Some((with, without)) = at_default(share).zip(at_default(NO_QUOTA)) {
        let pairs = with.samples.iter().zip(&without.samples);
        let events: Vec<_> = pairs.map(|(a, b)| a.events_per_gvt / b.events_per_gvt).collect();
        let place = format!("events by round of GVT, {share} / {NO_QUOTA}");
        seldom = seldom.test_rounds(place, &events, Bounds::FASTER);
    }
    let mut is_best = Claim::own("no other quota or Δ is faster than the share and a quarter");
    for (name, _) in others {
        if let Some((other, share)) = at_default(name).zip(at_default(share)) {
            let place = format!("rate, {name}");
            let wanted = Bounds::AtMost(1.0 + LEVEL);
            is_best = is_best.test_rounds(place, &ratios(other, share), wanted);
        }
    }
    vec![
        faster("a batch is faster than events one by one", fastest.zip(one)),
        faster("a batch should not be too large: the largest is slower", fastest.zip(most)),
        rolls_back,
        seldom,
        is_best,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, Verdict, figures::testing::point};

    /// Rates and efficiencies of the smallest, middle and largest batches, and how many events
    /// there are by round of GVT with a quota; other curves have the rate of 1.
    fn verdicts(rates: [f64; 3], efficiency: [f64; 3], with_quota: f64) -> Vec<Verdict> {
        let mut points = Vec::new();
        let names = QUOTAS.iter().map(|(name, _)| *name).chain([NO_QUOTA]);
        for (n, name) in names.enumerate() {
            for batch in BATCHES {
                let place = usize::from(batch > 1) + usize::from(batch == 4096);
                let rate = if n == 0 { rates[place] } else { 1.0 };
                let events_per_gvt = if n == 0 { with_quota } else { 100.0 };
                let efficiency = efficiency[place];
                let mut point = point(name, batch as f64, &[rate; 5]);
                for sample in &mut point.samples {
                    *sample = Sample { efficiency, events_per_gvt, ..*sample };
                }
                points.push(point);
            }
        }
        claims(&points).iter().map(Claim::verdict).collect()
    }

    #[test]
    fn batches_and_quotas_matter_or_not() {
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts([1.0, 2.0, 1.0], [0.99, 0.95, 0.5], 900.0), [yes; 5]);
        assert_eq!(verdicts([0.5, 0.5, 0.5], [0.5, 0.95, 0.99], 50.0), [no; 5]);
        let no_quota = verdicts([1.0, 2.0, 1.9], [0.9, 0.9, 0.9], 100.0);
        assert_eq!(no_quota, [yes, yes, no, no, yes]);
        assert!(claims(&[]).iter().all(|claim| claim.verdict() == Verdict::Unknown));
    }
}

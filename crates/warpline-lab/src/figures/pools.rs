//! The common part of figures 3, 7 and 8: the rate of a model by the number of workers, a curve per
//! pool. `gtw_fig1` and others take the axis and [`comparable`].
//!
//! As in the paper, GVT is computed when a worker has few free buffers left, so that all of the
//! memory is used in turn and the pools differ. How much memory is best is found by experiment, as
//! there (section 7): each pool is sampled with several amounts, and the one with the greatest
//! median rate is its point in the plot and in the claims.

use warpline::settings::{FlowControl, Parts, Pool, PoolKind};

use crate::{
    Axis, Bounds, Claim, Constant, Executor, Findings, Lab, Limit, Point, Setup, TimeWarp,
    Workload,
    claim::ratios,
    figures::{ADAPTIVE, MIB, PARTITIONED, RECEIVER, SENDER},
};

/// Amounts of memory that are tried, in buffers by the events that are always pending. Estimated:
/// the paper says that it tried, and not what.
const AMOUNTS: [u64; 3] = [2, 4, 8];
/// From the paper (section 7): MiB of each worker with partitioned pools. It is tried as well, with
/// every pool, because the best of more amounts would be better by chance alone.
const PAPERS_MEBIBYTES: u64 = 8;
/// From the paper (section 3.4): a worker with fewer free buffers asks for GVT.
const FEW_BUFFERS: usize = 5;
/// What the paper calls as much as a factor of two. How far from it is ours.
const ABOUT_TWO: Bounds = Bounds::Within(1.8, 2.2);

/// A model whose rate is measured by pool and number of workers.
pub(super) struct Series {
    /// What the names of its curves begin with.
    pub(super) prefix: &'static str,
    pub(super) model: Workload,
    pub(super) end: f64,
    /// The number of events that are always pending.
    pub(super) pending: u64,
    /// The part of their buffers that workers of partitioned pools keep for sends to themselves.
    pub(super) local_share: Option<f64>,
}

/// The pools by name: the paper's with its numbers, partitioned ones with its on-the-fly fossil
/// collection (section 6), and ours.
fn pools(local_share: Option<f64>) -> [(&'static str, Pool); 4] {
    let parts = local_share.map_or(Parts::Equal, Parts::LocalShare);
    [
        (SENDER, Pool::SENDER),
        (RECEIVER, Pool::RECEIVER),
        (PARTITIONED, Pool::partitioned(parts, true)),
        (ADAPTIVE, PoolKind::Adaptive.into()),
    ]
}

impl Series {
    /// The points of all pools with these numbers of workers and all amounts of memory.
    pub(super) fn points(&self, workers: &[usize]) -> Vec<Point> {
        let pools = pools(self.local_share);
        pools.into_iter().flat_map(|(name, pool)| self.points_of(name, &pool, workers)).collect()
    }

    /// The same of one pool.
    pub(super) fn points_of(&self, name: &str, pool: &Pool, workers: &[usize]) -> Vec<Point> {
        let mut points = Vec::new();
        for &workers in workers {
            let mut limits: Vec<_> = AMOUNTS
                .map(|times| (format!("{times} times"), Limit::Buffers(times * self.pending)))
                .into();
            let bytes = PAPERS_MEBIBYTES * MIB * workers as u64;
            limits.push((format!("{PAPERS_MEBIBYTES} MiB each"), Limit::Bytes(bytes)));
            for (amount, limit) in limits {
                let flow_control = FlowControl { few_buffers: FEW_BUFFERS, ..FlowControl::OFF };
                let time_warp = TimeWarp { flow_control, ..TimeWarp::new(workers, pool.clone()) };
                let executor = Executor::TimeWarp(time_warp.short_of(limit));
                let setup = Setup { model: self.model.clone(), end: self.end, executor };
                let curve = format!("{}{name}, {amount}", self.prefix);
                points.push(Point::new(curve, workers as f64, setup));
            }
        }
        points
    }
}

/// The points with the best amount of memory of each curve, which get the name of the curve without
/// the amount.
pub(super) fn with_best_memory(points: &[Point]) -> Vec<Point> {
    let mut best: Vec<Point> = Vec::new();
    let rate = |point: &Point| point.median(|sample| sample.rate);
    for point in points.iter().filter(|point| !point.samples.is_empty()) {
        let (curve, _) = point.curve.rsplit_once(", ").unwrap_or((&point.curve, ""));
        match best.iter_mut().find(|other| other.curve == curve && other.x == point.x) {
            Some(other) if rate(other) >= rate(point) => {}
            Some(other) => *other = Point { curve: curve.to_owned(), ..point.clone() },
            None => best.push(Point { curve: curve.to_owned(), ..point.clone() }),
        }
    }
    best
}

/// The findings of a figure: the plot of the best points, and the table of all.
pub(super) fn findings(title: &str, lab: &Lab<'_>, best: &[Point], all: &[Point]) -> Findings {
    let axis = || workers_axis(lab);
    let table = Findings::of_rates(title, axis(), all).table;
    Findings { table, ..Findings::of_rates(title, axis(), best) }
}

/// The number of workers that claims are tested with where only one is: as many as cores.
pub(super) fn most_comparable(lab: &Lab<'_>) -> Option<usize> {
    lab.settings.workers.iter().copied().filter(|&workers| comparable(workers as f64)).max()
}

/// The length of the runs and their memory, for the text.
pub(super) fn conditions(lab: &Lab<'_>, end: f64) -> String {
    format!(
        "Up to virtual time {end}; {} rounds. GVT is computed when a worker has fewer than \
         {FEW_BUFFERS} free buffers or finds none, so that the memory binds; nothing else holds \
         workers back. Each pool has the best of several amounts of memory, and partitioned pools \
         have on-the-fly fossil collection.",
        lab.settings.samples
    )
}

/// The constants of all these figures.
pub(super) fn constants(pending: u64) -> Vec<Constant> {
    vec![
        Constant::varied(
            format!("memory for {AMOUNTS:?} times the {pending} pending events"),
            "the paper tuned the memory by experiment and does not say between which amounts; each \
             pool has its best",
        ),
        Constant::paper(
            format!("{PAPERS_MEBIBYTES} MiB of each worker, one of those amounts"),
            "section 7, for partitioned pools; tried with every pool, so that none has more to \
             choose from",
        ),
        Constant::paper(format!("GVT with fewer than {FEW_BUFFERS} free buffers"), "section 3.4"),
        Constant::paper("30 % of the buffers in the global pool of sender pools", "section 3.4"),
        Constant::paper("a list of partitioned pools may gain 25 %", "section 6"),
    ]
}

/// The axis with these numbers of workers.
pub(super) fn workers_axis(lab: &Lab<'_>) -> Axis {
    let workers = lab.settings.workers.iter();
    Axis::new("workers (threads)").with_ticks(workers.map(|&n| n as f64))
}

/// Whether claims are tested with this number of workers. One worker sends nothing to another, so
/// all pools are the same there; and more workers than cores wait for each other.
pub(super) fn comparable(workers: f64) -> bool {
    workers > 1.0 && workers <= warpline_memory::cores() as f64
}

/// The claims that partitioned pools are the fastest.
///
/// They are about curves whose names begin with `prefix`.
pub(super) fn partitioned_is_fastest(prefix: &str, points: &[Point]) -> [Claim; 2] {
    [SENDER, RECEIVER].map(|other| {
        let curves = [PARTITIONED, other].map(|pool| format!("{prefix}{pool}"));
        let curves = curves.each_ref().map(String::as_str);
        let text = format!(
            "partitioned pools are faster than {other} pools, with 2 workers up to as many as cores"
        );
        Claim::of_paper(text).test_faster(points, curves, comparable)
    })
}

/// The lead of partitioned pools over others with so many workers, in each round.
pub(super) fn lead(points: &[Point], prefix: &str, other: &str, workers: f64) -> Vec<f64> {
    let find = |name: &str| {
        let curve = format!("{prefix}{name}");
        points.iter().find(|point| point.curve == curve && point.x == workers)
    };
    find(PARTITIONED).zip(find(other)).map_or_else(Vec::new, |(a, b)| ratios(a, b))
}

/// The claim about the size of the lead (section 8), tested where it is greatest: over either pool,
/// at any number of workers that is `wanted`.
pub(super) fn factor_of_two(points: &[Point], wanted: fn(f64) -> bool) -> Claim {
    let claim = Claim::of_paper(
        "partitioned pools are faster than the others by as much as a factor of two, where their \
         lead is greatest",
    );
    let leads = points.iter().filter(|point| point.curve == PARTITIONED && wanted(point.x));
    let leads = leads.flat_map(|point| {
        [SENDER, RECEIVER].map(|other| (other, point.x, lead(points, "", other, point.x)))
    });
    let median = |lead: &[f64]| crate::sampling::median(lead.iter().copied());
    let leads = leads.filter(|(_, _, lead)| !lead.is_empty());
    match leads.max_by(|a, b| median(&a.2).total_cmp(&median(&b.2))) {
        Some((other, workers, lead)) => {
            let place = format!("over {other} pools, {workers} workers");
            claim.test_rounds(place, &lead, ABOUT_TWO)
        }
        None => claim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    /// Each curve has its best amount of memory at each place, whatever is best for another.
    #[test]
    fn every_pool_has_its_best_memory() {
        let points = [
            point("sender, 2 times", 2.0, &[3.0; 5]),
            point("sender, 4 times", 2.0, &[2.0; 5]),
            point("sender, 2 times", 4.0, &[1.0; 5]),
            point("sender, 4 times", 4.0, &[5.0; 5]),
            point("partitioned, 2 times", 2.0, &[]),
            point("partitioned, 8 MiB each", 2.0, &[1.0; 5]),
        ];
        let best = with_best_memory(&points);
        let of = |curve: &str, x| {
            let point = best.iter().find(|p| p.curve == curve && p.x == x).expect("it is there");
            point.rates()[0]
        };
        assert_eq!((of(SENDER, 2.0), of(SENDER, 4.0), of(PARTITIONED, 2.0)), (3.0, 5.0, 1.0));
        assert_eq!(best.len(), 3);
    }

    /// The factor is looked for where the lead is greatest, and may be too small or too great.
    #[test]
    fn the_greatest_lead_is_about_two_or_not() {
        let verdict = |leads: [f64; 2]| {
            let mut points = vec![point(SENDER, 2.0, &[1.0; 5]), point(SENDER, 4.0, &[1.0; 5])];
            points.extend([2.0, 4.0].map(|x| point(RECEIVER, x, &[2.0; 5])));
            points.extend(
                [(2.0, leads[0]), (4.0, leads[1])]
                    .map(|(x, lead)| point(PARTITIONED, x, &[lead; 5])),
            );
            factor_of_two(&points, |x| x > 1.0).verdict()
        };
        assert_eq!(verdict([1.2, 2.0]), Verdict::Yes);
        assert_eq!(verdict([1.2, 1.3]), Verdict::No);
        assert_eq!(verdict([4.0, 2.0]), Verdict::No);
        assert_eq!(factor_of_two(&[], comparable).verdict(), Verdict::Unknown);
    }
}

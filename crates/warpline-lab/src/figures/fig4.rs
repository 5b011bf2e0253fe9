//! Figure 4 of the buffer paper: PHOLD by the memory for event buffers.

use super::{MIB, ON_THE_FLY, RECEIVER, SENDER, fig3};
use crate::{
    Axis, Bounds, Claim, Constant, Executor, Figure, Findings, Lab, LabError, Limit, Point, Setup,
    TimeWarp, claim::ratios,
};
use warpline::settings::{Pool, PoolKind};

/// Figure 4 of the buffer paper.
#[derive(Debug)]
pub struct Fig4;
/// A rate below this part of the best one has declined. The threshold is ours.
const DECLINED: f64 = 0.9;

impl Figure for Fig4 {
    fn name(&self) -> &'static str {
        "fig4"
    }

    fn title(&self) -> &'static str {
        "PHOLD: committed event rate by memory for event buffers, a curve per pool"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(4_000.0);
        let workers = lab.settings.most_workers();
        let memory = if lab.settings.quick { &[2, 8][..] } else { &[1, 2, 4, 8, 16, 32, 64][..] };
        let mut points = Vec::new();
        let pools = PoolKind::ALL.iter().map(|&pool| (pool.name(), pool.into()));
        for (curve, pool) in pools.chain([(ON_THE_FLY, Pool::ON_THE_FLY)]) {
            for &mebibytes in memory {
                let time_warp = TimeWarp::new(workers, pool.clone());
                let limit = Limit::Bytes(mebibytes * MIB);
                let executor = Executor::TimeWarp(time_warp.short_of(limit));
                let setup = Setup { model: fig3::phold(lab.settings.payload), end, executor };
                points.push(Point::new(curve, mebibytes as f64, setup));
            }
        }
        let points = lab.sample(points)?;
        let x = Axis::new("memory for event buffers (MiB, all workers)")
            .logarithmic()
            .with_ticks(memory.iter().map(|&mebibytes| mebibytes as f64));
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, figure 4: PHOLD with 256 LPs and 1024 messages \
                    on eight processors of a KSR-2. Partitioned pools were the fastest with any \
                    amount of memory. Sender and receiver pools became much slower beyond 20 to 25 \
                    MB, because the pages in use no longer fitted into each processor's cache: \
                    sender pools, faster with little memory, were slower than receiver pools with \
                    much. Partitioned pools did not decline.",
            setup: format!(
                "PHOLD, 256 LPs, 1024 events of {} bytes, all to LPs drawn at random, up to \
                 virtual time {end}, {workers} workers; {} rounds. GVT is computed when buffers \
                 run short, so that the whole memory is used in turn.",
                lab.settings.payload, lab.settings.samples
            ),
            claims: claims(&points),
            constants: constants(lab),
            ..Findings::of_rates("PHOLD, 256 LPs, 1024 events", x, &points)
        })
    }
}

fn constants(lab: &Lab<'_>) -> Vec<Constant> {
    let mut constants = vec![
        Constant::paper("30 % in the global pool, a gain of 25 %", "sections 3.4 and 6"),
        Constant::ours("1 to 64 MiB", "the paper's range, and powers of two"),
        Constant::ours(
            format!("below {DECLINED} of the best, a rate has declined"),
            "the paper says dramatically",
        ),
    ];
    constants.extend(fig3::constants_of_phold(lab));
    constants
}

/// Partitioned pools are those with on-the-fly fossil collection, as in the paper.
fn claims(points: &[Point]) -> Vec<Claim> {
    let places = || points.iter().filter(|point| !point.samples.is_empty()).map(|point| point.x);
    let (least, most) = (places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max));
    let above = |text: &str, curves, place: Option<f64>| {
        Claim::of_paper(text).test_faster(points, curves, |x| place.is_none_or(|place| place == x))
    };
    let rate = |point: &&Point| point.median(|sample| sample.rate);
    let decline = |curve: &str, wanted: bool| {
        let rates =
            || points.iter().filter(|point| point.curve == curve && !point.samples.is_empty());
        let best = rates().max_by(|a, b| rate(a).total_cmp(&rate(b)));
        let last = rates().find(|point| point.x == most);
        let Some((best, last)) = best.zip(last) else {
            return Claim::of_paper(format!("{curve} pools decline or not"));
        };
        let place = |a: &Point, b: &Point| format!("rate at {} / {} MiB", a.x, b.x);
        if wanted {
            let text = format!("{curve} pools decline by a tenth or more from their best");
            let wanted = Bounds::Above(1.0 / DECLINED);
            Claim::of_paper(text).test_rounds(place(best, last), &ratios(best, last), wanted)
        } else {
            let text = format!("{curve} pools decline by less than a tenth from their best");
            let wanted = Bounds::Above(DECLINED);
            Claim::of_paper(text).test_rounds(place(last, best), &ratios(last, best), wanted)
        }
    };
    vec![
        above("partitioned pools are faster than sender pools", [ON_THE_FLY, SENDER], None),
        above("partitioned pools are faster than receiver pools", [ON_THE_FLY, RECEIVER], None),
        above(
            "with the least memory, sender pools are faster than receiver pools",
            [SENDER, RECEIVER],
            Some(least),
        ),
        above(
            "with the most memory, receiver pools are faster than sender pools",
            [RECEIVER, SENDER],
            Some(most),
        ),
        decline(SENDER, true),
        decline(RECEIVER, true),
        decline(ON_THE_FLY, false),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    /// Data like the paper's gets the verdict yes from every claim, and the opposite gets no.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let verdicts = |rates: [[f64; 3]; 3]| {
            let curves = [RECEIVER, SENDER, ON_THE_FLY].into_iter().zip(rates);
            let points: Vec<_> = curves
                .flat_map(|(curve, rates)| {
                    let places = [1.0, 8.0, 64.0].into_iter().zip(rates);
                    places.map(move |(x, rate)| point(curve, x, &[rate; 5]))
                })
                .collect();
            claims(&points).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        let papers = verdicts([[3.0, 3.0, 2.0], [4.0, 4.0, 1.0], [5.0, 5.0, 5.0]]);
        assert_eq!(papers, [Verdict::Yes; 7]);
        let opposite = verdicts([[4.0, 4.0, 4.0], [3.0, 3.0, 5.0], [2.0, 2.0, 1.0]]);
        assert_eq!(opposite, [Verdict::No; 7]);
        assert!(claims(&[]).iter().all(|claim| claim.verdict() == Verdict::Unknown));
    }
}

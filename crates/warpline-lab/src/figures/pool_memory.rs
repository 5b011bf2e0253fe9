//! How much memory each pool needs (buffer paper, section 5, in words).
//!
//! The paper expects that partitioned pools may need more memory than sender and receiver pools,
//! because their buffers are divided into smaller pools. Eight workers, as in the paper, take turns
//! event by event, so that the numbers are the same on every machine: a worker without a buffer
//! loses its turn. A pool needs as much memory as it takes to lose few.

use warpline::settings::{FlowControl, Pool};

use super::{ADAPTIVE, ON_THE_FLY, PARTITIONED, RECEIVER, SENDER, fig3};
use crate::{
    Axis, Bounds, Claim, Constant, Executor, Figure, Findings, Lab, LabError, Limit, Point, Setup,
    TimeWarp,
};

/// The figure.
#[derive(Debug)]
pub struct PoolMemory;

/// From the paper: its processors.
const WORKERS: usize = 8;
/// From the paper: the events of PHOLD.
const PENDING: f64 = 1024.0;
/// Buffers by pending events.
const AMOUNTS: [f64; 15] =
    [1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 16.0];
/// A pool has enough if it commits this part of what the best one with plenty does. Ours; the claim
/// is tested with both.
const ENOUGH: [f64; 2] = [0.9, 0.7];

impl Figure for PoolMemory {
    fn name(&self) -> &'static str {
        "pool-memory"
    }

    fn title(&self) -> &'static str {
        "How much memory each pool needs: events by turns, by memory"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(200.0);
        let pools = [
            (SENDER, Pool::SENDER),
            (RECEIVER, Pool::RECEIVER),
            (PARTITIONED, Pool::PARTITIONED),
            (ON_THE_FLY, Pool::ON_THE_FLY),
            (ADAPTIVE, Pool::Adaptive),
        ];
        let mut points = Vec::new();
        for (name, pool) in pools {
            for amount in AMOUNTS {
                let time_warp = TimeWarp {
                    in_turn: true,
                    batch: 1,
                    flow_control: FlowControl::OFF,
                    ..TimeWarp::new(WORKERS, pool.clone())
                };
                let limit = Limit::Buffers((amount * PENDING) as u64);
                let executor = Executor::TimeWarp(time_warp.short_of(limit));
                let setup = Setup { model: fig3::phold(lab.settings.payload), end, executor };
                points.push(Point::new(name, amount, setup));
            }
        }
        let points = lab.count(points)?;
        let x = Axis::new("event buffers by pending events").logarithmic().with_ticks(AMOUNTS);
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, section 5, in words: the central disadvantage of \
                    partitioned pools is that they are divided into several smaller ones, so that \
                    they may need more memory than sender or receiver pools.",
            setup: format!(
                "PHOLD, 256 LPs, {PENDING} events of {} bytes, up to virtual time {end}, \
                 {WORKERS} workers in turn, one event each. GVT is computed when a worker finds no \
                 buffer, and nothing else holds workers back.",
                lab.settings.payload
            ),
            claims: claims(&points),
            constants: vec![
                Constant::paper("256 LPs, 1024 events, 8 processors", "section 4"),
                Constant::ours(
                    format!("a pool has enough with {ENOUGH:?} of the best one's events by turns"),
                    "the paper names no measure; the claims are tested with both",
                ),
                Constant::ours(
                    format!("{} to {} times the pending events", AMOUNTS[0], AMOUNTS[14]),
                    "from hardly enough to plenty",
                ),
            ],
            ..Findings::of_counts("PHOLD, 256 LPs, 1024 events, 8 workers", x, &points)
        })
    }
}

fn progress(point: &Point) -> f64 {
    point.median(|sample| sample.events_per_turn)
}

/// The least buffers with which the pool commits this part of `best`; infinite if none of them is
/// enough.
fn need(points: &[Point], name: &str, wanted: f64) -> f64 {
    let enough = |point: &&Point| point.curve == name && progress(point) >= wanted;
    points.iter().filter(enough).map(|point| point.x).fold(f64::INFINITY, f64::min)
}

fn claims(points: &[Point]) -> Vec<Claim> {
    let best = points.iter().map(progress).filter(|n| n.is_finite()).fold(0.0, f64::max);
    let needs_more = |claim: Claim, upper: &str, lower: &str| {
        if points.is_empty() {
            return claim;
        }
        ENOUGH.iter().fold(claim, |claim, part| {
            let [more, less] = [upper, lower].map(|name| need(points, name, part * best));
            let place = format!("buffers of {upper} / {lower} for {part} of the best");
            claim.test(place, more / less, Bounds::Above(1.0))
        })
    };
    let papers = [SENDER, RECEIVER].map(|other| {
        let text = format!("partitioned pools need more memory than {other} pools");
        needs_more(Claim::of_paper(text), PARTITIONED, other)
    });
    let ours = Claim::own("partitioned pools need more memory than adaptive ones");
    papers.into_iter().chain([needs_more(ours, PARTITIONED, ADAPTIVE)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sample, Verdict, figures::testing::point};

    /// Pools that commit an event in each turn from this amount of memory on, and hardly any below.
    fn verdicts(needs: [(&str, f64); 4]) -> Vec<Verdict> {
        let points = needs.into_iter().flat_map(|(name, need)| {
            AMOUNTS.map(|x| {
                let mut point = point(name, x, &[1.0]);
                let events_per_turn = if x >= need { 1.0 } else { 0.01 };
                point.samples = vec![Sample { events_per_turn, ..point.samples[0] }];
                point
            })
        });
        claims(&points.collect::<Vec<_>>()).iter().map(Claim::verdict).collect()
    }

    #[test]
    fn a_pool_needs_more_memory_or_not() {
        let [yes, no] = [Verdict::Yes, Verdict::No];
        let others = |partitioned: f64, other: f64| {
            [(SENDER, other), (RECEIVER, other), (PARTITIONED, partitioned), (ADAPTIVE, other)]
        };
        assert_eq!(verdicts(others(4.0, 1.2)), [yes; 3]);
        assert_eq!(verdicts(others(1.2, 4.0)), [no; 3]);
        assert_eq!(verdicts(others(1.2, 1.2)), [no; 3], "as much is not more");
        assert_eq!(verdicts(others(99.0, 1.2)), [yes; 3], "what is never enough is more");
        assert!(claims(&[]).iter().all(|claim| claim.verdict() == Verdict::Unknown));
    }
}

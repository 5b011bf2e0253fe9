//! The common part of the NUMA paper's figures: its model, motorway traffic, and execution times.

use warpline_models::traffic::TrafficParams;

use crate::{Axis, Findings, Point};

/// What `warpline_lab::nodes` assumes without a source, for the texts of its figures.
pub(super) const ASSUMED: &str = "\
    Assumed, and found nowhere: an LP has 32 KiB for its state and as much for saved states, and \
    what a state has beyond that is not touched; every access is a write; all workers wait for \
    each other at the end of each step. Time Warp does not, and longer queues and histories would \
    not fit into caches, so these verdicts are about the model.";

/// The motorways of Italy as so many LPs, with so many seconds between cars that join.
pub(super) fn italy(lps: usize, interarrival: f64) -> TrafficParams {
    TrafficParams { lps: Some(lps), interarrival: Some(interarrival), ..TrafficParams::default() }
}

/// Findings with the execution times of all points, where [`Findings::of_rates`] has their rates.
pub(super) fn of_times(title: &str, x: Axis, points: &[Point]) -> Findings {
    let mut findings = Findings::of_rates(title, x, points);
    findings.plot.y = Axis::new("execution time (s)");
    for curve in &mut findings.plot.curves {
        for dot in &mut curve.dots {
            let point = points.iter().find(|point| point.curve == curve.name && point.x == dot.x);
            let millions = point.map_or(f64::NAN, |point| point.committed as f64 / 1e6);
            // The highest rate is the shortest time.
            [dot.y, dot.low, dot.high] = [dot.y, dot.high, dot.low].map(|rate| millions / rate);
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::testing::point;

    #[test]
    fn times_are_events_by_rates() {
        let points = [Point { committed: 12, ..point("a", 1.0, &[2.0, 3.0, 6.0]) }];
        let findings = of_times("title", Axis::new("x"), &points);
        let dot = findings.plot.curves[0].dots[0];
        assert_eq!([dot.low, dot.y, dot.high].map(|s| (s * 1e6).round() / 1e6), [2.0, 4.0, 6.0]);
    }
}

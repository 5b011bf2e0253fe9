//! Figure 7 of the buffer paper: the hypercube by the number of workers.

use warpline_models::{
    catalog::ModelParams,
    hypercube::{HypercubeParams, Service},
};

use super::{
    PARTITIONED, RECEIVER, SENDER,
    pools::{self, Series},
};
use crate::{
    Bounds, Claim, Constant, Figure, Findings, Lab, LabError, Point, Workload, claim::ratios,
};

/// Figure 7 of the buffer paper.
#[derive(Debug)]
pub struct Fig7;

/// From the paper: the messages in the network, each of which is one pending event.
const PENDING: u64 = 2048;

impl Figure for Fig7 {
    fn name(&self) -> &'static str {
        "fig7"
    }

    fn title(&self) -> &'static str {
        "Hypercube: committed event rate by number of workers, a curve per pool"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let params = HypercubeParams { service: Service::Node, ..HypercubeParams::default() };
        let model = Workload::Shipped(ModelParams::from(params));
        let end = lab.settings.shortened(1_000.0);
        let series = Series { prefix: "", model, end, pending: PENDING, local_share: None };
        let all = lab.sample(series.points(&lab.settings.workers))?;
        let points = pools::with_best_memory(&all);
        let mut claims = pools::partitioned_is_fastest("", &points).to_vec();
        claims
            .extend([SENDER, RECEIVER].map(|other| lead_grows(&points, other, pools::comparable)));
        claims.push(pools::factor_of_two(&points, pools::comparable));
        let mut constants = pools::constants(PENDING);
        constants.extend([
            Constant::paper("dimension 7, 2048 messages, first come, first served", "section 7.1"),
            Constant::estimated(
                "lengths of messages and delays are the model's defaults",
                "the paper gives a uniform distribution without its bounds",
            ),
        ]);
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, figure 7: messages routed through a hypercube of \
                    dimension 7 (128 LPs, 2048 messages) on a KSR-2. Partitioned pools were faster \
                    than the others in all cases, and the more so the more processors there were. \
                    In the benchmark applications their lead was as much as a factor of two.",
            setup: format!(
                "Hypercube of dimension 7, 2048 messages, served by the nodes. {}",
                pools::conditions(lab, end)
            ),
            claims,
            constants,
            ..pools::findings("Hypercube, 128 LPs, 2048 messages", lab, &points, &all)
        })
    }
}

/// The claim that the lead of partitioned pools over others grows from each number of workers to
/// the next.
fn lead_grows(points: &[Point], other: &str, wanted: fn(f64) -> bool) -> Claim {
    let claim = Claim::of_paper(format!(
        "the lead of partitioned over {other} pools grows with the number of workers, up to as \
         many as cores"
    ));
    let curve = |name| points.iter().filter(move |p| p.curve == name && wanted(p.x));
    let leads: Vec<_> = curve(PARTITIONED)
        .filter_map(|point| Some((point.x, ratios(point, curve(other).find(|p| p.x == point.x)?))))
        .collect();
    leads.windows(2).fold(claim, |claim, pair| {
        let (fewer, more) = (&pair[0], &pair[1]);
        let growth: Vec<_> =
            more.1.iter().zip(&fewer.1).map(|(more, fewer)| more / fewer).collect();
        let place = format!("lead at {} / lead at {}", more.0, fewer.0);
        claim.test_rounds(place, &growth, Bounds::Above(1.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, figures::testing::point};

    #[test]
    fn a_lead_grows_or_not() {
        let mut points: Vec<_> = [1.0, 2.0, 4.0].map(|x| point(SENDER, x, &[1.0; 5])).into();
        points.extend([1.0, 2.0, 4.0].map(|x| point(PARTITIONED, x, &[x; 5])));
        assert_eq!(lead_grows(&points, SENDER, |x| x > 1.0).verdict(), Verdict::Yes);
        points.push(point(SENDER, 8.0, &[1.0; 5]));
        points.push(point(PARTITIONED, 8.0, &[3.0; 5]));
        assert_eq!(lead_grows(&points, SENDER, |x| x > 1.0).verdict(), Verdict::Partly(1, 2));
        assert_eq!(lead_grows(&points[..5], SENDER, |x| x > 1.0).verdict(), Verdict::Unknown);
    }
}

//! Figure 8 of the buffer paper: the wireless network by the number of workers.
//!
//! Beside it, PHOLD as in figure 3, because the paper compares the lead of partitioned pools on
//! both; and receiver pools with a pool of their own for local messages, which its first footnote
//! has in mind.

use warpline::settings::Pool;
use warpline_models::{
    catalog::ModelParams,
    pcs::{Grid, PcsParams},
};

use super::{
    RECEIVER, SENDER, fig3,
    pools::{self, Series},
};
use crate::{
    Basis, Bounds, Claim, Constant, Figure, Findings, LEVEL, Lab, LabError, Point, Workload,
};

/// Figure 8 of the buffer paper.
#[derive(Debug)]
pub struct Fig8;

/// The part of the messages that stay on their worker, from the paper: over 90 %. Partitioned pools
/// are divided in proportion to the traffic.
const LOCAL: f64 = 0.9;
/// From the paper: portables, each of which has at least one pending event.
const PENDING: u64 = 25_600;
/// What the names of PHOLD's curves begin with.
const PHOLD: &str = "PHOLD: ";
/// Receiver pools with another pool for local messages, without a lock (footnote 1).
const LOCAL_POOL: &str = "receiver with a local pool";

impl Figure for Fig8 {
    fn name(&self) -> &'static str {
        "fig8"
    }

    fn title(&self) -> &'static str {
        "PCS: committed event rate by number of workers, a curve per pool"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let workers = &lab.settings.workers;
        let model = PcsParams {
            cells: Grid::new(32, 32)?,
            portables: PENDING as usize,
            ..PcsParams::default()
        };
        let model = Workload::Shipped(ModelParams::from(model));
        let end = lab.settings.shortened(150.0);
        let series = Series { prefix: "", model, end, pending: PENDING, local_share: Some(LOCAL) };
        let mut all = series.points(workers);
        all.extend(series.points_of(LOCAL_POOL, &Pool::Receiver { local_pool: true }, workers));
        let most = pools::most_comparable(lab);
        all.extend(fig3::series(PHOLD, lab).points(most.as_slice()));
        let all = lab.sample(all)?;
        let best = pools::with_best_memory(&all);
        let (of_phold, of_pcs): (Vec<_>, Vec<_>) =
            best.iter().cloned().partition(|point| point.curve.starts_with(PHOLD));
        let mut constants = pools::constants(PENDING);
        constants.extend(constants_of_pcs());
        constants.extend(fig3::constants_of_phold(lab));
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, figure 8: a wireless network of 32 x 32 cells with \
                    10 channels each and over 25 000 portables, on a KSR-2. Partitioned pools were \
                    faster than the others, but by less than in other experiments, because over 90 \
                    % of the messages stay on their processor. Footnote 1: a receiver pool could \
                    do without locks for local messages, if these had a pool of their own.",
            setup: format!(
                "PCS, 32 x 32 cells, {PENDING} portables, 10 channels, stays of 75 minutes, calls \
                 of 3 and 6 between calls. Partitioned pools keep {LOCAL} of their buffers for \
                 sends to the same worker. {} The lead on PHOLD is that of figure 3, sampled in \
                 the same rounds.",
                pools::conditions(lab, end)
            ),
            claims: claims(&of_pcs, &of_phold, most),
            constants,
            ..pools::findings("PCS, 32 x 32 cells, 25 600 portables", lab, &of_pcs, &all)
        })
    }
}

fn constants_of_pcs() -> [Constant; 2] {
    [
        Constant::paper(
            "32 x 32 cells, 10 channels, stays of 75 minutes, calls of 3 and 6 between them, 90 % \
             of the messages stay",
            "section 7.2",
        ),
        Constant::paper("25 600 portables, for \"over 25,000\"", "section 7.2"),
    ]
}

fn claims(of_pcs: &[Point], of_phold: &[Point], most: Option<usize>) -> Vec<Claim> {
    let local = Claim::of_paper(
        "receiver pools are faster with a pool of their own for local messages, which needs no \
         lock (footnote 1)",
    );
    let local = local.test_faster(of_pcs, [LOCAL_POOL, RECEIVER], pools::comparable);
    let fastest = pools::partitioned_is_fastest("", of_pcs).into_iter().chain([local]);
    let own = Basis::Independent("the size of PHOLD's messages is not that of PCS");
    let mut claims: Vec<_> = fastest.map(|claim| claim.with_basis(own)).collect();
    claims.extend([SENDER, RECEIVER].map(|other| lead_is_smaller(of_pcs, of_phold, other, most)));
    claims
}

/// The claim that partitioned pools lead by less here than on PHOLD.
fn lead_is_smaller(
    of_pcs: &[Point],
    of_phold: &[Point],
    other: &str,
    workers: Option<usize>,
) -> Claim {
    let claim = Claim::of_paper(format!(
        "the lead of partitioned over {other} pools is smaller than on PHOLD, with as many workers \
         as cores"
    ));
    let Some(workers) = workers else { return claim };
    let here = pools::lead(of_pcs, "", other, workers as f64);
    let there = pools::lead(of_phold, PHOLD, other, workers as f64);
    let ratios: Vec<_> = here.iter().zip(&there).map(|(here, there)| here / there).collect();
    let place = format!("lead on PCS / lead on PHOLD, {workers} workers");
    claim.test_rounds(place, &ratios, Bounds::AtMost(1.0 - LEVEL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Verdict,
        figures::{PARTITIONED, testing::point},
    };

    /// By the leads over sender pools on both models.
    fn verdict(here: f64, there: f64) -> Verdict {
        let curve = |name: &str, rate| point(name, 2.0, &[rate; 5]);
        let of_pcs = [curve(SENDER, 1.0), curve(PARTITIONED, here)];
        let of_phold =
            [curve("PHOLD: sender", 1.0), curve(&format!("{PHOLD}{PARTITIONED}"), there)];
        lead_is_smaller(&of_pcs, &of_phold, SENDER, Some(2)).verdict()
    }

    #[test]
    fn a_lead_is_smaller_or_not() {
        assert_eq!(verdict(1.1, 1.5), Verdict::Yes);
        assert_eq!(verdict(1.5, 1.1), Verdict::No);
        assert_eq!(verdict(1.1, 1.11), Verdict::No, "what is level is not smaller");
        assert_eq!(lead_is_smaller(&[], &[], SENDER, Some(2)).verdict(), Verdict::Unknown);
        assert_eq!(lead_is_smaller(&[], &[], SENDER, None).verdict(), Verdict::Unknown);
    }

    /// The local pool has a verdict of its own, which the opposite turns around.
    #[test]
    fn a_local_pool_pays_or_not() {
        let verdict = |rate| {
            let points = [point(RECEIVER, 2.0, &[1.0; 5]), point(LOCAL_POOL, 2.0, &[rate; 5])];
            claims(&points, &[], Some(2)).get(2).map(Claim::verdict)
        };
        // Two workers are tested only where there are two cores.
        if pools::comparable(2.0) {
            assert_eq!(verdict(1.3), Some(Verdict::Yes));
            assert_eq!(verdict(0.9), Some(Verdict::No));
        }
    }
}

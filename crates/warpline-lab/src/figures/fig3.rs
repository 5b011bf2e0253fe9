//! Figure 3 of the buffer paper: PHOLD by the number of workers.

use warpline_models::{catalog::ModelParams, phold::PholdParams};

use super::{RECEIVER, SENDER, pools};
use crate::{Claim, Figure, Findings, Lab, LabError, Workload};

/// Figure 3 of the buffer paper.
#[derive(Debug)]
pub struct Fig3;

impl Figure for Fig3 {
    fn name(&self) -> &'static str {
        "fig3"
    }

    fn title(&self) -> &'static str {
        "PHOLD: committed event rate by number of workers, a curve per pool"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(4_000.0);
        let points = pools::by_workers(lab, &phold(lab), end, None)?;
        let claim = Claim::of_paper(
            "sender pools are faster than receiver pools, with 2 workers up to as many as cores",
        );
        let mut claims = vec![claim.test_faster(&points, [SENDER, RECEIVER], pools::comparable)];
        claims.extend(pools::partitioned_is_fastest(&points));
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, figure 3: PHOLD with 256 LPs and 1024 messages \
                    on up to eight processors of a KSR-2. Sender pools were significantly faster \
                    than receiver pools, and partitioned pools were faster than both.",
            setup: format!(
                "PHOLD, 256 LPs, 1024 events of {} bytes, all to LPs drawn at random. {}",
                lab.settings.payload,
                pools::conditions(lab, end)
            ),
            claims,
            ..Findings::of_rates("PHOLD, 256 LPs, 1024 events", pools::workers_axis(lab), &points)
        })
    }
}

/// PHOLD as in figures 3 and 4, with a payload: an event without any touches no buffer.
pub(super) fn phold(lab: &Lab<'_>) -> Workload {
    let payload = lab.settings.payload;
    Workload::Shipped(ModelParams::from(PholdParams { payload, ..PholdParams::default() }))
}

//! Figure 3 of the buffer paper: PHOLD by the number of workers.

use warpline_models::{catalog::ModelParams, phold::PholdParams};

use super::{
    RECEIVER, SENDER,
    pools::{self, Series},
};
use crate::{Claim, Constant, Figure, Findings, Lab, LabError, Workload};

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
        let series = series("", lab);
        let all = lab.sample(series.points(&lab.settings.workers))?;
        let points = pools::with_best_memory(&all);
        let claim = Claim::of_paper(
            "sender pools are faster than receiver pools, with 2 workers up to as many as cores",
        );
        let mut claims = vec![claim.test_faster(&points, [SENDER, RECEIVER], pools::comparable)];
        claims.extend(pools::partitioned_is_fastest(&points));
        let mut constants = pools::constants(PENDING);
        constants.extend(constants_of_phold(lab));
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, figure 3: PHOLD with 256 LPs and 1024 messages \
                    on up to eight processors of a KSR-2. Sender pools were significantly faster \
                    than receiver pools, and partitioned pools were faster than both.",
            setup: format!(
                "PHOLD, 256 LPs, {PENDING} events of {} bytes, all to LPs drawn at random. {}",
                lab.settings.payload,
                pools::conditions(lab, series.end)
            ),
            claims,
            constants,
            ..pools::findings("PHOLD, 256 LPs, 1024 events", lab, &points, &all)
        })
    }
}

/// From the paper: the events of PHOLD, which are always pending.
const PENDING: u64 = 1024;

/// PHOLD by pool and number of workers; about a million events, as in the paper.
pub(super) fn series(prefix: &'static str, lab: &Lab<'_>) -> Series {
    let (model, end) = (phold(lab), lab.settings.shortened(1_000.0));
    Series { prefix, model, end, pending: PENDING, local_share: None }
}

/// The constants of PHOLD in figures 3, 4 and 8.
pub(super) fn constants_of_phold(lab: &Lab<'_>) -> [Constant; 2] {
    [
        Constant::paper("256 LPs, 1024 events, about a million of them", "sections 3.4 and 4"),
        Constant::estimated(
            format!("events of {} bytes (`--payload`)", lab.settings.payload),
            "the paper does not give the size of PHOLD's messages; without any, no buffer would be \
             touched",
        ),
    ]
}

/// PHOLD as in figures 3 and 4, with a payload: an event without any touches no buffer.
pub(super) fn phold(lab: &Lab<'_>) -> Workload {
    let payload = lab.settings.payload;
    Workload::Shipped(ModelParams::from(PholdParams { payload, ..PholdParams::default() }))
}

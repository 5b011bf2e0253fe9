//! Figure 3 of the buffer paper: PHOLD by the number of workers.

use warpline_models::{catalog::ModelParams, phold::PholdParams};

use super::{
    RECEIVER, SENDER,
    pools::{self, Series},
};
use crate::{Claim, Constant, Figure, Findings, Lab, LabError, Point, Workload};

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
        let plotted = series("", lab);
        let end = plotted.end;
        let other = Series { model: phold(OTHER_PAYLOAD), ..series(OTHER, lab) };
        let mut all = plotted.points(&lab.settings.workers);
        all.extend(other.points(pools::most_comparable(lab).as_slice()));
        let all = lab.sample(all)?;
        let (with_other, points): (Vec<_>, Vec<_>) = pools::with_best_memory(&all)
            .into_iter()
            .partition(|point| point.curve.starts_with(OTHER));
        let what = format!("events of {OTHER_PAYLOAD} bytes");
        let others = claims(OTHER, &with_other);
        let claims = Claim::all_tested_too(claims("", &points), &what, others);
        let mut constants = pools::constants(PENDING);
        constants.push(setup_of_phold());
        constants.push(Constant::varied(
            format!("events of {} and of {OTHER_PAYLOAD} bytes", lab.settings.payload),
            "the paper does not give the size of PHOLD's messages; without any, no buffer would be \
             touched",
        ));
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, figure 3: PHOLD with 256 LPs and 1024 messages \
                    on up to eight processors of a KSR-2. Sender pools were significantly faster \
                    than receiver pools, and partitioned pools were faster than both.",
            setup: format!(
                "PHOLD, 256 LPs, {PENDING} events of {} bytes, all to LPs drawn at random. {}",
                lab.settings.payload,
                pools::conditions(lab, end)
            ),
            claims,
            constants,
            ..pools::findings("PHOLD, 256 LPs, 1024 events", lab, &points, &all)
        })
    }
}

/// Another size of messages (bytes), with which the claims are tested as well, and what the names
/// of its curves begin with.
const OTHER_PAYLOAD: usize = 512;
const OTHER: &str = "512 bytes: ";
/// From the paper: the events of PHOLD, which are always pending.
const PENDING: u64 = 1024;

/// PHOLD by pool and number of workers; about a million events, as in the paper.
pub(super) fn series(prefix: &'static str, lab: &Lab<'_>) -> Series {
    let (model, end) = (phold(lab.settings.payload), lab.settings.shortened(1_000.0));
    Series { prefix, model, end, pending: PENDING, local_share: None }
}

/// The claims, about curves whose names begin with this.
fn claims(prefix: &str, points: &[Point]) -> Vec<Claim> {
    let claim = Claim::of_paper(
        "sender pools are faster than receiver pools, with 2 workers up to as many as cores",
    );
    let curves = [SENDER, RECEIVER].map(|pool| format!("{prefix}{pool}"));
    let curves = curves.each_ref().map(String::as_str);
    let mut claims = vec![claim.test_faster(points, curves, pools::comparable)];
    claims.extend(pools::partitioned_is_fastest(prefix, points));
    claims
}

fn setup_of_phold() -> Constant {
    Constant::paper("256 LPs, 1024 events, about a million of them", "sections 3.4 and 4")
}

/// The constants of PHOLD in figures 4 and 8, which have one size of messages.
pub(super) fn constants_of_phold(lab: &Lab<'_>) -> [Constant; 2] {
    [
        setup_of_phold(),
        Constant::estimated(
            format!("events of {} bytes (`--payload`)", lab.settings.payload),
            "the paper does not give the size of PHOLD's messages; without any, no buffer would be \
             touched",
        ),
    ]
}

/// PHOLD as in figures 3 and 4, with a payload: an event without any touches no buffer.
pub(super) fn phold(payload: usize) -> Workload {
    Workload::Shipped(ModelParams::from(PholdParams { payload, ..PholdParams::default() }))
}

//! Figure 8 of the buffer paper: the wireless network by the number of workers.

use warpline_models::{
    catalog::ModelParams,
    pcs::{Grid, PcsParams},
};

use super::pools;
use crate::{Figure, Findings, Lab, LabError, Workload};

/// Figure 8 of the buffer paper.
#[derive(Debug)]
pub struct Fig8;

/// The part of the messages that stay on their worker, by the paper. Partitioned pools are divided
/// in proportion to the traffic.
const LOCAL: f64 = 0.9;

impl Figure for Fig8 {
    fn name(&self) -> &'static str {
        "fig8"
    }

    fn title(&self) -> &'static str {
        "PCS: committed event rate by number of workers, a curve per pool"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(300.0);
        let cells = Grid::new(32, 32)?;
        let model = PcsParams { cells, portables: 25_600, ..PcsParams::default() };
        let model = Workload::Shipped(ModelParams::from(model));
        let points = pools::by_workers(lab, &model, end, Some(LOCAL))?;
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, figure 8: a wireless network of 32 x 32 cells with \
                    10 channels each and over 25 000 portables, on a KSR-2. Partitioned pools were \
                    faster than the others, but by less than in other experiments, because over 90 \
                    % of the messages stay on their processor.",
            setup: format!(
                "PCS, 32 x 32 cells, 25 600 portables, 10 channels, stays of 75 minutes, calls of \
                 3 and 6 between calls. Partitioned pools keep {LOCAL} of their buffers for sends \
                 to the same worker. {}",
                pools::conditions(lab, end)
            ),
            claims: pools::partitioned_is_fastest(&points).to_vec(),
            ..Findings::of_rates(
                "PCS, 32 x 32 cells, 25 600 portables",
                pools::workers_axis(lab),
                &points,
            )
        })
    }
}

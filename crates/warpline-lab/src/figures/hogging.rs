//! Buffer hogging (buffer paper, section 5): PHOLD beside a source that takes all buffers it can
//! get, measured in time.
//!
//! The paper describes it in words, without a figure: an LP that receives nothing is never rolled
//! back, runs far ahead of the others, and fills their memory with its messages. Partitioned pools
//! limit it to the buffers from its worker to each other one. Here the source sends to all LPs, so
//! every worker feels it. GVT is computed when buffers run short, so that no limit on the length of
//! processed lists holds the source back before buffers do. [`flooding`](super::flooding) has
//! workers that it sends nothing to.

use warpline::settings::{FlowControl, PoolKind};

use super::{MIB, PARTITIONED, RECEIVER, SENDER};
use crate::{
    Axis, Claim, Constant, Executor, Figure, Findings, Lab, LabError, Limit, Point, Setup,
    TimeWarp, Workload,
    hogging::{Hogging, Receiver},
};

/// The experiment with a source that sends to all.
#[derive(Debug)]
pub struct HoggingFigure;

impl Figure for HoggingFigure {
    fn name(&self) -> &'static str {
        "hogging"
    }

    fn title(&self) -> &'static str {
        "Buffer hogging: PHOLD beside a source process, rate by memory, a curve per pool"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let end = lab.settings.shortened(2_000.0);
        let workers = lab.settings.most_workers();
        let model = Hogging { lps: 256, events_per_lp: 4, stream: 512, receiver: Receiver::All };
        let memory = if lab.settings.quick { &[1, 4][..] } else { &[1, 2, 4, 8, 16][..] };
        let mut points = Vec::new();
        for &pool in PoolKind::ALL {
            for &mebibytes in memory {
                let time_warp =
                    TimeWarp { flow_control: FlowControl::OFF, ..TimeWarp::new(workers, pool) };
                let limit = Limit::Bytes(mebibytes * MIB);
                let executor = Executor::TimeWarp(time_warp.short_of(limit));
                let setup = Setup { model: Workload::Hogging(model.clone()), end, executor };
                points.push(Point::new(pool.name(), mebibytes as f64, setup));
            }
        }
        let points = lab.sample(points)?;
        let x = Axis::new("memory for event buffers (MiB, all workers)")
            .logarithmic()
            .with_ticks(memory.iter().map(|&mebibytes| mebibytes as f64));
        let claims = [SENDER, RECEIVER].map(|other| {
            let text =
                format!("with little memory, partitioned pools are faster than {other} pools");
            let least = memory[0] as f64;
            Claim::of_paper(text).test_faster(&points, [PARTITIONED, other], |x| x == least)
        });
        Ok(Findings {
            paper: "Fujimoto and Panesar 1995, section 5, in words: a source process that only \
                    sends is never rolled back, runs far ahead and fills the buffers of all \
                    others. With sender and receiver pools nothing prevents it; partitioned pools \
                    give some protection, because the pools between other processors stay theirs.",
            setup: format!(
                "PHOLD, {} LPs, {} events each, and a source that sends {} events per unit of \
                 virtual time to LPs drawn at random, up to virtual time {end}, {workers} workers; \
                 {} rounds. Nobody is held back but by buffers: GVT is computed when they run \
                 short.",
                model.lps, model.events_per_lp, model.stream, lab.settings.samples
            ),
            claims: claims.into(),
            constants: vec![
                Constant::paper("256 LPs, 1024 events", "as its PHOLD, section 3.4"),
                Constant::ours(
                    format!("a stream of {} events", model.stream),
                    "half of what PHOLD handles, in the same time",
                ),
                Constant::ours("messages of 64 bytes", "as in figures 3 and 4"),
                Constant::ours("1 to 16 MiB", "from a few times the pending events up to plenty"),
            ],
            ..Findings::of_rates("PHOLD beside a source process", x, &points)
        })
    }
}

//! Figure 2 of the buffer paper: cache misses by the size of the message.

use warpline::settings::PoolKind;
use warpline_models::phold::PholdParams;

use super::{
    MIB, RECEIVER, SENDER,
    computed::{self, Query},
};
use crate::{
    Axis, Claim, Figure, Findings, Lab, LabError, Source,
    memory_system::{BufferRun, Fetch, MemoryCosts, MemorySystem},
};

/// Figure 2 with the memory system that it asks for the misses.
#[derive(Debug)]
pub struct Fig2<S>(pub S);

/// The sizes of messages, in KiB.
const SIZES: [f64; 6] = [0.25, 1.0, 2.0, 4.0, 6.0, 8.0];

impl<S: MemorySystem> Figure for Fig2<S> {
    fn name(&self) -> &'static str {
        "fig2"
    }

    fn title(&self) -> &'static str {
        "Cache misses by message size, receiver and sender pools"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let run = |pool, kibibytes: f64| BufferRun {
            model: PholdParams {
                lps: 64,
                population: 256,
                payload: (kibibytes * 1024.0) as usize,
                ..PholdParams::default()
            },
            // About a million events, as in the paper.
            end: lab.settings.shortened(4_000.0),
            seed: lab.settings.seed,
            workers: 8,
            pool,
            on_the_fly: false,
            memory: 16 * MIB,
            fetch: Fetch::Exclusive,
        };
        let receiver = |kibibytes| run(PoolKind::Receiver, kibibytes);
        let sender = |kibibytes| run(PoolKind::Sender, kibibytes);
        let millions: fn(&_) -> f64 = |costs: &MemoryCosts| costs.cache_misses / 1e6;
        let queries = [
            Query { name: RECEIVER.into(), run: &receiver, number: millions },
            Query { name: SENDER.into(), run: &sender, number: millions },
        ];
        let axes = [Axis::new("message size (KiB)"), Axis::new("cache misses, in millions")];
        let title = "PHOLD, 64 LPs, 256 events, 8 workers";
        let (plot, table) = computed::plot(&self.0, title, axes, &SIZES, &queries)?;
        let claim = Claim::of_paper("receiver pools have more cache misses than sender pools");
        let claims = vec![computed::test_higher(claim, &plot.curves, [RECEIVER, SENDER], |_| true)];
        Ok(Findings {
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, figure 2: PHOLD with 64 LPs and 256 messages \
                    on eight processors of a KSR-2, for about a million committed events. Receiver \
                    pools had more cache misses than sender pools, and both more with larger \
                    messages.",
            setup: format!(
                "PHOLD, 64 LPs, 256 events, 8 workers, 16 MiB of event buffers. {}",
                self.0.describe()
            ),
            source: Source::Computed,
            claims,
            remarks: Vec::new(),
        })
    }
}

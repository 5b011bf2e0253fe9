//! Figure 6 of the buffer paper: page misses of receiver pools by neighbourhood and memory.

use warpline::PoolKind;
use warpline_models::phold::PholdParams;

use super::memory_system::{self, BufferRun, MemorySystem, Query};
use crate::{Axis, Figure, Findings, Lab, LabError, Source};

/// The figure, with the memory system that has the misses.
#[derive(Debug)]
pub struct Fig6<S>(pub S);

/// The memory for event buffers, in MiB: beyond 100, where the paper expects the last knee.
const MEMORY: [f64; 9] = [10.0, 20.0, 30.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0];
/// Sizes of neighbourhoods: processors that each one sends to.
const NEIGHBORHOODS: [usize; 3] = [4, 2, 1];
/// A knee is where page misses have become this many times what they are with the least memory.
const KNEE: f64 = 2.0;

impl<S: MemorySystem> Figure for Fig6<S> {
    fn name(&self) -> &'static str {
        "fig6"
    }

    fn title(&self) -> &'static str {
        "Page misses of receiver pools by memory, a curve per size of the neighbourhood"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let runs = NEIGHBORHOODS.map(|neighborhood| {
            move |memory: f64| {
                let run = memory_system::million_events(lab.settings, PoolKind::Receiver, memory);
                BufferRun { model: PholdParams { neighborhood, blocks: 8, ..run.model }, ..run }
            }
        });
        let queries: Vec<_> = NEIGHBORHOODS
            .iter()
            .zip(&runs)
            .map(|(&neighborhood, run)| Query {
                name: name(neighborhood),
                run,
                number: |costs| costs.page_misses / 1e3,
            })
            .collect();
        let axes = [memory_system::memory_axis(), Axis::new("page misses, in thousands")];
        let title = "PHOLD, 256 LPs, 1024 events, 8 workers, receiver pools";
        let (plot, table) = memory_system::plot(&self.0, title, axes, &MEMORY, &queries)?;
        let more = [(4, 2), (2, 1)].map(|(many, few)| {
            let text = format!("with {many} neighbours more pages are missed than with {few}");
            memory_system::higher(&text, &plot, [&name(many), &name(few)], |_| true)
        });
        let knee = |curve: &crate::Curve| {
            let least = curve.dots.first().map_or(0.0, |dot| dot.y);
            let dot = curve.dots.iter().find(|dot| dot.y > KNEE * least);
            dot.map_or_else(
                || format!("{}: no knee.", curve.name),
                |dot| {
                    format!(
                        "{}: knee at {} MiB ({KNEE} times the misses at first).",
                        curve.name, dot.x
                    )
                },
            )
        };
        Ok(Findings {
            remarks: plot.curves.iter().map(knee).collect(),
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, figure 6: PHOLD in which each of eight processors sends to \
                    the next k only, with receiver pools on a KSR-2. The larger k, the less memory it took \
                    for page misses to rise; the paper expects the knees at 100, 67 and 40 MB for k = 1, \
                    2 and 4.",
            setup: format!(
                "PHOLD, 256 LPs, 1024 events of {} bytes, 8 workers, receiver pools. {}",
                lab.settings.payload,
                self.0.describe()
            ),
            source: Source::Computed,
            claims: more.into(),
        })
    }
}

fn name(neighborhood: usize) -> String {
    format!("{neighborhood} neighbour{}", if neighborhood == 1 { "" } else { "s" })
}

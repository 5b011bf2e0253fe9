//! Figure 6 of the buffer paper: page misses of receiver pools by neighbourhood and memory.

use warpline::PoolKind;
use warpline_models::phold::PholdParams;

use super::memory_system::{self, BufferRun, MemorySystem, Query};
use crate::{Axis, Claim, Curve, Figure, Findings, Lab, LabError, Source};

/// The figure, with the memory system that has the misses.
#[derive(Debug)]
pub struct Fig6<S>(pub S);

/// The memory for event buffers, in MiB: beyond 100, where the paper expects the last knee.
const MEMORY: [f64; 12] =
    [20.0, 30.0, 36.0, 40.0, 44.0, 60.0, 67.0, 74.0, 90.0, 100.0, 110.0, 120.0];
/// Sizes of neighbourhoods: processors that each one sends to.
const NEIGHBORHOODS: [usize; 3] = [4, 2, 1];
/// A knee is where page misses have become this many times what they are with the least memory.
const KNEE: f64 = 2.0;
/// Where the paper expects the knees, for [`NEIGHBORHOODS`], in MB.
const EXPECTED: [f64; 3] = [40.0, 67.0, 100.0];
/// A knee is where it is expected if it is no further from there, by the expected one.
const NEAR: f64 = 0.1;

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
            let most = MEMORY[MEMORY.len() - 1];
            memory_system::higher(&text, &plot.curves, [&name(many), &name(few)], |x| x == most)
        });
        let knees = plot.curves.iter().zip(EXPECTED).map(|(curve, expected)| knee(curve, expected));
        let claims = more.into_iter().chain(knees).collect();
        Ok(Findings {
            remarks: Vec::new(),
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
            claims,
        })
    }
}

/// The claim that a curve has its knee where it is expected.
fn knee(curve: &Curve, expected: f64) -> Claim {
    let claim = Claim::new(format!("with {} the knee is near {expected} MB", curve.name));
    let least = curve.dots.first().map_or(0.0, |dot| dot.y);
    match curve.dots.iter().find(|dot| dot.y > KNEE * least) {
        Some(knee) => {
            let is_near = (knee.x - expected).abs() <= NEAR * expected;
            let place = format!("more than {KNEE} times the misses at first (MiB)");
            claim.test(place, knee.x, is_near.into())
        }
        None => claim,
    }
}

fn name(neighborhood: usize) -> String {
    format!("{neighborhood} neighbour{}", if neighborhood == 1 { "" } else { "s" })
}

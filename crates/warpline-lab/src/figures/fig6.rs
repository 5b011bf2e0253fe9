//! Figure 6 of the buffer paper: page misses of receiver pools by neighborhood and memory.
//!
//! The paper expects a knee where a worker's pool and those of its k neighbors fill 25 MB. On the
//! model of the machine they fill 32 MiB. So one claim compares the knees with each other, which
//! the size of the cache does not decide, and another one with the paper's megabytes.

use warpline::settings::Pool;
use warpline_models::phold::PholdParams;

use super::computed::{self, Guess, Query};
use crate::{
    Axis, Bounds, Claim, Constant, Figure, Findings, Lab, LabError, Plot, Source, Table,
    memory_system::{BufferRun, MemorySystem},
};

/// Figure 6 with the memory system that it asks for the misses.
#[derive(Debug)]
pub struct Fig6<S>(pub S);

/// The memory for event buffers, in MiB: across the knees that the paper expects, and across those
/// of a cache of 32 MiB that holds nothing but buffers (51, 85 and 128).
const MEMORY: [f64; 15] =
    [20.0, 32.0, 40.0, 44.0, 48.0, 54.0, 60.0, 67.0, 74.0, 80.0, 88.0, 100.0, 110.0, 120.0, 132.0];
/// Sizes of neighborhoods: the number of processors to which each one sends.
const NEIGHBORHOODS: [usize; 3] = [4, 2, 1];
/// Where the paper expects the knees, for [`NEIGHBORHOODS`], in MB.
const EXPECTED: [f64; 3] = [40.0, 67.0, 100.0];
/// How far from the expected place a knee may be, as a part of that.
const NEAR: f64 = 0.1;

impl<S: MemorySystem> Figure for Fig6<S> {
    fn name(&self) -> &'static str {
        "fig6"
    }

    fn title(&self) -> &'static str {
        "Page misses of receiver pools by memory, a curve per size of the neighborhood"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let [first, second] = computed::GUESSES;
        let ((plot, table), claims) =
            computed::with_both_guesses(|guess| self.misses(lab, guess), |(plot, _)| claims(plot))?;
        let mut constants = computed::constants();
        constants.extend([
            Constant::paper("neighborhoods of 1, 2 and 4; knees at 100, 67 and 40 MB", "section 4"),
            computed::message_size(),
            Constant::ours(format!("near is within {NEAR} of that"), "the paper says consistent"),
        ]);
        Ok(Findings {
            remarks: Vec::new(),
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, figure 6: PHOLD in which each of eight processors \
                    sends to the next k only, with receiver pools on a KSR-2. The larger k, the \
                    less memory it took for page misses to rise; the paper expects the knees at \
                    100, 67 and 40 MB for k = 1, 2 and 4.",
            setup: format!(
                "PHOLD, 256 LPs, 1024 events, 8 workers, receiver pools; {first}. {} The claims \
                 are tested with the other guess, too: {second}.",
                self.0.describe()
            ),
            source: Source::Computed,
            claims,
            constants,
        })
    }
}

impl<S: MemorySystem> Fig6<S> {
    /// The page misses of every neighborhood by memory, by this guess.
    fn misses(&self, lab: &Lab<'_>, guess: Guess) -> Result<(Plot, Table), LabError> {
        let runs = NEIGHBORHOODS.map(|neighborhood| {
            move |memory: f64| {
                let run = computed::million_events(lab.settings, Pool::RECEIVER, guess, memory);
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
        let axes = [computed::memory_axis(), Axis::new("page misses, in thousands")];
        let title = "PHOLD, 256 LPs, 1024 events, 8 workers, receiver pools";
        computed::plot(&self.0, title, axes, &MEMORY, &queries)
    }
}

/// More pages are missed in larger neighborhoods, and the knees lie where the paper expects them:
/// in proportion to each other, and in MiB.
fn claims(plot: &Plot) -> Vec<Claim> {
    let more = [(4, 2), (2, 1)].map(|(many, few)| {
        let text = format!("with {many} neighbors more pages are missed than with {few}");
        let most = MEMORY[MEMORY.len() - 1];
        let curves = [&*name(many), &*name(few)];
        computed::test_higher(Claim::of_paper(text), &plot.curves, curves, |x| x == most)
    });
    let near = |expected: f64| Bounds::Within(expected * (1.0 - NEAR), expected * (1.0 + NEAR));
    let curves = || plot.curves.iter().zip(EXPECTED);
    let farther = Claim::of_paper(
        "with k neighbors the knee is where a worker's pool and k others fill its cache: 5/3 and \
         5/2 times as far with 2 and 1 as with 4",
    );
    let farther = curves().skip(1).fold(farther, |claim, (curve, expected)| {
        let knees = computed::knee(curve).zip(computed::knee(&plot.curves[0]));
        let place = format!("{} / {}", curve.name, plot.curves[0].name);
        match knees {
            Some((knee, least)) => claim.test(place, knee / least, near(expected / EXPECTED[0])),
            None => claim,
        }
    });
    let places = curves().fold(
        Claim::of_paper("with 4, 2 and 1 neighbors the knee is near 40, 67 and 100 MB"),
        |claim, (curve, expected)| computed::test_knee(claim, curve, near(expected)),
    );
    more.into_iter().chain([farther, places]).collect()
}

fn name(neighborhood: usize) -> String {
    format!("{neighborhood} neighbor{}", if neighborhood == 1 { "" } else { "s" })
}

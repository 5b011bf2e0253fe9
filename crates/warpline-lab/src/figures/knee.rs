//! Where page misses begin to rise, by the number of processors (buffer paper, section 4, in
//! words).
//!
//! The paper observed that the decline beyond 20 to 25 MB was independent of the number of
//! processors. A cache of any processor of its machine is as large as that of any other, and with
//! sender and receiver pools each of them touches all of the memory. With a pool whose knee moves,
//! the claim fails: partitioned pools have one that does.

use warpline::settings::Pool;

use super::{
    RECEIVER, SENDER,
    computed::{self, Guess, Query},
};
use crate::{
    Axis, Bounds, Claim, Constant, Curve, Figure, Findings, Lab, LabError, Plot, Source, Table,
    memory_system::{BufferRun, MemorySystem},
};

/// The figure with the memory system that it asks for the misses.
#[derive(Debug)]
pub struct Knee<S>(pub S);

/// The memory for event buffers, in MiB: fine steps around the cache of a processor.
const MEMORY: [f64; 9] = [12.0, 16.0, 20.0, 25.0, 28.0, 32.0, 36.0, 44.0, 60.0];
/// The numbers of workers; the first one is the paper's.
const WORKERS: [usize; 4] = [8, 2, 4, 16];
/// How far from the knee of the paper's number another one may be. The threshold is ours.
const SAME: Bounds = Bounds::Within(0.9, 1.1);

impl<S: MemorySystem> Figure for Knee<S> {
    fn name(&self) -> &'static str {
        "knee"
    }

    fn title(&self) -> &'static str {
        "Page misses by memory, a curve per pool and number of workers"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let [first, second] = computed::GUESSES;
        let ((plot, table), claims) = computed::with_both_guesses(
            |guess| self.misses(lab, guess),
            |(plot, _)| claims(&plot.curves),
        )?;
        let mut constants = computed::constants();
        constants.extend([
            Constant::paper("256 LPs, 1024 events, a million of them", "section 4"),
            Constant::ours(
                format!("{WORKERS:?} workers"),
                "the paper has 8, and does not say which others it tried",
            ),
            computed::message_size(),
            Constant::ours("the same knee is from 0.9 to 1.1 times that of 8", "as in figure 6"),
        ]);
        Ok(Findings {
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, section 4, in words: that the rate declines when \
                    the buffers of all processors take more than 20 to 25 MB was independent of \
                    the number of processors.",
            setup: format!(
                "PHOLD, 256 LPs, 1024 events; {first}. {} The claims are tested with the other \
                 guess, too: {second}.",
                self.0.describe()
            ),
            source: Source::Computed,
            claims,
            constants,
            remarks: Vec::new(),
        })
    }
}

impl<S: MemorySystem> Knee<S> {
    /// The page misses of both pools by memory, by this guess.
    fn misses(&self, lab: &Lab<'_>, guess: Guess) -> Result<(Plot, Table), LabError> {
        let curves = [(SENDER, Pool::SENDER), (RECEIVER, Pool::RECEIVER)]
            .into_iter()
            .flat_map(|(pool, kind)| WORKERS.map(|workers| (pool, kind.clone(), workers)));
        let runs: Vec<_> = curves
            .map(|(pool, kind, workers)| {
                let run = move |memory| {
                    let run = computed::million_events(lab.settings, kind.clone(), guess, memory);
                    BufferRun { workers, ..run }
                };
                (name(pool, workers), run)
            })
            .collect();
        let queries: Vec<_> = runs
            .iter()
            .map(|(name, run)| Query {
                name: name.clone(),
                run,
                number: |costs| costs.page_misses / 1e3,
            })
            .collect();
        let axes = [computed::memory_axis(), Axis::new("page misses, in thousands")];
        computed::plot(&self.0, "PHOLD, 256 LPs, 1024 events", axes, &MEMORY, &queries)
    }
}

fn name(pool: &str, workers: usize) -> String {
    format!("{pool}, {workers} workers")
}

/// A claim for each pool: the knee is at the same memory with any number of workers.
fn claims(curves: &[Curve]) -> Vec<Claim> {
    let knee = |pool, workers| {
        let name = name(pool, workers);
        computed::knee(curves.iter().find(|curve| curve.name == name)?)
    };
    let claim = |pool| {
        let claim = Claim::of_paper(format!(
            "with {pool} pools page misses rise at the same memory with any number of processors"
        ));
        WORKERS[1..].iter().fold(claim, |claim, &workers| {
            let [papers, other] = [WORKERS[0], workers].map(|workers| knee(pool, workers));
            let place = format!("knee with {workers} / with {} workers", WORKERS[0]);
            claim.test(place, other.zip(papers).map_or(f64::NAN, |(a, b)| a / b), SAME)
        })
    };
    vec![claim(SENDER), claim(RECEIVER)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dot, Verdict};

    /// Curves that rise beyond so many MiB, by the number of workers.
    fn verdicts(knee: impl Fn(usize) -> f64) -> Vec<Verdict> {
        let curve = |pool: &str, workers: usize| {
            let dot = |x| {
                let y = if x > knee(workers) { 100.0 } else { 1.0 };
                Dot { x, y, low: y, high: y, hollow: false }
            };
            Curve::new(name(pool, workers), MEMORY.map(dot).into())
        };
        let curves: Vec<_> =
            [SENDER, RECEIVER].iter().flat_map(|pool| WORKERS.map(|n| curve(pool, n))).collect();
        claims(&curves).iter().map(Claim::verdict).collect()
    }

    #[test]
    fn a_knee_moves_or_not() {
        assert_eq!(verdicts(|_| 25.0), [Verdict::Yes; 2]);
        // A pool whose memory per worker decides: the knee is in proportion to the workers.
        assert_eq!(verdicts(|workers| 2.0 * workers as f64), [Verdict::No; 2]);
        assert_eq!(verdicts(|_| 100.0), [Verdict::No; 2], "no knee is none that stays");
        assert!(claims(&[]).iter().all(|claim| claim.verdict() == Verdict::No));
    }
}

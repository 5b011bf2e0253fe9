//! Figure 2 of the buffer paper: cache misses by the size of the message.

use warpline::settings::Pool;
use warpline_models::phold::PholdParams;

use super::{
    MIB, RECEIVER, SENDER,
    computed::{self, Query},
};
use crate::{
    Axis, Bounds, Claim, Constant, Curve, Figure, Findings, Lab, LabError, Plot, Source, Table,
    machine::Replacement,
    memory_system::{BufferRun, Fetch, MemoryCosts, MemorySystem},
};

/// Figure 2 with the memory system that it asks for the misses.
#[derive(Debug)]
pub struct Fig2<S>(pub S);

/// The sizes of messages, in KiB.
const SIZES: [f64; 6] = [0.25, 1.0, 2.0, 4.0, 6.0, 8.0];
/// Memory for event buffers, in MiB: estimated.
const MEBIBYTES: [u64; 3] = [16, 8, 32];

impl<S: MemorySystem> Figure for Fig2<S> {
    fn name(&self) -> &'static str {
        "fig2"
    }

    fn title(&self) -> &'static str {
        "Cache misses by message size, receiver and sender pools"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let title = "PHOLD, 64 LPs, 256 events, 8 workers";
        let [guess, other] = computed::GUESSES.map(|guess| guess.replacement);
        let (plot, table) = self.misses(lab, title, (MEBIBYTES[0], guess), &SIZES)?;
        let mut claims = claims(&plot.curves);
        // The least and the greatest message only: whether the guess decides takes no more.
        let ends = [SIZES[0], SIZES[SIZES.len() - 1]];
        for mebibytes in &MEBIBYTES[1..] {
            let (plot, _) = self.misses(lab, title, (*mebibytes, other), &ends)?;
            let what = format!("{mebibytes} MiB, {other}");
            claims = Claim::all_tested_too(claims, &what, self::claims(&plot.curves));
        }
        let mut constants = computed::constants();
        constants.extend([
            Constant::paper("64 LPs, 256 events, 8 processors, a million events", "section 3.4"),
            Constant::varied(
                format!("{MEBIBYTES:?} MiB of event buffers, of which the first is plotted"),
                "the number is missing in our copy of the paper",
            ),
        ]);
        Ok(Findings {
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, figure 2: PHOLD with 64 LPs and 256 messages \
                    on eight processors of a KSR-2, for about a million committed events. Receiver \
                    pools had more cache misses than sender pools, and both more with larger \
                    messages.",
            setup: format!(
                "PHOLD, 64 LPs, 256 events, 8 workers, {} MiB of event buffers. {}",
                MEBIBYTES[0],
                self.0.describe()
            ),
            source: Source::Computed,
            claims,
            constants,
            remarks: Vec::new(),
        })
    }
}

impl<S: MemorySystem> Fig2<S> {
    /// The misses of both pools by the size of the message, with so much memory and this rule of
    /// replacement.
    fn misses(
        &self,
        lab: &Lab<'_>,
        title: &str,
        (mebibytes, replacement): (u64, Replacement),
        sizes: &[f64],
    ) -> Result<(Plot, Table), LabError> {
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
            memory: mebibytes * MIB,
            fetch: Fetch::Exclusive,
            replacement,
        };
        let receiver = |kibibytes| run(Pool::RECEIVER, kibibytes);
        let sender = |kibibytes| run(Pool::SENDER, kibibytes);
        let millions: fn(&_) -> f64 = |costs: &MemoryCosts| costs.cache_misses / 1e6;
        let queries = [
            Query { name: RECEIVER.into(), run: &receiver, number: millions },
            Query { name: SENDER.into(), run: &sender, number: millions },
        ];
        let axes = [Axis::new("message size (KiB)"), Axis::new("cache misses, in millions")];
        computed::plot(&self.0, title, axes, sizes, &queries)
    }
}

fn claims(curves: &[Curve]) -> Vec<Claim> {
    let more = Claim::of_paper("receiver pools have more cache misses than sender pools");
    let grow = [RECEIVER, SENDER].map(|name| {
        let claim = Claim::of_paper(format!("misses of {name} pools grow with the message"));
        let dots = curves.iter().find(|curve| curve.name == name).map_or(&[][..], |c| &c.dots);
        dots.windows(2).fold(claim, |claim, pair| {
            let place = format!("misses at {} / at {} KiB", pair[1].x, pair[0].x);
            claim.test(place, pair[1].y / pair[0].y, Bounds::Above(1.0))
        })
    });
    let mut claims = vec![computed::test_higher(more, curves, [RECEIVER, SENDER], |_| true)];
    claims.extend(grow);
    claims
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dot, Verdict};

    /// Data like the paper's, and data where receiver pools have fewer misses that do not grow.
    #[test]
    fn claims_tell_the_papers_shape_from_its_opposite() {
        let curve = |name: &str, misses: [f64; 3]| {
            let places = [1.0, 4.0, 8.0].into_iter().zip(misses);
            let dot = |(x, y)| Dot { x, y, low: y, high: y, hollow: false };
            Curve::new(name, places.map(dot).collect())
        };
        let verdicts = |receiver, sender| {
            let curves = [curve(RECEIVER, receiver), curve(SENDER, sender)];
            claims(&curves).iter().map(Claim::verdict).collect::<Vec<_>>()
        };
        let [yes, no] = [Verdict::Yes, Verdict::No];
        assert_eq!(verdicts([2.0, 4.0, 8.0], [1.0, 2.0, 4.0]), [yes; 3]);
        assert_eq!(verdicts([1.0, 1.0, 1.0], [4.0, 2.0, 2.0]), [no; 3]);
    }
}

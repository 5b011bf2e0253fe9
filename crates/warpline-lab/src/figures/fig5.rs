//! Figure 5 of the buffer paper: page misses by the memory for event buffers.
//!
//! The paper finds them rising beyond 25 MB. On the model of the machine, where buffers have all 32
//! MiB of a cache, they rise beyond 32 MiB, so that claim fails here.

use super::{
    ADAPTIVE, ON_THE_FLY, PARTITIONED, RECEIVER, SENDER, SHARING,
    computed::{self, Guess, Query},
};
use crate::{
    Axis, Bounds, Claim, Constant, Curve, Figure, Findings, Lab, LabError, Plot, Source, Table,
    memory_system::MemorySystem,
};
use warpline::settings::{Parts, Pool};

/// Figure 5 with the memory system that it asks for the misses.
#[derive(Debug)]
pub struct Fig5<S>(pub S);

/// The memory for event buffers, in MiB.
const MEMORY: [f64; 10] = [4.0, 8.0, 16.0, 20.0, 25.0, 30.0, 32.0, 40.0, 50.0, 60.0];
/// Where the paper found the knee, at the most.
const KNEE: f64 = 25.0;
/// Where every cache is full on the model, with any pool whose buffers migrate.
const MANY: f64 = 40.0;
/// A pool with more than this part of a sender pool's misses has degenerated to one. The threshold
/// is ours.
const DEGENERATE: f64 = 0.5;
/// Where the paper found the knee: the rate declined beyond 20 to 25 MB, and page misses rose.
const AT_THE_KNEE: Bounds = Bounds::Within(20.0, KNEE);

impl<S: MemorySystem> Figure for Fig5<S> {
    fn name(&self) -> &'static str {
        "fig5"
    }

    fn title(&self) -> &'static str {
        "Page misses by memory for event buffers, a curve per pool"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let [first, second] = computed::GUESSES;
        let ((plot, table), claims) =
            computed::with_both_guesses(|guess| self.misses(lab, guess), |(plot, _)| claims(plot))?;
        let mut constants = computed::constants();
        constants.extend([
            Constant::paper("256 LPs, 1024 events, 8 processors, a million events", "section 4"),
            computed::message_size(),
            Constant::ours(
                format!("a sharing pool has more than {DEGENERATE} of a sender pool's misses"),
                "the paper names no threshold",
            ),
        ]);
        Ok(Findings {
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, figure 5: PHOLD with 256 LPs and 1024 messages \
                    on eight processors of a KSR-2, about a million events. Page misses of sender \
                    and receiver pools rose steeply beyond 25 MB: of sender pools, lower at first, \
                    higher than of receiver pools in the end. Those of partitioned pools stayed \
                    low. Section 5: a partitioned pool that helps out an empty list with buffers \
                    of another one would quickly degenerate to a sender pool.",
            setup: format!(
                "PHOLD, 256 LPs, 1024 events, 8 workers; {first}. {} The claims are tested with \
                 the other guess, too: {second}.",
                self.0.describe()
            ),
            source: Source::Computed,
            claims,
            constants,
            remarks: Vec::new(),
        })
    }
}

impl<S: MemorySystem> Fig5<S> {
    /// The page misses of every pool by memory, by this guess.
    fn misses(&self, lab: &Lab<'_>, guess: Guess) -> Result<(Plot, Table), LabError> {
        let (on_the_fly, gain) = (false, 0.25);
        let sharing = Pool::Partitioned { parts: Parts::Equal, on_the_fly, gain, sharing: true };
        let pools = [
            (RECEIVER, Pool::RECEIVER),
            (SENDER, Pool::SENDER),
            (PARTITIONED, Pool::PARTITIONED),
            (ON_THE_FLY, Pool::ON_THE_FLY),
            (SHARING, sharing),
            (ADAPTIVE, Pool::Adaptive),
        ];
        let runs = pools.map(|(name, pool)| {
            let run =
                move |memory| computed::million_events(lab.settings, pool.clone(), guess, memory);
            (name, run)
        });
        let queries = runs.each_ref().map(|(name, run)| Query {
            name: (*name).to_owned(),
            run: run as &dyn Fn(f64) -> _,
            number: |costs| costs.page_misses / 1e3,
        });
        let axes = [computed::memory_axis(), Axis::new("page misses, in thousands")];
        let title = "PHOLD, 256 LPs, 1024 events, 8 workers";
        computed::plot(&self.0, title, axes, &MEMORY, &queries)
    }
}

fn claims(plot: &Plot) -> Vec<Claim> {
    let curve = |name: &str| plot.curves.iter().find(|curve| curve.name == name);
    let higher = |claim: Claim, curves, wanted: fn(f64) -> bool| {
        computed::test_higher(claim, &plot.curves, curves, wanted)
    };
    let knee = [SENDER, RECEIVER].into_iter().filter_map(curve).fold(
        Claim::of_paper("sender and receiver pools have more page misses beyond 20 to 25 MiB"),
        |claim, curve| computed::test_knee(claim, curve, AT_THE_KNEE),
    );
    let (many, few) = (|x| x > KNEE, |x| x < KNEE);
    vec![
        knee,
        doubles(curve(SENDER), SENDER, true),
        doubles(curve(RECEIVER), RECEIVER, true),
        doubles(curve(PARTITIONED), PARTITIONED, false),
        higher(
            Claim::of_paper("sender pools miss more pages than partitioned ones"),
            [SENDER, PARTITIONED],
            many,
        ),
        higher(
            Claim::of_paper("receiver pools miss more pages than partitioned ones"),
            [RECEIVER, PARTITIONED],
            many,
        ),
        higher(
            Claim::of_paper("with little memory, receiver pools miss more pages than sender pools"),
            [RECEIVER, SENDER],
            few,
        ),
        higher(
            Claim::of_paper(
                "with the most memory, sender pools miss more pages than receiver pools",
            ),
            [SENDER, RECEIVER],
            |x| x == MEMORY[MEMORY.len() - 1],
        ),
        degenerates(curve(SHARING), curve(SENDER)),
        higher(
            Claim::own("sender pools miss more pages than adaptive ones"),
            [SENDER, ADAPTIVE],
            many,
        ),
    ]
}

/// The claim that a sharing pool becomes a sender pool, where that has many misses: at the last
/// places.
fn degenerates(sharing: Option<&Curve>, sender: Option<&Curve>) -> Claim {
    let claim = Claim::of_paper(
        "a partitioned pool that takes from another list when one is empty degenerates to a sender \
         pool: it misses nearly as many pages",
    );
    let Some((sharing, sender)) = sharing.zip(sender) else { return claim };
    let pairs = sharing.dots.iter().zip(&sender.dots);
    pairs.filter(|(_, sender)| sender.x >= MANY).fold(claim, |claim, (sharing, sender)| {
        let place = format!("sharing / sender at {}", sender.x);
        claim.test(place, sharing.y / sender.y, Bounds::Above(DEGENERATE))
    })
}

/// The claim that a pool's page misses more than double from the knee to the most memory, or that
/// they do not.
fn doubles(curve: Option<&Curve>, name: &str, wanted: bool) -> Claim {
    let last = MEMORY[MEMORY.len() - 1];
    let verb = if wanted { "more than double" } else { "do not double" };
    let text = format!("page misses of {name} pools {verb} from {KNEE} to {last} MiB");
    let claim = Claim::of_paper(text);
    let misses = |place: f64| Some(curve?.dots.iter().find(|dot| dot.x == place)?.y);
    match misses(last).zip(misses(KNEE)) {
        Some((most, knee)) => {
            let place = format!("thousands of misses more at {last} than at {KNEE} MiB");
            let bounds = if wanted { Bounds::Above(knee) } else { Bounds::AtMost(knee) };
            claim.test(place, most - knee, bounds)
        }
        None => claim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dot, Verdict};

    /// A sharing pool that stays as good as a partitioned one has not degenerated.
    #[test]
    fn a_sharing_pool_degenerates_or_not() {
        let curve = |misses: f64| {
            let dot = |x| Dot { x, y: misses, low: misses, high: misses, hollow: false };
            Curve::new("", MEMORY.map(dot).into())
        };
        let verdict = |sharing| degenerates(Some(&curve(sharing)), Some(&curve(100.0))).verdict();
        assert_eq!((verdict(90.0), verdict(5.0)), (Verdict::Yes, Verdict::No));
        assert_eq!(degenerates(None, None).verdict(), Verdict::Unknown);
    }
}

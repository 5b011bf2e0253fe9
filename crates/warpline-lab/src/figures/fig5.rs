//! Figure 5 of the buffer paper: page misses by the memory for event buffers.
//!
//! The paper finds them rising beyond 25 MB. On the model of the machine, where buffers have all 32
//! MiB of a cache, they rise beyond 32 MiB, so that claim fails here.

use super::{
    ADAPTIVE, ON_THE_FLY, PARTITIONED, RECEIVER, SENDER,
    computed::{self, Query},
};
use crate::{
    Axis, Bounds, Claim, Curve, Figure, Findings, Lab, LabError, Plot, Source,
    memory_system::{BufferRun, MemorySystem},
};
use warpline::settings::PoolKind;

/// Figure 5 with the memory system that it asks for the misses.
#[derive(Debug)]
pub struct Fig5<S>(pub S);

/// The memory for event buffers, in MiB.
const MEMORY: [f64; 10] = [4.0, 8.0, 16.0, 20.0, 25.0, 30.0, 32.0, 40.0, 50.0, 60.0];
/// Where the paper found the knee, at the most.
const KNEE: f64 = 25.0;
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
        let run = |pool| move |memory| computed::million_events(lab.settings, pool, memory);
        let (receiver, sender) = (run(PoolKind::Receiver), run(PoolKind::Sender));
        let (partitioned, adaptive) = (run(PoolKind::Partitioned), run(PoolKind::Adaptive));
        let on_the_fly = |memory| BufferRun { on_the_fly: true, ..partitioned(memory) };
        let query = |name: &str, run| Query {
            name: name.to_owned(),
            run,
            number: |costs| costs.page_misses / 1e3,
        };
        let queries = [
            query(RECEIVER, &receiver as &dyn Fn(f64) -> _),
            query(SENDER, &sender),
            query(PARTITIONED, &partitioned),
            query(ON_THE_FLY, &on_the_fly),
            query(ADAPTIVE, &adaptive),
        ];
        let axes = [computed::memory_axis(), Axis::new("page misses, in thousands")];
        let title = "PHOLD, 256 LPs, 1024 events, 8 workers";
        let (plot, table) = computed::plot(&self.0, title, axes, &MEMORY, &queries)?;
        let claims = claims(&plot);
        Ok(Findings {
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, figure 5: PHOLD with 256 LPs and 1024 messages \
                    on eight processors of a KSR-2, about a million events. Page misses of sender \
                    and receiver pools rose steeply beyond 25 MB: of sender pools, lower at first, \
                    higher than of receiver pools in the end. Those of partitioned pools stayed \
                    low.",
            setup: format!(
                "PHOLD, 256 LPs, 1024 events of {} bytes, 8 workers. {}",
                computed::MESSAGE_BYTES,
                self.0.describe()
            ),
            source: Source::Computed,
            claims,
            remarks: Vec::new(),
        })
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
        higher(
            Claim::own("sender pools miss more pages than adaptive ones"),
            [SENDER, ADAPTIVE],
            many,
        ),
    ]
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

//! Figure 5 of the buffer paper: page misses by the memory for event buffers.

use super::{
    ADAPTIVE, PARTITIONED, RECEIVER, SENDER,
    memory_system::{self, MemorySystem, Query},
};
use crate::{Axis, Claim, Figure, Findings, Lab, LabError, Plot, Source};
use warpline::PoolKind;

/// The figure, with the memory system that has the misses.
#[derive(Debug)]
pub struct Fig5<S>(pub S);

/// The memory for event buffers, in MiB.
const MEMORY: [f64; 9] = [4.0, 8.0, 16.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0];
/// Where the paper found the knee.
const KNEE: f64 = 25.0;

impl<S: MemorySystem> Figure for Fig5<S> {
    fn name(&self) -> &'static str {
        "fig5"
    }

    fn title(&self) -> &'static str {
        "Page misses by memory for event buffers, a curve per pool"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let run = |pool| move |memory| memory_system::million_events(lab.settings, pool, memory);
        let (receiver, sender) = (run(PoolKind::Receiver), run(PoolKind::Sender));
        let (partitioned, adaptive) = (run(PoolKind::Partitioned), run(PoolKind::Adaptive));
        let query = |name: &str, run| Query {
            name: name.to_owned(),
            run,
            number: |costs| costs.page_misses / 1e3,
        };
        let queries = [
            query(RECEIVER, &receiver as &dyn Fn(f64) -> _),
            query(SENDER, &sender),
            query(PARTITIONED, &partitioned),
            query(ADAPTIVE, &adaptive),
        ];
        let axes = [memory_system::memory_axis(), Axis::new("page misses, in thousands")];
        let title = "PHOLD, 256 LPs, 1024 events, 8 workers";
        let (plot, table) = memory_system::plot(&self.0, title, axes, &MEMORY, &queries)?;
        let claims = claims(&plot);
        Ok(Findings {
            plot,
            table,
            paper: "Fujimoto and Panesar 1995, figure 5: PHOLD with 256 LPs and 1024 messages on eight \
                    processors of a KSR-2, about a million events. Page misses of sender and receiver \
                    pools rose steeply beyond 25 MB: of sender pools, lower at first, higher than of \
                    receiver pools in the end. Those of partitioned pools stayed low.",
            setup: format!(
                "PHOLD, 256 LPs, 1024 events of {} bytes, 8 workers. {}",
                lab.settings.payload,
                self.0.describe()
            ),
            source: Source::Computed,
            claims,
            remarks: Vec::new(),
        })
    }
}

fn claims(plot: &Plot) -> Vec<Claim> {
    let higher = |text: &str, curves, wanted: fn(f64) -> bool| {
        memory_system::higher(text, &plot.curves, curves, wanted)
    };
    let rises = |name: &str, wanted: bool| {
        let verb = if wanted { "at least double" } else { "do not double" };
        let claim = Claim::new(format!("page misses of {name} pools {verb} beyond {KNEE} MiB"));
        let misses = |place: f64| {
            let curve = plot.curves.iter().find(|curve| curve.name == name)?;
            Some(curve.dots.iter().find(|dot| dot.x == place)?.y)
        };
        let last = MEMORY[MEMORY.len() - 1];
        match misses(last).zip(misses(KNEE)) {
            Some((most, knee)) => {
                let place = format!("thousands of misses more at {last} than at {KNEE} MiB");
                claim.test(place, most - knee, ((most > 2.0 * knee) == wanted).into())
            }
            None => claim,
        }
    };
    vec![
        rises(SENDER, true),
        rises(RECEIVER, true),
        rises(PARTITIONED, false),
        higher("sender pools miss more pages than partitioned ones", [SENDER, PARTITIONED], |x| {
            x > KNEE
        }),
        higher("and more than adaptive ones", [SENDER, ADAPTIVE], |x| x > KNEE),
        higher(
            "receiver pools miss more pages than partitioned ones",
            [RECEIVER, PARTITIONED],
            |x| x > KNEE,
        ),
        higher(
            "with little memory, receiver pools miss more pages than sender pools",
            [RECEIVER, SENDER],
            |x| x < KNEE,
        ),
        higher(
            "with the most memory, sender pools miss more pages than receiver pools",
            [SENDER, RECEIVER],
            |x| x == 60.0,
        ),
    ]
}

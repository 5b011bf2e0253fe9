//! Buffer hogging (buffer paper, section 5), isolated: the rate of two workers that have nothing to
//! do with a source and its receiver, but share the memory with them.
//!
//! Four workers take turns on one thread, so the rate is counted in turns and is the same on every
//! machine. The first worker has a source, which sends to a sink on the second one. The other two
//! have PHOLD, which sends nothing to the first two. The source has less to do than PHOLD, and runs
//! ahead as far as its buffers allow: GVT is computed when they run short, so that no limit on the
//! length of processed lists holds it back before. In [`hogging`](super::hogging) the source sends
//! to all workers, and time is measured.

use rayon::prelude::*;
use warpline::{
    Only, Simulation, TimeWarp,
    settings::{FlowControl, Instrumentation, PoolKind},
};

use super::computed;
use crate::{
    Axis, Bounds, Claim, Constant, Curve, Dot, Figure, Findings, GVT_WHEN_SHORT, Lab, LabError,
    Plot, Source, Table,
    hogging::{Hogging, Receiver},
};

const WORKERS: usize = 4;
/// LPs of PHOLD, and events of each.
const LPS: u32 = 128;
const EVENTS_PER_LP: u32 = 8;
/// Events of the source in each unit of virtual time: a fifth of what each of PHOLD's workers
/// handles.
const STREAM: u32 = 100;
/// Events in a turn.
const BATCH: usize = 16;
/// Buffers of all workers together.
const BUFFERS: [u64; 7] = [1_500, 1_600, 1_700, 2_000, 3_000, 6_000, 12_000];
/// The part of their rate that the others keep if the pool protects them. The threshold is ours;
/// the paper names none.
const KEPT: f64 = 0.8;
/// A pool that takes more than this many times the turns of the best one, without any source, is
/// short of buffers by itself: what it keeps beside the source says nothing of protection.
const SHORT: f64 = 2.0;
/// How much slower than the best pool the adaptive one may be; beyond this it would be a poor
/// default.
const WORSE: f64 = 0.05;

/// The number of turns until all of PHOLD's events are committed; `None` if the memory is too
/// little.
fn turns(pool: PoolKind, buffers: u64, has_source: bool, end: f64, seed: u64) -> Option<f64> {
    let engine = TimeWarp {
        workers: WORKERS,
        instrumentation: Instrumentation::IN_TURN,
        batch: BATCH,
        gvt_interval: GVT_WHEN_SHORT,
        flow_control: FlowControl::OFF,
        pool: pool.into(),
        ..TimeWarp::default()
    };
    let stream = if has_source { STREAM } else { 0 };
    let model =
        Hogging { lps: LPS, events_per_lp: EVENTS_PER_LP, stream, receiver: Receiver::Sink };
    let model = Only::<TimeWarp, _>::new(model);
    let simulation = Simulation::new(model).engine(engine).seed(seed).end(end);
    let memory = buffers * simulation.event_bytes();
    let report = simulation.memory(memory).run().ok()?;
    let turns = report.details.counters.iter().find(|(name, _)| *name == "turns");
    turns.map(|&(_, turns)| turns as f64)
}

/// The turns of two runs with one pool and one number of buffers: without the source and beside it.
struct Sample {
    pool: PoolKind,
    buffers: u64,
    alone: f64,
    beside: f64,
}

impl Sample {
    /// The part of their rate that the others keep beside the source.
    fn kept(&self) -> f64 {
        self.alone / self.beside
    }

    fn dot(&self) -> Dot {
        let (x, y) = (self.buffers as f64, self.kept());
        Dot { x, y, low: y, high: y, hollow: false }
    }

    fn row(&self) -> Vec<String> {
        let Self { pool, buffers, alone, beside } = self;
        let kept = format!("{:.4}", self.kept());
        vec![pool.to_string(), buffers.to_string(), alone.to_string(), beside.to_string(), kept]
    }
}

/// The experiment with a source that sends to one worker.
#[derive(Debug)]
pub struct FloodingFigure;

impl Figure for FloodingFigure {
    fn name(&self) -> &'static str {
        "flooding"
    }

    fn title(&self) -> &'static str {
        "Buffer hogging: what the other workers keep of their rate beside a source, by memory"
    }

    fn measure(&self, lab: &Lab<'_>) -> Result<Findings, LabError> {
        let (end, seed) = (lab.settings.shortened(400.0), lab.settings.seed);
        let sampled = |(pool, buffers)| {
            let turns = |has_source| turns(pool, buffers, has_source, end, seed);
            let (alone, beside) = turns(false).zip(turns(true))?;
            Some(Sample { pool, buffers, alone, beside })
        };
        let samples: Vec<_> = computed::each_pool(&BUFFERS).filter_map(sampled).collect();
        let table = Table {
            header: ["pool", "buffers", "turns without the source", "turns beside it", "rate kept"]
                .map(str::to_owned)
                .into(),
            rows: samples.iter().map(Sample::row).collect(),
        };
        let curve = |&pool: &PoolKind| {
            let dots = samples.iter().filter(|sample| sample.pool == pool).map(Sample::dot);
            Curve::new(pool.name(), dots.collect())
        };
        let curves: Vec<_> = PoolKind::ALL.iter().map(curve).collect();
        let x = Axis::new("event buffers (all workers)")
            .logarithmic()
            .with_ticks(BUFFERS.map(|buffers| buffers as f64));
        let y = Axis::new("rate beside the source, by the rate without it");
        let title = "PHOLD on two workers, a source and its sink on two others".to_owned();
        let claims = vec![
            keeps(&samples, PoolKind::Partitioned, Claim::of_paper),
            loses(&samples, PoolKind::Sender),
            loses(&samples, PoolKind::Receiver),
            keeps(&samples, PoolKind::Adaptive, Claim::own),
            is_fastest(&samples),
        ];
        Ok(Findings {
            plot: Plot { title, x, y, curves },
            table,
            paper: "Fujimoto and Panesar 1995, section 5, in words: a source process that only \
                    sends is never rolled back, runs far ahead and fills the buffers of all \
                    others. With sender and receiver pools nothing prevents it; with partitioned \
                    pools, communications between other processors are not affected.",
            setup: format!(
                "Four workers in turn on one thread: a source that sends {STREAM} events per unit \
                 of virtual time to a sink on the second worker, and PHOLD with {LPS} LPs and \
                 {EVENTS_PER_LP} events each on the other two, up to virtual time {end}. Nobody is \
                 held back but by buffers: GVT is computed when they run short. The rate is \
                 counted in turns of all workers."
            ),
            source: Source::Computed,
            claims,
            constants: constants(),
            remarks: samples
                .iter()
                .filter(|sample| is_short(&samples, sample))
                .map(remark)
                .collect(),
        })
    }
}

/// The least turns of any pool without the source, with so many buffers.
fn least_alone(samples: &[Sample], buffers: u64) -> f64 {
    let same = samples.iter().filter(|sample| sample.buffers == buffers);
    same.map(|sample| sample.alone).fold(f64::INFINITY, f64::min)
}

/// Whether the pool is short of buffers without any source.
fn is_short(samples: &[Sample], sample: &Sample) -> bool {
    sample.alone > SHORT * least_alone(samples, sample.buffers)
}

/// A sample that says nothing of protection.
fn remark(sample: &Sample) -> String {
    let Sample { pool, buffers, .. } = sample;
    format!(
        "{pool} at {buffers}: without the source it takes more than {SHORT} times the turns of \
         the best pool, so it is short of buffers by itself. What it keeps there is no test."
    )
}

/// The claim that a pool protects the others, where it is not short of buffers by itself.
fn keeps(samples: &[Sample], pool: PoolKind, claim: fn(String) -> Claim) -> Claim {
    let claim = claim(format!("with {pool} pools the others keep most of their rate"));
    let of_pool = samples.iter().filter(|sample| sample.pool == pool);
    of_pool.filter(|sample| !is_short(samples, sample)).fold(claim, |claim, sample| {
        let place = format!("with {} buffers", sample.buffers);
        claim.test(place, sample.kept(), Bounds::Above(KEPT))
    })
}

/// The claim that a pool does not, with the fewest buffers that are enough without the source.
fn loses(samples: &[Sample], pool: PoolKind) -> Claim {
    let claim = Claim::of_paper(format!(
        "with {pool} pools and the fewest buffers that are enough without the source they do not"
    ));
    let of_pool = samples.iter().filter(|sample| sample.pool == pool);
    match of_pool.filter(|sample| !is_short(samples, sample)).min_by_key(|sample| sample.buffers) {
        Some(sample) => {
            let place = format!("with {} buffers", sample.buffers);
            claim.test(place, sample.kept(), Bounds::AtMost(KEPT))
        }
        None => claim,
    }
}

fn constants() -> Vec<Constant> {
    let why = "the paper describes the effect in words, without a model";
    let pending = u64::from(LPS * EVENTS_PER_LP);
    vec![
        Constant::ours(
            format!("{LPS} LPs, {EVENTS_PER_LP} events each, {STREAM} of the source"),
            why,
        ),
        Constant::ours(
            format!("{} to {} buffers", BUFFERS[0], BUFFERS[BUFFERS.len() - 1]),
            "from a little more than the events that are always pending up to plenty",
        ),
        Constant::ours(format!("{pending} events of PHOLD are always pending"), why),
        Constant::ours(format!("{BATCH} events in a turn"), "so that workers drift apart"),
        Constant::ours(
            format!("at least {KEPT} of the rate is most of it"),
            "the paper names no threshold",
        ),
    ]
}

/// The claim that beside the source, an adaptive pool is as fast as any other one, but for
/// [`WORSE`].
fn is_fastest(samples: &[Sample]) -> Claim {
    let claim =
        Claim::own("beside the source, no other pool is clearly faster than an adaptive one");
    let adaptive = samples.iter().filter(|sample| sample.pool == PoolKind::Adaptive);
    adaptive.fold(claim, |claim, adaptive| {
        let same = samples.iter().filter(|sample| sample.buffers == adaptive.buffers);
        let least = same.map(|sample| sample.beside).fold(f64::INFINITY, f64::min);
        let place = format!("its rate by the best one's with {} buffers", adaptive.buffers);
        claim.test(place, least / adaptive.beside, Bounds::Above(1.0 - WORSE))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    /// Samples with so many turns beside the source, at 1000 without it.
    fn samples(turns: [(PoolKind, f64); 3]) -> Vec<Sample> {
        let sample = |(pool, beside)| Sample { pool, buffers: 1_500, alone: 1_000.0, beside };
        turns.map(sample).into()
    }

    fn verdicts(samples: &[Sample]) -> [Verdict; 3] {
        [
            keeps(samples, PoolKind::Partitioned, Claim::of_paper),
            loses(samples, PoolKind::Sender),
            loses(samples, PoolKind::Receiver),
        ]
        .map(|claim| claim.verdict())
    }

    /// The paper's findings and their opposites; each of the three has a verdict of its own.
    #[test]
    fn each_pool_has_its_verdict() {
        use PoolKind::{Partitioned, Receiver, Sender};
        let [yes, no] = [Verdict::Yes, Verdict::No];
        let of = |turns| verdicts(&samples(turns));
        assert_eq!(
            of([(Partitioned, 1_100.0), (Sender, 9_000.0), (Receiver, 9_000.0)]),
            [yes, yes, yes]
        );
        assert_eq!(
            of([(Partitioned, 9_000.0), (Sender, 1_100.0), (Receiver, 1_100.0)]),
            [no, no, no]
        );
        assert_eq!(
            of([(Partitioned, 1_100.0), (Sender, 9_000.0), (Receiver, 1_100.0)]),
            [yes, yes, no]
        );
    }

    /// A pool that is short of buffers by itself protects nobody, however level its turns are.
    #[test]
    fn a_pool_that_is_short_by_itself_is_no_test() {
        let mut samples = samples([
            (PoolKind::Partitioned, 1_000.0),
            (PoolKind::Sender, 1_000.0),
            (PoolKind::Receiver, 1_000.0),
        ]);
        (samples[0].alone, samples[0].beside) = (90_000.0, 90_000.0);
        assert!(is_short(&samples, &samples[0]) && !is_short(&samples, &samples[1]));
        let claim = keeps(&samples, PoolKind::Partitioned, Claim::of_paper);
        assert_eq!(claim.verdict(), Verdict::Unknown);
        assert_eq!(loses(&samples, PoolKind::Partitioned).verdict(), Verdict::Unknown);
        samples[0].alone = 1_500.0;
        samples[0].beside = 1_500.0;
        let claim = keeps(&samples, PoolKind::Partitioned, Claim::of_paper);
        assert_eq!(claim.verdict(), Verdict::Yes);
    }
}

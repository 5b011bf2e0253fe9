//! Samples of runs: a figure makes [`Point`]s that say what to run, and gets them back with their
//! samples.
//!
//! The points are sampled in turn, round after round, so that a change in the speed of the machine
//! hits all of them. Runs of the same model to the same end must commit the same events (LAB-A).

use std::sync::atomic::Ordering;

use statrs::statistics::{Data, OrderStatistics};
use warpline::{AnyModel, ConfigError, Only, RunError, digest::CommitDigest};
use warpline_models::catalog::ModelParams;

use crate::{
    Executor, Settings, Watch,
    counters::{self, Counts, NAMES},
    error::LabError,
    executor::Outcome,
    hogging::Hogging,
    mpi,
};

/// The model of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// One that Warpline ships.
    Shipped(ModelParams),
    /// PHOLD beside a source.
    Hogging(Hogging),
}

impl Workload {
    fn model(&self) -> Result<AnyModel, ConfigError> {
        match self {
            Self::Shipped(params) => params.model(),
            // Its figure is about the pools of Time Warp.
            Self::Hogging(model) => Ok(Only::<warpline::TimeWarp, _>::new(model.clone()).into()),
        }
    }
}

/// A run: the model, the end and the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The model.
    pub model: Workload,
    /// The virtual time at which the run ends.
    pub end: f64,
    /// The engine and its settings.
    pub executor: Executor,
}

impl Setup {
    /// Runs it once; `what` names it in errors.
    fn run(
        &self,
        what: &str,
        settings: &Settings,
        watch: &dyn Watch,
    ) -> Result<(Outcome, Counts), LabError> {
        let Self { model, end, executor } = self;
        let (outcome, counts) = match (&settings.over_mpi, executor, model) {
            (Some(program), Executor::Ranks(ranks), Workload::Shipped(params))
                if ranks.network.is_none() =>
            {
                let run = mpi::Run { program, params, seed: settings.seed, end: *end };
                let outcome = run
                    .on(ranks)
                    .map_err(|reason| LabError::Mpi { what: what.to_owned(), reason })?;
                // The counters are those of this process.
                (Some(outcome), [None; NAMES.len()])
            }
            _ => {
                let model = model.model()?;
                let run = || executor.run(model, *end, settings.seed, watch.stop());
                let (outcome, counts) = counters::count(run);
                let outcome = outcome.map_err(|source| LabError::Run {
                    what: what.to_owned(),
                    source: Box::new(source),
                })?;
                (outcome, counts)
            }
        };
        // Ordering: Relaxed; the flag publishes nothing but itself.
        let is_stopped = watch.stop().load(Ordering::Relaxed);
        let outcome = outcome.filter(|_| !is_stopped).ok_or(LabError::Interrupted)?;
        Ok((outcome, counts))
    }
}

/// The numbers of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Committed events per second of wall time.
    pub rate: f64,
    /// Committed by processed events.
    pub efficiency: f64,
    /// Null messages of the conservative engine.
    pub null_messages: u64,
    /// Deadlocks that the conservative engine had to find, because null messages did not prevent
    /// them.
    pub deadlocks: u64,
    /// Committed events by computations of GVT; infinite without any.
    pub events_per_gvt: f64,
    /// Committed events by turns of Time Warp's workers; infinite for other engines.
    pub events_per_turn: f64,
    /// The part of the events that the sender's own worker has handled, of Time Warp.
    pub local_share: Option<f64>,
    /// LPs that went to another worker of Time Warp.
    pub moved_lps: u64,
    /// Segments of memory whose pages were moved to another node.
    pub realigned: u64,
    pub(crate) counts: Counts,
}

impl Sample {
    fn new(outcome: &Outcome, counts: Counts) -> Self {
        let committed = outcome.committed as f64;
        Self {
            rate: outcome.rate,
            efficiency: outcome.efficiency,
            null_messages: outcome.null_messages,
            deadlocks: outcome.deadlocks,
            events_per_gvt: committed / outcome.gvt_rounds as f64,
            events_per_turn: committed / outcome.turns as f64,
            local_share: outcome.local_share,
            moved_lps: outcome.moved_lps,
            realigned: outcome.realigned,
            counts,
        }
    }
}

/// A point of a curve: a run and its samples, one per round.
#[derive(Clone, Debug)]
pub struct Point {
    /// The curve that it belongs to.
    pub curve: String,
    /// Its place on the x axis.
    pub x: f64,
    /// The run.
    pub setup: Setup,
    /// The samples, in the order of the rounds.
    pub samples: Vec<Sample>,
    /// The number of events that each run committed.
    pub committed: u64,
    /// The digest of those events; `None` if the memory was too little for the run.
    pub digest: Option<CommitDigest>,
}

impl Point {
    /// A point that has no samples yet.
    pub fn new(curve: impl Into<String>, x: f64, setup: Setup) -> Self {
        Self { curve: curve.into(), x, setup, samples: Vec::new(), committed: 0, digest: None }
    }

    /// The rates, in committed events per second, in the order of the rounds.
    #[must_use]
    pub fn rates(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.rate).collect()
    }

    /// The median of a number over the samples; NaN without samples.
    pub(crate) fn median(&self, of: impl Fn(&Sample) -> f64) -> f64 {
        median(self.samples.iter().map(of))
    }

    /// The median of a counter per committed event, if the machine offers the counter.
    pub(crate) fn per_event(&self, counter: usize) -> Option<f64> {
        let count = self.median(|sample| sample.counts[counter].map_or(f64::NAN, |n| n as f64));
        Some(count / self.committed as f64).filter(|count| count.is_finite())
    }

    /// Whether more threads were busy than there are cores.
    pub(crate) fn oversubscribed(&self) -> bool {
        self.setup.executor.threads() > warpline_memory::cores()
    }

    /// A name for the progress display and for errors.
    fn name(&self, figure: &str) -> String {
        let workers = self.setup.executor.workers();
        format!("{figure}, {}, {workers} worker(s), at {}", self.curve, self.x)
    }
}

/// The median; NaN without values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    Data::new(values.collect::<Vec<_>>()).median()
}

/// Samples every point once in each of these rounds.
pub(crate) fn sample(
    figure: &str,
    mut points: Vec<Point>,
    rounds: usize,
    settings: &Settings,
    watch: &dyn Watch,
) -> Result<Vec<Point>, LabError> {
    watch.begins(figure, points.len() * rounds);
    for round in 0..rounds {
        for place in 0..points.len() {
            let name = points[place].name(figure);
            watch.samples(&name);
            if round > 0 && points[place].digest.is_none() {
                continue;
            }
            let (outcome, counts) = match points[place].setup.run(&name, settings, watch) {
                // Too little memory for this model: the curve has a gap, which the text explains.
                Err(LabError::Run { source, .. })
                    if matches!(*source, RunError::OutOfBuffers { .. }) =>
                {
                    continue;
                }
                other => other?,
            };
            check(figure, &name, &points[place].setup, outcome.digest, &points)?;
            let point = &mut points[place];
            (point.committed, point.digest) = (outcome.committed, Some(outcome.digest));
            point.samples.push(Sample::new(&outcome, counts));
        }
    }
    Ok(points)
}

/// Compares a digest with that of the first point that ran the same model to the same end (LAB-A).
fn check(
    figure: &str,
    what: &str,
    setup: &Setup,
    digest: CommitDigest,
    points: &[Point],
) -> Result<(), LabError> {
    let same = |point: &&Point| point.setup.model == setup.model && point.setup.end == setup.end;
    let known = points.iter().filter(same).find_map(|point| Some((point, point.digest?)));
    match known {
        Some((other, expected)) if expected != digest => Err(LabError::Differs {
            what: what.to_owned(),
            digest,
            other: other.name(figure),
            expected,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use warpline::{pending::PendingKind, settings::PoolKind};
    use warpline_models::phold::PholdParams;

    use super::*;
    use crate::{Limit, TimeWarp};

    struct Nobody(AtomicBool);

    impl Watch for Nobody {
        fn begins(&self, _: &str, _: usize) {}
        fn samples(&self, _: &str) {}
        fn stop(&self) -> &AtomicBool {
            &self.0
        }
    }

    fn phold() -> Setup {
        Setup {
            model: Workload::Shipped(ModelParams::from(PholdParams {
                payload: 8,
                ..PholdParams::default()
            })),
            end: 3.0,
            executor: Executor::Sequential(PendingKind::default()),
        }
    }

    fn time_warp(limit: Option<Limit>) -> Setup {
        let time_warp = TimeWarp { limit, gvt_interval: 100, ..TimeWarp::new(2, PoolKind::Sender) };
        let executor = Executor::TimeWarp(time_warp);
        Setup { executor, ..phold() }
    }

    fn sampled(points: Vec<Point>, stop: bool) -> Result<Vec<Point>, LabError> {
        sample("test", points, 2, &Settings::default().quick(), &Nobody(stop.into()))
    }

    /// Every point gets a sample per round; too little memory is a gap and not a failure.
    #[test]
    fn points_are_sampled() {
        let points = vec![
            Point::new("sequential", 1.0, phold()),
            Point::new("time warp", 2.0, time_warp(None)),
            Point::new("too little", 2.0, time_warp(Some(Limit::Bytes(1000)))),
        ];
        let points = sampled(points, false).expect("the runs agree");
        assert!(points[0].rates().iter().all(|&rate| rate > 0.0));
        assert_eq!(points.iter().map(|p| p.samples.len()).collect::<Vec<_>>(), [2, 2, 0]);
        assert_eq!(points[0].digest, points[1].digest);
        assert_eq!(points[0].median(|sample| sample.efficiency), 1.0);
        assert!(points[2].digest.is_none() && points[2].per_event(0).is_none());
    }

    /// A run that commits something else is a failure that names both runs (LAB-A).
    #[test]
    fn runs_that_differ_are_a_failure() {
        let mut points = vec![Point::new("right", 1.0, phold()), Point::new("wrong", 2.0, phold())];
        points[0].digest = sampled(vec![Point::new("", 0.0, Setup { end: 2.0, ..phold() })], false)
            .expect("it runs")[0]
            .digest;
        let error = sampled(points, false).expect_err("the digests differ").to_string();
        assert!(error.contains("right") && error.contains("test, "), "{error}");
    }

    #[test]
    fn an_interrupt_ends_it() {
        let outcome =
            sampled(vec![Point::new("stopped", 1.0, Setup { end: 1e9, ..phold() })], true);
        assert!(matches!(outcome, Err(LabError::Interrupted)), "{outcome:?}");
    }

    #[test]
    fn median_of_odd_and_even() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), 2.5);
        assert!(median([].into_iter()).is_nan());
    }
}

//! Samples of runs: a figure makes [`Point`]s that say what to run, and gets them back with their
//! samples.
//!
//! The points are sampled in turn, round after round, so that a change in the speed of the machine
//! hits all of them. Runs of the same model to the same end must commit the same events (LAB-A).

use statrs::statistics::{Data, OrderStatistics};
use warpline::{
    AnyModel, ConfigError, Engine, Only, RunError, Simulation,
    digest::CommitDigest,
    pending::PendingKind,
    settings::{Aggregation, Pool, PoolKind, Synchronization, SynchronizationKind},
};
use warpline_models::catalog::ModelParams;

use crate::{
    Settings, Watch,
    counters::{self, Counts},
    error::LabError,
    hogging::Hogging,
};

/// The engine of a run, with its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Executor {
    /// The sequential engine.
    Sequential(PendingKind),
    /// The conservative engine.
    Conservative(Conservative),
    /// Time Warp.
    TimeWarp(TimeWarp),
}

/// The conservative engine and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conservative {
    /// Ranks, as threads of this process.
    pub ranks: usize,
    /// Threads of each rank, which share its LPs.
    pub workers: usize,
    /// How workers find out which events are safe.
    pub synchronization: SynchronizationKind,
    /// The most events that a link holds before they are handled.
    pub edge_capacity: usize,
    /// When messages to a worker of another rank are sent.
    pub aggregation: Aggregation,
}

impl Conservative {
    fn engine(self) -> Engine {
        let Self { workers, synchronization, edge_capacity, aggregation, .. } = self;
        let synchronization = Synchronization::new(synchronization, edge_capacity);
        let defaults = warpline::Conservative::default();
        warpline::Conservative { workers, synchronization, aggregation, ..defaults }.into()
    }
}

/// Time Warp and its settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeWarp {
    /// Threads, which share the LPs.
    pub workers: usize,
    /// The kind of buffer pool.
    pub pool: PoolKind,
    /// The most bytes of event buffers; `None` is no limit.
    pub memory: Option<u64>,
    /// Events that a worker processes before it requests GVT; `None` is the engine's default.
    pub gvt_interval: Option<usize>,
    /// The part of its buffers that a worker of a partitioned pool keeps for sends to itself;
    /// `None` is an equal part for each receiver.
    pub local_share: Option<f64>,
    /// Whether flow control slows down workers that roll back much or have few free buffers.
    pub flow_control: bool,
}

impl TimeWarp {
    /// Time Warp with the engine's defaults.
    #[must_use]
    pub const fn new(workers: usize, pool: PoolKind) -> Self {
        Self {
            workers,
            pool,
            memory: None,
            gvt_interval: None,
            local_share: None,
            flow_control: true,
        }
    }

    fn engine(self) -> Engine {
        let Self { workers, pool, gvt_interval, local_share, flow_control, .. } = self;
        let defaults = warpline::TimeWarp::default();
        let pool = match pool {
            PoolKind::Partitioned => Pool::Partitioned { local_share },
            other => other.into(),
        };
        let gvt_interval = gvt_interval.unwrap_or(defaults.gvt_interval);
        let engine = warpline::TimeWarp { workers, pool, gvt_interval, ..defaults };
        if flow_control {
            engine.into()
        } else {
            warpline::TimeWarp { throttle: false, free_fractions: [0.0; 2], ..engine }.into()
        }
    }
}

impl Executor {
    /// The number of threads that it keeps busy.
    #[must_use]
    pub const fn workers(self) -> usize {
        match self {
            Self::Sequential(_) => 1,
            Self::Conservative(Conservative { ranks, workers, .. }) => ranks * workers,
            Self::TimeWarp(TimeWarp { workers, .. }) => workers,
        }
    }

    /// The engine with its settings.
    fn engine(self) -> Engine {
        match self {
            Self::Sequential(pending) => warpline::Sequential { pending }.into(),
            Self::Conservative(conservative) => conservative.engine(),
            Self::TimeWarp(time_warp) => time_warp.engine(),
        }
    }

    /// The most bytes of event buffers, if they are limited.
    const fn memory(self) -> Option<u64> {
        match self {
            Self::TimeWarp(TimeWarp { memory, .. }) => memory,
            Self::Sequential(_) | Self::Conservative(_) => None,
        }
    }

    /// The number of ranks.
    const fn ranks(self) -> usize {
        match self {
            Self::Conservative(Conservative { ranks, .. }) => ranks,
            Self::Sequential(_) | Self::TimeWarp(_) => 1,
        }
    }
}

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

/// The numbers of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Committed events per second of wall time.
    pub rate: f64,
    /// Committed by processed events.
    pub efficiency: f64,
    /// Null messages of the conservative engine.
    pub null_messages: u64,
    pub(crate) counts: Counts,
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
        self.setup.executor.workers() > crate::cores()
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

/// Samples every point as often as the settings say.
pub(crate) fn sample(
    figure: &str,
    mut points: Vec<Point>,
    settings: &Settings,
    watch: &dyn Watch,
) -> Result<Vec<Point>, LabError> {
    watch.begins(figure, points.len() * settings.samples);
    for round in 0..settings.samples {
        for place in 0..points.len() {
            let name = points[place].name(figure);
            watch.samples(&name);
            if round > 0 && points[place].digest.is_none() {
                continue;
            }
            let Setup { model, end, executor } = points[place].setup.clone();
            let run = Run { end, executor, settings, watch };
            let model = model.model()?;
            let (outcome, counts) = counters::count(|| run.of(model));
            let outcome = match outcome {
                // Too little memory for this model: the curve has a gap, which the text explains.
                Err(RunError::OutOfBuffers { .. }) => continue,
                other => other.map_err(|source| LabError::Run {
                    what: name.clone(),
                    source: Box::new(source),
                })?,
            };
            let Some(Outcome { committed, digest, rate, efficiency, null_messages }) = outcome
            else {
                return Err(LabError::Interrupted);
            };
            check(figure, &name, &points[place].setup, digest, &points)?;
            let point = &mut points[place];
            (point.committed, point.digest) = (committed, Some(digest));
            point.samples.push(Sample { rate, efficiency, null_messages, counts });
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

/// The results of a run.
struct Outcome {
    committed: u64,
    digest: CommitDigest,
    rate: f64,
    efficiency: f64,
    null_messages: u64,
}

/// A run by an engine.
struct Run<'a> {
    end: f64,
    executor: Executor,
    settings: &'a Settings,
    watch: &'a dyn Watch,
}

impl Run<'_> {
    /// Runs the model; `None` if the run was interrupted.
    fn of(self, model: AnyModel) -> Result<Option<Outcome>, RunError> {
        let mut simulation = Simulation::new(model)
            .engine(self.executor.engine())
            .seed(self.settings.seed)
            .end(self.end)
            .stop_when(self.watch.stop());
        if let Some(bytes) = self.executor.memory() {
            simulation = simulation.memory(bytes);
        }
        let report = match self.executor.ranks() {
            1 => simulation.run()?,
            ranks => simulation.run_on_ranks(ranks)?,
        };
        let nulls = report.details.counters.iter().find(|(name, _)| *name == "null_messages");
        let null_messages = nulls.map_or(0, |&(_, count)| count);
        Ok((!report.interrupted).then(|| Outcome {
            committed: report.committed_events,
            digest: report.digest,
            rate: report.events_per_second(),
            efficiency: report.efficiency(),
            null_messages,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use warpline_models::phold::PholdParams;

    use super::*;

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

    fn time_warp(memory: Option<u64>) -> Setup {
        let time_warp =
            TimeWarp { memory, gvt_interval: Some(100), ..TimeWarp::new(2, PoolKind::Sender) };
        let executor = Executor::TimeWarp(time_warp);
        Setup { executor, ..phold() }
    }

    fn sampled(points: Vec<Point>, stop: bool) -> Result<Vec<Point>, LabError> {
        sample("test", points, &Settings::default().quick(), &Nobody(stop.into()))
    }

    /// Every point gets a sample per round; too little memory is a gap and not a failure.
    #[test]
    fn points_are_sampled() {
        let points = vec![
            Point::new("sequential", 1.0, phold()),
            Point::new("time warp", 2.0, time_warp(None)),
            Point::new("too little", 2.0, time_warp(Some(1000))),
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

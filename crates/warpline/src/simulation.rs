//! A model and how to run it: [`Simulation`], the entry point for users.

use std::{
    fmt,
    ops::{ControlFlow, Range},
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use warpline_core::Model;
use warpline_net::Transport;

use crate::{
    ConfigError, Engine, Monitor, Report, RunError, Session, WorkerLimit,
    any_model::{AnyModel, AnySession, Only, Runnable},
    crowd,
    engines::{Engines, Job, Trial, after_trial},
    run::Ranks,
    session::ranks::{At, Home, Lead, Service},
    settings::Settings,
    thread_ranks,
    timeline::Timeline,
    watch::{Progress, Watch},
};

/// A model and how to run it.
///
/// ```no_run
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::{Simulation, TimeWarp};
///
/// let engine = TimeWarp { workers: 4, ..TimeWarp::default() };
/// let report = Simulation::new(model).seed(7).end(1_000.0).engine(engine).run()?;
/// println!("{} events, digest {}", report.committed_events, report.digest);
/// # Ok(())
/// # }
/// ```
pub struct Simulation<'a, M> {
    pub(crate) model: M,
    pub(crate) settings: Settings,
    /// The ranks of a session, as threads of this program.
    pub(crate) ranks: usize,
    pub(crate) watch: Watch<'a>,
}

impl<'a, M: Runnable> Simulation<'a, M> {
    /// A run of `model` with seed 1 and no end, on the sequential engine; on another one, if that
    /// is the single one that the model is compiled with ([`Only`]).
    pub fn new(model: M) -> Self {
        let settings = Settings { engine: model.engine(), ..Settings::default() };
        Self { model, settings, ranks: 1, watch: Watch::default() }
    }

    /// Chooses the engine, with its settings: [`Auto`](crate::Auto),
    /// [`Sequential`](crate::Sequential), [`Conservative`](crate::Conservative),
    /// [`Speculative`](crate::Speculative), [`TimeWarp`](crate::TimeWarp),
    /// [`ReverseCheck`](crate::ReverseCheck), [`SavingCheck`](crate::SavingCheck),
    /// [`Profile`](crate::Profile) or
    /// [`Intervals`](crate::Intervals).
    #[must_use]
    pub fn engine(mut self, engine: impl Into<Engine>) -> Self {
        self.settings.engine = engine.into();
        self
    }

    /// Seeds the random streams of all LPs.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Ends the run at this virtual time: events due earlier are committed, the others are not.
    ///
    /// Without an end the run goes on until no event is left.
    #[must_use]
    pub fn end(mut self, end: f64) -> Self {
        self.settings.end = end;
        self
    }

    /// Lets the [statistics](crate::statistics) of all LPs begin anew at this virtual time: results
    /// are of what happens from then on. The run commits the same events, and pauses there for as
    /// long as it takes to hand all LPs over.
    ///
    /// For models whose LPs say where their statistics are
    /// ([`LogicalProcess::STATISTICS`](crate::LogicalProcess::STATISTICS)).
    #[must_use]
    pub fn warm_up(mut self, until: f64) -> Self {
        self.settings.warm_up = until;
        self
    }

    /// Limits the bytes that event buffers take. The sequential engine keeps pending events in
    /// them, the conservative one also those that were handled in the current window,
    /// Time Warp also processed ones with their saved states: it fossil-collects, holds workers
    /// back and takes events back (cancelback) before it gives up. A run that needs more ends with
    /// an error. What messages own on the heap counts, if the model says it
    /// ([`message_heap_bytes`](crate::LogicalProcess::message_heap_bytes)); what saved states own,
    /// with Time Warp, too. The structure of the pending set around the events is not counted.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.settings.memory = Some(bytes);
        self
    }

    /// Time Warp and the conservative engine: how many bytes of [`memory`](Self::memory) one event
    /// takes.
    #[must_use]
    pub fn event_bytes(&self) -> u64 {
        self.model.event_bytes(&self.settings.engine)
    }

    /// Time Warp: the bytes of the buffer that one message lies in, with what the engine writes
    /// before it.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.model.buffer_bytes(self.settings.engine.workers())
    }

    /// Lets [`run`](Self::run) and the steps of a [session](crate::Session) run on so many ranks,
    /// which are threads of this program, as [`run_on_ranks`](Self::run_on_ranks) does.
    #[must_use]
    pub fn ranks(mut self, ranks: usize) -> Self {
        self.ranks = ranks;
        self
    }

    /// Shows the progress to `observer` about twenty times a second, and once at the end.
    ///
    /// When it breaks, the run ends there, with a report marked as interrupted.
    #[must_use]
    pub fn observe(
        mut self,
        observer: impl FnMut(&Progress) -> ControlFlow<()> + Send + 'a,
    ) -> Self {
        self.watch.observer = Some(Box::new(observer));
        self
    }

    /// Ends the run, marked as interrupted, soon after `stop` becomes true.
    #[must_use]
    pub fn stop_when(mut self, stop: &'a AtomicBool) -> Self {
        self.watch.stop = Some(stop);
        self
    }

    /// Lets `limit` change the number of workers while a run goes on, from any thread.
    #[must_use]
    pub fn worker_limit(mut self, limit: &WorkerLimit) -> Self {
        self.watch.limit = Some(limit.clone());
        self
    }

    /// Lets `monitor` tell what the workers are doing, from any thread.
    #[must_use]
    pub fn monitor(mut self, monitor: &Monitor) -> Self {
        self.watch.monitor = Some(monitor.clone());
        self
    }

    /// Lets `timeline` record what the workers do, for one run. Replications leave it alone.
    #[must_use]
    pub fn timeline(mut self, timeline: &Timeline) -> Self {
        self.watch.timeline = Some(timeline.clone());
        self
    }

    /// Makes room for what the workers of these ranks do.
    fn prepare_timeline(&self, ranks: Range<usize>) {
        if let Some(timeline) = &self.watch.timeline {
            timeline.prepare(ranks, self.settings.engine.workers());
        }
    }

    /// Runs the model.
    ///
    /// # Errors
    ///
    /// - [`RunError::Config`] when a setting is not allowed; nothing has run then.
    /// - [`RunError::Model`] when the model makes a mistake or panics.
    /// - [`RunError::OutOfBuffers`] when the pending events outgrow [`memory`](Self::memory).
    pub fn run(&mut self) -> Result<Report<M::Output>, RunError> {
        if self.ranks != 1 {
            return self.run_on_ranks(self.ranks);
        }
        self.prepare_timeline(0..1);
        let Self { model, settings, watch, .. } = self;
        run(model, settings, watch)
    }

    /// Counts the events of each LP in the second half of the first `events` of a run, on the
    /// sequential engine: the [weights](crate::settings::Weights) of a trial. If the run is over
    /// before that half, all count. Nothing is written, and the trial ends before the first
    /// blocking I/O event.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run) on the sequential engine.
    pub fn events_by_lp(&self, events: u64) -> Result<Vec<u64>, RunError> {
        self.model.count(Trial { settings: &self.settings, events: Some(events) })
    }

    /// Runs the model together with the other ranks of a network: every rank calls this, with the
    /// same model and the same settings. Each makes the LPs that are placed on its own workers,
    /// and only those; rank 0 gets the report of the whole run, the others get `None`.
    ///
    /// The network needs one port more than a rank has workers. The LPs are placed on all
    /// workers of all ranks as the engine's placement says, rank after rank.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and on every rank if it fails on any of them:
    ///
    /// - [`RunError::Rank`] when another rank failed.
    /// - [`RunError::Net`] when ranks cannot talk any more. Other ranks may not know of it yet:
    ///   print what happened, and then call [`Transport::abandon`].
    pub fn run_across(
        &mut self,
        transport: &dyn Transport,
    ) -> Result<Option<Report<M::Output>>, RunError> {
        self.prepare_timeline(transport.rank()..transport.rank() + 1);
        let Self { model, settings, watch, .. } = self;
        // Other ranks may be on this machine, and this program does not know on which cores.
        let settings = &settings.with(settings.engine.clone().unpinned());
        let settings = &after_trial(|trial| model.count(trial), settings)?;
        let ranks = &Ranks::of(transport).recorded(watch.timeline.as_ref());
        let report = model.execute(Job { settings, watch, ranks })?;
        debug_assert_eq!(report.is_some(), transport.rank() == 0, "RANK-B: rank 0 gets the report");
        Ok(report)
    }
}

impl<M: Runnable> Simulation<'_, M> {
    /// Runs the model on ranks that are threads of this program, as
    /// [`run_across`](Self::run_across) does on ranks that are programs of their own. It shows
    /// whether a model can run on several ranks, and what that costs. With more than four ranks
    /// for each core, neighbors are one rank, and the report says so.
    ///
    /// # Errors
    ///
    /// Those of [`run_across`](Self::run_across), as rank 0 sees them.
    pub fn run_on_ranks(&mut self, ranks: usize) -> Result<Report<M::Output>, RunError> {
        ConfigError::check(ranks > 0, "ranks", ranks, "1 or more")?;
        let Self { model, settings, watch, .. } = self;
        let settings = after_trial(|trial| model.count(trial), settings)?;
        let (few, settings) = thread_ranks::uncrowded(ranks, &settings);
        let ends = thread_ranks::ends(few, settings.engine.workers());
        let mut report = on_ends(model, &settings, watch, ends)?;
        report.details.remarks.extend(crowd::remark("rank", ranks, few));
        Ok(report)
    }

    /// Does so on the ends of any network, one for each rank, with a port more than a rank has
    /// workers: one that is slow, loses its ranks, or counts what they say.
    ///
    /// # Errors
    ///
    /// Those of [`run_across`](Self::run_across), as rank 0 sees them.
    pub fn run_on_ends(
        &mut self,
        ends: Vec<impl Transport>,
    ) -> Result<Report<M::Output>, RunError> {
        ConfigError::check(!ends.is_empty(), "ranks", ends.len(), "1 or more")?;
        let Self { model, settings, watch, .. } = self;
        let settings = after_trial(|trial| model.count(trial), settings)?;
        on_ends(model, &settings, watch, ends)
    }
}

/// Runs a model on ranks that are threads, each with an end of the same network.
fn on_ends<M: Runnable>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
    ends: Vec<impl Transport>,
) -> Result<Report<M::Output>, RunError> {
    let ranks = ends.len();
    if let Some(timeline) = &watch.timeline {
        timeline.prepare(0..ranks, settings.engine.workers());
    }
    let (stop, timeline) = (watch.stop, watch.timeline.clone());
    let run = |end: &dyn Transport, watch: &mut Watch<'_>| {
        let ranks = &Ranks::of(end).sharing_cores(ranks);
        model.execute(Job { settings, watch, ranks })
    };
    let other = |end: &dyn Transport| {
        let mut watch = Watch { stop, timeline: timeline.clone(), ..Watch::default() };
        run(end, &mut watch).map(drop)
    };
    let report = thread_ranks::on_threads(ends, |end| run(end, watch), other)?;
    let report = report.unwrap_or_else(|| unreachable!("rank 0 gets the report"));
    debug_assert_eq!(report.ranks, ranks, "RANK-A: a rank is not in the report");
    Ok(report)
}

impl<'a, M: Model> Simulation<'a, M> {
    /// Begins a run in steps: makes the LPs, and lets each send its first events.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn session(self) -> Result<Session<'a, M>, RunError> {
        let (at, Self { model, settings, .. }) = self.alone();
        Session::begin(Arc::new(model), settings, at)
    }

    /// Goes on with a [checkpoint](Session::save) of this model, with these parameters and this
    /// seed; the engine may be another one.
    ///
    /// # Errors
    ///
    /// [`RunError::Checkpoint`] if the file cannot be read, is damaged, or is of another run.
    pub fn resume(self, checkpoint: &Path) -> Result<Session<'a, M>, RunError> {
        let (at, Self { model, settings, .. }) = self.alone();
        Session::resume(Arc::new(model), settings, at, checkpoint)
    }

    /// Begins a run in steps together with the other ranks of a network, or goes on with a
    /// checkpoint: every rank calls this, with the same model and the same settings. Rank 0 gets
    /// the session. The others take part in its steps, until it and its branches are dropped, and
    /// get `None` then. Only rank 0 reads the checkpoint, which may be of a run on another number
    /// of ranks.
    ///
    /// # Errors
    ///
    /// Those of [`run_across`](Self::run_across), and of [`resume`](Self::resume). A rank that
    /// served fails if the last step did.
    pub fn session_across(
        self,
        network: &'a dyn Transport,
        checkpoint: Option<&Path>,
    ) -> Result<Option<Session<'a, M>>, RunError> {
        let Some((at, Self { model, settings, .. })) = self.across(network)? else {
            return Ok(None);
        };
        Session::open(Arc::new(model), settings, at, checkpoint).map(Some)
    }
}

impl<'a, E: Engines, M: Model> Simulation<'a, Only<E, M>> {
    /// Begins a run in steps, each on one of these engines.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn session(self) -> Result<Session<'a, M, E>, RunError> {
        let (at, Self { model, settings, .. }) = self.alone();
        Session::begin(model.shared(), settings, at)
    }

    /// Goes on with a [checkpoint](Session::save).
    ///
    /// # Errors
    ///
    /// [`RunError::Checkpoint`] if the file cannot be read, is damaged, or is of another run.
    pub fn resume(self, checkpoint: &Path) -> Result<Session<'a, M, E>, RunError> {
        let (at, Self { model, settings, .. }) = self.alone();
        Session::resume(model.shared(), settings, at, checkpoint)
    }

    /// Begins a run in steps together with the other ranks of a network, or goes on with a
    /// checkpoint: rank 0 gets the session, and the others serve it.
    ///
    /// # Errors
    ///
    /// Those of [`run_across`](Self::run_across), and of [`resume`](Self::resume).
    pub fn session_across(
        self,
        network: &'a dyn Transport,
        checkpoint: Option<&Path>,
    ) -> Result<Option<Session<'a, M, E>>, RunError> {
        let Some((at, Self { model, settings, .. })) = self.across(network)? else {
            return Ok(None);
        };
        Session::open(model.shared(), settings, at, checkpoint).map(Some)
    }
}

impl<'a> Simulation<'a, AnyModel> {
    /// Begins a run in steps.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn session(self) -> Result<Box<dyn AnySession<'a> + 'a>, RunError> {
        let (at, Self { model, settings, .. }) = self.alone();
        model.begin(settings, at, None)
    }

    /// Goes on with a [checkpoint](Session::save).
    ///
    /// # Errors
    ///
    /// [`RunError::Checkpoint`] if the file cannot be read, is damaged, or is of another run.
    pub fn resume(self, checkpoint: &Path) -> Result<Box<dyn AnySession<'a> + 'a>, RunError> {
        let (at, Self { model, settings, .. }) = self.alone();
        model.begin(settings, at, Some(checkpoint))
    }

    /// Begins a run in steps together with the other ranks of a network, or goes on with a
    /// checkpoint: rank 0 gets the session, and the others serve it.
    ///
    /// # Errors
    ///
    /// Those of [`run_across`](Self::run_across), and of [`resume`](Self::resume).
    pub fn session_across(
        self,
        network: &'a dyn Transport,
        checkpoint: Option<&Path>,
    ) -> Result<Option<Box<dyn AnySession<'a> + 'a>>, RunError> {
        let Some((at, Self { model, settings, .. })) = self.across(network)? else {
            return Ok(None);
        };
        model.begin(settings, at, checkpoint).map(Some)
    }
}

impl<'a, M: Runnable> Simulation<'a, M> {
    /// Where a session is whose ranks are here.
    fn alone(mut self) -> (At<'a>, Self) {
        let home = Home::Here(self.ranks);
        ((home, std::mem::take(&mut self.watch)), self)
    }

    /// Where the session of rank 0 is. The others serve it.
    fn across(mut self, network: &'a dyn Transport) -> Result<Option<(At<'a>, Self)>, RunError> {
        debug_assert!(network.rank() < network.ranks(), "RANK-A: there is no such rank");
        // Other ranks may be on this machine, and this program does not know on which cores.
        self.settings = self.settings.with(self.settings.engine.clone().unpinned());
        if network.ranks() == 1 {
            self.ranks = 1;
            return Ok(Some(self.alone()));
        }
        if network.rank() > 0 {
            let settings = after_trial(|trial| self.model.count(trial), &self.settings);
            let settings = match settings {
                Ok(settings) => settings,
                Err(error) => {
                    // Rank 0 fails alike, and says that it is over (RANK-C).
                    Ranks::of(network).next_order()?;
                    return Err(error);
                }
            };
            let service = Service { settings: &settings, network };
            return self.model.serve(service).map(|()| None);
        }
        let home = Home::Across(Arc::new(Lead::of(network)));
        Ok(Some(((home, std::mem::take(&mut self.watch)), self)))
    }
}

impl<M: fmt::Debug> fmt::Debug for Simulation<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("model", &self.model)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Runs a borrowed model: replications share one.
pub(crate) fn run<M: Runnable>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Report<M::Output>, RunError> {
    let settings = &after_trial(|trial| model.count(trial), settings)?;
    let report = model.execute(Job { settings, watch, ranks: &Ranks::alone() })?;
    let report =
        report.unwrap_or_else(|| unreachable!("a single rank is rank 0, which gets the report"));
    debug_assert_eq!(report.engine, settings.engine.kind(), "A16: another engine has run");
    Ok(report)
}

//! How a run is set up: [`Simulation`], the entry point for users.

use std::{fmt, ops::ControlFlow, sync::atomic::AtomicBool, thread};

use warpline_core::VirtualTime;
use warpline_memory::BufferTrace;
use warpline_net::{Aggregation, ThreadTransport, Transport, network};

use crate::{
    Cancellation, CheckpointInterval, ConfigError, Engine, FossilCollection, Monitor, PendingKind,
    Placement, PoolKind, Report, RunError, StateSaving, Synchronization,
    any_model::Runnable,
    engines::Job,
    run::Ranks,
    settings::{Settings, TimeWarp},
    watch::{Progress, Watch},
};

/// A model and how to run it.
///
/// ```no_run
/// # fn example<M: warpline::Model>(model: M) -> Result<(), warpline::RunError> {
/// use warpline::Simulation;
///
/// let report = Simulation::new(model).seed(7).end(1_000.0).run()?;
/// println!("{} events, digest {}", report.committed_events, report.digest);
/// # Ok(())
/// # }
/// ```
pub struct Simulation<'a, M> {
    pub(crate) model: M,
    pub(crate) engine: Engine,
    pub(crate) settings: Settings,
    pub(crate) watch: Watch<'a>,
}

impl<'a, M: Runnable> Simulation<'a, M> {
    /// A run of `model` on the sequential engine with seed 1 and no end.
    pub fn new(model: M) -> Self {
        let settings = Settings::default();
        Self { model, engine: Engine::default(), settings, watch: Watch::default() }
    }

    /// Chooses the engine.
    #[must_use]
    pub fn engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Seeds the random streams of all processes.
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

    /// Chooses the pending event set.
    #[must_use]
    pub fn pending(mut self, pending: PendingKind) -> Self {
        self.settings.pending = pending;
        self
    }

    /// Limits the bytes that event buffers take. The sequential engine keeps pending events in
    /// them, the conservative one also those that were handled in the current window,
    /// Time Warp also processed ones with their saved states: it fossil-collects, holds workers
    /// back and takes events back (cancelback) before it gives up. A run that needs more ends with
    /// an error. The structure of the pending set around the events is not counted.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.settings.memory = Some(bytes);
        self
    }

    /// Time Warp and the conservative engine: how many workers (threads) share the processes, of
    /// each rank if there are several.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.settings.timewarp.workers = workers;
        self
    }

    /// Time Warp and the conservative engine: which worker has which processes.
    #[must_use]
    pub fn placement(mut self, placement: Placement) -> Self {
        self.settings.placement = placement;
        self
    }

    /// Several ranks: how many bytes of messages to one worker are sent together.
    #[must_use]
    pub fn aggregation(mut self, aggregation: Aggregation) -> Self {
        self.settings.aggregation = aggregation;
        self
    }

    /// The conservative engine: how its workers know what they may handle.
    #[must_use]
    pub fn synchronization(mut self, synchronization: Synchronization) -> Self {
        self.settings.synchronization = synchronization;
        self
    }

    /// The conservative engine without windows: how many events a link holds that are not handled
    /// yet.
    #[must_use]
    pub fn edge_capacity(mut self, events: usize) -> Self {
        self.settings.edge_capacity = events;
        self
    }

    /// Time Warp: how many events a worker handles between two looks at its inbox (GTW, 3.6.3).
    #[must_use]
    pub fn batch(mut self, events: usize) -> Self {
        self.settings.timewarp.batch = events;
        self
    }

    /// Time Warp: no event further than this ahead of global virtual time is handled.
    #[must_use]
    pub fn window(mut self, window: f64) -> Self {
        self.settings.timewarp.window = window;
        self
    }

    /// Time Warp: whether workers that roll back much are held back by themselves.
    #[must_use]
    pub fn throttle(mut self, on: bool) -> Self {
        self.settings.timewarp.throttle = on;
        self
    }

    /// Time Warp: the simulated time barrier at the start (GTW, 2.3); a model moves it by
    /// [`IoContext::set_time_barrier`](crate::IoContext::set_time_barrier).
    #[must_use]
    pub fn time_barrier(mut self, barrier: VirtualTime) -> Self {
        self.settings.timewarp.barrier = Some(barrier);
        self
    }

    /// Time Warp: how the states of processes are saved.
    #[must_use]
    pub fn saving(mut self, saving: StateSaving) -> Self {
        self.settings.timewarp.saving = saving;
        self
    }

    /// Time Warp: how many events of a process lie between two copies of its state.
    #[must_use]
    pub fn checkpoint_interval(mut self, interval: CheckpointInterval) -> Self {
        self.settings.timewarp.checkpoint_interval = interval;
        self
    }

    /// Time Warp: when the events that an undone event sent are cancelled.
    #[must_use]
    pub fn cancellation(mut self, cancellation: Cancellation) -> Self {
        self.settings.timewarp.cancellation = cancellation;
        self
    }

    /// Time Warp: when the buffers of committed events are reclaimed.
    #[must_use]
    pub fn fossil_collection(mut self, fossil_collection: FossilCollection) -> Self {
        self.settings.timewarp.fossil_collection = fossil_collection;
        self
    }

    /// Time Warp: how many events a worker processes before it asks for global virtual time.
    #[must_use]
    pub fn gvt_interval(mut self, events: usize) -> Self {
        self.settings.timewarp.gvt_interval = events;
        self
    }

    /// Time Warp: after fossil collection a worker waits while it has less than the first fraction
    /// of its buffers free, and until it expects to reclaim the second (F_free1 and F_free2 of GTW,
    /// 3.4). Only where memory is limited.
    #[must_use]
    pub fn free_fractions(mut self, blocks_below: f64, resumes_above: f64) -> Self {
        self.settings.timewarp.free_fractions = [blocks_below, resumes_above];
        self
    }

    /// Time Warp: where free buffers are kept.
    #[must_use]
    pub fn pool(mut self, pool: PoolKind) -> Self {
        self.settings.timewarp.pool = pool;
        self
    }

    /// Time Warp: the part of all buffers that a sender pool leaves in the global pool at the
    /// start, where memory is limited.
    #[must_use]
    pub fn global_share(mut self, fraction: f64) -> Self {
        self.settings.timewarp.global_share = fraction;
        self
    }

    /// Time Warp: the part of its buffers that a worker of a partitioned pool keeps for sends to
    /// itself, where memory is limited; an equal part for each receiver if none is given.
    #[must_use]
    pub fn local_share(mut self, fraction: Option<f64>) -> Self {
        self.settings.timewarp.local_share = fraction;
        self
    }

    /// Time Warp: whether a worker of a receiver pool has another one, without a lock, for sends to
    /// itself.
    #[must_use]
    pub fn local_pool(mut self, on: bool) -> Self {
        self.settings.timewarp.local_pool = on;
        self
    }

    /// Time Warp and the conservative engine: how many bytes of [`memory`](Self::memory) one event
    /// takes.
    #[must_use]
    pub fn event_bytes(&self) -> u64 {
        self.model.event_bytes(self.engine, self.settings.timewarp.workers)
    }

    /// Time Warp: the bytes of the buffer that one message lies in, with what the engine writes before it.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.model.buffer_bytes(self.settings.timewarp.workers)
    }

    /// Time Warp: whether all workers take turns on the calling thread. That is slow, but such a
    /// run repeats itself exactly, rollbacks and all: for the search for bugs, and for traces.
    #[must_use]
    pub fn in_turn(mut self, on: bool) -> Self {
        self.settings.timewarp.in_turn = on;
        self
    }

    /// Time Warp: tells `trace` every access to an event buffer.
    #[must_use]
    pub fn trace_buffers(mut self, trace: BufferTrace) -> Self {
        self.settings.timewarp.trace = Some(trace);
        self
    }

    /// Time Warp and the conservative engine: whether workers are bound to cores, where there are
    /// enough of them. Time Warp's let go of a core that another program wants, too.
    #[must_use]
    pub fn pin(mut self, on: bool) -> Self {
        self.settings.timewarp.pin = on;
        self
    }

    /// Time Warp: whether the time that each part of the engine takes is measured, which slows the
    /// run down a little.
    #[must_use]
    pub fn measure_costs(mut self, on: bool) -> Self {
        self.settings.timewarp.costs = on;
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

    /// Time Warp: lets `monitor` tell what the workers are doing, from any thread.
    #[must_use]
    pub fn monitor(mut self, monitor: &Monitor) -> Self {
        self.watch.monitor = Some(monitor.clone());
        self
    }

    /// Runs the model.
    ///
    /// # Errors
    ///
    /// - [`RunError::Config`] when a setting is not allowed; nothing has run then.
    /// - [`RunError::Model`] when the model makes a mistake or panics.
    /// - [`RunError::OutOfBuffers`] when the pending events outgrow [`memory`](Self::memory).
    pub fn run(&mut self) -> Result<Report<M::Output>, RunError> {
        let Self { model, engine, settings, watch } = self;
        run(*engine, model, settings, watch)
    }

    /// Runs the model together with the other ranks of a network: every rank calls this, with the
    /// same model and the same settings. Each makes the processes that are placed on its own
    /// workers, and only those; rank 0 gets the report of the whole run, the others get `None`.
    ///
    /// The network needs one port more than a rank has workers. The processes are placed on all
    /// workers of all ranks as [`placement`](Self::placement) says, rank after rank.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and on every rank if it fails on any of them:
    ///
    /// - [`RunError::Rank`] when another rank failed.
    /// - [`RunError::Net`] when ranks cannot talk any more. Others may not know of it yet: say what
    ///   happened, and then call [`Transport::abandon`].
    pub fn run_across(
        &mut self,
        transport: &dyn Transport,
    ) -> Result<Option<Report<M::Output>>, RunError> {
        let Self { model, engine, settings, watch } = self;
        // Other ranks may be on this machine, and nobody here knows on which cores: who starts them
        // does.
        let timewarp = TimeWarp { pin: false, ..settings.timewarp.clone() };
        let settings = Settings { timewarp, ..settings.clone() };
        let ranks = &Ranks::of(transport);
        model.execute(Job { engine: *engine, settings: &settings, watch, ranks })
    }
}

impl<M: Runnable> Simulation<'_, M> {
    /// Runs the model on so many ranks that are threads of this process, as
    /// [`run_across`](Self::run_across) does on ranks that are processes: to see whether a
    /// model is fit for that, and what it costs.
    ///
    /// # Errors
    ///
    /// Those of [`run_across`](Self::run_across), as rank 0 sees them.
    pub fn run_on_ranks(&mut self, ranks: usize) -> Result<Report<M::Output>, RunError> {
        ConfigError::check(ranks > 0, "ranks", ranks, "1 or more")?;
        let Self { model, engine, settings, watch } = self;
        let (engine, stop) = (*engine, watch.stop);
        // One port of each rank is for the ranks themselves.
        let mut ends = network(ranks, settings.timewarp.workers.saturating_add(1)).into_iter();
        let (model, settings) = (&*model, &*settings);
        let run = |end: ThreadTransport, watch: &mut Watch<'_>| {
            let ranks = &Ranks::of(&end);
            let report = model.execute(Job { engine, settings, watch, ranks });
            if matches!(report, Err(RunError::Net(_))) {
                // Others may wait for this rank.
                end.abandon();
            }
            report
        };
        let first = ends.next();
        let report = thread::scope(|scope| {
            let others: Vec<_> = ends
                .map(|end| {
                    let run = || run(end, &mut Watch { stop, ..Watch::default() });
                    thread::Builder::new().spawn_scoped(scope, run)
                })
                .collect();
            let report = match others.iter().find_map(|other| other.as_ref().err()) {
                None => first.map(|end| run(end, watch)),
                // Without this rank the others end, too.
                Some(error) => {
                    drop(first);
                    let allowed = format!("fewer: a thread could not be started ({error})");
                    Some(Err(ConfigError::new("ranks", ranks, allowed).into()))
                }
            };
            for other in others.into_iter().flatten() {
                if let Err(panic) = other.join() {
                    std::panic::resume_unwind(panic);
                }
            }
            report
        });
        Ok(report.transpose()?.flatten().unwrap_or_else(|| unreachable!("rank 0 gets the report")))
    }
}

impl<M: fmt::Debug> fmt::Debug for Simulation<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation")
            .field("model", &self.model)
            .field("engine", &self.engine)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Runs a borrowed model: replications share one.
pub(crate) fn run<M: Runnable>(
    engine: Engine,
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Report<M::Output>, RunError> {
    let report = model.execute(Job { engine, settings, watch, ranks: &Ranks::alone() })?;
    Ok(report.unwrap_or_else(|| unreachable!("a single rank is rank 0, which gets the report")))
}

//! The workers of a rank, from their start to the report, and what they share whatever way they
//! agree in.
//!
//! Called by [`run`](super::run) for the two ways: `windows` and `null_messages`.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Instant,
};

use warpline_core::{
    CommitDigest, EventKey, LogicalProcess, LpId, Model, ModelError, Place, VirtualTime, Wires,
};

use super::{lookout::Lookout, memory::MemoryBudget};
use crate::{
    Details, Engine, Report, RunError, Synchronization, Totals,
    event::{Buffer, Event, Message},
    handling::{Admission, CutOff, Halt, Lp},
    panics,
    placement::LpDirectory,
    run::{Alarm, Conclusion, FailureOrder, FirstFailure, Outcome, Ranks, Run, threads},
    settings::Settings,
    watch::Watch,
};

/// A worker that waits for the others lets other threads have the core after so many looks, or
/// after few where there are more workers than cores.
const SPINS: u32 = 2_000;
const SPINS_FEW: u32 = 16;
/// After so many, it sleeps.
pub(super) const YIELDS: u32 = 4_000;

/// How workers know what they may handle.
pub(super) trait Algorithm<'m, M: Model, B>: Sized + Sync {
    /// What a worker counts besides.
    type Counters: Send;
    /// The bytes that the buffer of one event takes.
    const EVENT_BYTES: u64;

    /// Makes what the workers share. Events travel between ranks by `wires`, if there are several.
    fn make(common: Common<'m, M, B>, wires: Option<Wires<M>>) -> Result<Self, RunError>;
    /// What the workers share whatever way they go.
    fn common(&self) -> &Common<'m, M, B>;
    /// One worker, from its first event to its last.
    fn work(&self, me: usize, lookout: &mut Lookout<'_, '_>)
    -> WorkerResult<M::Lp, Self::Counters>;
    /// Lets nobody wait any more: a worker will not come.
    fn abort(&self);
    /// The counters of the report and the remarks on it. Checks that no events were lost.
    fn details(&self, results: &[WorkerResult<M::Lp, Self::Counters>]) -> Details;
}

/// One for all workers of a rank.
pub(super) struct Common<'m, M: Model, B> {
    pub(super) model: &'m M,
    pub(super) settings: &'m Settings,
    pub(super) ranks: &'m Ranks<'m>,
    pub(super) mode: Synchronization,
    /// How often a worker that waits looks before it lets other threads have the core.
    pub(super) spins: u32,
    pub(super) end: f64,
    pub(super) admission: Admission,
    pub(super) directory: LpDirectory,
    /// Non-blocking I/O events that are to be written, in the order of their keys.
    pub(super) outputs: Mutex<Vec<Event<B>>>,
    pub(super) failure: FirstFailure,
    pub(super) stop: Stop,
    /// Events committed so far, for people.
    pub(super) committed: AtomicU64,
    pub(super) memory: MemoryBudget,
}

/// Whether the run is to end early.
#[derive(Debug, Default)]
pub(super) struct Stop {
    /// After the window.
    pub(super) soon: AtomicBool,
    /// Within it.
    pub(super) at_once: AtomicBool,
}

/// Where a worker is in the model's code: what an error says.
#[derive(Default)]
pub(super) struct ErrorContext {
    /// The process whose code runs, and the event that it handles.
    pub(super) lp: Option<LpId>,
    pub(super) event: Option<EventKey>,
    /// Why the engine has cut it off.
    pub(super) cut_off: CutOff,
}

/// How a worker came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    AtEnd,
    Interrupted,
    Failed,
}

/// What a worker leaves.
pub(super) struct WorkerResult<L, C> {
    pub(super) lps: Vec<Lp<L>>,
    pub(super) ended: Ended,
    pub(super) committed: u64,
    pub(super) last_time: VirtualTime,
    /// The most events that were pending.
    pub(super) peak: u64,
    /// How often all workers agreed.
    pub(super) rounds: u64,
    pub(super) count: C,
}

impl ErrorContext {
    /// Cuts the code off that runs. The first reason counts.
    #[cold]
    pub(super) fn halt(&mut self, halt: Halt) -> ! {
        self.cut_off.halt(halt)
    }
}

impl<'m, M: Model, B> Common<'m, M, B> {
    fn new(
        model: &'m M,
        settings: &'m Settings,
        ranks: &'m Ranks<'m>,
        mode: Synchronization,
        event_bytes: u64,
    ) -> Result<Self, RunError> {
        settings.timewarp.validate()?;
        let admission = Admission::new(model)?;
        let (all, here) = (ranks.workers(settings), ranks.here(settings));
        let lps = admission.lp_count();
        Ok(Self {
            model,
            settings,
            ranks,
            mode,
            spins: if all > threads::cores() { SPINS_FEW } else { SPINS },
            end: settings.checked_end()?,
            directory: LpDirectory::new(model, lps, &settings.placement, all, here)?,
            admission,
            outputs: Mutex::default(),
            failure: FirstFailure::default(),
            stop: Stop::default(),
            committed: AtomicU64::new(0),
            memory: MemoryBudget::new(settings.memory, event_bytes),
        })
    }

    /// The workers of this rank.
    pub(super) const fn workers(&self) -> usize {
        self.settings.timewarp.workers
    }

    /// Where the run ends; the last time of all if that is never.
    pub(super) fn end_time(&self) -> VirtualTime {
        VirtualTime::new(self.end).unwrap_or(VirtualTime::MAX)
    }

    /// Runs code of the model's at worker `me` of this rank: if it makes a mistake or panics, that
    /// is noted as the run's failure, and its place is given back. `error_context` finds the worker's
    /// error_context in what the code changes.
    pub(super) fn guard<T>(
        &self,
        me: usize,
        worker: &mut T,
        error_context: impl Fn(&mut T) -> &mut ErrorContext,
        code: impl FnOnce(&mut T),
    ) -> Option<FailureOrder> {
        let outcome = panics::catch(|| code(worker));
        let error_context = error_context(worker);
        let halt = error_context.cut_off.settle(outcome).err()?;
        Some(self.fail(me, error_context, halt))
    }

    /// Notes why code of the model could not go on.
    #[cold]
    fn fail(&self, me: usize, error_context: &ErrorContext, halt: Halt) -> FailureOrder {
        let (engine, seed) = (Engine::Conservative.name(), self.settings.seed);
        let place =
            Place { lp: error_context.lp, event: error_context.event, engine, worker: me, seed };
        let error = match halt {
            Halt::Fault(fault) => ModelError { fault, place }.into(),
            Halt::OutOfBuffers => self.memory.out_of_buffers(place),
        };
        let start = FailureOrder::Start(error_context.lp.unwrap_or_default());
        let order = error_context.event.map_or(start, FailureOrder::Event);
        self.failure.note(order, error);
        order
    }

    /// Writes non-blocking I/O events in the order of their keys, as far as they come before a
    /// failure at `limit`.
    pub(super) fn write_outputs<T>(
        &self,
        me: usize,
        worker: &mut T,
        error_context: impl Fn(&mut T) -> &mut ErrorContext,
        mut outputs: Vec<Event<B>>,
        limit: FailureOrder,
    ) -> Option<FailureOrder>
    where
        B: Buffer<Message<M>>,
    {
        outputs.sort_unstable_by_key(|event| event.key);
        // The closure has them, so that they are dropped where a panic is caught.
        self.guard(me, worker, &error_context, |worker| {
            let outputs = outputs;
            for event in outputs.iter().filter(|event| FailureOrder::Event(event.key) < limit) {
                let error_context = error_context(worker);
                (error_context.lp, error_context.event) = (Some(event.to), Some(event.key));
                M::Lp::output(self.model, event.to, &event.key, event.message.get());
            }
        })
    }

    /// Drops what a worker has left of the model's, whose code may panic.
    pub(super) fn drop_guarded(&self, code: impl FnOnce()) {
        if let Err(fault) = panics::catch(code) {
            self.failure.note(FailureOrder::End, super::model_error(fault, self.settings));
        }
    }
}

/// Runs a model in one of the ways, from its start to its end.
pub(super) fn execute<'m, M: Model + 'm, B: 'm, W: Algorithm<'m, M, B>>(
    model: &'m M,
    settings: &'m Settings,
    watch: &mut Watch<'_>,
    ranks: &'m Ranks<'m>,
    mode: Synchronization,
) -> Result<Option<Report<M::Output>>, RunError> {
    let started = Instant::now();
    let run = Run { model, engine: Engine::Conservative, settings, ranks, started };
    let make = |wires| W::make(Common::new(model, settings, ranks, mode, W::EVENT_BYTES)?, wires);
    run.carry_out(make, |algorithm: &W| {
        let work = |me, watch: &mut Watch<'_>| work(algorithm, me, watch, started);
        let common = algorithm.common();
        let refused = || algorithm.abort();
        let results = threads::at_once(common.workers(), watch, &common.failure, refused, work);
        conclude(algorithm, results, watch, started)
    })
}

/// One worker, from its start to its end.
fn work<'m, M: Model + 'm, B: 'm, W: Algorithm<'m, M, B>>(
    algorithm: &W,
    me: usize,
    watch: &mut Watch<'_>,
    started: Instant,
) -> WorkerResult<M::Lp, W::Counters> {
    let common = algorithm.common();
    let binding = threads::bind(&common.directory, me, common.settings);
    // A bug of the engine's must not leave the others waiting for this worker.
    let alarm = Alarm::new(|| algorithm.abort());
    let mut lookout = Lookout::new(watch, common, started);
    let results = algorithm.work(me, &mut lookout);
    alarm.disarm();
    drop(binding);
    lookout.resume_panic();
    results
}

fn conclude<'m, M: Model + 'm, B: 'm, W: Algorithm<'m, M, B>>(
    algorithm: &W,
    mut results: Vec<WorkerResult<M::Lp, W::Counters>>,
    watch: &mut Watch<'_>,
    started: Instant,
) -> Outcome<M> {
    let common = algorithm.common();
    let has_ended = |ended| results.iter().any(|worker| worker.ended == ended);
    let (interrupted, has_failed) = (has_ended(Ended::Interrupted), has_ended(Ended::Failed));
    if has_failed || common.failure.is_known() {
        common.drop_guarded(move || drop(results));
        let failure = common.failure.take();
        if failure.is_some() {
            common.ranks.alert();
        }
        return Outcome::failed(failure);
    }
    let details = algorithm.details(&results);
    let sum = |count: fn(&WorkerResult<M::Lp, W::Counters>) -> u64| {
        results.iter().map(count).sum::<u64>()
    };
    let (committed, peak) = (sum(|worker| worker.committed), sum(|worker| worker.peak));
    let rounds = results.iter().map(|worker| worker.rounds).max().unwrap_or_default();
    let last_time = results.iter().map(|worker| worker.last_time).max().unwrap_or_default();

    let with_ids = results.iter_mut().enumerate().map(|(me, worker)| {
        let ids = common.directory.lps_of(me);
        ids.iter().copied().zip(std::mem::take(&mut worker.lps)).collect::<Vec<_>>()
    });
    let lps = common.directory.in_order(with_ids);
    let mut digest = CommitDigest::default();
    for (id, lp) in &lps {
        digest.add_lp(*id, lp.core.digest, &lp.core.rng, lp.core.sent);
    }
    let asked_for = if interrupted { None } else { VirtualTime::new(common.end).ok() };
    Lookout::new(watch, common, started).observe_end(asked_for.unwrap_or(last_time));
    Outcome::Done(Conclusion {
        interrupted,
        last_time,
        totals: Totals {
            committed_events: committed,
            processed_events: committed,
            gvt_rounds: rounds,
            peak_buffer_bytes: peak * W::EVENT_BYTES,
            digest,
            ..Totals::default()
        },
        details,
        lps: lps.into_iter().map(|(id, lp)| (id, lp.state)).collect(),
    })
}

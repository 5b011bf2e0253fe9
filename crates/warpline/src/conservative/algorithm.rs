//! What an algorithm of the conservative engine provides ([`Algorithm`]), and the run around it:
//! the workers of a rank on their threads, and what becomes of their results.
//!
//! Called by [`run`](super::run()), for `windows` and for `null_messages`.

use std::time::Instant;

use warpline_core::{Model, VirtualTime, Wires};
use warpline_memory::Residency;

use super::common::Common;
use crate::{
    Conservative, Details, RunError, SynchronizationKind, Totals, crowd,
    cut::{Cut, Ended as RunEnded, Stage, Whole},
    event::{Buffer, Event, Message, heap_bytes},
    handling::Lp,
    monitor::Activity,
    run::{
        Alarm, Failure, Outcome, ProgressMonitor, Run,
        thread_resources::{self, ThreadResources},
        threads,
    },
    settings::Settings,
    watch::Watch,
};

/// How workers know which events they may handle: a conservative algorithm.
pub(super) trait Algorithm<'m, M: Model, B>: Sized + Sync {
    /// What a worker of this algorithm counts beside the common counts.
    type Counters: Send;
    /// The bytes that the buffer of one event takes.
    const EVENT_BYTES: u64;

    /// Makes what the workers share. `wires` carry events between ranks, if there are several.
    fn make(common: Common<'m, M, B>, wires: Option<Wires<M>>) -> Result<Self, RunError>;
    /// What the workers share in both algorithms.
    fn common(&self) -> &Common<'m, M, B>;
    /// Runs one worker, from its first event to its last.
    fn work(
        &self,
        me: usize,
        monitor: &mut ProgressMonitor<'_, '_>,
    ) -> WorkerResult<M::Lp, B, Self::Counters>;
    /// Ends the run for all workers that wait, because a worker will not come any more.
    fn abort(&self);
    /// The counters of the report and the remarks on it. Checks that no events were lost.
    fn details(&self, results: &[WorkerResult<M::Lp, B, Self::Counters>]) -> Details;
}

/// How a worker came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    AtEnd,
    Interrupted,
    /// As if it was interrupted: its windows cannot go on.
    GivenUp,
    Failed,
}

/// What a worker returns at its end.
pub(super) struct WorkerResult<L, B, C> {
    pub(super) lps: Vec<Lp<L>>,
    /// What is left, if the run is to go on with another engine.
    pub(super) left: Vec<Event<B>>,
    pub(super) ended: Ended,
    pub(super) committed: u64,
    pub(super) last_time: VirtualTime,
    /// The most events that were pending at one time.
    pub(super) peak: u64,
    /// How often all workers agreed on how to go on.
    pub(super) rounds: u64,
    pub(super) counters: C,
    /// Where its memory is, if it was placed: the frame of the run knows.
    pub(super) residency: Option<Residency>,
}

/// Carries out a run with algorithm `A`, from a cut or its start to its end. `settings` are those
/// of the run, but perhaps with fewer workers.
pub(super) fn execute<'m, M, B, A>(
    run: &Run<'m, M>,
    settings: &'m Settings<Conservative>,
    watch: &mut Watch<'_>,
    mode: SynchronizationKind,
    from: Option<Whole<M>>,
) -> RunEnded<M>
where
    M: Model + 'm,
    B: Buffer<Message<M>> + Send + 'm,
    A: Algorithm<'m, M, B>,
{
    let &Run { model, ranks, .. } = run;
    let make = |wires| {
        run.settings.validate()?;
        let cut = from.map(Whole::into_cut);
        let owned = owned_by_pending::<M, B>(cut.as_ref());
        let common = Common::new(model, settings, ranks, mode, A::EVENT_BYTES, (cut, None))?;
        common.memory.take_over(0, owned);
        A::make(common, wires)
    };
    run.carry_out(make, |algorithm: &mut A, started| {
        let mut stage = match stage(&*algorithm, watch, started) {
            Ok(stage) => stage,
            Err(failure) => return Outcome::failed(failure),
        };
        let common = algorithm.common();
        let end = if stage.interrupted { None } else { VirtualTime::new(common.end).ok() };
        common.monitor(watch, started).observe_end(end.unwrap_or(stage.last_time));
        let (asked, fewer) = (run.settings.workers, settings.engine.workers);
        stage.details.remarks.extend(crowd::remark("worker", asked, fewer));
        Outcome::at_end(stage, common.directory.ids(), &run.settings)
    })
}

/// What the messages of events that are pending at the beginning own.
pub(super) fn owned_by_pending<M: Model, B: Buffer<Message<M>>>(
    cut: Option<&Cut<M::Lp, Event<B>>>,
) -> u64 {
    let pending = cut.map_or(&[][..], |cut| &cut.pending);
    pending.iter().map(|event| heap_bytes::<M>(&event.message)).sum()
}

/// Runs all workers, from the start or a cut to the end. Fails as the rank does.
pub(super) fn stage<'m, M: Model + 'm, B: Send + 'm, A: Algorithm<'m, M, B>>(
    algorithm: &A,
    watch: &mut Watch<'_>,
    started: Instant,
) -> Result<Stage<M, Event<B>>, Failure> {
    let work = |me, watch: &mut Watch<'_>| work(algorithm, me, watch, started);
    let common = algorithm.common();
    // Null messages show nothing.
    if common.mode == SynchronizationKind::Windows {
        watch.show(&common.shown);
    }
    let refused = || algorithm.abort();
    let results = threads::at_once(common.workers(), watch, &common.failure, refused, work);
    conclude(algorithm, results)
}

/// Runs one worker, from its start to its end.
fn work<'m, M: Model + 'm, B: 'm, A: Algorithm<'m, M, B>>(
    algorithm: &A,
    me: usize,
    watch: &mut Watch<'_>,
    started: Instant,
) -> WorkerResult<M::Lp, B, A::Counters> {
    let common = algorithm.common();
    let resources = ThreadResources::take(&common.directory, me, &common.settings.parallel());
    // If a bug of the engine lets this worker panic, the others must not wait for it.
    let alarm = Alarm::new(|| algorithm.abort());
    let mut monitor = common.monitor(watch, started);
    let result = algorithm.work(me, &mut monitor);
    common.shown[me].show(Activity::Ended);
    alarm.disarm();
    let residency = resources.give_back();
    monitor.resume_panic();
    WorkerResult { residency, ..result }
}

/// What this rank has done, from the results of its workers.
fn conclude<'m, M: Model + 'm, B: 'm, A: Algorithm<'m, M, B>>(
    algorithm: &A,
    results: Vec<WorkerResult<M::Lp, B, A::Counters>>,
) -> Result<Stage<M, Event<B>>, Failure> {
    let common = algorithm.common();
    debug_assert!(results.len() <= common.workers(), "more workers ended than there are");
    let mut all = All::default();
    for worker in &results {
        all.add(worker.ended, [worker.committed, worker.peak, worker.rounds], worker.last_time);
    }
    if all.has_failed || common.failure.is_known() {
        common.drop_guarded(move || drop(results));
        let failure = common.failure.take();
        // A rank that was stopped by another one has perhaps not shipped its output: none may wait.
        common.ranks.alert();
        return Err(failure);
    }
    let mut details = algorithm.details(&results);
    let mut residencies = results.iter().map(|worker| worker.residency);
    details.counters.extend(thread_resources::counters(&mut residencies));
    debug_assert!(
        results.iter().all(|one| (one.ended, one.rounds) == (results[0].ended, all.rounds)),
        "BARRIER-A: the workers do not agree on how the run ends"
    );
    let mut parts = Vec::with_capacity(results.len());
    for worker in results {
        parts.push(Cut::new(worker.lps, worker.left));
    }
    Ok(Stage {
        interrupted: all.is_interrupted || all.has_given_up,
        has_given_up: all.has_given_up,
        last_time: all.last_time,
        totals: Totals {
            committed_events: all.committed,
            processed_events: all.committed,
            gvt_rounds: all.rounds,
            peak_buffer_bytes: common.memory.peak().unwrap_or(all.peak * A::EVENT_BYTES),
            ..Totals::default()
        },
        details,
        cut: Cut::unite(&common.directory, parts),
    })
}

/// What all workers have done. It does not depend on the model, so that it is compiled once.
#[derive(Default)]
struct All {
    is_interrupted: bool,
    has_given_up: bool,
    has_failed: bool,
    committed: u64,
    peak: u64,
    rounds: u64,
    last_time: VirtualTime,
}

impl All {
    fn add(&mut self, ended: Ended, [committed, peak, rounds]: [u64; 3], last_time: VirtualTime) {
        self.is_interrupted |= ended == Ended::Interrupted;
        self.has_given_up |= ended == Ended::GivenUp;
        self.has_failed |= ended == Ended::Failed;
        self.committed += committed;
        self.peak += peak;
        self.rounds = self.rounds.max(rounds);
        self.last_time = self.last_time.max(last_time);
    }
}

//! What an algorithm of the conservative engine provides ([`Algorithm`]), and the run around it:
//! the workers of a rank on their threads, and what becomes of their results.
//!
//! Called by [`run`](super::run()), for `windows` and for `null_messages`.

use std::time::Instant;

use warpline_core::{CommitDigest, Model, VirtualTime, Wires};

use super::common::Common;
use crate::{
    Conservative, Details, Report, RunError, SynchronizationKind, Totals,
    handling::Lp,
    run::{Alarm, Conclusion, Outcome, ProgressMonitor, Ranks, Run, threads},
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
    ) -> WorkerResult<M::Lp, Self::Counters>;
    /// Ends the run for all workers that wait, because a worker will not come any more.
    fn abort(&self);
    /// The counters of the report and the remarks on it. Checks that no events were lost.
    fn details(&self, results: &[WorkerResult<M::Lp, Self::Counters>]) -> Details;
}

/// How a worker came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    AtEnd,
    Interrupted,
    Failed,
}

/// What a worker returns at its end.
pub(super) struct WorkerResult<L, C> {
    pub(super) lps: Vec<Lp<L>>,
    pub(super) ended: Ended,
    pub(super) committed: u64,
    pub(super) last_time: VirtualTime,
    /// The most events that were pending at one time.
    pub(super) peak: u64,
    /// How often all workers agreed on how to go on.
    pub(super) rounds: u64,
    pub(super) counters: C,
}

/// Runs a model with algorithm `A`, from its start to its end.
pub(super) fn execute<'m, M: Model + 'm, B: 'm, A: Algorithm<'m, M, B>>(
    model: &'m M,
    settings: &'m Settings<Conservative>,
    watch: &mut Watch<'_>,
    ranks: &'m Ranks<'m>,
    mode: SynchronizationKind,
) -> Result<Option<Report<M::Output>>, RunError> {
    let started = Instant::now();
    let run = Run { model, settings: settings.parallel(), ranks, started };
    let make = |wires| A::make(Common::new(model, settings, ranks, mode, A::EVENT_BYTES)?, wires);
    run.carry_out(make, |algorithm: &A| {
        let work = |me, watch: &mut Watch<'_>| work(algorithm, me, watch, started);
        let common = algorithm.common();
        let refused = || algorithm.abort();
        let results = threads::at_once(common.workers(), watch, &common.failure, refused, work);
        conclude(algorithm, results, watch, started)
    })
}

/// Runs one worker, from its start to its end.
fn work<'m, M: Model + 'm, B: 'm, A: Algorithm<'m, M, B>>(
    algorithm: &A,
    me: usize,
    watch: &mut Watch<'_>,
    started: Instant,
) -> WorkerResult<M::Lp, A::Counters> {
    let common = algorithm.common();
    let binding = threads::bind(&common.directory, me, &common.settings.parallel());
    // If a bug of the engine lets this worker panic, the others must not wait for it.
    let alarm = Alarm::new(|| algorithm.abort());
    let mut monitor = common.monitor(watch, started);
    let result = algorithm.work(me, &mut monitor);
    alarm.disarm();
    drop(binding);
    monitor.resume_panic();
    result
}

/// Makes the outcome of this rank from the results of its workers.
fn conclude<'m, M: Model + 'm, B: 'm, A: Algorithm<'m, M, B>>(
    algorithm: &A,
    mut results: Vec<WorkerResult<M::Lp, A::Counters>>,
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
    let sum = |count: fn(&WorkerResult<M::Lp, A::Counters>) -> u64| {
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
    let end = if interrupted { None } else { VirtualTime::new(common.end).ok() };
    common.monitor(watch, started).observe_end(end.unwrap_or(last_time));
    Outcome::Done(Conclusion {
        interrupted,
        last_time,
        totals: Totals {
            committed_events: committed,
            processed_events: committed,
            gvt_rounds: rounds,
            peak_buffer_bytes: peak * A::EVENT_BYTES,
            digest,
            ..Totals::default()
        },
        details,
        lps: lps.into_iter().map(|(id, lp)| (id, lp.state)).collect(),
    })
}

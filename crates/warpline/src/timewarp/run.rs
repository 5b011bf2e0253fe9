//! A run: starts the workers, watches them, and makes the report of their results.

use std::{sync::atomic::Ordering, time::Instant};

use warpline_core::{CommitDigest, Fault, LogicalProcess, LpId, Model, VirtualTime};
use warpline_memory::Binding;

use super::{
    costs::Part,
    diagnosis::Evidence,
    gvt::Bound,
    remote::Exchanged,
    saving::Lp,
    shared::Shared,
    statistics::Statistics,
    worker::{End, Turn, Worker},
};
use crate::{
    ConfigError, Details, Progress, Report, RunError, StateSaving, Totals,
    load_sharing::Told,
    monitor::Activity,
    panics,
    pending::PendingSet,
    run::{Alarm, Conclusion, FailureOrder, Outcome, Ranks, Run, model_error, threads},
    settings::{Settings, TimeWarp},
    watch::{Timer, Watch},
};

/// Turns between two looks at the clock, at the most; and whether the worker's core is its own.
const SLICE_TURNS_MAX: u32 = 64;
/// A worker that has been idle for this many turns lets other threads have the core.
const SPINS: u32 = 32;
/// After this many, it sleeps.
const YIELDS: u32 = 1500;

/// The result of a worker.
struct WorkerResult<L> {
    lps: Vec<Lp<L>>,
    statistics: Statistics,
    /// Events that were sent and not committed.
    pending: u64,
    exchanged: Option<Exchanged>,
    gvt: Bound,
    rounds: u64,
    end: End,
    /// Seconds by part, if they were measured.
    costs: Option<[f64; Part::ALL.len()]>,
    told: Option<Told>,
}

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings<TimeWarp>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    let run = Run { model, settings: settings.parallel(), ranks, started: Instant::now() };
    let make = |wires| {
        refuse_what_the_model_lacks::<M>(settings)?;
        Shared::new(model, settings, ranks, wires)
    };
    run.carry_out(make, |shared, started| {
        watch.show(&shared.shown);
        let results = if settings.engine.in_turn {
            work_in_turn(model, shared, watch, started, ranks)
        } else {
            work_at_once(model, shared, watch, started, ranks)
        };
        finish_outputs(model, shared, ranks);
        if shared.is_abandoned() {
            ranks.alert();
        }
        let has_failed = results.iter().any(|worker| worker.end == End::Failed);
        if has_failed || shared.failure.is_known() {
            // Dropping LPs is code of the model too, and may panic.
            if let Err(fault) = panics::catch(move || drop(results)) {
                shared.failure.note(FailureOrder::End, own_error(fault, settings));
            }
            return Outcome::failed(shared.failure.take());
        }
        Outcome::Done(Reporting { shared, started }.conclusion(results, watch))
    })
}

/// After all workers have ended: the I/O events that are still on their way to rank 0.
pub(super) fn finish_outputs<M: Model>(model: &M, shared: &Shared<M>, ranks: &Ranks<'_>) {
    if ranks.count() > 1 && !shared.is_abandoned() {
        let finished = shared.io.finish(model, &shared.arena, ranks);
        finished.unwrap_or_else(|undelivered| shared.fail_in_output(0, undelivered));
    }
}

/// All workers, each on a thread of its own.
fn work_at_once<M: Model>(
    model: &M,
    shared: &Shared<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> Vec<WorkerResult<M::Lp>> {
    let work = |me, watch: &mut Watch<'_>| work(model, shared, (me, ranks), watch, started);
    let refused = || shared.abandon();
    threads::at_once(shared.workers(), watch, &shared.failure, refused, work)
}

/// All workers, in turn, on this thread.
fn work_in_turn<M: Model>(
    model: &M,
    shared: &Shared<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> Vec<WorkerResult<M::Lp>> {
    let mut workers: Vec<_> =
        (0..shared.workers()).map(|me| (Worker::new(model, shared, me, ranks), None)).collect();
    for (worker, ended) in &mut workers {
        *ended = worker.start().err();
    }
    let mut observer = Observer::new(shared, watch, started);
    while workers.iter().any(|(_, ended)| ended.is_none()) {
        for (worker, ended) in workers.iter_mut().filter(|(_, ended)| ended.is_none()) {
            *ended = worker.turn().err();
            observer.observe(worker);
        }
    }
    let result = |(worker, end): (_, Option<End>)| result(worker, end.unwrap_or(End::Failed));
    workers.into_iter().map(result).collect()
}

fn refuse_what_the_model_lacks<M: Model>(settings: &Settings<TimeWarp>) -> Result<(), ConfigError> {
    let needs_reverse = settings.engine.saving == StateSaving::Reverse;
    let ok = !needs_reverse || M::Lp::REVERSIBLE;
    ConfigError::check(ok, "saving", "reverse", "copy or incremental: the model cannot reverse")
}

/// One worker, from its start to its end.
fn work<M: Model>(
    model: &M,
    shared: &Shared<M>,
    (me, ranks): (usize, &Ranks<'_>),
    watch: &mut Watch<'_>,
    started: Instant,
) -> WorkerResult<M::Lp> {
    let mut binding = threads::bind(&shared.directory, me, &shared.settings.parallel());
    // A bug of the engine must not leave the others waiting for this worker.
    let alarm = Alarm::new(|| sound_alarm(shared, me));
    let mut worker = Worker::new(model, shared, me, ranks);
    if let Err(end) = worker.start() {
        // It does not have all its LPs, so it takes no mail.
        alarm.disarm();
        return result(worker, end);
    }
    let mut observer = Observer::new(shared, watch, started);
    worker.show_activity(Activity::Working);
    let (mut idle, mut since_look) = (0, 0);
    let end = loop {
        match worker.turn() {
            Ok(Turn::Worked) if idle <= SPINS => idle = 0,
            Ok(Turn::Worked) => {
                idle = 0;
                worker.show_activity(Activity::Working);
            }
            Ok(Turn::Idle) => {
                idle = idle.saturating_add(1);
                if idle > SPINS {
                    worker.show_why_idle();
                }
                threads::wait(idle, SPINS, YIELDS);
            }
            Err(end) => break end,
        }
        since_look += 1;
        if since_look == SLICE_TURNS_MAX {
            since_look = 0;
            binding.iter_mut().for_each(Binding::let_go_of_shared_core);
        }
        observer.observe(&mut worker);
    };
    alarm.disarm();
    drop(binding);
    result(worker, end)
}

/// Ends the run for all workers: this one has panicked.
fn sound_alarm<M: Model>(shared: &Shared<M>, me: usize) {
    let fault = Fault::Failed(format!(
        "Warpline has a bug: worker {me} panicked; please report it with the seed and the flags"
    ));
    shared.failure.note(FailureOrder::Start(LpId::new(0)), own_error(fault, &shared.settings));
    shared.abandon();
}

fn result<M: Model>(mut worker: Worker<'_, M>, end: End) -> WorkerResult<M::Lp> {
    worker.return_kept_mail();
    worker.send_mail(false);
    worker.show_activity(Activity::Ended);
    worker.statistics.copied = worker.saving.copied;
    worker.statistics.coasted = worker.saving.coasted;
    let pending = worker.sender.pending.len() + worker.waiting.len() + worker.backlog();
    WorkerResult {
        pending: pending as u64,
        exchanged: worker.exchanged(),
        gvt: worker.gvt,
        rounds: worker.sender.gvt.rounds(),
        end,
        costs: worker.sender.costs.seconds(),
        told: worker.told(),
        lps: worker.lps,
        statistics: worker.statistics,
    }
}

/// Shows the progress of the run, now and then.
struct Observer<'a, 'w, M: Model> {
    shared: &'a Shared<M>,
    watch: &'a mut Watch<'w>,
    started: Instant,
    timer: Timer,
    stops: bool,
}

impl<'a, 'w, M: Model> Observer<'a, 'w, M> {
    fn new(shared: &'a Shared<M>, watch: &'a mut Watch<'w>, started: Instant) -> Self {
        let timer = Timer::new(started, SLICE_TURNS_MAX);
        Self { shared, watch, started, timer, stops: false }
    }

    /// Called after a turn of a worker. The first worker calls the observer now and then, and tells
    /// the others if the run is to stop.
    fn observe(&mut self, worker: &mut Worker<'_, M>) {
        if worker.me == 0 && self.says_stop(worker.gvt) {
            worker.flow.stop();
            // Events that take long would put off the next round for as long.
            self.shared.request_gvt();
        }
    }

    fn says_stop(&mut self, gvt: Bound) -> bool {
        if self.timer.is_due() {
            self.timer.look();
            if self.timer.takes_observation() {
                let progress = progress(self.shared, gvt, self.started);
                self.stops |= self.watch.observe(&progress).is_break();
            }
        }
        self.stops || self.watch.stopped()
    }
}

fn progress<M: Model>(shared: &Shared<M>, gvt: Bound, started: Instant) -> Progress {
    // Ordering: Relaxed; counts for people.
    let committed = shared.shown.iter().map(|shown| shown.committed.load(Ordering::Relaxed));
    let processed = shared.shown.iter().map(|shown| shown.processed.load(Ordering::Relaxed));
    Progress {
        virtual_time: VirtualTime::new(gvt.time()).unwrap_or_default(),
        end: VirtualTime::new(shared.end).unwrap_or(VirtualTime::MAX),
        committed_events: committed.sum(),
        processed_events: processed.sum(),
        wall: started.elapsed(),
    }
}

fn own_error(fault: Fault, settings: &Settings<TimeWarp>) -> RunError {
    model_error(fault, None, &settings.parallel())
}

/// Makes the conclusion.
struct Reporting<'a, M: Model> {
    shared: &'a Shared<M>,
    started: Instant,
}

impl<M: Model> Reporting<'_, M> {
    fn conclusion(
        &self,
        mut results: Vec<WorkerResult<M::Lp>>,
        watch: &mut Watch<'_>,
    ) -> Conclusion<M> {
        let mut total = Statistics::default();
        for worker in &results {
            total.add(&worker.statistics);
        }
        let interrupted = results.iter().any(|worker| worker.end == End::Interrupted);
        let (gvt, rounds) = results.first().map_or((Bound::ZERO, 0), |w| (w.gvt, w.rounds));
        self.check_balance(&results, &total);
        let details = self.details(&results, &total);
        let lps = results.iter_mut().flat_map(|worker| std::mem::take(&mut worker.lps));
        let mut lps: Vec<_> = lps.collect();
        // Stable: it takes advantage of what is in order already.
        lps.sort_by_key(|lp| lp.id);
        let mut digest = CommitDigest::default();
        for lp in &lps {
            digest.add_lp(lp.id, lp.core.digest, &lp.core.rng, lp.core.sent);
        }
        let last_time = VirtualTime::new(total.last_time).unwrap_or_default();
        let asked_for = if interrupted { None } else { VirtualTime::new(self.shared.end).ok() };
        let end_time = asked_for.unwrap_or(last_time);
        // The last look; it comes too late to interrupt anything.
        let shown = Bound(gvt.0.map(|word| word.min(end_time.to_ordered_bits())));
        let _ = watch.observe(&progress(self.shared, shown, self.started));
        Conclusion {
            interrupted,
            last_time,
            totals: Totals {
                committed_events: total.committed,
                processed_events: total.processed,
                rolled_back_events: total.rolled_back,
                rollbacks: total.rollbacks(),
                gvt_rounds: rounds,
                peak_buffer_bytes: u64::from(self.shared.arena.issued())
                    * Shared::<M>::buffer_bytes(self.shared.workers()),
                digest,
                ..Totals::default()
            },
            details,
            lps: lps.into_iter().map(|lp| (lp.id, lp.state)).collect(),
        }
    }

    fn details(&self, results: &[WorkerResult<M::Lp>], total: &Statistics) -> Details {
        let workers: Vec<_> = results.iter().map(|worker| worker.statistics.clone()).collect();
        let evidence = Evidence {
            workers: &workers,
            cores: threads::cores(),
            lps: self.shared.directory.lp_count(),
            event_bytes: Shared::<M>::buffer_bytes(self.shared.workers()),
            events_peak: u64::from(self.shared.arena.issued()),
            rate: total.committed as f64 / self.started.elapsed().as_secs_f64(),
        };
        let mut counters = total.counters();
        let exchanged = results.iter().filter_map(|worker| worker.exchanged);
        if let Some(exchanged) = exchanged.reduce(Exchanged::add) {
            counters.extend(exchanged.counters());
        }
        let cost = |part: &Part| {
            let index = *part as usize;
            let seconds: Option<f64> =
                results.iter().map(|worker| worker.costs.map(|costs| costs[index])).sum();
            seconds.map(|seconds| (part.name(), 1e9 * seconds / total.committed.max(1) as f64))
        };
        let mut remarks = evidence.remarks();
        remarks.extend(results.iter().find_map(|worker| worker.told?.remark()));
        Details {
            counters,
            remarks,
            costs: Part::ALL.iter().filter_map(cost).collect(),
            ..Details::default()
        }
    }

    /// TW-B: every event that was sent was committed, or is left.
    fn check_balance(&self, results: &[WorkerResult<M::Lp>], total: &Statistics) {
        let sent: u64 = results.iter().flat_map(|worker| &worker.lps).map(|lp| lp.core.sent).sum();
        let mut left: u64 = results.iter().map(|worker| worker.pending).sum();
        let mut canceled = 0;
        // Events that were sent to other ranks are not here, and events of theirs are.
        for Exchanged { sent, received, .. } in results.iter().filter_map(|worker| worker.exchanged)
        {
            left += sent.events + received.anti_messages;
            canceled += sent.anti_messages + received.events;
        }
        for block in self.shared.inboxes.iter().flat_map(|inbox| inbox.drain()) {
            for mail in &block.items {
                *(if mail.cancels().is_some() { &mut canceled } else { &mut left }) += 1;
            }
        }
        assert_eq!(
            sent + canceled,
            total.committed + left,
            "TW-B: events were lost or doubled ({total:?})"
        );
        assert_eq!(
            total.processed,
            total.committed + total.rolled_back,
            "TW-B: handled events were lost or doubled ({total:?})"
        );
    }
}

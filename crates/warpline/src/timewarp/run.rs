//! A run: starts the workers, watches them, and makes the report of what they leave.

use std::{sync::atomic::Ordering, time::Instant};

use warpline_core::{CommitDigest, Fault, LogicalProcess, LpId, Model, VirtualTime};
use warpline_memory::Binding;
use warpline_net::Traffic;

use super::{
    across::Across,
    away::{Away, Exchanged},
    costs::Part,
    diagnosis::Evidence,
    gvt::Bound,
    saving::Lp,
    shared::Shared,
    statistics::Statistics,
    worker::{Turn, Worker},
};
use crate::{
    ConfigError, Details, Engine, Progress, Report, RunError, StateSaving, Totals,
    monitor::Activity,
    panics,
    pending::PendingSet,
    run::{Alarm, Conclusion, FailureOrder, Outcome, Ranks, Run, model_error, threads},
    settings::Settings,
    watch::{Timer, Watch},
};

/// Turns between two looks at the clock, at the most; and whether the worker's core is its own.
const SLICE_TURNS_MAX: u32 = 64;
/// A worker that has been idle for so many turns lets other threads have the core.
const SPINS: u32 = 32;
/// After so many, it sleeps.
const YIELDS: u32 = 1500;

/// What a worker leaves.
struct Remains<L> {
    lps: Vec<Lp<L>>,
    statistics: Statistics,
    /// Events that were sent and not committed.
    pending: u64,
    exchanged: Option<(Exchanged, Exchanged, Traffic)>,
    gvt: Bound,
    rounds: u64,
    ended: Turn,
    /// Seconds by part, if they were measured.
    costs: Option<[f64; Part::ALL.len()]>,
}

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
) -> Result<Option<Report<M::Output>>, RunError> {
    let started = Instant::now();
    let run = Run { model, engine: Engine::TimeWarp, settings, ranks, started };
    let make = |wires| {
        refuse_what_the_model_lacks::<M>(settings)?;
        Shared::new(model, settings, ranks, wires)
    };
    run.carry_out(make, |shared| {
        if let Some(monitor) = &watch.monitor {
            monitor.attach(&shared.shown);
        }
        let remains = if settings.timewarp.in_turn {
            work_in_turn(model, shared, watch, started, ranks)
        } else {
            work_at_once(model, shared, watch, started, ranks)
        };
        if shared.across.as_ref().is_some_and(Across::is_abandoned) {
            ranks.alert();
        }
        let has_failed = remains.iter().any(|worker| worker.ended == Turn::Failed);
        if has_failed || shared.failure.is_known() {
            // What is left is the model's too, and may panic when it is dropped.
            if let Err(fault) = panics::catch(move || drop(remains)) {
                shared.failure.note(FailureOrder::End, own_error(fault, settings));
            }
            return Outcome::failed(shared.failure.take());
        }
        Outcome::Done(Reporting { shared, started }.conclusion(remains, watch))
    })
}

/// All workers, each on a thread of its own.
fn work_at_once<M: Model>(
    model: &M,
    shared: &Shared<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> Vec<Remains<M::Lp>> {
    let work = |me, watch: &mut Watch<'_>| work(model, shared, (me, ranks), watch, started);
    let refused = || shared.across.iter().for_each(Across::abandon);
    threads::at_once(shared.workers(), watch, &shared.failure, refused, work)
}

/// All workers, in turn, on this thread.
fn work_in_turn<M: Model>(
    model: &M,
    shared: &Shared<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> Vec<Remains<M::Lp>> {
    let mut workers: Vec<_> =
        (0..shared.workers()).map(|me| (Worker::new(model, shared, me, ranks), None)).collect();
    for (worker, ended) in &mut workers {
        *ended = worker.start().is_err().then_some(Turn::Failed);
    }
    let mut observer = Observer::new(shared, watch, started);
    while workers.iter().any(|(_, ended)| ended.is_none()) {
        for (worker, ended) in workers.iter_mut().filter(|(_, ended)| ended.is_none()) {
            match worker.turn() {
                Turn::Worked | Turn::Idle => {}
                turn => *ended = Some(turn),
            }
            observer.observe(worker);
        }
    }
    let ended = |(worker, ended): (_, Option<Turn>)| remains(worker, ended.unwrap_or(Turn::Failed));
    workers.into_iter().map(ended).collect()
}

fn refuse_what_the_model_lacks<M: Model>(settings: &Settings) -> Result<(), ConfigError> {
    let needs_reverse = settings.timewarp.saving == StateSaving::Reverse;
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
) -> Remains<M::Lp> {
    let mut binding = threads::bind(&shared.directory, me, &shared.settings);
    // A bug of the engine's must not leave the others waiting for this worker.
    let alarm = Alarm::new(|| sound_alarm(shared, me));
    let mut worker = Worker::new(model, shared, me, ranks);
    if worker.start().is_err() {
        // It does not have all its LPs, so it takes no mail.
        alarm.disarm();
        return remains(worker, Turn::Failed);
    }
    let mut observer = Observer::new(shared, watch, started);
    worker.show_activity(Activity::Working);
    let (mut idle, mut since_look) = (0, 0);
    let ended = loop {
        match worker.turn() {
            Turn::Worked if idle <= SPINS => idle = 0,
            Turn::Worked => {
                idle = 0;
                worker.show_activity(Activity::Working);
            }
            Turn::Idle => {
                idle = idle.saturating_add(1);
                if idle > SPINS {
                    worker.show_why_idle();
                }
                threads::wait(idle, SPINS, YIELDS);
            }
            ended => break ended,
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
    remains(worker, ended)
}

/// Ends the run for all workers: this one has panicked.
fn sound_alarm<M: Model>(shared: &Shared<M>, me: usize) {
    let fault = Fault::Failed(format!(
        "Warpline has a bug: worker {me} panicked; please report it with the seed and the flags"
    ));
    shared.failure.note(FailureOrder::Start(LpId::new(0)), own_error(fault, &shared.settings));
    shared.across.iter().for_each(Across::abandon);
}

fn remains<M: Model>(mut worker: Worker<'_, M>, ended: Turn) -> Remains<M::Lp> {
    worker.desk.flush();
    worker.desk.flush_away();
    worker.show_activity(Activity::Ended);
    worker.statistics.copied = worker.saving.copied;
    worker.statistics.coasted = worker.saving.coasted;
    let away = worker.desk.away.as_deref();
    let stashed = away.map_or(0, Away::stashed);
    Remains {
        pending: (worker.desk.pending.len() + worker.waiting.len() + stashed) as u64,
        exchanged: away.map(|away| (away.given, away.got, away.traffic())),
        gvt: worker.gvt,
        rounds: worker.desk.gvt.rounds(),
        ended,
        costs: worker.desk.costs.seconds(),
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

    /// After a turn of a worker's: the first one looks on, and tells the others if the run is to
    /// stop.
    fn observe(&mut self, worker: &mut Worker<'_, M>) {
        if worker.me == 0 && self.says_stop(worker.gvt) {
            worker.flow.stop();
            // Events that take long would put off the next round for as long.
            self.shared.ask_for_gvt();
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

/// What went to other ranks, for the report.
fn letters<L>(remains: &[Remains<L>]) -> [(&'static str, u64); 5] {
    let sum = |of: fn(&(Exchanged, Exchanged, Traffic)) -> u64| {
        remains.iter().filter_map(|worker| worker.exchanged.as_ref()).map(of).sum()
    };
    [
        ("remote_events", sum(|(given, ..)| given.events)),
        ("remote_anti_messages", sum(|(given, ..)| given.anti_messages)),
        ("remote_received", sum(|(_, got, _)| got.events + got.anti_messages)),
        ("parcels", sum(|(.., traffic)| traffic.parcels)),
        ("parcel_bytes", sum(|(.., traffic)| traffic.bytes)),
    ]
}

fn own_error(fault: Fault, settings: &Settings) -> RunError {
    model_error(fault, None, Engine::TimeWarp, settings)
}

/// Makes the conclusion.
struct Reporting<'a, M: Model> {
    shared: &'a Shared<M>,
    started: Instant,
}

impl<M: Model> Reporting<'_, M> {
    fn conclusion(&self, mut remains: Vec<Remains<M::Lp>>, watch: &mut Watch<'_>) -> Conclusion<M> {
        let mut total = Statistics::default();
        for worker in &remains {
            total.add(&worker.statistics);
        }
        let interrupted = remains.iter().any(|worker| worker.ended == Turn::Interrupted);
        let (gvt, rounds) = remains.first().map_or((Bound::ZERO, 0), |w| (w.gvt, w.rounds));
        self.check_balance(&remains, &total);
        let details = self.details(&remains, &total);
        let lps = remains.iter_mut().map(|worker| std::mem::take(&mut worker.lps));
        let lps = self.shared.directory.in_order(lps);
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
            },
            details,
            lps: lps.into_iter().map(|lp| (lp.id, lp.state)).collect(),
        }
    }

    fn details(&self, remains: &[Remains<M::Lp>], total: &Statistics) -> Details {
        let workers: Vec<_> = remains.iter().map(|worker| worker.statistics.clone()).collect();
        let evidence = Evidence {
            workers: &workers,
            cores: threads::cores(),
            lps: self.shared.directory.lp_count(),
            event_bytes: Shared::<M>::buffer_bytes(self.shared.workers()),
            events_peak: u64::from(self.shared.arena.issued()),
            rate: total.committed as f64 / self.started.elapsed().as_secs_f64(),
        };
        let mut counters = total.counters();
        if self.shared.across.is_some() {
            counters.extend(letters(remains));
        }
        let cost = |part: &Part| {
            let index = *part as usize;
            let seconds: Option<f64> =
                remains.iter().map(|worker| worker.costs.map(|costs| costs[index])).sum();
            seconds.map(|seconds| (part.name(), 1e9 * seconds / total.committed.max(1) as f64))
        };
        Details {
            counters,
            remarks: evidence.remarks(),
            costs: Part::ALL.iter().filter_map(cost).collect(),
        }
    }

    /// TW-B: every event that was sent was committed, or is left.
    fn check_balance(&self, remains: &[Remains<M::Lp>], total: &Statistics) {
        let sent: u64 = remains.iter().flat_map(|worker| &worker.lps).map(|lp| lp.core.sent).sum();
        let mut left: u64 = remains.iter().map(|worker| worker.pending).sum();
        let mut cancelled = 0;
        // What other ranks have is not here, and what they sent is.
        for (given, got, _) in remains.iter().filter_map(|worker| worker.exchanged) {
            left += given.events + got.anti_messages;
            cancelled += given.anti_messages + got.events;
        }
        for block in self.shared.inboxes.iter().flat_map(|inbox| inbox.drain()) {
            for mail in &block.items {
                *(if mail.cancels().is_some() { &mut cancelled } else { &mut left }) += 1;
            }
        }
        assert_eq!(
            sent + cancelled,
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

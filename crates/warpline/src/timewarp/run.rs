//! A run: starts the workers, watches them, and makes the report of their results.

use std::{mem::needs_drop, thread, time::Instant};

use warpline_core::{CommitDigest, Fault, LpId, Model, VirtualTime};
use warpline_memory::{Binding, Residency};

use super::{
    Message, alone,
    costs::Part,
    crew::{Crew, Seats},
    diagnosis::Evidence,
    event::Event,
    gvt::Bound,
    lp_memory,
    manning::Manning,
    observer::{Observer, SLICE_TURNS_MAX},
    remote::Exchanged,
    saving::Lp,
    seat::Seat,
    shared::Shared,
    statistics::Statistics,
    worker::{End, Turn, Worker},
};
use crate::{
    ConfigError, Details, HeapMemory, RunError, StateSaving, Totals, crowd,
    cut::{Ended, Whole},
    load_sharing::Told,
    monitor::Activity,
    panics,
    pending::PendingSet,
    run::{
        Alarm, Conclusion, FailureOrder, Left, NumberedLps, Outcome, Ranks, Run, model_error,
        station::Station, threads,
    },
    settings::{Parts, Pool, Settings, TimeWarp},
    sorting,
    watch::Watch,
};

/// A worker that has been idle for this many turns lets other threads have the core.
const SPINS: u32 = 32;
/// After this many, it sleeps.
const YIELDS: u32 = 1500;

/// What a thread leaves behind: the results of its workers, who has decided how many threads work,
/// and where the memory of these workers is, if it was placed.
type ThreadResult<L> = (Vec<WorkerResult<L>>, Option<Manning>, Option<Residency>);

/// What all of them leave behind, and what they have counted.
type AllResults<L> = (Vec<WorkerResult<L>>, Option<Manning>, Vec<(&'static str, u64)>);

/// The result of a worker.
struct WorkerResult<L> {
    me: usize,
    lps: Vec<Lp<L>>,
    statistics: Statistics,
    /// Events that were sent and not committed: how many there are, and if they are left to another
    /// engine, which.
    pending: u64,
    left: Vec<Event>,
    log_end: u64,
    exchanged: Option<Exchanged>,
    gvt: Bound,
    rounds: u64,
    end: End,
    /// Seconds by part, if they were measured.
    costs: Option<[f64; Part::ALL.len()]>,
    told: Option<Told>,
    of_saving: Option<String>,
}

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &Settings<TimeWarp>,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    if settings.engine.is_alone(ranks.count()) {
        return alone::run(model, settings, watch, from).map(Some);
    }
    let run = Run { model, settings: settings.parallel(), ranks, started: Instant::now() };
    let settings = &uncrowded(settings, ranks);
    let timeline = watch.timeline.clone();
    let make = |wires| {
        run.settings.validate()?;
        refuse_what_the_model_lacks(model, settings)?;
        Ok(Shared { timeline, ..Shared::new(model, settings, ranks, wires, from)? })
    };
    run.carry_out(make, |whole: &mut Shared<M>, started| {
        let shared = &*whole;
        watch.show(&shared.shown);
        let (results, manning, counters) = if settings.engine.instrumentation.in_turn {
            (work_in_turn(model, shared, watch, started, ranks), None, Vec::new())
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
        let mut conclusion = Reporting { shared: &mut *whole, started }.conclusion(results, watch);
        let shared = &*whole;
        let committed = conclusion.totals.committed_events;
        let of_crew = manning.and_then(|manning| manning.remark(committed));
        let of_memory = shared.memory.iter().flat_map(|one| one.remarks(threads::cores()));
        let of_crowd = crowd::remark("workers", run.settings.workers, settings.engine.workers);
        conclusion.details.remarks.extend(of_crowd.into_iter().chain(of_crew).chain(of_memory));
        conclusion.details.counters.extend(counters);
        Outcome::Done(conclusion)
    })
}

/// The settings with as many workers as can work. All can where they take turns anyway, and have to
/// where something is said of each of them.
fn uncrowded(settings: &Settings<TimeWarp>, ranks: &Ranks<'_>) -> Settings<TimeWarp> {
    let engine = &settings.engine;
    let asked = (engine.workers, &engine.placement);
    let has_sizes = matches!(engine.pool, Pool::Partitioned { parts: Parts::Sizes(_), .. });
    match ranks.uncrowded(asked, crowd::WORKERS_PER_THREAD) {
        Some((workers, placement)) if !engine.instrumentation.in_turn && !has_sizes => {
            settings.with(TimeWarp { workers, placement, ..engine.clone() })
        }
        _ => settings.clone(),
    }
}

/// After all workers have ended: the I/O events that are still on their way to rank 0.
pub(super) fn finish_outputs<M: Model>(model: &M, shared: &Shared<M>, ranks: &Ranks<'_>) {
    if ranks.count() > 1 && !shared.is_abandoned() {
        let finished = shared.io.finish(model, &shared.arena, ranks);
        finished.unwrap_or_else(|undelivered| shared.fail_in_output(0, undelivered));
    }
}

/// All workers, each on a thread of its own while all threads work.
fn work_at_once<M: Model>(
    model: &M,
    shared: &Shared<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> AllResults<M::Lp> {
    let threads = shared.workers().min(ranks.cores());
    let crew = Crew::new(shared.workers(), threads);
    let idle = ranks.idle_cores();
    let work = |me, watch: &mut Watch<'_>| {
        // A bug of the engine must not leave the others waiting for this thread.
        let alarm = Alarm::new(|| sound_alarm(shared, &crew, me));
        let mut station = Station::take(&shared.directory, me, &shared.settings.parallel());
        let make = |worker| {
            if let Some(memory) = &shared.memory {
                memory.set_node(worker, station.node());
            }
            (worker, Seat::new(&mut station, || Worker::new(model, shared, worker, ranks)))
        };
        let workers = crew.first_of(me).map(make).collect();
        let manning = Manning::new(&shared.settings, threads, idle).filter(|_| me == 0);
        let observer = Observer::new(shared, watch, started, manning, threads);
        let thread = Thread { crew: &crew, me, observer, results: Vec::new(), memory: None };
        let done = thread.work(workers, station);
        alarm.disarm();
        done
    };
    let refused = || {
        shared.abandon();
        crew.break_off();
    };
    let threads = thread::scope(|scope| {
        let _daemons = shared.memory.as_ref().map(|memory| memory.start_daemons(scope));
        threads::at_once(threads, watch, &shared.failure, refused, work)
    });
    let mut of_workers = threads.iter().map(|one| one.2);
    let counters = lp_memory::counters(shared.memory.as_ref(), &mut of_workers);
    let (mut results, mut decided) = (Vec::new(), None);
    for (workers, manning, _) in threads {
        results.extend(workers);
        decided = decided.or(manning);
    }
    assert!(
        results.len() == shared.workers() || shared.failure.is_known(),
        "CREW-A: {} of {} workers have ended",
        results.len(),
        shared.workers()
    );
    sorting::few(&mut results, |worker| worker.me);
    (results, decided, counters)
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
        *ended = worker.start(|| watch.stopped()).err();
    }
    let mut observer = Observer::new(shared, watch, started, None, 1);
    let mut idle = 0_u32;
    while workers.iter().any(|(_, ended)| ended.is_none()) {
        idle = idle.saturating_add(1);
        for (worker, ended) in workers.iter_mut().filter(|(_, ended)| ended.is_none()) {
            match worker.turn() {
                Ok(Turn::Worked) => idle = 0,
                Ok(Turn::Idle) => {}
                Err(end) => *ended = Some(end),
            }
            // They take turns anyway.
            let _ = observer.observe(worker);
        }
        if idle > 0 && ranks.count() > 1 {
            // Another rank, on another thread, has to go on, and may have no core. (Without that,
            // three ranks on two cores commit a few dozen events per second.)
            threads::wait(idle, SPINS, YIELDS);
        }
    }
    let result = |(worker, end): (_, Option<End>)| result(worker, end.unwrap_or(End::Failed));
    workers.into_iter().map(result).collect()
}

pub(super) fn refuse_what_the_model_lacks<M: Model>(
    model: &M,
    settings: &Settings<TimeWarp>,
) -> Result<(), ConfigError> {
    let ok = settings.engine.saving != StateSaving::Reverse || model.is_reversible();
    ConfigError::check(ok, "saving", "reverse", "copy: the model cannot reverse")
}

/// One thread of the run.
struct Thread<'a, 'r, 'w, M: Model> {
    crew: &'a Crew<Seat<'r, M>>,
    me: usize,
    observer: Observer<'a, 'w, M>,
    /// Of the workers that have ended here.
    results: Vec<WorkerResult<M::Lp>>,
    /// Where the memory of these workers is, if they have some of their own.
    memory: Option<Residency>,
}

impl<'r, M: Model> Thread<'_, 'r, '_, M> {
    /// Starts workers, and runs them and any others that come here.
    fn work(
        mut self,
        workers: Vec<(usize, Seat<'r, M>)>,
        mut station: Station,
    ) -> ThreadResult<M::Lp> {
        let Self { crew, me, .. } = self;
        let mut seats = Seats::new(me, crew.threads());
        for (number, mut worker) in workers {
            match worker.start(|| self.observer.is_to_stop()) {
                Ok(()) => {
                    worker.show_activity(Activity::Working);
                    seats.workers.push((number, worker));
                }
                // It does not have all its LPs, so it takes no mail.
                Err(end) => self.end(worker, end),
            }
        }
        let (mut idle, mut since_look) = (0, 0);
        while !seats.workers.is_empty() || !crew.is_over() {
            if crew.exchange(&mut seats) {
                seats.workers.iter().for_each(|(_, worker)| worker.come_to(station.node()));
            }
            if seats.workers.is_empty() {
                crew.sleep(&seats);
                station.bindings().for_each(Binding::look_afresh);
                continue;
            }
            let worked = self.take_turns(&mut seats);
            self.wait_if_idle(&mut seats, worked, &mut idle);
            since_look += 1;
            if since_look == SLICE_TURNS_MAX {
                since_look = 0;
                station.bindings().for_each(Binding::let_go_of_shared_core);
            }
        }
        (self.results, self.observer.manning, self.memory)
    }

    /// One turn of each worker here. Returns whether one of them handled events.
    #[inline]
    fn take_turns(&mut self, seats: &mut Seats<Seat<'r, M>>) -> bool {
        let (mut at, mut worked) = (0, false);
        while let Some((_, worker)) = seats.workers.get_mut(at) {
            match worker.turn() {
                Ok(turn) => {
                    worked |= turn == Turn::Worked;
                    if let Some(threads) = self.observer.observe(worker) {
                        self.crew.set_at_work(threads);
                    }
                    at += 1;
                }
                Err(end) => {
                    let (_, worker) = seats.workers.remove(at);
                    self.end(worker, end);
                }
            }
        }
        worked
    }

    /// Waits after turns in which no event was handled, for longer the more there were.
    #[inline]
    fn wait_if_idle(&self, seats: &mut Seats<Seat<'r, M>>, worked: bool, idle: &mut u32) {
        if !worked {
            *idle = idle.saturating_add(1);
            if *idle > SPINS {
                seats.workers.iter_mut().for_each(|(_, worker)| worker.show_why_idle());
            }
            threads::wait(*idle, SPINS, YIELDS);
            return;
        }
        if *idle > SPINS {
            seats.workers.iter().for_each(|(_, one)| one.show_activity(Activity::Working));
        }
        *idle = 0;
    }

    fn end(&mut self, worker: Seat<'r, M>, end: End) {
        let (result, memory) = worker.end(|worker| result(worker, end));
        self.results.push(result);
        self.memory = self.memory.into_iter().chain(memory).reduce(Residency::plus);
        self.crew.end_one();
    }
}

/// Ends the run for all workers: thread `me` has panicked.
fn sound_alarm<M: Model, T>(shared: &Shared<M>, crew: &Crew<T>, me: usize) {
    let fault = Fault::Failed(format!(
        "Warpline has a bug: worker {me} panicked; please report it with the seed and the flags"
    ));
    shared.failure.note(FailureOrder::Start(LpId::new(0)), own_error(fault, &shared.settings));
    shared.abandon();
    crew.break_off();
}

fn result<M: Model>(mut worker: Worker<'_, M>, end: End) -> WorkerResult<M::Lp> {
    worker.return_kept_mail();
    worker.send_mail(false);
    worker.show_activity(Activity::Ended);
    worker.end_trace();
    worker.statistics.copied = worker.saving.copied;
    worker.statistics.coasted = worker.saving.coasted;
    let pending = worker.sender.pending.len() + worker.waiting.len() + worker.backlog();
    WorkerResult {
        me: worker.me,
        pending: pending as u64,
        left: worker.take_pending(end),
        log_end: worker.sender.undo_log.back(),
        exchanged: worker.exchanged(),
        gvt: worker.gvt,
        rounds: worker.sender.gvt.rounds(),
        end,
        costs: worker.sender.costs.seconds(),
        told: worker.told(),
        of_saving: worker.remark_on_saving(),
        lps: worker.lps,
        statistics: worker.statistics,
    }
}

pub(super) fn own_error(fault: Fault, settings: &Settings<TimeWarp>) -> RunError {
    model_error(fault, None, &settings.parallel())
}

/// Makes the conclusion.
struct Reporting<'a, M: Model> {
    shared: &'a mut Shared<M>,
    started: Instant,
}

impl<M: Model> Reporting<'_, M> {
    fn conclusion(
        self,
        mut results: Vec<WorkerResult<M::Lp>>,
        watch: &mut Watch<'_>,
    ) -> Conclusion<M> {
        let mut total = Statistics::default();
        for worker in &results {
            total.add(&worker.statistics);
        }
        let interrupted = results.iter().any(|worker| worker.end == End::Interrupted);
        let (gvt, rounds) = results.first().map_or((Bound::ZERO, 0), |w| (w.gvt, w.rounds));
        assert!(
            results.iter().all(|worker| (worker.gvt, worker.rounds) == (gvt, rounds)),
            "GVT-2: the workers end with different results"
        );
        let mail = self.shared.all_mail();
        total.in_mail = mail.len() as u64;
        total.sent = results.iter().flat_map(|worker| &worker.lps).map(|lp| lp.core.sent).sum();
        self.check_balance(&results, &total, &mail);
        let details = self.details(&results, &total);
        let mut lps = Vec::new();
        results.iter_mut().for_each(|worker| lps.append(&mut worker.lps));
        let numbers: Vec<_> = lps.iter().map(|lp| lp.id).collect();
        sorting::arrange(&mut lps, sorting::order_of_lps(&numbers));
        assert!(lps.is_sorted_by(|one, next| one.id < next.id), "MOVE-B: an LP is at two workers");
        assert!(
            interrupted || lps.len() == self.shared.directory.ids().count(),
            "MOVE-B: an LP is at no worker"
        );
        let mut digest = CommitDigest::default();
        for lp in &lps {
            digest.add_lp(lp.id, lp.core.digest, &lp.core.rng, lp.core.sent);
        }
        let last_time = VirtualTime::new(total.last_time).unwrap_or_default();
        let asked_for = if interrupted { None } else { VirtualTime::new(self.shared.end).ok() };
        let end_time = asked_for.unwrap_or(last_time);
        // The last look; it comes too late to interrupt anything.
        let shown = Bound(gvt.0.map(|word| word.min(end_time.to_ordered_bits())));
        let before = self.shared.committed_before;
        let _ = watch.observe(&self.shared.progress(shown, self.started, before));
        Conclusion {
            interrupted,
            last_time,
            totals: Totals {
                committed_events: total.committed,
                processed_events: total.processed,
                rolled_back_events: total.rolled_back,
                rollbacks: total.rollbacks(),
                gvt_rounds: rounds,
                peak_buffer_bytes: u64::from(self.shared.arena.most())
                    * Shared::<M>::buffer_bytes(&self.shared.settings.engine),
                digest,
                ..Totals::default()
            },
            details,
            left: self.leave(results, lps, mail),
        }
    }

    /// The LPs, or the cut that they are left in: what is in the mail belongs to it.
    fn leave(
        self,
        results: Vec<WorkerResult<M::Lp>>,
        lps: Vec<Lp<M::Lp>>,
        mut left: Vec<Event>,
    ) -> Left<M> {
        if !self.shared.settings.leaves_cut {
            let ids = lps.iter().map(|lp| lp.id).collect();
            let states = lps.into_iter().map(|lp| lp.state).collect();
            return Left::Lps(NumberedLps::new(ids, states));
        }
        let log_end = results.iter().map(|worker| worker.log_end).max().unwrap_or_default();
        left.extend(results.into_iter().flat_map(|worker| worker.left));
        Left::Cut(self.shared.cut(lps, left, log_end))
    }

    fn details(&self, results: &[WorkerResult<M::Lp>], total: &Statistics) -> Details {
        let workers: Vec<_> = results.iter().map(|worker| worker.statistics.clone()).collect();
        let evidence = Evidence {
            workers: &workers,
            cores: threads::cores(),
            lps: self.shared.directory.lp_count(),
            event_bytes: Shared::<M>::buffer_bytes(&self.shared.settings.engine),
            events_peak: u64::from(self.shared.arena.most()),
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
        remarks.extend(results.iter().find_map(|worker| worker.of_saving.clone()));
        Details {
            counters,
            remarks,
            costs: Part::ALL.iter().filter_map(cost).collect(),
            local_share: (self.shared.workers() > 1 && self.shared.remote.is_none())
                .then(|| total.local_share()),
            heap_memory: HeapMemory::counted(
                needs_drop::<Message<M>>() || needs_drop::<M::Lp>(),
                self.shared.arena.outside_most() as u64,
            ),
            ..Details::default()
        }
    }

    /// TW-B: every event that was sent was committed, or is left.
    fn check_balance(&self, results: &[WorkerResult<M::Lp>], total: &Statistics, mail: &[Event]) {
        let mut left: u64 = results.iter().map(|worker| worker.pending).sum();
        let mut canceled = 0;
        // Events that were sent to other ranks are not here, and events of theirs are.
        for Exchanged { sent, received, .. } in results.iter().filter_map(|worker| worker.exchanged)
        {
            left += sent.events + received.anti_messages;
            canceled += sent.anti_messages + received.events;
        }
        let anti_messages = mail.iter().filter(|mail| mail.cancels().is_some()).count() as u64;
        (left, canceled) = (left + total.in_mail - anti_messages, canceled + anti_messages);
        assert_eq!(
            total.sent + canceled,
            self.shared.committed_before + total.committed + left,
            "TW-B: events were lost or doubled ({total:?})"
        );
        assert_eq!(
            total.processed,
            total.committed + total.rolled_back,
            "TW-B: handled events were lost or doubled ({total:?})"
        );
    }
}

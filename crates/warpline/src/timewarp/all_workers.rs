//! All workers of a rank: starts their threads, watches them, and puts together what they have come
//! to.
//!
//! Called by [`run`](mod@super::run), and by [`staged`](super::staged) for each stage.

use std::{thread, time::Instant};

use warpline_core::{Fault, LpId, Model};
use warpline_memory::{Binding, Residency};

use super::{
    lp_memory,
    observer::{Observer, SLICE_TURNS_MAX},
    refusals::own_error,
    reporting::{Reporting, WorkerResult, result},
    shared::TimeWarpShared,
    thread_count::ThreadCount,
    turn::{End, Turn},
    worker::TimeWarpWorker,
    worker_threads::{OwnWorkers, WorkerThreads},
    worker_with_heap::WorkerWithHeap,
};
use crate::{
    monitor::Activity,
    panics,
    run::{Alarm, FailureOrder, Outcome, Ranks, thread_resources::ThreadResources, threads},
    sorting,
    watch::Watch,
};

/// A worker that has been idle for this many turns lets other threads have the core.
const SPINS: u32 = 32;
/// After this many, it sleeps.
const YIELDS: u32 = 1500;

/// What a thread leaves behind: the results of its workers, who has decided how many threads work,
/// and where the memory of these workers is, if it was placed.
type ThreadResult<M> = (Vec<WorkerResult<M>>, Option<ThreadCount>, Option<Residency>);

/// What all of them leave behind, and what they have counted.
pub(super) type AllResults<M> =
    (Vec<WorkerResult<M>>, Option<ThreadCount>, Vec<(&'static str, u64)>);

/// Runs all workers of this rank, to the end or until they are to hand over.
pub(super) fn all_workers<M: Model>(
    model: &M,
    shared: &TimeWarpShared<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> AllResults<M> {
    watch.show(&shared.shown);
    if shared.settings.engine.instrumentation.in_turn {
        (work_in_turn(model, shared, watch, started, ranks), None, Vec::new())
    } else {
        work_at_once(model, shared, watch, started, ranks)
    }
}

/// What the workers of this rank have come to, once all of them have ended.
pub(super) fn conclude<M: Model>(
    model: &M,
    whole: &mut TimeWarpShared<M>,
    (results, thread_count, counters): AllResults<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> Outcome<M> {
    let shared = &*whole;
    finish_outputs(model, shared, ranks);
    if shared.is_abandoned() {
        ranks.alert();
    }
    let has_failed = results.iter().any(|worker| worker.end == End::Failed);
    if has_failed || shared.failure.is_known() {
        // Dropping LPs is code of the model too, and may panic.
        if let Err(fault) = panics::catch(move || drop(results)) {
            let error = own_error(fault, &shared.settings);
            shared.failure.note(FailureOrder::End, error);
        }
        return Outcome::failed(shared.failure.take());
    }
    let mut conclusion = Reporting { shared: &mut *whole, started }.conclusion(results, watch);
    let shared = &*whole;
    let committed = conclusion.totals.committed_events;
    let of_threads = thread_count.and_then(|thread_count| thread_count.remark(committed));
    let of_memory = shared.memory.iter().flat_map(|one| one.remarks(threads::cores()));
    conclusion.details.remarks.extend(of_threads.into_iter().chain(of_memory));
    conclusion.details.counters.extend(counters);
    Outcome::Done(conclusion)
}

/// After all workers have ended: the I/O events that are still on their way to rank 0.
pub(super) fn finish_outputs<M: Model>(model: &M, shared: &TimeWarpShared<M>, ranks: &Ranks<'_>) {
    if ranks.count() > 1 && !shared.is_abandoned() {
        let finished = shared.io.finish(model, &shared.arena, ranks);
        finished.unwrap_or_else(|undelivered| shared.fail_in_output(0, undelivered));
    }
}

/// All workers, each on a thread of its own while all threads work.
fn work_at_once<M: Model>(
    model: &M,
    shared: &TimeWarpShared<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> AllResults<M> {
    let threads = shared.workers().min(ranks.cores());
    let worker_threads = WorkerThreads::new(shared.workers(), threads);
    let idle = ranks.idle_cores(shared.workers(), shared.admission.lp_count());
    // One thread alone is better as the sequential engine.
    let least = if shared.is_stage { 2 } else { 1 };
    let work = |me, watch: &mut Watch<'_>| {
        // A bug of the engine must not leave the others waiting for this thread.
        let alarm = Alarm::new(|| sound_alarm(shared, &worker_threads, me));
        let mut resources =
            ThreadResources::take(&shared.directory, me, &shared.settings.parallel());
        let make = |worker| {
            if let Some(memory) = &shared.memory {
                memory.set_node(worker, resources.node());
            }
            (
                worker,
                WorkerWithHeap::new(&mut resources, || {
                    TimeWarpWorker::new(model, shared, worker, ranks)
                }),
            )
        };
        let workers = worker_threads.first_of(me).map(make).collect();
        let thread_count = ThreadCount::new(&shared.settings, (least, threads), idle);
        let thread_count = thread_count.filter(|_| me == 0);
        let observer = Observer::new(shared, watch, started, thread_count, threads);
        let thread = Thread {
            worker_threads: &worker_threads,
            me,
            observer,
            results: Vec::new(),
            memory: None,
        };
        let done = thread.work(workers, resources);
        alarm.disarm();
        done
    };
    let refused = || {
        shared.abandon();
        worker_threads.break_off();
    };
    let threads = thread::scope(|scope| {
        let _daemons = shared.memory.as_ref().map(|memory| memory.start_daemons(scope));
        threads::at_once(threads, watch, &shared.failure, refused, work)
    });
    let mut of_workers = threads.iter().map(|one| one.2);
    let counters = lp_memory::counters(shared.memory.as_ref(), &mut of_workers);
    let (mut results, mut decided) = (Vec::new(), None);
    for (workers, thread_count, _) in threads {
        results.extend(workers);
        decided = decided.or(thread_count);
    }
    assert!(
        results.len() == shared.workers() || shared.failure.is_known(),
        "THREAD-A: {} of {} workers have ended",
        results.len(),
        shared.workers()
    );
    sorting::few(&mut results, |worker| worker.me);
    (results, decided, counters)
}

/// All workers, in turn, on this thread.
fn work_in_turn<M: Model>(
    model: &M,
    shared: &TimeWarpShared<M>,
    watch: &mut Watch<'_>,
    started: Instant,
    ranks: &Ranks<'_>,
) -> Vec<WorkerResult<M>> {
    let mut workers: Vec<_> = (0..shared.workers())
        .map(|me| (TimeWarpWorker::new(model, shared, me, ranks), None))
        .collect();
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

/// One thread of the run.
struct Thread<'a, 'r, 'w, M: Model> {
    worker_threads: &'a WorkerThreads<WorkerWithHeap<'r, M>>,
    me: usize,
    observer: Observer<'a, 'w, M>,
    /// Of the workers that have ended here.
    results: Vec<WorkerResult<M>>,
    /// Where the memory of these workers is, if they have some of their own.
    memory: Option<Residency>,
}

impl<'r, M: Model> Thread<'_, 'r, '_, M> {
    /// Starts workers, and runs them and any others that come here.
    fn work(
        mut self,
        workers: Vec<(usize, WorkerWithHeap<'r, M>)>,
        mut resources: ThreadResources,
    ) -> ThreadResult<M> {
        let Self { worker_threads, me, .. } = self;
        let mut own = OwnWorkers::new(me, worker_threads.threads());
        for (number, mut worker) in workers {
            match worker.start(|| self.observer.is_to_stop()) {
                Ok(()) => {
                    worker.show_activity(Activity::Working);
                    own.workers.push((number, worker));
                }
                // It does not have all its LPs, so it takes no mail.
                Err(end) => self.end(worker, end),
            }
        }
        let (mut idle, mut since_look) = (0, 0);
        while !own.workers.is_empty() || !worker_threads.is_over() {
            if worker_threads.exchange(&mut own) {
                own.workers.iter().for_each(|(_, worker)| worker.come_to(resources.node()));
            }
            if own.workers.is_empty() {
                worker_threads.sleep(&own);
                resources.bindings().for_each(Binding::look_afresh);
                continue;
            }
            let worked = self.take_turns(&mut own);
            self.wait_if_idle(&mut own, worked, &mut idle);
            since_look += 1;
            if since_look == SLICE_TURNS_MAX {
                since_look = 0;
                resources.bindings().for_each(Binding::let_go_of_shared_core);
            }
        }
        (self.results, self.observer.thread_count, self.memory)
    }

    /// One turn of each worker here. Returns whether one of them handled events.
    #[inline]
    fn take_turns(&mut self, own: &mut OwnWorkers<WorkerWithHeap<'r, M>>) -> bool {
        let (mut at, mut worked) = (0, false);
        while let Some((_, worker)) = own.workers.get_mut(at) {
            match worker.turn() {
                Ok(turn) => {
                    worked |= turn == Turn::Worked;
                    if let Some(threads) = self.observer.observe(worker) {
                        self.worker_threads.set_at_work(threads);
                    }
                    at += 1;
                }
                Err(end) => {
                    let (_, worker) = own.workers.remove(at);
                    self.end(worker, end);
                }
            }
        }
        worked
    }

    /// Waits after turns in which no event was handled, for longer the more there were.
    #[inline]
    fn wait_if_idle(
        &self,
        own: &mut OwnWorkers<WorkerWithHeap<'r, M>>,
        worked: bool,
        idle: &mut u32,
    ) {
        if !worked {
            *idle = idle.saturating_add(1);
            if *idle > SPINS {
                own.workers.iter_mut().for_each(|(_, worker)| worker.show_why_idle());
            }
            threads::wait(*idle, SPINS, YIELDS);
            return;
        }
        if *idle > SPINS {
            own.workers.iter().for_each(|(_, one)| one.show_activity(Activity::Working));
        }
        *idle = 0;
    }

    fn end(&mut self, worker: WorkerWithHeap<'r, M>, end: End) {
        let (result, memory) = worker.end(|worker| result(worker, end));
        self.results.push(result);
        self.memory = self.memory.into_iter().chain(memory).reduce(Residency::plus);
        self.worker_threads.end_one();
    }
}

/// Ends the run for all workers: thread `me` has panicked.
fn sound_alarm<M: Model, T>(
    shared: &TimeWarpShared<M>,
    worker_threads: &WorkerThreads<T>,
    me: usize,
) {
    let fault = Fault::Failed(format!(
        "Warpline has a bug: worker {me} panicked; please report it with the seed and the flags"
    ));
    shared.failure.note(FailureOrder::Start(LpId::new(0)), own_error(fault, &shared.settings));
    shared.abandon();
    worker_threads.break_off();
}

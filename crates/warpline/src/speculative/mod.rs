//! The speculative engine: windows of virtual time that are handled before all of their events are
//! known, and repaired before they are committed.
//!
//! All workers handle the same window, each for its own LPs. A worker handles what it knows, tile
//! by tile; what comes later from other LPs is [settled](rollback), LP by LP, with
//! rollbacks where an LP has gone too far. When nobody has anything left to settle, the window is
//! committed, all at once: there is no GVT, no fossil collection, and no record of an event. One
//! more window is open meanwhile, so that workers need not wait for each other.
//!
//! Windows are as wide as it pays ([`width`]). If they waste too much all the same, workers give
//! them up together and begin again with narrower ones ([`resizing`]), so the waste is bounded.
//!
//! | Part | File |
//! |---|---|
//! | a worker's main loop: open, settle, commit | [`worker`] |
//! | pending events by slot and tile | [`calendar`], [`grid`] |
//! | LPs handle their events of a window | [`executing`] |
//! | late events, rollback | [`rollback`], [`change`] |
//! | what is kept of an open window | [`window`] |
//! | copies before some windows only, and what is kept for them | [`sparse`], [`coasting`] |
//! | where sends go, what comes in | [`sending`] |
//! | which windows are committed | [`words`] |
//! | how much memory there is, and who pays for what | [`memory`], [`paying`] |
//! | when windows are given up | [`excess`] |
//! | all begin again | [`resizing`], [`resize`], [`one_by_one`] |
//!
//! # Invariants
//!
//! - **SPEC-D.** Every event that was sent is committed once or pending at the end. Checked at the
//!   end of every run.
//!
//! Those of the parts are in their modules: SPEC-A in [`executing`], SPEC-B in [`rollback`], SPEC-C
//! in [`sending`], SPEC-E in [`window`], SPEC-F in [`memory`], SPARSE-A to SPARSE-C in [`sparse`].
//!
//! # References
//!
//! Windows of optimism: Steinman, *SPEEDES: synchronous parallel environment for emulation and
//! discrete event simulation*, 1991 (breathing time buckets); Dickens and Reynolds, *SRADS with
//! local rollback*, 1990; Andelfinger, Köster, Uhrmacher, *Zero Lookahead? Zero Problem. The Window
//! Racer Algorithm*, PADS 2023. Lazy cancellation and anti-messages are those of Time Warp
//! (Jefferson 1985).

mod calendar;
mod change;
mod coasting;
mod costs;
mod diagnosis;
mod event;
mod excess;
mod executing;
mod grid;
mod memory;
mod one_by_one;
mod paying;
mod record;
mod repeating;
mod resize;
mod resizing;
mod rollback;
mod sending;
mod shared;
#[cfg(all(test, not(miri)))]
mod simulated;
mod sparse;
mod survey;
mod width;
mod window;
pub(crate) mod words;
mod worker;

use std::{sync::Arc, time::Instant};

use warpline_core::Model;
use warpline_memory::Residency;

use crate::{
    Details, EngineKind, Sequential, Speculative, Totals,
    cut::{Cut, Ended, Stage, Whole},
    event::{Boxed, Buffer, Event as PlainEvent, INLINE_BYTES_MAX, Inline, Message},
    handling::Lp,
    load_sharing::Loads,
    monitor::Activity,
    run::{
        self, Alarm, Failure, Ranks, Run,
        thread_resources::{self, ThreadResources},
        threads,
    },
    sequential,
    settings::Settings,
    stages::{self, Candidate, Carrier, Chooser, Task},
    watch::Watch,
};
use costs::Costs;
use event::Event;
use shared::SpeculativeShared;
use width::FoundWidth;
pub(crate) use width::FoundWidths;
use worker::{SpeculativeWorker, Tally};

/// What a speculative run reads.
type OwnSettings = Settings<Speculative>;

/// How many bytes of a memory limit one event takes.
pub(crate) const fn event_bytes<M: Model>() -> u64 {
    if size_of::<Message<M>>() <= INLINE_BYTES_MAX {
        size_of::<Event<Inline<Message<M>>>>() as u64
    } else {
        (size_of::<Event<Boxed<Message<M>>>>() + size_of::<Message<M>>()) as u64
    }
}

/// Runs `model` from its start to its end.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &OwnSettings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        execute::<M, Inline<_>>(model, settings, watch, ranks, from)
    } else {
        execute::<M, Boxed<_>>(model, settings, watch, ranks, from)
    }
}

fn execute<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &OwnSettings,
    watch: &mut Watch<'_>,
    ranks: &Ranks<'_>,
    from: Option<Whole<M>>,
) -> Ended<M> {
    let run = Run { model, settings: settings.parallel(), ranks, started: Instant::now() };
    let Speculative { workers, balance, .. } = settings.engine;
    let candidates =
        || Candidate::of(EngineKind::Speculative, workers, ranks.cores(), balance).into();
    let mut alone = Alone { run: &run, settings, widths: FoundWidths::default() };
    let deciding = (Chooser::User, balance);
    stages::carry_out::<M, B>(&run, from, deciding, &candidates, &mut alone, watch)
}

/// Carries out stages on this engine.
struct Alone<'r, M: Model> {
    run: &'r Run<'r, M>,
    settings: &'r OwnSettings,
    widths: FoundWidths,
}

impl<M: Model, B: Buffer<Message<M>> + Send> Carrier<M, B> for Alone<'_, M> {
    fn carry(
        &mut self,
        task: Task<M, B>,
        watch: &mut Watch<'_>,
    ) -> Result<Stage<M, PlainEvent<B>>, Failure> {
        let Task { candidate: Candidate { engine, workers }, number, .. } = task;
        let Task { placement, pin, cut, loads, .. } = task;
        let settings = self.settings;
        let &Run { model, ranks, started, .. } = self.run;
        if engine == EngineKind::Sequential {
            let settings = &settings.with(Sequential::default());
            return sequential::stage(
                EngineKind::Speculative,
                model,
                settings,
                watch,
                started,
                cut,
            )
            .map_err(run::failed_at_start);
        }
        debug_assert_eq!(engine, EngineKind::Speculative, "A16: a candidate is named so");
        let engine = Speculative { workers, placement, pin, ..settings.engine.clone() };
        let beginning = Beginning { cut, width: self.widths.take(number), loads };
        let (stage, width) =
            self::stage(model, &settings.with(engine), ranks, watch, started, beginning)?;
        self.widths.keep(number, width);
        Ok(stage)
    }
}

/// A stage, and what it has found out about widths.
pub(crate) type StageAndWidth<M, B> = (Stage<M, PlainEvent<B>>, Option<FoundWidth>);

/// What a stage begins with, unless it begins the run.
pub(crate) struct Beginning<M: Model, B> {
    pub(crate) cut: Option<Cut<M::Lp, PlainEvent<B>>>,
    /// The widths that another stage has found.
    pub(crate) width: Option<FoundWidth>,
    /// Where workers note how much they have to do.
    pub(crate) loads: Option<Arc<Loads>>,
}

/// Runs `model` from a cut on, or from its start, until it is told to hand over.
pub(crate) fn stage<M: Model, B: Buffer<Message<M>> + Send>(
    model: &M,
    settings: &OwnSettings,
    ranks: &Ranks<'_>,
    watch: &mut Watch<'_>,
    started: Instant,
    beginning: Beginning<M, B>,
) -> Result<StageAndWidth<M, B>, Failure> {
    let make = || SpeculativeShared::new(model, settings, ranks, beginning);
    let shared = run::at_start(&settings.parallel(), make)?;
    all_workers(&shared, watch, started)
}

/// Runs all workers, from the start or a cut to the end.
fn all_workers<M: Model, B: Buffer<Message<M>> + Send>(
    shared: &SpeculativeShared<'_, M, B>,
    watch: &mut Watch<'_>,
    started: Instant,
) -> Result<StageAndWidth<M, B>, Failure> {
    let work = |me, watch: &mut Watch<'_>| work(shared, me, watch, started);
    watch.show(&shared.shown);
    let refused = || shared.resize.set_broken();
    let results = threads::at_once(shared.workers(), watch, &shared.failure, refused, work);
    conclude(shared, results)
}

/// What a worker returns at its end.
struct WorkerResult<L, B> {
    lps: Vec<Lp<L>>,
    /// How many events are left; and these themselves, if another stage may follow.
    left: u64,
    pending: Vec<PlainEvent<B>>,
    log_end: u64,
    is_interrupted: bool,
    tally: Tally,
    costs: Costs,
    width: Option<FoundWidth>,
    /// Where its memory is, if it was placed.
    residency: Option<Residency>,
}

/// Runs one worker, from its start to its end.
fn work<M: Model, B: Buffer<Message<M>> + Send>(
    shared: &SpeculativeShared<'_, M, B>,
    me: usize,
    watch: &mut Watch<'_>,
    started: Instant,
) -> WorkerResult<M::Lp, B> {
    let resources = ThreadResources::take(&shared.directory, me, &shared.settings.parallel());
    // If a bug of the engine lets this worker panic, the others must not wait for it.
    let alarm = Alarm::new(|| shared.resize.set_broken());
    let mut monitor = shared.monitor(watch, started);
    let mut worker = SpeculativeWorker::new(shared, me);
    worker.costs.record(monitor.recorder(0, me));
    worker.work(&mut monitor);
    worker.end_costs();
    shared.shown[me].show(Activity::Ended);
    alarm.disarm();
    let residency = resources.give_back();
    monitor.resume_panic();
    worker.sampler.hand_in(shared.directory.lps_of(me));
    let log_end = worker.sender.undo_log.back();
    let SpeculativeWorker { lps, left, pending, is_interrupted, tally, costs, control, .. } =
        worker;
    debug_assert!(
        pending.iter().all(|event| !event.is_anti()),
        "SPEC-C: an anti-message is left, and so is its event"
    );
    let pending = pending.into_iter().filter_map(Event::into_plain).collect();
    let width = control.map(|control| FoundWidth {
        workers: shared.workers(),
        base: worker.base_width,
        control,
    });
    WorkerResult { lps, left, pending, log_end, is_interrupted, tally, costs, width, residency }
}

/// What the run has done, from the results of its workers.
fn conclude<M: Model, B: Buffer<Message<M>>>(
    shared: &SpeculativeShared<'_, M, B>,
    mut results: Vec<WorkerResult<M::Lp, B>>,
) -> Result<StageAndWidth<M, B>, Failure> {
    if shared.failure.is_known() {
        return Err(shared.failure.take());
    }
    let sum = |count: fn(&Tally) -> u64| results.iter().map(|worker| count(&worker.tally)).sum();
    let all_committed: u64 = sum(|tally| tally.committed);
    let committed = all_committed - shared.committed_before;
    let last_time = results.iter().map(|worker| worker.tally.last_time).max().unwrap_or_default();
    let unlimited_peak = || sum(|tally| tally.peak) * event_bytes::<M>();
    let totals = Totals {
        committed_events: committed,
        processed_events: sum(|tally| tally.processed),
        rolled_back_events: sum(|tally| tally.processed) - committed,
        rollbacks: sum(|tally| tally.rollbacks),
        gvt_rounds: results.iter().map(|worker| worker.tally.windows).max().unwrap_or(0),
        peak_buffer_bytes: shared.budget.peak().unwrap_or_else(unlimited_peak),
        ..Totals::default()
    };
    let mut details = Details {
        counters: vec![
            ("windows", totals.gvt_rounds),
            ("late_events", sum(|tally| tally.late)),
            ("coasted_events", sum(|tally| tally.coasted)),
            ("deep_rollbacks", sum(|tally| tally.deep_rollbacks)),
            ("resizes", results.iter().map(|worker| worker.tally.resizes).max().unwrap_or(0)),
            ("events_one_by_one", sum(|tally| tally.sequential)),
        ],
        remarks: diagnosis::remarks(shared.workers(), &totals, sum(|tally| tally.sequential)),
        costs: Costs::table(results.iter().map(|worker| &worker.costs), committed),
        heap_memory: shared.heap_memory(),
        ..Details::default()
    };
    let mut residencies = results.iter().map(|worker| worker.residency);
    details.counters.extend(thread_resources::counters(&mut residencies));
    let interrupted = results.iter().any(|worker| worker.is_interrupted);
    let width = results.first_mut().and_then(|first| first.width.take());
    let left: u64 = results.iter().map(|worker| worker.left).sum();
    let part = |WorkerResult { lps, pending, log_end, .. }| Cut { lps, pending, log_end };
    let cut = Cut::unite(&shared.directory, results.into_iter().map(part).collect());
    debug_assert!(
        !interrupted || cut.pending.len() as u64 == left,
        "CUT-A: {} of {left} events are handed over",
        cut.pending.len()
    );
    let sent: u64 = cut.lps.iter().map(|lp| lp.core.sent).sum();
    if sent != all_committed + left {
        // SPEC-D.
        shared.fail_to_repeat(0, None, None);
        return Err(shared.failure.take());
    }
    Ok((Stage { interrupted, has_given_up: false, last_time, totals, details, cut }, width))
}

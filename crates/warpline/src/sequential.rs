//! The sequential engine: one event after the other, in the order of their keys.
//!
//! It is the oracle that every other engine is compared with, so it has to be believed at sight;
//! and it is the baseline of every speed-up, so it has to be fast. [`Sequential::step`] is all of
//! it.
//!
//! # Invariants
//!
//! - **SEQ-A.** The keys of the events handled never decrease.
//! - **SEQ-B.** Every event that was sent has been handled once or is pending, or lies at or beyond
//!   the end of the run. Checked at the end of every run.

use std::{mem::needs_drop, time::Instant};

use warpline_core::{
    CommitDigest, EventKey, Fault, Io, LogicalProcess, LpId, Model, ModelError, Place, VirtualTime,
};
use warpline_memory::{prefetch_ends, try_reserve_exact};

use crate::{
    ConfigError, Details, EngineKind, HeapMemory, PendingKind, Progress, Report, RunError, Totals,
    checks::Arrival,
    cut::{Cut, Rest, Whole},
    event::{Boxed, Buffer, Event, INLINE_BYTES_MAX, Inline, Message},
    handling::{self, Admission, Cause, Core, CutOff, Halt, Handling, Lp},
    monitor::Board,
    panics,
    pending::{AnyFamily, PREFETCH_AHEAD, PendingFamily, PendingSet, family},
    settings::{self, Settings},
    watch::Watch,
};

mod execution;
mod intervals;
mod sending;
mod slices;
mod stage;
mod trial;
mod variants;

use execution::{Chosen, Execution, Once};
use sending::{Heap, SequentialSender};
pub(crate) use stage::stage;
pub(crate) use trial::count;
pub(crate) use variants::{check_reversal, check_saving, in_intervals, profile, some_events};

/// What a sequential run reads.
type OwnSettings = Settings<settings::Sequential>;

/// Events handled between two looks at the clock, at the most.
const SLICE_EVENTS_MAX: u32 = 4096;

/// Runs `model` from a cut, or from its start, to its end, with the pending set that the settings
/// name.
pub(crate) fn run<M: Model>(
    model: &M,
    settings: &OwnSettings,
    watch: &mut Watch<'_>,
    from: Option<Whole<M>>,
) -> Result<Report<Rest<M>>, RunError> {
    run_as(EngineKind::Sequential, model, settings, watch, from)
}

/// The same for a parallel engine with a single worker: its reports and errors name that engine.
pub(crate) fn run_as<M: Model>(
    engine: EngineKind,
    model: &M,
    settings: &OwnSettings,
    watch: &mut Watch<'_>,
    from: Option<Whole<M>>,
) -> Result<Report<Rest<M>>, RunError> {
    // The default set is compiled into the loop. For each other kind that would take as long to
    // build again, and a branch per operation is all it would save.
    match settings.engine.pending {
        PendingKind::Ladder => {
            execute::<M, family::Ladder, Once>(model, settings, watch, Once(engine), from)
        }
        _ => execute::<M, AnyFamily, Chosen<M>>(model, settings, watch, Chosen::Once(engine), from),
    }
}

/// Runs `model`, and handles its events as `execution` does.
fn execute<M: Model, P: PendingFamily, X: Execution<M>>(
    model: &M,
    settings: &OwnSettings,
    watch: &mut Watch<'_>,
    execution: X,
    from: Option<Whole<M>>,
) -> Result<Report<Rest<M>>, RunError> {
    let pending = settings.engine.pending;
    // Small messages lie inside the pending set; each large one stays in a buffer of its own.
    if const { size_of::<Message<M>>() <= INLINE_BYTES_MAX } {
        Sequential::<M, Inline<_>, P::Set<_>, X>::new(model, settings, P::set(pending), execution)?
            .run(watch, from)
    } else {
        Sequential::<M, Boxed<_>, P::Set<_>, X>::new(model, settings, P::set(pending), execution)?
            .run(watch, from)
    }
}

/// LPs that take less memory stay in the nearest cache: they need not be loaded ahead.
const CACHED_MAX: usize = 32 << 10;

/// A run: the LPs, the pending events, and how far it has come.
struct Sequential<'m, M: Model, B, S, X> {
    model: &'m M,
    name: String,
    lps: Vec<Lp<M::Lp>>,
    sender: SequentialSender<B, S>,
    /// The LP and the event that are being handled: an error states them.
    current: Option<(LpId, Option<EventKey>)>,
    now: VirtualTime,
    /// Where it stops for now: at the end of an interval, or of the run.
    bound: f64,
    committed: u64,
    /// Whether LPs are loaded ahead.
    prefetches: bool,
    /// What a monitor sees of a stage, and the events that were committed before it.
    board: Option<Board>,
    counted_before: u64,
    settings: OwnSettings,
    started: Instant,
    execution: X,
}

/// Why [`Sequential::advance`] returned.
#[derive(PartialEq, Eq)]
enum Stopped {
    /// No event is left before the bound.
    AtBound,
    /// There may be more.
    SliceOver,
}

impl<'m, M, B, S, X> Sequential<'m, M, B, S, X>
where
    M: Model,
    B: Buffer<Message<M>>,
    S: PendingSet<Event<B>>,
    X: Execution<M>,
{
    fn new(
        model: &'m M,
        settings: &OwnSettings,
        pending: S,
        mut execution: X,
    ) -> Result<Self, RunError> {
        let started = Instant::now();
        let (name, admission) = panics::catch(|| (model.name().to_owned(), Admission::new(model)))
            .map_err(|fault| model_error(fault, None, execution.engine(), settings))?;
        let admission = admission?;
        execution.prepare(admission.lp_count());
        // A table that does not fit is an error that says so, not an abort in the allocator.
        let mut lps = Vec::new();
        let n = admission.lp_count();
        if !try_reserve_exact(&mut lps, n) {
            let bytes = n.saturating_mul(size_of::<Lp<M::Lp>>());
            let allowed = format!("less: the LPs would take {bytes} bytes of memory");
            return Err(ConfigError::new("lp_count", n, allowed).into());
        }
        let peak_max = settings.memory.map_or(usize::MAX, |bytes| {
            usize::try_from(bytes / Self::event_bytes()).unwrap_or(usize::MAX)
        });
        let prefetches = n * size_of::<Lp<M::Lp>>() > CACHED_MAX;
        Ok(Self {
            model,
            name,
            lps,
            sender: SequentialSender {
                admission,
                pending,
                spares: Vec::new(),
                peak: 0,
                peak_max,
                heap: Heap {
                    of: |message| M::Lp::message_heap_bytes(message.get()),
                    bytes: 0,
                    bytes_peak: 0,
                    peak: 0,
                    peak_max: settings.memory.unwrap_or(u64::MAX),
                    event_bytes: Self::event_bytes(),
                },
                cut_off: CutOff::default(),
            },
            current: None,
            now: VirtualTime::ZERO,
            bound: settings.checked_end()?,
            committed: 0,
            prefetches,
            board: None,
            counted_before: 0,
            settings: settings.clone(),
            started,
            execution,
        })
    }

    /// Runs code of the model; its mistakes and panics become errors.
    fn guard<T>(&mut self, code: impl FnOnce(&mut Self) -> T) -> Result<T, RunError> {
        let outcome = panics::catch(|| code(self));
        self.sender.cut_off.settle(outcome).map_err(|halt| self.error(halt))
    }

    #[cold]
    fn error(&self, halt: Halt) -> RunError {
        match halt {
            Halt::Fault(fault) => {
                model_error(fault, self.current, self.execution.engine(), &self.settings)
            }
            Halt::OutOfBuffers => RunError::OutOfBuffers {
                place: place(self.current, self.execution.engine(), &self.settings),
                limit: self.settings.memory.unwrap_or(u64::MAX),
                events: self.sender.peak_max as u64,
                event_bytes: Self::event_bytes(),
            },
            Halt::Stopped => unreachable!("nothing but a start is cut off for that"),
        }
    }

    /// Makes the LPs and lets each send its first events, or as many until it is told to stop.
    fn start_guarded(&mut self, watch: &Watch<'_>) -> Result<(), RunError> {
        let outcome = panics::catch(|| self.start(watch));
        match self.sender.cut_off.settle(outcome) {
            Ok(()) | Err(Halt::Stopped) => Ok(()),
            Err(halt) => Err(self.error(halt)),
        }
    }

    fn start(&mut self, watch: &Watch<'_>) {
        for index in 0..self.sender.admission.lp_count() {
            if watch.stopped() {
                return;
            }
            let me = LpId::from_index(index);
            self.current = Some((me, None));
            self.lps.push(Lp::new(self.model, me, self.settings.seed));
            let Lp { state, core } = &mut self.lps[index];
            handling::start(state, core, self.model, me, &mut self.sender, || watch.stopped());
        }
    }

    /// Runs to the end, an error, or an interruption.
    fn run(
        mut self,
        watch: &mut Watch<'_>,
        from: Option<Whole<M>>,
    ) -> Result<Report<Rest<M>>, RunError> {
        let report = self.run_to_report(watch, from);
        // Messages that are still pending are values of the model, whose drop may panic.
        let (settings, engine) = (self.settings.clone(), self.execution.engine());
        let started = self.started;
        let dropped = panics::catch(move || drop(self));
        let report = report?;
        dropped.map_err(|fault| model_error(fault, None, engine, &settings))?;
        // With what it takes to drop them: for a million of them, a tenth of a run of a second. The
        // workers of the other engines drop theirs before the run ends.
        Ok(Report { wall: started.elapsed(), ..report })
    }

    fn run_to_report(
        &mut self,
        watch: &mut Watch<'_>,
        from: Option<Whole<M>>,
    ) -> Result<Report<Rest<M>>, RunError> {
        let interrupted = match from {
            Some(whole) => {
                self.counted_before = whole.0.committed();
                self.resume(whole.into_cut(), watch)?
            }
            None => self.begin(watch)?,
        };
        // The last look; it comes too late to interrupt anything.
        let _ = watch.observe(&self.progress());
        self.finish(interrupted)
    }

    /// Runs from the start to the end, an error, or an interruption; returns whether there was one.
    fn begin(&mut self, watch: &mut Watch<'_>) -> Result<bool, RunError> {
        self.start_guarded(watch)?;
        while let Some(bound) = self.execution.next_bound() {
            self.bound = bound;
            if self.advance_to_bound(watch)? {
                return Ok(true);
            }
            self.guard(|run| run.execution.at_bound(run.model, &run.lps, bound))?;
        }
        self.bound = self.settings.end;
        self.advance_to_bound(watch)
    }

    /// Runs from a cut to the end, an error, or an interruption; returns whether there was one.
    fn resume(
        &mut self,
        cut: Cut<M::Lp, Event<B>>,
        watch: &mut Watch<'_>,
    ) -> Result<bool, RunError> {
        self.committed = cut.committed();
        debug_assert!(self.lps.is_empty(), "CUT-A: a run that has begun is resumed");
        self.lps = cut.lps;
        self.sender.peak = cut.pending.len();
        // An engine that needs less memory for an event may have left it.
        let mut fits = self.sender.peak <= self.sender.peak_max;
        for (place, event) in cut.pending.into_iter().enumerate() {
            fits &= self.sender.heap.charge(&event.message, place + 1);
            self.sender.pending.insert(event);
        }
        if !fits {
            return Err(self.error(Halt::OutOfBuffers));
        }
        self.advance_to_bound(watch)
    }

    /// Handles `slice` events, unless there is a reason to stop earlier.
    fn advance(&mut self, slice: u32) -> Stopped {
        for _ in 0..slice {
            let Some(event) = self.sender.pending.pop() else { return Stopped::AtBound };
            if event.key.time_value() >= self.bound || self.execution.is_over(event.io.get()) {
                self.sender.pending.insert(event);
                return Stopped::AtBound;
            }
            if self.prefetches
                && let Some(later) = self.sender.pending.upcoming(PREFETCH_AHEAD)
                && let Some(lp) = self.lps.get(later.to.index())
            {
                prefetch_ends(lp);
            }
            self.step(event);
        }
        Stopped::SliceOver
    }

    /// Handles one event, and commits it.
    #[inline]
    fn step(&mut self, event: Event<B>) {
        let Event { key, to, io, message } = event;
        debug_assert!(self.now <= key.time(), "SEQ-A: {key:?} after {}", self.now);
        debug_assert!(key.time_value() < self.bound, "SEQ-B: {key:?} is not before the bound");
        debug_assert!(to.index() < self.lps.len(), "{to} is no LP of the model");
        self.now = key.time();
        self.current = Some((to, Some(key)));
        let lp = &mut self.lps[to.index()];
        let sender = &mut self.sender;
        debug_assert!(sender.pending.len() <= sender.peak, "more events are pending than the peak");
        let before = lp.core.sent;
        self.execution.begin();
        match io.get() {
            None => {
                let event = Arrival { key: &key, to, message: message.get() };
                self.execution.handle(self.model, event, lp, sender);
            }
            Some(Io::Blocking) => {
                let Lp { state, core: Core { rng, sent, .. } } = lp;
                let cause = Cause::event(&key, to);
                let mut cx = Handling { cause, rng, sent, sink: sender };
                cx.handle_io(state, self.model, message.get());
            }
            Some(Io::NonBlocking) if self.execution.writes() => {
                M::Lp::output(self.model, to, &key, message.get());
            }
            Some(Io::NonBlocking) => {}
        }
        debug_assert!(before <= lp.core.sent, "an LP has sent fewer events than before");
        self.execution.end(&key, to, &(before..lp.core.sent));
        lp.core.digest.commit(&key, M::Lp::fingerprint(self.model, message.get()));
        self.committed += 1;
        if !const { needs_drop::<Message<M>>() } || self.sender.heap.refund(&message) {
            message.recycle(&mut self.sender.spares);
        }
    }

    fn finish(&mut self, interrupted: bool) -> Result<Report<Rest<M>>, RunError> {
        let sent: u64 = self.lps.iter().map(|lp| lp.core.sent).sum();
        let pending = self.sender.pending.len() as u64;
        assert_eq!(sent, self.committed + pending, "SEQ-B: events were lost or doubled");

        // If it ended before an event that was not to be handled.
        let interrupted = interrupted || self.execution.is_over(None);
        let mut digest = CommitDigest::default();
        for (index, lp) in self.lps.iter().enumerate() {
            digest.add_lp(LpId::from_index(index), lp.core.digest, &lp.core.rng, lp.core.sent);
        }
        let end_time = self.settings.ended_at(self.now, interrupted);
        let rest = self.rest(end_time, interrupted)?;
        Ok(Report {
            model: std::mem::take(&mut self.name),
            engine: self.execution.engine(),
            ranks: 1,
            workers: 1,
            seed: self.settings.seed,
            end_time,
            interrupted,
            wall: self.started.elapsed(),
            totals: Totals { digest, ..self.totals() },
            details: Details { heap_memory: self.heap_memory(), ..self.execution.details() },
            output: rest,
            intervals: self.execution.take_intervals().into_iter().map(Rest::Output).collect(),
        })
    }

    fn rest(&mut self, end_time: VirtualTime, interrupted: bool) -> Result<Rest<M>, RunError> {
        let Settings { leaves_cut, reports_if_stopped, .. } = self.settings;
        if !leaves_cut || interrupted && reports_if_stopped {
            return self.guard(|run| run.reduce(end_time)).map(Rest::Output);
        }
        let mut pending = Vec::with_capacity(self.sender.pending.len());
        self.sender.pending.drain_into(&mut pending);
        debug_assert_eq!(self.sender.pending.len(), 0, "CUT-A: an event is left behind");
        Ok(Rest::Cut(Whole::of(Cut::new(std::mem::take(&mut self.lps), pending))))
    }

    fn heap_memory(&self) -> HeapMemory {
        HeapMemory::counted::<M>(false, self.sender.heap.bytes_peak)
    }

    /// Those of the run so far, without the digest.
    fn totals(&self) -> Totals {
        let committed = self.committed - self.counted_before;
        Totals {
            committed_events: committed,
            processed_events: committed,
            peak_buffer_bytes: self
                .sender
                .heap
                .peak
                .max(self.sender.peak as u64 * Self::event_bytes()),
            ..Totals::default()
        }
    }

    /// Takes the LPs apart, in their order, and folds their summaries.
    fn reduce(&mut self, end_time: VirtualTime) -> M::Output {
        let Self { model, lps, current, .. } = self;
        *current = None;
        let summaries = std::mem::take(lps).into_iter().enumerate().map(|(index, lp)| {
            *current = Some((LpId::from_index(index), None));
            let summary = lp.state.finish(model, end_time);
            *current = None;
            summary
        });
        model.reduce(summaries)
    }

    fn progress(&self) -> Progress {
        Progress {
            virtual_time: self.now,
            end: VirtualTime::new(self.settings.end).unwrap_or(VirtualTime::MAX),
            committed_events: self.committed,
            processed_events: self.committed,
            wall: self.started.elapsed(),
        }
    }

    /// The bytes that the buffer of one event takes.
    fn event_bytes() -> u64 {
        (size_of::<Event<B>>() + B::BYTES_ELSEWHERE) as u64
    }
}

/// The place of an error: an LP and an event, an LP, or neither.
#[cold]
fn place(
    current: Option<(LpId, Option<EventKey>)>,
    engine: EngineKind,
    settings: &OwnSettings,
) -> Place {
    let (lp, event) = (current.map(|(lp, _)| lp), current.and_then(|(_, event)| event));
    Place { lp, event, engine: engine.name(), worker: 0, seed: settings.seed }
}

#[cold]
fn model_error(
    fault: Fault,
    current: Option<(LpId, Option<EventKey>)>,
    engine: EngineKind,
    settings: &OwnSettings,
) -> RunError {
    ModelError { fault, place: place(current, engine, settings) }.into()
}

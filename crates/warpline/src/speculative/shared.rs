//! What the workers of a speculative run share.

use std::{
    mem::needs_drop,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use warpline_core::{
    EventKey, Fault, Io, LogicalProcess, LpId, Model, ModelError, Place, VirtualTime,
};
use warpline_memory::{CachePadded, Consumer, Producer, ring};

use super::{
    Beginning, event::Event, memory::Budget, resize::Resize, width::WidthControl, words::Words,
};
use crate::{
    EngineKind, HeapMemory, RunError, Speculative,
    cut::{Cut, Parts},
    event::{Buffer, Message, heap_bytes},
    handling::{Admission, CutOff, Halt},
    load_sharing::Loads,
    monitor::{Board, board},
    panics,
    placement::{LpDirectory, LpPlace},
    run::{FailureOrder, FirstFailure, ProgressMonitor, Ranks, Stop, threads},
    scheduling,
    settings::Settings,
    sorting,
    watch::{Timer, Watch},
};

/// Bytes of a ring, at the most: it should stay in a cache of the producer's core. (2 MiB cost half
/// the rate of W1.)
const RING_BYTES: usize = 128 << 10;
/// The most steps between two looks at the clock. A step is a tile of a window: one may take a
/// thousand times as long as that before it, and nobody would know how far the run is.
const STEPS_MAX: u32 = 32;
/// A worker that waits looks this often before it lets other threads have the core.
const SPINS: u32 = 2_000;
/// The same if there are more workers than cores.
const SPINS_FEW: u32 = 16;
/// After this number of looks, it sleeps.
const YIELDS: u32 = 20_000;
/// The same if there are more workers than cores: the one that all wait for has no core.
const YIELDS_FEW: u32 = 64;

/// In place of the slots of a window: it needs another grid.
pub(super) const ANOTHER_GRID: u64 = 0;

/// What all workers share.
pub(super) struct SpeculativeShared<'m, M: Model, B> {
    pub(super) model: &'m M,
    pub(super) settings: &'m Settings<Speculative>,
    pub(super) end: f64,
    /// The most events that the memory limit allows, if their messages own nothing.
    pub(super) events_max: u64,
    pub(super) budget: Budget,
    pub(super) admission: Admission,
    pub(super) directory: LpDirectory,
    /// The number of LPs in a tile is two to this power.
    pub(super) tile_bits: u32,
    spins: u32,
    yields: u32,
    /// The ends of the rings, until their workers take them.
    mail: Vec<Mutex<Mail<B>>>,
    /// What each worker begins with, if the run does not begin with it.
    pub(super) cut: Option<Parts<M::Lp, Event<B>>>,
    /// How many events were committed before this engine began.
    pub(super) committed_before: u64,
    /// The base width that another stage has found, and the control of widths from there.
    pub(super) width_before: Option<f64>,
    control: Mutex<Option<WidthControl>>,
    /// Where workers note how much they have to do, if LPs may move.
    pub(super) loads: Option<Arc<Loads>>,
    pub(super) words: Words,
    /// What workers show, for people.
    pub(super) shown: Board,
    /// How many slots the next windows have, by their number modulo 4. Only the first worker
    /// writes, and nobody reads a number before the word that was published after it.
    widths: CachePadded<[AtomicU64; 4]>,
    pub(super) resize: Resize<M, B>,
    /// Non-blocking I/O events that are committed and to be written, with their windows.
    outputs: Mutex<Vec<(u64, Event<B>)>>,
    has_outputs: AtomicBool,
    /// Committed events, for the progress. In a line of its own: all workers read what is beside.
    pub(super) committed: CachePadded<AtomicU64>,
    pub(super) stop: Stop,
    pub(super) failure: FirstFailure,
}

/// The rings of one worker: to each worker, and from each; none for itself.
#[derive(Debug)]
pub(super) struct Mail<B> {
    pub(super) to: Vec<Option<Producer<Event<B>>>>,
    pub(super) from: Vec<Consumer<Event<B>>>,
}

impl<B> Default for Mail<B> {
    fn default() -> Self {
        Self { to: Vec::new(), from: Vec::new() }
    }
}

impl<B> Mail<B> {
    /// Connects all workers with each other.
    fn connect(workers: usize) -> Vec<Mutex<Self>> {
        let capacity = (RING_BYTES / size_of::<Event<B>>()).max(64) / 2 + 1;
        let capacity = scheduling::ring_capacity(capacity);
        debug_assert!(capacity > 0, "a ring without a place");
        let mut all: Vec<Self> = (0..workers).map(|_| Self::default()).collect();
        for from in 0..workers {
            for to in 0..workers {
                if from == to {
                    all[from].to.push(None);
                } else {
                    let (producer, consumer) = ring(capacity);
                    all[from].to.push(Some(producer));
                    all[to].from.push(consumer);
                }
            }
        }
        all.into_iter().map(Mutex::new).collect()
    }
}

impl<'m, M: Model, B> SpeculativeShared<'m, M, B> {
    pub(super) fn new(
        model: &'m M,
        settings: &'m Settings<Speculative>,
        ranks: &Ranks<'_>,
        beginning: Beginning<M, B>,
    ) -> Result<Self, RunError> {
        let parallel = settings.parallel();
        parallel.validate()?;
        settings.engine.validate()?;
        let admission = Admission::new(model)?;
        let workers = settings.engine.workers;
        let here = ranks.here(&parallel);
        let lps = admission.lp_count();
        let directory = LpDirectory::new(model, lps, parallel.placement, workers, here)?;
        let Beginning { cut, width, loads } = beginning;
        let committed_before = cut.as_ref().map_or(0, Cut::committed);
        let cut = cut.map(|cut| cut.divide(&directory, |event| event.to));
        let (width_before, control) =
            width.map(|width: super::FoundWidth| width.resume(workers)).unzip();
        debug_assert!(width_before.is_none_or(|width| width > 0.0), "windows of no width");
        let most = (0..workers).map(|me| directory.lps_of(me).len()).max().unwrap_or(0);
        Ok(Self {
            model,
            settings,
            end: settings.checked_end()?,
            events_max: settings.memory.map_or(u64::MAX, |bytes| bytes / super::event_bytes::<M>()),
            budget: Budget::new(settings.memory),
            directory,
            tile_bits: scheduling::tile_bits(tile_bits(most, workers, size_of::<M::Lp>())),
            spins: if workers > threads::cores() { SPINS_FEW } else { SPINS },
            yields: if workers > threads::cores() { YIELDS_FEW } else { YIELDS },
            mail: Mail::connect(workers),
            cut,
            committed_before,
            width_before,
            control: Mutex::new(control.flatten()),
            loads,
            words: Words::new(workers),
            shown: board(workers),
            widths: CachePadded::default(),
            resize: Resize::new(workers, lps),
            outputs: Mutex::default(),
            has_outputs: AtomicBool::new(false),
            committed: CachePadded::new(AtomicU64::new(committed_before)),
            stop: Stop::default(),
            failure: FirstFailure::default(),
            admission,
        })
    }

    pub(super) const fn workers(&self) -> usize {
        self.settings.engine.workers
    }

    /// The width of windows that a stage before has found, or the user has given.
    pub(super) fn known_width(&self) -> Option<f64> {
        let found = self.width_before.filter(|width| width.is_finite());
        found.or(self.settings.engine.width.value())
    }

    #[inline]
    pub(super) fn place(&self, lp: LpId) -> LpPlace {
        self.directory.place(lp)
    }

    /// Where the run ends; the greatest time if it has no end.
    pub(super) fn end_time(&self) -> VirtualTime {
        VirtualTime::new(self.end).unwrap_or(VirtualTime::MAX)
    }

    /// The rings of worker `me`.
    pub(super) fn take_mail(&self, me: usize) -> Mail<B> {
        let mail =
            std::mem::take(&mut *self.mail[me].lock().unwrap_or_else(PoisonError::into_inner));
        debug_assert_eq!(mail.to.len(), self.workers(), "the mail of worker {me} was taken before");
        mail
    }

    /// The control of widths of another stage.
    pub(super) fn take_control(&self) -> Option<WidthControl> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// A worker's progress monitor.
    pub(super) fn monitor<'a, 'w>(
        &'a self,
        watch: &'a mut Watch<'w>,
        started: Instant,
    ) -> ProgressMonitor<'a, 'w> {
        let timer = Timer::new(started, STEPS_MAX);
        ProgressMonitor::new(watch, &self.stop, &self.committed, self.end_time(), timer)
    }

    /// Counts what all workers have committed, for the progress; returns the average of a worker.
    /// Only the first worker does: what another one has counted before it may come after it.
    pub(super) fn count_committed(&self) -> i64 {
        let events = self.words.committed();
        scheduling::point();
        // Ordering: Relaxed, here and below; a count for people.
        debug_assert!(
            self.committed.load(Ordering::Relaxed) <= events,
            "CUT-A: the progress goes back"
        );
        self.committed.store(events, Ordering::Relaxed);
        (events / self.workers() as u64) as i64
    }

    /// How many slots this window has.
    #[inline]
    pub(super) fn width(&self, window: u64) -> u64 {
        // Ordering: Relaxed; the word that was published after it has been read (WORD-1).
        self.widths[(window % 4) as usize].load(Ordering::Relaxed)
    }

    /// Sets the number of slots of a window.
    #[inline]
    pub(super) fn set_width(&self, window: u64, slots: u64) {
        // Mostly it is the same, and the other workers have the line.
        if self.width(window) != slots {
            // Ordering: Relaxed, see `width`.
            self.widths[(window % 4) as usize].store(slots, Ordering::Relaxed);
        }
    }

    /// Sets the number of slots of all windows to come.
    pub(super) fn set_widths(&self, slots: u64) {
        debug_assert_ne!(slots, ANOTHER_GRID, "windows without a slot");
        (0..4).for_each(|window| self.set_width(window, slots));
    }

    /// Waits a little, for the `waited`-th time in a row.
    pub(super) fn wait(&self, waited: u32) {
        if !scheduling::waits() {
            threads::wait(waited, self.spins, self.yields);
        }
    }

    /// Leaves committed outputs of a window to be written.
    #[cold]
    pub(super) fn leave_outputs(&self, window: u64, outputs: &mut Vec<Event<B>>) {
        debug_assert!(
            outputs.iter().all(|event| event.io == Some(Io::NonBlocking)),
            "RESIZE-A: window {window} has handled an event that may wait"
        );
        let mut all = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(outputs.drain(..).map(|event| (window, event)));
        // Ordering: Relaxed; a hint to the first worker, who locks.
        self.has_outputs.store(true, Ordering::Relaxed);
    }

    /// Whether there may be outputs to be written.
    #[inline]
    pub(super) fn has_outputs(&self) -> bool {
        // Ordering: Relaxed; see `leave_outputs`.
        self.has_outputs.load(Ordering::Relaxed)
    }

    /// Takes the outputs of all windows before this one, in the order of their keys.
    pub(super) fn take_outputs(&self, before: u64) -> Vec<Event<B>> {
        let mut all = self.outputs.lock().unwrap_or_else(PoisonError::into_inner);
        let due = all.extract_if(.., |(window, _)| *window < before);
        let mut due: Vec<_> = due.map(|(_, event)| event).collect();
        // Ordering: Relaxed; see `leave_outputs`.
        self.has_outputs.store(!all.is_empty(), Ordering::Relaxed);
        let keys: Vec<_> = due.iter().map(|event| event.key).collect();
        sorting::arrange(&mut due, sorting::order_of_events(&keys));
        debug_assert!(due.iter().all(|event| !event.is_anti()), "a canceled event is written");
        debug_assert!(
            due.is_sorted_by(|one, next| one.key < next.key),
            "SPEC-D: an I/O event is committed twice"
        );
        due
    }

    /// Runs code of the model as worker `me`. If it fails or panics, that is noted as the run's
    /// failure; returns whether it came to its end.
    pub(super) fn guard<T>(
        &self,
        me: usize,
        worker: &mut T,
        context: fn(&mut T) -> &mut ErrorContext,
        code: impl FnOnce(&mut T),
    ) -> bool {
        let outcome = panics::catch(|| code(worker));
        let context = context(worker);
        context.cut_off.settle(outcome).map_err(|halt| self.note_halt(me, context, halt)).is_ok()
    }

    /// Notes as the run's failure why code of the model could not go on. To stop is no failure.
    #[cold]
    fn note_halt(&self, me: usize, context: &ErrorContext, halt: Halt) {
        let place = self.place_of_error(me, context.lp, context.event);
        let error = match halt {
            Halt::Fault(fault) => ModelError { fault, place }.into(),
            Halt::OutOfBuffers => self.out_of_buffers(place),
            Halt::Stopped => return,
        };
        let start = FailureOrder::Start(context.lp.unwrap_or_default());
        self.failure.note(context.event.map_or(start, FailureOrder::Event), error);
    }

    /// What a message owns, where it is counted.
    #[inline]
    pub(super) fn owned(&self, message: &B) -> u64
    where
        B: Buffer<Message<M>>,
    {
        let is_counted = const { needs_drop::<Message<M>>() } && self.budget.is_limited();
        if is_counted { heap_bytes::<M>(message) } else { 0 }
    }

    /// What the report says of the heap.
    pub(super) fn heap_memory(&self) -> HeapMemory {
        if self.settings.memory.is_none() {
            return HeapMemory::not_counted::<M>(true);
        }
        HeapMemory::counted::<M>(true, self.budget.owned_peak())
    }

    /// Notes that an LP, if it is known, has run differently when it handled its events again.
    #[cold]
    pub(super) fn fail_to_repeat(&self, me: usize, lp: Option<LpId>, event: Option<EventKey>) {
        let place = self.place_of_error(me, lp, event);
        let order = match (lp, event) {
            (_, Some(event)) => FailureOrder::Event(event),
            (Some(lp), None) => FailureOrder::Start(lp),
            (None, None) => FailureOrder::End,
        };
        self.failure.note(order, ModelError { fault: Fault::RanDifferently, place }.into());
    }

    /// Notes that all workers together hold more events than the memory limit allows.
    pub(super) fn fail_for_memory(&self) {
        let place = self.place_of_error(0, None, None);
        self.failure.note(FailureOrder::End, self.out_of_buffers(place));
    }

    /// Where something has failed at a worker.
    fn place_of_error(&self, worker: usize, lp: Option<LpId>, event: Option<EventKey>) -> Place {
        debug_assert!(worker < self.workers(), "there is no worker {worker}");
        let (engine, seed) = (EngineKind::Speculative.name(), self.settings.seed);
        Place { lp, event, engine, worker, seed }
    }

    /// The failure of a run that holds more events than the memory limit allows.
    fn out_of_buffers(&self, place: Place) -> RunError {
        debug_assert!(self.budget.is_limited(), "SPEC-F: refused, and there is no limit");
        RunError::OutOfBuffers {
            place,
            limit: self.settings.memory.unwrap_or(u64::MAX),
            events: self.events_max,
            event_bytes: super::event_bytes::<M>(),
        }
    }

    /// Writes non-blocking I/O events, which are committed; none after an event that has failed.
    #[cold]
    pub(super) fn write_outputs(&self, me: usize, context: &mut ErrorContext, before: u64)
    where
        B: Buffer<Message<M>>,
    {
        if let Some(FailureOrder::Event(_)) = self.failure.order() {
            return;
        }
        let outputs = self.take_outputs(before);
        self.guard(
            me,
            context,
            |context| context,
            |context| {
                for Event { key, to, message, .. } in &outputs {
                    (context.lp, context.event) = (Some(*to), Some(*key));
                    if let Some(message) = message {
                        M::Lp::output(self.model, *to, key, message.get());
                    }
                }
            },
        );
    }
}

/// Which code of the model a worker runs: the place that an error names.
#[derive(Debug, Default)]
pub(super) struct ErrorContext {
    pub(super) lp: Option<LpId>,
    pub(super) event: Option<EventKey>,
    pub(super) cut_off: CutOff,
}

/// How many LPs make a tile, as a power of two: about four tiles per worker, so that there is work
/// between two looks at the mail, if there is mail; and no more LPs than fit into a second-level
/// cache with their events.
fn tile_bits(lps: usize, workers: usize, lp_bytes: usize) -> u32 {
    const TILE_BYTES: usize = 128 << 10;
    let cached = (TILE_BYTES / lp_bytes.max(64)).max(32);
    let tiles = if workers > 1 { 4 } else { 2 };
    debug_assert!(cached >= 32, "a tile of fewer LPs than the least");
    (lps / tiles).clamp(32, cached).ilog2()
}

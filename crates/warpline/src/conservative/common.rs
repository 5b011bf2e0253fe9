//! What the workers of a rank share in both algorithms: the model and the settings, where LPs are,
//! failures, outputs, memory.
//!
//! Made by [`execute`](super::algorithm::execute); each algorithm has it in its own `WindowShared`
//! or `NullMessageShared`.

use std::{
    mem::needs_drop,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::Instant,
};

use warpline_core::{LogicalProcess, Model, ModelError, Place, VirtualTime};

use super::{
    error_context::{ErrorContext, HasErrorContext},
    memory::MemoryBudget,
};
use crate::{
    Conservative, EngineKind, RunError, SynchronizationKind,
    cut::{Cut, Parts},
    event::{Buffer, Event, Message, heap_bytes},
    handling::{Admission, Halt},
    load_sharing::Loads,
    monitor::{Board, board},
    panics,
    placement::LpDirectory,
    run::{FailureOrder, FirstFailure, ProgressMonitor, Ranks, Stop, threads},
    settings::Settings,
    sorting,
    watch::{Timer, Watch},
};

/// The most steps between two looks at the clock. A step is about an event.
const STEPS_MAX: u32 = 4096;
/// A worker that waits looks this often before it lets other threads have the core.
const SPINS: u32 = 2_000;
/// The same if there are more workers than cores.
const SPINS_FEW: u32 = 16;
/// After this number of looks, it sleeps.
pub(super) const YIELDS: u32 = 4_000;

/// What a stage begins with, unless it begins the run; and where workers note how much they have to
/// do, if LPs may move.
pub(super) type Beginning<L, B> = (Option<Cut<L, Event<B>>>, Option<Arc<Loads>>);

/// What all workers of a rank share.
pub(super) struct Common<'m, M: Model, B> {
    pub(super) model: &'m M,
    pub(super) settings: &'m Settings<Conservative>,
    pub(super) ranks: &'m Ranks<'m>,
    pub(super) mode: SynchronizationKind,
    /// How often a worker that waits looks before it lets other threads have the core.
    pub(super) spins: u32,
    pub(super) end: f64,
    pub(super) admission: Admission,
    pub(super) directory: LpDirectory,
    /// Non-blocking I/O events that are to be written.
    outputs: Mutex<Vec<Event<B>>>,
    pub(super) failure: FirstFailure,
    pub(super) stop: Stop,
    /// The number of committed events so far, for the progress.
    pub(super) committed: AtomicU64,
    pub(super) memory: MemoryBudget,
    /// How many events were committed before this engine began.
    pub(super) committed_before: u64,
    /// What each worker begins with, if the run does not begin with it.
    pub(super) cut: Option<Parts<M::Lp, Event<B>>>,
    /// Where workers note how much they have to do, if LPs may move.
    pub(super) loads: Option<Arc<Loads>>,
    /// What workers show, for people.
    pub(super) shown: Board,
}

impl<'m, M: Model, B> Common<'m, M, B> {
    pub(super) fn new(
        model: &'m M,
        settings: &'m Settings<Conservative>,
        ranks: &'m Ranks<'m>,
        mode: SynchronizationKind,
        event_bytes: u64,
        (cut, loads): Beginning<M::Lp, B>,
    ) -> Result<Self, RunError> {
        let parallel = settings.parallel();
        parallel.validate()?;
        let admission = Admission::new(model)?;
        let (all, here) = (ranks.workers(&parallel), ranks.here(&parallel));
        let lps = admission.lp_count();
        let directory = LpDirectory::new(model, lps, parallel.placement, all, here)?;
        let committed_before = cut.as_ref().map_or(0, Cut::committed);
        let memory = MemoryBudget::new(settings.memory, event_bytes);
        memory.take_over(cut.as_ref().map_or(0, |cut| cut.pending.len()), 0);
        debug_assert_eq!(directory.lp_count(), lps, "PLACE-A: an LP has no place, or two");
        let divide = |cut: Cut<_, _>| cut.divide(&directory, |event: &Event<B>| event.to);
        Ok(Self {
            cut: cut.map(divide),
            model,
            settings,
            ranks,
            mode,
            spins: if all > threads::cores() { SPINS_FEW } else { SPINS },
            end: settings.checked_end()?,
            directory,
            admission,
            outputs: Mutex::default(),
            failure: FirstFailure::default(),
            stop: Stop::default(),
            // Of several ranks, the session knows.
            committed: AtomicU64::new(if ranks.count() > 1 { 0 } else { committed_before }),
            memory,
            committed_before,
            loads,
            shown: board(settings.engine.workers),
        })
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

    /// The number of workers of this rank.
    pub(super) const fn workers(&self) -> usize {
        self.settings.engine.workers
    }

    /// Where the run ends; the greatest time if it has no end.
    pub(super) fn end_time(&self) -> VirtualTime {
        VirtualTime::new(self.end).unwrap_or(VirtualTime::MAX)
    }

    /// The non-blocking I/O events that workers have handled, to be written in the order of keys.
    pub(super) fn lock_outputs(&self) -> MutexGuard<'_, Vec<Event<B>>> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs code of the model at worker `me` of this rank. If it fails or panics, that is noted as
    /// the run's failure, and its place is returned.
    pub(super) fn guard<T: HasErrorContext>(
        &self,
        me: usize,
        worker: &mut T,
        code: impl FnOnce(&mut T),
    ) -> Option<FailureOrder> {
        let outcome = panics::catch(|| code(worker));
        let context = worker.error_context();
        let halt = context.cut_off.settle(outcome).err()?;
        self.fail(me, context, halt)
    }

    /// Notes as the run's failure why code of the model could not go on. To stop is no failure.
    #[cold]
    fn fail(&self, me: usize, context: &ErrorContext, halt: Halt) -> Option<FailureOrder> {
        let (engine, seed) = (EngineKind::Conservative.name(), self.settings.seed);
        let place = Place { lp: context.lp, event: context.event, engine, worker: me, seed };
        let error = match halt {
            Halt::Fault(fault) => ModelError { fault, place }.into(),
            Halt::OutOfBuffers => self.memory.out_of_buffers(place),
            Halt::Stopped => return None,
        };
        let start = FailureOrder::Start(context.lp.unwrap_or_default());
        let order = context.event.map_or(start, FailureOrder::Event);
        self.failure.note(order, error);
        Some(order)
    }

    /// Writes non-blocking I/O events in the order of their keys, up to a failure at `limit`.
    pub(super) fn write_outputs<T: HasErrorContext>(
        &self,
        me: usize,
        worker: &mut T,
        outputs: Vec<Event<B>>,
        limit: FailureOrder,
    ) -> Option<FailureOrder>
    where
        B: Buffer<Message<M>>,
    {
        let keys: Vec<_> = outputs.iter().map(|event| event.key).collect();
        let order = sorting::order_of_events(&keys);
        // The closure owns them, so that they are dropped where a panic is caught.
        self.guard(me, worker, |worker| {
            let outputs = outputs;
            debug_assert_eq!(order.len(), outputs.len(), "an output was lost");
            let in_order = order.into_iter().map(|place| &outputs[place]);
            for event in in_order.filter(|event| FailureOrder::Event(event.key) < limit) {
                let context = worker.error_context();
                (context.lp, context.event) = (Some(event.to), Some(event.key));
                M::Lp::output(self.model, event.to, &event.key, event.message.get());
            }
        })
    }

    /// What a message owns, where it is counted.
    #[inline]
    pub(super) fn owned(&self, message: &B) -> u64
    where
        B: Buffer<Message<M>>,
    {
        let is_counted = const { needs_drop::<Message<M>>() } && self.memory.is_limited();
        if is_counted { heap_bytes::<M>(message) } else { 0 }
    }

    /// Runs code that drops values of the model, which may panic.
    pub(super) fn drop_guarded(&self, code: impl FnOnce()) {
        if let Err(fault) = panics::catch(code) {
            self.failure.note(FailureOrder::End, super::model_error(fault, self.settings));
        }
    }
}

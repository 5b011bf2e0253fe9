//! How the sequential engine handles an event: the engines that are variants of it.

use std::ops::Range;

use warpline_core::{EventKey, Io, LogicalProcess, LpId, Model};

use crate::{
    Details, EngineKind,
    checks::{self, Arrival, SavingChecker},
    event::Message,
    handling::{BoundedSink, Cause, Core, Handling, Lp},
    profile::Profiler,
    sequential::intervals::Cutter,
};

/// How events are handled: once, with a look at each, or forward, back and forward again.
pub(super) trait Execution<M: Model> {
    /// The engine that handles events in this way.
    fn engine(&self) -> EngineKind;

    /// Called before the first event, with the number of LPs.
    fn prepare(&mut self, _lps: usize) {}

    /// Whether the run ends before an event of this kind of I/O, if it is an I/O event.
    #[inline]
    fn is_over(&self, _io: Option<Io>) -> bool {
        false
    }

    /// Whether what the model writes is written.
    #[inline]
    fn writes(&self) -> bool {
        true
    }

    /// Called before each event, I/O events included.
    #[inline]
    fn begin(&mut self) {}

    /// Called after each event, with the numbers of the events that its LP has sent in it.
    #[inline]
    fn end(&mut self, _key: &EventKey, _to: LpId, _sent: &Range<u64>) {}

    /// The end of the interval that is not over, if the run is cut into some; nothing if all are.
    #[inline]
    fn next_bound(&self) -> Option<f64> {
        None
    }

    /// Called at the end of an interval; `lps` are as they are then. The model's code may panic.
    #[inline]
    fn at_bound(&mut self, _model: &M, _lps: &[Lp<M::Lp>], _bound: f64) {}

    /// The results of all intervals; called once, after the last event.
    fn take_intervals(&mut self) -> Vec<M::Output> {
        Vec::new()
    }

    /// What to report beyond the common numbers; called once, after the last event.
    fn details(&mut self) -> Details {
        Details::default()
    }

    /// Handles the ordinary event, which is the LP's next one.
    fn handle(
        &mut self,
        model: &M,
        event: Arrival<'_, Message<M>>,
        lp: &mut Lp<M::Lp>,
        sink: &mut impl BoundedSink<Message<M>>,
    );
}

/// Each event is handled once: the sequential engine itself, or another one with a single worker.
pub(super) struct Once(pub(super) EngineKind);

impl<M: Model> Execution<M> for Once {
    #[inline]
    fn engine(&self) -> EngineKind {
        self.0
    }

    #[inline]
    fn handle(
        &mut self,
        model: &M,
        event: Arrival<'_, Message<M>>,
        lp: &mut Lp<M::Lp>,
        sink: &mut impl BoundedSink<Message<M>>,
    ) {
        handle_once(model, &event, lp, sink);
    }
}

/// Chosen at run time, where a branch per event costs less than compiling the engine once more.
pub(super) enum Chosen<M: Model> {
    Once(EngineKind),
    ThereAndBack,
    /// Undone by what was saved of the state, and handled again.
    Undone(Box<SavingChecker<M::Lp>>),
    Profiled(Box<Profiler>),
    Counted(Counts),
    /// So many events are left to be handled.
    Some(u64),
    Cut(Box<Cutter<M>>),
}

/// The events of each LP, in a trial that has a number of events at most. Those of the first half
/// are forgotten: a model often begins otherwise than it goes on.
pub(super) struct Counts {
    pub(super) by_lp: Vec<u64>,
    left: u64,
    half: u64,
}

impl Counts {
    pub(super) const fn new(events: u64) -> Self {
        Self { by_lp: Vec::new(), left: events, half: events / 2 }
    }

    fn count(&mut self, lp: LpId) {
        if self.left == self.half {
            self.by_lp.fill(0);
        }
        debug_assert!(self.left > 0, "an event beyond those that were to be counted");
        self.by_lp[lp.index()] += 1;
        self.left -= 1;
    }
}

impl<M: Model> Execution<M> for Chosen<M> {
    fn engine(&self) -> EngineKind {
        match self {
            Self::Once(engine) => *engine,
            Self::ThereAndBack => EngineKind::ReverseCheck,
            Self::Undone(_) => EngineKind::SavingCheck,
            Self::Profiled(_) => EngineKind::Profile,
            Self::Counted(_) | Self::Some(_) => EngineKind::Sequential,
            Self::Cut(_) => EngineKind::Intervals,
        }
    }

    fn prepare(&mut self, lps: usize) {
        match self {
            Self::Profiled(profiler) => profiler.prepare(lps),
            Self::Undone(checker) => checker.prepare(lps),
            Self::Counted(counts) => counts.by_lp = vec![0; lps],
            Self::Once(_) | Self::ThereAndBack | Self::Some(_) | Self::Cut(_) => {}
        }
    }

    #[inline]
    fn is_over(&self, io: Option<Io>) -> bool {
        match self {
            Self::Counted(counts) => counts.left == 0 || io == Some(Io::Blocking),
            Self::Some(left) => *left == 0,
            _ => false,
        }
    }

    #[inline]
    fn writes(&self) -> bool {
        !matches!(self, Self::Counted(_))
    }

    #[inline]
    fn begin(&mut self) {
        if let Self::Profiled(profiler) = self {
            profiler.begin();
        }
    }

    #[inline]
    fn end(&mut self, key: &EventKey, to: LpId, sent: &Range<u64>) {
        match self {
            Self::Profiled(profiler) => profiler.end(key, to, sent),
            Self::Undone(checker) => checker.end(to),
            Self::Counted(counts) => counts.count(to),
            Self::Some(left) => {
                debug_assert!(*left > 0, "an event beyond those that were to be handled");
                *left -= 1;
            }
            Self::Once(_) | Self::ThereAndBack | Self::Cut(_) => {}
        }
    }

    fn next_bound(&self) -> Option<f64> {
        if let Self::Cut(cutter) = self { cutter.next_bound() } else { None }
    }

    fn at_bound(&mut self, model: &M, lps: &[Lp<M::Lp>], bound: f64) {
        if let Self::Cut(cutter) = self {
            cutter.cut(model, lps, bound);
        }
    }

    fn take_intervals(&mut self) -> Vec<M::Output> {
        if let Self::Cut(cutter) = self { std::mem::take(&mut cutter.outputs) } else { Vec::new() }
    }

    fn details(&mut self) -> Details {
        let critical_path = match self {
            Self::Profiled(profiler) => Some(profiler.result()),
            _ => None,
        };
        Details { critical_path, ..Details::default() }
    }

    #[inline]
    fn handle(
        &mut self,
        model: &M,
        event: Arrival<'_, Message<M>>,
        lp: &mut Lp<M::Lp>,
        sink: &mut impl BoundedSink<Message<M>>,
    ) {
        match self {
            Self::Once(_) | Self::Profiled(_) | Self::Counted(_) | Self::Some(_) | Self::Cut(_) => {
                handle_once(model, &event, lp, sink);
            }
            Self::ThereAndBack if const { M::Lp::REVERSIBLE } => {
                checks::there_and_back(model, &event, lp, sink);
            }
            Self::Undone(checker) => checker.handle(model, &event, lp, sink),
            Self::ThereAndBack => unreachable!("a model without reverse handlers was refused"),
        }
    }
}

#[inline]
fn handle_once<M: Model>(
    model: &M,
    event: &Arrival<'_, Message<M>>,
    lp: &mut Lp<M::Lp>,
    sink: &mut impl BoundedSink<Message<M>>,
) {
    let Lp { state, core: Core { rng, sent, .. } } = lp;
    let cause = Cause::event(event.key, event.to);
    state.handle(model, event.message, &mut Handling { cause, rng, sent, sink });
}

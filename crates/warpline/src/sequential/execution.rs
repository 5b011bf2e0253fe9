//! How the sequential engine handles an event: the engines that are variants of it.

use std::ops::Range;

use warpline_core::{EventKey, LogicalProcess, LpId, Model};

use crate::{
    Details, EngineKind,
    event::Message,
    handling::{BoundedSink, Cause, Core, Handling, Lp},
    profile::Profiler,
    reverse_check::{self, Arrival},
};

/// How events are handled: once, with a look at each, or forward, back and forward again.
pub(super) trait Execution<M: Model> {
    /// The engine that handles events in this way.
    fn engine(&self) -> EngineKind;

    /// Called before the first event, with the number of LPs.
    fn prepare(&mut self, _lps: usize) {}

    /// Called before each event, I/O events included.
    #[inline]
    fn begin(&mut self) {}

    /// Called after each event, with the numbers of the events that its LP has sent in it.
    #[inline]
    fn end(&mut self, _key: &EventKey, _to: LpId, _sent: &Range<u64>) {}

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
pub(super) enum Chosen {
    Once(EngineKind),
    ThereAndBack,
    Profiled(Box<Profiler>),
}

impl<M: Model> Execution<M> for Chosen {
    fn engine(&self) -> EngineKind {
        match self {
            Self::Once(engine) => *engine,
            Self::ThereAndBack => EngineKind::ReverseCheck,
            Self::Profiled(_) => EngineKind::Profile,
        }
    }

    fn prepare(&mut self, lps: usize) {
        if let Self::Profiled(profiler) = self {
            profiler.prepare(lps);
        }
    }

    #[inline]
    fn begin(&mut self) {
        if let Self::Profiled(profiler) = self {
            profiler.begin();
        }
    }

    #[inline]
    fn end(&mut self, key: &EventKey, to: LpId, sent: &Range<u64>) {
        if let Self::Profiled(profiler) = self {
            profiler.end(key, to, sent);
        }
    }

    fn details(&mut self) -> Details {
        let critical_path = match self {
            Self::Profiled(profiler) => Some(profiler.result()),
            Self::Once(_) | Self::ThereAndBack => None,
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
            Self::Once(_) | Self::Profiled(_) => handle_once(model, &event, lp, sink),
            Self::ThereAndBack if const { M::Lp::REVERSIBLE } => {
                reverse_check::there_and_back(model, &event, lp, sink);
            }
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

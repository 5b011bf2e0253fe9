//! A stretch of virtual time without speculation: the first worker handles the events of all
//! workers one by one, in the order of their keys, as the sequential engine does.
//!
//! A [resize](super::resize) calls it where windows cannot go on: after many storms; at a blocking
//! I/O event, which has to be handled when nothing can undo it; and at a mistake of the model,
//! which is made again here if it was no speculation, and ends the run.

use std::{cmp::Reverse, collections::BinaryHeap};

use warpline_core::{EventKey, Io, LogicalProcess, LpId, Model, VirtualTime};

use super::{
    event::{Event, Parity},
    event_bytes,
    shared::{ErrorContext, SpeculativeShared},
};
use crate::{
    cut::Cut,
    event::{Buffer, Message, SpareBuffers},
    handling::{Admission, Cause, Core, Halt, Handling, Lp, Sink, Source},
};

/// When a stretch ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// It has at least this number of events.
    pub(super) events: u64,
    /// All events up to this time are handled.
    pub(super) time: f64,
}

/// A stretch.
pub(super) struct OneByOne<'s, 'm, M: Model, B> {
    shared: &'s SpeculativeShared<'m, M, B>,
    /// Of all workers.
    cuts: &'s mut [Cut<M::Lp, Event<B>>],
    pub(super) handled: u64,
    pub(super) last_time: VirtualTime,
    sender: OneByOneSender<'s, 'm, M, B>,
}

struct OneByOneSender<'s, 'm, M: Model, B> {
    shared: &'s SpeculativeShared<'m, M, B>,
    pending: BinaryHeap<Reverse<ByKey<B>>>,
    spares: SpareBuffers<B>,
    error_context: ErrorContext,
}

/// An event that is ordered by its key.
struct ByKey<B>(Event<B>);

impl<B> Ord for ByKey<B> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.key.cmp(&other.0.key)
    }
}

impl<B> PartialOrd for ByKey<B> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<B> PartialEq for ByKey<B> {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl<B> Eq for ByKey<B> {}

impl<'s, 'm, M: Model, B: Buffer<Message<M>>> OneByOne<'s, 'm, M, B> {
    pub(super) fn new(
        shared: &'s SpeculativeShared<'m, M, B>,
        cuts: &'s mut [Cut<M::Lp, Event<B>>],
    ) -> Self {
        debug_assert_eq!(cuts.len(), shared.workers(), "RESIZE-B: the part of a worker is missing");
        let pending = cuts.iter_mut().flat_map(|cut| cut.pending.drain(..));
        let sender = OneByOneSender {
            shared,
            pending: pending.map(|event| Reverse(ByKey(event))).collect(),
            spares: SpareBuffers::new(),
            error_context: ErrorContext::default(),
        };
        Self { shared, cuts, handled: 0, last_time: VirtualTime::ZERO, sender }
    }

    /// Handles events. If the model makes a mistake, that is noted as the run's failure.
    pub(super) fn run(&mut self, until: Until, mut stops: impl FnMut() -> bool) {
        let context: fn(&mut Self) -> &mut ErrorContext =
            |one_by_one| &mut one_by_one.sender.error_context;
        self.shared.guard(0, self, context, |one_by_one| {
            while let Some(event) = one_by_one.next(until) {
                one_by_one.handle(event);
                if stops() {
                    return;
                }
            }
        });
    }

    /// Takes out the next event, unless the stretch is over.
    fn next(&mut self, until: Until) -> Option<Event<B>> {
        let Reverse(ByKey(event)) = self.sender.pending.peek()?;
        let time = event.key.time_value();
        if time >= self.shared.end || self.handled >= until.events && time > until.time {
            return None;
        }
        if self.shared.budget.is_limited() {
            self.shared.budget.give_back(event_bytes::<M>());
        }
        self.sender.pending.pop().map(|Reverse(ByKey(event))| event)
    }

    fn handle(&mut self, event: Event<B>) {
        let Event { key, to, io, message, .. } = event;
        debug_assert!(message.is_some(), "SPEC-C: what cancels {key:?} has outlived its window");
        let Some(message) = message else { return };
        let shared = self.shared;
        let place = shared.place(to);
        let lp = &mut self.cuts[place.worker.index()].lps[place.lp.index()];
        let Lp { state, core: Core { rng, sent, digest } } = lp;
        let context = &mut self.sender.error_context;
        debug_assert!(context.event.is_none_or(|last| last < key), "SEQ-A: {key:?} comes too late");
        (context.lp, context.event) = (Some(to), Some(key));
        let (model, cause) = (shared.model, Cause::event(&key, to));
        let mut cx = Handling { cause, rng, sent, sink: &mut self.sender };
        match io {
            None => state.handle(model, message.get(), &mut cx),
            Some(Io::Blocking) => cx.handle_io(state, model, message.get()),
            Some(Io::NonBlocking) => M::Lp::output(model, to, &key, message.get()),
        }
        debug_assert!(self.last_time <= key.time(), "SEQ-A: time went back in a stretch");
        digest.commit(&key, M::Lp::fingerprint(model, message.get()));
        self.handled += 1;
        self.last_time = self.last_time.max(key.time());
        let owned = shared.owned(&message);
        if owned == 0 {
            self.sender.spares.recycle(message);
        } else {
            shared.budget.disown(owned);
            shared.budget.give_back(owned);
        }
    }

    /// Gives all pending events to the workers that have their LPs.
    pub(super) fn end(self) {
        let Self { shared, cuts, sender, .. } = self;
        debug_assert!(
            cuts.iter().all(|cut| cut.pending.is_empty()),
            "SPEC-D: a worker has events that are not in the stretch"
        );
        for Reverse(ByKey(event)) in sender.pending {
            cuts[shared.place(event.to).worker.index()].pending.push(event);
        }
    }
}

impl<M: Model, B: Buffer<Message<M>>> Sink<Message<M>> for OneByOneSender<'_, '_, M, B> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.shared.admission
    }

    #[inline]
    fn accept(
        &mut self,
        key: EventKey,
        to: LpId,
        io: Option<Io>,
        message: impl Source<Message<M>>,
    ) {
        let message = self.spares.store(message);
        let (budget, owned) = (&self.shared.budget, self.shared.owned(&message));
        if budget.is_limited() {
            if !budget.take(event_bytes::<M>() + owned) {
                self.error_context.cut_off.halt(Halt::OutOfBuffers);
            }
            budget.own(owned);
        }
        debug_assert!(self.error_context.event.is_none_or(|cause| cause < key), "before its cause");
        let event = Event { key, to, io, sent_in: Parity::of(0), message: Some(message) };
        self.pending.push(Reverse(ByKey(event)));
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.error_context.cut_off.halt(halt)
    }
}

//! The send buffer: what a handler sends is checked and kept here until the handler is done.
//!
//! It is the [`Sink`] of every handler that [`NullMessageWorker`](super::worker::NullMessageWorker)
//! calls.

use warpline_core::{EventKey, Fault, Io, LpId, Model};
use warpline_graph::EdgeId;

use super::{super::error_context::ErrorContext, shared::NullMessageShared};
use crate::{
    event::{Buffer, Event, Message, SpareBuffers},
    handling::{Admission, Halt, Sink, Source},
};

/// One worker's send buffer.
pub(super) struct SendBuffer<'a, M: Model, B> {
    shared: &'a NullMessageShared<'a, M, B>,
    /// What the current handler has sent, with the edge; an event to the same LP takes no edge.
    pub(super) sent: Vec<(Option<EdgeId>, Event<B>)>,
    /// Buffers of handled events, for the next sends.
    pub(super) spares: SpareBuffers<B>,
    pub(super) error_context: ErrorContext,
    /// How many events were sent.
    pub(super) count: u64,
}

impl<'a, M: Model, B: Buffer<Message<M>>> SendBuffer<'a, M, B> {
    pub(super) fn new(shared: &'a NullMessageShared<'a, M, B>) -> Self {
        Self {
            shared,
            sent: Vec::new(),
            spares: SpareBuffers::new(),
            error_context: ErrorContext::default(),
            count: 0,
        }
    }

    /// The edge that an event takes, if the model has declared the link and keeps its lookahead.
    #[inline]
    fn edge(&mut self, key: &EventKey, to: LpId) -> EdgeId {
        let now = self.error_context.event.map_or(0.0, |event| event.time_value());
        let delay = key.time_value() - now;
        let Some(edge) = self.shared.edge(key.sender(), to) else {
            self.error_context.halt(Halt::Fault(Fault::NoSuchLink { to, delay }))
        };
        let lookahead = self.shared.lookaheads[edge.index()];
        // As `ChannelTime::after` computes it, so that both round alike.
        if key.time_value() < now + lookahead {
            self.error_context.halt(Halt::Fault(Fault::BrokenLink { to, delay, lookahead }))
        }
        edge
    }
}

impl<M: Model, B: Buffer<Message<M>>> Sink<Message<M>> for SendBuffer<'_, M, B> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.shared.common.admission
    }

    #[inline]
    fn accept(
        &mut self,
        key: EventKey,
        to: LpId,
        io: Option<Io>,
        message: impl Source<Message<M>>,
    ) {
        debug_assert_eq!(self.error_context.lp, Some(key.sender()), "CMB-A: another LP's event");
        let edge = if key.sender() == to { None } else { Some(self.edge(&key, to)) };
        let memory = &self.shared.common.memory;
        let message = self.spares.store(message);
        if memory.is_limited() && self.shared.is_here(to) {
            let owned = self.shared.common.owned(&message);
            memory.reserve(&mut self.error_context, owned);
        }
        self.count += 1;
        self.sent.push((edge, Event { key, to, io: io.into(), message }));
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.error_context.halt(halt)
    }
}

//! Where the events go that a handler sends: onto the desk, until the handler is done.

use std::sync::atomic::Ordering;

use warpline_core::{EventKey, Fault, Io, LpId, Model};
use warpline_net::graph::EdgeId;

use super::shared::Shared;
use crate::{
    admission::Admission,
    panics,
    sequential::{Buffer, Event, Halt, Message, Sink},
};

/// Spare buffers take at most so much memory, or are not more than so many.
const SPARES_BYTES: usize = 1 << 20;
const SPARES_LEAST: usize = 64;

/// See the module.
pub(super) struct Desk<'a, M: Model, B> {
    shared: &'a Shared<'a, M, B>,
    /// What the current handler has sent; without an edge, to its own process.
    pub(super) sent: Vec<(Option<EdgeId>, Event<B>)>,
    /// Buffers of handled events, for the next sends.
    spares: Vec<B>,
    pub(super) halt: Option<Box<Halt>>,
    /// The process whose code runs, and the event that it handles, for an error's place.
    pub(super) current_lp: Option<LpId>,
    pub(super) current_event: Option<EventKey>,
    /// Events sent.
    pub(super) count: u64,
}

impl<'a, M: Model, B: Buffer<Message<M>>> Desk<'a, M, B> {
    pub(super) const fn new(shared: &'a Shared<'a, M, B>) -> Self {
        Self {
            shared,
            sent: Vec::new(),
            spares: Vec::new(),
            halt: None,
            current_lp: None,
            current_event: None,
            count: 0,
        }
    }

    /// Keeps the buffer of a handled event for the next sends, if there are not many yet.
    #[inline]
    pub(super) fn recycle(&mut self, message: B) {
        if self.spares.len() < SPARES_BYTES / size_of::<Message<M>>().max(1) + SPARES_LEAST {
            message.recycle(&mut self.spares);
        }
    }

    /// The edge that an event takes, if the model has declared it and keeps its lookahead.
    #[inline]
    fn edge(&mut self, key: &EventKey, to: LpId) -> EdgeId {
        let now = self.current_event.map_or(0.0, |event| event.time_value());
        let delay = key.time_value() - now;
        let Some(edge) = self.shared.edge(key.sender(), to) else {
            Sink::<Message<M>>::halt(self, Halt::Fault(Fault::NoSuchLink { to, delay }))
        };
        let lookahead = self.shared.lookaheads[edge.index()];
        // As the bound of a link is computed, so that both round alike.
        if key.time_value() < now + lookahead {
            Sink::<Message<M>>::halt(self, Halt::Fault(Fault::BrokenLink { to, delay, lookahead }))
        }
        edge
    }

    /// Takes the place of one more event, where memory is limited.
    #[inline]
    fn take_room(&mut self) {
        if let Some(room) = self.shared.room {
            // Ordering: Relaxed; a count.
            if self.shared.pending.fetch_add(1, Ordering::Relaxed) >= room {
                self.shared.pending.fetch_sub(1, Ordering::Relaxed);
                Sink::<Message<M>>::halt(self, Halt::OutOfBuffers);
            }
        }
    }

    /// Says that an event was handled.
    #[inline]
    pub(super) fn give_room(&self) {
        if self.shared.room.is_some() {
            // Ordering: Relaxed; a count.
            self.shared.pending.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl<M: Model, B: Buffer<Message<M>>> Sink<Message<M>> for Desk<'_, M, B> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.shared.admission
    }

    fn has_room_for(&self, events: usize) -> bool {
        // Ordering: Relaxed; a count.
        let pending = self.shared.pending.load(Ordering::Relaxed);
        self.shared.room.is_none_or(|room| room.saturating_sub(pending) >= events)
    }

    #[inline]
    fn accept(&mut self, key: EventKey, to: LpId, io: Option<Io>, message: Message<M>) {
        let edge = if key.sender() == to { None } else { Some(self.edge(&key, to)) };
        self.take_room();
        self.count += 1;
        let message = B::store(message, &mut self.spares);
        self.sent.push((edge, Event { key, to, io, message }));
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.halt.get_or_insert_with(|| Box::new(halt));
        panics::cut_off()
    }
}

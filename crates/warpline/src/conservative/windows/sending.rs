//! Where the events go that a worker's LPs send: into the worker's calendar, into the outbox for
//! another worker, to the remote events if another rank has the receiver, or, within the current
//! window, straight back to the LP that sends to itself.
//!
//! It is the [`Sink`] of every handler that [`WindowWorker`](super::worker::WindowWorker) calls.

use std::{cmp::Reverse, collections::BinaryHeap};

use warpline_core::{EventKey, Fault, Io, LpId, Model};

use super::{
    super::error_context::ErrorContext,
    calendar::{Calendar, Grid},
    rank_barrier::Remote,
    shared::WindowShared,
};
use crate::{
    event::{Bucket, Buffer, Event, Message, SpareBuffers},
    handling::{Admission, Halt, Sink, Source, Value},
};

/// A worker's pending events, and what it has for other workers and ranks.
pub(super) struct WindowSender<'a, M: Model, B> {
    pub(super) shared: &'a WindowShared<'a, M, B>,
    pub(super) me: usize,
    /// The window after the one that is being handled: events before it are not inserted any more.
    pub(super) next_window: u64,
    pub(super) calendar: Calendar<Event<B>>,
    /// What the current LP has sent to itself, due in the window that is being handled.
    pub(super) self_sent: BinaryHeap<Reverse<Event<B>>>,
    /// Events for other workers of this rank, by receiver.
    outboxes: Vec<Bucket<Event<B>>>,
    /// Events for other ranks, if there are any.
    pub(super) remote: Option<Box<Remote<'a, M>>>,
    /// The first window of all events that were sent to other workers since the last barrier.
    pub(super) first_sent: u64,
    /// How many events were sent to other workers of this rank.
    pub(super) mail: u64,
    spares: SpareBuffers<B>,
    /// What messages of events owned that were handled, since memory was released.
    pub(super) owned: u64,
    pub(super) error_context: ErrorContext,
}

impl<'a, M: Model, B: Buffer<Message<M>>> WindowSender<'a, M, B> {
    pub(super) fn new(shared: &'a WindowShared<'a, M, B>, me: usize, tile_bits: u32) -> Self {
        let lps = shared.common.directory.lps_of(me).len();
        Self {
            shared,
            me,
            next_window: 0,
            calendar: Calendar::new(shared.grid, lps, tile_bits),
            self_sent: BinaryHeap::new(),
            outboxes: (0..shared.workers).map(|_| Bucket::default()).collect(),
            remote: shared.ranks.as_ref().map(|ranks| Box::new(Remote::new(ranks, me))),
            first_sent: u64::MAX,
            mail: 0,
            spares: SpareBuffers::new(),
            owned: 0,
            error_context: ErrorContext::default(),
        }
    }

    /// Hands over what was sent to others, before this round of the barrier. Returns the first
    /// window in which this worker has an event or has sent one.
    pub(super) fn post(&mut self, round: u64) -> u64 {
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            if to != self.me {
                // The outbox gets the empty chunks of the mail of the round before the last.
                self.shared.mail(round, self.me, to, |mail| std::mem::swap(mail, outbox));
                debug_assert!(outbox.is_empty(), "CONS-C: worker {to} has not taken its mail");
                self.calendar.reclaim(outbox);
            }
        }
        if let Some(remote) = &mut self.remote {
            remote.post();
        }
        let sent = std::mem::replace(&mut self.first_sent, u64::MAX);
        let first = self.calendar.first().map_or(sent, |first| first.min(sent));
        debug_assert!(first >= self.next_window, "CONS-B: an event of window {first} is left");
        first
    }

    /// Inserts what other workers of this rank posted before this round of the barrier.
    pub(super) fn collect(&mut self, round: u64) {
        for from in (0..self.shared.workers).filter(|&from| from != self.me) {
            let local_of = |event: &Event<B>| self.shared.local_of(event.to);
            let insert = |mail: &mut _| self.calendar.insert_all(mail, local_of);
            self.shared.mail(round, from, self.me, insert);
        }
    }

    /// Keeps the buffer of a message, unless it owns memory that counts.
    #[inline]
    pub(super) fn recycle(&mut self, message: B) {
        if self.let_go(&message) {
            self.spares.recycle(message);
        }
    }

    /// The event of a message was handled. Returns whether the message owns nothing that counts.
    #[inline]
    pub(super) fn let_go(&mut self, message: &B) -> bool {
        let owned = self.shared.common.owned(message);
        self.owned += owned;
        owned == 0
    }

    /// Releases the memory of this number of events, and of what their messages owned.
    #[inline]
    pub(super) fn release(&mut self, events: usize) {
        self.shared.common.memory.release(events, std::mem::take(&mut self.owned));
    }

    /// Puts a message of another rank into a buffer.
    pub(super) fn store(&mut self, message: Message<M>) -> B {
        self.spares.store(Value(message))
    }

    /// Inserts an event for this worker that was sent before the engine began.
    pub(super) fn insert(&mut self, event: Event<B>) {
        let window = self.shared.grid.window(event.key.time_value());
        debug_assert!(window >= self.next_window, "CONS-B: window {window} is over");
        self.calendar.insert(window, self.shared.local_of(event.to), || event);
    }

    /// An event to another LP is due in the window of its cause, or before: its time is so large
    /// that adding the lookahead hardly changes it.
    #[cold]
    fn refuse(&mut self, to: LpId, time: f64) -> ! {
        let lookahead = self.shared.common.model.lookahead().unwrap_or_default();
        let fault = Fault::Failed(format!(
            "sent an event to {to:?} at {time}: at so late a time, rounding takes too much of the \
             lookahead of {lookahead} (the conservative engine with windows handles times up to \
             {:e} lookaheads)",
            Grid::WINDOWS_MAX as f64
        ));
        self.error_context.halt(Halt::Fault(fault))
    }
}

impl<M: Model, B: Buffer<Message<M>>> Sink<Message<M>> for WindowSender<'_, M, B> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.shared.common.admission
    }

    // Inlined, with the calendar's `insert`, into what sends: the calls would take 30 instructions
    // of the 460 for an event of PHOLD.
    #[inline(always)]
    fn accept(
        &mut self,
        key: EventKey,
        to: LpId,
        io: Option<Io>,
        message: impl Source<Message<M>>,
    ) {
        let window = self.shared.grid.window(key.time_value());
        // CONS-A: only the LP's own events may be due in the window that it handles.
        if window < self.next_window && key.sender() != to {
            self.refuse(to, key.time_value());
        }
        let Some(worker) = self.shared.worker_of(to) else {
            // The key is copied here: if its address were passed on, it would be stored in parts
            // and loaded as a whole, and the loads would wait for the stores.
            return self.send_remote(window, (&{ key }, to, io), &message.make());
        };
        let message = self.spares.store(message);
        let common = &self.shared.common;
        let owned = common.owned(&message);
        common.memory.reserve(&mut self.error_context, owned);
        let make = || Event { key, to, io: io.into(), message };
        if window < self.next_window {
            self.self_sent.push(Reverse(make()));
        } else if worker == self.me {
            self.calendar.insert(window, self.shared.local_of(to), make);
        } else {
            self.first_sent = self.first_sent.min(window);
            self.mail += 1;
            self.calendar.append(&mut self.outboxes[worker], make);
        }
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.error_context.halt(halt)
    }
}

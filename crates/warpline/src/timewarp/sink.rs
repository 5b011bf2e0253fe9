//! The sink of handlers: where what they send goes.
//!
//! [`Sending`] is made for one call of a handler by [`processing`](super::processing), or for a
//! start by [`beginning`](super::beginning), and writes into the [`TimeWarpSender`] of its worker.
//! A send writes the message into a buffer once. An event for an LP of the same worker goes
//! straight into the pending set (GTW, 3.6.1), any other into the mail.

use std::{marker::PhantomData, mem::needs_drop};

use warpline_core::{EventKey, Fault, Io, LogicalProcess, LpId, Model, UndoLog, VirtualTime};
use warpline_memory::{BufferId, Buffers};

use super::{Message, event::Event, heap, policy::Policy, sending::TimeWarpSender};
use crate::{
    handling::{Admission, Halt, Sink, Source},
    pending::PendingSet,
    placement::LpPlace,
};

/// Where the sends of one handler call go.
pub(super) struct Sending<'a, 'r, M: Model, P> {
    sender: &'a mut TimeWarpSender<'r, M>,
    /// Shared, for the message that is being handled lies in one of them.
    buffers: &'a Buffers<'r, Message<M>>,
    /// Whether tracked fields write to the undo log.
    is_logging: bool,
    /// The word that the handler leaves for its reverse handler.
    pub(super) note: u64,
    policy: PhantomData<P>,
}

impl<'a, 'r, M: Model, P: Policy> Sending<'a, 'r, M, P> {
    #[inline(always)]
    pub(super) const fn new(
        sender: &'a mut TimeWarpSender<'r, M>,
        buffers: &'a Buffers<'r, Message<M>>,
        is_logging: bool,
    ) -> Self {
        Self { sender, buffers, is_logging, note: 0, policy: PhantomData }
    }

    /// Sends an event to an LP at its place, which is at a worker of this rank or at none.
    #[inline(always)]
    fn deliver(
        &mut self,
        key: EventKey,
        to: LpId,
        io: Option<Io>,
        (place, worker): (LpPlace, Option<usize>),
        message: impl Source<Message<M>>,
    ) {
        let Some(worker) = worker else {
            return self.sender.send_remote_event(key, (place.worker, to), io, &message.make());
        };
        let Some(buffer) = self.fill(worker, message) else {
            let too_many = |most| Halt::Fault(Fault::TooManyIoSends { most });
            let sender = &mut self.sender;
            sender.cut_off.halt(sender.must_send.map_or(Halt::OutOfBuffers, too_many));
        };
        let sender = &mut *self.sender;
        let event = Event::new(key, to, io, buffer);
        debug_assert!(event.cancels().is_none(), "a new event cancels another");
        sender.sent.push(event, place.worker);
        if place.worker == sender.id {
            sender.pending.insert(event.with_lp(place.lp));
        } else {
            P::before_mail(sender, event);
            sender.post(worker, event);
        }
        P::sent(sender);
    }

    /// Puts a message into a buffer, if there is one, and memory for what it owns.
    #[inline(always)]
    fn fill<S: Source<Message<M>>>(&mut self, worker: usize, message: S) -> Option<BufferId> {
        if S::IN_PLACE && !const { needs_drop::<Message<M>>() } {
            return self.buffers.fill_over(worker, |old| match old {
                Some(old) => {
                    message.overwrite(old);
                    None
                }
                None => Some(message.make()),
            });
        }
        let message = message.make();
        let bytes = heap::of_message::<M>(&message);
        if bytes > 0 && !self.buffers.ensure_outside(bytes) && self.sender.must_send.is_none() {
            return None;
        }
        let buffer = self.buffers.fill_with(worker, || message)?;
        self.buffers.charge_outside(bytes);
        Some(buffer)
    }
}

impl<M: Model, P: Policy> Sink<Message<M>> for Sending<'_, '_, M, P> {
    #[inline]
    fn admission(&self) -> &Admission {
        &self.sender.admission
    }

    #[inline]
    fn begin_send(&mut self) {
        P::begin_send(self.sender);
    }

    #[inline]
    fn accept(
        &mut self,
        key: EventKey,
        to: LpId,
        io: Option<Io>,
        message: impl Source<Message<M>>,
    ) {
        let application = P::leave_lp(self.sender);
        let place = self.sender.places[to.index()];
        let worker = P::worker_at(self.sender, place);
        self.deliver(key, to, io, (place, worker), message);
        if let Some(application) = application {
            application.resume();
        }
    }

    #[cold]
    fn halt(&mut self, halt: Halt) -> ! {
        self.sender.cut_off.halt(halt)
    }

    #[inline]
    fn note(&mut self, word: u64) {
        self.note = word;
    }

    #[inline(always)]
    fn undo(&mut self) -> Option<&mut UndoLog> {
        let is_logging = const { M::Lp::SAVING.is_by_field() } && (!P::FULL || self.is_logging);
        is_logging.then_some(&mut self.sender.undo_log)
    }

    fn set_time_barrier(&mut self, time: Option<VirtualTime>) {
        let bits = time.map_or(u64::MAX, VirtualTime::to_ordered_bits);
        self.sender.shared.set_barrier(bits, self.sender.gvt.rounds());
    }
}

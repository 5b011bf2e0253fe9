//! All that the null-message algorithms know of other ranks.
//!
//! The event graph carries events, null messages and control messages between the workers of all
//! ranks alike. What is left is here: events as bytes ([`EventCodec`]), memory that a remote event
//! reserves where it arrives, whether all ranks are quiescent, I/O events on their way to rank
//! 0, and alerts of ranks that fail.
//!
//! The main loop calls it at five points: the graph of a worker gets its connection, a remote event
//! arrives, a rank is quiescent, I/O events are final, and a worker is idle.

use warpline_core::{LogicalProcess, LpId, Model, WireError, Wires, append_words, take_words};
use warpline_graph::{CONTROL_WORDS, Codec, Control, EdgeId, Remote as Connection};
use warpline_net::Malformed;

use super::{
    channel_time::ChannelTime,
    deadlock_detection::QUIESCENT,
    shared::{ChannelEvent, Shared},
    worker::Worker,
};
use crate::{
    event::{Buffer, Event, Message},
    handling::Value,
    remote_event::{RemoteEvent, read_event, write_event},
    run::{Arrival, Collection, ENGINE_KINDS, KeyBound, NEVER},
};

/// An idle worker asks after this number of looks whether another rank fails.
const ALERT_EVERY: u32 = 16;

/// A quiescent rank's report: the number of freezes so far, and the numbers of items that
/// it has sent to other ranks and received from them.
type Quiescence = [u64; 3];

/// One worker's view of other ranks.
pub(super) struct Remote<T> {
    /// The I/O events of all ranks; used by the first worker of each rank.
    collection: Collection<T>,
    /// The last report of this rank; used by its first worker.
    sent: Option<Quiescence>,
    /// The last report of each rank; used by the first worker of all.
    received: Vec<Option<Quiescence>>,
}

impl<T> Remote<T> {
    /// Nothing if there is only one rank.
    pub(super) fn new<M: Model, B: Buffer<Message<M>>>(
        shared: &Shared<'_, M, B>,
    ) -> Option<Box<Self>>
    where
        M::Lp: LogicalProcess<Message = T>,
    {
        let ranks = shared.common.ranks;
        let collection = Collection::new(ranks, shared.codec.0.as_ref()?.message)?;
        let received = vec![None; ranks.count()];
        Some(Box::new(Self { collection, sent: None, received }))
    }

    /// The first worker of all takes the report of a quiescent rank.
    pub(super) fn hear_quiescence(&mut self, words: &Control) {
        let rank = usize::try_from(words[1]).ok().and_then(|rank| self.received.get_mut(rank));
        rank.into_iter().for_each(|rank| *rank = Some([words[2], words[3], words[4]]));
    }

    /// Whether all ranks are quiescent after this number of freezes, and nothing is on its way
    /// between them.
    fn are_all_quiescent(&self, freezes: u64) -> bool {
        let sums = self.received.iter().try_fold([0u64; 2], |sums, rank| {
            let [epoch, sent, received] = (*rank)?;
            (epoch == freezes).then(|| [sums[0] + sent, sums[1] + received])
        });
        sums.is_some_and(|[sent, received]| sent == received)
    }
}

impl<M: Model, B: Buffer<Message<M>>> Shared<'_, M, B> {
    /// What connects the event graph of a worker with other ranks, if there are any.
    pub(super) fn connection(&self) -> Option<Connection<'_, ChannelEvent<B>>> {
        let transport = self.common.ranks.transport()?;
        Some(Connection { transport, codec: &self.codec, kind: ENGINE_KINDS })
    }

    /// Whether an LP lives at this rank. An event for it reserves memory when it is sent; a remote
    /// event reserves memory when it arrives.
    pub(super) fn is_here(&self, lp: LpId) -> bool {
        let directory = &self.common.directory;
        directory.local(directory.place(lp).worker).is_some()
    }
}

impl<M: Model, B: Buffer<Message<M>>> Worker<'_, M, B> {
    /// Reserves memory for an event that has arrived on an edge, if it comes from another rank.
    pub(super) fn reserve_for_remote(&mut self, edge: EdgeId, event: &Event<B>) {
        let shared = self.shared;
        let sender = LpId::new(shared.plan.topology().from(edge).0);
        if shared.common.memory.is_limited() && !shared.is_here(sender) {
            self.guard(|worker| {
                let context = &mut worker.send_buffer.error_context;
                (context.lp, context.event) = (Some(event.key.sender()), Some(event.key));
                let owned = shared.common.owned(&event.message);
                shared.common.memory.reserve(context, owned);
            });
        }
    }

    /// The first worker of a rank that is quiescent tells the first worker of all. Returns whether
    /// all ranks are quiescent, as far as this worker knows: only the first one of all ever does.
    pub(super) fn are_ranks_quiescent(&mut self, [sent, received]: [u64; 2]) -> bool {
        let freezes = self.detection.freezes;
        let now = [freezes, sent, received];
        let Some(remote) = &mut self.remote else { return true };
        if remote.sent != Some(now) {
            remote.sent = Some(now);
            let mut words = [0; CONTROL_WORDS];
            words[..2].copy_from_slice(&[QUIESCENT, self.shared.common.ranks.me() as u64]);
            words[2..5].copy_from_slice(&now);
            self.graph.send_control(0, words);
            self.graph.flush();
        }
        remote.are_all_quiescent(freezes)
    }

    /// Whether rank 0 writes the I/O events of this one.
    pub(super) fn ships_outputs(&self) -> bool {
        self.shared.common.ranks.me() > 0
    }

    /// Ships I/O events to rank 0: all those before `until`.
    pub(super) fn ship_outputs(&mut self, due: Vec<Event<B>>, until: KeyBound) {
        debug_assert!(self.ships_outputs(), "the first rank writes its outputs itself");
        self.guard(|worker| {
            let (due, ranks) = (due, worker.shared.common.ranks);
            let Some(remote) = &mut worker.remote else { return };
            let outputs = due.iter().map(|event| (event.key, event.to, event.message.get()));
            let shipped = remote.collection.ship(ranks, outputs, (until, until == NEVER));
            shipped.unwrap_or_else(|error| worker.abandon(error));
        });
    }

    /// Takes the I/O events of the other ranks, if this is rank 0: at the end of the run, all that
    /// they still ship. Returns the bound of those that can be written.
    pub(super) fn collect_outputs(&mut self, until: KeyBound) -> KeyBound {
        let mut bound = until;
        self.guard(|worker| {
            let common = &worker.shared.common;
            let Some(remote) = worker.remote.as_mut().filter(|_| common.ranks.me() == 0) else {
                return;
            };
            let mut outputs = common.lock_outputs();
            let take = |Arrival { key, to, io, message }| {
                outputs.push(Event {
                    key,
                    to,
                    io,
                    message: B::store(Value(message), &mut Vec::new()),
                });
            };
            let collected = if until == NEVER {
                remote.collection.collect_rest(common.ranks, take).map(|_| NEVER)
            } else {
                remote.collection.collect(common.ranks, take)
            };
            drop(outputs);
            match collected {
                Ok(others) => bound = bound.min(others),
                Err(error) => worker.abandon(error),
            }
        });
        bound
    }

    /// The first worker of a rank ends the run if another rank fails. Called when it is idle.
    pub(super) fn watch_ranks(&self) {
        if self.is_first() && self.waited.is_multiple_of(ALERT_EVERY) {
            match self.shared.common.ranks.is_alerted() {
                Ok(false) => {}
                Ok(true) => self.shared.set_broken(),
                Err(error) => self.abandon(error),
            }
        }
    }
}

/// Makes bytes of the events for other ranks. On a single rank it has no wires, and is not used.
pub(super) struct EventCodec<M: Model>(pub(super) Option<Wires<M>>);

impl<M: Model, B: Buffer<Message<M>>> Codec<ChannelEvent<B>> for EventCodec<M> {
    fn write(&self, sent: &ChannelEvent<B>, bytes: &mut Vec<u8>) {
        let Event { key, to, io, message } = &sent.event;
        if let Some(wires) = &self.0 {
            append_words(bytes, sent.cause.to_words());
            write_event(bytes, &wires.message, (key, *to, *io), message.get());
        }
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<ChannelEvent<B>, Malformed> {
        self.read_event(bytes).map_err(|error| Malformed::Body(error.to_string()))
    }
}

impl<M: Model> EventCodec<M> {
    fn read_event<B: Buffer<Message<M>>>(
        &self,
        bytes: &mut &[u8],
    ) -> Result<ChannelEvent<B>, WireError> {
        let no_wires = || WireError::new("the model does not say how its messages become bytes");
        let wires = self.0.as_ref().ok_or_else(no_wires)?;
        let cause = ChannelTime::from_words(take_words(bytes)?);
        let RemoteEvent { key, to, io, message } = read_event(bytes, &wires.message)?;
        let message = B::store(Value(message), &mut Vec::new());
        let event = Event { key, to, io, message };
        Ok(ChannelEvent { event, cause })
    }
}

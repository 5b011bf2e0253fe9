//! What the edges of the event graph carry, and its bytes on the way to another rank.
//!
//! Called by the event graph, and by [`worker`](super::worker), which sends and receives.

use warpline_core::{Model, WireError, Wires, append_words, take_words};
use warpline_graph::Codec;
use warpline_net::Malformed;

use super::channel_time::ChannelTime;
use crate::{
    event::{Buffer, Event, Message},
    handling::Value,
    remote_event::{RemoteEvent, read_event, write_event},
};

/// What an edge carries: an event, and the null-message time of its cause. Later events on the same
/// edge have no earlier causes, so each event is a null message, too.
pub(super) struct ChannelEvent<B> {
    pub(super) event: Event<B>,
    pub(super) cause: ChannelTime,
}

/// Makes bytes of the events for other ranks. On a single rank it has no wires, and is not used.
pub(super) struct EventCodec<M: Model>(pub(super) Option<Wires<M>>);

impl<M: Model, B: Buffer<Message<M>>> Codec<ChannelEvent<B>> for EventCodec<M> {
    fn write(&self, sent: &ChannelEvent<B>, bytes: &mut Vec<u8>) {
        let Event { key, to, io, message } = &sent.event;
        if let Some(wires) = &self.0 {
            append_words(bytes, sent.cause.to_words());
            write_event(bytes, &wires.message, (key, *to, io.get()), message.get());
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
        let event = Event { key, to, io: io.into(), message };
        Ok(ChannelEvent { event, cause })
    }
}

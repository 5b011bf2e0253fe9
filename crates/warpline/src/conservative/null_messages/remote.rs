//! An event on its way along an edge, and how it travels between ranks.

use warpline_core::{Model, WireError, Wires, take_bytes};
use warpline_graph::Codec;
use warpline_net::Malformed;

use super::channel_time::ChannelTime;
use crate::{
    event::{Buffer, Event, Message},
    remote_event::{RemoteEvent, read_event, write_event},
};

/// An event, and the clock of its cause: later ones on the same edge have no earlier causes.
pub(super) struct ChannelEvent<B> {
    pub(super) event: Event<B>,
    pub(super) cause: ChannelTime,
}

/// See the module; on a single rank there are no wires, and nobody asks for bytes.
pub(super) struct EventCodec<M: Model>(pub(super) Option<Wires<M>>);

impl<M: Model, B: Buffer<Message<M>>> Codec<ChannelEvent<B>> for EventCodec<M> {
    fn write(&self, departure: &ChannelEvent<B>, bytes: &mut Vec<u8>) {
        let Event { key, to, io, message } = &departure.event;
        if let Some(wires) = &self.0 {
            let words = departure.cause.to_words().map(u64::to_le_bytes);
            bytes.extend_from_slice(words.as_flattened());
            write_event(bytes, &wires.message, (key, *to, *io), message.get());
        }
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<ChannelEvent<B>, Malformed> {
        self.departure(bytes).map_err(|error| Malformed::Body(error.to_string()))
    }
}

impl<M: Model> EventCodec<M> {
    fn departure<B: Buffer<Message<M>>>(
        &self,
        bytes: &mut &[u8],
    ) -> Result<ChannelEvent<B>, WireError> {
        let no_wires = || WireError::new("the model does not say how its messages travel");
        let wires = self.0.as_ref().ok_or_else(no_wires)?;
        let mut words = [0; 2];
        for (word, bytes) in words.iter_mut().zip(take_bytes(bytes, 16)?.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let RemoteEvent { key, to, io, message } = read_event(bytes, &wires.message)?;
        let message = B::store(message, &mut Vec::new());
        Ok(ChannelEvent {
            event: Event { key, to, io, message },
            cause: ChannelTime::from_words(words),
        })
    }
}

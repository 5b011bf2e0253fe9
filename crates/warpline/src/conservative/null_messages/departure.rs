//! An event on its way along an edge, and how it travels between ranks.

use warpline_core::{EventKey, Io, LpId, Model, WireError, Wires, take};
use warpline_net::{Malformed, graph::Codec};

use super::moment::Moment;
use crate::sequential::{Buffer, Event, Message};

/// An event, and the moment of its cause: later ones on the same edge have later causes.
pub(super) struct Departure<B> {
    pub(super) event: Event<B>,
    pub(super) cause: Moment,
}

/// See the module; on a single rank there are no wires, and nobody asks for bytes.
pub(super) struct EventCodec<M: Model>(pub(super) Option<Wires<M>>);

impl<M: Model, B: Buffer<Message<M>>> Codec<Departure<B>> for EventCodec<M> {
    fn write(&self, departure: &Departure<B>, bytes: &mut Vec<u8>) {
        let Event { key, to, io, message } = &departure.event;
        for word in key.words().into_iter().chain(departure.cause.to_words()) {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(to.get().to_le_bytes());
        bytes.push(match io {
            None => 0,
            Some(Io::Blocking) => 1,
            Some(Io::NonBlocking) => 2,
        });
        if let Some(wires) = &self.0 {
            wires.message.write(message.get(), bytes);
        }
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Departure<B>, Malformed> {
        self.departure(bytes).map_err(|error| Malformed::Body(error.to_string()))
    }
}

impl<M: Model> EventCodec<M> {
    fn departure<B: Buffer<Message<M>>>(
        &self,
        bytes: &mut &[u8],
    ) -> Result<Departure<B>, WireError> {
        let mut words = [0; 5];
        for word in &mut words {
            *word = u64::from_le_bytes(array(bytes)?);
        }
        let [a, b, c, time, step] = words;
        let no_key = || WireError::new("an event has no key");
        let key = EventKey::from_words([a, b, c]).ok_or_else(no_key)?;
        let to = LpId::new(u32::from_le_bytes(array(bytes)?));
        let io = match array(bytes)? {
            [0] => None,
            [1] => Some(Io::Blocking),
            [2] => Some(Io::NonBlocking),
            [kind] => {
                return Err(WireError::new(format!("there are no I/O events of kind {kind}")));
            }
        };
        let no_wires = || WireError::new("the model does not say how its messages travel");
        let message = self.0.as_ref().ok_or_else(no_wires)?.message.read(bytes)?;
        let message = B::store(message, &mut Vec::new());
        let cause = Moment::from_words([time, step]);
        Ok(Departure { event: Event { key, to, io, message }, cause })
    }
}

fn array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], WireError> {
    let mut array = [0; N];
    array.copy_from_slice(take(bytes, N)?);
    Ok(array)
}

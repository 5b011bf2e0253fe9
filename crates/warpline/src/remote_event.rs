//! A remote event as bytes: an event on its way from one rank to another.
//!
//! All engines write events in this form: the three words of the key, the receiver, the kind of
//! I/O event, and then the message as the model's [`Wire`] writes it.
//!
//! # Invariants
//!
//! - **EVENT-A.** Any bytes are read as an event or refused: nothing is read past their end.

use warpline_core::{EventKey, Io, LpId, STEP_MAX, Wire, WireError, append_words, take_words};

use crate::event::{io_from_code, io_to_code};

/// An event that another rank has sent.
pub(crate) struct RemoteEvent<T> {
    pub(crate) key: EventKey,
    pub(crate) to: LpId,
    pub(crate) io: Option<Io>,
    pub(crate) message: T,
}

/// Appends an event.
#[inline]
pub(crate) fn write_event<T>(
    bytes: &mut Vec<u8>,
    wire: &Wire<T>,
    (key, to, io): (&EventKey, LpId, Option<Io>),
    message: &T,
) {
    let [time, step_and_sender, sequence] = key.words();
    debug_assert!(key.step() <= STEP_MAX, "EVENT-A: no rank would read {key:?}");
    let last = u64::from(io_to_code(io)) << 32 | u64::from(to.get());
    append_words(bytes, [time, step_and_sender, sequence, last]);
    wire.write(message, bytes);
}

/// Takes an event from the front of the bytes.
#[inline]
pub(crate) fn read_event<T>(
    bytes: &mut &[u8],
    wire: &Wire<T>,
) -> Result<RemoteEvent<T>, WireError> {
    let [time, step_and_sender, sequence, last] = take_words(bytes)?;
    let key = EventKey::from_words([time, step_and_sender, sequence])
        .filter(|key| key.step() <= STEP_MAX)
        .ok_or_else(|| WireError::new("an event with a key that means nothing"))?;
    let kind = (last >> 32) as u32;
    let io = io_from_code(kind)
        .ok_or_else(|| WireError::new(format!("an event of unknown kind {kind}")))?;
    let to = LpId::new(last as u32);
    let message = wire.read(bytes).map_err(|error| {
        WireError::new(format!("`Model::wires` cannot read a message for {to:?}: {error}"))
    })?;
    Ok(RemoteEvent { key, to, io, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use warpline_core::VirtualTime;

    /// The bytes before the message.
    const HEAD: usize = 32;

    type Parts = (f64, u32, u32, u64, u32, u8, [u16; 3]);

    fn write(events: &[Parts]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &(time, step, sender, sequence, to, io, message) in events {
            let time = VirtualTime::new(time).unwrap();
            let key = EventKey::new(time, step, LpId::new(sender), sequence);
            let io = [None, Some(Io::Blocking), Some(Io::NonBlocking)][usize::from(io)];
            write_event(&mut bytes, &Wire::plain(), (&key, LpId::new(to), io), &message);
        }
        bytes
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            events in proptest::collection::vec(
                (
                    0.0..1e9f64, 0u32..5, any::<u32>(), 0..u64::MAX, any::<u32>(), 0u8..3,
                    any::<[u16; 3]>(),
                ),
                0..5,
            ),
        ) {
            let bytes = write(&events);
            let mut rest = &bytes[..];
            for &(time, step, sender, sequence, to, io, message) in &events {
                let event = read_event(&mut rest, &Wire::<[u16; 3]>::plain()).unwrap();
                let key = event.key;
                prop_assert_eq!((key.time().get(), key.step()), (time, step));
                prop_assert_eq!((key.sender().get(), key.sequence()), (sender, sequence));
                prop_assert_eq!((event.to.get(), event.message), (to, message));
                prop_assert_eq!(event.io.map_or(0, |io| 1 + u8::from(io == Io::NonBlocking)), io);
            }
            prop_assert!(rest.is_empty());
        }

        /// EVENT-A.
        #[test]
        fn other_bytes_are_refused(
            whole in any::<bool>(),
            noise in proptest::collection::vec(any::<u8>(), 0..120),
            cut in 1usize..40,
        ) {
            let mut bytes = if whole { write(&[(1.0, 0, 1, 2, 3, 0, [4; 3])]) } else { noise };
            let cut = bytes.len().saturating_sub(cut);
            bytes.truncate(cut);
            let mut rest = &bytes[..];
            let mut events = 0;
            while read_event(&mut rest, &Wire::<[u16; 3]>::plain()).is_ok() {
                events += 1;
            }
            prop_assert!(events * (HEAD + 6) <= bytes.len());
            prop_assert!(!whole || events == 0);
        }
    }
}

//! The messages that ranks send each other during a run of Time Warp, as bytes.
//!
//! Read and written by [`sending`](super::sending) and [`receiving`](super::receiving) (remote
//! events and remote anti-messages) and by [`rounds`](super::rounds) (global virtual time). A
//! parcel of events is a sequence of messages, one for each event or anti-message:
//!
//! | bytes | contents |
//! |---|---|
//! | 0 | the sender's color (bits 0 and 1), and whether it is an anti-message (bit 2) |
//! | 1..5 | the serial number, by which an anti-message finds its event |
//! | 5.. | the event, as all engines write one; an anti-message has no payload |
//!
//! All other parcels are a few words of 8 bytes. Numbers are little-endian.
//!
//! # Invariants
//!
//! - **MSG-A.** Nothing is read past its end, and bytes without a meaning are refused (WIRE-A).

use warpline_core::{EventKey, Io, LpId, Wire, WireError, append_words, take_bytes, take_words};
use warpline_net::Malformed;

use crate::{
    remote_event::{read_event, write_event},
    run::ENGINE_KINDS,
};

/// Events and anti-messages.
pub(in crate::timewarp) const EVENTS: u16 = ENGINE_KINDS;
/// To rank 0: a rank requests a round of GVT.
pub(super) const REQUEST: u16 = ENGINE_KINDS + 1;
/// From rank 0: the number of the round that begins.
pub(super) const START: u16 = ENGINE_KINDS + 2;
/// To every other rank: the round, and how many messages of the old color this rank has sent there.
pub(super) const COUNT: u16 = ENGINE_KINDS + 3;
/// To rank 0: the round, and this rank's bound.
pub(super) const REPORT: u16 = ENGINE_KINDS + 4;
/// From rank 0: the round, and its result.
pub(super) const RESULT: u16 = ENGINE_KINDS + 5;

/// A remote event or a remote anti-message; `T` is the type of the model's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::timewarp) struct RemoteMessage<T> {
    pub(in crate::timewarp) color: Color,
    pub(in crate::timewarp) serial: u32,
    pub(in crate::timewarp) key: EventKey,
    pub(in crate::timewarp) to: LpId,
    pub(in crate::timewarp) io: Option<Io>,
    /// None in an anti-message.
    pub(in crate::timewarp) payload: Option<T>,
}

const ANTI: u8 = 1 << 2;
/// The payload of an anti-message.
const NO_PAYLOAD: Wire<()> = Wire::new(|_, _| (), |_| Ok(()));

/// How many rounds the sender of a message had reported in, modulo 4. (Mattern's argument needs two
/// colors; with four, a receiver also tells one round behind from one round ahead.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::timewarp) struct Color(u8);

impl Color {
    pub(in crate::timewarp) const fn of(rounds: u64) -> Self {
        Self((rounds & 3) as u8)
    }

    /// Of the two colors that exist at a time (ROUND-A), one is even.
    pub(in crate::timewarp) const fn parity(self) -> usize {
        (self.0 & 1) as usize
    }

    /// How many rounds this color is ahead of a worker that has reported in `rounds`, modulo 4.
    const fn ahead_of(self, rounds: u64) -> u8 {
        self.0.wrapping_sub(Self::of(rounds).0) & 3
    }

    /// Whether the message was sent before a cut that its receiver has made.
    ///
    /// # Errors
    ///
    /// ROUND-A: when no worker can have that color at that time.
    pub(in crate::timewarp) fn is_late(self, rounds: u64) -> Result<bool, Malformed> {
        match self.ahead_of(rounds) {
            0 | 1 => Ok(false),
            3 => Ok(true),
            _ => Err(Malformed::Body(
                "ROUND-A: an event with the color of another round of GVT".to_owned(),
            )),
        }
    }
}

impl<T> RemoteMessage<&T> {
    /// Appends the message.
    #[inline]
    pub(in crate::timewarp) fn write(&self, bytes: &mut Vec<u8>, wire: &Wire<T>) {
        let anti = if self.payload.is_none() { ANTI } else { 0 };
        bytes.push(self.color.0 | anti);
        bytes.extend_from_slice(&self.serial.to_le_bytes());
        let event = (&self.key, self.to, self.io);
        match self.payload {
            Some(payload) => write_event(bytes, wire, event, payload),
            None => write_event(bytes, &NO_PAYLOAD, event, &()),
        }
    }
}

impl<T> RemoteMessage<T> {
    /// Takes a message from the front.
    #[inline]
    pub(in crate::timewarp) fn read(bytes: &mut &[u8], wire: &Wire<T>) -> Result<Self, WireError> {
        let [flags] = array(bytes)?;
        let serial = u32::from_le_bytes(array(bytes)?);
        let color = Color(flags & 3);
        let (key, to, io, payload) = match flags >> 2 {
            0 => {
                let event = read_event(bytes, wire)?;
                (event.key, event.to, event.io, Some(event.message))
            }
            1 => {
                let event = read_event(bytes, &NO_PAYLOAD)?;
                (event.key, event.to, event.io, None)
            }
            _ => {
                return Err(WireError::new(format!(
                    "a remote event with unknown flags {flags:#x}"
                )));
            }
        };
        Ok(Self { color, serial, key, to, io, payload })
    }
}

fn array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], WireError> {
    let mut array = [0; N];
    array.copy_from_slice(take_bytes(bytes, N)?);
    Ok(array)
}

/// The body of a parcel of a few words.
pub(super) fn words_body<const N: usize>(words: [u64; N]) -> Vec<u8> {
    let mut body = Vec::new();
    append_words(&mut body, words);
    body
}

/// Reads a body of exactly `N` words.
pub(super) fn read_words<const N: usize>(mut body: &[u8]) -> Result<[u64; N], Malformed> {
    let found = body.len();
    if found != 8 * N {
        return Err(Malformed::Body(format!("expected {N} words, found {found} bytes")));
    }
    take_words(&mut body).map_err(|error| Malformed::Body(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use warpline_core::{STEP_MAX, VirtualTime};

    const WIRE: Wire<u16> = Wire::plain();

    fn messages() -> impl Strategy<Value = RemoteMessage<u16>> {
        let key = (0.0..1e9, 0..=STEP_MAX, any::<u32>(), 0..u64::MAX);
        let io = prop_oneof![Just(None), Just(Some(Io::Blocking)), Just(Some(Io::NonBlocking))];
        (0u64..9, io, any::<Option<u16>>(), any::<u32>(), any::<u32>(), key).prop_map(
            |(round, io, payload, to, serial, (time, step, from, number))| {
                let time = VirtualTime::new(time).unwrap();
                let key = EventKey::new(time, step, LpId::new(from), number);
                let (color, to) = (Color::of(round), LpId::new(to));
                RemoteMessage { color, serial, key, to, io, payload }
            },
        )
    }

    pub(in crate::timewarp) fn write(message: &RemoteMessage<u16>, bytes: &mut Vec<u8>) {
        let &RemoteMessage { color, serial, key, to, io, ref payload } = message;
        RemoteMessage { color, serial, key, to, io, payload: payload.as_ref() }.write(bytes, &WIRE);
    }

    proptest! {
        /// Messages are read as they were written; of bytes that end early, the last is refused.
        #[test]
        fn messages_are_read_as_written(
            all in proptest::collection::vec(messages(), 1..5),
            cut in 1usize..37,
        ) {
            let mut bytes = Vec::new();
            all.iter().for_each(|message| write(message, &mut bytes));
            let mut rest = &bytes[..];
            for message in &all {
                prop_assert_eq!(&RemoteMessage::read(&mut rest, &WIRE).unwrap(), message);
            }
            prop_assert!(rest.is_empty());
            let mut rest = &bytes[..bytes.len() - cut];
            for _ in 1..all.len() {
                prop_assert!(RemoteMessage::read(&mut rest, &WIRE).is_ok());
            }
            prop_assert!(RemoteMessage::read(&mut rest, &WIRE).is_err());
        }

        /// MSG-A.
        #[test]
        fn any_bytes_are_messages_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut rest = &bytes[..];
            while !rest.is_empty() && RemoteMessage::read(&mut rest, &WIRE).is_ok() {}
            prop_assert_eq!(read_words::<2>(&bytes).is_ok(), bytes.len() == 16);
        }

        /// ROUND-A: a color of neither this round nor its neighbors is refused.
        #[test]
        fn a_color_tells_the_round(round in 0u64..1000) {
            prop_assert_eq!(Color::of(round).is_late(round), Ok(false));
            prop_assert_eq!(Color::of(round + 1).is_late(round), Ok(false));
            prop_assert_eq!(Color::of(round).is_late(round + 1), Ok(true));
            prop_assert!(Color::of(round).is_late(round + 2).is_err());
        }
    }
}

//! What workers of different ranks write to each other, as bytes.
//!
//! Read by [`away`](super::away) (events) and [`rounds`](super::rounds) (global virtual time). A
//! parcel of events is a sequence of letters, one for each event or anti-message:
//!
//! | bytes | what |
//! |---|---|
//! | 0 | the sender's color (bits 0 and 1), and whether it is an anti-message (bit 2) |
//! | 1..5 | the serial number, by which an anti-message finds its event |
//! | 5.. | the event, as all engines write one ([`remote_event`](crate::remote_event)); an anti-message has no message |
//!
//! All other parcels are a few words of 8 bytes. Numbers are little-endian.
//!
//! # Invariants
//!
//! - **LETTER-A.** Nothing is read past its end, and what means nothing is refused (WIRE-A).

use warpline_core::{EventKey, Io, LpId, Wire, WireError, take_bytes};
use warpline_net::Malformed;

use crate::{
    remote_event::{read_event, write_event},
    run::ENGINE_KINDS,
};

/// Events and anti-messages.
pub(super) const EVENTS: u16 = ENGINE_KINDS;
/// To rank 0: a rank would like to know GVT.
pub(super) const WISH: u16 = ENGINE_KINDS + 1;
/// From rank 0: a round begins. Its number.
pub(super) const START: u16 = ENGINE_KINDS + 2;
/// To every other rank: the round, and how many letters this rank has sent there up to its cut.
pub(super) const COUNT: u16 = ENGINE_KINDS + 3;
/// To rank 0: the round, and what this rank has come to.
pub(super) const REPORT: u16 = ENGINE_KINDS + 4;
/// From rank 0: the round, and what all have come to.
pub(super) const RESULT: u16 = ENGINE_KINDS + 5;

/// A letter; `T` is what the messages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Letter<T> {
    pub(super) color: Color,
    pub(super) serial: u32,
    pub(super) key: EventKey,
    pub(super) to: LpId,
    pub(super) io: Option<Io>,
    /// None in an anti-message.
    pub(super) message: Option<T>,
}

const ANTI: u8 = 1 << 2;
/// What an anti-message has for a message.
const NOTHING: Wire<()> = Wire::new(|_, _| (), |_| Ok(()));

/// The rounds that a letter's sender had reported in, modulo 4. (Two would do for Mattern's
/// argument; with four, a receiver also tells one round behind from one ahead.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Color(u8);

impl Color {
    pub(super) const fn of(rounds: u64) -> Self {
        Self((rounds & 3) as u8)
    }

    /// Of the two colors that there are at a time, one is even.
    pub(super) const fn parity(self) -> usize {
        (self.0 & 1) as usize
    }

    /// How many rounds this color is ahead of one who has reported in so many, modulo 4.
    const fn ahead_of(self, rounds: u64) -> u8 {
        self.0.wrapping_sub(Self::of(rounds).0) & 3
    }

    /// Whether it is of before a cut that its receiver has made.
    ///
    /// # Errors
    ///
    /// When nobody can have that color at that time.
    pub(super) fn is_late(self, rounds: u64) -> Result<bool, Malformed> {
        match self.ahead_of(rounds) {
            0 | 1 => Ok(false),
            3 => Ok(true),
            _ => Err(Malformed::Body("a letter of another round of GVT".to_owned())),
        }
    }
}

impl<T> Letter<&T> {
    /// Appends it.
    #[inline]
    pub(super) fn write(&self, bytes: &mut Vec<u8>, wire: &Wire<T>) {
        let anti = if self.message.is_none() { ANTI } else { 0 };
        bytes.push(self.color.0 | anti);
        bytes.extend_from_slice(&self.serial.to_le_bytes());
        let event = (&self.key, self.to, self.io);
        match self.message {
            Some(message) => write_event(bytes, wire, event, message),
            None => write_event(bytes, &NOTHING, event, &()),
        }
    }
}

impl<T> Letter<T> {
    /// Takes one from the front.
    #[inline]
    pub(super) fn read(bytes: &mut &[u8], wire: &Wire<T>) -> Result<Self, WireError> {
        let [flags] = array(bytes)?;
        let serial = u32::from_le_bytes(array(bytes)?);
        let color = Color(flags & 3);
        let (key, to, io, message) = match flags >> 2 {
            0 => {
                let event = read_event(bytes, wire)?;
                (event.key, event.to, event.io, Some(event.message))
            }
            1 => {
                let event = read_event(bytes, &NOTHING)?;
                (event.key, event.to, event.io, None)
            }
            _ => return Err(WireError::new(format!("a letter with flags {flags:#x}"))),
        };
        Ok(Self { color, serial, key, to, io, message })
    }
}

fn array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], WireError> {
    let mut array = [0; N];
    array.copy_from_slice(take_bytes(bytes, N)?);
    Ok(array)
}

/// The body of a parcel that is a few words.
pub(super) fn words_body<const N: usize>(words: [u64; N]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Reads a body that is exactly so many words.
pub(super) fn read_words<const N: usize>(mut body: &[u8]) -> Result<[u64; N], Malformed> {
    let (mut words, found) = ([0; N], body.len());
    if found != 8 * N {
        return Err(Malformed::Body(format!("{N} words in {found} bytes")));
    }
    for word in &mut words {
        let bytes = array(&mut body).map_err(|error| Malformed::Body(error.to_string()))?;
        *word = u64::from_le_bytes(bytes);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use warpline_core::{STEP_MAX, VirtualTime};

    const WIRE: Wire<u16> = Wire::plain();

    fn letter() -> impl Strategy<Value = Letter<u16>> {
        let key = (0.0..1e9, 0..=STEP_MAX, any::<u32>(), 0..u64::MAX);
        let io = prop_oneof![Just(None), Just(Some(Io::Blocking)), Just(Some(Io::NonBlocking))];
        (0u64..9, io, any::<Option<u16>>(), any::<u32>(), any::<u32>(), key).prop_map(
            |(round, io, message, to, serial, (time, step, from, number))| {
                let time = VirtualTime::new(time).unwrap();
                let key = EventKey::new(time, step, LpId::new(from), number);
                let (color, to) = (Color::of(round), LpId::new(to));
                Letter { color, serial, key, to, io, message }
            },
        )
    }

    fn write(letter: &Letter<u16>, bytes: &mut Vec<u8>) {
        let &Letter { color, serial, key, to, io, ref message } = letter;
        Letter { color, serial, key, to, io, message: message.as_ref() }.write(bytes, &WIRE);
    }

    proptest! {
        /// What is written one after the other is read back so; cut off anywhere, the last one is refused.
        #[test]
        fn letters_come_back(letters in proptest::collection::vec(letter(), 1..5), cut in 1usize..37) {
            let mut bytes = Vec::new();
            letters.iter().for_each(|letter| write(letter, &mut bytes));
            let mut rest = &bytes[..];
            for letter in &letters {
                prop_assert_eq!(&Letter::read(&mut rest, &WIRE).unwrap(), letter);
            }
            prop_assert!(rest.is_empty());
            let mut rest = &bytes[..bytes.len() - cut];
            for _ in 1..letters.len() {
                prop_assert!(Letter::read(&mut rest, &WIRE).is_ok());
            }
            prop_assert!(Letter::read(&mut rest, &WIRE).is_err());
        }

        /// Any bytes are letters or an error.
        #[test]
        fn any_bytes_are_letters_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut rest = &bytes[..];
            while !rest.is_empty() && Letter::read(&mut rest, &WIRE).is_ok() {}
            prop_assert_eq!(read_words::<2>(&bytes).is_ok(), bytes.len() == 16);
        }

        #[test]
        fn a_color_is_known_for_what_it_is(round in 0u64..1000) {
            prop_assert_eq!(Color::of(round).is_late(round), Ok(false));
            prop_assert_eq!(Color::of(round + 1).is_late(round), Ok(false));
            prop_assert_eq!(Color::of(round).is_late(round + 1), Ok(true));
            prop_assert!(Color::of(round).is_late(round + 2).is_err());
        }
    }
}

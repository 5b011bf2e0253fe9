//! What workers of different ranks write to each other, as bytes.
//!
//! Read by [`away`](super::away) (events) and [`rounds`](super::rounds) (global virtual time). A parcel of
//! events is a sequence of letters, one for each event or anti-message:
//!
//! | bytes | what |
//! |---|---|
//! | 0 | the sender's color (bits 0 and 1), the kind of event (2 and 3), whether it is an anti-message (4) |
//! | 1..5 | the receiver |
//! | 5..9 | the serial number, by which an anti-message finds its event |
//! | 9..33 | the key |
//! | 33.. | the message, in the model's own format; nothing in an anti-message |
//!
//! All other parcels are a few words of 8 bytes. Numbers are little-endian.
//!
//! # Invariants
//!
//! - **LETTER-A.** Nothing is read past its end, and what means nothing is refused (WIRE-A).

use warpline_core::{EventKey, STEP_MAX, WireError, take};
use warpline_net::Malformed;

use super::event::Kind;
use crate::ranks::ENGINE_KINDS;

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

/// A letter without the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) color: Color,
    pub(super) kind: Kind,
    pub(super) is_anti: bool,
    pub(super) lp: u32,
    pub(super) serial: u32,
    pub(super) key: EventKey,
}

/// The rounds that a letter's sender had reported in, modulo 4. (Two would do for Mattern's argument; with four,
/// a receiver also tells one round behind from one ahead.)
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

impl Letter {
    /// Appends it.
    #[inline]
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let kind = match self.kind {
            Kind::Ordinary => 0,
            Kind::BlockingIo => 1,
            Kind::NonBlockingIo => 2,
        };
        bytes.push(self.color.0 | kind << 2 | u8::from(self.is_anti) << 4);
        bytes.extend_from_slice(&self.lp.to_le_bytes());
        bytes.extend_from_slice(&self.serial.to_le_bytes());
        for word in self.key.words() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Takes one from the front.
    pub(super) fn read(bytes: &mut &[u8]) -> Result<Self, WireError> {
        let flags = array::<1>(bytes)?[0];
        let kind = match flags >> 2 & 3 {
            0 => Kind::Ordinary,
            1 => Kind::BlockingIo,
            2 => Kind::NonBlockingIo,
            _ => return Err(WireError::new(format!("flags of a letter: {flags:#x}"))),
        };
        if flags >> 5 != 0 {
            return Err(WireError::new(format!("flags of a letter: {flags:#x}")));
        }
        let lp = u32::from_le_bytes(array(bytes)?);
        let serial = u32::from_le_bytes(array(bytes)?);
        let [a, b, c] = [array(bytes)?, array(bytes)?, array(bytes)?].map(u64::from_le_bytes);
        let key = EventKey::from_words([a, b, c]).filter(|key| key.step() <= STEP_MAX);
        let key = key.ok_or_else(|| WireError::new(format!("a key: {a:#x} {b:#x} {c:#x}")))?;
        let (color, is_anti) = (Color(flags & 3), flags & 1 << 4 != 0);
        Ok(Self { color, kind, is_anti, lp, serial, key })
    }
}

fn array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], WireError> {
    let mut array = [0; N];
    array.copy_from_slice(take(bytes, N)?);
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
    use warpline_core::{LpId, VirtualTime};

    fn letter() -> impl Strategy<Value = Letter> {
        let key = (0.0..1e9, 0..=STEP_MAX, any::<u32>(), 0..u64::MAX).prop_map(|(t, step, lp, n)| {
            EventKey::new(VirtualTime::new(t).unwrap(), step, LpId::new(lp), n)
        });
        let kind = prop_oneof![
            Just(Kind::Ordinary),
            Just(Kind::BlockingIo),
            Just(Kind::NonBlockingIo)
        ];
        (0u64..9, kind, any::<bool>(), any::<u32>(), any::<u32>(), key).prop_map(
            |(round, kind, is_anti, lp, serial, key)| {
                let color = Color::of(round);
                Letter { color, kind, is_anti, lp, serial, key }
            },
        )
    }

    proptest! {
        /// What is written one after the other is read back so; cut off anywhere, the last one is refused.
        #[test]
        fn letters_come_back(letters in proptest::collection::vec(letter(), 1..5), cut in 1usize..33) {
            let mut bytes = Vec::new();
            letters.iter().for_each(|letter| letter.write(&mut bytes));
            let mut rest = &bytes[..];
            for letter in &letters {
                prop_assert_eq!(&Letter::read(&mut rest).unwrap(), letter);
            }
            prop_assert!(rest.is_empty());
            let mut rest = &bytes[..bytes.len() - cut];
            for _ in 1..letters.len() {
                prop_assert!(Letter::read(&mut rest).is_ok());
            }
            prop_assert!(Letter::read(&mut rest).is_err());
        }

        /// Any bytes are letters or an error.
        #[test]
        fn any_bytes_are_letters_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut rest = &bytes[..];
            while !rest.is_empty() && Letter::read(&mut rest).is_ok() {}
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

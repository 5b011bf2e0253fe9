//! A suspended process as words: its kind and where it goes on, and what it holds.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error, SeqAccess, Visitor},
    ser::SerializeTuple,
};
use warpline::{Value, state::Owned};
use warpline_processes::{ProcessKind, rt::AsProcess};

use super::{LARGE, MIDDLE, SMALL, Typed};

/// A process of at most this many words. The upper half of the first one is its kind; all else is
/// the business of the functions that resume it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Process<const N: usize>(pub(super) [u64; N]);

impl<const N: usize> Process<N> {
    /// A process of this kind with these words, of which the first has no kind yet.
    #[inline]
    pub(super) fn new(kind: u32, words: &[u64]) -> Self {
        // They are few, so a loop is faster than a call that copies.
        let mut all: [u64; N] = std::array::from_fn(|at| words.get(at).copied().unwrap_or(0));
        all[0] |= u64::from(kind) << 32;
        Self(all)
    }
}

impl<const N: usize> Value for Process<N> {
    const WORDS: usize = N;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], _: &mut Owned) {
        to[..N].copy_from_slice(&self.0);
    }

    #[inline]
    fn get(from: &[u64], _: &mut Owned) -> Self {
        Self(std::array::from_fn(|place| from[place]))
    }
}

/// How processes of a size class travel.
pub(super) trait Class: Sized {
    type Carried: From<Self>
        + AsProcess<Self>
        + fmt::Debug
        + Clone
        + Send
        + Sync
        + Serialize
        + DeserializeOwned
        + 'static;
}

impl Class for Process<SMALL> {
    type Carried = Self;
}

impl Class for Process<MIDDLE> {
    type Carried = Self;
}

impl Class for Process<LARGE> {
    type Carried = Box<Self>;
}

impl<const N: usize> ProcessKind<Typed<N>> for Process<N>
where
    Self: Class,
{
    type Carried = <Self as Class>::Carried;

    #[inline]
    fn arrived(carried: &Self::Carried) -> Self {
        carried.process()
    }

    fn carried_bytes(carried: &Self::Carried) -> usize {
        carried.bytes()
    }

    #[inline]
    fn kind(&self) -> u16 {
        (self.0[0] >> 32) as u16
    }

    fn name(world: &Typed<N>, kind: u16) -> &str {
        let process = world.0.description.processes.get(usize::from(kind));
        process.map_or("process", |process| &process.name)
    }
}

impl<const N: usize> Serialize for Process<N> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut words = to.serialize_tuple(N)?;
        self.0.iter().try_for_each(|word| words.serialize_element(word))?;
        words.end()
    }
}

impl<'de, const N: usize> Deserialize<'de> for Process<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_tuple(N, WordsOf::<N>)
    }
}

struct WordsOf<const N: usize>;

impl<'de, const N: usize> Visitor<'de> for WordsOf<N> {
    type Value = Process<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} words of a process")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Process<N>, A::Error> {
        let mut words = [0; N];
        for (place, word) in words.iter_mut().enumerate() {
            *word = from.next_element()?.ok_or_else(|| A::Error::invalid_length(place, &self))?;
        }
        Ok(Process(words))
    }
}

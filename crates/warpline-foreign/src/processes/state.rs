//! A suspended process as words: its kind and where it goes on, and what it holds.

use std::{fmt, num::NonZeroU64, ptr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{DeserializeOwned, Error, SeqAccess, Visitor},
    ser::SerializeTuple,
};
use warpline::{Value, state::Owned};
use warpline_processes::{ProcessKind, rt::AsProcess};

use super::{LARGE, MIDDLE, SMALL, Typed};

/// A process of at most one word more than this. The upper half of the first one is its kind, from
/// 1 on; all else is the business of the functions that resume it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Process<const N: usize> {
    first: NonZeroU64,
    rest: [u64; N],
}

/// The words of a process, as the function has them that resumes it.
#[repr(C)]
pub(super) struct Words<const N: usize> {
    first: u64,
    rest: [u64; N],
}

/// The part of the first word that is the function's own.
const OWN: u64 = u32::MAX as u64;

impl<const N: usize> Process<N> {
    /// A process of this kind with these words, of which the first has no kind yet.
    #[inline]
    pub(super) fn new(kind: u32, words: &[u64]) -> Self {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let first = NonZeroU64::MIN.saturating_add(u64::from(kind)).get() << 32;
        // They are few, so a loop is faster than a call that copies.
        Self { first: with_own(first, word(0)), rest: std::array::from_fn(|at| word(at + 1)) }
    }

    /// Its words, for a function. They have just been written, and each is read alone: two that are
    /// read as one, and were not written as one, wait for both writes to end.
    #[inline]
    pub(super) fn words(&self) -> Words<N> {
        let first = one(&self.first).get();
        Words { first, rest: std::array::from_fn(|at| one(&self.rest[at])) }
    }

    /// Takes what a function has written.
    #[inline]
    pub(super) fn set(&mut self, words: &Words<N>) {
        self.first = with_own(self.first.get(), one(&words.first));
        self.rest = std::array::from_fn(|at| one(&words.rest[at]));
    }

    /// The words, for an error.
    pub(super) fn to_vec(&self) -> Vec<u64> {
        [self.first.get()].iter().chain(&self.rest).copied().collect()
    }
}

impl<const N: usize> Words<N> {
    #[inline]
    pub(super) const fn as_mut_ptr(&mut self) -> *mut u64 {
        (&raw mut *self).cast()
    }
}

/// A first word with another part that is the function's.
#[inline]
fn with_own(first: u64, own: u64) -> NonZeroU64 {
    NonZeroU64::new(first & !OWN | own & OWN).unwrap_or(NonZeroU64::MIN)
}

/// What is here, read alone.
#[inline(always)]
#[expect(unsafe_code, reason = "a read that the compiler leaves as it is")]
fn one<T: Copy>(here: &T) -> T {
    // SAFETY: it is borrowed.
    unsafe { ptr::read_volatile(here) }
}

impl<const N: usize> Value for Process<N> {
    const WORDS: usize = 1 + N;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], _: &mut Owned) {
        to[0] = self.first.get();
        to[1..=N].copy_from_slice(&self.rest);
    }

    #[inline]
    fn get(from: &[u64], _: &mut Owned) -> Self {
        Self { first: with_own(from[0], from[0]), rest: std::array::from_fn(|at| from[1 + at]) }
    }
}

/// A number in a store, in one word also where there may be none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Item(NonZeroU64);

impl Item {
    #[inline]
    pub(super) fn new(number: f64) -> Self {
        let nan = NonZeroU64::MIN;
        Self(NonZeroU64::new(!number.to_bits()).unwrap_or(nan))
    }

    #[inline]
    pub(super) const fn get(self) -> f64 {
        f64::from_bits(!self.0.get())
    }
}

impl Value for Item {
    const WORDS: usize = 1;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], _: &mut Owned) {
        to[0] = self.0.get();
    }

    #[inline]
    fn get(from: &[u64], _: &mut Owned) -> Self {
        Self(NonZeroU64::new(from[0]).unwrap_or(NonZeroU64::MIN))
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

    /// The parameters of the world say what code it is.
    fn source(_: &Typed<N>) -> u64 {
        0
    }

    #[inline]
    fn arrived(carried: &Self::Carried) -> Self {
        carried.process()
    }

    fn carried_bytes(carried: &Self::Carried) -> usize {
        carried.bytes()
    }

    #[inline]
    fn kind(&self) -> u16 {
        (self.first.get() >> 32) as u16 - 1
    }

    fn name(world: &Typed<N>, kind: u16) -> &str {
        let process = world.0.description.processes.get(usize::from(kind));
        process.map_or("process", |process| &process.name)
    }
}

impl<const N: usize> Serialize for Process<N> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut words = to.serialize_tuple(1 + N)?;
        words.serialize_element(&self.first)?;
        self.rest.iter().try_for_each(|word| words.serialize_element(word))?;
        words.end()
    }
}

impl<'de, const N: usize> Deserialize<'de> for Process<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_tuple(1 + N, WordsOf::<N>)
    }
}

struct WordsOf<const N: usize>;

impl<'de, const N: usize> Visitor<'de> for WordsOf<N> {
    type Value = Process<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words of a process", 1 + N)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Process<N>, A::Error> {
        let missing = |place| A::Error::invalid_length(place, &self);
        let first = from.next_element()?.ok_or_else(|| missing(0))?;
        let mut rest = [0; N];
        for (place, word) in rest.iter_mut().enumerate() {
            *word = from.next_element()?.ok_or_else(|| missing(1 + place))?;
        }
        Ok(Process { first, rest })
    }
}

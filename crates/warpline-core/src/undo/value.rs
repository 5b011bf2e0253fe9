//! Values that the undo log can hold.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    marker::PhantomData,
    ops::{Range, RangeInclusive},
};

use super::Owned;
use crate::{EventKey, LpId, Stream, VirtualTime, heap_block};

/// A value that the undo log can hold: as words, and, if it owns memory, as a copy beside them.
///
/// `#[derive(Value)]` writes it for structs and enums of values.
#[diagnostic::on_unimplemented(
    message = "the undo log cannot save `{Self}`",
    label = "not a `Value`",
    note = "a type of your own derives `Value`, with `Clone`",
    note = "a field of a state may also be tracked: `Tracked<…>`, `TrackedVec<…>`, \
            `TrackedMap<…>`; `#[state(tracked)]` says so of another name for them, and \
            `#[state(nested)]` of a type that derives `State`",
    note = "a field that nothing changes after `make_lp` is `#[state(fixed)]`"
)]
pub trait Value: Clone + Send + 'static {
    /// How many words it takes.
    const WORDS: usize;
    /// Whether it, or a part of it, is kept beside the words.
    const OWNS: bool;

    /// Writes it to `to`, which has [`WORDS`](Self::WORDS) words. What is there before is not
    /// defined, and words that [`get`](Self::get) does not read may stay so.
    fn put(&self, to: &mut [u64], owned: &mut Owned);

    /// Reads what [`put`](Self::put) wrote.
    fn get(from: &[u64], owned: &mut Owned) -> Self;

    /// The bytes that it owns on the heap.
    #[inline]
    fn heap_bytes(&self) -> usize {
        0
    }
}

/// Values of one word.
macro_rules! words {
    ($($type:ty: $to:expr, $from:expr;)+) => {$(
        impl Value for $type {
            const WORDS: usize = 1;
            const OWNS: bool = false;

            #[inline(always)]
            fn put(&self, to: &mut [u64], _: &mut Owned) {
                to[0] = $to(*self);
            }

            #[inline(always)]
            fn get(from: &[u64], _: &mut Owned) -> Self {
                $from(from[0])
            }
        }
    )+};
}

words! {
    u64: |value| value, |word| word;
    u32: u64::from, |word| word as u32;
    u16: u64::from, |word| word as u16;
    u8: u64::from, |word| word as u8;
    usize: |value| value as u64, |word| word as usize;
    i64: |value| value as u64, |word| word as i64;
    i32: |value| value as u64, |word| word as i32;
    i16: |value| value as u64, |word| word as i16;
    i8: |value| value as u64, |word| word as i8;
    isize: |value| value as u64, |word| word as isize;
    f64: f64::to_bits, f64::from_bits;
    f32: |value: f32| u64::from(value.to_bits()), |word| f32::from_bits(word as u32);
    bool: u64::from, |word| word != 0;
    char: u64::from, |word| char::from_u32(word as u32).unwrap_or_default();
    LpId: |value: LpId| u64::from(value.get()), |word| LpId::new(word as u32);
    VirtualTime: VirtualTime::to_ordered_bits, VirtualTime::from_ordered_bits;
}

impl<T: Send + 'static> Value for PhantomData<T> {
    const WORDS: usize = 0;
    const OWNS: bool = false;

    #[inline(always)]
    fn put(&self, _: &mut [u64], _: &mut Owned) {}

    #[inline(always)]
    fn get(_: &[u64], _: &mut Owned) -> Self {
        Self
    }
}

impl Value for EventKey {
    const WORDS: usize = 3;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], _: &mut Owned) {
        to.copy_from_slice(&self.words());
    }

    #[inline]
    fn get(from: &[u64], _: &mut Owned) -> Self {
        Self::from_words([from[0], from[1], from[2]]).expect("UNDO: words that were a key are one")
    }
}

impl Value for Stream {
    const WORDS: usize = 2;
    const OWNS: bool = false;

    #[inline]
    fn put(&self, to: &mut [u64], _: &mut Owned) {
        to.copy_from_slice(&self.words());
    }

    #[inline]
    fn get(from: &[u64], _: &mut Owned) -> Self {
        Self::from_words([from[0], from[1]])
    }
}

macro_rules! tuples {
    ($(($($type:ident $place:tt),*);)+) => {$(
        impl<$($type: Value),*> Value for ($($type,)*) {
            const WORDS: usize = 0 $(+ $type::WORDS)*;
            const OWNS: bool = false $(|| $type::OWNS)*;

            #[inline(always)]
            fn put(&self, to: &mut [u64], owned: &mut Owned) {
                let rest = to;
                $(
                    let (to, rest) = rest.split_at_mut($type::WORDS);
                    self.$place.put(to, owned);
                )*
                let _ = (rest, owned);
            }

            #[inline(always)]
            #[allow(clippy::unused_unit, reason = "the empty tuple is a value, too")]
            fn get(from: &[u64], owned: &mut Owned) -> Self {
                let rest = from;
                let _ = &owned;
                $(
                    let (from, rest) = rest.split_at($type::WORDS);
                    #[allow(non_snake_case, reason = "named as its type")]
                    let $type = $type::get(from, owned);
                )*
                let _ = rest;
                ($($type,)*)
            }

            #[inline]
            fn heap_bytes(&self) -> usize {
                0 $(+ self.$place.heap_bytes())*
            }
        }
    )+};
}

tuples! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
}

impl<T: Value> Value for Option<T> {
    const WORDS: usize = 1 + T::WORDS;
    const OWNS: bool = T::OWNS;

    #[inline(always)]
    fn put(&self, to: &mut [u64], owned: &mut Owned) {
        to[0] = u64::from(self.is_some());
        if let Some(value) = self {
            value.put(&mut to[1..], owned);
        }
    }

    #[inline(always)]
    fn get(from: &[u64], owned: &mut Owned) -> Self {
        (from[0] != 0).then(|| T::get(&from[1..], owned))
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        self.as_ref().map_or(0, T::heap_bytes)
    }
}

/// A loop over it that waits holds what is left.
impl<T: Value> Value for Range<T> {
    const WORDS: usize = 2 * T::WORDS;
    const OWNS: bool = T::OWNS;

    #[inline(always)]
    fn put(&self, to: &mut [u64], owned: &mut Owned) {
        let (start, end) = to.split_at_mut(T::WORDS);
        self.start.put(start, owned);
        self.end.put(end, owned);
    }

    #[inline(always)]
    fn get(from: &[u64], owned: &mut Owned) -> Self {
        let (start, end) = from.split_at(T::WORDS);
        let start = T::get(start, owned);
        start..T::get(end, owned)
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        self.start.heap_bytes() + self.end.heap_bytes()
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    const WORDS: usize = N * T::WORDS;
    const OWNS: bool = T::OWNS;

    #[inline]
    fn put(&self, to: &mut [u64], owned: &mut Owned) {
        for (place, value) in self.iter().enumerate() {
            value.put(&mut to[place * T::WORDS..][..T::WORDS], owned);
        }
    }

    #[inline]
    fn get(from: &[u64], owned: &mut Owned) -> Self {
        std::array::from_fn(|place| T::get(&from[place * T::WORDS..][..T::WORDS], owned))
    }

    fn heap_bytes(&self) -> usize {
        self.iter().map(T::heap_bytes).sum()
    }
}

/// Values that are kept beside the words.
macro_rules! owned {
    ($(<$($of:ident: $bound:path),*> $type:ty, $bytes:expr;)+) => {$(
        impl<$($of: Value + $bound),*> Value for $type {
            const WORDS: usize = 1;
            const OWNS: bool = true;

            fn put(&self, to: &mut [u64], owned: &mut Owned) {
                to[0] = owned.keep(self.clone(), self.heap_bytes());
            }

            fn get(from: &[u64], owned: &mut Owned) -> Self {
                owned.take(from[0])
            }

            fn heap_bytes(&self) -> usize {
                $bytes(self)
            }
        }
    )+};
}

/// What the nodes of a tree take beside the entries, as a share of them.
const fn of_tree(entries: usize, size: usize) -> usize {
    heap_block(entries * (size + size_of::<usize>()))
}

owned! {
    <> String, |text: &String| heap_block(text.capacity());
    <T: Clone> Vec<T>, |values: &Vec<T>| heap_block(values.capacity() * size_of::<T>())
        + values.iter().map(T::heap_bytes).sum::<usize>();
    <T: Clone> VecDeque<T>, |values: &VecDeque<T>| heap_block(values.capacity() * size_of::<T>())
        + values.iter().map(T::heap_bytes).sum::<usize>();
    // Whether it is exhausted cannot be read.
    <T: Clone> RangeInclusive<T>, |range: &Self| range.start().heap_bytes()
        + range.end().heap_bytes();
    <T: Clone> Box<T>, |value: &Self| heap_block(size_of::<T>()) + (**value).heap_bytes();
    <T: Ord> BTreeSet<T>, |values: &BTreeSet<T>| of_tree(values.len(), size_of::<T>())
        + values.iter().map(T::heap_bytes).sum::<usize>();
    <K: Ord, V: Clone> BTreeMap<K, V>, |entries: &BTreeMap<K, V>|
        of_tree(entries.len(), size_of::<(K, V)>())
        + entries.iter().map(|(key, value)| key.heap_bytes() + value.heap_bytes()).sum::<usize>();
}

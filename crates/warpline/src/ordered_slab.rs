//! A map in the order of its keys, whose values lie in a slab beside the tree.
//!
//! The engines keep what depends on the type of a model in it: a tree is a lot of code, and here it
//! is compiled once per type of key, not once per model. Called where events are far from being
//! handled, so the second step to a value costs nothing that can be measured.
//!
//! # Invariants
//!
//! - **SLAB-A.** Each key's place has a value, and no other place has one. Checked when a value is
//!   looked up.

use std::collections::BTreeMap;

/// A key. Its tree is compiled with its type ([`key!`]).
pub(crate) trait Key: Ord + Copy {
    fn insert(places: &mut BTreeMap<Self, usize>, key: Self, place: usize);
    fn remove(places: &mut BTreeMap<Self, usize>, key: &Self) -> Option<usize>;
    fn pop_first(places: &mut BTreeMap<Self, usize>) -> Option<(Self, usize)>;
}

/// Makes a type a key: what changes a tree is compiled where this stands.
macro_rules! key {
    ($key:ty) => {
        impl $crate::ordered_slab::Key for $key {
            fn insert(places: &mut BTreeMap<Self, usize>, key: Self, place: usize) {
                places.insert(key, place);
            }

            fn remove(places: &mut BTreeMap<Self, usize>, key: &Self) -> Option<usize> {
                places.remove(key)
            }

            fn pop_first(places: &mut BTreeMap<Self, usize>) -> Option<(Self, usize)> {
                places.pop_first()
            }
        }
    };
}
pub(crate) use key;

key!(u64);
#[cfg(test)]
key!(u32);

/// A map in the order of its keys.
#[derive(Debug)]
pub(crate) struct OrderedSlab<K, V> {
    places: BTreeMap<K, usize>,
    values: Vec<Option<V>>,
    free: Vec<usize>,
}

impl<K: Key, V> OrderedSlab<K, V> {
    pub(crate) const fn new() -> Self {
        Self { places: BTreeMap::new(), values: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The least key, with its value.
    pub(crate) fn first(&self) -> Option<(&K, &V)> {
        let (key, &place) = self.places.first_key_value()?;
        Some((key, expect(self.values[place].as_ref())))
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let &place = self.places.get(key)?;
        Some(expect(self.values[place].as_mut()))
    }

    /// Sets the value of a key, and returns the one that it had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(old) = self.get_mut(&key) {
            return Some(std::mem::replace(old, value));
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.values.push(None);
            self.values.len() - 1
        });
        debug_assert!(self.values[place].is_none(), "SLAB-A: a free place has a value");
        self.values[place] = Some(value);
        K::insert(&mut self.places, key, place);
        debug_assert_eq!(
            self.places.len() + self.free.len(),
            self.values.len(),
            "SLAB-A: a place is neither used nor free"
        );
        None
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let place = K::remove(&mut self.places, key)?;
        Some(self.take(place))
    }

    /// Removes the least key.
    pub(crate) fn pop_first(&mut self) -> Option<(K, V)> {
        let (key, place) = K::pop_first(&mut self.places)?;
        Some((key, self.take(place)))
    }

    fn take(&mut self, place: usize) -> V {
        debug_assert!(self.free.len() < self.values.len(), "SLAB-A: a place is free twice");
        self.free.push(place);
        expect(self.values[place].take())
    }
}

fn expect<V>(value: Option<V>) -> V {
    value.unwrap_or_else(|| unreachable!("SLAB-A: a place without a value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It does what a `BTreeMap` does (SLAB-A).
    #[test]
    fn agrees_with_a_tree() {
        let (mut slab, mut tree) = (OrderedSlab::new(), BTreeMap::new());
        let mut random = 1_u32;
        for step in 0..2_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let key = random >> 26;
            match random >> 16 & 3 {
                0 => assert_eq!(slab.remove(&key), tree.remove(&key)),
                1 if step % 3 == 0 => assert_eq!(slab.pop_first(), tree.pop_first()),
                _ => assert_eq!(slab.insert(key, step), tree.insert(key, step)),
            }
            assert_eq!((slab.len(), slab.is_empty()), (tree.len(), tree.is_empty()));
            assert_eq!(slab.first(), tree.first_key_value());
            assert_eq!(slab.get_mut(&key), tree.get_mut(&key));
        }
        assert!(slab.values.len() <= 64, "places are used again");
    }
}

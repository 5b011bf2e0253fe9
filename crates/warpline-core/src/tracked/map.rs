//! A tracked map.

use std::collections::BTreeMap;

use super::field::{Change, Field, tracked};
use crate::Context;

/// A map in which an event saves only the entries that it changes. Its order is that of the keys,
/// so that iterating over it repeats itself.
///
/// ```
/// use warpline_core::{Context, TrackedMap};
///
/// fn handle(calls: &mut TrackedMap<u32, u64>, caller: u32, cx: &impl Context<()>) {
///     match calls.write(&caller, cx) {
///         Some(count) => *count += 1,
///         None => drop(calls.insert(caller, 1, cx)),
///     }
/// }
/// ```
pub struct TrackedMap<K, V>(pub(super) Field<BTreeMap<K, V>, Entry<K, V>>);

/// The entry from before, if there was one.
pub(super) struct Entry<K, V>(K, Option<V>);

impl<K: Ord, V> Change<BTreeMap<K, V>> for Entry<K, V> {
    fn revert(self, entries: &mut BTreeMap<K, V>) {
        match self {
            Self(key, Some(old)) => drop(entries.insert(key, old)),
            Self(key, None) => drop(entries.remove(&key)),
        }
    }
}

impl<K: Ord + Clone, V: Clone> TrackedMap<K, V> {
    /// A field with these entries.
    pub fn new(entries: BTreeMap<K, V>) -> Self {
        Self(Field::new(entries))
    }

    /// The value of a key, to change it, if there is one. The old one is saved, unless the event
    /// has changed this entry last.
    pub fn write<M>(&mut self, key: &K, cx: &impl Context<M>) -> Option<&mut V> {
        let logged = self.0.logged_mut();
        if !logged.contents.contains_key(key) {
            return None;
        }
        let change = |entries: &BTreeMap<K, V>| Entry(key.clone(), entries.get(key).cloned());
        logged.save_once(cx, |last| last.0 == *key, change);
        logged.contents.get_mut(key)
    }

    /// Gives a key a value, and returns the old one.
    pub fn insert<M>(&mut self, key: K, value: V, cx: &impl Context<M>) -> Option<V> {
        let logged = self.0.logged_mut();
        let change = |entries: &BTreeMap<K, V>| Entry(key.clone(), entries.get(&key).cloned());
        logged.save_once(cx, |last| last.0 == key, change);
        logged.contents.insert(key, value)
    }

    /// Removes a key, and returns its value.
    pub fn remove<M>(&mut self, key: &K, cx: &impl Context<M>) -> Option<V> {
        let logged = self.0.logged_mut();
        let old = logged.contents.remove(key)?;
        logged.save_once(cx, |last| last.0 == *key, |_| Entry(key.clone(), Some(old.clone())));
        Some(old)
    }
}

tracked!(TrackedMap<K: Ord, V>, BTreeMap<K, V>, BTreeMap<K, V>);

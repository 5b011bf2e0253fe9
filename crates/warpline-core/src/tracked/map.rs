//! A tracked map.

use std::collections::BTreeMap;

use super::field::tracked;
use crate::{
    Context,
    undo::{Entry, Value},
};

/// A map in which an event saves only the entries that it changes. Its order is that of the keys,
/// so that iterating over it repeats itself.
///
/// ```
/// use warpline_core::{Context, TrackedMap};
///
/// fn handle(calls: &mut TrackedMap<u32, u64>, caller: u32, cx: &mut impl Context<()>) {
///     match calls.write(&caller, cx) {
///         Some(count) => *count += 1,
///         None => drop(calls.insert(caller, 1, cx)),
///     }
/// }
/// ```
pub struct TrackedMap<K, V> {
    last: u64,
    contents: BTreeMap<K, V>,
}

/// There was another value, or none.
const GIVEN: u64 = 0;
const ADDED: u64 = 1;

impl<K: Value + Ord, V: Value> TrackedMap<K, V> {
    /// The value of a key, to change it, if there is one. The old one is saved.
    pub fn write<M>(&mut self, key: &K, cx: &mut impl Context<M>) -> Option<&mut V> {
        let value = self.contents.get_mut(key)?;
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, GIVEN, 0, &(key.clone(), value.clone()));
        }
        Some(value)
    }

    /// Gives a key a value, and returns the old one.
    pub fn insert<M>(&mut self, key: K, value: V, cx: &mut impl Context<M>) -> Option<V> {
        if let Some(log) = cx.undo() {
            self.last = match self.contents.get(&key) {
                Some(old) => log.push(self.last, GIVEN, 0, &(key.clone(), old.clone())),
                None => log.push(self.last, ADDED, 0, &key),
            };
        }
        self.contents.insert(key, value)
    }

    /// Removes a key, and returns its value.
    pub fn remove<M>(&mut self, key: &K, cx: &mut impl Context<M>) -> Option<V> {
        if let Some(log) = cx.undo()
            && let Some(old) = self.contents.get(key)
        {
            self.last = log.push(self.last, GIVEN, 0, &(key.clone(), old.clone()));
        }
        self.contents.remove(key)
    }

    /// Removes the least key, and returns it with its value.
    pub fn pop_first<M>(&mut self, cx: &mut impl Context<M>) -> Option<(K, V)> {
        let (key, value) = self.contents.pop_first()?;
        if let Some(log) = cx.undo() {
            let removed = (key, value);
            self.last = log.push(self.last, GIVEN, 0, &removed);
            return Some(removed);
        }
        Some((key, value))
    }

    #[inline]
    fn revert(contents: &mut BTreeMap<K, V>, entry: &mut Entry<'_>) {
        if entry.operation == ADDED {
            contents.remove(&entry.value());
        } else {
            let (key, old) = entry.value();
            contents.insert(key, old);
        }
    }
}

tracked!(TrackedMap<K: Ord, V>, BTreeMap<K, V>, BTreeMap<K, V>);

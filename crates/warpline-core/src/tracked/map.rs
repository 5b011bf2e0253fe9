//! A tracked map.

use std::collections::BTreeMap;

use super::{entries::entries, field::tracked};
use crate::{Context, undo::Value};

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

entries!(TrackedMap<K: Ord, V>, BTreeMap<K, V>);
tracked!(TrackedMap<K: Ord, V>, BTreeMap<K, V>, BTreeMap<K, V>);

impl<K: Value + Ord, V: Value> TrackedMap<K, V> {
    /// Removes the least key, and returns it with its value.
    pub fn pop_first<M>(&mut self, cx: &mut impl Context<M>) -> Option<(K, V)> {
        if let Some(log) = cx.undo()
            && let Some((key, old)) = self.contents.first_key_value()
        {
            self.last = log.push_pair(self.last, GIVEN, key, old);
        }
        self.contents.pop_first()
    }
}

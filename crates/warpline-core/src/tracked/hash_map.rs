//! A tracked map without an order.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    fmt::{self, Debug},
    hash::{BuildHasherDefault, Hash},
};

use super::{entries::entries, field::tracked_hidden};
use crate::{UndoLog, heap_block, undo::Value};

/// A map by hash, in which an event saves only the entries that it changes.
///
/// It cannot be iterated over: after an undo the same entries may come in another order, and a
/// handler that sees the order would differ from run to run. [`TrackedMap`](crate::TrackedMap) has
/// an order.
///
/// ```
/// use warpline_core::{Context, TrackedHashMap};
///
/// type Seen = TrackedHashMap<u64, u32>;
///
/// fn is_known(seen: &mut Seen, number: u64, cx: &mut impl Context<()>) -> bool {
///     match seen.write(&number, cx) {
///         Some(count) => *count += 1,
///         None => drop(seen.insert(number, 1, cx)),
///     }
///     seen.get(&number).is_some_and(|count| *count > 1)
/// }
/// ```
pub struct TrackedHashMap<K, V> {
    last: u64,
    contents: Table<K, V>,
}

/// The hash is the same in every run.
type Table<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// What a table takes of the heap, with what its entries own.
fn bytes_of<K: Value, V: Value>(table: &Table<K, V>) -> usize {
    let own = heap_block(table.capacity() * (size_of::<(K, V)>() + 1));
    own + table.iter().map(|(key, value)| key.heap_bytes() + value.heap_bytes()).sum::<usize>()
}

impl<K, V> Default for TrackedHashMap<K, V> {
    fn default() -> Self {
        Self { last: UndoLog::NONE, contents: Table::default() }
    }
}

impl<K, V> TrackedHashMap<K, V> {
    /// How many entries there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.contents.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.contents.is_empty()
    }
}

impl<K: Value + Eq + Hash, V: Value> TrackedHashMap<K, V> {
    /// The value of a key.
    #[inline]
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.contents.get(key)
    }

    /// Whether there is an entry for a key.
    #[inline]
    #[must_use]
    pub fn contains_key(&self, key: &K) -> bool {
        self.contents.contains_key(key)
    }
}

/// In the order of the keys' texts: equal maps have equal texts, which checks compare.
impl<K: Debug, V: Debug> Debug for TrackedHashMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |(key, value)| (format!("{key:?}"), (key, value));
        let mut entries: Vec<_> = self.contents.iter().map(named).collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        f.debug_map().entries(entries.into_iter().map(|(_, entry)| entry)).finish()
    }
}

tracked_hidden!(TrackedHashMap<K: Eq: Hash, V>, Table<K, V>, bytes_of);
entries!(TrackedHashMap<K: Eq: Hash, V>, Table<K, V>);

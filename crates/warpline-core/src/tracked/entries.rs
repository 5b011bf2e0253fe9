//! What the tracked maps have in common: how an entry is changed, and what undoes that.

/// Implements the changes of single entries. The map has the fields `last` and `contents`; the
/// latter is a map of the standard library.
macro_rules! entries {
    ($name:ident<$key:ident $(: $bound:path)+, $value:ident>, $contents:ty) => {
        /// What an entry of the log has: a key and its old value, or a key that was added.
        const GIVEN: u64 = 0;
        const ADDED: u64 = 1;

        impl<$key: $crate::undo::Value $(+ $bound)+, $value: $crate::undo::Value>
            $name<$key, $value>
        {
            /// The value of a key, to change it, if there is one. The old one is saved.
            pub fn write<M>(
                &mut self,
                key: &$key,
                cx: &mut impl $crate::Context<M>,
            ) -> Option<&mut $value> {
                let value = self.contents.get_mut(key)?;
                if let Some(log) = cx.undo() {
                    self.last = log.push_pair(self.last, GIVEN, key, value);
                }
                Some(value)
            }

            /// Gives a key a value, and returns the old one.
            pub fn insert<M>(
                &mut self,
                key: $key,
                value: $value,
                cx: &mut impl $crate::Context<M>,
            ) -> Option<$value> {
                if let Some(log) = cx.undo() {
                    self.last = match self.contents.get(&key) {
                        Some(old) => log.push_pair(self.last, GIVEN, &key, old),
                        None => log.push(self.last, ADDED, 0, &key),
                    };
                }
                self.contents.insert(key, value)
            }

            /// Removes a key, and returns its value.
            pub fn remove<M>(
                &mut self,
                key: &$key,
                cx: &mut impl $crate::Context<M>,
            ) -> Option<$value> {
                if let Some(log) = cx.undo()
                    && let Some(old) = self.contents.get(key)
                {
                    self.last = log.push_pair(self.last, GIVEN, key, old);
                }
                self.contents.remove(key)
            }

            #[inline]
            fn revert(contents: &mut $contents, entry: &mut $crate::undo::Entry<'_>) {
                if entry.operation == ADDED {
                    contents.remove(&entry.value());
                } else {
                    let (key, old) = entry.value();
                    contents.insert(key, old);
                }
            }
        }
    };
}

pub(super) use entries;

//! What all tracked containers have in common: contents, and the position of the last entry.

/// Implements what every tracked container implements. It has the fields `last` and `contents`, and
/// a method `revert` that undoes one entry.
macro_rules! tracked {
    ($name:ident<$($of:ident $(: $bound:path)*),+>, $contents:ty, $target:ty) => {
        impl<$($of),+> $name<$($of),+> {
            /// A field with these contents.
            pub const fn new(contents: $contents) -> Self {
                Self { last: $crate::UndoLog::NONE, contents }
            }

            /// The contents.
            #[must_use]
            pub fn into_inner(self) -> $contents {
                self.contents
            }
        }

        impl<$($of),+> Default for $name<$($of),+>
        where
            $contents: Default,
        {
            fn default() -> Self {
                Self::new(<$contents>::default())
            }
        }

        impl<$($of),+> std::ops::Deref for $name<$($of),+> {
            type Target = $target;

            #[inline(always)]
            fn deref(&self) -> &$target {
                &self.contents
            }
        }

        impl<$($of),+> std::fmt::Debug for $name<$($of),+>
        where
            $contents: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.contents.fmt(f)
            }
        }

        $crate::tracked::field::tracked_hidden!(
            $name<$($of $(: $bound)*),+>, $contents, $crate::undo::Value::heap_bytes
        );
    };
}

/// The same for a container that does not show its contents, or in another way.
macro_rules! tracked_hidden {
    ($name:ident<$($of:ident $(: $bound:path)*),+>, $contents:ty, $bytes:expr) => {
        /// A copy has the contents without the entries.
        impl<$($of),+> Clone for $name<$($of),+>
        where
            $contents: Clone,
        {
            fn clone(&self) -> Self {
                Self { last: $crate::UndoLog::NONE, contents: self.contents.clone() }
            }

            fn clone_from(&mut self, source: &Self) {
                self.last = $crate::UndoLog::NONE;
                self.contents.clone_from(&source.contents);
            }
        }

        impl<$($of),+> PartialEq for $name<$($of),+>
        where
            $contents: PartialEq,
        {
            fn eq(&self, other: &Self) -> bool {
                self.contents == other.contents
            }
        }

        impl<$($of: $crate::undo::Value $(+ $bound)*),+> $crate::undo::Undo for $name<$($of),+> {
            #[inline]
            fn undo_to(&mut self, point: u64, log: &mut $crate::UndoLog) -> usize {
                let mut undone = 0;
                while self.last >= point {
                    let mut entry = log.entry(self.last);
                    self.last = entry.prev;
                    Self::revert(&mut self.contents, &mut entry);
                    undone += 1;
                }
                undone
            }

            fn rebase(&mut self, moves: &$crate::undo::Moves) {
                self.last = moves.position(self.last);
            }

            fn heap_bytes(&self) -> usize {
                $bytes(&self.contents)
            }
        }

        // Only the contents go to another rank: the entries are of this rank's log.
        impl<$($of),+> serde::Serialize for $name<$($of),+>
        where
            $contents: serde::Serialize,
        {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.contents.serialize(serializer)
            }
        }

        impl<'de, $($of),+> serde::Deserialize<'de> for $name<$($of),+>
        where
            $contents: serde::Deserialize<'de>,
        {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$contents>::deserialize(deserializer)
                    .map(|contents| Self { last: $crate::UndoLog::NONE, contents })
            }
        }
    };
}

pub(crate) use {tracked, tracked_hidden};

//! What all tracked containers have in common: contents, the log of their changes, and copies
//! without contents.

use std::{any::Any, cell::Cell, collections::VecDeque};

use crate::{Context, heap::heap_block, undo_point::UndoPoint};

thread_local! {
    static SHALLOW: Cell<bool> = const { Cell::new(false) };
}

/// Runs `copy`; while it runs, clones on this thread leave out the contents of tracked fields.
#[inline]
pub fn shallow<T>(copy: impl FnOnce() -> T) -> T {
    /// Ends the shallow mode even if the `Clone` of a model panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            SHALLOW.set(self.0);
        }
    }
    let _restore = Restore(SHALLOW.replace(true));
    copy()
}

pub(super) const NOT_SHOWN: &str =
    "a tracked field has lost its contents: LogicalProcess::tracked must pass every one";
const REORDERED: &str = "LogicalProcess::tracked passed its fields in another order";

/// What undoes a change of contents `C`.
pub(super) trait Change<C> {
    fn revert(self, contents: &mut C);
}

/// Contents, and the log of their changes; no contents in a shallow copy.
pub(super) struct Field<C, E>(Option<Box<Logged<C, E>>>);

/// Contents, and what undoes the changes of each event that can be undone.
pub(super) struct Logged<C, E> {
    pub(super) contents: C,
    pub(super) log: VecDeque<(u64, E)>,
}

impl<C, E> Field<C, E> {
    pub(super) fn new(contents: C) -> Self {
        Self(Some(Box::new(Logged { contents, log: VecDeque::new() })))
    }

    /// A copy without the log; inside [`shallow`], without contents, too.
    #[inline]
    pub(super) fn copy(&self) -> Self
    where
        C: Clone,
    {
        if SHALLOW.get() { Self(None) } else { Self::new(self.contents().clone()) }
    }

    #[inline]
    pub(super) fn contents(&self) -> &C {
        &self.logged().contents
    }

    /// The contents, if this is not a shallow copy.
    pub(super) fn shown(&self) -> Option<&C> {
        self.0.as_ref().map(|logged| &logged.contents)
    }

    #[inline]
    pub(super) fn logged(&self) -> &Logged<C, E> {
        self.0.as_ref().expect(NOT_SHOWN)
    }

    #[inline]
    pub(super) fn logged_mut(&mut self) -> &mut Logged<C, E> {
        self.0.as_mut().expect(NOT_SHOWN)
    }

    pub(super) fn undo_to(&mut self, event: u64)
    where
        E: Change<C>,
    {
        let Logged { contents, log } = self.logged_mut();
        while log.back().is_some_and(|(saved, _)| *saved >= event) {
            if let Some((_, change)) = log.pop_back() {
                change.revert(contents);
            }
        }
    }

    pub(super) fn renumber(&mut self, number: &mut dyn FnMut(u64) -> Option<u64>) {
        let log = &mut self.logged_mut().log;
        log.retain_mut(|(event, _)| number(*event).map(|new| *event = new).is_some());
    }

    pub(super) fn log_bytes(&self) -> usize {
        heap_block(self.logged().log.capacity() * size_of::<(u64, E)>())
    }

    pub(super) fn forget(&mut self, committed: u64) {
        let log = &mut self.logged_mut().log;
        log.retain(|(event, _)| *event >= committed);
        log.shrink_to_fit();
    }

    pub(super) fn take_contents(&mut self) -> Box<dyn Any + Send>
    where
        C: Send + 'static,
        E: Send + 'static,
    {
        self.0.take().expect(NOT_SHOWN)
    }

    pub(super) fn put_contents(&mut self, contents: Box<dyn Any + Send>)
    where
        C: 'static,
        E: 'static,
    {
        self.0 = Some(contents.downcast().expect(REORDERED));
    }
}

impl<C, E> Logged<C, E> {
    /// The event whose changes must be saved, if those of the event that is being handled must.
    /// Drops the entries of committed events.
    #[inline]
    pub(super) fn must_save<M>(&mut self, cx: &impl Context<M>) -> Option<u64> {
        let point = cx.undo_point();
        if point == UndoPoint::NEVER {
            return None;
        }
        while self.log.front().is_some_and(|(event, _)| *event < point.committed) {
            self.log.pop_front();
        }
        Some(point.event)
    }

    /// Saves what undoes a change of one element, unless the change before, in the same event, was
    /// of that element: then what is saved undoes both.
    #[inline]
    pub(super) fn save_once<M>(
        &mut self,
        cx: &impl Context<M>,
        is_of_it: impl FnOnce(&E) -> bool,
        change: impl FnOnce(&C) -> E,
    ) {
        if let Some(event) = self.must_save(cx)
            && self.log.back().is_none_or(|(at, last)| *at != event || !is_of_it(last))
        {
            self.log.push_back((event, change(&self.contents)));
        }
    }

    /// Saves what undoes a change.
    #[inline]
    pub(super) fn save<M>(&mut self, cx: &impl Context<M>, change: impl FnOnce(&C) -> E) {
        if let Some(event) = self.must_save(cx) {
            self.log.push_back((event, change(&self.contents)));
        }
    }
}

/// Implements what every tracked container implements, around its only member, a [`Field`].
macro_rules! tracked {
    ($name:ident<$($of:ident $(: $bound:ident)?),+>, $contents:ty, $target:ty) => {
        impl<$($of),+> std::ops::Deref for $name<$($of),+> {
            type Target = $target;

            #[inline]
            fn deref(&self) -> &$target {
                self.0.contents()
            }
        }

        impl<$($of),+> Clone for $name<$($of),+>
        where
            $contents: Clone,
        {
            /// Copies the contents without the log; inside [`shallow`](super::shallow), neither.
            #[inline]
            fn clone(&self) -> Self {
                Self(self.0.copy())
            }
        }

        impl<$($of),+> std::fmt::Debug for $name<$($of),+>
        where
            $contents: std::fmt::Debug,
        {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.shown().fmt(f)
            }
        }

        impl<$($of: Clone + Send + 'static $(+ $bound)?),+> super::Undo for $name<$($of),+> {
            fn undo_to(&mut self, event: u64) {
                self.0.undo_to(event);
            }

            fn renumber(&mut self, number: &mut dyn FnMut(u64) -> Option<u64>) {
                self.0.renumber(number);
            }

            fn log_bytes(&self) -> usize {
                self.0.log_bytes()
            }

            fn forget(&mut self, committed: u64) {
                self.0.forget(committed);
            }

            fn take_contents(&mut self) -> Box<dyn std::any::Any + Send> {
                self.0.take_contents()
            }

            fn put_contents(&mut self, contents: Box<dyn std::any::Any + Send>) {
                self.0.put_contents(contents);
            }
        }

        // Only the contents go to another rank: the log serves events that this rank may undo.
        impl<$($of),+> serde::Serialize for $name<$($of),+>
        where
            $contents: serde::Serialize,
        {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.0.contents().serialize(serializer)
            }
        }

        impl<'de, $($of),+> serde::Deserialize<'de> for $name<$($of),+>
        where
            $contents: serde::Deserialize<'de>,
        {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                <$contents>::deserialize(deserializer)
                    .map(|contents| Self(super::field::Field::new(contents)))
            }
        }
    };
}

pub(super) use tracked;

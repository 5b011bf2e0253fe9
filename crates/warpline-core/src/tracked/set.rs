//! A tracked set.

use std::collections::BTreeSet;

use super::field::tracked;
use crate::{
    Context,
    undo::{Entry, Value},
};

/// A set in which an event saves only the elements that it adds or removes. Its order is that of
/// the elements.
///
/// ```
/// use warpline_core::{Context, LpId, TrackedSet};
///
/// fn first_call(callers: &mut TrackedSet<LpId>, caller: LpId, cx: &mut impl Context<()>) -> bool {
///     callers.insert(caller, cx)
/// }
/// ```
pub struct TrackedSet<T> {
    last: u64,
    contents: BTreeSet<T>,
}

const ADDED: u64 = 0;
const REMOVED: u64 = 1;

impl<T: Value + Ord> TrackedSet<T> {
    /// Adds an element; returns false if it was there.
    pub fn insert<M>(&mut self, element: T, cx: &mut impl Context<M>) -> bool {
        if let Some(log) = cx.undo()
            && !self.contents.contains(&element)
        {
            self.last = log.push(self.last, ADDED, 0, &element);
        }
        self.contents.insert(element)
    }

    /// Removes an element; returns false if it was not there.
    pub fn remove<M>(&mut self, element: &T, cx: &mut impl Context<M>) -> bool {
        if let Some(log) = cx.undo()
            && let Some(there) = self.contents.get(element)
        {
            self.last = log.push(self.last, REMOVED, 0, there);
        }
        self.contents.remove(element)
    }

    /// Removes the least element, and returns it.
    pub fn pop_first<M>(&mut self, cx: &mut impl Context<M>) -> Option<T> {
        if let (Some(log), Some(first)) = (cx.undo(), self.contents.first()) {
            self.last = log.push(self.last, REMOVED, 0, first);
        }
        self.contents.pop_first()
    }

    #[inline]
    fn revert(contents: &mut BTreeSet<T>, entry: &mut Entry<'_>) {
        if entry.operation == ADDED {
            contents.remove(&entry.value());
        } else {
            contents.insert(entry.value());
        }
    }
}

tracked!(TrackedSet<T: Ord>, BTreeSet<T>, BTreeSet<T>);

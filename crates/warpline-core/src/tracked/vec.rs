//! A tracked vector.

use super::field::tracked;
use crate::{
    Context,
    undo::{Entry, Value},
};

/// A vector in which an event saves only the elements that it changes.
///
/// ```
/// use warpline_core::{Context, TrackedVec};
///
/// fn handle(seen: &mut TrackedVec<u64>, number: u64, cx: &mut impl Context<()>) {
///     match seen.binary_search(&number) {
///         Ok(place) => *seen.write(place, cx) += 1,
///         Err(place) => seen.insert(place, number, cx),
///     }
/// }
/// ```
pub struct TrackedVec<T> {
    last: u64,
    contents: Vec<T>,
}

const WRITTEN: u64 = 0;
const PUSHED: u64 = 1;
const POPPED: u64 = 2;
const INSERTED: u64 = 3;
const REMOVED: u64 = 4;

impl<T: Value> TrackedVec<T> {
    /// An element, to change it. The old one is saved.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    #[inline]
    pub fn write<M>(&mut self, index: usize, cx: &mut impl Context<M>) -> &mut T {
        let element = &mut self.contents[index];
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, WRITTEN, index, element);
        }
        element
    }

    /// Adds an element at the end.
    #[inline]
    pub fn push<M>(&mut self, element: T, cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, PUSHED, 0, &());
        }
        self.contents.push(element);
    }

    /// Removes the last element.
    #[inline]
    pub fn pop<M>(&mut self, cx: &mut impl Context<M>) -> Option<T> {
        if let (Some(log), Some(last)) = (cx.undo(), self.contents.last()) {
            self.last = log.push(self.last, POPPED, 0, last);
        }
        self.contents.pop()
    }

    /// Adds an element before the one at `index`, and moves those from there on.
    ///
    /// # Panics
    ///
    /// If `index` is beyond the end.
    pub fn insert<M>(&mut self, index: usize, element: T, cx: &mut impl Context<M>) {
        assert!(index <= self.contents.len(), "no place {index} in a vector of {}", self.len());
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, INSERTED, index, &());
        }
        self.contents.insert(index, element);
    }

    /// Removes the element at `index`, and moves those behind it.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn remove<M>(&mut self, index: usize, cx: &mut impl Context<M>) -> T {
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, REMOVED, index, &self.contents[index]);
        }
        self.contents.remove(index)
    }

    /// Removes the element at `index`, and puts the last one there. It takes the same time at every
    /// index.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    pub fn swap_remove<M>(&mut self, index: usize, cx: &mut impl Context<M>) -> T {
        assert!(index < self.contents.len(), "no element {index} in a vector of {}", self.len());
        let last = self.pop(cx).expect("a vector with this element is not empty");
        if index == self.contents.len() {
            return last;
        }
        std::mem::replace(self.write(index, cx), last)
    }

    /// Removes elements from the end, or adds copies of `element` there, until there are `len`.
    pub fn resize<M>(&mut self, len: usize, element: &T, cx: &mut impl Context<M>) {
        self.truncate(len, cx);
        while self.len() < len {
            self.push(element.clone(), cx);
        }
    }

    /// Removes elements from the end until there are at most `len`.
    pub fn truncate<M>(&mut self, len: usize, cx: &mut impl Context<M>) {
        while self.len() > len {
            self.pop(cx);
        }
    }

    /// Removes all elements.
    pub fn clear<M>(&mut self, cx: &mut impl Context<M>) {
        self.truncate(0, cx);
    }

    #[inline]
    fn revert(contents: &mut Vec<T>, entry: &mut Entry<'_>) {
        match entry.operation {
            WRITTEN => contents[entry.index] = entry.value(),
            PUSHED => drop(contents.pop()),
            POPPED => contents.push(entry.value()),
            INSERTED => drop(contents.remove(entry.index)),
            _ => contents.insert(entry.index, entry.value()),
        }
    }
}

tracked!(TrackedVec<T>, Vec<T>, [T]);

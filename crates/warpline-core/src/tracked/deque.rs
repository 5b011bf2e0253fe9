//! A tracked queue.

use std::collections::VecDeque;

use super::field::tracked;
use crate::{
    Context,
    undo::{Entry, Value},
};

/// A queue with two ends, in which an event saves only the elements that it changes.
///
/// ```
/// use warpline_core::{Context, TrackedDeque};
///
/// fn arrive(waiting: &mut TrackedDeque<u32>, customer: u32, cx: &mut impl Context<()>) {
///     waiting.push_back(customer, cx);
/// }
///
/// fn serve(waiting: &mut TrackedDeque<u32>, cx: &mut impl Context<()>) -> Option<u32> {
///     waiting.pop_front(cx)
/// }
/// ```
pub struct TrackedDeque<T> {
    last: u64,
    contents: VecDeque<T>,
}

const WRITTEN: u64 = 0;
const PUSHED_BACK: u64 = 1;
const PUSHED_FRONT: u64 = 2;
const POPPED_BACK: u64 = 3;
const POPPED_FRONT: u64 = 4;
const INSERTED: u64 = 5;
const REMOVED: u64 = 6;

impl<T: Value> TrackedDeque<T> {
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

    /// Adds an element at the back.
    #[inline]
    pub fn push_back<M>(&mut self, element: T, cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, PUSHED_BACK, 0, &());
        }
        self.contents.push_back(element);
    }

    /// Adds an element at the front.
    #[inline]
    pub fn push_front<M>(&mut self, element: T, cx: &mut impl Context<M>) {
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, PUSHED_FRONT, 0, &());
        }
        self.contents.push_front(element);
    }

    /// Removes the element at the back.
    #[inline]
    pub fn pop_back<M>(&mut self, cx: &mut impl Context<M>) -> Option<T> {
        if let (Some(log), Some(back)) = (cx.undo(), self.contents.back()) {
            self.last = log.push(self.last, POPPED_BACK, 0, back);
        }
        self.contents.pop_back()
    }

    /// Removes the element at the front.
    #[inline]
    pub fn pop_front<M>(&mut self, cx: &mut impl Context<M>) -> Option<T> {
        if let (Some(log), Some(front)) = (cx.undo(), self.contents.front()) {
            self.last = log.push(self.last, POPPED_FRONT, 0, front);
        }
        self.contents.pop_front()
    }

    /// Adds an element before the one at `index`, and moves those on the shorter side.
    ///
    /// # Panics
    ///
    /// If `index` is beyond the end.
    pub fn insert<M>(&mut self, index: usize, element: T, cx: &mut impl Context<M>) {
        assert!(index <= self.contents.len(), "no place {index} in a queue of {}", self.len());
        if let Some(log) = cx.undo() {
            self.last = log.push(self.last, INSERTED, index, &());
        }
        self.contents.insert(index, element);
    }

    /// Removes the element at `index`, if there is one, and moves those on the shorter side.
    pub fn remove<M>(&mut self, index: usize, cx: &mut impl Context<M>) -> Option<T> {
        if let (Some(log), Some(element)) = (cx.undo(), self.contents.get(index)) {
            self.last = log.push(self.last, REMOVED, index, element);
        }
        self.contents.remove(index)
    }

    /// Removes all elements.
    pub fn clear<M>(&mut self, cx: &mut impl Context<M>) {
        while self.pop_back(cx).is_some() {}
    }

    #[inline]
    fn revert(contents: &mut VecDeque<T>, entry: &mut Entry<'_>) {
        match entry.operation {
            WRITTEN => contents[entry.index] = entry.value(),
            PUSHED_BACK => drop(contents.pop_back()),
            PUSHED_FRONT => drop(contents.pop_front()),
            POPPED_BACK => contents.push_back(entry.value()),
            POPPED_FRONT => contents.push_front(entry.value()),
            INSERTED => drop(contents.remove(entry.index)),
            _ => contents.insert(entry.index, entry.value()),
        }
    }
}

tracked!(TrackedDeque<T>, VecDeque<T>, VecDeque<T>);

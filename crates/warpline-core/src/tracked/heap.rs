//! A tracked priority queue: a binary heap in a tracked vector.

use serde::{Deserialize, Serialize};

use super::TrackedVec;
use crate::{
    Context, UndoLog,
    undo::{Moves, Undo, Value},
};

/// A priority queue: the least element comes first. An event saves the elements that it moves,
/// about the logarithm of their number for each that is added or removed.
///
/// Among equal elements the order is not that of their arrival, but it is the same in each run: an
/// undo restores the places of the elements, too.
///
/// ```
/// use warpline_core::{Context, TrackedHeap, VirtualTime};
///
/// fn next(jobs: &mut TrackedHeap<(VirtualTime, u32)>, cx: &mut impl Context<()>) -> Option<u32> {
///     jobs.pop(cx).map(|(_, job)| job)
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrackedHeap<T>(TrackedVec<T>);

impl<T> TrackedHeap<T> {
    /// How many elements there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The least element.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<&T> {
        self.0.first()
    }

    /// All elements, in the order of their places: the same in each run, and not sorted.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a TrackedHeap<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Value + Ord> TrackedHeap<T> {
    /// A heap with these elements.
    #[must_use]
    pub fn new(mut elements: Vec<T>) -> Self {
        // A sorted vector is a heap.
        elements.sort();
        Self(TrackedVec::new(elements))
    }

    /// Adds an element.
    pub fn push<M>(&mut self, element: T, cx: &mut impl Context<M>) {
        let mut place = self.0.len();
        self.0.push(element.clone(), cx);
        // Larger ancestors move down one after another, and the element goes where the last was.
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.0[parent] <= element {
                break;
            }
            let larger = self.0[parent].clone();
            *self.0.write(place, cx) = larger;
            place = parent;
        }
        if place + 1 < self.0.len() {
            *self.0.write(place, cx) = element;
        }
    }

    /// Removes the least element.
    pub fn pop<M>(&mut self, cx: &mut impl Context<M>) -> Option<T> {
        let last = self.0.pop(cx)?;
        let Some(first) = self.0.first().cloned() else { return Some(last) };
        let (len, mut place) = (self.0.len(), 0);
        loop {
            let left = 2 * place + 1;
            if left >= len {
                break;
            }
            let right = left + 1;
            let least = if right < len && self.0[right] < self.0[left] { right } else { left };
            if last <= self.0[least] {
                break;
            }
            let smaller = self.0[least].clone();
            *self.0.write(place, cx) = smaller;
            place = least;
        }
        *self.0.write(place, cx) = last;
        Some(first)
    }
}

impl<T: Value> Undo for TrackedHeap<T> {
    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        self.0.undo_to(point, log)
    }

    fn rebase(&mut self, moves: &Moves) {
        self.0.rebase(moves);
    }

    fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

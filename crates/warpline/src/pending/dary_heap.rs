//! An implicit 4-ary heap: one array, no pointers, logarithmic at worst.
//!
//! Four children instead of two halve the depth, and the four are in two or three cache lines.
//!
//! # References
//!
//! D. B. Johnson, *Priority queues with update and finding minimum spanning trees*, Information
//! Processing Letters 4(3), 1975.

use super::{Entry, MinQueue};

const ARITY: usize = 4;

/// A 4-ary min-heap in a vector.
#[derive(Debug)]
pub struct DaryHeap<E> {
    /// Heap-ordered: the parent of position `i` is at `(i - 1) / ARITY` and not greater.
    entries: Vec<E>,
}

impl<E> Default for DaryHeap<E> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<E: Entry> DaryHeap<E> {
    /// Takes an entry that is the least or not.
    pub(super) fn pop_any(&mut self) -> Option<E> {
        self.entries.pop()
    }

    /// Moves the entry that was added last to its place. It is not inlined and does not get the
    /// entry as an argument, so that a caller can keep the entry in registers.
    #[inline(never)]
    fn sift_up_last(&mut self) {
        let mut position = self.entries.len() - 1;
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if self.entries[parent] <= self.entries[position] {
                break;
            }
            self.entries.swap(parent, position);
            position = parent;
        }
    }

    fn sift_down(&mut self) {
        let entries = self.entries.as_mut_slice();
        let mut position = 0;
        loop {
            let first = position * ARITY + 1;
            let Some(children) = entries.get(first..entries.len().min(first + ARITY)) else {
                return;
            };
            let mut least = 0;
            for child in 1..children.len() {
                if children[child] < children[least] {
                    least = child;
                }
            }
            if children.get(least).is_none_or(|child| entries[position] <= *child) {
                return;
            }
            entries.swap(position, first + least);
            position = first + least;
        }
    }
}

impl<E: Entry> MinQueue<E> for DaryHeap<E> {
    #[inline(always)]
    fn push(&mut self, entry: E) {
        self.entries.push(entry);
        self.sift_up_last();
    }

    #[inline]
    fn pop_min(&mut self) -> Option<E> {
        if self.entries.is_empty() {
            return None;
        }
        let least = self.entries.swap_remove(0);
        self.sift_down();
        debug_assert!(
            self.entries.first().is_none_or(|next| least <= *next),
            "the first entry was not the least"
        );
        Some(least)
    }

    #[inline]
    fn peek_min(&mut self) -> Option<&E> {
        self.entries.first()
    }

    fn drain_into(&mut self, entries: &mut Vec<E>) {
        entries.append(&mut self.entries);
    }

    #[inline]
    fn count(&self) -> usize {
        self.entries.len()
    }
}

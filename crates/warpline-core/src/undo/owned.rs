//! Old values that own memory: they lie beside the words of the log, in the same order.

use std::{any::Any, collections::VecDeque, fmt};

use crate::heap_block;

/// The values beside the words of an [`UndoLog`](super::UndoLog).
///
/// An entry knows where its first one lies, and its words count from there: so an entry can move.
#[derive(Default)]
pub struct Owned {
    kept: VecDeque<Kept>,
    /// The number of the first one of `kept`.
    front: u64,
    /// The position of the entry that is written.
    entry: u64,
    /// The number of the first value of the entry that is written or read.
    first: u64,
    /// What all of them take of the heap.
    bytes: usize,
}

/// A value beside the words.
pub(super) struct Kept {
    /// The position of its entry.
    pub(super) entry: u64,
    pub(super) bytes: usize,
    /// Until an undo takes it out.
    pub(super) value: Option<Box<dyn Any + Send>>,
}

impl Owned {
    /// Keeps a value of the entry that is written, which owns this many bytes, and returns where it
    /// is.
    pub fn keep<T: Send + 'static>(&mut self, value: T, owned: usize) -> u64 {
        let bytes = heap_block(size_of::<T>()) + owned;
        self.bytes += bytes;
        let number = self.back() - self.first;
        self.kept.push_back(Kept { entry: self.entry, bytes, value: Some(Box::new(value)) });
        number
    }

    /// Takes a value of the entry that is read out.
    ///
    /// # Panics
    ///
    /// If it was taken out before, or has another type.
    pub fn take<T: Send + 'static>(&mut self, number: u64) -> T {
        let place = (self.first + number - self.front) as usize;
        let kept = &mut self.kept[place];
        self.bytes -= std::mem::take(&mut kept.bytes);
        let value = kept.value.take().expect("UNDO: an old value is restored twice");
        *value.downcast().expect("UNDO: an old value has another type than its field")
    }

    fn back(&self) -> u64 {
        self.front + self.kept.len() as u64
    }

    /// Begins to write the values of an entry, and returns the number of its first one.
    pub(super) fn begin(&mut self, entry: u64) -> u64 {
        self.entry = entry;
        self.first = self.back();
        self.first
    }

    /// Begins to read the values of an entry.
    pub(super) const fn read(&mut self, first: u64) {
        self.first = first;
    }

    pub(super) fn drop_before(&mut self, position: u64) {
        while let Some(kept) = self.kept.front().filter(|kept| kept.entry < position) {
            self.bytes -= kept.bytes;
            self.kept.pop_front();
            self.front += 1;
        }
    }

    pub(super) fn drop_from(&mut self, position: u64) {
        while let Some(kept) = self.kept.back().filter(|kept| kept.entry >= position) {
            self.bytes -= kept.bytes;
            self.kept.pop_back();
        }
    }

    /// Takes the values of the entries in a range of positions out, and leaves empty places.
    pub(super) fn take_range(&mut self, from: u64, to: u64) -> Vec<Kept> {
        let begin = self.kept.partition_point(|kept| kept.entry < from);
        let end = self.kept.partition_point(|kept| kept.entry < to);
        let taken = self.kept.range_mut(begin..end).map(|kept| {
            let (bytes, value) = (std::mem::take(&mut kept.bytes), kept.value.take());
            self.bytes -= bytes;
            Kept { entry: kept.entry, bytes, value }
        });
        taken.collect()
    }

    /// Puts values in at the back, whose entries lie `from` at the old place and `to` here. Returns
    /// the number of the first one.
    pub(super) fn put_range(&mut self, values: Vec<Kept>, from: u64, to: u64) -> u64 {
        let first = self.back();
        for kept in values {
            self.bytes += kept.bytes;
            self.kept.push_back(Kept { entry: kept.entry - from + to, ..kept });
        }
        first
    }

    /// The bytes of the values, and of the list of them.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.kept.capacity() * size_of::<Kept>()
    }

    pub(super) fn shrink(&mut self) {
        self.kept.shrink_to_fit();
    }
}

impl fmt::Debug for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").field("values", &self.kept.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").field("entry", &self.entry).finish_non_exhaustive()
    }
}

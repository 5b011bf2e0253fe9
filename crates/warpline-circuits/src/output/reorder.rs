//! What happens on several nets, put into the order of time: `vcd` and `crossings` write from it.
//!
//! A crossing is known only when the sample after it comes, so it comes later than samples of other
//! nets. How much later is limited (RECORD-A), and so is what waits here.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use super::OutputError;

/// Entries in the order of their times, then of their nets, then as they came.
#[derive(Debug)]
pub(super) struct Reorder<T> {
    waiting: BinaryHeap<Reverse<Entry<T>>>,
    serial: u64,
}

/// Something that happens on a net at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<T> {
    /// When (s).
    pub(super) time: f64,
    /// The place of the net.
    pub(super) slot: usize,
    serial: u64,
    /// What.
    pub(super) what: T,
}

impl<T> Reorder<T> {
    pub(super) const fn new() -> Self {
        Self { waiting: BinaryHeap::new(), serial: 0 }
    }

    /// With what [`waiting`](Self::waiting) has given, of so many nets.
    pub(super) fn of(waiting: &[(f64, usize, T)], slots: usize) -> Result<Self, OutputError>
    where
        T: Copy,
    {
        let mut all = Self::new();
        for &(time, slot, what) in waiting {
            if slot >= slots {
                return Err(OutputError::Other("it wrote other nets"));
            }
            all.push(time, slot, what);
        }
        Ok(all)
    }

    pub(super) fn push(&mut self, time: f64, slot: usize, what: T) {
        self.serial += 1;
        self.waiting.push(Reverse(Entry { time, slot, serial: self.serial, what }));
    }

    /// Takes the first entry if it comes before a time (s).
    pub(super) fn pop_before(&mut self, time: f64) -> Option<Entry<T>> {
        let is_due = self.waiting.peek().is_some_and(|Reverse(entry)| entry.time < time);
        if is_due { self.waiting.pop().map(|Reverse(entry)| entry) } else { None }
    }

    /// What waits, in its order: a time (s), the place of a net, and what happens.
    pub(super) fn waiting(&self) -> Vec<(f64, usize, T)>
    where
        T: Copy,
    {
        let mut entries: Vec<_> = self.waiting.iter().map(|Reverse(entry)| *entry).collect();
        entries.sort_unstable();
        entries.iter().map(|entry| (entry.time, entry.slot, entry.what)).collect()
    }

    /// How many entries wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

impl<T> Entry<T> {
    const fn key(&self) -> (usize, u64) {
        (self.slot, self.serial)
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.total_cmp(&other.time).then_with(|| self.key().cmp(&other.key()))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Entry<T> {}

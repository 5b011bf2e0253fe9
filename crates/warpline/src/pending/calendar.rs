//! A calendar queue: one bucket per day of a year, for the events of that day in all years.
//!
//! The length of a day is estimated from the gaps between the next events, so that few events share
//! a day and few days are empty. The number of days follows the number of events. Together they
//! keep the cost of an operation independent of the number of events.
//!
//! Three things differ from the paper. A bucket is sorted only when its day is opened, so an insert
//! is one write. An event for a day that is already open goes into a heap beside the sorted ones,
//! so ties and rollbacks have logarithmic cost, not that of a scan. And the length of the day is
//! estimated again not only when the number of events has changed, but also when the queue is
//! strained: when it looks at many empty days, or at many events of another year, or opens crowded
//! days.
//!
//! # Invariants
//!
//! - **CALENDAR-A.** Every entry in a bucket is of day `next` or later, and every entry in the run
//!   and in `late` is of an earlier day. So the latter come first, because the day of a time never
//!   decreases with the time.
//! - **CALENDAR-B.** An entry in a bucket is in bucket (day mod number of buckets). That number is
//!   a power of two.
//!
//! # References
//!
//! R. Brown, *Calendar queues: A fast O(1) priority queue implementation for the simulation event
//! set problem*, Communications of the ACM 31(10), 1988.

use std::{cmp::Reverse, collections::BinaryHeap, iter};

use super::{Entry, PendingSet};

/// The aim for the number of entries per bucket. With twice as many, the number of buckets is
/// doubled; with half as many, it is halved.
const ENTRIES_PER_BUCKET: usize = 4;
/// The length of a day, in gaps between two events: three times the number above, so that most
/// events are due within a year.
const GAPS_PER_DAY: f64 = 12.0;
/// The gaps are measured between this number of next events.
const SAMPLE: usize = 64;
const BUCKETS_MIN: usize = 2;
/// A day, or the heap beside it, is crowded with more entries than this.
const CROWD: usize = 128;
/// The number of looks at empty days, or at entries of other days, that is fair for each entry
/// found.
const FAIR_LOOKS: usize = 2;
/// All later times count as this day. Days fit into a `u64`, even a year after the last one.
const DAY_MAX: u64 = 1 << 62;
/// The least length of a day, as a fraction of the time at which it is estimated: otherwise
/// neighboring times could be a great many days apart.
const RESOLUTION: f64 = 1.0 / (1_u64 << 48) as f64;

/// A calendar queue that resizes itself.
#[derive(Debug)]
pub struct CalendarQueue<E> {
    /// The entries of the day opened last, in descending order: the least is at the end.
    run: Vec<E>,
    /// Entries that arrived when their day had already been opened.
    late: BinaryHeap<Reverse<E>>,
    buckets: Vec<Vec<E>>,
    /// The number of entries in the buckets.
    filed: usize,
    /// The day to be opened next.
    next: u64,
    days_per_time: f64,
    /// Looks beyond the fair ones since the day's length was estimated.
    strain: usize,
}

impl<E: Ord> Default for CalendarQueue<E> {
    fn default() -> Self {
        Self {
            run: Vec::new(),
            late: BinaryHeap::new(),
            buckets: iter::repeat_with(Vec::new).take(BUCKETS_MIN).collect(),
            filed: 0,
            next: 0,
            days_per_time: 1.0,
            strain: 0,
        }
    }
}

impl<E: Entry> PendingSet<E> for CalendarQueue<E> {
    #[inline]
    fn insert(&mut self, entry: E) {
        let day = self.day_of(entry.time());
        if day < self.next {
            return self.insert_late(entry);
        }
        self.file(day, entry);
        if self.filed > 2 * ENTRIES_PER_BUCKET * self.buckets.len() {
            self.rebuild();
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<E> {
        if self.run.is_empty() && self.late.is_empty() && !self.refill() {
            return None;
        }
        match (self.run.last(), self.late.peek()) {
            (Some(run), Some(Reverse(late))) if late < run => self.late.pop().map(|late| late.0),
            (None, _) => self.late.pop().map(|late| late.0),
            (Some(_), _) => self.run.pop(),
        }
    }

    #[inline]
    fn peek(&mut self) -> Option<&E> {
        if self.run.is_empty() && self.late.is_empty() && !self.refill() {
            return None;
        }
        match (self.run.last(), self.late.peek()) {
            (Some(run), Some(Reverse(late))) => Some(run.min(late)),
            (run, late) => run.or(late.map(|late| &late.0)),
        }
    }

    fn remove(&mut self, entry: E) {
        let day = self.day_of(entry.time());
        if day >= self.next {
            let index = self.bucket_of(day);
            let bucket = &mut self.buckets[index];
            if let Some(position) = bucket.iter().position(|filed| *filed == entry) {
                debug_assert!(self.filed > 0, "CALENDAR-B: an entry beyond the count");
                bucket.swap_remove(position);
                self.filed -= 1;
            }
        } else if let Ok(position) = self.run.binary_search_by(|open| entry.cmp(open)) {
            self.run.remove(position);
        } else {
            let mut found = false;
            self.late.retain(|late| {
                let hit = !found && late.0 == entry;
                found |= hit;
                !hit
            });
        }
    }

    #[inline]
    fn len(&self) -> usize {
        self.run.len() + self.late.len() + self.filed
    }
}

impl<E: Entry> CalendarQueue<E> {
    #[inline]
    fn day_of(&self, time: f64) -> u64 {
        day_of(time, self.days_per_time)
    }

    #[inline]
    fn bucket_of(&self, day: u64) -> usize {
        debug_assert!(self.buckets.len().is_power_of_two(), "CALENDAR-B: no mask fits");
        day as usize & (self.buckets.len() - 1)
    }

    /// Puts an entry of day `next` or later into its bucket.
    #[inline]
    fn file(&mut self, day: u64, entry: E) {
        debug_assert!(day >= self.next, "CALENDAR-A: day {day} is open");
        let bucket = self.bucket_of(day);
        self.buckets[bucket].push(entry);
        self.filed += 1;
    }

    /// Adds an entry whose day has been opened.
    fn insert_late(&mut self, entry: E) {
        debug_assert!(self.day_of(entry.time()) < self.next, "CALENDAR-A: its day is to come");
        self.late.push(Reverse(entry));
        if self.late.len() > CROWD {
            self.strain += 1;
            if self.is_strained() {
                self.rebuild();
            }
        }
    }

    /// Whether the looks have cost about as much as a rebuild would.
    fn is_strained(&self) -> bool {
        self.strain > self.len() + self.buckets.len()
    }

    /// Opens the next day that has entries, when none is open; false if there are no entries.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        if self.filed == 0 {
            return false;
        }
        let few = self.filed < ENTRIES_PER_BUCKET * self.buckets.len() / 2;
        if self.is_strained() || (few && self.buckets.len() > BUCKETS_MIN) {
            self.rebuild();
        }
        self.open_next();
        true
    }

    /// Opens the next day that has entries.
    fn open_next(&mut self) {
        debug_assert!(self.run.is_empty(), "CALENDAR-A: the run is not over");
        let year = self.buckets.len() as u64;
        for day in self.next..self.next + year {
            let bucket = self.bucket_of(day);
            if !self.buckets[bucket].is_empty() && self.open(day) {
                self.strain += (day - self.next) as usize;
                self.next = day + 1;
                return;
            }
        }
        // Nothing for a whole year: find the day directly instead of looking at every day.
        let days = self.buckets.iter().flatten().map(|entry| self.day_of(entry.time()));
        if let Some(day) = days.min() {
            self.open(day);
            self.strain += self.filed + self.buckets.len();
            self.next = day + 1;
        }
    }

    /// Sorts the entries of `day` into the empty run; false if there are none.
    #[inline]
    fn open(&mut self, day: u64) -> bool {
        let index = self.bucket_of(day);
        let days_per_time = self.days_per_time;
        let mut bucket = std::mem::take(&mut self.buckets[index]);
        debug_assert!(
            bucket.iter().all(|filed| self.bucket_of(self.day_of(filed.time())) == index),
            "CALENDAR-B: an entry of another bucket in bucket {index}"
        );
        for position in (0..bucket.len()).rev() {
            if day_of(bucket[position].time(), days_per_time) == day {
                self.run.push(bucket.swap_remove(position));
            }
        }
        self.strain += bucket.len();
        self.buckets[index] = bucket;
        self.run.sort_unstable_by(|a, b| b.cmp(a));
        debug_assert!(self.run.len() <= self.filed, "CALENDAR-B: more entries than the count");
        self.filed -= self.run.len();
        self.strain = if self.run.len() > CROWD {
            self.strain + self.run.len()
        } else {
            self.strain.saturating_sub(FAIR_LOOKS * self.run.len())
        };
        !self.run.is_empty()
    }

    /// Estimates the length of the day, and puts every entry into its new bucket.
    #[cold]
    fn rebuild(&mut self) {
        let run = std::mem::take(&mut self.run);
        let late = std::mem::take(&mut self.late);
        let buckets = std::mem::take(&mut self.buckets);
        let open = run.iter().chain(late.iter().map(|late| &late.0));
        let times: Vec<_> = open.chain(buckets.iter().flatten()).map(Entry::time).collect();

        let width = (times.len() / ENTRIES_PER_BUCKET).next_power_of_two().max(BUCKETS_MIN);
        self.buckets.resize_with(width, Vec::new);
        let first = times.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(day) = day_length(times) {
            self.days_per_time = 1.0 / day;
        }
        (self.next, self.filed, self.strain) = (self.day_of(first), 0, 0);
        let open = run.into_iter().chain(late.into_iter().map(|late| late.0));
        for entry in open.chain(buckets.into_iter().flatten()) {
            let day = self.day_of(entry.time());
            self.file(day, entry);
        }
    }
}

/// The day of a time. It never decreases with the time, as CALENDAR-A needs: the product rounds
/// monotonically, and the conversion to an integer saturates.
#[inline]
fn day_of(time: f64, days_per_time: f64) -> u64 {
    ((time * days_per_time) as u64).min(DAY_MAX)
}

/// The length of a day for events at these times; `None` if they are all equal.
///
/// As in the paper: the mean gap between the next events, taken again without the gaps that are
/// more than twice the mean. The sample is enlarged until it holds two different times.
fn day_length(mut times: Vec<f64>) -> Option<f64> {
    let mut size = SAMPLE.min(times.len());
    loop {
        if size < times.len() {
            times.select_nth_unstable_by(size, f64::total_cmp);
        }
        let sample = &mut times[..size];
        sample.sort_unstable_by(f64::total_cmp);
        let (first, last) = (*sample.first()?, *sample.last()?);
        if first < last {
            let gap = typical_gap(sample, (last - first) / (size - 1) as f64);
            return Some((gap * GAPS_PER_DAY).max(last * RESOLUTION).clamp(1e-300, 1e300));
        }
        if size == times.len() {
            return None;
        }
        size = times.len().min(2 * size);
    }
}

/// The mean of the gaps that are at most twice `mean`, which is the mean of all of them.
fn typical_gap(sorted: &[f64], mean: f64) -> f64 {
    let gaps = sorted.windows(2).map(|pair| pair[1] - pair[0]);
    let (sum, count) = gaps
        .filter(|gap| *gap <= 2.0 * mean)
        .fold((0.0, 0_usize), |(sum, count), gap| (sum + gap, count + 1));
    // A sample of ties with one outlier has no gap but the one that was filtered out.
    if sum > 0.0 { sum / count as f64 } else { mean }
}

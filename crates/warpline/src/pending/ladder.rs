//! A ladder queue: events are sorted shortly before they are popped, a few at a time.
//!
//! Events of the far future are unsorted in the *top*. When the nearer ones run out, the top is
//! distributed by time to the buckets of a *rung*. A bucket with many events is distributed to a
//! finer rung when its turn comes. The last rung, the *calendar*, has buckets so narrow that most
//! hold one event or none. They are sorted, a few buckets at a time, into the *run*, from which
//! events are popped. So an event is moved a few times, and compared only with a few neighbors,
//! whatever the number of events is.
//!
//! The buckets above the calendar are lists of chunks, because they are written and read in
//! sequence, and may be far larger than the caches. The buckets of the calendar are lists of single
//! nodes, because the calendar has to fit into the caches, where compactness counts. An event stays
//! in its node until it is popped: the run has its time and the number of its node.
//!
//! Three things differ from the paper. An event that arrives below the current bucket goes into the
//! run if it belongs near its beginning, else into a small heap beside the run, not into a sorted
//! list; so ties, bursts and tiny delays have logarithmic cost, where the paper's Bottom needs a
//! scan or another rung. A rung spans the times
//! of its events, not the nominal width of the bucket, so a far outlier costs one level and no
//! more; and events far beyond most of the top stay in the top. The calendar's bucket width is
//! adapted to how full its buckets were before, so it suits skewed times, too; and a calendar with
//! many times as many events as it was made for is spread anew, so a population may grow.
//!
//! # Invariants
//!
//! - **LADDER-A.** Every entry in the run and in `late` sorts before every entry of the calendar,
//!   those before every entry on a rung, finer rungs before coarser ones, and all before the top.
//!   It holds because the bucket of a time never decreases with the time.
//! - **LADDER-B.** On each rung, and in the calendar, buckets below `next` are empty.
//!
//! # References
//!
//! W. T. Tang, R. S. M. Goh and I. L.-J. Thng, *Ladder queue: An O(1) priority queue structure for
//! large-scale discrete event simulation*, ACM TOMACS 15(3), 2005.

use super::{DaryHeap, Entry, MinQueue};

mod buckets;
mod calendar;

use buckets::{Bucket, Scale, Spares};
use calendar::{Calendar, Found};

/// The most entries that go into the calendar at once: a few hundred kilobytes.
const CALENDAR_MAX: usize = 1 << 15;
/// The number of buckets of a rung: the open ends of all of them stay in the cache.
const RUNG_BUCKETS: usize = 1024;
/// The most rungs; a bucket of the last one goes into the calendar whatever its size is.
const RUNGS_MAX: usize = 8;
const _: () = assert!(RUNG_BUCKETS <= 1 << 16 && RUNGS_MAX <= 1 << 16, "a `Region` has 16 bits");
/// Entries that are this many times as far away as the median stay in the top: hardly any if delays
/// are exponential, many if they have heavy tails.
const REACH: f64 = 16.0;
/// The run is filled up to this number of entries, bucket by bucket.
const RUN_MIN: usize = 32;

/// All near entries are spread anew if more than half of them are late, and at least this number.
const LATE_MIN: usize = 256;
/// As many ties as this have no other place than the run.
const TIES_MIN: usize = 32;

/// A ladder queue.
#[derive(Debug)]
pub struct LadderQueue<E> {
    /// The narrow buckets, and the run.
    calendar: Calendar<E>,
    /// The greatest time that is in the calendar, or was there: later entries belong elsewhere.
    near: f64,
    /// Entries that arrived after their bucket had been sorted into the run, and were not put into
    /// it.
    late: DaryHeap<E>,
    /// Coarse to fine; the first `depth` are in use, the others keep their allocations.
    rungs: Vec<Rung<E>>,
    depth: usize,
    top: Bucket<E>,
    /// The greatest time that is not in the top: later entries belong there.
    limit: f64,
    spares: Spares<E>,
    count: usize,
    /// Of these, the entries on rungs and in the top.
    far: usize,
}

impl<E> Default for LadderQueue<E> {
    fn default() -> Self {
        Self {
            calendar: Calendar::default(),
            near: f64::NEG_INFINITY,
            late: DaryHeap::default(),
            rungs: Vec::new(),
            depth: 0,
            top: Bucket::default(),
            limit: f64::NEG_INFINITY,
            spares: Spares::default(),
            count: 0,
            far: 0,
        }
    }
}

impl<E: Entry> MinQueue<E> for LadderQueue<E> {
    #[inline(always)]
    fn push(&mut self, entry: E) {
        self.count += 1;
        let time = entry.time();
        let region = if time > self.near { self.region_of(time) } else { Region::Near };
        let bucket = match region {
            Region::Near => {
                if let Err(entry) = self.calendar.push(entry) {
                    self.push_late(entry);
                }
                return;
            }
            Region::Top => &mut self.top,
            Region::Bucket { rung, bucket } => {
                &mut self.rungs[usize::from(rung)].buckets[usize::from(bucket)]
            }
        };
        self.far += 1;
        bucket.push(entry, &mut self.spares);
    }

    #[inline(always)]
    fn pop_min(&mut self) -> Option<E> {
        if (self.late.count() > 0 || self.calendar.run_is_over()) && !self.bring_first() {
            return None;
        }
        debug_assert!(self.count > 0, "LADDER-A: an entry beyond the count");
        self.count -= 1;
        self.calendar.pop()
    }

    #[inline]
    fn peek_min(&mut self) -> Option<&E> {
        if self.late.count() == 0 && self.calendar.run_is_over() && !self.refill() {
            return None;
        }
        match (self.calendar.peek(0), self.late.peek_min()) {
            (Some(run), Some(late)) => Some(run.min(late)),
            (run, late) => run.or(late),
        }
    }

    fn drain_into(&mut self, entries: &mut Vec<E>) {
        let Self { mut late, calendar, rungs, top, mut spares, count, .. } = std::mem::take(self);
        entries.reserve(count);
        late.drain_into(entries);
        calendar.pour(entries);
        for bucket in rungs.into_iter().flat_map(|rung| rung.buckets).chain([top]) {
            bucket.pour(&mut spares, |entry, _| entries.push(entry));
        }
    }

    #[inline]
    fn count(&self) -> usize {
        self.count
    }

    #[inline]
    fn near(&self, distance: usize) -> Option<&E> {
        self.calendar.peek(distance)
    }
}

impl<E: Entry> LadderQueue<E> {
    /// Adds an entry whose bucket had its turn. It is not inlined, so that what is fits into the
    /// handlers that send.
    #[inline(never)]
    fn push_late(&mut self, entry: E) {
        if let Err(entry) = self.calendar.put_into_run(entry) {
            self.late.push(entry);
        }
    }

    /// Where an entry of this time belongs, which is beyond the calendar.
    ///
    /// The entry itself stays with the caller, in registers: one that is put together in memory by
    /// small stores, and then copied by large loads, waits for all stores before it.
    #[inline(never)]
    fn region_of(&self, time: f64) -> Region {
        if time > self.limit {
            return Region::Top;
        }
        for (number, rung) in (0..).zip(&self.rungs[..self.depth]) {
            let bucket = rung.scale.bucket_of(time);
            debug_assert!(bucket < rung.buckets.len(), "LADDER-B: there is no bucket {bucket}");
            if bucket >= rung.next {
                return Region::Bucket { rung: number, bucket: bucket as u16 };
            }
        }
        Region::Near
    }

    /// Makes the least entry the first of the run; false if there are no entries.
    ///
    /// So every entry is popped from the run, and can be loaded straight into registers.
    #[inline(never)]
    fn bring_first(&mut self) -> bool {
        if self.late.count() == 0 {
            return self.refill();
        }
        if self.late.count() > LATE_MIN && 2 * self.late.count() > self.near_count() {
            // The bucket whose turn it was is too wide for what comes into it.
            let bucket = self.near_as_bucket();
            return self.spread(bucket) || self.refill();
        }
        if self.calendar.run_is_over() {
            // Sorting all of them takes less than popping one after the other from the heap.
            self.calendar.begin_run(|entries| self.late.drain_into(entries));
        } else if let (Some(run), Some(late)) = (self.calendar.peek(0), self.late.peek_min())
            && late < run
            && let Some(late) = self.late.pop_min()
        {
            self.calendar.put_first(late);
        }
        true
    }

    /// Sorts the next entries into the empty run; false if there are no entries.
    fn refill(&mut self) -> bool {
        loop {
            let bucket = match self.calendar.refill(RUN_MIN, self.near_count()) {
                Found::Entries => return true,
                Found::Nothing => self.next_far_bucket(),
                Found::Crowd => Some(self.near_as_bucket()),
            };
            let Some(bucket) = bucket else { return false };
            if self.spread(bucket) {
                return true;
            }
        }
    }

    /// Distributes entries that sort before all others to the calendar, or to a finer rung. Says
    /// whether they are in the run instead: ties need no buckets.
    fn spread(&mut self, bucket: Bucket<E>) -> bool {
        debug_assert!(bucket.len() > 0, "LADDER-A: nothing has no span");
        let (first, last) = bucket.span();
        if first == last && bucket.len() > TIES_MIN {
            debug_assert!(self.late.count() == 0, "LADDER-A: an entry before the run");
            self.near = last;
            let Self { calendar, spares, .. } = self;
            calendar.begin_run(|entries| bucket.pour(spares, |entry, _| entries.push(entry)));
            return true;
        }
        if bucket.len() > CALENDAR_MAX && self.depth < RUNGS_MAX && first < last {
            self.add_rung(Scale::new(first, last, RUNG_BUCKETS));
            self.far += bucket.len();
            let rung = &mut self.rungs[self.depth - 1];
            bucket.pour(&mut self.spares, |entry, spares| {
                rung.buckets[rung.scale.bucket_of(entry.time())].push(entry, spares);
            });
        } else {
            self.near = last;
            self.calendar.reset(first, last, bucket.len());
            bucket.pour(&mut self.spares, |entry, _| self.calendar.file(entry));
        }
        false
    }

    /// The number of entries in the run, in the calendar, and of late ones.
    const fn near_count(&self) -> usize {
        self.count - self.far
    }

    /// Takes the next bucket that is not in the calendar.
    fn next_far_bucket(&mut self) -> Option<Bucket<E>> {
        let bucket = self.next_bucket();
        self.far -= bucket.as_ref().map_or(0, Bucket::len);
        debug_assert!(bucket.is_some() || self.far == 0, "LADDER-A: far entries are lost");
        bucket
    }

    /// Takes the entries of the run and of the calendar, and the late ones: events have become
    /// denser since the calendar was filled.
    #[cold]
    fn near_as_bucket(&mut self) -> Bucket<E> {
        let Self { calendar, late, spares, .. } = self;
        let mut bucket = Bucket::default();
        calendar.empty(|entry| bucket.push(entry, spares));
        while let Some(entry) = late.pop_any() {
            bucket.push(entry, spares);
        }
        debug_assert_eq!(bucket.len(), self.near_count(), "LADDER-A: near entries are lost");
        bucket
    }

    /// Takes the next bucket that is not empty; after all of them the top.
    fn next_bucket(&mut self) -> Option<Bucket<E>> {
        while self.depth > 0 {
            let rung = &mut self.rungs[self.depth - 1];
            while let Some(bucket) = rung.buckets.get_mut(rung.next) {
                rung.next += 1;
                if bucket.len() > 0 {
                    debug_assert!(bucket.len() <= self.count, "LADDER-A: more than the count");
                    return Some(std::mem::take(bucket));
                }
            }
            self.depth -= 1;
        }
        self.near_part_of_top()
    }

    /// Takes the top, except for entries so far beyond the others that they would spoil the scale.
    ///
    /// At least half of the sampled entries are taken, so the rest is not looked at too often.
    fn near_part_of_top(&mut self) -> Option<Bucket<E>> {
        if self.top.len() == 0 {
            return None;
        }
        let top = std::mem::take(&mut self.top);
        let (first, last) = top.span();
        let median = top.median_of_some();
        let reach = first + REACH * (median - first);
        if reach >= last || median == first {
            self.limit = last;
            return Some(top);
        }
        debug_assert!(first <= median && median <= last, "the median is outside of the span");
        self.limit = reach;
        let mut near = Bucket::default();
        top.pour(&mut self.spares, |entry, spares| {
            let side = if entry.time() <= reach { &mut near } else { &mut self.top };
            side.push(entry, spares);
        });
        Some(near)
    }

    fn add_rung(&mut self, scale: Scale) {
        if self.rungs.len() == self.depth {
            let buckets = std::iter::repeat_with(Bucket::default).take(RUNG_BUCKETS).collect();
            self.rungs.push(Rung { scale, next: 0, buckets });
        }
        debug_assert!(self.depth < RUNGS_MAX, "LADDER-B: one rung too many");
        let rung = &mut self.rungs[self.depth];
        debug_assert!(
            rung.buckets.iter().all(|bucket| bucket.len() == 0),
            "LADDER-B: a bucket is not empty"
        );
        (rung.scale, rung.next) = (scale, 0);
        self.depth += 1;
    }
}

/// Where an entry belongs.
enum Region {
    /// In the calendar, or among the late ones.
    Near,
    Bucket {
        rung: u16,
        bucket: u16,
    },
    Top,
}

/// Buckets of equal width in time.
#[derive(Debug)]
struct Rung<E> {
    scale: Scale,
    /// The bucket whose turn comes next; the buckets below it are empty (LADDER-B).
    next: usize,
    buckets: Vec<Bucket<E>>,
}

//! A ladder queue: events are sorted only when their turn is near, and in small portions.
//!
//! Far events lie unsorted in the *top*. When nearer ones run out, the top is dealt into the
//! buckets of a *rung*, by time. A bucket whose turn comes is sorted into the *run* if it is small,
//! and dealt into a finer rung if it is large. So an event is moved a few times between arrays
//! that are written and read in sequence, and compared only with a few dozen neighbours, however
//! many events there are.
//!
//! Two things differ from the paper. An event that arrives below the current bucket goes into a
//! small heap beside the run, not into a sorted list; so ties, bursts and tiny delays cost a
//! logarithm, where the paper's Bottom costs a scan or another rung. And a rung spans the times
//! that its events really have, not the nominal width of the bucket, so that a far outlier costs
//! one level and no more.
//!
//! # Invariants
//!
//! - **LADDER-A.** Every entry in the run and in `late` sorts before every entry on a rung, every
//!   entry on a finer rung before every entry on a coarser one, and those before every one in the
//!   top. It holds because the bucket of a time is a non-decreasing function of the time.
//! - **LADDER-B.** On each rung, buckets below `next` are empty.
//!
//! # References
//!
//! W. T. Tang, R. S. M. Goh and I. L.-J. Thng, *Ladder queue: An O(1) priority queue structure for
//! large-scale discrete event simulation*, ACM TOMACS 15(3), 2005.

use arrayvec::ArrayVec;

use super::{DaryHeap, Entry, MinQueue};

/// A bucket of at most this many entries is sorted; a larger one becomes a rung.
const RUN_MAX: usize = 64;
/// A rung has one bucket for so many entries, when it is made.
const ENTRIES_PER_BUCKET: usize = 1;
/// A rung has at most so many buckets, so that the ends of all of them stay in the cache.
const BUCKETS_MAX: usize = 1024;
/// At most so many rungs; a bucket on the last one is sorted whatever its size.
const RUNGS_MAX: usize = 8;
/// Entries per chunk of a bucket.
const CHUNK: usize = 16;

/// A ladder queue.
#[derive(Debug)]
pub struct LadderQueue<E> {
    /// Sorted in descending order, so that the least entry is at the end.
    run: Vec<E>,
    /// Entries that arrived after their bucket had been sorted into the run.
    late: DaryHeap<E>,
    /// Coarse to fine; the first `depth` are in use, the others keep their allocations.
    rungs: Vec<Rung<E>>,
    depth: usize,
    top: Bucket<E>,
    /// The greatest time on the rungs and in the run: later entries belong into the top.
    limit: f64,
    spares: Spares<E>,
    count: usize,
}

impl<E> Default for LadderQueue<E> {
    fn default() -> Self {
        Self {
            run: Vec::new(),
            late: DaryHeap::default(),
            rungs: Vec::new(),
            depth: 0,
            top: Bucket::default(),
            limit: f64::NEG_INFINITY,
            spares: Spares::default(),
            count: 0,
        }
    }
}

impl<E: Entry> MinQueue<E> for LadderQueue<E> {
    #[inline]
    fn push(&mut self, entry: E) {
        let time = entry.time();
        self.count += 1;
        if time > self.limit {
            return self.top.push(entry, &mut self.spares);
        }
        for rung in &mut self.rungs[..self.depth] {
            let bucket = rung.bucket_of(time);
            if bucket >= rung.next {
                return rung.buckets[bucket].push(entry, &mut self.spares);
            }
        }
        self.late.push(entry);
    }

    #[inline]
    fn pop_min(&mut self) -> Option<E> {
        if self.run.is_empty() && self.late.count() == 0 && !self.refill() {
            return None;
        }
        self.count -= 1;
        match (self.run.last(), self.late.peek_min()) {
            (Some(run), Some(late)) if late < run => self.late.pop_min(),
            (None, _) => self.late.pop_min(),
            (Some(_), _) => self.run.pop(),
        }
    }

    #[inline]
    fn peek_min(&mut self) -> Option<&E> {
        if self.run.is_empty() && self.late.count() == 0 && !self.refill() {
            return None;
        }
        match (self.run.last(), self.late.peek_min()) {
            (Some(run), Some(late)) => Some(run.min(late)),
            (run, late) => run.or(late),
        }
    }

    #[inline]
    fn count(&self) -> usize {
        self.count
    }
}

impl<E: Entry> LadderQueue<E> {
    /// Sorts the next entries into the empty run; false if there are none at all.
    #[inline(never)]
    fn refill(&mut self) -> bool {
        loop {
            let bucket = match self.next_bucket() {
                Some(bucket) => bucket,
                None if self.top.len > 0 => {
                    let top = std::mem::take(&mut self.top);
                    self.limit = top.span().1;
                    top
                }
                None => return false,
            };
            if bucket.len <= RUN_MAX || !self.add_rung(&bucket) {
                bucket.pour(&mut self.spares, |entry, _| self.run.push(entry));
                self.run.sort_unstable_by(|a, b| b.cmp(a));
                return true;
            }
            let rung = &mut self.rungs[self.depth - 1];
            bucket.pour(&mut self.spares, |entry, spares| {
                let bucket = rung.bucket_of(entry.time());
                rung.buckets[bucket].push(entry, spares);
            });
        }
    }

    /// Takes the next bucket that is not empty, leaving the rungs that have none.
    fn next_bucket(&mut self) -> Option<Bucket<E>> {
        while self.depth > 0 {
            let rung = &mut self.rungs[self.depth - 1];
            while let Some(bucket) = rung.buckets[..rung.width].get_mut(rung.next) {
                rung.next += 1;
                if bucket.len > 0 {
                    return Some(std::mem::take(bucket));
                }
            }
            self.depth -= 1;
        }
        None
    }

    /// Makes a finer rung for the entries of `bucket`; false if that would not separate them.
    fn add_rung(&mut self, bucket: &Bucket<E>) -> bool {
        let (first, last) = bucket.span();
        let width = (bucket.len / ENTRIES_PER_BUCKET).clamp(2, BUCKETS_MAX);
        let buckets_per_time = width as f64 / (last - first);
        if self.depth == RUNGS_MAX || !buckets_per_time.is_finite() {
            return false;
        }
        if self.rungs.len() == self.depth {
            self.rungs.push(Rung::default());
        }
        self.rungs[self.depth].reset(first, width, buckets_per_time);
        self.depth += 1;
        true
    }
}

/// Buckets of equal width in time.
#[derive(Debug)]
struct Rung<E> {
    start: f64,
    buckets_per_time: f64,
    /// The bucket whose turn comes next; the ones below it are empty (LADDER-B).
    next: usize,
    /// How many of the buckets are in use.
    width: usize,
    buckets: Vec<Bucket<E>>,
}

impl<E> Default for Rung<E> {
    fn default() -> Self {
        Self { start: 0.0, buckets_per_time: 0.0, next: 0, width: 0, buckets: Vec::new() }
    }
}

impl<E> Rung<E> {
    fn reset(&mut self, start: f64, width: usize, buckets_per_time: f64) {
        (self.start, self.width, self.buckets_per_time) = (start, width, buckets_per_time);
        self.next = 0;
        if self.buckets.len() < width {
            self.buckets.resize_with(width, Bucket::default);
        }
    }

    /// Non-decreasing in `time`, which is all that LADDER-A needs: each step rounds monotonically,
    /// and times outside of the span fall into the first or the last bucket.
    #[inline]
    fn bucket_of(&self, time: f64) -> usize {
        (((time - self.start) * self.buckets_per_time) as usize).min(self.width - 1)
    }
}

/// An unsorted heap of entries: a list of chunks, the first one with room.
#[derive(Debug)]
struct Bucket<E> {
    chunk: Option<Box<Chunk<E>>>,
    len: usize,
}

#[derive(Debug)]
struct Chunk<E> {
    entries: ArrayVec<E, CHUNK>,
    next: Option<Box<Chunk<E>>>,
}

/// Empty chunks, for the next bucket that needs one.
#[derive(Debug)]
struct Spares<E>(Option<Box<Chunk<E>>>);

impl<E> Default for Spares<E> {
    fn default() -> Self {
        Self(None)
    }
}

impl<E> Spares<E> {
    fn take(&mut self) -> Box<Chunk<E>> {
        match self.0.take() {
            Some(mut chunk) => {
                self.0 = chunk.next.take();
                chunk
            }
            None => Box::new(Chunk { entries: ArrayVec::new(), next: None }),
        }
    }

    fn put(&mut self, mut chunk: Box<Chunk<E>>) {
        chunk.next = self.0.take();
        self.0 = Some(chunk);
    }
}

impl<E> Default for Bucket<E> {
    fn default() -> Self {
        Self { chunk: None, len: 0 }
    }
}

impl<E: Entry> Bucket<E> {
    #[inline]
    fn push(&mut self, entry: E, spares: &mut Spares<E>) {
        self.len += 1;
        if let Some(chunk) = &mut self.chunk
            && !chunk.entries.is_full()
        {
            chunk.entries.push(entry);
        } else {
            self.push_chunk(entry, spares);
        }
    }

    #[cold]
    fn push_chunk(&mut self, entry: E, spares: &mut Spares<E>) {
        let mut chunk = spares.take();
        chunk.entries.push(entry);
        chunk.next = self.chunk.take();
        self.chunk = Some(chunk);
    }

    /// Hands every entry to `sink` and the chunks to the spares, from where `sink` may take them.
    #[inline]
    fn pour(mut self, spares: &mut Spares<E>, mut sink: impl FnMut(E, &mut Spares<E>)) {
        while let Some(mut chunk) = self.chunk.take() {
            self.chunk = chunk.next.take();
            for entry in chunk.entries.drain(..) {
                sink(entry, spares);
            }
            spares.put(chunk);
        }
    }

    /// The least and the greatest time of a bucket that is not empty.
    fn span(&self) -> (f64, f64) {
        let mut span = (f64::INFINITY, f64::NEG_INFINITY);
        let mut chunk = &self.chunk;
        while let Some(full) = chunk {
            for entry in &full.entries {
                let time = entry.time();
                span = (span.0.min(time), span.1.max(time));
            }
            chunk = &full.next;
        }
        span
    }
}

// Long lists of chunks are taken apart in a loop: dropping them as nested boxes would recurse.
fn drop_chunks<E>(mut chunk: Option<Box<Chunk<E>>>) {
    while let Some(mut first) = chunk {
        chunk = first.next.take();
    }
}

impl<E> Drop for Bucket<E> {
    fn drop(&mut self) {
        drop_chunks(self.chunk.take());
    }
}

impl<E> Drop for Spares<E> {
    fn drop(&mut self) {
        drop_chunks(self.0.take());
    }
}

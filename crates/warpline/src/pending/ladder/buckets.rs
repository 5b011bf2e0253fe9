//! The buckets of a ladder queue: lists of chunks for the far future, and a calendar of nodes for
//! the near future.

use arrayvec::ArrayVec;

use super::super::Entry;

/// Which of several buckets of equal width a time falls into.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scale {
    start: f64,
    buckets_per_time: f64,
    last: usize,
}

impl Scale {
    /// Spreads the times from `first` to `last` over `buckets` buckets.
    pub(super) fn new(first: f64, last: f64, buckets: usize) -> Self {
        let per_time = buckets as f64 / (last - first);
        // Times that are equal, or nearly so, share the first bucket.
        let buckets_per_time = if per_time.is_finite() { per_time } else { 0.0 };
        Self { start: first, buckets_per_time, last: buckets - 1 }
    }

    /// The bucket of a time. It never decreases with the time, as LADDER-A needs: each step rounds
    /// monotonically, and times outside of the span are in the first or the last bucket.
    #[inline]
    pub(super) fn bucket_of(&self, time: f64) -> usize {
        (((time - self.start) * self.buckets_per_time) as usize).min(self.last)
    }
}

/// Entries per chunk of a bucket.
const CHUNK: usize = 64;

/// The number of entries in the sample for a median.
const SAMPLE: usize = 64;

/// An unsorted bucket of any size: a list of chunks, of which only the first may not be full.
#[derive(Debug)]
pub(super) struct Bucket<E> {
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
pub(super) struct Spares<E>(Option<Box<Chunk<E>>>);

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
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    // The cold parts are not inlined and do not get the entry, so it stays in registers.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: E, spares: &mut Spares<E>) {
        if self.chunk.as_ref().is_none_or(|chunk| chunk.entries.is_full()) {
            self.add_chunk(spares);
        }
        self.len += 1;
        if let Some(chunk) = &mut self.chunk {
            let room = chunk.entries.try_push(entry);
            debug_assert!(room.is_ok(), "a chunk with room was put in front");
        }
    }

    #[inline(never)]
    fn add_chunk(&mut self, spares: &mut Spares<E>) {
        let mut chunk = spares.take();
        chunk.next = self.chunk.take();
        self.chunk = Some(chunk);
    }

    /// Passes every entry to `sink`, and the chunks to the spares, from which `sink` may take them.
    #[inline]
    pub(super) fn pour(mut self, spares: &mut Spares<E>, mut sink: impl FnMut(E, &mut Spares<E>)) {
        while let Some(mut chunk) = self.chunk.take() {
            self.chunk = chunk.next.take();
            for entry in chunk.entries.drain(..) {
                sink(entry, spares);
            }
            spares.put(chunk);
        }
    }

    /// The least and the greatest time of a bucket that is not empty.
    pub(super) fn span(&self) -> (f64, f64) {
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

impl<E: Entry> Bucket<E> {
    /// The median time of a sample of a bucket that is not empty.
    pub(super) fn median_of_some(&self) -> f64 {
        let step = self.len.div_ceil(SAMPLE);
        let mut times = ArrayVec::<f64, SAMPLE>::new();
        let (mut chunk, mut skip) = (&self.chunk, 0);
        while let Some(full) = chunk {
            for entry in &full.entries {
                if skip == 0 {
                    times.push(entry.time());
                    skip = step;
                }
                skip -= 1;
            }
            chunk = &full.next;
        }
        let middle = times.len() / 2;
        *times.select_nth_unstable_by(middle, f64::total_cmp).1
    }
}

/// Drops a list of chunks in a loop: nested boxes would be dropped recursively.
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

/// No node.
const NONE: u32 = u32::MAX;
/// The calendar aims at buckets with this many entries when their turn comes.
const BUCKET_ENTRIES: std::ops::Range<f64> = 1.0..3.0;
/// The most buckets of the calendar, so that their heads fit into the cache.
const CALENDAR_BUCKETS_MAX: usize = 1 << 17;
/// A bucket with more entries than this is sorted by the standard library, not by insertion.
const INSERTION_MAX: usize = 24;

/// The last rung: many narrow buckets, each a list of nodes.
#[derive(Debug)]
pub(super) struct Calendar<E> {
    scale: Scale,
    /// The bucket whose turn comes next; the buckets below it are empty (LADDER-B).
    next: usize,
    /// The first node of each bucket, `NONE` for an empty one.
    heads: Vec<u32>,
    nodes: Vec<Node<E>>,
    free: u32,
    /// The number of buckets for each entry that the calendar is filled with.
    buckets_per_entry: f64,
    /// The number of entries taken since the calendar was filled, for the width of the next one.
    taken: usize,
}

#[derive(Debug)]
struct Node<E> {
    entry: Option<E>,
    next: u32,
}

impl<E> Default for Calendar<E> {
    fn default() -> Self {
        // A single bucket, whose turn is over.
        let (scale, heads, next) = (Scale::default(), vec![NONE], 1);
        let (nodes, free) = (Vec::new(), NONE);
        Self { scale, next, heads, nodes, free, buckets_per_entry: 4.0, taken: 0 }
    }
}

impl<E: Entry> Calendar<E> {
    /// Prepares the empty calendar for `len` entries from `first` to `last`.
    pub(super) fn reset(&mut self, first: f64, last: f64, len: usize) {
        let found = self.taken as f64 / self.heads.len() as f64;
        if found > BUCKET_ENTRIES.end {
            self.buckets_per_entry = (self.buckets_per_entry * 2.0).min(1024.0);
        } else if found < BUCKET_ENTRIES.start {
            self.buckets_per_entry = (self.buckets_per_entry / 2.0).max(0.5);
        }
        debug_assert!(
            self.heads.iter().all(|&head| head == NONE),
            "LADDER-B: a bucket is not empty"
        );
        let buckets = (len as f64 * self.buckets_per_entry) as usize;
        let buckets = buckets.clamp(1, CALENDAR_BUCKETS_MAX.max(len));
        self.heads.resize(buckets, NONE);
        self.scale = Scale::new(first, last, buckets);
        (self.next, self.taken) = (0, 0);
    }

    /// Adds an entry, or returns it if the turn of its bucket is over.
    #[inline(always)]
    pub(super) fn push(&mut self, entry: E) -> Result<(), E> {
        let bucket = self.scale.bucket_of(entry.time());
        if bucket < self.next {
            return Err(entry);
        }
        self.link(bucket, entry);
        Ok(())
    }

    /// Adds one of the entries that the calendar was reset for.
    #[inline]
    pub(super) fn file(&mut self, entry: E) {
        self.link(self.scale.bucket_of(entry.time()), entry);
    }

    #[inline(always)]
    fn link(&mut self, bucket: usize, entry: E) {
        let head = &mut self.heads[bucket];
        let entry = Some(entry);
        if let Some(node) = self.nodes.get_mut(self.free as usize) {
            let index = self.free;
            self.free = node.next;
            *node = Node { entry, next: *head };
            *head = index;
        } else {
            let index = u32::try_from(self.nodes.len()).expect("fewer than 2^32 events are near");
            self.nodes.push(Node { entry, next: *head });
            *head = index;
        }
    }

    /// Moves all entries to `entries`.
    pub(super) fn pour(self, entries: &mut Vec<E>) {
        entries.extend(self.nodes.into_iter().filter_map(|node| node.entry));
    }

    /// Sorts the next buckets into the empty `run`, in descending order, until it has `enough`
    /// entries or the calendar is empty; false if there was none.
    pub(super) fn sort_into(&mut self, run: &mut Vec<E>, enough: usize) -> bool {
        while run.len() < enough
            && let Some(head) = self.heads.get_mut(self.next)
        {
            self.next += 1;
            let (start, mut index) = (run.len(), std::mem::replace(head, NONE));
            while let Some(node) = self.nodes.get_mut(index as usize) {
                run.extend(node.entry.take());
                (index, node.next, self.free) = (node.next, self.free, index);
            }
            sort_tail(run, start);
        }
        debug_assert!(
            run.iter().all(|entry| self.scale.bucket_of(entry.time()) < self.next),
            "LADDER-A: an entry of a later bucket in the run"
        );
        self.taken += run.len();
        run.reverse();
        !run.is_empty()
    }
}

/// Sorts the entries from `start` on, in ascending order.
#[inline]
fn sort_tail<E: Entry>(run: &mut [E], start: usize) {
    if run.len() > start + INSERTION_MAX {
        return run[start..].sort_unstable();
    }
    for end in start + 1..run.len() {
        let mut at = end;
        while at > start && run[at] < run[at - 1] {
            run.swap(at, at - 1);
            at -= 1;
        }
    }
}

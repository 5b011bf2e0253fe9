//! The buckets of a ladder queue for the far future: lists of chunks.

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
        debug_assert!(buckets > 0, "a scale without buckets");
        debug_assert!(first <= last, "a scale from {first} to {last}");
        let per_time = buckets as f64 / (last - first);
        // Times that are equal, or nearly so, share the first bucket.
        let buckets_per_time = if per_time.is_finite() { per_time } else { 0.0 };
        Self { start: first, buckets_per_time, last: buckets - 1 }
    }

    /// The bucket of a time. It never decreases with the time, as LADDER-A needs: each step rounds
    /// monotonically, and times outside of the span are in the first or the last bucket.
    #[inline]
    pub(super) fn bucket_of(&self, time: f64) -> usize {
        // The conversion to 32 bits takes half as many instructions as the one to 64.
        (((time - self.start) * self.buckets_per_time) as u32 as usize).min(self.last)
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
        debug_assert!(chunk.entries.is_empty(), "a spare chunk has entries");
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
        debug_assert!(chunk.entries.is_empty(), "a spare chunk has entries");
        chunk.next = self.chunk.take();
        self.chunk = Some(chunk);
    }

    /// Passes every entry to `sink`, the last one first, and the chunks to the spares, from which
    /// `sink` may take them. So ties that came in their order, as in a model of equal steps, come
    /// out in order or in reverse, which takes no time to sort.
    #[inline]
    pub(super) fn pour(mut self, spares: &mut Spares<E>, mut sink: impl FnMut(E, &mut Spares<E>)) {
        while let Some(mut chunk) = self.chunk.take() {
            self.chunk = chunk.next.take();
            for entry in chunk.entries.drain(..).rev() {
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
        debug_assert!(self.len > 0, "nothing has no median");
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

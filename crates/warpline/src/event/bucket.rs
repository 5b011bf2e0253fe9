//! Lists of events that share their memory: chunks that go from list to list.
//!
//! The calendar of the conservative engine has a bucket for each window and each tile of LPs. Most
//! buckets are empty most of the time, so memory that stayed with a bucket would be several times
//! that of the events. Buckets go from worker to worker; where that is not needed,
//! [`Lists`](warpline_memory::Lists) are faster.

use std::ops::Index;

use warpline_memory::prefetch;

/// Events in a chunk.
const CHUNK: usize = 64;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Events in chunks, in the order in which they were appended.
#[derive(Debug)]
pub(crate) struct Bucket<E> {
    /// Full chunks.
    chunks: Vec<Vec<E>>,
    /// The last chunk, to which events are appended.
    tail: Vec<E>,
}

impl<E> Default for Bucket<E> {
    fn default() -> Self {
        Self { chunks: Vec::new(), tail: Vec::new() }
    }
}

impl<E> Bucket<E> {
    /// Whether there are no events.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        // An event was appended to the tail after it was replaced.
        self.tail.is_empty()
    }

    /// How many events there are.
    pub(crate) const fn len(&self) -> usize {
        self.chunks.len() * CHUNK + self.tail.len()
    }

    /// The event at a place below the length.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> &E {
        debug_assert!(place < self.len(), "place {place} of {}", self.len());
        self.chunks.get(place / CHUNK).unwrap_or(&self.tail).index(place % CHUNK)
    }

    /// All events in slices, each with the place of its first event.
    pub(crate) fn slices(&self) -> impl Iterator<Item = (usize, &[E])> {
        debug_assert!(
            self.chunks.iter().all(|chunk| chunk.len() == CHUNK),
            "events get the places of others"
        );
        let slices = self.chunks.iter().chain([&self.tail]).map(Vec::as_slice);
        (0..).step_by(CHUNK).zip(slices)
    }

    /// All events, by their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.chunks.iter().chain([&self.tail]).flatten()
    }

    /// Takes all events out, by their places.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = E> {
        self.chunks.iter_mut().chain([&mut self.tail]).flat_map(|chunk| chunk.drain(..))
    }
}

/// Empty chunks, to be used again.
#[derive(Debug)]
pub(crate) struct SpareChunks<E>(Vec<Vec<E>>);

impl<E> Default for SpareChunks<E> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<E> SpareChunks<E> {
    /// Appends an event to a bucket. `make` makes it in its place: an event that is assembled
    /// elsewhere in small stores, and then copied by large loads, takes longer than all the rest.
    #[inline]
    pub(crate) fn append(&mut self, bucket: &mut Bucket<E>, make: impl FnOnce() -> E) {
        if bucket.tail.len() == bucket.tail.capacity().min(CHUNK) {
            self.extend(bucket);
        }
        bucket.tail.extend(std::iter::once_with(make));
        // Before the next event of this bucket there are hundreds for other buckets, so its cache
        // line would not be in any cache. (W3 with one worker: 1.09 times the rate; W2, where
        // everything is in a cache: 0.985 times. Aligning buckets to cache lines gains nothing, nor
        // does prefetching the beginning of the next chunk while one is read.)
        if let Some(next) = bucket.tail.spare_capacity_mut().get(const { LINE / size_of::<E>() }) {
            prefetch(next);
        }
    }

    #[cold]
    fn extend(&mut self, bucket: &mut Bucket<E>) {
        let chunk = self.0.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
        let full = std::mem::replace(&mut bucket.tail, chunk);
        debug_assert!([0, CHUNK].contains(&full.len()), "events get the places of others");
        if !full.is_empty() {
            bucket.chunks.push(full);
        }
    }

    /// Takes the chunks of an empty bucket.
    pub(crate) fn reclaim(&mut self, bucket: &mut Bucket<E>) {
        debug_assert!(bucket.iter().next().is_none());
        self.0.append(&mut bucket.chunks);
        let tail = std::mem::take(&mut bucket.tail);
        if tail.capacity() > 0 {
            self.0.push(tail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events come out as they were appended, and their chunks are used again.
    #[test]
    fn events_keep_their_places() {
        let (mut bucket, mut spares) = (Bucket::default(), SpareChunks::default());
        for count in [1, 2, CHUNK, CHUNK + 1, 3 * CHUNK] {
            (0..count).for_each(|event| spares.append(&mut bucket, || event));
            assert_eq!((bucket.len(), bucket.is_empty()), (count, false));
            assert!((0..count).all(|place| *bucket.get(place) == place));
            assert!(bucket.drain().eq(0..count));
            spares.reclaim(&mut bucket);
            assert_eq!(spares.0.len(), count.div_ceil(CHUNK));
        }
    }
}

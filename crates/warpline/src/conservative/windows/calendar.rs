//! Pending events by the window they are due in.
//!
//! A worker appends what is sent, in any order, and takes whole windows out, in theirs. So there is
//! no priority queue: an event is written once, to the end of a list, and read once. Each worker
//! has a calendar of its own.
//!
//! Windows come in blocks. Within the current block there is a bucket for each window and each
//! *tile* of the worker's processes: so many neighbours that their states and their events of a
//! window fit into the cache together. Later blocks have one bucket each, whose events are dealt
//! when their block begins. Buckets are lists of chunks, which are used again.
//!
//! # Invariants
//!
//! - **CAL-A.** Every event is in one bucket: that of its window and tile, if its window is in the
//!   current block, or else that of its block.
//! - **CAL-B.** No bucket is ahead of the current block in time; a window is taken only if all
//!   before it are empty.

use std::{collections::BTreeMap, ops::Index};

use warpline_memory::prefetch;

use crate::pending::Entry;

/// Events in a chunk.
const CHUNK: usize = 64;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Windows in a block.
const BLOCK: usize = 256;

/// The events of a window and a tile, in no order.
#[derive(Debug)]
pub(super) struct Bucket<E> {
    /// All but the last are full.
    chunks: Vec<Vec<E>>,
    /// The last one.
    tail: Vec<E>,
}

impl<E> Default for Bucket<E> {
    fn default() -> Self {
        Self { chunks: Vec::new(), tail: Vec::new() }
    }
}

impl<E> Bucket<E> {
    /// How many events there are.
    pub(super) const fn len(&self) -> usize {
        self.chunks.len() * CHUNK + self.tail.len()
    }

    /// The event at a place below the length.
    #[inline]
    pub(super) fn get(&self, place: usize) -> &E {
        self.chunks.get(place / CHUNK).unwrap_or(&self.tail).index(place % CHUNK)
    }

    /// All events, by their places.
    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        self.chunks.iter().chain([&self.tail]).flatten()
    }

    /// Takes all events out, by their places.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = E> {
        self.chunks.iter_mut().chain([&mut self.tail]).flat_map(|chunk| chunk.drain(..))
    }
}

/// Empty chunks.
#[derive(Debug)]
struct Spares<E> {
    chunks: Vec<Vec<E>>,
}

impl<E> Spares<E> {
    /// Appends to a bucket. The event is made in its place: one that is put together elsewhere, in
    /// small pieces, and then copied in large ones takes longer than all the rest.
    #[inline]
    fn append(&mut self, bucket: &mut Bucket<E>, make: impl FnOnce() -> E) {
        if bucket.tail.len() == bucket.tail.capacity().min(CHUNK) {
            self.extend(bucket);
        }
        bucket.tail.extend(std::iter::once_with(make));
        // The next event of the bucket comes after hundreds for others, and its line is in no
        // cache. (W3 with one worker: 1.09 times the rate; W2, where all is in a cache,
        // 0.985 times. Buckets that do not straddle lines, and loading the beginning of the
        // next chunk when reading one, gain nothing.)
        if let Some(next) = bucket.tail.spare_capacity_mut().get(const { LINE / size_of::<E>() }) {
            prefetch(next);
        }
    }

    #[cold]
    fn extend(&mut self, bucket: &mut Bucket<E>) {
        let chunk = self.chunks.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
        let full = std::mem::replace(&mut bucket.tail, chunk);
        if !full.is_empty() {
            bucket.chunks.push(full);
        }
    }

    fn reclaim(&mut self, bucket: &mut Bucket<E>) {
        debug_assert!(bucket.iter().next().is_none());
        self.chunks.append(&mut bucket.chunks);
        let tail = std::mem::take(&mut bucket.tail);
        if tail.capacity() > 0 {
            self.chunks.push(tail);
        }
    }
}

/// Windows of virtual time: window `n` begins at `n` times their length, as rounding has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    windows_per_time: f64,
}

impl Grid {
    /// Beyond so many windows, rounding may let a lookahead end in the window in which it begins.
    pub(super) const WINDOWS_MAX: u64 = 1 << 47;

    /// Windows a little shorter than `lookahead`: what is sent that far ahead, computed with
    /// rounding, is then due in a later window. A sixteenth covers the rounding up to
    /// [`WINDOWS_MAX`](Self::WINDOWS_MAX).
    pub(super) fn new(lookahead: f64) -> Option<Self> {
        let windows_per_time = 1.0625 / lookahead;
        (lookahead > 0.0 && windows_per_time.is_finite()).then_some(Self { windows_per_time })
    }

    /// The time at which a window begins.
    pub(super) fn start(self, window: u64) -> f64 {
        window as f64 / self.windows_per_time
    }

    /// The window that a time lies in. It never decreases with time.
    #[inline]
    pub(super) fn window(self, time: f64) -> u64 {
        // The last number says that there is none.
        ((time * self.windows_per_time) as u64).min(u64::MAX - 1)
    }
}

/// A later block.
#[derive(Debug)]
struct Later<E> {
    /// The first of its windows that has an event.
    first: u64,
    bucket: Bucket<E>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Calendar<E> {
    grid: Grid,
    /// A tile has two to this power of processes.
    tile_bits: u32,
    tiles: usize,
    block: u64,
    /// Of the current block, by window and then by tile.
    buckets: Vec<Bucket<E>>,
    /// A bit for each window that is not empty.
    occupied: [u64; BLOCK / 64],
    later: BTreeMap<u64, Later<E>>,
    /// A bucket for the next later block; kept for its memory.
    blank: Bucket<E>,
    spares: Spares<E>,
    len: usize,
}

impl<E: Entry> Calendar<E> {
    /// For so many processes, in tiles of two to the power of `tile_bits`.
    pub(super) fn new(grid: Grid, processes: usize, tile_bits: u32) -> Self {
        let tiles = processes.div_ceil(1 << tile_bits).max(1);
        let buckets = (0..BLOCK * tiles).map(|_| Bucket::default()).collect();
        let spares = Spares { chunks: Vec::new() };
        let (later, blank, occupied) = (BTreeMap::new(), Bucket::default(), [0; _]);
        Self { grid, tile_bits, tiles, block: 0, buckets, occupied, later, blank, spares, len: 0 }
    }

    /// How many events are pending.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn tiles(&self) -> usize {
        self.tiles
    }

    /// Appends to a bucket that is not of the calendar.
    #[inline]
    pub(super) fn append(&mut self, bucket: &mut Bucket<E>, make: impl FnOnce() -> E) {
        self.spares.append(bucket, make);
    }

    /// Takes an event that `make` makes and that is due in `window`, which is not before the
    /// current block, for the process at place `local`.
    #[inline]
    pub(super) fn insert(&mut self, window: u64, local: u32, make: impl FnOnce() -> E) {
        self.len += 1;
        let (block, place) = (window / BLOCK as u64, (window % BLOCK as u64) as usize);
        if block == self.block {
            let bucket = place * self.tiles + (local >> self.tile_bits) as usize;
            let bucket = &mut self.buckets[bucket];
            if bucket.tail.is_empty() {
                self.occupied[place / 64] |= 1 << (place % 64);
            }
            self.spares.append(bucket, make);
        } else {
            self.insert_later(window, make());
        }
    }

    #[cold]
    fn insert_later(&mut self, window: u64, event: E) {
        let block = window / BLOCK as u64;
        debug_assert!(block > self.block, "CAL-B: window {window} is over");
        let blank = &mut self.blank;
        let later = || Later { first: window, bucket: std::mem::take(blank) };
        let later = self.later.entry(block).or_insert_with(later);
        later.first = later.first.min(window);
        self.spares.append(&mut later.bucket, || event);
    }

    /// The first window that has an event.
    pub(super) fn first(&self) -> Option<u64> {
        let word = self.occupied.iter().position(|&word| word != 0);
        let place = word.map(|word| word * 64 + self.occupied[word].trailing_zeros() as usize);
        match place {
            Some(place) => Some(self.block * BLOCK as u64 + place as u64),
            None => self.later.values().next().map(|later| later.first),
        }
    }

    /// Opens `window`, before which there are no events: they are to be taken out now.
    pub(super) fn open(&mut self, window: u64, local_of: impl Fn(&E) -> u32) {
        debug_assert!(self.first().is_none_or(|first| first >= window), "CAL-B");
        let (block, place) = (window / BLOCK as u64, (window % BLOCK as u64) as usize);
        if block != self.block {
            self.block = block;
            if let Some(mut later) = self.later.remove(&block) {
                self.len -= later.bucket.len();
                self.insert_all(&mut later.bucket, local_of);
                self.reclaim(&mut later.bucket);
                self.blank = later.bucket;
            }
        }
        self.occupied[place / 64] &= !(1 << (place % 64));
    }

    /// Takes the events of the open window and a tile into `bucket`, which is empty.
    pub(super) fn take(&mut self, window: u64, tile: usize, bucket: &mut Bucket<E>) {
        let place = (window % BLOCK as u64) as usize;
        std::mem::swap(&mut self.buckets[place * self.tiles + tile], bucket);
        self.len -= bucket.len();
    }

    /// Takes events from elsewhere, and leaves their chunks empty.
    pub(super) fn insert_all(&mut self, bucket: &mut Bucket<E>, local_of: impl Fn(&E) -> u32) {
        for event in bucket.drain() {
            self.insert(self.grid.window(event.time()), local_of(&event), || event);
        }
    }

    /// Takes empty chunks back.
    pub(super) fn reclaim(&mut self, bucket: &mut Bucket<E>) {
        self.spares.reclaim(bucket);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
    struct At(f64, usize);

    impl Eq for At {}

    #[expect(clippy::derive_ord_xor_partial_ord, reason = "no NaN here")]
    impl Ord for At {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
        }
    }

    impl Entry for At {
        fn time(&self) -> f64 {
            self.0
        }
    }

    fn times() -> impl Strategy<Value = f64> {
        prop_oneof![0.0..2.0, 0.0..60.0, 0.0..1e4, Just(0.0), Just(25.6)]
    }

    proptest! {
        /// Windows come out in order, each with all that was put into it, however long before.
        #[test]
        fn windows_come_in_order(delays in prop::collection::vec((times(), 0..4_usize), 1..800)) {
            let grid = Grid::new(0.1).expect("a lookahead");
            let (mut calendar, mut model) = (Calendar::new(grid, 10, 2), BTreeSet::new());
            let local_of = |event: &At| event.1 as u32 % 10;
            let (mut bucket, mut over) = (Bucket::default(), 0);
            for (place, (delay, takes)) in delays.into_iter().enumerate() {
                let event = At(grid.start(over) + delay, place);
                let window = grid.window(event.0).max(over);
                if grid.window(event.0) == window {
                    calendar.insert(window, local_of(&event), || event);
                    model.insert((window, place));
                }
                for _ in 0..takes {
                    prop_assert_eq!(calendar.first(), model.first().map(|&(window, _)| window));
                    prop_assert_eq!(calendar.len(), model.len());
                    let Some(window) = calendar.first() else { break };
                    calendar.open(window, local_of);
                    for tile in 0..calendar.tiles() {
                        calendar.take(window, tile, &mut bucket);
                        prop_assert!(bucket.iter().zip(0..).all(|(e, place)| bucket.get(place) == e));
                        for event in bucket.drain() {
                            prop_assert_eq!(local_of(&event) as usize / 4, tile);
                            prop_assert!(model.remove(&(window, event.1)));
                        }
                        calendar.reclaim(&mut bucket);
                    }
                    prop_assert!(model.first().is_none_or(|&(next, _)| next > window));
                    over = window + 1;
                }
            }
            prop_assert_eq!(calendar.len(), model.len());
        }

        /// What is due a lookahead after its cause, as the rules of sending compute that, is in a later
        /// window: whatever both numbers are, up to [`Grid::WINDOWS_MAX`].
        #[test]
        fn a_lookahead_leaves_the_window(
            lookahead in prop_oneof![1e-9..1e9, Just(0.1), Just(1.0), Just(1.0 / 3.0)],
            windows in prop_oneof![0.0..100.0, 0.0..1e9, 0.0..(Grid::WINDOWS_MAX as f64)],
            at_edge in any::<bool>(),
        ) {
            let grid = Grid::new(lookahead).expect("a lookahead");
            let windows = if at_edge { f64::round(windows) } else { windows };
            let cause = windows / grid.windows_per_time;
            let effect = cause + lookahead;
            prop_assert!(grid.window(effect) > grid.window(cause), "{} and {}", cause, effect);
        }
    }
}

//! A worker's pending events, by the window in which they are due.
//!
//! A worker inserts events in any order, and takes them out one whole window after the other. So no
//! priority queue is needed: an event is appended to a list once, and read once. The worker inserts
//! what it sends and receives through its [`WindowSender`](super::sending::WindowSender).
//!
//! Windows are grouped into blocks. The current block has a bucket for each window and each *tile*.
//! A tile is a group of neighboring LPs whose states and events of a window fit into the cache
//! together. A later block has one bucket; its events go to the buckets of windows and tiles when
//! the block becomes the current one. A bucket is a list of chunks, which are used again.
//!
//! # Invariants
//!
//! - **CAL-A.** Every event is in one bucket: in that of its window and tile if its window is in
//!   the current block, or else in that of its block.
//! - **CAL-B.** All events are due in the current block or later, and a window is opened only if
//!   all windows before it are empty.

use crate::{
    event::{Bucket, SpareChunks},
    local_lp::LocalLp,
    ordered_slab::OrderedSlab,
    pending::Entry,
};

/// The states of the LPs of a tile take about this number of bytes: together with their events, a
/// part of a second-level cache. (64 KiB to 256 KiB are level on W3, 1 MiB is 8 % slower, 2 MiB is
/// 13 % slower.)
const TILE_BYTES: usize = 256 << 10;

/// The number of LPs in a tile is two to this power, if one is an `L`.
pub(super) fn tile_bits<L>() -> u32 {
    (TILE_BYTES / size_of::<L>()).max(64).ilog2()
}

/// Windows in a block.
const BLOCK: usize = 256;

/// The windows of virtual time: window `n` begins at `n` times their length, up to rounding.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    windows_per_time: f64,
}

impl Grid {
    /// Beyond this window, a time and the time one lookahead later may be in the same window,
    /// because of rounding.
    pub(super) const WINDOWS_MAX: u64 = 1 << 47;

    /// Windows that are a sixteenth shorter than `lookahead`: an event that is sent with a delay of
    /// at least `lookahead` is then due in a later window than its cause, in spite of rounding, up
    /// to [`WINDOWS_MAX`](Self::WINDOWS_MAX).
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
        debug_assert!(time >= 0.0, "there is no window before the first: {time}");
        // The conversion to a signed number takes half as many instructions, and its greatest one
        // is far from `u64::MAX`, which means "no window".
        (time * self.windows_per_time) as i64 as u64
    }
}

/// The events of a later block.
#[derive(Debug)]
struct Later<E> {
    /// The first window of the block that has an event.
    first: u64,
    bucket: Bucket<E>,
}

/// A worker's pending events by window and tile.
#[derive(Debug)]
pub(super) struct Calendar<E> {
    grid: Grid,
    /// The number of LPs in a tile is two to this power, if one is an `L`.
    tile_bits: u32,
    tiles: usize,
    block: u64,
    /// The buckets of the current block, by window and then by tile.
    buckets: Vec<Bucket<E>>,
    /// A bit for each window of the current block: whether it has events.
    occupied: [u64; BLOCK / 64],
    later: OrderedSlab<u64, Later<E>>,
    /// An empty bucket for the next later block; kept for its memory.
    blank: Bucket<E>,
    spares: SpareChunks<E>,
    len: usize,
}

impl<E: Entry> Calendar<E> {
    /// A calendar for this number of LPs, in tiles of two to the power of `tile_bits` LPs.
    pub(super) fn new(grid: Grid, lps: usize, tile_bits: u32) -> Self {
        let tiles = lps.div_ceil(1 << tile_bits).max(1);
        let buckets = (0..BLOCK * tiles).map(|_| Bucket::default()).collect();
        let spares = SpareChunks::default();
        let (later, blank, occupied) = (OrderedSlab::new(), Bucket::default(), [0; _]);
        Self { grid, tile_bits, tiles, block: 0, buckets, occupied, later, blank, spares, len: 0 }
    }

    /// How many events are pending.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// The most events of one window, of those of the current block; `None` if it has no event.
    pub(super) fn most_of_a_window(&self) -> Option<usize> {
        let windows = self.buckets.chunks(self.tiles);
        let most = windows.map(|window| window.iter().map(Bucket::len).sum()).max();
        most.filter(|&events| events > 0)
    }

    pub(super) const fn tiles(&self) -> usize {
        self.tiles
    }

    /// Appends an event to a bucket outside of the calendar.
    #[inline]
    pub(super) fn append(&mut self, bucket: &mut Bucket<E>, make: impl FnOnce() -> E) {
        self.spares.append(bucket, make);
    }

    /// Inserts the event that `make` makes. It is due in `window`, which is not before the current
    /// block, and it is for the LP `local`.
    #[inline(always)]
    pub(super) fn insert(&mut self, window: u64, local: LocalLp, make: impl FnOnce() -> E) {
        self.len += 1;
        let (block, place) = (window / BLOCK as u64, (window % BLOCK as u64) as usize);
        if block == self.block {
            debug_assert!(
                ((local.get() >> self.tile_bits) as usize) < self.tiles,
                "CAL-A: LP {local} is in no tile"
            );
            let bucket = place * self.tiles + (local.get() >> self.tile_bits) as usize;
            let bucket = &mut self.buckets[bucket];
            if bucket.is_empty() {
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
        debug_assert!(block > self.block, "CAL-B: an event for window {window}, which is over");
        if let Some(later) = self.later.get_mut(&block) {
            later.first = later.first.min(window);
            self.spares.append(&mut later.bucket, || event);
        } else {
            let mut bucket = std::mem::take(&mut self.blank);
            self.spares.append(&mut bucket, || event);
            self.later.insert(block, Later { first: window, bucket });
        }
    }

    /// The first window that has an event.
    pub(super) fn first(&self) -> Option<u64> {
        let word = self.occupied.iter().position(|&word| word != 0);
        let place = word.map(|word| word * 64 + self.occupied[word].trailing_zeros() as usize);
        match place {
            Some(place) => Some(self.block * BLOCK as u64 + place as u64),
            None => self.later.first().map(|(_, later)| later.first),
        }
    }

    /// Opens `window`, the first one that has events, so that [`take`](Self::take) can take them.
    pub(super) fn open(&mut self, window: u64, local_of: impl Fn(&E) -> LocalLp) {
        debug_assert!(
            self.first().is_none_or(|first| first >= window),
            "CAL-B: {window} is not first"
        );
        let (block, place) = (window / BLOCK as u64, (window % BLOCK as u64) as usize);
        if block != self.block {
            self.block = block;
            if let Some(mut later) = self.later.remove(&block) {
                debug_assert!(later.bucket.len() <= self.len, "CAL-A: more than the count");
                self.len -= later.bucket.len();
                self.insert_all(&mut later.bucket, local_of);
                self.reclaim(&mut later.bucket);
                self.blank = later.bucket;
            }
        }
        debug_assert_eq!(
            self.occupied[place / 64] >> (place % 64) & 1 == 1,
            (0..self.tiles).any(|tile| !self.buckets[place * self.tiles + tile].is_empty()),
            "CAL-A: window {window} has events, and nobody knows; or the other way round"
        );
        self.occupied[place / 64] &= !(1 << (place % 64));
    }

    /// Moves the events of the open window and a tile into `bucket`, which is empty.
    pub(super) fn take(&mut self, window: u64, tile: usize, bucket: &mut Bucket<E>) {
        let place = (window % BLOCK as u64) as usize;
        debug_assert!(tile < self.tiles, "there is no tile {tile}");
        debug_assert!(bucket.is_empty(), "a bucket with events is put into the calendar");
        std::mem::swap(&mut self.buckets[place * self.tiles + tile], bucket);
        debug_assert!(bucket.len() <= self.len, "CAL-A: more than the count");
        self.len -= bucket.len();
        debug_assert!(
            bucket.iter().all(|event| self.grid.window(event.time()) == window),
            "CAL-A: an event of another window in the bucket of window {window}"
        );
    }

    /// Inserts all events of a bucket, and leaves its chunks empty.
    pub(super) fn insert_all(&mut self, bucket: &mut Bucket<E>, local_of: impl Fn(&E) -> LocalLp) {
        bucket.drain().for_each(|event| {
            self.insert(self.grid.window(event.time()), local_of(&event), || event);
        });
    }

    /// Moves all events to `events`.
    pub(super) fn drain_into(&mut self, events: &mut Vec<E>) {
        events.reserve(self.len);
        self.buckets.iter_mut().for_each(|bucket| events.extend(bucket.drain()));
        while let Some((_, mut later)) = self.later.pop_first() {
            events.extend(later.bucket.drain());
        }
        debug_assert!(events.len() >= self.len, "CONS-C: an event is lost");
    }

    /// Takes the empty chunks of a bucket, to use them again.
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
        /// CAL-A, CAL-B: windows come out in their order, and each has all events that were
        /// inserted for it, however long before.
        #[test]
        fn windows_come_in_order(delays in prop::collection::vec((times(), 0..4_usize), 1..800)) {
            let grid = Grid::new(0.1).expect("a lookahead");
            let (mut calendar, mut model) = (Calendar::new(grid, 10, 2), BTreeSet::new());
            let local_of = |event: &At| LocalLp::new(event.1 as u32 % 10);
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
                    let of = |window| model.range((window, 0)..(window + 1, 0)).count();
                    let first = calendar.block * BLOCK as u64;
                    let most = (first..first + BLOCK as u64).map(of).max();
                    prop_assert_eq!(calendar.most_of_a_window().unwrap_or(0), most.unwrap_or(0));
                    let Some(window) = calendar.first() else { break };
                    calendar.open(window, local_of);
                    for tile in 0..calendar.tiles() {
                        calendar.take(window, tile, &mut bucket);
                        let is_at = |(event, place)| bucket.get(place) == event;
                        prop_assert!(bucket.iter().zip(0..).all(is_at));
                        for event in bucket.drain() {
                            prop_assert_eq!(local_of(&event).index() / 4, tile);
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

        /// CONS-A: an event that is due a lookahead after its cause, as `Admission::admit` computes
        /// it, is in a later window than its cause, up to [`Grid::WINDOWS_MAX`].
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

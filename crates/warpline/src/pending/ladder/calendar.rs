//! The last rung of a ladder queue: many narrow buckets, each a list of nodes, and the run, which
//! says in which order the nodes of the last few buckets are to be taken.
//!
//! An entry stays in its node from its insertion to its removal. What is sorted are 16 bytes for
//! each: its time and the number of its node.

use super::{super::Entry, buckets::Scale};

/// No node.
const NONE: u32 = u32::MAX;
/// The calendar aims at buckets with this many entries when their turn comes. Most then hold one
/// entry or none; so the branches of a refill are predicted well, and hardly anything is sorted.
const BUCKET_ENTRIES: std::ops::Range<f64> = 0.25..0.75;
/// The most buckets of the calendar, so that their heads fit into the cache.
const CALENDAR_BUCKETS_MAX: usize = 1 << 17;
/// A bucket with more entries than this is sorted by the standard library, not by insertion.
const INSERTION_MAX: usize = 24;
/// An entry is put into the run if at most this many places have to be moved for it.
const MOVED_MAX: usize = 64;
/// The places at the beginning of the run that are looked at one after the other.
const SCANNED: usize = 4;
/// Buckets in a word of the map of occupied ones.
const WORD: usize = 64;
/// The calendar is spread anew if a bucket would have to be sorted by the standard library, while
/// there are more than this number of times as many entries as the calendar was made for.
const GROWTH: usize = 4;

/// Narrow buckets, and the run.
#[derive(Debug)]
pub(super) struct Calendar<E> {
    scale: Scale,
    /// The bucket whose turn comes next; the buckets below it are empty (LADDER-B).
    next: usize,
    /// The first node of each bucket, `NONE` for an empty one.
    heads: Vec<u32>,
    /// A bit for each bucket: whether it has a node.
    occupied: Vec<u64>,
    nodes: Nodes<E>,
    /// Where the entries lie whose buckets had their turn, in ascending order.
    run: Vec<Place>,
    /// The first place of the run that was not taken yet.
    at: usize,
    /// Empty; keeps its allocation for sorting.
    scratch: Vec<E>,
    /// The number of buckets for each entry that the calendar is filled with.
    buckets_per_entry: f64,
    /// The number of entries put into the run since the calendar was filled, for the width of the
    /// next one.
    taken: usize,
    /// The number of entries that the calendar was made for.
    made_for: usize,
}

/// What a refill has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The run has entries.
    Entries,
    /// The buckets are empty.
    Nothing,
    /// The next bucket has too many entries, and so have others, probably.
    Crowd,
}

/// Where entries lie from their insertion to their removal.
#[derive(Debug)]
struct Nodes<E> {
    nodes: Vec<Node<E>>,
    /// The first of a list of free nodes. It is the one that was freed last: it is in the cache.
    free: u32,
}

#[derive(Debug)]
struct Node<E> {
    entry: Option<E>,
    next: u32,
}

impl<E> Nodes<E> {
    #[inline(always)]
    fn get(&self, index: u32) -> Option<&Node<E>> {
        self.nodes.get(index as usize)
    }

    /// Puts an entry into a free node, and returns the number of the node.
    #[inline(always)]
    fn put(&mut self, entry: E, next: u32) -> u32 {
        let node = Node { entry: Some(entry), next };
        if let Some(place) = self.nodes.get_mut(self.free as usize) {
            debug_assert!(place.entry.is_none(), "a free node has an entry");
            let index = std::mem::replace(&mut self.free, place.next);
            *place = node;
            return index;
        }
        let index = u32::try_from(self.nodes.len()).expect("fewer than 2^32 events are near");
        self.nodes.push(node);
        index
    }

    /// Takes the entry out of a node.
    #[inline(always)]
    fn take(&mut self, index: u32) -> Option<E> {
        let node = self.nodes.get_mut(index as usize)?;
        node.next = std::mem::replace(&mut self.free, index);
        node.entry.take()
    }
}

impl<E: Entry> Nodes<E> {
    #[inline(always)]
    fn before(&self, a: &Place, b: &Place) -> bool {
        if a.time != b.time {
            return a.time < b.time;
        }
        self.nodes[a.node as usize].entry < self.nodes[b.node as usize].entry
    }
}

/// A place in the run.
#[derive(Clone, Copy, Debug)]
struct Place {
    time: f64,
    node: u32,
}

impl<E> Default for Calendar<E> {
    fn default() -> Self {
        Self {
            scale: Scale::default(),
            // A single bucket, whose turn is over.
            next: 1,
            heads: vec![NONE],
            occupied: vec![0],
            nodes: Nodes { nodes: Vec::new(), free: NONE },
            run: Vec::new(),
            at: 0,
            scratch: Vec::new(),
            buckets_per_entry: 4.0,
            taken: 0,
            made_for: 0,
        }
    }
}

impl<E: Entry> Calendar<E> {
    /// Prepares the calendar, whose buckets are empty, for `len` entries from `first` to `last`.
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
        self.occupied.resize(buckets.div_ceil(WORD), 0);
        self.scale = Scale::new(first, last, buckets);
        (self.next, self.taken, self.made_for) = (0, 0, len);
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
        debug_assert!(bucket >= self.next, "LADDER-B: the turn of bucket {bucket} is over");
        self.occupied[bucket / WORD] |= 1 << (bucket % WORD);
        let head = &mut self.heads[bucket];
        *head = self.nodes.put(entry, *head);
    }

    /// Puts an entry whose bucket had its turn into the run, or returns it if too many places would
    /// have to be moved.
    ///
    /// The places before it move to the front, where places were taken: an entry that is due soon
    /// moves hardly any.
    #[inline]
    pub(super) fn put_into_run(&mut self, entry: E) -> Result<(), E> {
        let time = entry.time();
        let upcoming = &self.run[self.at..];
        let upcoming = &upcoming[..upcoming.len().min(MOVED_MAX)];
        let before = |place: &Place| {
            place.time < time
                || place.time == time
                    && self.nodes.get(place.node).and_then(|node| node.entry.as_ref())
                        < Some(&entry)
        };
        if self.at == 0 || upcoming.get(MOVED_MAX - 1).is_some_and(before) {
            return Err(entry);
        }
        // Entries with tiny delays belong among the first few places, others anywhere.
        let mut ahead = upcoming.iter().take(SCANNED).take_while(|place| before(place)).count();
        if ahead == SCANNED {
            // Without a look at ties this search has no branches to mispredict.
            ahead = upcoming.partition_point(|place| place.time < time);
            if upcoming.get(ahead).is_some_and(|place| place.time == time) {
                ahead = upcoming.partition_point(before);
            }
        }
        self.run.copy_within(self.at..self.at + ahead, self.at - 1);
        self.at -= 1;
        debug_assert!(
            self.run.get(self.at + ahead + 1).is_none_or(|after| after.time >= time),
            "LADDER-A: the run is out of order"
        );
        self.run[self.at + ahead] = Place { time, node: self.nodes.put(entry, NONE) };
        Ok(())
    }

    /// Puts the least entry of all in front of the run.
    pub(super) fn put_first(&mut self, entry: E) {
        debug_assert!(
            self.run.get(self.at).is_none_or(|first| entry.time() <= first.time),
            "LADDER-A: an entry before it is not the least"
        );
        let place = Place { time: entry.time(), node: self.nodes.put(entry, NONE) };
        match self.at.checked_sub(1) {
            Some(at) => (self.run[at], self.at) = (place, at),
            // At most once after each refill, because the entry is popped at once.
            None => self.run.insert(0, place),
        }
    }

    /// Makes a run, after all of the last one was taken, of entries that sort before the buckets.
    pub(super) fn begin_run(&mut self, take: impl FnOnce(&mut Vec<E>)) {
        debug_assert!(self.run_is_over(), "LADDER-A: the run is not empty");
        self.run.clear();
        self.at = 0;
        take(&mut self.scratch);
        self.scratch.sort_unstable();
        for entry in self.scratch.drain(..) {
            self.run.push(Place { time: entry.time(), node: self.nodes.put(entry, NONE) });
        }
    }

    /// Moves all entries to `entries`.
    pub(super) fn pour(self, entries: &mut Vec<E>) {
        entries.extend(self.nodes.nodes.into_iter().filter_map(|node| node.entry));
    }

    /// Whether all of the run was taken.
    #[inline(always)]
    pub(super) const fn run_is_over(&self) -> bool {
        self.at >= self.run.len()
    }

    /// Takes the first entry of the run.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<E> {
        let place = self.run.get(self.at)?;
        self.at += 1;
        self.nodes.take(place.node)
    }

    /// The entry that is `distance` places behind the first one of the run.
    #[inline]
    pub(super) fn peek(&self, distance: usize) -> Option<&E> {
        let place = self.run.get(self.at + distance)?;
        self.nodes.get(place.node)?.entry.as_ref()
    }

    /// Moves what is left of the run, and the entries of all buckets, to `sink`.
    pub(super) fn empty(&mut self, mut sink: impl FnMut(E)) {
        for place in self.run.drain(..).skip(self.at) {
            self.nodes.take(place.node).into_iter().for_each(&mut sink);
        }
        self.at = 0;
        for (place, word) in self.occupied.iter_mut().enumerate() {
            let mut bits = std::mem::take(word);
            while bits != 0 {
                let head = &mut self.heads[place * WORD + bits.trailing_zeros() as usize];
                bits &= bits - 1;
                let mut index = std::mem::replace(head, NONE);
                while let Some(&Node { entry: Some(_), next }) = self.nodes.get(index) {
                    self.nodes.take(index).into_iter().for_each(&mut sink);
                    index = next;
                }
            }
        }
        self.next = self.heads.len();
    }

    /// Puts the next buckets into the run, all of which was taken, until it has `enough` entries,
    /// the calendar is empty, or a bucket is crowded. The calendar has `count` entries.
    pub(super) fn refill(&mut self, enough: usize, count: usize) -> Found {
        debug_assert!(self.run_is_over(), "LADDER-A: the run is not empty");
        let has_grown = count / GROWTH > self.made_for;
        self.run.clear();
        self.at = 0;
        let mut is_crowded = false;
        while self.run.len() < enough
            && !is_crowded
            && let Some(word) = self.occupied.get_mut(self.next / WORD)
        {
            let first = self.next / WORD * WORD;
            let mut bits = std::mem::take(word);
            self.next = first + WORD;
            while bits != 0 {
                let bucket = first + bits.trailing_zeros() as usize;
                is_crowded = !self.append(bucket, has_grown);
                if !is_crowded {
                    bits &= bits - 1;
                }
                if is_crowded || self.run.len() >= enough {
                    self.occupied[first / WORD] = bits;
                    self.next = bucket + usize::from(!is_crowded);
                    break;
                }
            }
        }
        debug_assert!(
            self.run.iter().all(|place| self.scale.bucket_of(place.time) < self.next),
            "LADDER-A: an entry of a later bucket in the run"
        );
        self.taken += self.run.len();
        match self.run.is_empty() {
            false => Found::Entries,
            true if is_crowded => Found::Crowd,
            true => Found::Nothing,
        }
    }

    /// Appends the entries of a bucket to the run, in ascending order; or leaves them and returns
    /// false, if they are many in a calendar that has grown.
    #[inline(always)]
    fn append(&mut self, bucket: usize, has_grown: bool) -> bool {
        let start = self.run.len();
        let head = std::mem::replace(&mut self.heads[bucket], NONE);
        let mut index = head;
        while let Some(Node { entry: Some(entry), next }) = self.nodes.get(index) {
            self.run.push(Place { time: entry.time(), node: index });
            index = *next;
        }
        debug_assert_eq!(index, NONE, "a list of nodes ends in a free one");
        match self.run.len() - start {
            0..2 => {}
            2..=INSERTION_MAX => sort(&mut self.run[start..], &self.nodes),
            _ if has_grown => {
                self.run.truncate(start);
                self.heads[bucket] = head;
                return false;
            }
            _ => self.sort_many(start),
        }
        true
    }

    /// Sorts the run from `start` on. Many entries in a bucket are mostly ties: the entries
    /// themselves are sorted then, and put back into the same nodes.
    #[inline(never)]
    fn sort_many(&mut self, start: usize) {
        let places = &mut self.run[start..];
        let nodes = &mut self.nodes.nodes;
        self.scratch.extend(places.iter().filter_map(|at| nodes[at.node as usize].entry.take()));
        self.scratch.sort_unstable();
        for (place, entry) in places.iter_mut().zip(self.scratch.drain(..)) {
            place.time = entry.time();
            nodes[place.node as usize].entry = Some(entry);
        }
    }
}

/// Sorts the places of a few entries. Ties in time are rare, so the entries are seldom looked at.
fn sort<E: Entry>(places: &mut [Place], nodes: &Nodes<E>) {
    for end in 1..places.len() {
        let mut at = end;
        while at > 0 && nodes.before(&places[at], &places[at - 1]) {
            places.swap(at, at - 1);
            at -= 1;
        }
    }
}

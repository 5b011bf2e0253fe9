//! The undo log: old values as words, one after another.
//!
//! An entry is the position of the field's entry before it, a header (its length, what was done,
//! and an index), and the words of the old value. If the value owns memory, the number of its first
//! part in [`Owned`] comes before its words.

use std::fmt;

use super::{
    Value,
    owned::{Kept, Owned},
};

/// Bits of a header, from the lowest: the length of the entry in words, what was done, whether
/// parts of the value are in [`Owned`], and an index.
const LENGTH_BITS: u32 = 16;
const OPERATION_BITS: u32 = 3;
const OWNS: u64 = 1 << (LENGTH_BITS + OPERATION_BITS);
const INDEX_SHIFT: u32 = LENGTH_BITS + OPERATION_BITS + 1;
/// The words of an entry before those of its value.
const HEAD: usize = 2;
/// The most words of a value.
const WORDS_MAX: usize = (1 << LENGTH_BITS) - HEAD - 2;
/// The least words that are allocated.
const CAPACITY_MIN: usize = 512;

/// The log of a worker.
pub struct UndoLog {
    /// The first of them, up to `len`, are the log; the others are room.
    words: Vec<u64>,
    len: usize,
    /// The position of the first of `words`.
    base: u64,
    front: u64,
    /// Where the event, or an LP's part of the window, began that is handled now.
    since: u64,
    owned: Owned,
    allocating: fn(&mut dyn FnMut()),
}

/// An entry that is read.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The position of the field's entry before this one.
    pub prev: u64,
    /// What was done: the container's own number.
    pub operation: u64,
    /// The index that the container gave.
    pub index: usize,
    words: &'a [u64],
    owned: &'a mut Owned,
}

/// What an LP wrote in one event, on its way to another log.
#[derive(Debug)]
pub struct Segment {
    from: u64,
    words: Vec<u64>,
    owned: Vec<Kept>,
}

/// Where the entries of an LP have moved to. Those that are not there were committed.
#[derive(Debug, Default)]
pub struct Moves(Vec<Move>);

/// Entries that moved together.
#[derive(Debug)]
struct Move {
    from: u64,
    len: u64,
    to: u64,
}

impl Default for UndoLog {
    fn default() -> Self {
        Self::starting_at(Self::NONE + 1)
    }
}

impl UndoLog {
    /// No entry.
    pub const NONE: u64 = 0;

    /// An empty log. LPs that it takes over from other logs have no entry at `position` or after
    /// it, if that is the greatest [`back`](Self::back) of those logs (UNDO-C).
    #[must_use]
    pub fn starting_at(position: u64) -> Self {
        debug_assert!(position > Self::NONE, "UNDO-A: positions begin at 1");
        Self {
            words: Vec::new(),
            len: 0,
            base: position,
            front: position,
            since: position,
            owned: Owned::default(),
            allocating: |allocate| allocate(),
        }
    }

    /// Lets `scope` run what allocates memory for the log. Handlers write to it, and an engine in
    /// which they allocate elsewhere than the engine itself does says so here.
    #[must_use]
    pub fn allocating_in(mut self, scope: fn(&mut dyn FnMut())) -> Self {
        self.allocating = scope;
        self
    }

    /// The position of the next entry.
    #[inline]
    #[must_use]
    pub const fn back(&self) -> u64 {
        self.base + self.len as u64
    }

    /// The position before which nothing can be undone.
    #[inline]
    #[must_use]
    pub const fn front(&self) -> u64 {
        self.front
    }

    /// Begins an event, or an LP's part of a window. All that is written from here on is undone to
    /// the position that this returns, or not at all.
    #[inline]
    pub const fn begin(&mut self) -> u64 {
        self.since = self.back();
        self.since
    }

    /// Goes on with what began at `since`, after other LPs have written.
    #[inline]
    pub const fn resume(&mut self, since: u64) {
        self.since = since;
    }

    /// Whether an entry was written since [`begin`](Self::begin): then the value that was there
    /// before is saved.
    #[inline]
    #[must_use]
    pub const fn is_new(&self, entry: u64) -> bool {
        entry >= self.since
    }

    /// Adds an entry for a field whose last one is `prev`, and returns its position. `operation` is
    /// less than 8.
    #[inline(always)]
    pub fn push<T: Value>(&mut self, prev: u64, operation: u64, index: usize, old: &T) -> u64 {
        const { assert!(T::WORDS <= WORDS_MAX, "a value is too large for the undo log") }
        self.push_with(prev, operation, index, (T::WORDS, T::OWNS), |to, owned| old.put(to, owned))
    }

    /// The same for two values; they are read as one, a tuple.
    #[inline(always)]
    pub fn push_pair<A: Value, B: Value>(
        &mut self,
        prev: u64,
        operation: u64,
        first: &A,
        second: &B,
    ) -> u64 {
        const { assert!(<(A, B)>::WORDS <= WORDS_MAX, "a value is too large for the undo log") }
        let size = (<(A, B)>::WORDS, <(A, B)>::OWNS);
        self.push_with(prev, operation, 0, size, |to, owned| {
            let (to_first, to_second) = to.split_at_mut(A::WORDS);
            first.put(to_first, owned);
            second.put(to_second, owned);
        })
    }

    /// Saves the plain fields of a state, whose values have this many words; `owns` says whether
    /// one of them owns memory.
    #[inline(always)]
    pub fn push_plain(
        &mut self,
        (words, owns): (usize, bool),
        put: impl FnOnce(&mut [u64], &mut Owned),
    ) {
        self.push_with(Self::NONE, 0, 0, (words, owns), put);
    }

    #[inline(always)]
    fn push_with(
        &mut self,
        prev: u64,
        operation: u64,
        index: usize,
        (words, owns): (usize, bool),
        put: impl FnOnce(&mut [u64], &mut Owned),
    ) -> u64 {
        let at = self.back();
        debug_assert!(prev < at, "UNDO-C: entry {prev} is of another log, which is longer");
        debug_assert!(words <= WORDS_MAX, "UNDO: {words} words in one entry");
        debug_assert!(operation < 1 << OPERATION_BITS, "UNDO: no operation {operation}");
        let head = HEAD + usize::from(owns);
        let (begin, end) = (self.len, self.len + head + words);
        if end > self.words.len() {
            self.grow(end);
        }
        let entry = &mut self.words[begin..end];
        let header = (index as u64) << INDEX_SHIFT | operation << LENGTH_BITS;
        entry[0] = prev;
        if owns {
            entry[1] = header | OWNS | (head + words) as u64;
            entry[2] = self.owned.begin(at);
            // What the parts are copied to belongs to the log.
            let owned = &mut self.owned;
            let mut put = Some(put);
            (self.allocating)(&mut || {
                if let Some(put) = put.take() {
                    put(&mut entry[head..], owned);
                }
            });
        } else {
            entry[1] = header | (head + words) as u64;
            put(&mut entry[head..], &mut self.owned);
        }
        self.len = end;
        at
    }

    /// Makes room for `len` words.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, len: usize) {
        let capacity = (2 * len).max(CAPACITY_MIN);
        let words = &mut self.words;
        (self.allocating)(&mut || words.resize(capacity, 0));
    }

    /// The entry at a position.
    #[inline]
    pub fn entry(&mut self, at: u64) -> Entry<'_> {
        debug_assert!((self.front..self.back()).contains(&at), "UNDO-A: no entry at {at}");
        let words = &self.words[(at - self.base) as usize..self.len];
        let (prev, header) = (words[0], words[1]);
        let mut values = &words[HEAD..];
        if header & OWNS != 0 {
            self.owned.read(values[0]);
            values = &values[1..];
        }
        debug_assert!(prev < at, "UNDO-A: the chain of a field leads forward");
        Entry {
            prev,
            operation: header >> LENGTH_BITS & ((1 << OPERATION_BITS) - 1),
            index: (header >> INDEX_SHIFT) as usize,
            words: values,
            owned: &mut self.owned,
        }
    }

    /// Restores the plain fields of a state that were saved at `point`.
    #[inline]
    pub fn take_plain(&mut self, point: u64, get: impl FnOnce(&[u64], &mut Owned)) {
        let entry = self.entry(point);
        debug_assert_eq!(entry.prev, Self::NONE, "UNDO-B: no plain fields are saved at {point}");
        get(entry.words, entry.owned);
    }

    /// Drops the entries before `front`, which nothing undoes any more.
    #[inline]
    pub fn drop_before(&mut self, front: u64) {
        debug_assert!((self.front..=self.back()).contains(&front), "UNDO-A: a front of {front}");
        self.front = front;
        self.owned.drop_before(front);
        // Moves what is left only if that is the smaller part: a constant cost for each word.
        if 2 * (front - self.base) as usize >= self.len {
            self.move_to_front();
        }
    }

    /// Moves the entries over the words of those that were dropped before them.
    #[inline]
    fn move_to_front(&mut self) {
        let dead = (self.front - self.base) as usize;
        self.words.copy_within(dead..self.len, 0);
        self.len -= dead;
        self.base = self.front;
    }

    /// Drops the entries from `back` on, which were undone. Their positions are used again.
    #[inline]
    pub fn drop_from(&mut self, back: u64) {
        debug_assert!((self.front..=self.back()).contains(&back), "UNDO-A: a back of {back}");
        self.owned.drop_from(back);
        self.len = (back - self.base) as usize;
    }

    /// Takes the entries in a range of positions out: what an LP that moves to another worker wrote
    /// in one event. They are not undone here any more.
    #[must_use]
    pub fn take_segment(&mut self, from: u64, to: u64) -> Segment {
        debug_assert!(
            self.front <= from && from <= to && to <= self.back(),
            "UNDO-A: {from}..{to}"
        );
        let words = self.words[(from - self.base) as usize..(to - self.base) as usize].to_vec();
        Segment { from, words, owned: self.owned.take_range(from, to) }
    }

    /// Puts entries in at the end, and notes where they are now; returns that position. The
    /// segments of an LP come in their order.
    pub fn put_segment(&mut self, segment: Segment, moves: &mut Moves) -> u64 {
        let Segment { from, mut words, owned } = segment;
        let to = self.back();
        moves.0.push(Move { from, len: words.len() as u64, to });
        let first = self.owned.put_range(owned, from, to);
        // The number of the first owned value, where it comes from.
        let mut old_first = None;
        let mut at = 0;
        while at < words.len() {
            words[at] = moves.position(words[at]);
            if words[at + 1] & OWNS != 0 {
                words[at + 2] = words[at + 2] - *old_first.get_or_insert(words[at + 2]) + first;
            }
            at += length(words[at + 1]);
        }
        debug_assert_eq!(at, words.len(), "UNDO-A: an entry ends beyond its segment");
        let end = self.len + words.len();
        if end > self.words.len() {
            self.grow(end);
        }
        self.words[self.len..end].copy_from_slice(&words);
        self.len = end;
        to
    }

    /// How many entries there are from `point` on: what an undo of all of them finds.
    #[must_use]
    pub fn count_from(&self, point: u64) -> usize {
        let (mut at, mut count) = ((point - self.base) as usize, 0);
        while at < self.len {
            at += length(self.words[at + 1]);
            count += 1;
        }
        count
    }

    /// The bytes that the log takes, with its room and the old values that own memory.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words) + self.owned.bytes()
    }

    /// The bytes of the old values that own memory.
    #[inline]
    #[must_use]
    pub fn owned_bytes(&self) -> usize {
        self.owned.bytes()
    }

    /// Whether this many words can be written without an allocation.
    #[inline]
    #[must_use]
    pub const fn has_room(&self, words: usize) -> bool {
        self.len + words <= self.words.len()
    }

    /// The bytes of the words of a log that has room for this many more.
    #[must_use]
    pub fn bytes_with(&self, words: usize) -> usize {
        self.capacity_with(words) * size_of::<u64>()
    }

    /// Makes room for this many more words, and for a few that come after them.
    pub fn reserve(&mut self, words: usize) {
        let capacity = self.capacity_with(words);
        // Not twice as much as there is: memory is limited where this is called.
        self.words.reserve_exact(capacity.saturating_sub(self.words.len()));
        self.words.resize(capacity.max(self.words.len()), 0);
    }

    const fn capacity_with(&self, words: usize) -> usize {
        self.len + words + self.len / 4
    }

    /// Frees the room that is not used.
    pub fn shrink(&mut self) {
        self.move_to_front();
        self.words.truncate(self.len);
        self.words.shrink_to_fit();
        self.owned.shrink();
    }
}

/// How many words an entry with this header has.
#[inline]
const fn length(header: u64) -> usize {
    (header & ((1 << LENGTH_BITS) - 1)) as usize
}

impl Entry<'_> {
    /// The old value. What it owns is taken out of the log, so this is called once.
    #[inline]
    pub fn value<T: Value>(&mut self) -> T {
        T::get(&self.words[..T::WORDS], self.owned)
    }
}

impl Moves {
    /// Where the entry at `position` is now.
    #[must_use]
    pub fn position(&self, position: u64) -> u64 {
        let after = self.0.partition_point(|part| part.from <= position);
        let Some(part) = after.checked_sub(1).map(|index| &self.0[index]) else {
            return UndoLog::NONE;
        };
        if position - part.from < part.len { position - part.from + part.to } else { UndoLog::NONE }
    }
}

impl fmt::Debug for UndoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { front, since, owned, .. } = self;
        f.debug_struct("UndoLog")
            .field("front", front)
            .field("since", since)
            .field("back", &self.back())
            .field("owned", owned)
            .finish_non_exhaustive()
    }
}

//! Early returns: buffers that are back with their pool while their messages may still be needed.
//!
//! This is the on-the-fly fossil collection of Fujimoto and Panesar (PADS 1995, section 6): a
//! buffer returns as soon as its event was processed, with the event's timestamp, and is given out
//! again when GVT has passed that. So beside each list B(*i*, *j*) there is one of buffers that
//! were returned early, the first one first. What is canceled needs no timestamp: the worker takes
//! it back and frees it, and it is given out again at once.
//!
//! The lists are of one worker, and only it reaches them. The [`arena`](crate::arena) calls this,
//! because a message is dropped when its buffer is given out. A run without early returns has no
//! lists, which costs one branch for each buffer that is taken.
//!
//! # Invariants
//!
//! - **EARLY-A.** A buffer is given out only if its stamp is below the horizon.
//! - **EARLY-B.** A ticket finds its buffer as long as that was neither given out nor taken back,
//!   and never another one.

use std::num::NonZeroU32;

/// A point in the order of events, as keys are compared.
pub type Stamp = [u64; 3];

/// No entry, or no buffer.
const NONE: u32 = u32::MAX;

/// Finds a buffer that was returned early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(NonZeroU32);

impl Ticket {
    /// The memory that one return takes.
    pub const BYTES: usize = size_of::<Entry>();
}

/// A buffer that was returned early, in the chain of its list. Entries that are not used have no
/// buffer, and are chained by `after`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    stamp: Stamp,
    /// Bytes that the message takes outside of the buffer.
    outside: usize,
    buffer: u32,
    list: u32,
    before: u32,
    after: u32,
}

/// A list of buffers that were returned early, by their entries.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    len: usize,
}

/// A buffer that is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Returned {
    pub(crate) buffer: u32,
    /// The worker for whose messages it is.
    pub(crate) list: usize,
    /// Bytes that its message takes outside of it.
    pub(crate) outside: usize,
}

/// A place in a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(u32);

/// The buffers that one worker has returned early.
#[derive(Debug)]
pub(crate) struct Early {
    entries: Vec<Entry>,
    unused: u32,
    /// By worker; none before the first return.
    lists: Vec<List>,
    len: usize,
    horizon: Stamp,
}

impl Early {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), unused: NONE, lists: Vec::new(), len: 0, horizon: [0; 3] }
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// How many of them are in the list for messages to this worker.
    pub(crate) fn len_of(&self, list: usize) -> usize {
        self.lists.get(list).map_or(0, |list| list.len)
    }

    /// Sets the horizon: buffers with stamps below it may be given out.
    pub(crate) const fn set_horizon(&mut self, horizon: Stamp) {
        self.horizon = horizon;
    }

    /// Adds a buffer at the end of a list.
    pub(crate) fn add(&mut self, buffer: u32, list: usize, stamp: Stamp, outside: usize) -> Ticket {
        if list >= self.lists.len() {
            self.lists.resize(list + 1, List { first: NONE, last: NONE, len: 0 });
        }
        debug_assert_ne!(buffer, NONE, "EARLY-B: this number says that there is no buffer");
        let before = self.lists[list].last;
        debug_assert_eq!(
            before == NONE,
            self.lists[list].len == 0,
            "EARLY-B: a list and its length disagree"
        );
        let entry = Entry { stamp, outside, buffer, list: list as u32, before, after: NONE };
        let at = self.unused;
        let at = if at == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let place = &mut self.entries[at as usize];
            debug_assert_eq!(place.buffer, NONE, "EARLY-B: an entry that is used is given again");
            self.unused = place.after;
            *place = entry;
            at
        };
        let list = &mut self.lists[list];
        (list.last, list.len) = (at, list.len + 1);
        if before == NONE {
            list.first = at;
        } else {
            self.entries[before as usize].after = at;
        }
        self.len += 1;
        Ticket(NonZeroU32::MIN.saturating_add(at))
    }

    /// Whether a buffer is still there.
    pub(crate) fn find(&self, ticket: Ticket, buffer: u32, stamp: Stamp) -> bool {
        let entry = self.entries.get(ticket.0.get() as usize - 1);
        // EARLY-B: the entry may be another buffer's by now, or that of a later message in it.
        entry.is_some_and(|entry| (entry.buffer, entry.stamp) == (buffer, stamp))
    }

    /// Removes a buffer, if it is still there.
    pub(crate) fn remove(&mut self, ticket: Ticket, buffer: u32, stamp: Stamp) -> bool {
        let found = self.find(ticket, buffer, stamp);
        if found {
            self.unlink(ticket.0.get() - 1);
        }
        found
    }

    /// Gives out the first buffer of a list, if its stamp is below the horizon.
    #[inline]
    pub(crate) fn first(&mut self, list: usize) -> Option<Returned> {
        let first = self.lists.get(list).filter(|list| list.len > 0)?.first;
        // EARLY-A.
        (self.entries[first as usize].stamp < self.horizon).then(|| self.unlink(first))
    }

    /// Where a search of a list for [`next`](Self::next) begins.
    pub(crate) fn begin(&self, list: usize) -> Place {
        Place(self.lists.get(list).map_or(NONE, |list| list.first))
    }

    /// Gives out the next buffer of a list whose stamp is below the horizon. After a rollback they
    /// are not all in the order of their stamps.
    pub(crate) fn next(&mut self, place: &mut Place) -> Option<Returned> {
        while place.0 != NONE {
            let at = place.0;
            let Entry { stamp, after, .. } = self.entries[at as usize];
            place.0 = after;
            // EARLY-A.
            if stamp < self.horizon {
                return Some(self.unlink(at));
            }
        }
        None
    }

    /// How many lists there are.
    pub(crate) const fn lists(&self) -> usize {
        self.lists.len()
    }

    /// Takes an entry out of its list; it is unused then.
    fn unlink(&mut self, at: u32) -> Returned {
        let Entry { buffer, list, outside, before, after, .. } = self.entries[at as usize];
        let ends = &mut self.lists[list as usize];
        debug_assert_ne!(buffer, NONE, "EARLY-B: an entry is unlinked twice");
        debug_assert!(ends.len > 0 && self.len > 0, "EARLY-B: an entry of an empty list");
        debug_assert_eq!(before == NONE, ends.first == at, "EARLY-B: the first has one before it");
        debug_assert_eq!(after == NONE, ends.last == at, "EARLY-B: the last has one after it");
        match before {
            NONE => ends.first = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => ends.last = before,
            after => self.entries[after as usize].before = before,
        }
        ends.len -= 1;
        self.len -= 1;
        let entry = &mut self.entries[at as usize];
        (entry.buffer, entry.after) = (NONE, self.unused);
        self.unused = at;
        Returned { buffer, list: list as usize, outside }
    }
}

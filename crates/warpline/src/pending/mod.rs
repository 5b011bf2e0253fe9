//! Pending event sets: the events that are not handled yet, by their order.
//!
//! The sequential engine and each worker of Time Warp keep their unprocessed events in one of
//! these, and do not know which one. The conservative engine does not use them: it keeps events by
//! window, or in a heap for each LP.
//! All of them are driven by the same property test (`tests/pending.rs`) against a `BTreeMap`.
//! `docs/pending-sets.md` has the measurements that chose the default.
//!
//! To add a set: write one file that implements [`PendingSet`], and one line in `pending_sets!`.

mod arena;
mod calendar;
mod canceling;
mod dary_heap;
mod ladder;
mod min_queue;
mod skew_heap;
mod splay_tree;

pub use calendar::CalendarQueue;
pub use canceling::Canceling;
pub use dary_heap::DaryHeap;
pub use ladder::LadderQueue;
pub use min_queue::MinQueue;
pub use skew_heap::SkewHeap;
pub use splay_tree::SplayTree;

use crate::names::names;

/// What a pending set holds: a value with a total order, and a time that agrees with the order.
///
/// # Laws
///
/// - `a < b` implies `a.time() <= b.time()`. Times are finite and not negative.
/// - Entries that compare equal are interchangeable. So where an event may be canceled and sent
///   again under the same key (Time Warp re-executes), the order of its entry must end with the
///   buffer of the event, which tells the two apart.
pub trait Entry: Ord {
    /// The receive time.
    fn time(&self) -> f64;
}

/// A priority queue of events with cancellation.
///
/// # Laws
///
/// - `pop` removes a least entry; `peek` shows the entry that `pop` would remove.
/// - Entries may be inserted below what was popped before: Time Warp rolls back.
/// - `len` is the number of entries inserted and neither popped nor removed.
pub trait PendingSet<E: Entry>: Default {
    /// Adds an entry.
    fn insert(&mut self, entry: E);

    /// Removes a least entry and returns it.
    fn pop(&mut self) -> Option<E>;

    /// Shows the entry that [`pop`](Self::pop) would remove.
    ///
    /// It may reorganize the set, which is why it needs `&mut`.
    fn peek(&mut self) -> Option<&E>;

    /// Removes an entry that compares equal to `entry`. There must be one in the set.
    ///
    /// The caller knows that it is there (a canceled event records that it is pending), so a set
    /// may note the removal and act on it later. After the removal of an entry that is not
    /// there, the results of `pop` and `len` are unspecified.
    fn remove(&mut self, entry: E);

    /// Moves all entries to `entries`, in any order.
    fn drain_into(&mut self, entries: &mut Vec<E>) {
        entries.extend(std::iter::from_fn(|| self.pop()));
        debug_assert!(self.is_empty(), "`len` counts entries that `pop` does not find");
    }

    /// The number of entries.
    fn len(&self) -> usize;

    /// Whether there are no entries.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shows an entry that will probably be popped after `distance` others, if that is cheap to
    /// find: a hint, so that the caller can prefetch what the entry needs.
    fn upcoming(&self, _distance: usize) -> Option<&E> {
        None
    }
}

/// Engines whose LPs do not stay in the nearest cache load the LP of the event that comes so many
/// events later ([`upcoming`](PendingSet::upcoming)). With eight, W3 was a twentieth slower.
pub(crate) const PREFETCH_AHEAD: usize = 4;

/// A kind of pending set, for entries of any type.
pub trait PendingFamily {
    /// The set for entries of type `E`.
    type Set<E: Entry>: PendingSet<E>;

    /// An empty set; `kind` says which one where the family has several kinds.
    #[must_use]
    fn set<E: Entry>(_kind: PendingKind) -> Self::Set<E> {
        Default::default()
    }
}

/// An action with a pending set whose kind is known at run time only.
pub trait WithPending {
    /// The result of the action.
    type Output;
    /// Performs the action with the kind `P`.
    fn with<P: PendingFamily>(self) -> Self::Output;
}

/// Declares the kinds: the enum that names them, the family of each, and the dispatch.
macro_rules! pending_sets {
    ($($(#[$doc:meta])* $kind:ident = $name:literal => $set:ty;)*) => {
        names! {
            /// The pending sets by name.
            pub enum PendingKind as "pending", default Ladder;
            $($(#[$doc])* $kind = $name;)*
        }

        /// The families behind [`PendingKind`], one type for each.
        pub mod family {
            #[allow(clippy::wildcard_imports, reason = "the macro names sets of this module")]
            use super::*;
            $($(#[$doc])* #[derive(Clone, Copy, Debug)] pub struct $kind;
            impl PendingFamily for $kind { type Set<E: Entry> = $set; })*
        }

        /// A set whose kind is chosen at run time, where a branch per operation costs less than
        /// compiling the engine once per kind. The default kind is the fastest: what the others
        /// do is not inlined.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "a worker has one set, whatever its size")]
        pub(crate) enum AnySet<E: Entry> {
            $($kind(<family::$kind as PendingFamily>::Set<E>),)*
        }

        impl<E: Entry> AnySet<E> {
            pub(crate) fn new(kind: PendingKind) -> Self {
                match kind { $(PendingKind::$kind => Self::$kind(Default::default()),)* }
            }

            /// [`insert`](PendingSet::insert) for the places that are not in the loop over events:
            /// compiled once, and not as part of each of them, in all kinds of sets.
            #[inline(never)]
            pub(crate) fn file(&mut self, entry: E) {
                match self { $(Self::$kind(set) => set.insert(entry),)* }
            }

            /// [`pop`](PendingSet::pop) in all kinds of sets.
            #[inline(never)]
            fn take(&mut self) -> Option<E> {
                match self { $(Self::$kind(set) => set.pop(),)* }
            }
        }

        impl<E: Entry> Default for AnySet<E> {
            fn default() -> Self {
                Self::new(PendingKind::default())
            }
        }

        impl<E: Entry> PendingSet<E> for AnySet<E> {
            // In the loop over events, there is code for the default kind and a call for others.
            #[inline(always)]
            fn insert(&mut self, entry: E) {
                if let Self::Ladder(set) = self { set.insert(entry) } else { self.file(entry) }
            }
            #[inline(always)]
            fn pop(&mut self) -> Option<E> {
                if let Self::Ladder(set) = self { set.pop() } else { self.take() }
            }
            #[inline]
            fn peek(&mut self) -> Option<&E> {
                match self { $(Self::$kind(set) => set.peek(),)* }
            }
            fn remove(&mut self, entry: E) {
                match self { $(Self::$kind(set) => set.remove(entry),)* }
            }
            fn drain_into(&mut self, entries: &mut Vec<E>) {
                match self { $(Self::$kind(set) => set.drain_into(entries),)* }
            }
            fn len(&self) -> usize {
                match self { $(Self::$kind(set) => set.len(),)* }
            }
            #[inline]
            fn upcoming(&self, distance: usize) -> Option<&E> {
                match self { $(Self::$kind(set) => set.upcoming(distance),)* }
            }
        }

        impl PendingKind {
            /// Performs an action with this kind of set, statically dispatched from here on.
            pub fn dispatch<W: WithPending>(self, action: W) -> W::Output {
                match self { $(Self::$kind => action.with::<family::$kind>()),* }
            }
        }
    };
}

/// All kinds of sets behind one type, with a predictable branch per operation.
pub(crate) struct AnyFamily;

impl PendingFamily for AnyFamily {
    type Set<E: Entry> = AnySet<E>;

    fn set<E: Entry>(kind: PendingKind) -> AnySet<E> {
        AnySet::new(kind)
    }
}

pending_sets! {
    /// Ladder queue (Tang, Goh and Thng 2005), with a heap for late arrivals.
    Ladder = "ladder" => Canceling<LadderQueue<E>, E>;
    /// Implicit 4-ary heap.
    Heap = "heap" => Canceling<DaryHeap<E>, E>;
    /// Calendar queue (Brown 1988), self-resizing.
    Calendar = "calendar" => CalendarQueue<E>;
    /// Skew heap (Sleator and Tarjan 1986).
    Skew = "skew" => Canceling<SkewHeap<E>, E>;
    /// Splay tree (Sleator and Tarjan 1985).
    Splay = "splay" => SplayTree<E>;
}

//! State that is saved incrementally: only what an event changes, and only when it changes it.
//!
//! A model puts its large fields into [`Tracked`] or [`TrackedVec`]. They can be changed through
//! `write` only, which takes the handler's context and saves the old value first, so a handler
//! cannot forget to. An engine that saves incrementally copies a process [`shallow`]ly (without
//! what its tracked fields hold) and asks these fields to undo their own changes.
//!
//! # Invariants
//!
//! - **TRACK-A.** A log holds the values before the first write of each event that wrote, events in
//!   ascending order.
//! - **TRACK-B.** A field without its contents (a shallow copy) is never read: the engine puts the
//!   contents back before a handler sees it. A field that
//!   [`LogicalProcess::tracked`](crate::LogicalProcess::tracked) does not show stays empty, and the
//!   next access says so.
//!
//! # References
//!
//! The incrementally checkpointed state of GTW (Das et al. 1994, section 2.1).

use std::{any::Any, cell::Cell, collections::VecDeque, fmt, ops::Deref};

use crate::Context;

/// Where a process stands in its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndoPoint {
    /// The number of the event being handled, increasing along the history of the process.
    pub event: u64,
    /// Events with a lower number will never be undone.
    pub committed: u64,
}

impl UndoPoint {
    /// For an engine that never undoes anything in this way.
    pub const NEVER: Self = Self { event: 0, committed: u64::MAX };
}

/// What an engine asks of a tracked field.
pub trait Undo {
    /// Undoes the writes of this event and of later ones.
    fn undo_to(&mut self, event: u64);

    /// Takes the contents out, for the field of the same place in a shallow copy.
    fn take_contents(&mut self) -> Box<dyn Any + Send>;

    /// Puts in what [`take_contents`](Self::take_contents) took out of the same field elsewhere.
    fn put_contents(&mut self, contents: Box<dyn Any + Send>);
}

thread_local! {
    static SHALLOW: Cell<bool> = const { Cell::new(false) };
}

/// Makes copies without what tracked fields hold, for as long as `copy` runs on this thread.
#[inline]
pub fn shallow<T>(copy: impl FnOnce() -> T) -> T {
    SHALLOW.set(true);
    let copied = copy();
    SHALLOW.set(false);
    copied
}

/// The value and what it was before each event that may be undone.
#[derive(Debug)]
struct Logged<T, E> {
    value: T,
    log: VecDeque<(u64, E)>,
}

impl<T, E> Logged<T, E> {
    /// Whether the event at `point` has to save before it writes, and forgets what is committed.
    fn must_save(&mut self, point: UndoPoint) -> bool {
        if point == UndoPoint::NEVER {
            return false;
        }
        while self.log.front().is_some_and(|(event, _)| *event < point.committed) {
            self.log.pop_front();
        }
        true
    }

    /// Hands out what was saved for `event` and later ones, the latest first.
    fn undo(&mut self, event: u64, mut restore: impl FnMut(&mut T, E)) {
        while self.log.back().is_some_and(|(saved, _)| *saved >= event) {
            if let Some((_, old)) = self.log.pop_back() {
                restore(&mut self.value, old);
            }
        }
    }
}

const NOT_SHOWN: &str =
    "a tracked field lost its contents: LogicalProcess::tracked has to show every one of them";

/// A field whose old value is saved before an event changes it.
///
/// ```
/// use warpline_core::{Context, Tracked};
///
/// fn handle(table: &mut Tracked<[u64; 64]>, place: usize, cx: &impl Context<()>) {
///     if table[place] > 0 {
///         table.write(cx)[place] -= 1;
///     }
/// }
/// ```
pub struct Tracked<T>(Option<Box<Logged<T, T>>>);

impl<T: Clone> Tracked<T> {
    /// A field with this value.
    pub fn new(value: T) -> Self {
        Self(Some(Box::new(Logged { value, log: VecDeque::new() })))
    }

    /// The value, to be changed. The first call for an event saves the old one, whole.
    #[inline]
    pub fn write<M>(&mut self, cx: &impl Context<M>) -> &mut T {
        let logged = self.0.as_mut().expect(NOT_SHOWN);
        let point = cx.undo_point();
        if logged.must_save(point) && logged.log.back().is_none_or(|(at, _)| *at != point.event) {
            logged.log.push_back((point.event, logged.value.clone()));
        }
        &mut logged.value
    }
}

impl<T> Deref for Tracked<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0.as_ref().expect(NOT_SHOWN).value
    }
}

impl<T: Clone> Clone for Tracked<T> {
    /// The value without its log; under [`shallow`], neither.
    #[inline]
    fn clone(&self) -> Self {
        if SHALLOW.get() { Self(None) } else { Self::new(T::clone(self)) }
    }
}

impl<T: fmt::Debug> fmt::Debug for Tracked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map(|logged| &logged.value).fmt(f)
    }
}

impl<T: Clone + Send + 'static> Undo for Tracked<T> {
    fn undo_to(&mut self, event: u64) {
        self.0.as_mut().expect(NOT_SHOWN).undo(event, |value, old| *value = old);
    }

    fn take_contents(&mut self) -> Box<dyn Any + Send> {
        self.0.take().expect(NOT_SHOWN)
    }

    fn put_contents(&mut self, contents: Box<dyn Any + Send>) {
        self.0 = Some(contents.downcast().expect("LogicalProcess::tracked changed its order"));
    }
}

/// A vector of which each element is saved before an event changes it; its length is fixed.
pub struct TrackedVec<T>(Option<Box<Logged<Vec<T>, (usize, T)>>>);

impl<T: Clone> TrackedVec<T> {
    /// A field with these elements.
    pub fn new(elements: Vec<T>) -> Self {
        Self(Some(Box::new(Logged { value: elements, log: VecDeque::new() })))
    }

    /// An element, to be changed. Its old value is saved.
    ///
    /// # Panics
    ///
    /// If there is no such element.
    #[inline]
    pub fn write<M>(&mut self, index: usize, cx: &impl Context<M>) -> &mut T {
        let logged = self.0.as_mut().expect(NOT_SHOWN);
        let point = cx.undo_point();
        if logged.must_save(point) {
            logged.log.push_back((point.event, (index, logged.value[index].clone())));
        }
        &mut logged.value[index]
    }
}

impl<T> Deref for TrackedVec<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.0.as_ref().expect(NOT_SHOWN).value
    }
}

impl<T: Clone> Clone for TrackedVec<T> {
    /// The elements without the log; under [`shallow`], neither.
    fn clone(&self) -> Self {
        if SHALLOW.get() { Self(None) } else { Self::new(self.to_vec()) }
    }
}

impl<T: fmt::Debug> fmt::Debug for TrackedVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map(|logged| &logged.value).fmt(f)
    }
}

impl<T: Clone + Send + 'static> Undo for TrackedVec<T> {
    fn undo_to(&mut self, event: u64) {
        let logged = self.0.as_mut().expect(NOT_SHOWN);
        logged.undo(event, |elements, (index, old)| elements[index] = old);
    }

    fn take_contents(&mut self) -> Box<dyn Any + Send> {
        self.0.take().expect(NOT_SHOWN)
    }

    fn put_contents(&mut self, contents: Box<dyn Any + Send>) {
        self.0 = Some(contents.downcast().expect("LogicalProcess::tracked changed its order"));
    }
}

//! State that is saved incrementally: each event saves only what it changes.
//!
//! A model puts its large fields into [`Tracked`] or [`TrackedVec`]. A handler can change them only
//! through `write`, which takes the context and saves the old value first, so no handler can forget
//! to save. An engine that saves incrementally copies an LP [`shallow`]ly, without the contents of
//! its tracked fields, and calls [`Undo`] to let these fields undo their own changes.
//!
//! # Invariants
//!
//! - **TRACK-A.** A log holds, for each event that wrote and can be undone, what restores the value
//!   from before the event; events are in ascending order.
//! - **TRACK-B.** A field without its contents (in a shallow copy) is never read: the engine puts
//!   the contents back before a handler sees it. A field that
//!   [`LogicalProcess::tracked`](crate::LogicalProcess::tracked) does not pass stays empty, and the
//!   next access panics and says why.
//!
//! # References
//!
//! The incrementally checkpointed state of GTW (Das et al. 1994, section 2.1).

use std::{any::Any, cell::Cell, collections::VecDeque, fmt, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Context, undo_point::UndoPoint};

/// The operations of a tracked field that an engine calls.
pub trait Undo {
    /// Undoes the writes of event `event` and of later ones.
    fn undo_to(&mut self, event: u64);

    /// Gives the events that can be undone other numbers, in the same order; those that get none
    /// cannot be undone any more.
    fn renumber(&mut self, number: &mut dyn FnMut(u64) -> Option<u64>);

    /// Takes the contents out, to put them into the same field of a shallow copy.
    fn take_contents(&mut self) -> Box<dyn Any + Send>;

    /// Puts in the contents that [`take_contents`](Self::take_contents) took out of the same field
    /// of another copy.
    fn put_contents(&mut self, contents: Box<dyn Any + Send>);
}

thread_local! {
    static SHALLOW: Cell<bool> = const { Cell::new(false) };
}

/// Runs `copy`; while it runs, clones on this thread leave out the contents of tracked fields.
#[inline]
pub fn shallow<T>(copy: impl FnOnce() -> T) -> T {
    /// Ends the shallow mode even if the `Clone` of a model panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            SHALLOW.set(self.0);
        }
    }
    let _restore = Restore(SHALLOW.replace(true));
    copy()
}

/// A value, and the log of what it was before each event that can be undone.
#[derive(Debug)]
struct Logged<T, E> {
    value: T,
    log: VecDeque<(u64, E)>,
}

impl<T, E> Logged<T, E> {
    /// Whether the event at `point` must save before it writes. Drops entries of committed events.
    fn must_save(&mut self, point: UndoPoint) -> bool {
        if point == UndoPoint::NEVER {
            return false;
        }
        while self.log.front().is_some_and(|(event, _)| *event < point.committed) {
            self.log.pop_front();
        }
        true
    }

    fn renumber(&mut self, number: &mut dyn FnMut(u64) -> Option<u64>) {
        self.log.retain_mut(|(event, _)| number(*event).map(|new| *event = new).is_some());
    }

    /// Passes the entries of `event` and of later ones to `restore`, the latest first.
    fn undo(&mut self, event: u64, mut restore: impl FnMut(&mut T, E)) {
        while self.log.back().is_some_and(|(saved, _)| *saved >= event) {
            if let Some((_, old)) = self.log.pop_back() {
                restore(&mut self.value, old);
            }
        }
    }
}

const NOT_SHOWN: &str =
    "a tracked field has lost its contents: LogicalProcess::tracked must pass every one";
const REORDERED: &str = "LogicalProcess::tracked passed its fields in another order";

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

    /// The value, to change it. The first call in an event saves a copy of the whole old value.
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
    /// Copies the value without its log; inside [`shallow`], neither.
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

    fn renumber(&mut self, number: &mut dyn FnMut(u64) -> Option<u64>) {
        self.0.as_mut().expect(NOT_SHOWN).renumber(number);
    }

    fn take_contents(&mut self) -> Box<dyn Any + Send> {
        self.0.take().expect(NOT_SHOWN)
    }

    fn put_contents(&mut self, contents: Box<dyn Any + Send>) {
        self.0 = Some(contents.downcast().expect(REORDERED));
    }
}

// Only the value goes to another rank: the log serves events that this rank may undo.
impl<T: Clone + Serialize> Serialize for Tracked<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::serialize(self, serializer)
    }
}

impl<'de, T: Clone + Deserialize<'de>> Deserialize<'de> for Tracked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

impl<T: Clone + Serialize> Serialize for TrackedVec<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        <[T]>::serialize(self, serializer)
    }
}

impl<'de, T: Clone + Deserialize<'de>> Deserialize<'de> for TrackedVec<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::new)
    }
}

/// A vector of fixed length, in which an event saves only the elements that it changes.
pub struct TrackedVec<T>(Option<Box<LoggedVec<T>>>);

/// Logs single elements, each with its index.
type LoggedVec<T> = Logged<Vec<T>, (usize, T)>;

impl<T: Clone> TrackedVec<T> {
    /// A field with these elements.
    pub fn new(elements: Vec<T>) -> Self {
        Self(Some(Box::new(Logged { value: elements, log: VecDeque::new() })))
    }

    /// An element, to change it. Each call saves the old element.
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
    /// Copies the elements without the log; inside [`shallow`], neither.
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

    fn renumber(&mut self, number: &mut dyn FnMut(u64) -> Option<u64>) {
        self.0.as_mut().expect(NOT_SHOWN).renumber(number);
    }

    fn take_contents(&mut self) -> Box<dyn Any + Send> {
        self.0.take().expect(NOT_SHOWN)
    }

    fn put_contents(&mut self, contents: Box<dyn Any + Send>) {
        self.0 = Some(contents.downcast().expect(REORDERED));
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, fmt, panic};

    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{Io, LpId, Stream, VirtualTime};

    /// A context that has only an undo point.
    struct At(UndoPoint);

    impl Context<()> for At {
        fn now(&self) -> VirtualTime {
            VirtualTime::ZERO
        }

        fn me(&self) -> LpId {
            LpId::new(0)
        }

        fn lp_count(&self) -> usize {
            1
        }

        fn rng(&mut self) -> &mut Stream {
            unimplemented!("nothing is drawn")
        }

        fn send(&mut self, _: LpId, _: f64, (): ()) {}

        fn send_at(&mut self, _: LpId, _: f64, (): ()) {}

        fn send_io(&mut self, _: Io, _: LpId, _: f64, (): ()) {}

        fn fail(&mut self, _: fmt::Arguments<'_>) {}

        fn undo_point(&self) -> UndoPoint {
            self.0
        }
    }

    fn at(event: u64, committed: u64) -> At {
        At(UndoPoint { event, committed })
    }

    const CELLS: usize = 4;

    /// An LP with a field of each kind.
    #[derive(Clone, Debug)]
    struct Process {
        plain: u64,
        whole: Tracked<[u8; CELLS]>,
        cells: TrackedVec<u8>,
    }

    type Values = (u64, [u8; CELLS], Vec<u8>);

    impl Process {
        fn new() -> Self {
            let (whole, cells) = (Tracked::new([0; CELLS]), TrackedVec::new(vec![0; CELLS]));
            Self { plain: 0, whole, cells }
        }

        fn values(&self) -> Values {
            (self.plain, *self.whole, self.cells.to_vec())
        }

        fn tracked(&mut self, visit: &mut dyn FnMut(&mut dyn Undo)) {
            visit(&mut self.whole);
            visit(&mut self.cells);
        }

        fn write(&mut self, (whole, cell, value): (bool, usize, u8), cx: &At) {
            self.plain += 1;
            if whole {
                self.whole.write(cx)[cell] = value;
            } else {
                *self.cells.write(cell, cx) = value;
            }
        }

        /// Replaces `current` by `self`, a copy without contents that was made before `event`.
        fn restore(&mut self, current: &mut Self, event: u64) {
            let mut contents = VecDeque::new();
            current.tracked(&mut |field| contents.push_back(field.take_contents()));
            self.tracked(&mut |field| {
                field.put_contents(contents.pop_front().expect("as many fields"));
                field.undo_to(event);
            });
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// An event with these writes.
        Event(Vec<(bool, usize, u8)>),
        /// Undoes this many of the events that can be undone.
        Undo(usize),
        /// Commits this many of the events that can be undone.
        Commit(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let write = (any::<bool>(), 0..CELLS, any::<u8>());
        prop_oneof![
            4 => vec(write, 0..6).prop_map(Step::Event),
            1 => (0..6_usize).prop_map(Step::Undo),
            1 => (0..4_usize).prop_map(Step::Commit),
        ]
    }

    proptest! {
        /// TRACK-A: after any undo, the values are those from before the event, for an engine that
        /// saves copies without contents.
        #[test]
        fn undoes_to_any_event(steps in vec(step(), 0..60)) {
            let mut process = Process::new();
            // The events that can be undone: the values and a shallow copy before each.
            let mut history: VecDeque<(Values, Process)> = VecDeque::new();
            let mut committed = 0;
            for step in steps {
                match step {
                    Step::Event(writes) => {
                        let event = committed + history.len() as u64;
                        let before = (process.values(), shallow(|| process.clone()));
                        history.push_back(before);
                        for write in writes {
                            process.write(write, &at(event, committed));
                        }
                    }
                    Step::Undo(events) => {
                        let kept = history.len().saturating_sub(events);
                        if let Some((values, mut copy)) = history.drain(kept..).next() {
                            copy.restore(&mut process, committed + kept as u64);
                            process = copy;
                            prop_assert_eq!(process.values(), values);
                        }
                    }
                    Step::Commit(events) => {
                        let events = events.min(history.len());
                        history.drain(..events);
                        committed += events as u64;
                    }
                }
            }
        }
    }

    /// A write drops the entries of committed events, and an engine that never undoes saves
    /// nothing.
    #[test]
    fn logs_do_not_grow() {
        let mut process = Process::new();
        let lengths = |process: &Process| {
            let (whole, cells) = (process.whole.0.as_ref(), process.cells.0.as_ref());
            (whole.expect("contents").log.len(), cells.expect("contents").log.len())
        };
        let write_all = |process: &mut Process, cx: &At| {
            for write in [(true, 0, 1), (true, 1, 2), (false, 2, 3), (false, 2, 4)] {
                process.write(write, cx);
            }
        };
        write_all(&mut process, &At(UndoPoint::NEVER));
        assert_eq!(lengths(&process), (0, 0));
        (5..9).for_each(|event| write_all(&mut process, &at(event, 5)));
        assert_eq!(lengths(&process), (4, 8));
        write_all(&mut process, &at(9, 8));
        assert_eq!(lengths(&process), (2, 4));
    }

    /// A full copy has values of its own and no log; its `Debug` text is that of the original.
    #[test]
    fn copies_are_independent() {
        let mut process = Process::new();
        process.write((true, 1, 7), &at(0, 0));
        process.write((false, 2, 8), &at(0, 0));
        let mut copy = process.clone();
        assert_eq!(format!("{copy:?}"), format!("{process:?}"));
        copy.tracked(&mut |field| field.undo_to(0));
        assert_eq!(copy.values(), (2, [0, 7, 0, 0], vec![0, 0, 8, 0]));
        process.tracked(&mut |field| field.undo_to(0));
        assert_eq!(process.values(), (2, [0; CELLS], vec![0; CELLS]));
        assert_eq!(copy.values(), (2, [0, 7, 0, 0], vec![0, 0, 8, 0]));
    }

    /// TRACK-B: every access to a field without contents panics and says why.
    #[test]
    fn access_to_an_empty_field_panics() {
        let empty = || shallow(|| Process::new().clone());
        let message = |access: fn(&mut Process)| {
            let mut process = empty();
            let panic = panic::catch_unwind(panic::AssertUnwindSafe(|| access(&mut process)));
            let message = panic.expect_err("there is nothing to access");
            assert!(message.downcast_ref::<String>().is_some_and(|text| text == NOT_SHOWN));
        };
        message(|process| _ = process.whole[0]);
        message(|process| _ = process.cells[0]);
        message(|process| _ = process.whole.write(&at(0, 0)));
        message(|process| _ = process.cells.write(0, &at(0, 0)));
        message(|process| process.whole.undo_to(0));
        message(|process| process.cells.undo_to(0));
        message(|process| drop(process.clone()));
        assert!(NOT_SHOWN.contains("LogicalProcess::tracked"));
    }

    /// Copies are whole again after a shallow one, even if that one panicked.
    #[test]
    fn shallow_copies_end_with_their_scope() {
        let process = Process::new();
        let _ = panic::catch_unwind(|| shallow(|| panic!("a Clone that is broken")));
        assert_eq!(process.clone().values(), process.values());
        let inner_and_outer = shallow(|| (shallow(|| process.clone()), process.clone()));
        assert!(inner_and_outer.0.whole.0.is_none() && inner_and_outer.1.whole.0.is_none());
    }
}

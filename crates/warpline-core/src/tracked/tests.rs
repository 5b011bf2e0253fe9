//! The laws of tracked containers.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt, panic,
};

use proptest::{collection::vec, prelude::*};

use super::{field::NOT_SHOWN, *};
use crate::{Context, EventKey, Io, LpId, Stream, UndoPoint, VirtualTime};

/// A context that has only an undo point.
struct At(UndoPoint);

impl Context<()> for At {
    fn now(&self) -> VirtualTime {
        VirtualTime::ZERO
    }

    fn event_key(&self) -> Option<&EventKey> {
        None
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
    queue: TrackedDeque<u8>,
    entries: TrackedMap<usize, u8>,
}

type Values = (u64, [u8; CELLS], Vec<u8>, VecDeque<u8>, BTreeMap<usize, u8>);

/// A change of the LP, of a cell and with a value where it takes them.
#[derive(Clone, Copy, Debug)]
enum Write {
    Whole,
    Cell,
    Push,
    Pop,
    Resize,
    Queued,
    PushBack,
    PushFront,
    PopBack,
    PopFront,
    Entry,
    Insert,
    Remove,
}

const WRITES: [Write; 13] = [
    Write::Whole,
    Write::Cell,
    Write::Push,
    Write::Pop,
    Write::Resize,
    Write::Queued,
    Write::PushBack,
    Write::PushFront,
    Write::PopBack,
    Write::PopFront,
    Write::Entry,
    Write::Insert,
    Write::Remove,
];

impl Process {
    fn new() -> Self {
        let (whole, cells) = (Tracked::new([0; CELLS]), TrackedVec::new(vec![0; CELLS]));
        let (queue, entries) =
            (TrackedDeque::new([0; CELLS].into()), TrackedMap::new(BTreeMap::new()));
        Self { plain: 0, whole, cells, queue, entries }
    }

    fn values(&self) -> Values {
        let (queue, entries) = (VecDeque::clone(&self.queue), BTreeMap::clone(&self.entries));
        (self.plain, *self.whole, self.cells.to_vec(), queue, entries)
    }

    fn tracked(&mut self, visit: &mut dyn FnMut(&mut dyn Undo)) {
        visit(&mut self.whole);
        visit(&mut self.cells);
        visit(&mut self.queue);
        visit(&mut self.entries);
    }

    /// What an operation returns is what that of the plain container returns.
    fn write(&mut self, (write, cell, value): (Write, usize, u8), cx: &At) {
        self.plain += 1;
        let Self { whole, cells, queue, entries, .. } = self;
        let (last, back, front) =
            (cells.last().copied(), queue.back().copied(), queue.front().copied());
        let entry = entries.get(&cell).copied();
        match write {
            Write::Whole => whole.write(cx)[cell] = value,
            Write::Cell if cell < cells.len() => *cells.write(cell, cx) = value,
            Write::Push => cells.push(value, cx),
            Write::Pop => assert_eq!(cells.pop(cx), last),
            Write::Resize => cells.resize(2 * cell, &value, cx),
            Write::Queued if cell < queue.len() => *queue.write(cell, cx) = value,
            Write::PushBack => queue.push_back(value, cx),
            Write::PushFront => queue.push_front(value, cx),
            Write::PopBack => assert_eq!(queue.pop_back(cx), back),
            Write::PopFront => assert_eq!(queue.pop_front(cx), front),
            Write::Entry => match entries.write(&cell, cx) {
                Some(there) => *there = value,
                None => assert_eq!(entry, None),
            },
            Write::Insert => assert_eq!(entries.insert(cell, value, cx), entry),
            Write::Remove => assert_eq!(entries.remove(&cell, cx), entry),
            Write::Cell | Write::Queued => {}
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
    Event(Vec<(Write, usize, u8)>),
    /// Undoes this many of the events that can be undone.
    Undo(usize),
    /// Commits this many of the events that can be undone.
    Commit(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let write = (prop::sample::select(&WRITES), 0..CELLS, any::<u8>());
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
        (process.whole.0.logged().log.len(), process.cells.0.logged().log.len())
    };
    let write_all = |process: &mut Process, cx: &At| {
        for write in
            [(Write::Whole, 0, 1), (Write::Whole, 1, 2), (Write::Cell, 2, 3), (Write::Cell, 2, 4)]
        {
            process.write(write, cx);
        }
    };
    write_all(&mut process, &At(UndoPoint::NEVER));
    assert_eq!(lengths(&process), (0, 0));
    (5..9).for_each(|event| write_all(&mut process, &at(event, 5)));
    assert_eq!(lengths(&process), (4, 4));
    write_all(&mut process, &at(9, 8));
    assert_eq!(lengths(&process), (2, 2));
}

/// A full copy has values of its own and no log; its `Debug` text is that of the original.
#[test]
fn copies_are_independent() {
    let mut process = Process::new();
    process.write((Write::Whole, 1, 7), &at(0, 0));
    process.write((Write::Cell, 2, 8), &at(0, 0));
    let mut copy = process.clone();
    assert_eq!(format!("{copy:?}"), format!("{process:?}"));
    copy.tracked(&mut |field| field.undo_to(0));
    let changed = (2, [0, 7, 0, 0], vec![0, 0, 8, 0], [0; CELLS].into(), BTreeMap::new());
    assert_eq!(copy.values(), changed);
    process.tracked(&mut |field| field.undo_to(0));
    let (plain, whole, cells, ..) = process.values();
    assert_eq!((plain, whole, cells), (2, [0; CELLS], vec![0; CELLS]));
    assert_eq!(copy.values(), changed);
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
    message(|process| process.cells.push(0, &at(0, 0)));
    message(|process| _ = process.queue.pop_front(&at(0, 0)));
    message(|process| _ = process.entries.insert(0, 0, &at(0, 0)));
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
    assert!(
        inner_and_outer.0.whole.0.shown().is_none() && inner_and_outer.1.whole.0.shown().is_none()
    );
}

/// An element that is written again right away is saved once, and comes back as it was before the
/// event. (Red if each write is saved, or if the event before is taken for this one.)
#[test]
fn writes_in_a_row_are_saved_once() {
    let mut lp = Process::new();
    let events = [at(0, 0), at(1, 0)];
    lp.entries.insert(1, 0, &events[0]);
    let before = lp.values();
    for value in 1..=9 {
        *lp.cells.write(2, &events[1]) = value;
        *lp.queue.write(2, &events[1]) = value;
        *lp.entries.write(&1, &events[1]).expect("it was inserted") = value;
    }
    lp.entries.remove(&1, &events[1]);
    lp.entries.insert(1, 77, &events[1]);
    let saved = [lp.cells.0.logged().log.len(), lp.queue.0.logged().log.len()];
    assert_eq!((saved, lp.entries.0.logged().log.len()), ([1, 1], 2));
    // After another change, it is saved again.
    *lp.cells.write(1, &events[1]) = 1;
    *lp.cells.write(2, &events[1]) = 1;
    assert_eq!(lp.cells.0.logged().log.len(), 3);
    lp.tracked(&mut |field| field.undo_to(1));
    assert_eq!(lp.values(), before);
}

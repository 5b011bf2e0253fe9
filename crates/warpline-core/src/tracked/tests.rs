//! The laws of tracked containers and of the undo log, with several LPs and two workers.
//!
//! Mutations that turn these tests red: `is_new` says that the last entry is always new, or never;
//! `pop_front` is undone at the back; `drop_before` forgets the owned values, or one too many;
//! `put_segment` does not change the positions of the entries before, or the numbers of owned
//! values; `rebase` keeps `last`; a clone keeps `last`; `swap_remove` writes before it pops;
//! `TrackedHeap::pop` does not save the last write.

mod failing;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt,
};

use proptest::{collection::vec, prelude::*};

use super::*;
use crate::{
    Context, EventKey, Io, LpId, Saving, State, Stream, Undo, UndoLog, VirtualTime,
    undo::{Moves, Value},
};

/// A context that has only an undo log.
struct Logging<'a>(Option<&'a mut UndoLog>);

impl Context<()> for Logging<'_> {
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

    fn rng(&self) -> &Stream {
        unimplemented!("nothing is drawn")
    }

    fn send(&mut self, _: LpId, _: f64, (): ()) {}

    fn send_at(&mut self, _: LpId, _: f64, (): ()) {}

    fn send_io(&mut self, _: Io, _: LpId, _: f64, (): ()) {}

    fn fail(&mut self, _: fmt::Arguments<'_>) {}

    fn undo(&mut self) -> Option<&mut UndoLog> {
        self.0.as_deref_mut()
    }
}

/// The contents of an LP, as plain containers.
#[derive(Clone, Debug, Default, PartialEq)]
struct Values {
    plain: (u64, Vec<u8>),
    whole: [u8; 3],
    name: String,
    cells: Vec<(u8, f64)>,
    queues: [VecDeque<Option<u8>>; 2],
    names: VecDeque<String>,
    /// Sorted.
    heap: Vec<u8>,
    /// In the order of their places.
    places: Vec<u8>,
    entries: BTreeMap<u8, String>,
    set: BTreeSet<u8>,
    hashed: BTreeMap<u8, u64>,
}

/// An LP with a field of each kind.
#[derive(Clone, Debug, Default)]
struct Process {
    plain: (u64, Vec<u8>),
    whole: Tracked<[u8; 3]>,
    name: Tracked<String>,
    cells: TrackedVec<(u8, f64)>,
    queues: [TrackedDeque<Option<u8>>; 2],
    names: TrackedDeque<String>,
    heap: TrackedHeap<u8>,
    entries: TrackedMap<u8, String>,
    set: TrackedSet<u8>,
    hashed: TrackedHashMap<u8, u64>,
}

impl Process {
    const SAVING: Saving<Self> = Saving::BY_FIELD;

    fn each(&mut self, visit: &mut dyn FnMut(&mut dyn Undo)) {
        let Self { whole, name, cells, queues, names, heap, entries, set, hashed, .. } = self;
        visit(whole);
        visit(name);
        visit(cells);
        visit(queues);
        visit(names);
        visit(heap);
        visit(entries);
        visit(set);
        visit(hashed);
    }

    fn values(&self) -> Values {
        let mut heap: Vec<_> = self.heap.iter().copied().collect();
        let places = heap.clone();
        heap.sort_unstable();
        let hashed = (0..=u8::MAX).filter_map(|key| Some((key, *self.hashed.get(&key)?)));
        Values {
            plain: self.plain.clone(),
            whole: *self.whole,
            name: self.name.to_string(),
            cells: self.cells.to_vec(),
            queues: self.queues.clone().map(|queue| VecDeque::clone(&queue)),
            names: VecDeque::clone(&self.names),
            heap,
            places,
            entries: BTreeMap::clone(&self.entries),
            set: BTreeSet::clone(&self.set),
            hashed: hashed.collect(),
        }
    }

    /// Does one thing to the LP, and the same to `values`; what is returned is the same, too.
    fn write(&mut self, values: &mut Values, (what, x, y): Write, cx: &mut Logging<'_>) {
        let (place, queue) = (usize::from(x), usize::from(x % 2));
        let text = || format!("{y}");
        let (cells, queues, set) = (&mut self.cells, &mut self.queues, &mut self.set);
        let of_queue = (queues[queue].len(), &mut values.queues[queue]);
        self.plain.0 += 1;
        values.plain.0 += 1;
        match what {
            0 => {
                self.plain.1.push(x);
                values.plain.1.push(x);
            }
            1 => (self.whole.write(cx)[place % 3], values.whole[place % 3]) = (y, y),
            2 => {
                self.name.write(cx).push('x');
                values.name.push('x');
            }
            3 => assert_eq!(self.name.set(text(), cx), std::mem::replace(&mut values.name, text())),
            4 if place < cells.len() => {
                cells.write(place, cx).1 += 0.5;
                values.cells[place].1 += 0.5;
            }
            5 => {
                cells.push((y, 0.0), cx);
                values.cells.push((y, 0.0));
            }
            6 => assert_eq!(cells.pop(cx), values.cells.pop()),
            7 if place <= cells.len() => {
                cells.insert(place, (y, 1.0), cx);
                values.cells.insert(place, (y, 1.0));
            }
            8 if place < cells.len() => {
                assert_eq!(cells.remove(place, cx), values.cells.remove(place));
            }
            9 if place < cells.len() => {
                assert_eq!(cells.swap_remove(place, cx), values.cells.swap_remove(place));
            }
            10 => {
                cells.resize(place, &(y, 2.0), cx);
                values.cells.resize(place, (y, 2.0));
            }
            11 => {
                cells.clear(cx);
                values.cells.clear();
            }
            12 if place < of_queue.0 => {
                (*queues[queue].write(place, cx), of_queue.1[place]) = (None, None);
            }
            13 => {
                queues[queue].push_back(Some(y), cx);
                of_queue.1.push_back(Some(y));
            }
            14 => {
                queues[queue].push_front(Some(y), cx);
                of_queue.1.push_front(Some(y));
            }
            15 => assert_eq!(queues[queue].pop_back(cx), of_queue.1.pop_back()),
            16 => assert_eq!(queues[queue].pop_front(cx), of_queue.1.pop_front()),
            17 if place <= of_queue.0 => {
                queues[queue].insert(place, Some(y), cx);
                of_queue.1.insert(place, Some(y));
            }
            18 => assert_eq!(queues[queue].remove(place, cx), of_queue.1.remove(place)),
            19 => {
                queues[queue].clear(cx);
                of_queue.1.clear();
            }
            20 => {
                self.names.push_back(text(), cx);
                values.names.push_back(text());
            }
            21 => assert_eq!(self.names.pop_front(cx), values.names.pop_front()),
            22 => {
                self.heap.push(y, cx);
                values.heap.push(y);
                values.heap.sort_unstable();
            }
            23 => {
                let least = (!values.heap.is_empty()).then(|| values.heap.remove(0));
                assert_eq!((self.heap.peek().copied(), self.heap.pop(cx)), (least, least));
            }
            24 => assert_eq!(self.entries.insert(x, text(), cx), values.entries.insert(x, text())),
            25 => assert_eq!(self.entries.remove(&x, cx), values.entries.remove(&x)),
            26 => assert_eq!(self.entries.pop_first(cx), values.entries.pop_first()),
            27 => match (self.entries.write(&x, cx), values.entries.get_mut(&x)) {
                (Some(entry), Some(value)) => (*entry, *value) = (text(), text()),
                (entry, value) => assert_eq!((entry, value), (None, None)),
            },
            28 => assert_eq!(set.insert(x, cx), values.set.insert(x)),
            29 => assert_eq!(set.remove(&x, cx), values.set.remove(&x)),
            30 => assert_eq!(set.pop_first(cx), values.set.pop_first()),
            31 => assert_eq!(self.hashed.insert(x, 7, cx), values.hashed.insert(x, 7)),
            32 => assert_eq!(self.hashed.remove(&x, cx), values.hashed.remove(&x)),
            33 => {
                if let Some(value) = self.hashed.write(&x, cx) {
                    *value += u64::from(y);
                    values.hashed.entry(x).and_modify(|value| *value += u64::from(y));
                }
            }
            _ => {}
        }
        values.places = self.values().places;
        assert_eq!(self.values(), *values, "after write {what}");
    }
}

impl State for Process {
    const HAS_PLAIN: bool = true;

    fn save_plain(&self, log: &mut UndoLog) {
        log.push_plain((<(u64, Vec<u8>)>::WORDS, true), |to, owned| self.plain.put(to, owned));
    }

    fn restore_plain(&mut self, point: u64, log: &mut UndoLog) {
        log.take_plain(point, |from, owned| self.plain = Value::get(from, owned));
    }

    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        let mut undone = 0;
        self.each(&mut |field| undone += field.undo_to(point, log));
        undone
    }

    fn rebase(&mut self, moves: &Moves) {
        self.each(&mut |field| field.rebase(moves));
    }

    fn heap_bytes(&self) -> usize {
        let mut bytes = Value::heap_bytes(&self.plain);
        self.clone().each(&mut |field| bytes += field.heap_bytes());
        bytes
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, &dyn fmt::Debug)) {
        visit("plain", &self.plain);
    }
}

/// What to write, and with which numbers.
type Write = (u8, u8, u8);

/// What happens.
#[derive(Clone, Debug)]
enum Step {
    /// An LP handles an event.
    Handle(usize, Vec<Write>),
    /// The last events of an LP are undone.
    Undo(usize, usize),
    /// The first events of a worker are committed.
    Commit(usize, usize),
    /// An LP moves to a worker.
    Move(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = || (0..34_u8, 0..6_u8, any::<u8>());
    let step = prop_oneof![
        6 => (0..LPS, vec(write(), 0..8)).prop_map(|(lp, writes)| Step::Handle(lp, writes)),
        2 => (0..LPS, 1..4_usize).prop_map(|(lp, events)| Step::Undo(lp, events)),
        1 => (0..2_usize, 0..8_usize).prop_map(|(worker, events)| Step::Commit(worker, events)),
        1 => (0..LPS, 0..2_usize).prop_map(|(lp, worker)| Step::Move(lp, worker)),
    ];
    vec(step, 1..60)
}

const LPS: usize = 3;

/// An event that was handled and can be undone.
struct Record {
    lp: usize,
    point: u64,
    before: Values,
    is_undone: bool,
}

/// A worker: a log, and a record for each of its events.
#[derive(Default)]
struct Worker {
    log: UndoLog,
    records: Vec<Record>,
}

impl Worker {
    /// Where the writes of a record end.
    fn end(&self, record: usize) -> u64 {
        self.records.get(record + 1).map_or(self.log.back(), |next| next.point)
    }

    fn live(&self, lp: usize) -> Vec<usize> {
        let is_live = |at: &usize| self.records[*at].lp == lp && !self.records[*at].is_undone;
        (0..self.records.len()).filter(is_live).collect()
    }

    fn drop_undone(&mut self) {
        while let Some(last) = self.records.pop_if(|last| last.is_undone) {
            self.log.drop_from(last.point);
        }
    }
}

fn run(steps: Vec<Step>) {
    let mut workers = [Worker::default(), Worker::default()];
    let mut lps: [(Process, Values, usize); LPS] = Default::default();
    for step in steps {
        match step {
            Step::Handle(lp, writes) => {
                let (state, values, worker) = &mut lps[lp];
                let Worker { log, records } = &mut workers[*worker];
                let point = Process::SAVING.begin(state, log);
                records.push(Record { lp, point, before: values.clone(), is_undone: false });
                for write in writes {
                    state.write(values, write, &mut Logging(Some(&mut *log)));
                }
            }
            Step::Undo(lp, events) => {
                let (state, values, worker) = &mut lps[lp];
                let worker = &mut workers[*worker];
                let live = worker.live(lp);
                let undone = &live[live.len().saturating_sub(events)..];
                let Some(&first) = undone.first() else { continue };
                Process::SAVING.undo_to(state, worker.records[first].point, &mut worker.log);
                *values = worker.records[first].before.clone();
                undone.iter().for_each(|&at| worker.records[at].is_undone = true);
                assert_eq!(state.values(), *values, "TRACK-A: {events} events of LP {lp}");
                worker.drop_undone();
            }
            Step::Commit(worker, events) => {
                let Worker { log, records } = &mut workers[worker];
                records.drain(..events.min(records.len()));
                log.drop_before(records.first().map_or(log.back(), |record| record.point));
            }
            Step::Move(lp, to) => {
                let from = std::mem::replace(&mut lps[lp].2, to);
                if from == to {
                    continue;
                }
                let mut moves = Moves::default();
                for at in workers[from].live(lp) {
                    let (point, end) = (workers[from].records[at].point, workers[from].end(at));
                    let segment = workers[from].log.take_segment(point, end);
                    let record = &mut workers[from].records[at];
                    record.is_undone = true;
                    let before = record.before.clone();
                    let point = workers[to].log.put_segment(segment, &mut moves);
                    workers[to].records.push(Record { lp, point, before, is_undone: false });
                }
                Process::SAVING.rebase(&mut lps[lp].0, &moves);
                workers[from].drop_undone();
            }
        }
    }
    for Worker { mut log, .. } in workers {
        log.drop_before(log.back());
        log.shrink();
        assert_eq!(log.bytes(), 0, "all entries and their values are gone");
    }
}

proptest! {
    #[test]
    fn what_is_undone_is_as_before(steps in steps()) {
        run(steps);
    }

    /// Without a log, containers are what they contain.
    #[test]
    fn nothing_is_saved_without_a_log(writes in vec((0..34_u8, 0..6_u8, any::<u8>()), 0..99)) {
        let (mut state, mut values) = (Process::default(), Values::default());
        for write in writes {
            state.write(&mut values, write, &mut Logging(None));
        }
    }
}

#[test]
fn a_whole_value_is_saved_once() {
    let (mut log, mut field) = (UndoLog::default(), Tracked::new(1_u64));
    let point = log.begin();
    for value in 2..5 {
        field.set(value, &mut Logging(Some(&mut log)));
    }
    assert_eq!(log.count_from(point), 1);
    let later = log.begin();
    field.set(9, &mut Logging(Some(&mut log)));
    assert_eq!((log.count_from(later), field.undo_to(point, &mut log), *field), (1, 2, 1));
}

#[test]
fn a_copy_has_no_entries() {
    let (mut log, mut field) = (UndoLog::default(), Tracked::new(1_u64));
    let point = log.begin();
    field.set(2, &mut Logging(Some(&mut log)));
    let (mut copy, mut into) = (field.clone(), Tracked::new(7));
    into.clone_from(&field);
    for copy in [&mut copy, &mut into] {
        assert_eq!((copy.undo_to(point, &mut log), **copy), (0, 2), "TRACK-B");
    }
}

#[test]
fn a_later_log_begins_behind_the_one_before() {
    let (mut log, mut field) = (UndoLog::default(), Tracked::new(1_u64));
    log.begin();
    field.set(2, &mut Logging(Some(&mut log)));
    let mut next = UndoLog::starting_at(log.back());
    let point = next.begin();
    field.set(3, &mut Logging(Some(&mut next)));
    assert_eq!((field.undo_to(point, &mut next), *field), (1, 2));
}

#[test]
fn a_heap_is_in_order() {
    let mut heap = TrackedHeap::new(vec![3, 1, 2]);
    heap.push(0, &mut Logging(None));
    let popped: Vec<_> = std::iter::from_fn(|| heap.pop(&mut Logging(None))).collect();
    assert_eq!(popped, [0, 1, 2, 3]);
}

//! The check of saving passes sound models and commits the same as the sequential engine. In a
//! model whose state is not saved as it should be, it finds the bug, and names LP, time and field.
//!
//! # Mutations, each seen red
//!
//! - `Series::handle` does not call `undo_all`, compares no texts, does not drop what it has undone
//!   from the log, or does not count the entries of plain fields
//! - `Series::undo_all` goes on with the state that it has undone
//! - `expect_all` compares nothing
//! - `SavingChecker::handle_copied` never uses the memory of an old copy again, goes on with the
//!   state instead of the copy, or compares no texts
//! - `SavingChecker::end` does not end the series at a blocking I/O event
//! - `Trial::conclude` does not compare the executions
//! - `Trial::repeat` handles the message that was sent; `expect_read_back` compares nothing

#[path = "saving_check/wires.rs"]
mod wires;

use std::{
    fmt::{self, Debug},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use warpline::{
    Context, Io, IoContext, LogicalProcess, LpId, Model, ModelError, Only, RunError, Saving,
    SavingCheck, Sequential, Simulation, State, Tracked, TrackedDeque, TrackedHashMap, TrackedMap,
    TrackedVec, Value, VirtualTime,
    error::{Discrepancy, Fault},
    settings::EngineKind,
    state::{Moves, Owned, Undo, UndoLog},
};

const SEED: u64 = 12;

/// A model for which no parallel engine is compiled.
type Compiled<M> = Only<(Sequential, SavingCheck), M>;

/// Desks that hand each other numbers, with one bug or none.
struct Office<D> {
    bug: Option<Bug>,
    /// A count of handler calls; a sound handler does not depend on it.
    calls: AtomicU64,
    desk: fn() -> D,
}

/// Bugs, all of them at desk 3 only.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    /// Changes a field that is said to be fixed.
    ChangesTheFixed,
    /// Puts another queue in the place of one.
    Replaces,
    /// The same, and what was written in the event before is lost, but the contents are as before.
    WritesInVain,
    /// Puts an equal queue in the place of one.
    ReplacesByEqual,
    Swaps,
    /// What it changes is not its own.
    Shares,
    /// The same, and the text does not show it.
    SharesInSecret,
    RemembersCalls,
}

/// The state of a desk.
trait Desk: LogicalProcess<Model = Office<Self>, Message = u64, Summary = String> {
    fn change(&mut self, has: impl Fn(Bug) -> bool, number: u64, cx: &mut impl Context<u64>);

    /// A number that decides what is sent.
    fn seen(&self) -> u64;
}

impl<D: Desk> Model for Office<D> {
    type Lp = D;
    type Output = Vec<String>;

    fn name(&self) -> &'static str {
        "office"
    }

    fn lp_count(&self) -> usize {
        5
    }

    fn make_lp(&self, _: LpId) -> D {
        (self.desk)()
    }

    fn reduce(&self, desks: impl Iterator<Item = String>) -> Vec<String> {
        desks.collect()
    }
}

macro_rules! desk {
    ($desk:ty, $saving:expr) => {
        impl LogicalProcess for $desk {
            type Model = Office<Self>;
            type Message = u64;
            type Summary = String;
            const SAVING: Saving<Self> = $saving;

            fn start(&mut self, _: &Office<Self>, cx: &mut impl Context<u64>) {
                for number in 0..3 {
                    let delay = cx.rng().exponential(1.0);
                    cx.send(cx.me(), delay, number);
                }
            }

            fn handle(&mut self, office: &Office<Self>, number: &u64, cx: &mut impl Context<u64>) {
                let me = cx.me();
                let has = |bug| me.get() == 3 && office.bug == Some(bug);
                self.change(has, *number, cx);
                let mut next = (number + self.seen()) % 1000;
                if has(Bug::RemembersCalls) {
                    next += 1000 * office.calls.fetch_add(1, Ordering::Relaxed);
                }
                let delay = cx.rng().exponential(1.0);
                cx.send(LpId::new((me.get() + 1) % 5), delay, next);
                if next.is_multiple_of(16) {
                    cx.send_io(Io::Blocking, me, 0.5, 1);
                }
            }

            fn handle_io(&mut self, _: &Office<Self>, number: &u64, cx: &mut impl IoContext<u64>) {
                self.change(|_| false, *number, cx);
            }

            fn identity(_: &Office<Self>, number: &u64) -> Option<u64> {
                Some(*number)
            }

            fn finish(self, _: &Office<Self>, _: VirtualTime) -> String {
                format!("{self:?}")
            }
        }
    };
}

/// Fields save what they change.
#[derive(Debug, Default, State)]
struct ByField {
    queue: TrackedDeque<u64>,
    other: TrackedDeque<u64>,
    table: TrackedMap<u64, String>,
    scattered: TrackedHashMap<u64, u64>,
    bins: [TrackedVec<u32>; 2],
    last: Tracked<Option<u64>>,
    tally: Tally,
    #[state(fixed)]
    fixed: u64,
    #[state(fixed)]
    shared: Arc<Mutex<Vec<u64>>>,
}

#[derive(Clone, Debug, Default, Value)]
struct Tally {
    handled: u64,
    text: String,
}

desk!(ByField, Saving::BY_FIELD);

impl Desk for ByField {
    fn change(&mut self, has: impl Fn(Bug) -> bool, number: u64, cx: &mut impl Context<u64>) {
        let before = self.queue.clone();
        if has(Bug::ReplacesByEqual) {
            self.queue = self.queue.clone();
        }
        self.queue.push_back(number, cx);
        if self.queue.len() > 3 {
            let first = self.queue.pop_front(cx).unwrap_or_default();
            self.other.push_front(first, cx);
        }
        if number.is_multiple_of(7) {
            self.other.clear(cx);
        }
        self.table.insert(number % 6, format!("{number}"), cx);
        if self.table.len() > 4 {
            self.table.pop_first(cx);
        }
        self.scattered.insert(number % 11, number, cx);
        self.scattered.remove(&((number + 5) % 11), cx);
        let bins = &mut self.bins[(number % 2) as usize];
        bins.push(number as u32, cx);
        *bins.write(0, cx) += 1;
        *self.last.write(cx) = Some(number);
        self.tally.handled += 1;
        self.tally.text = format!("{:x}", self.tally.handled * number);
        if has(Bug::ChangesTheFixed) {
            self.fixed += 1;
        }
        if has(Bug::Replaces) {
            self.queue = TrackedDeque::new([1, 2].into());
        }
        if has(Bug::WritesInVain) {
            self.queue = before;
        }
        if has(Bug::Swaps) {
            std::mem::swap(&mut self.queue, &mut self.other);
        }
        if has(Bug::Shares) {
            self.shared.lock().expect("one thread").push(number);
        }
    }

    fn seen(&self) -> u64 {
        self.queue.iter().chain(&*self.other).sum::<u64>() + self.fixed
    }
}

/// By hand, with an `undo_to` that forgets the second field.
#[derive(Clone, Debug, Default)]
struct Forgetful {
    sum: Tracked<u64>,
    sizes: TrackedVec<u64>,
}

impl State for Forgetful {
    const HAS_PLAIN: bool = false;

    fn save_plain(&self, _: &mut UndoLog) {}

    fn restore_plain(&mut self, _: u64, _: &mut UndoLog) {}

    fn undo_to(&mut self, point: u64, log: &mut UndoLog) -> usize {
        self.sum.undo_to(point, log)
    }

    fn rebase(&mut self, moves: &Moves) {
        self.sum.rebase(moves);
        self.sizes.rebase(moves);
    }

    fn heap_bytes(&self) -> usize {
        0
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, &dyn Debug)) {
        visit("sum", &self.sum);
        visit("sizes", &self.sizes);
    }
}

desk!(Forgetful, Saving::BY_FIELD);

impl Desk for Forgetful {
    fn change(&mut self, _: impl Fn(Bug) -> bool, number: u64, cx: &mut impl Context<u64>) {
        *self.sum.write(cx) += number;
        self.sizes.push(number, cx);
    }

    fn seen(&self) -> u64 {
        *self.sum
    }
}

/// Its plain fields are restored by hand, and one is forgotten.
#[derive(Clone, Debug, Default)]
struct HalfPlain {
    sum: u64,
    count: u64,
}

impl State for HalfPlain {
    const HAS_PLAIN: bool = true;

    fn save_plain(&self, log: &mut UndoLog) {
        log.push_plain((1, false), |to, owned| self.sum.put(to, owned));
    }

    fn restore_plain(&mut self, point: u64, log: &mut UndoLog) {
        log.take_plain(point, |from, owned: &mut Owned| self.sum = u64::get(from, owned));
    }

    fn undo_to(&mut self, _: u64, _: &mut UndoLog) -> usize {
        0
    }

    fn rebase(&mut self, _: &Moves) {}

    fn heap_bytes(&self) -> usize {
        0
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, &dyn Debug)) {
        visit("sum", &self.sum);
        visit("count", &self.count);
    }
}

desk!(HalfPlain, Saving::BY_FIELD);

impl Desk for HalfPlain {
    fn change(&mut self, _: impl Fn(Bug) -> bool, number: u64, _: &mut impl Context<u64>) {
        self.sum += number;
        self.count += 1;
    }

    fn seen(&self) -> u64 {
        self.sum
    }
}

/// The whole state is copied.
struct Copied {
    list: Vec<u64>,
    shared: Arc<Mutex<Vec<u64>>>,
    secret: Arc<AtomicU64>,
    count: u64,
    /// Whether copies are as they should be.
    clones: Clones,
}

#[derive(Clone, Copy, PartialEq)]
enum Clones {
    Right,
    /// `clone` forgets the count.
    Wrong,
    /// `clone_from` does.
    WrongAgain,
}

impl Copied {
    fn new(clones: Clones) -> Self {
        let (shared, secret) = (Arc::default(), Arc::default());
        Self { list: Vec::new(), shared, secret, count: 7, clones }
    }
}

impl Clone for Copied {
    fn clone(&self) -> Self {
        let Self { list, shared, secret, count, clones } = self;
        Self {
            list: list.clone(),
            shared: Arc::clone(shared),
            secret: Arc::clone(secret),
            count: if *clones == Clones::Wrong { 0 } else { *count },
            clones: *clones,
        }
    }

    fn clone_from(&mut self, source: &Self) {
        let count = self.count;
        *self = source.clone();
        if self.clones == Clones::WrongAgain {
            self.count = count;
        }
    }
}

impl Debug for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, shared, count, .. } = self;
        let shared = &*shared.lock().expect("one thread");
        let mut shown = f.debug_struct("Copied");
        shown.field("list", list).field("shared", shared).field("count", count).finish()
    }
}

desk!(Copied, Saving::BY_COPY);

impl Desk for Copied {
    fn change(&mut self, has: impl Fn(Bug) -> bool, number: u64, _: &mut impl Context<u64>) {
        self.list.push(number);
        self.count += 1;
        if has(Bug::Shares) {
            self.shared.lock().expect("one thread").push(number);
        }
        if has(Bug::SharesInSecret) {
            self.secret.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn seen(&self) -> u64 {
        self.list.len() as u64 + self.secret.load(Ordering::Relaxed)
    }
}

fn check<D: Desk>(desk: fn() -> D, bug: Option<Bug>) -> Simulation<'static, Compiled<Office<D>>> {
    let office = Office { bug, calls: AtomicU64::new(0), desk };
    Simulation::new(Compiled::new(office)).engine(SavingCheck).seed(SEED).end(60.0)
}

/// The fault that the check reports, which must be in an event of a desk.
fn fault_of<D: Desk>(desk: fn() -> D, bug: Option<Bug>) -> Fault {
    let error = check(desk, bug).run().expect_err("the bug is found");
    let text = error.to_string();
    let RunError::Model(ModelError { fault, place }) = error else { panic!("{text}") };
    assert_eq!((place.engine, place.seed), ("saving-check", SEED));
    assert!(bug.is_none() || place.lp == Some(LpId::new(3)), "{text}");
    let time = place.event.expect("in an event").time();
    for part in [&format!(" at virtual time {time} "), "engine saving-check", fault.advice()] {
        assert!(text.contains(part), "{part:?} is not in: {text}");
    }
    fault
}

/// What was not restored, when how many events were undone.
fn not_restored<D: Desk>(desk: fn() -> D, bug: Option<Bug>) -> (usize, Discrepancy) {
    match fault_of(desk, bug) {
        Fault::NotRestored { events, found } => (events, *found),
        fault => panic!("{bug:?}: {fault}"),
    }
}

/// CHECK-A: each send and each I/O event takes effect once.
#[test]
fn commits_what_the_sequential_engine_commits() {
    fn agrees<D: Desk>(desk: fn() -> D) {
        let checked = check(desk, None).run().expect("sound");
        let plain = check(desk, None).engine(Sequential::default()).run().expect("sound");
        assert_eq!(checked.engine, EngineKind::SavingCheck);
        assert_eq!((checked.digest, &checked.output), (plain.digest, &plain.output));
        assert_eq!(checked.committed_events, plain.committed_events);
        assert!(plain.committed_events > 500, "{plain:?}");
    }
    agrees(ByField::default);
    agrees(|| Copied::new(Clones::Right));
}

#[test]
fn fields_that_save_nothing_are_named() {
    let (events, found) = not_restored(ByField::default, Some(Bug::ChangesTheFixed));
    let texts = ["`fixed`", "0", "1"].map(str::to_owned);
    assert_eq!((events, [found.what, found.first, found.second]), (1, texts));
    let (events, found) = not_restored(ByField::default, Some(Bug::Shares));
    assert_eq!((events, found.what.as_str()), (1, "`shared.data`"));
    let (events, found) = not_restored(HalfPlain::default, None);
    assert_eq!((events, found.what.as_str()), (1, "`count`"));
}

#[test]
fn containers_that_were_replaced_are_named() {
    for (bug, events) in [(Bug::Replaces, 1), (Bug::Swaps, 1), (Bug::ReplacesByEqual, 5)] {
        let (undone, found) = not_restored(ByField::default, Some(bug));
        assert!(found.what.starts_with("`queue"), "{bug:?}: {found:?}");
        assert_eq!(undone, events, "{bug:?}: {found:?}");
    }
}

#[test]
fn writes_that_are_not_undone_are_counted() {
    let fault = fault_of(ByField::default, Some(Bug::WritesInVain));
    let Fault::NotUndone { events: 1, written, undone } = fault else { panic!("{fault}") };
    assert!(undone < written, "{fault}");
    let (events, found) = not_restored(Forgetful::default, None);
    assert_eq!((events, found.what.as_str()), (1, "`sizes`"));
}

#[test]
fn what_copies_share_is_named() {
    let (events, found) = not_restored(|| Copied::new(Clones::Right), Some(Bug::Shares));
    assert_eq!((events, found.what.as_str()), (1, "`shared`"));
    for clones in [Clones::Wrong, Clones::WrongAgain] {
        let desk: fn() -> Copied = match clones {
            Clones::Wrong => || Copied::new(Clones::Wrong),
            _ => || Copied::new(Clones::WrongAgain),
        };
        let Fault::NotCopied(found) = fault_of(desk, None) else { panic!("another fault") };
        assert_eq!(found.what, "`count`");
    }
}

/// CHECK-B: what the text hides is noticed by what the second execution does.
#[test]
fn what_is_different_the_second_time_is_named() {
    let secret = fault_of(|| Copied::new(Clones::Right), Some(Bug::SharesInSecret));
    let calls = fault_of(ByField::default, Some(Bug::RemembersCalls));
    for fault in [secret, calls] {
        let Fault::NotRepeated(found) = fault else { panic!("{fault}") };
        assert!(found.what.starts_with("number 0 of the events"), "{found:?}");
    }
}

//! One test for every pending set: scripts of operations, checked against a `BTreeMap`.
//!
//! A script does not name a set, so each runs unchanged on every kind. After every step the set and
//! the model must agree on the entry that was popped and on the number of entries. At the end all
//! entries are popped in order, and no set may have kept an entry that it has returned.
//!
//! These scripts run the assertions of the sets' invariants: NODE-A, CANCEL-A, SKEW-A, SPLAY-A,
//! CALENDAR-A, CALENDAR-B, LADDER-A and LADDER-B.

use std::{cell::Cell, cmp::Ordering, collections::BTreeMap, rc::Rc, thread};

use proptest::prelude::*;
use warpline::{
    LpId, Stream,
    pending::{Entry, PendingFamily, PendingKind, PendingSet, WithPending},
};

/// The order of an entry. Times are not negative, so their bits compare as the times do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    time_bits: u64,
    id: u32,
}

impl Key {
    const MAX: Self = Self { time_bits: u64::MAX, id: u32::MAX };

    fn new(time: f64, id: u32) -> Self {
        Self { time_bits: time.to_bits(), id }
    }

    fn time(self) -> f64 {
        f64::from_bits(self.time_bits)
    }
}

/// An entry that owns a reference to a counter, so that the live entries can be counted.
#[derive(Debug)]
struct Item {
    key: Key,
    _alive: Rc<()>,
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Item {}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl Entry for Item {
    fn time(&self) -> f64 {
        self.key.time()
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    /// Inserts this entry, whether there is an equal one or not.
    Insert(Key),
    /// Inserts at the time popped last, plus or minus this, with a new id.
    InsertNear(f64),
    Pop,
    Peek,
    /// A pop, and an insert at this delay after the popped entry: the hold model.
    Hold(f64),
    /// Removes the least pending entry that is at or after this key, or the first one.
    Remove(Key),
    /// Inserts the entry that was removed last again.
    InsertRemoved,
    /// Pops the least entry and inserts it again, as an engine does at the end of a run.
    PutBack,
    /// Takes all entries out at once, and inserts them again, as an engine that hands over to
    /// another one and gets the run back.
    Refill,
}

/// A set and its model, which have the same entries.
struct Checked<S> {
    set: S,
    /// The number of equal entries, by entry.
    model: BTreeMap<Key, usize>,
    len: usize,
    alive: Rc<()>,
    now: f64,
    next_id: u32,
    removed: Option<Key>,
}

impl<S: PendingSet<Item>> Checked<S> {
    fn new() -> Self {
        Self {
            set: S::default(),
            model: BTreeMap::new(),
            len: 0,
            alive: Rc::new(()),
            now: 0.0,
            // Above all ids that scripts use.
            next_id: 1 << 31,
            removed: None,
        }
    }

    fn item(&self, key: Key) -> Item {
        Item { key, _alive: Rc::clone(&self.alive) }
    }

    fn insert(&mut self, key: Key) {
        self.set.insert(self.item(key));
        *self.model.entry(key).or_default() += 1;
        self.len += 1;
    }

    fn insert_at(&mut self, time: f64) {
        self.insert(Key::new(time.clamp(0.0, f64::MAX), self.next_id));
        self.next_id += 1;
    }

    fn forget(&mut self, key: Key) {
        let count = self.model.get_mut(&key).expect("a key of the model");
        *count -= 1;
        if *count == 0 {
            self.model.remove(&key);
        }
        self.len -= 1;
    }

    fn peek(&mut self) {
        let expected = self.model.keys().next().copied();
        assert_eq!(self.set.peek().map(|item| item.key), expected, "peek");
    }

    fn pop(&mut self) -> Option<Key> {
        let expected = self.model.keys().next().copied();
        let popped = self.set.pop().map(|item| item.key);
        assert_eq!(popped, expected, "pop");
        if let Some(key) = expected {
            self.forget(key);
            self.now = key.time();
        }
        popped
    }

    fn remove(&mut self, from: Key) {
        let found = self.model.range(from..).next().or_else(|| self.model.iter().next());
        let Some((&key, _)) = found else { return };
        self.set.remove(self.item(key));
        self.forget(key);
        self.removed = Some(key);
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Insert(key) => self.insert(key),
            Op::InsertNear(delay) => self.insert_at(self.now + delay),
            Op::Peek => self.peek(),
            Op::Pop => drop(self.pop()),
            Op::Hold(delay) => {
                self.pop();
                self.insert_at(self.now + delay);
            }
            Op::Remove(from) => self.remove(from),
            Op::InsertRemoved => {
                if let Some(key) = self.removed {
                    self.insert(key);
                }
            }
            Op::PutBack => {
                if let Some(key) = self.pop() {
                    self.insert(key);
                }
            }
            Op::Refill => {
                let mut entries = Vec::new();
                self.set.drain_into(&mut entries);
                assert_eq!((self.set.len(), entries.len()), (0, self.len), "{op:?}");
                entries.into_iter().for_each(|entry| self.set.insert(entry));
            }
        }
        assert_eq!(self.set.len(), self.len, "len after {op:?}");
        assert_eq!(self.set.is_empty(), self.len == 0, "is_empty after {op:?}");
    }

    /// Pops everything, after which every entry must have been dropped.
    fn drain(mut self) {
        while self.pop().is_some() {
            assert_eq!(self.set.len(), self.len, "len while draining");
        }
        assert_eq!(self.set.len(), 0);
        assert_eq!(Rc::strong_count(&self.alive), 1, "an empty set keeps entries alive");
    }
}

/// Runs a script on one kind.
struct Script<'a>(&'a [Op]);

impl WithPending for Script<'_> {
    type Output = ();

    fn with<P: PendingFamily>(self) {
        // Once drained by pops, and once dropped with the rest of its entries.
        let mut checked = Checked::<P::Set<Item>>::new();
        self.0.iter().for_each(|op| checked.apply(*op));
        checked.drain();

        let mut dropped = Checked::<P::Set<Item>>::new();
        self.0.iter().for_each(|op| dropped.apply(*op));
        let alive = Rc::clone(&dropped.alive);
        drop(dropped);
        assert_eq!(Rc::strong_count(&alive), 1, "a dropped set keeps entries alive");
    }
}

/// Runs a script on every kind, on a thread with the name of the kind, which a panic shows.
fn check(script: &[Op]) {
    for kind in PendingKind::ALL {
        let ran = thread::scope(|scope| {
            let run = || kind.dispatch(Script(script));
            let named = thread::Builder::new().name(format!("pending set {kind}"));
            named.spawn_scoped(scope, run).expect("a thread").join()
        });
        assert!(ran.is_ok(), "the pending set {kind} failed");
    }
}

fn any_time() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0..8_u32).prop_map(f64::from),
        4 => 0.0..100.0_f64,
        1 => prop::sample::select(EXTREMES),
    ]
}

const EXTREMES: &[f64] =
    &[0.0, 5e-324, f64::MIN_POSITIVE, 1e-300, 1e-9, 9_007_199_254_740_993.0, 1e300, f64::MAX];

fn any_key() -> impl Strategy<Value = Key> {
    (any_time(), 0..4_u32).prop_map(|(time, id)| Key::new(time, id))
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => any_key().prop_map(Op::Insert),
        2 => (-10.0..10.0_f64).prop_map(Op::InsertNear),
        4 => Just(Op::Pop),
        2 => Just(Op::Peek),
        4 => (0.0..10.0_f64).prop_map(Op::Hold),
        3 => any_key().prop_map(Op::Remove),
        1 => Just(Op::InsertRemoved),
        1 => Just(Op::PutBack),
        1 => Just(Op::Refill),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Every kind agrees with the model on any sequence of operations.
    #[test]
    fn agrees_with_a_btree_map(script in prop::collection::vec(any_op(), 0..600)) {
        check(&script);
    }

    /// The same with thousands of pending entries, so that sets are resized and rungs are used.
    #[test]
    fn agrees_when_populous(
        first in prop::collection::vec(any_key(), 500..3000),
        script in prop::collection::vec(any_op(), 0..600),
    ) {
        let fill = first.into_iter().map(Op::Insert);
        check(&fill.chain(script).collect::<Vec<_>>());
    }
}

/// Random numbers for the long scripts, the same on every run.
fn random() -> Stream {
    Stream::for_lp(19_880_101, LpId::from_index(0))
}

/// Fills a set with `population` entries and holds it there; a removal in every 16 operations.
fn hold(population: u32, holds: u32, mut delay: impl FnMut(&Stream) -> f64) -> Vec<Op> {
    let mut rng = random();
    let fill: Vec<_> =
        (0..population).map(|id| Op::Insert(Key::new(delay(&mut rng), id))).collect();
    let steps = (0..holds).flat_map(|_| {
        let delay = delay(&mut rng);
        let hold = [Some(Op::Hold(delay)), None, None];
        match rng.below(16) {
            0 => [Some(Op::Peek), hold[0], None],
            1 => [Some(Op::Remove(random_key(&rng))), Some(Op::InsertRemoved), hold[0]],
            2 => [Some(Op::Remove(random_key(&rng))), Some(Op::InsertNear(delay)), hold[0]],
            _ => hold,
        }
    });
    fill.into_iter().chain(steps.flatten()).collect()
}

/// Any time: the exponent is uniform, so near and far entries are equally likely.
fn random_key(rng: &Stream) -> Key {
    Key { time_bits: rng.below(f64::MAX.to_bits()), id: 0 }
}

#[test]
fn all_times_equal() {
    for time in [0.0, 1.0, 1e300] {
        let rng = random();
        let mut script: Vec<_> =
            (0..5000).map(|_| Op::Insert(Key::new(time, rng.below(1 << 30) as u32))).collect();
        script.extend((0..5000).map(|_| Op::Hold(0.0)));
        script.extend((0..500).map(|id| Op::Remove(Key::new(time, id << 21))));
        check(&script);
    }
}

#[test]
fn equal_entries_many_times() {
    let entry = Key::new(2.5, 7);
    let mut script = vec![Op::Insert(entry); 3000];
    script.extend([Op::Remove(entry), Op::Peek, Op::InsertRemoved, Op::Pop].repeat(1500));
    script.extend([Op::Remove(entry), Op::Remove(entry), Op::Peek, Op::InsertRemoved].repeat(700));
    check(&script);
}

#[test]
fn ticks_with_many_ties() {
    check(&hold(3000, 20_000, |rng| rng.below(4) as f64));
}

#[test]
fn bimodal_increments() {
    check(&hold(5000, 30_000, |rng| {
        let mean = if rng.below(2) == 0 { 1e-6 } else { 1e6 };
        rng.exponential(mean)
    }));
}

#[test]
fn mixed_increments_for_long() {
    let mut step = 0_u32;
    check(&hold(5000, 50_000, |rng| {
        step += 1;
        match step / 7000 % 4 {
            0 => rng.exponential(1.0),
            1 => rng.exponential(1e-3) + 0.1,
            2 => rng.below(3) as f64,
            _ => rng.exponential(1.0) * rng.exponential(1.0) * rng.exponential(100.0),
        }
    }));
}

/// Populations around every size at which a ladder spawns rungs or a calendar doubles.
#[test]
fn populations_of_all_sizes() {
    for population in [1, 2, 3, 63, 64, 65, 66, 127, 129, 1023, 1024, 1025, 4097] {
        check(&hold(population, 2 * population, |rng| rng.exponential(1.0)));
    }
}

/// Enough entries for rungs below rungs of a ladder: most of them in a thousandth of the time span,
/// with inserts into parts that are open, closed, or not yet reached.
#[test]
fn large_skewed_population() {
    let mut crowd = 0_u32;
    check(&hold(90_000, 15_000, |rng| {
        crowd += 1;
        match crowd % 8 {
            0 => rng.exponential(1000.0),
            1 => rng.exponential(1e-3),
            _ => rng.uniform(),
        }
    }));
}

/// Each cluster of times is as far from the last as all the ones before it together.
#[test]
fn exponentially_growing_gaps() {
    for ratio in [1.001_f64, 1.5, 10.0] {
        let rng = random();
        let mut times = vec![1e-3];
        while times.len() < 5000 && times[times.len() - 1] * ratio < 1e300 {
            times.push(times[times.len() - 1] * ratio);
        }
        let ops = times.iter().enumerate();
        let mut script: Vec<_> =
            ops.map(|(id, time)| Op::Insert(Key::new(*time, id as u32))).collect();
        script.extend((0..times.len()).map(|_| Op::Remove(random_key(&rng))).step_by(3));
        script.extend((0..times.len()).flat_map(|_| [Op::Pop, Op::InsertNear(1.0), Op::Peek]));
        check(&script);
    }
}

/// From one entry to 20 000 and back, by two inserts per pop and then two pops per insert.
#[test]
fn growing_and_shrinking_population() {
    let rng = random();
    let mut script = vec![Op::Insert(Key::new(0.0, 0))];
    for _ in 0..20_000 {
        let extra = rng.exponential(1.0);
        script.extend([Op::Hold(rng.exponential(1.0)), Op::InsertNear(extra)]);
    }
    for _ in 0..20_000 {
        script.extend([Op::Pop, Op::Hold(rng.exponential(1.0))]);
    }
    check(&script);
}

/// Few entries, far apart, and then ever more between them, as an epidemic has: what was spread for
/// the few is spread anew. The population grows so in several steps, and once in a single place.
#[test]
fn entries_become_denser() {
    let rng = random();
    let mut script: Vec<_> =
        (0..30).map(|id| Op::Insert(Key::new(1000.0 * rng.uniform(), id))).collect();
    script.push(Op::Pop);
    for births in [2, 8, 32, 128] {
        for _ in 0..300 {
            script.push(Op::Hold(rng.exponential(10.0)));
            script.extend((0..births).map(|_| Op::InsertNear(rng.exponential(10.0))));
        }
    }
    script.extend((0..20_000).map(|_| Op::InsertNear(5.0 + rng.exponential(1e-3))));
    script.extend((0..20_000).flat_map(|_| [Op::Pop, Op::Hold(rng.exponential(1.0))]));
    check(&script);
}

thread_local! {
    static COMPARED: Cell<u64> = const { Cell::new(0) };
}

/// An entry that counts how often it is compared.
#[derive(Debug, PartialEq, Eq)]
struct Counted(Key);

impl PartialOrd for Counted {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Counted {
    fn cmp(&self, other: &Self) -> Ordering {
        COMPARED.set(COMPARED.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl Entry for Counted {
    fn time(&self) -> f64 {
        self.0.time()
    }
}

/// Few entries, far apart, of which each is followed by more than one.
struct Epidemic;

impl WithPending for Epidemic {
    /// How many entries were popped.
    type Output = u64;

    fn with<P: PendingFamily>(self) -> u64 {
        let rng = random();
        let mut set = P::Set::<Counted>::default();
        let mut ids = 0..;
        let mut insert = |set: &mut P::Set<_>, time| {
            set.insert(Counted(Key::new(time, ids.next().expect("an id"))));
        };
        (0..30).for_each(|_| insert(&mut set, 1000.0 * rng.uniform()));
        let mut popped = 0;
        while let Some(Counted(key)) = set.pop() {
            popped += 1;
            if popped < 100_000 {
                (0..2).for_each(|_| insert(&mut set, key.time() + rng.exponential(10.0)));
            }
        }
        popped
    }
}

/// A ladder hardly compares more where a population grows: entries are told apart by their times,
/// and compared themselves only in the heap of late ones and in buckets of many. (For each entry
/// 2.6 comparisons; 13 if a calendar that has grown is not spread anew, 31 if it is not where many
/// entries are late.)
#[test]
fn a_growing_population_is_not_sorted_by_a_heap() {
    let popped = PendingKind::Ladder.dispatch(Epidemic);
    let compared = COMPARED.get();
    assert!(compared < 4 * popped, "{compared} comparisons for {popped} entries");
}

/// Follows what a set says of the entries that come.
struct Hints;

impl WithPending for Hints {
    /// The hints, and those that were right.
    type Output = (usize, usize);

    fn with<P: PendingFamily>(self) -> (usize, usize) {
        const AHEAD: usize = 4;
        let (rng, mut set) = (random(), P::Set::<Counted>::default());
        (0..3_000).for_each(|id| set.insert(Counted(Key::new(1000.0 * rng.uniform(), id))));
        let mut hints = Vec::new();
        let mut popped = Vec::new();
        while let Some(Counted(key)) = set.pop() {
            popped.push(key);
            hints.push(set.upcoming(AHEAD).map(|entry| entry.0));
        }
        let said = hints
            .iter()
            .zip(&popped[AHEAD + 1..])
            .filter_map(|(hint, key)| hint.map(|hint| hint == *key));
        let right: Vec<_> = said.collect();
        (right.len(), right.iter().filter(|&&right| right).count())
    }
}

/// Engines load the LPs of the next events ahead: the default set says which those are, mostly.
/// (Without hints, Time Warp has 0.63 of its rate on W3, and the sequential engine 0.7.)
#[test]
fn the_ladder_says_what_comes_next() {
    let (hints, right) = PendingKind::Ladder.dispatch(Hints);
    assert!(hints > 2_400, "{hints} hints for 3 000 entries");
    assert_eq!(right, hints, "nothing is inserted meanwhile");
}

/// Time Warp: popped entries, and new ones, are inserted below the last popped time, repeatedly.
#[test]
fn inserts_below_the_last_popped() {
    let rng = random();
    let mut script: Vec<_> =
        (0..3000).map(|id| Op::Insert(Key::new(rng.exponential(1000.0), id))).collect();
    for round in 0..300_u32 {
        script.extend([Op::Pop; 40]);
        let back = if round % 10 == 0 { 1e6 } else { rng.exponential(20.0) };
        script.extend((0..40).map(|_| Op::InsertNear(-back * rng.uniform())));
        script.push(Op::Remove(Key::new(rng.exponential(1000.0), 0)));
    }
    check(&script);
}

/// A removal that is only noted must not take the entry that is inserted after it.
#[test]
fn removed_entries_come_back() {
    let rng = random();
    let mut script: Vec<_> =
        (0..2000).map(|id| Op::Insert(Key::new(rng.exponential(1.0), id))).collect();
    for _ in 0..3000 {
        let victim = Key::new(rng.exponential(1.0), 0);
        let (front, delay) = (Key::new(0.0, 0), rng.exponential(1.0));
        script.extend([Op::Remove(victim), Op::InsertRemoved, Op::Remove(victim), Op::Peek]);
        script.extend([Op::InsertRemoved, Op::Remove(front), Op::InsertRemoved, Op::Hold(delay)]);
    }
    // All of them, so that the set is empty except for entries whose removal it has only noted.
    script.extend([Op::Remove(Key::MAX); 2000]);
    script.extend([Op::Peek, Op::Pop, Op::InsertRemoved, Op::Peek]);
    check(&script);
}

/// Cancels far entries while a thousand near ones are live.
struct CancelFar;

impl WithPending for CancelFar {
    type Output = ();

    fn with<P: PendingFamily>(self) {
        let alive = Rc::new(());
        let item = |time, id| Item { key: Key::new(time, id), _alive: Rc::clone(&alive) };
        let mut set = P::Set::<Item>::default();
        (0..1000).for_each(|id| set.insert(item(f64::from(id), id)));
        for round in 0..50_000 {
            let far = 1e6 + f64::from(round % 777);
            set.insert(item(far, 2000 + round));
            set.remove(item(far, 2000 + round));
            assert_eq!(set.len(), 1000);
        }
        assert!(Rc::strong_count(&alive) < 10_000, "canceled entries pile up");
        let left: Vec<_> = std::iter::from_fn(|| set.pop()).map(|item| item.key.id).collect();
        assert!(left.iter().copied().eq(0..1000), "{left:?}");
    }
}

/// A set that only notes removals must still not grow with them.
#[test]
fn canceled_entries_do_not_pile_up() {
    for kind in PendingKind::ALL {
        kind.dispatch(CancelFar);
    }
}

#[test]
fn extreme_times() {
    let keys = EXTREMES.iter().enumerate();
    let all: Vec<_> = keys.map(|(id, time)| Op::Insert(Key::new(*time, id as u32))).collect();
    check(&all.repeat(300));
    for &base in EXTREMES {
        // Many entries at one extreme determine the widths; then the others are inserted and
        // popped.
        let rng = random();
        let crowd = |id: u32| Key::new((base * (1.0 + rng.uniform())).min(f64::MAX), 100 + id);
        let mut script: Vec<_> = (0..1000).map(crowd).map(Op::Insert).collect();
        script.extend(all.iter().copied());
        script.extend([Op::Peek, Op::Pop, Op::Pop, Op::InsertNear(base), Op::InsertNear(0.0)]);
        script.extend(EXTREMES.iter().map(|time| Op::Remove(Key::new(*time, 0))));
        script.extend(EXTREMES.iter().flat_map(|delay| [Op::Hold(*delay), Op::Hold(*delay)]));
        check(&script);
    }
}

/// Adds a million entries in an order that makes the deepest tree, and drops them.
struct DropMany {
    ascending: bool,
}

impl WithPending for DropMany {
    type Output = ();

    fn with<P: PendingFamily>(self) {
        let count = 1_000_000_u32;
        let alive = Rc::new(());
        let mut set = P::Set::<Item>::default();
        for index in 0..count {
            let time = f64::from(if self.ascending { index } else { count - index });
            set.insert(Item { key: Key::new(time, index), _alive: Rc::clone(&alive) });
        }
        // Some are popped, so that the parts of a set that a pop makes exist as well.
        for _ in 0..100 {
            drop(set.pop());
        }
        assert_eq!(Rc::strong_count(&alive), 1_000_000 - 100 + 1);
        drop(set);
        assert_eq!(Rc::strong_count(&alive), 1);
    }
}

/// A drop that recurses over the entries would need far more than this stack.
#[test]
fn dropping_a_million_entries_needs_no_deep_stack() {
    for kind in PendingKind::ALL {
        for ascending in [false, true] {
            let small = thread::Builder::new().stack_size(128 * 1024);
            let run = move || kind.dispatch(DropMany { ascending });
            assert!(small.spawn(run).expect("a thread").join().is_ok(), "{kind} failed");
        }
    }
}

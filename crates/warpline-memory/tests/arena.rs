//! Event buffers against a model, under misuse, and between threads.
//!
//! Under Miri the sizes shrink, and so do the arena's chunks, so that several of them are reached.

use std::{
    cell::Cell,
    collections::BTreeSet,
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};

use proptest::prelude::*;
use warpline_memory::{
    Arena, BLOCK_ITEMS, BUFFERS_MAX, Block, BufferId, Buffers, Inbox, Pool, PoolPlan,
};

/// An arena with a sender pool.
fn arena<T: Send + Sync>(workers: usize, limit: u32) -> Arena<T> {
    Arena::new(PoolPlan::new(Pool::SENDER, workers, Some(limit)))
}

/// Every pool, the receiver pool also with local ones.
fn plans(workers: usize, limit: Option<u32>) -> Vec<PoolPlan> {
    let local = Pool::Receiver { local_pool: true };
    let pools = [local, Pool::RECEIVER, Pool::SENDER, Pool::PARTITIONED, Pool::Adaptive];
    pools.map(|pool| PoolPlan::new(pool, workers, limit)).into()
}

/// What a message must look like for the tests to know it again.
trait Content: Send + Sync {
    fn new(token: &Arc<()>, number: u64) -> Self;
    fn intact(&self, number: u64) -> bool;
}

#[derive(Debug)]
struct Small {
    _token: Arc<()>,
    number: u64,
}

impl Content for Small {
    fn new(token: &Arc<()>, number: u64) -> Self {
        Self { _token: Arc::clone(token), number }
    }

    fn intact(&self, number: u64) -> bool {
        self.number == number
    }
}

/// Larger than a page.
#[derive(Debug)]
struct Large {
    numbers: [u64; 700],
    _token: Arc<()>,
}

impl Content for Large {
    fn new(token: &Arc<()>, number: u64) -> Self {
        Self { numbers: [number; 700], _token: Arc::clone(token) }
    }

    fn intact(&self, number: u64) -> bool {
        self.numbers.iter().all(|&n| n == number)
    }
}

/// More strictly aligned than the owner word, or than an allocation usually is.
#[derive(Debug)]
#[repr(align(256))]
struct Aligned(Small);

impl Content for Aligned {
    fn new(token: &Arc<()>, number: u64) -> Self {
        Self(Small::new(token, number))
    }

    fn intact(&self, number: u64) -> bool {
        std::ptr::from_ref(self).addr().is_multiple_of(256) && self.0.intact(number)
    }
}

/// The workers that act; messages also go to one that never does.
const WORKERS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Op {
    Fill { by: usize, to: usize },
    PanicInMake { by: usize },
    FillInMake { by: usize, to: usize },
    Get { pick: usize },
    Free { pick: usize },
    Take { pick: usize },
    Steal { pick: usize, by: usize },
    Redistribute { by: usize },
    GiveUp { by: usize },
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let (by, to, pick) = (0..WORKERS, 0..=WORKERS, any::<usize>());
    let op = prop_oneof![
        12 => (by.clone(), to.clone()).prop_map(|(by, to)| Op::Fill { by, to }),
        1 => by.clone().prop_map(|by| Op::PanicInMake { by }),
        2 => (by.clone(), to).prop_map(|(by, to)| Op::FillInMake { by, to }),
        3 => pick.prop_map(|pick| Op::Get { pick }),
        4 => pick.prop_map(|pick| Op::Free { pick }),
        3 => pick.prop_map(|pick| Op::Take { pick }),
        1 => (pick, by.clone()).prop_map(|(pick, by)| Op::Steal { pick, by }),
        2 => by.clone().prop_map(|by| Op::Redistribute { by }),
        1 => by.prop_map(|by| Op::GiveUp { by }),
    ];
    prop::collection::vec(op, if cfg!(miri) { 0..60 } else { 0..400 })
}

/// What is filled, and the counts that must agree with it.
struct Model<'a, T> {
    arena: &'a Arena<T>,
    workers: Vec<Buffers<'a, T>>,
    token: &'a Arc<()>,
    live: Vec<(BufferId, usize, u64)>,
    ids: BTreeSet<BufferId>,
    next: u64,
}

impl<'a, T: Content> Model<'a, T> {
    fn new(arena: &'a Arena<T>, token: &'a Arc<()>) -> Self {
        let workers = (0..=WORKERS).map(|worker| arena.buffers(worker)).collect();
        Self { arena, workers, token, live: Vec::new(), ids: BTreeSet::new(), next: 0 }
    }

    fn filled(&mut self, id: BufferId, to: usize, number: u64) {
        assert!(id.get() < self.arena.limit(), "{id:?} is beyond the limit");
        assert!(self.ids.insert(id), "{id:?} was given twice");
        self.live.push((id, to, number));
    }

    fn fill(&mut self, by: usize, to: usize) -> bool {
        let number = self.next;
        let free: usize = self.workers.iter().map(Buffers::free_count).sum();
        let none = free == 0 && self.arena.available() == 0;
        let id = self.workers[by].fill_with(to, || T::new(self.token, number));
        assert!(id.is_none() || !none, "a buffer that there is not");
        let Some(id) = id else { return false };
        self.next += 1;
        self.filled(id, to, number);
        true
    }

    /// A live buffer whose owner can act.
    fn pick(&self, pick: usize) -> Option<usize> {
        let owned: Vec<_> = (0..self.live.len()).filter(|&n| self.live[n].1 < WORKERS).collect();
        (!owned.is_empty()).then(|| owned[pick % owned.len()])
    }

    fn remove(&mut self, pick: usize) -> Option<(BufferId, usize, u64)> {
        let entry = self.live.swap_remove(self.pick(pick)?);
        self.ids.remove(&entry.0);
        Some(entry)
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Fill { by, to } => {
                self.fill(by, to);
            }
            Op::PanicInMake { by } => {
                // Nothing is made where there is no buffer; else the panic comes through.
                let make = || -> T { panic!("make") };
                let made = || assert!(self.workers[by].fill_with(0, make).is_none());
                let _ = catch_unwind(AssertUnwindSafe(made));
            }
            Op::FillInMake { by, to } => {
                let (outer, inner) = (self.next, self.next + 1);
                let mut within = None;
                let id = self.workers[by].fill_with(to, || {
                    within = self.workers[by].fill_with(by, || T::new(self.token, inner));
                    T::new(self.token, outer)
                });
                self.next += 2;
                within.into_iter().for_each(|id| self.filled(id, by, inner));
                id.into_iter().for_each(|id| self.filled(id, to, outer));
            }
            Op::Get { pick } => {
                if let Some(n) = self.pick(pick) {
                    let (id, owner, number) = self.live[n];
                    self.workers[owner].prefetch(id);
                    assert!(self.workers[owner].get(id).intact(number));
                }
            }
            Op::Free { pick } => {
                if let Some((id, owner, number)) = self.remove(pick) {
                    assert!(self.workers[owner].get(id).intact(number));
                    self.workers[owner].free(id, number as usize % WORKERS);
                    assert!(!self.workers[owner].owns(id));
                }
            }
            Op::Take { pick } => {
                if let Some((id, owner, number)) = self.remove(pick) {
                    let taken = self.workers[owner].take(id, number as usize % WORKERS);
                    assert!(self.arena.message(&taken).intact(number));
                    assert!(!self.workers[owner].owns(id));
                }
            }
            Op::Steal { pick, by } => {
                if let Some(&(id, owner, _)) = self.live.get(pick % self.live.len().max(1)) {
                    let thief = &mut self.workers[by];
                    assert_eq!(thief.owns(id), by == owner);
                    if by != owner {
                        refused(|| _ = thief.get(id));
                        refused(|| thief.free(id, 0));
                        refused(|| _ = thief.take(id, 0));
                    }
                }
            }
            Op::Redistribute { by } => self.workers[by].redistribute(false),
            Op::GiveUp { by } => {
                self.workers[by].give_up();
                assert_eq!(self.workers[by].free_count(), 0);
            }
        }
        self.check();
    }

    /// ARENA-A, as far as counts can show it.
    fn check(&self) {
        let free: usize = self.workers.iter().map(Buffers::free_count).sum();
        let unissued = (self.arena.limit() - self.arena.issued()) as usize;
        let spare = self.arena.available() - unissued;
        assert_eq!(self.live.len() + free + spare, self.arena.issued() as usize);
        assert_eq!(Arc::strong_count(self.token), 1 + self.live.len());
    }
}

/// Runs what must panic because of the owner of a buffer.
fn refused(misuse: impl FnOnce()) {
    let panic = catch_unwind(AssertUnwindSafe(misuse)).expect_err("misuse goes unnoticed");
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
    assert!(message.is_some_and(|text| text.contains("ARENA-B")), "{message:?}");
}

fn against_model<T: Content>(limit: u32, ops: &[Op]) {
    for plan in plans(WORKERS + 1, Some(limit)) {
        against_model_with::<T>(plan, ops);
    }
}

fn against_model_with<T: Content>(plan: PoolPlan, ops: &[Op]) {
    let token = Arc::new(());
    let arena = Arena::new(plan);
    let limit = arena.limit();
    let mut model = Model::<T>::new(&arena, &token);
    for &op in ops {
        model.apply(op);
    }
    // Every buffer is still there: when all are given up, the limit is reached exactly (POOL-C).
    for worker in &mut model.workers {
        worker.give_up();
    }
    while model.fill(0, 1) {}
    model.check();
    assert_eq!(model.live.len(), limit as usize);
    assert_eq!(arena.issued(), limit);
    for &(id, owner, number) in &model.live {
        assert!(owner == WORKERS || model.workers[owner].get(id).intact(number));
    }
    drop(model);
    drop(arena);
    assert_eq!(Arc::strong_count(&token), 1, "the arena drops what is left in it, once");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 64 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Any operations of three workers on one thread do what a multiset of buffers would.
    #[test]
    fn small_messages(limit in 0_u32..if cfg!(miri) { 60 } else { 300 }, ops in ops()) {
        against_model::<Small>(limit, &ops);
    }

    /// The same with messages of several pages.
    #[test]
    fn large_messages(limit in 0_u32..40, ops in ops()) {
        against_model::<Large>(limit, &ops);
    }

    /// The same with messages that are aligned to more than a cache line.
    #[test]
    fn aligned_messages(limit in 0_u32..40, ops in ops()) {
        against_model::<Aligned>(limit, &ops);
    }
}

/// An arena hands out exactly its limit, over several chunks and whatever the size of a batch.
#[test]
fn limit() {
    let limits = if cfg!(miri) { [0, 1, 17, 70] } else { [0, 1, 1025, 9000] };
    for plan in limits.into_iter().flat_map(|limit| plans(2, Some(limit))) {
        let arena = Arena::new(plan);
        let limit = arena.limit();
        let buffers = arena.buffers(0);
        let ids: BTreeSet<_> = (0..).map_while(|n| buffers.fill_with(0, || n)).collect();
        assert_eq!(ids.len(), limit as usize);
        assert!(ids.iter().all(|id| id.get() < limit));
        let sum: u64 = ids.iter().map(|&id| *buffers.get(id)).sum();
        assert_eq!(sum, (0..u64::from(limit)).sum());
        assert_eq!(arena.available(), 0);
    }
    assert_eq!(arena::<()>(1, u32::MAX).limit(), BUFFERS_MAX);
}

/// Before the first redistribution a worker leaves to others what it does not fill: first events
/// may all be sent by one worker.
#[test]
fn first_events_leave_the_rest() {
    for plan in plans(2, Some(1_000)) {
        let arena = Arena::new(plan);
        let (first, second) = (arena.buffers(0), arena.buffers(1));
        assert!(first.fill_with(0, || 7_u64).is_some());
        let left = (0_u64..).map_while(|n| second.fill_with(1, || n)).count();
        assert_eq!((first.free_count(), left), (0, 999));
    }
}

/// A worker that sends more than others cannot have what pools keep apart; a sender pool gives it
/// all that the others have not, and an adaptive one all that is not promised to them: a few, as
/// long as they want no more.
#[test]
fn a_flood_leaves_the_others_their_buffers() {
    for (plan, left) in plans(2, Some(1_000)).into_iter().zip([500, 500, 350, 250, 32]) {
        let name = format!("{plan:?}");
        let arena = Arena::new(plan);
        let (mut flood, mut other) = (arena.buffers(0), arena.buffers(1));
        flood.redistribute(false);
        other.redistribute(false);
        while flood.fill_with(1, || 0_u64).is_some() {}
        let for_other = (0_u64..).map_while(|n| other.fill_with(0, || n)).count();
        assert!(for_other + 8 >= left && for_other <= left + 8, "{name}: {for_other}, not {left}");
    }
}

/// After a shortage the pools are divided as before.
#[test]
fn a_shortage_does_not_end_the_division() {
    for (plan, left) in plans(2, Some(1_000)).into_iter().zip([500, 500, 350, 250, 32]) {
        let name = format!("{plan:?}");
        let arena = Arena::new(plan);
        let (mut flood, mut other) = (arena.buffers(0), arena.buffers(1));
        for buffers in [&mut flood, &mut other] {
            buffers.redistribute(false);
        }
        for buffers in [&mut flood, &mut other] {
            buffers.give_up();
        }
        // The flood takes all there is, and the receiver frees it.
        let sent: Vec<_> = (0_u64..).map_while(|n| flood.fill_with(1, || n)).collect();
        sent.into_iter().for_each(|id| other.free(id, 0));
        // Demand is forgotten slowly.
        for _ in 0..40 {
            for buffers in [&mut flood, &mut other] {
                buffers.redistribute(false);
            }
        }
        while flood.fill_with(1, || 0_u64).is_some() {}
        let for_other = (0_u64..).map_while(|n| other.fill_with(0, || n)).count();
        assert!(for_other + 8 >= left, "{name}: {for_other}, not {left}");
    }
}

/// With an adaptive pool, a worker that begins to send beside a flood has half of the buffers once
/// they are free.
#[test]
fn who_wakes_beside_a_flood_gets_its_part() {
    let arena = Arena::new(PoolPlan::new(Pool::Adaptive, 2, Some(1_000)));
    let (mut flood, mut other) = (arena.buffers(0), arena.buffers(1));
    let (mut floods, mut others) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        // The receiver frees what came, and the source sends again.
        floods.drain(..).for_each(|id| other.free(id, 0));
        flood.redistribute(false);
        other.redistribute(false);
        flood.redistribute(false);
        floods.extend((0_u64..).map_while(|n| flood.fill_with(1, || n)));
        others.extend((0_u64..).map_while(|n| other.fill_with(1, || n)));
    }
    let (floods, others) = (floods.len(), others.len());
    assert!(
        floods.abs_diff(others) < 100 && floods + others > 900,
        "{floods} and {others} of 1000"
    );
}

/// Three workers, one of which has drawn nearly all for its first events: the others still get what
/// is left.
#[test]
fn promises_do_not_refuse_each_other() {
    let arena = Arena::new(PoolPlan::new(Pool::Adaptive, 3, Some(1_000)));
    let [mut zero, mut one, mut two] = [0, 1, 2].map(|worker| arena.buffers(worker));
    let first = (0..900_u64).map_while(|n| zero.fill_with(0, || n)).count();
    for buffers in [&mut zero, &mut one, &mut two] {
        buffers.redistribute(false);
    }
    let [more, still] =
        [&one, &two].map(|worker| (0..40_u64).map_while(|n| worker.fill_with(0, || n)).count());
    assert_eq!((first, more, still), (900, 40, 40));
}

/// What one worker sends and another receives comes back: nobody runs dry for ever.
#[test]
fn one_way_traffic_goes_on() {
    for plan in plans(3, Some(300)) {
        let arena = Arena::new(plan);
        let [mut zero, mut one, mut two] = [0, 1, 2].map(|worker| arena.buffers(worker));
        for round in 0..200_u64 {
            for buffers in [&mut zero, &mut one, &mut two] {
                buffers.redistribute(false);
            }
            let sent: Vec<_> = (0..20).map_while(|_| zero.fill_with(1, || round)).collect();
            assert!(sent.len() == 20 || round == 0, "{arena:?}: {} in round {round}", sent.len());
            sent.into_iter().for_each(|id| one.free(id, 0));
        }
    }
}

/// Workers that take all they can get at once get different buffers, the limit in all (ARENA-A).
///
/// Mutation: red with a load and a store in `draw` in the place of `fetch_update`.
#[test]
fn threads_share_the_limit() {
    const LIMIT: u32 = if cfg!(miri) { 60 } else { 5_000 };
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        for plan in plans(3, Some(LIMIT)) {
            let arena = Arena::new(plan);
            let start = Barrier::new(3);
            let fill = |worker: usize| {
                let buffers = arena.buffers(worker);
                start.wait();
                (0_u64..).map_while(|n| buffers.fill_with(worker, || n)).collect::<Vec<_>>()
            };
            let ids: Vec<_> = thread::scope(|s| {
                let workers: Vec<_> = (0..3).map(|worker| s.spawn(move || fill(worker))).collect();
                workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
            });
            assert_eq!(ids.len(), LIMIT as usize);
            assert_eq!(ids.into_iter().collect::<BTreeSet<_>>().len(), LIMIT as usize);
        }
    }
}

/// Numbers that name no buffer, or one that was never filled, are refused; looking at them
/// allocates nothing.
#[test]
fn forged_ids_are_refused() {
    let arena = arena(1, BUFFERS_MAX);
    let mut buffers = arena.buffers(0);
    let id = buffers.fill_with(0, || 7_u64).expect("there are buffers");
    for number in [id.get() + 1, 5000, BUFFERS_MAX - 1, BUFFERS_MAX, u32::MAX - 1, u32::MAX] {
        let forged = BufferId::new(number);
        buffers.prefetch(forged);
        assert!(!buffers.owns(forged));
        refused(|| _ = buffers.get(forged));
        refused(|| buffers.free(forged, 0));
        refused(|| _ = buffers.take(forged, 0));
    }
    assert_eq!(arena.message(&buffers.take(id, 0)), &7);
}

/// What is not a worker's own is refused: another's, what it has freed, what was filled for nobody.
///
/// Mutation: without the owner check in `owned` this is red, as is `small_messages`.
#[test]
fn foreign_and_freed_buffers_are_refused() {
    let arena = arena(2, 8);
    let (mut zero, mut one) = (arena.buffers(0), arena.buffers(1));
    let id = zero.fill_with(1, || String::from("mail")).expect("there are buffers");
    refused(|| _ = zero.get(id));
    refused(|| zero.free(id, 0));
    refused(|| _ = zero.take(id, 0));
    assert_eq!(one.get(id), "mail");
    one.free(id, 0);
    refused(|| _ = one.get(id));
    refused(|| one.free(id, 0));
    refused(|| _ = one.take(id, 0));
    assert_eq!((zero.free_count() + one.free_count()) as u32, arena.issued());
}

/// A worker gets its buffers once, even when it has dropped them.
#[test]
#[should_panic(expected = "already has its buffers")]
fn buffers_are_given_once() {
    let arena = arena::<u32>(1, 8);
    drop(arena.buffers(0));
    let _twice = arena.buffers(0);
}

/// Workers that there are not get no buffers and no messages; so none has the number that stands
/// for nobody, who would own what was never filled.
///
/// Mutation: without the checks in `new` and `buffers`, `u32::MAX` reads memory that was never
/// written.
#[test]
fn workers_that_there_are_not_are_refused() {
    let arena = arena::<String>(1, 8);
    let zero = arena.buffers(0);
    for worker in [1, u32::MAX as usize, usize::MAX] {
        assert!(catch_unwind(AssertUnwindSafe(|| arena.buffers(worker))).is_err());
        let fill = || zero.fill_with(worker, || unreachable!("nothing is made for nobody"));
        assert!(catch_unwind(AssertUnwindSafe(fill)).is_err());
    }
    for workers in [0, u32::MAX as usize, usize::MAX] {
        let plan = PoolPlan::new(Pool::SENDER, workers, Some(8));
        assert!(catch_unwind(|| Arena::<String>::new(plan)).is_err());
    }
}

/// Messages without data are numbers: as many as the limit, and one value stands for all of them.
///
/// That value is only ever lent, for a type may promise that there is one of it.
#[test]
fn messages_without_data() {
    struct Token(());
    let arena = arena(2, 8);
    let (zero, mut one) = (arena.buffers(0), arena.buffers(1));
    refused(|| _ = one.get(BufferId::new(0)));
    let ids: BTreeSet<_> = (0..).map_while(|_| zero.fill_with(1, || Token(()))).collect();
    assert_eq!(ids.len(), 8);
    for &id in &ids {
        let Token(()) = one.get(id);
    }
    for &id in &ids {
        let Token(()) = arena.message(&one.take(id, 0));
    }
    assert_eq!(one.free_count(), 8);
    assert_eq!(Arena::<Token>::buffer_bytes(2), 0);
}

/// No message is ever read of a type without values.
#[test]
fn messages_without_values_are_never_read() {
    let arena = arena::<Infallible>(1, 8);
    let mut buffers = arena.buffers(0);
    for number in [0, 1, 7, 8] {
        refused(|| _ = buffers.get(BufferId::new(number)));
        refused(|| _ = arena.message(&buffers.take(BufferId::new(number), 0)));
    }
    let fill = || buffers.fill_with(0, || panic!("there is no value to make"));
    assert!(catch_unwind(AssertUnwindSafe(fill)).is_err());
    refused(|| _ = buffers.get(BufferId::new(0)));
}

thread_local! {
    static DROPS: Cell<u32> = const { Cell::new(0) };
}

/// A message without data, but with a destructor.
struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        DROPS.set(DROPS.get() + 1);
    }
}

/// Messages without data are dropped as often as others: once.
#[test]
fn drops_without_data() {
    let arena = arena(1, 8);
    let mut buffers = arena.buffers(0);
    let ids: Vec<_> = (0..).map_while(|_| buffers.fill_with(0, || Counted)).collect();
    assert_eq!((ids.len(), DROPS.get()), (8, 0));
    buffers.free(ids[0], 0);
    assert_eq!(DROPS.get(), 1);
    std::mem::forget(buffers.take(ids[1], 0));
    assert_eq!(DROPS.get(), 1);
    drop(arena);
    assert_eq!(DROPS.get(), 7);
}

/// A message whose destructor panics leaves its buffer free, and is not dropped again.
///
/// Mutation: freeing the buffer after the drop loses it.
#[test]
fn panic_in_drop_gives_the_buffer_back() {
    struct Bomb(Arc<()>);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(Arc::strong_count(&self.0) > 100, "boom");
        }
    }
    let token = Arc::new(());
    let arena = arena(1, 1);
    let mut buffers = arena.buffers(0);
    for _ in 0..3 {
        let id = buffers.fill_with(0, || Bomb(Arc::clone(&token))).expect("the buffer is free");
        assert!(catch_unwind(AssertUnwindSafe(|| buffers.free(id, 0))).is_err());
        assert_eq!((buffers.free_count(), Arc::strong_count(&token)), (1, 1));
    }
}

/// A worker's buffers can go to another thread, with the messages it owns.
#[test]
fn buffers_change_threads() {
    let arena = arena(2, 8);
    let buffers = arena.buffers(0);
    let id = buffers.fill_with(0, || AtomicU32::new(1)).expect("there are buffers");
    // Ordering: Relaxed; going to another thread publishes it.
    buffers.get(id).store(2, Ordering::Relaxed);
    let moved = move || {
        let mut buffers = buffers;
        // Ordering: Relaxed, as above.
        assert_eq!(buffers.get(id).load(Ordering::Relaxed), 2);
        buffers.free(id, 0);
        buffers
    };
    let buffers = thread::scope(|s| s.spawn(moved).join().expect("no panic"));
    assert!(!buffers.owns(id));
}

/// What is sent around between threads; every word of it is checked.
#[derive(Clone, Copy)]
struct Mail([u64; 6]);

impl Mail {
    fn new(number: u64) -> Self {
        Self(std::array::from_fn(|n| number.wrapping_mul(n as u64 + 1)))
    }

    fn number(self) -> u64 {
        assert_eq!(self.0, Self::new(self.0[0]).0, "a message is torn");
        self.0[0]
    }
}

/// Messages go round a ring of workers, each hop in a new buffer whose number travels in a block.
/// Every message arrives as it was sent, and the buffers that one worker fills another one frees.
///
/// Mutations, each red under Miri: the CAS in `Inbox::push` or the swap in `drain` Relaxed. The
/// inbox's edge covers the messages too; `owner_word_publishes_the_message` has the arena's alone.
#[test]
fn ping_pong() {
    for plan in plans(3, None) {
        ping_pong_with(plan);
    }
}

fn ping_pong_with(plan: PoolPlan) {
    const RING: usize = 3;
    const MAILS: u64 = if cfg!(miri) { 4 } else { 100 };
    const HOPS: u64 = if cfg!(miri) { 6 } else { 1_000 };

    let arena = Arena::new(plan);
    let inboxes: [Inbox<BufferId>; RING] = std::array::from_fn(|_| Inbox::default());
    let work = |worker: usize| {
        let mut buffers = arena.buffers(worker);
        let next = (worker + 1) % RING;
        let mut block = Block::new(worker as u32);
        let send = |buffers: &Buffers<'_, Mail>, block: &mut Block<BufferId>, number| {
            let id = buffers.fill_with(next, || Mail::new(number)).expect("the limit is far off");
            block.items.push(id);
        };
        for n in 0..MAILS {
            send(&buffers, &mut block, n * HOPS);
            if block.items.is_full() {
                inboxes[next].push(std::mem::replace(&mut block, Block::new(worker as u32)));
            }
        }
        inboxes[next].push(block);
        let mut received = 0;
        // By symmetry each worker receives as many hops as one worker's mails make.
        while received < MAILS * HOPS {
            for arrived in inboxes[worker].drain() {
                assert!(arrived.items.len() <= BLOCK_ITEMS);
                let mut block = Block::new(worker as u32);
                for &id in &arrived.items {
                    received += 1;
                    let number = buffers.get(id).number();
                    buffers.free(id, (worker + RING - 1) % RING);
                    if (number + 1) % HOPS != 0 {
                        send(&buffers, &mut block, number + 1);
                    }
                }
                if !block.items.is_empty() {
                    inboxes[next].push(block);
                }
            }
            buffers.redistribute(false);
            thread::yield_now();
        }
    };
    thread::scope(|s| {
        for worker in 0..RING {
            s.spawn(move || work(worker));
        }
    });
    // 100 mails are with each worker at the most, and as many buffers lie in every pool.
    assert!(arena.issued() <= 20_000, "{arena:?}");
}

/// Tells the other thread of a test that this one has failed.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // Ordering: Relaxed; nothing is read through it.
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A buffer is free only once its message is gone: whoever takes it from the pool then finds it
/// empty. The messages are boxes, so a message that is dropped or read too late is another one's.
///
/// Mutation: `disown` puts the buffer into the pool at once; with a receiver pool, red.
#[test]
fn a_message_is_gone_before_its_buffer_is_free() {
    const MAILS: u64 = if cfg!(miri) { 40 } else { 50_000 };

    for plan in plans(2, Some(24)) {
        let arena = Arena::<Box<u64>>::new(plan);
        let mail: [Inbox<(BufferId, u64)>; 2] = std::array::from_fn(|_| Inbox::default());
        let failed = AtomicBool::new(false);
        let work = |me: usize| {
            let _alarm = Alarm(&failed);
            let mut buffers = arena.buffers(me);
            let (mut sent, mut received) = (0, 0);
            // Ordering: Relaxed; nothing is read through it.
            while (sent < MAILS || received < MAILS) && !failed.load(Ordering::Relaxed) {
                let before = (sent, received);
                if sent < MAILS
                    && let Some(id) = buffers.fill_with(1 - me, || Box::new(sent))
                {
                    let mut block = Block::new(me as u32);
                    block.items.push((id, sent));
                    mail[1 - me].push(block);
                    sent += 1;
                }
                for block in mail[me].drain() {
                    for &(id, number) in &block.items {
                        assert_eq!(**buffers.get(id), number);
                        if number % 2 == 0 {
                            buffers.free(id, 1 - me);
                        } else {
                            let taken = buffers.take(id, 1 - me);
                            assert_eq!(**arena.message(&taken), number);
                        }
                        received += 1;
                    }
                }
                if (sent, received) == before {
                    buffers.redistribute(false);
                    thread::yield_now();
                }
            }
        };
        thread::scope(|s| {
            s.spawn(|| work(0));
            s.spawn(|| work(1));
        });
    }
}

/// The owner word alone publishes a message: the buffer's number reaches the owner by a way that
/// orders nothing. The few buffers come back to the sender by the spare list.
///
/// Mutations, each red under Miri: the owner store in `fill_with` Relaxed; the owner load in
/// `owned` Relaxed (ARENA-1).
#[test]
fn owner_word_publishes_the_message() {
    const MAILS: u64 = if cfg!(miri) { 20 } else { 100_000 };

    let arena = arena(2, 3);
    // One more than the buffer's number, and what came last.
    let slots: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
    thread::scope(|s| {
        s.spawn(|| {
            let zero = arena.buffers(0);
            for number in 0..MAILS {
                let slot = &slots[(number % 3) as usize];
                // Ordering: Relaxed, that is the point.
                while slot.load(Ordering::Relaxed) != 0 {
                    thread::yield_now();
                }
                let id = loop {
                    match zero.fill_with(1, || Mail::new(number)) {
                        Some(id) => break id,
                        None => thread::yield_now(),
                    }
                };
                // Ordering: Relaxed, that is the point.
                slot.store(id.get() + 1, Ordering::Relaxed);
            }
        });
        s.spawn(|| {
            let mut one = arena.buffers(1);
            for number in 0..MAILS {
                let slot = &slots[(number % 3) as usize];
                let id = loop {
                    // Ordering: Relaxed, that is the point.
                    match slot.load(Ordering::Relaxed) {
                        0 => thread::yield_now(),
                        id => break BufferId::new(id - 1),
                    }
                };
                while !one.owns(id) {
                    thread::yield_now();
                }
                assert_eq!(one.get(id).number(), number);
                one.free(id, 0);
                one.give_up();
                // Ordering: Relaxed; the sender gets the buffer from the spare list.
                slot.store(0, Ordering::Relaxed);
            }
        });
    });
    assert_eq!(arena.available(), 3);
}

//! Random operations on an arena, compared with a model of it.

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use proptest::prelude::*;
use warpline_memory::{Arena, BufferId, Buffers, PoolPlan, Ticket};

use crate::{plans, refused};

/// A message whose contents the tests can check.
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

/// With a larger alignment than the owner word and usual allocations have.
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

/// The workers that act; one more worker only receives messages.
const WORKERS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Op {
    Fill { by: usize, to: usize },
    PanicInMake { by: usize },
    FillInMake { by: usize, to: usize },
    Get { pick: usize },
    Free { pick: usize },
    Take { pick: usize },
    ReturnEarly { pick: usize },
    TakeBack { pick: usize },
    SetHorizon { by: usize, behind: u64 },
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
        6 => pick.prop_map(|pick| Op::ReturnEarly { pick }),
        2 => pick.prop_map(|pick| Op::TakeBack { pick }),
        2 => (by.clone(), 0..20_u64).prop_map(|(by, behind)| Op::SetHorizon { by, behind }),
        1 => (pick, by.clone()).prop_map(|(pick, by)| Op::Steal { pick, by }),
        2 => by.clone().prop_map(|by| Op::Redistribute { by }),
        1 => by.prop_map(|by| Op::GiveUp { by }),
    ];
    prop::collection::vec(op, if cfg!(miri) { 0..60 } else { 0..400 })
}

/// The buffers that must be filled, and the counts that must agree with them.
struct Model<'a, T> {
    arena: &'a Arena<T>,
    workers: Vec<Buffers<'a, T>>,
    token: &'a Arc<()>,
    live: Vec<(BufferId, usize, u64)>,
    /// Returned early; the stamp is the number.
    returned: Vec<(BufferId, usize, u64, Ticket)>,
    horizons: Vec<u64>,
    ids: BTreeSet<BufferId>,
    next: u64,
}

impl<'a, T: Content> Model<'a, T> {
    fn new(arena: &'a Arena<T>, token: &'a Arc<()>) -> Self {
        let workers = (0..=WORKERS).map(|worker| arena.buffers(worker)).collect();
        let (live, returned, ids) = (Vec::new(), Vec::new(), BTreeSet::new());
        let horizons = vec![0; WORKERS + 1];
        Self { arena, workers, token, live, returned, horizons, ids, next: 0 }
    }

    fn filled(&mut self, id: BufferId, to: usize, number: u64) {
        assert!(id.get() < self.arena.limit(), "{id:?} is beyond the limit");
        self.forget_given_out();
        assert!(self.ids.insert(id), "ARENA-A: {id:?} was given twice");
        self.live.push((id, to, number));
    }

    /// EARLY-A, and EARLY-B but for tickets that find too much.
    fn forget_given_out(&mut self) {
        let Self { workers, returned, horizons, ids, .. } = self;
        returned.retain(|&(id, owner, number, ticket)| {
            let is_there = workers[owner].has_returned(id, ticket, [number, 0, 0]);
            assert!(is_there || number < horizons[owner], "EARLY-A: {number} of {owner}");
            is_there || !ids.remove(&id)
        });
    }

    fn free(&self) -> usize {
        self.workers.iter().map(Buffers::free_count).sum()
    }

    fn fill(&mut self, by: usize, to: usize) -> bool {
        let number = self.next;
        let free = self.free() + self.returned.len();
        let none = free == 0 && self.arena.available() == 0;
        let id = self.workers[by].fill_with(to, || T::new(self.token, number));
        assert!(id.is_none() || !none, "POOL-B: a buffer, but none was free");
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
                // Without a free buffer `make` is not called; otherwise its panic comes through.
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
            Op::ReturnEarly { pick } => {
                if let Some(n) = self.pick(pick) {
                    let (id, owner, number) = self.live.swap_remove(n);
                    let (from, stamp) = (number as usize % WORKERS, [number, 0, 0]);
                    let worker = &mut self.workers[owner];
                    let ticket = worker.return_early(id, from, stamp, 0);
                    refused(|| _ = worker.get(id));
                    refused(|| worker.free(id, from));
                    refused(|| _ = worker.return_early(id, from, stamp, 0));
                    assert!(worker.get_returned(id).intact(number));
                    self.returned.push((id, owner, number, ticket));
                }
            }
            Op::TakeBack { pick } => {
                if !self.returned.is_empty() {
                    let (id, owner, number, ticket) =
                        self.returned.swap_remove(pick % self.returned.len());
                    let worker = &mut self.workers[owner];
                    assert!(worker.take_back(id, ticket, [number, 0, 0]), "EARLY-B");
                    assert!(!worker.take_back(id, ticket, [number, 0, 0]), "EARLY-B");
                    assert!(worker.get(id).intact(number));
                    self.live.push((id, owner, number));
                }
            }
            Op::SetHorizon { by, behind } => {
                self.horizons[by] = self.horizons[by].max(self.next.saturating_sub(behind));
                self.workers[by].set_horizon([self.horizons[by], 0, 0]);
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

    /// ARENA-A, as far as counts show it.
    fn check(&mut self) {
        self.forget_given_out();
        let early: usize = self.workers.iter().map(Buffers::early_count).sum();
        assert_eq!(early, self.returned.len());
        let free = self.free() + early;
        let unissued = (self.arena.limit() - self.arena.issued()) as usize;
        let spare = self.arena.available() - unissued;
        assert_eq!(self.live.len() + free + spare, self.arena.issued() as usize);
        assert_eq!(Arc::strong_count(self.token), 1 + self.live.len() + early);
    }
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
    // No buffer is lost: after all are given up, exactly the limit can be filled (POOL-C).
    for worker in &mut model.workers {
        worker.set_horizon([u64::MAX; 3]);
        worker.give_up();
    }
    model.horizons.fill(u64::MAX);
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

    /// Any operations of three workers on one thread agree with the model.
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

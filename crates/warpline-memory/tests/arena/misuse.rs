//! Accesses that are refused: to buffers of other workers, freed ones, and numbers of none.

use std::panic::{AssertUnwindSafe, catch_unwind};

use warpline_memory::{Arena, BUFFERS_MAX, BufferId, Pool, PoolPlan};

use crate::{arena, refused};

/// Numbers of no buffer, or of one that was never filled, are refused, and no memory is allocated
/// for them.
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

/// ARENA-B: a worker cannot access the buffers of another one, or those that it has freed.
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

/// In an arena of unclaimed messages, a message for another worker belongs to whoever claims it,
/// once; one for the sender itself, to the sender.
///
/// Mutations: red if `claim` stores its word without a look at the old one, and if
/// `owner_at_first` goes by the receiver alone.
#[test]
fn unclaimed_messages_belong_to_who_claims_them() {
    let arena = arena(3, 8).unclaimed(true);
    let (zero, mut one, mut two) = (arena.buffers(0), arena.buffers(1), arena.buffers(2));
    let id = zero.fill_with(1, || String::from("mail")).expect("there are buffers");
    let left = zero.fill_with(1, || String::from("never claimed")).expect("there are buffers");
    let own = zero.fill_with(0, || String::from("own")).expect("there are buffers");
    assert_eq!(zero.get(own), "own");
    assert!(!two.claim(own));
    for buffers in [&zero, &one, &two] {
        assert!(!buffers.owns(id) && !buffers.owns(left));
        refused(|| _ = buffers.get(id));
    }
    assert!(two.claim(id) && !one.claim(id));
    refused(|| _ = one.get(id));
    assert_eq!(two.get(id), "mail");
    two.free(id, 0);
    assert!(!one.claim(id));
}

/// A worker gets its buffers only once, even after it has dropped them.
#[test]
#[should_panic(expected = "already has its buffers")]
fn buffers_are_given_once() {
    let arena = arena::<u32>(1, 8);
    drop(arena.buffers(0));
    let _twice = arena.buffers(0);
}

/// Workers that do not exist get no buffers and no messages. So none has the number of `NOBODY`,
/// which would own the buffers that were never filled.
///
/// Mutation: without the checks in `new` and `buffers`, `u32::MAX` reads memory that was never
/// written.
#[test]
fn workers_that_do_not_exist_are_refused() {
    let arena = arena::<String>(1, 8);
    let zero = arena.buffers(0);
    for worker in [1, u32::MAX as usize, usize::MAX] {
        assert!(catch_unwind(AssertUnwindSafe(|| arena.buffers(worker))).is_err());
        let fill = || zero.fill_with(worker, || unreachable!("there is no receiver"));
        assert!(catch_unwind(AssertUnwindSafe(fill)).is_err());
    }
    for workers in [0, u32::MAX as usize, usize::MAX] {
        let plan = PoolPlan::new(Pool::SENDER, workers, Some(8));
        assert!(catch_unwind(|| Arena::<String>::new(plan)).is_err());
    }
}

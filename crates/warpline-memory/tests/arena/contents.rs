//! Messages without data, without values, and with destructors.

use std::{
    cell::Cell,
    collections::BTreeSet,
    convert::Infallible,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use warpline_memory::{Arena, BufferId};

use crate::{arena, plans, refused};

/// Messages without data are numbers, as many as the limit, and one value represents all of them.
///
/// The arena only lends that value, because a type may rely on there being one of it.
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

/// An arena never reads a message of a type without values.
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

/// Messages without data but with a destructor are dropped exactly once.
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
    drop(buffers);
    drop(arena);
    assert_eq!(DROPS.get(), 7);
}

/// ARENA-F: after the workers, messages are moved out of the buffers that hold one, each once.
///
/// Red if `take` of the arena does not clear the owner, or `filled_at_end` leaves out what is idle.
#[test]
fn messages_are_moved_out_at_the_end() {
    struct Token(());
    for plan in plans(2, Some(8)) {
        let mut arena = Arena::new(plan);
        let (mut zero, one) = (arena.buffers(0), arena.buffers(1));
        let ids: Vec<_> = (0..3).map_while(|_| zero.fill_with(0, || Token(()))).collect();
        assert!(!ids.is_empty());
        zero.free(ids[0], 0);
        drop(zero);
        drop(one);
        for &id in ids.iter().skip(1) {
            let Token(()) = arena.take(id);
        }
        refused(|| _ = arena.take(ids[0]));
    }
    let dropped = Arc::new(());
    let mut arena = arena(2, 8);
    let (mut zero, one) = (arena.buffers(0), arena.buffers(1));
    let fill = |to| zero.fill_with(to, || (7, Arc::clone(&dropped))).expect("a buffer is free");
    let ids = [fill(0), fill(1), fill(1)];
    zero.free(ids[0], 0);
    drop((zero, one));
    assert_eq!(arena.take(ids[1]).0, 7);
    refused(|| _ = arena.take(ids[1]));
    refused(|| _ = arena.take(ids[0]));
    refused(|| _ = arena.take(BufferId::new(7)));
    assert_eq!(Arc::strong_count(&dropped), 2, "one is left in its buffer");
    drop(arena);
    assert_eq!(Arc::strong_count(&dropped), 1, "and is dropped with it");
}

/// A destructor that panics leaves the buffer free, and is not called again.
///
/// Mutation: a buffer that is freed after the drop is lost.
#[test]
fn panic_in_drop_frees_the_buffer() {
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

//! Messages that are written over old ones (ARENA-D).
//!
//! # Mutations, each seen red
//!
//! - `free` leaves the buffer to nobody (`old_messages_are_written_over`)
//! - `take` leaves its message in the buffer (`a_message_that_was_taken_is_gone`)

use std::panic::{AssertUnwindSafe, catch_unwind};

use warpline_memory::{Arena, PoolPlan};

use crate::{arena, plans};

type Message = [u64; 40];

/// Writes `number` over an old message in a buffer for worker `to`, or makes one. Returns the
/// buffer, and what the old message was.
fn fill(
    buffers: &warpline_memory::Buffers<'_, Message>,
    to: usize,
    number: u64,
) -> (warpline_memory::BufferId, Option<u64>) {
    let mut before = None;
    let id = buffers.fill_over(to, |old| match old {
        Some(old) => {
            before = Some(old[39]);
            *old = [number; 40];
            None
        }
        None => Some([number; 40]),
    });
    (id.expect("there is a buffer"), before)
}

/// With every pool, a message travels to another worker, which frees it, and later ones are written
/// over earlier ones, wherever the buffer has been meanwhile.
#[test]
fn old_messages_are_written_over() {
    for plan in plans(2, Some(1)) {
        let plan = PoolPlan { limit: Some(4), ..plan };
        let arena = Arena::<Message>::new(plan.clone());
        let (mut one, mut other) = (arena.buffers(0), arena.buffers(1));
        let mut written_over = 0;
        for number in 0..40 {
            let (id, before) = fill(&one, 1, number);
            written_over += u64::from(before.is_some());
            assert!(before.is_none_or(|before| before < number), "{before:?} in {plan:?}");
            assert_eq!(other.get(id)[20], number);
            other.free(id, 0);
            one.give_up();
            other.give_up();
            one.redistribute(true);
            other.redistribute(true);
        }
        assert!(written_over >= 36, "{written_over} of 40 messages in 4 buffers: {plan:?}");
    }
}

/// A message that was moved out of its buffer is not found there again.
#[test]
fn a_message_that_was_taken_is_gone() {
    let arena = arena::<Message>(1, 1);
    let mut buffers = arena.buffers(0);
    let (id, _) = fill(&buffers, 0, 1);
    let taken = buffers.take(id, 0);
    assert_eq!(fill(&buffers, 0, 2).1, None);
    assert_eq!(arena.message(&taken)[0], 1);
}

/// What writes a message may panic: the buffer is free again, with a message or without.
#[test]
fn a_panic_leaves_a_free_buffer() {
    let arena = arena::<Message>(1, 1);
    let mut buffers = arena.buffers(0);
    let panics = |buffers: &warpline_memory::Buffers<'_, Message>| {
        let panics = || buffers.fill_over(0, |_| panic!("broken on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    };
    panics(&buffers);
    let (id, before) = fill(&buffers, 0, 1);
    assert_eq!(before, None);
    buffers.free(id, 0);
    panics(&buffers);
    assert_eq!(fill(&buffers, 0, 2).1, Some(1));
}

/// Messages with a destructor are dropped when their buffers are freed, so there are no old ones.
#[test]
fn messages_with_a_destructor_are_not_written_over() {
    let arena = arena::<Box<u64>>(1, 1);
    let mut buffers = arena.buffers(0);
    for number in 0..3 {
        let id = buffers.fill_over(0, |old| {
            assert!(old.is_none(), "it was dropped");
            Some(Box::new(number))
        });
        let id = id.expect("there is a buffer");
        assert_eq!(**buffers.get(id), number);
        buffers.free(id, 0);
    }
}

//! An allocation that fails is reported, unless somebody only tries.

use std::sync::atomic::{AtomicUsize, Ordering};

use warpline_memory::{NodeAllocator, on_exhausted, try_reserve_exact};

#[global_allocator]
static ALLOCATOR: NodeAllocator = NodeAllocator;

/// More than any machine has addresses for.
const TOO_MUCH: usize = isize::MAX as usize / 2;

/// The bytes of all failures that were reported since it was read last.
static REPORTED: AtomicUsize = AtomicUsize::new(0);

/// Red if `served` says nothing of large blocks, if a block that grows is forgotten, if
/// `try_reserve_exact` does not say that it tries, or if it goes on saying so.
#[test]
fn failures_are_told_unless_somebody_tries() {
    // Ordering: Relaxed, here and below; there is one thread.
    on_exhausted(|bytes| _ = REPORTED.fetch_add(bytes, Ordering::Relaxed));
    let reported = || REPORTED.swap(0, Ordering::Relaxed);
    let (mut fresh, mut grown) = (Vec::<u8>::new(), vec![1_u8]);
    assert!(!try_reserve_exact(&mut fresh, TOO_MUCH));
    assert!(!try_reserve_exact(&mut grown, TOO_MUCH));
    assert_eq!(reported(), 0, "somebody only tried");
    assert!(try_reserve_exact(&mut fresh, 10) && fresh.capacity() == 10);
    // The library's own does not say that it tries.
    assert!(Vec::<u8>::new().try_reserve_exact(TOO_MUCH).is_err());
    assert_eq!(reported(), TOO_MUCH);
    assert!(grown.try_reserve_exact(TOO_MUCH).is_err());
    assert_eq!(reported(), TOO_MUCH + 1);
}

//! Laws of heaps, on blocks of any size.

use proptest::prelude::*;

use super::*;

/// Held by tests that count the segments and the bindings of all heaps.
static ALONE: Mutex<()> = Mutex::new(());

/// HEAP-D: runs beyond the bindings that there are work as well, but are not bound, nor are
/// they later; and all bindings go back. (A binding counts whether or not the system binds.)
///
/// Red if `take` binds each run, or if `retire` keeps bindings.
#[test]
fn bindings_are_limited() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = BINDINGS.limit_to(3);
    let heap = Heap::owned(Some(0), 0);
    let layout = Layout::from_size_align(SEGMENT, 8).unwrap();
    let blocks: Vec<_> = (0..5).map(|_| heap.allocate(layout).unwrap().0).collect();
    assert_eq!((heap.residency().beyond_limit, BINDINGS.taken()), (2, 3));
    let done = heap.realign();
    assert!(done.segments == 5 && done.refused >= 2, "{done:?}");
    heap.disown();
    for block in blocks {
        // SAFETY: it was allocated above, with this layout.
        unsafe { heap.free(block, layout) };
    }
    assert_eq!(BINDINGS.taken(), 0, "HEAP-D");
    BINDINGS.limit_to(before);
}

/// A heap of an LP with much memory has few runs. (Red if all runs are single segments.)
#[test]
fn runs_grow_with_their_heap() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let heap = Heap::owned(None, 0);
    let layout = Layout::from_size_align(SMALL_MAX, 8).unwrap();
    let blocks: Vec<_> =
        (0..(8 << 20) / SMALL_MAX).map(|_| heap.allocate(layout).unwrap().0).collect();
    let runs = heap.lock().runs.len();
    assert!(runs < 30, "{runs} runs for 8 MiB, which are 128 segments");
    heap.disown();
    for block in blocks {
        // SAFETY: it was allocated above, with this layout.
        unsafe { heap.free(block, layout) };
    }
}

/// HEAP-B, and that blocks have the size and alignment of their layouts.
#[test]
fn what_is_freed_goes_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = reserve().unwrap().taken();
    let layouts = prop::collection::vec((1_usize..200_000, 0_u32..22), 1..60);
    proptest!(|(layouts in layouts, keep in any::<bool>())| {
        let heap = Heap::owned(Some(0), 1);
        let mut blocks = Vec::new();
        for (size, power) in layouts {
            let layout = Layout::from_size_align(size, 1 << power).unwrap();
            let (block, is_zero) = heap.allocate(layout).unwrap();
            prop_assert!(is_zero && block.as_ptr().addr().is_multiple_of(layout.align()));
            // SAFETY: the block is as long as its layout says.
            let bytes = unsafe { std::slice::from_raw_parts_mut(block.as_ptr(), size) };
            prop_assert!(bytes.iter().all(|&byte| byte == 0), "SPACE-B: not zero");
            bytes.fill(0xff);
            blocks.push((block, layout));
        }
        prop_assert!(reserved().unwrap().taken() > before);
        if !keep {
            heap.disown();
        }
        for (block, layout) in blocks {
            // SAFETY: it was allocated above, with this layout.
            unsafe { heap.free(block, layout) };
        }
        if keep {
            heap.disown();
        }
        prop_assert_eq!(reserved().unwrap().taken(), before, "HEAP-B");
    });
}

/// No class is too small, nor much too large.
#[test]
fn classes_fit() {
    for size in 1..=SMALL_MAX {
        let class = Class::of(Layout::from_size_align(size, 8).unwrap()).unwrap();
        assert!((size..=size + size / 4 + 16).contains(&class.bytes), "{size}: {class:?}");
        let again = Class::of(Layout::from_size_align(class.bytes, 8).unwrap());
        assert_eq!(again, Some(class));
    }
    assert_eq!(Class::of(Layout::from_size_align(16, 4 << 20).unwrap()), None);
    assert_eq!(Class::of(Layout::from_size_align(SEGMENT << ORDERS, 8).unwrap()), None);
}

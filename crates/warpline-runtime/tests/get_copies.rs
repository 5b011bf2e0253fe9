//! A block that a worker gets from another one is copied into its parcel, and out of it.
//!
//! Red if an answer is copied out of its parcel before it is decoded, as it once was: that takes
//! memory for the block a third time.

#![expect(
    unsafe_code,
    reason = "counting the calls of the global allocator means to stand in its place"
)]

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use warpline_net::{Address, Aggregation, network};
use warpline_runtime::{Place, Runtime, Worker};

/// The bytes of the block.
const BLOCK: usize = 1 << 20;

/// How often memory was allocated for a block.
static BLOCKS: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, with a counter.
struct Counting;

// SAFETY: every method passes its arguments to the system's allocator and returns its result;
// counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Ordering: Relaxed; a count, read when the threads have ended.
        BLOCKS.fetch_add(u64::from(layout.size() >= BLOCK), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of this method, which is that of the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above; `block` came from the system's allocator, as all blocks do.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Two workers, of which the first gets a block from the second, or does not. Returns for how many
/// blocks this has taken memory.
fn blocks(gets: bool) -> u64 {
    const LEN: usize = BLOCK / size_of::<u64>();
    const FROM: Place = Place { worker: Address { rank: 1, port: 0 }, region: 7, offset: 0 };
    let before = BLOCKS.load(Ordering::Relaxed);
    let ends = network(2, 1);
    thread::scope(|scope| {
        for (rank, end) in ends.iter().enumerate() {
            scope.spawn(move || {
                let mut runtime = Runtime::new(end, 0, Aggregation::Adaptive);
                runtime.register(FROM.region, vec![3_u64; LEN]);
                let worker = Worker::clone(&runtime);
                if gets && rank == 0 {
                    runtime.spawn_async(async move {
                        let block = worker.get::<u64>(FROM, LEN).await.expect("it is there");
                        assert!(block.len() == LEN && block.iter().all(|&word| word == 3));
                    });
                }
                runtime.run().expect("no error");
            });
        }
    });
    BLOCKS.load(Ordering::Relaxed) - before
}

#[test]
fn a_block_is_copied_out_of_its_parcel_once() {
    let (without, with) = (blocks(false), blocks(true));
    assert_eq!(with - without, 2, "memory for the parcel, and for the block");
}

//! Measures what it costs to bring blocks of bytes, such as samples of waveforms, from one rank to
//! another: in parcels, as the engines do, and by a thread that the runtime invokes there.
//!
//! Ranks are threads. The receiver adds up the bytes. The ways take turns, and each number is the
//! median of its rounds:
//!
//! ```sh
//! cargo run --release -p warpline-runtime --example collection_cost
//! ```

#![expect(clippy::print_stdout, reason = "the program prints a table")]

use std::{cell::Cell, rc::Rc, thread, time::Instant};

use warpline_net::{Address, Aggregation, NetError, Parcel, ThreadTransport, Transport, network};
use warpline_runtime::{Counter, Runtime, RuntimeError};

/// The sizes of blocks (bytes): a sample with its key, and what a rank ships at once.
const SIZES: [usize; 3] = [64, 1024, 16_384];
/// All blocks of a round have so many bytes.
const BYTES: usize = 8 << 20;
const ROUNDS: usize = 9;
const KIND: u16 = 99;
const TAKE: u32 = 0;
const FIRST: Address = Address { rank: 0, port: 0 };

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

/// The second rank sends a parcel for each block; the first one reads them all.
fn in_parcels(end: &ThreadTransport, block: &[u8], blocks: usize) -> Result<u64, NetError> {
    if end.rank() == 1 {
        (0..blocks).try_for_each(|_| end.send(FIRST, Parcel::with_body(KIND, 0, block)))?;
        return Ok(0);
    }
    let (mut total, mut received) = (0, 0);
    while received < blocks {
        match end.receive(0)? {
            None => thread::yield_now(),
            Some(parcel) => {
                let opened = Parcel::open(&parcel.bytes);
                total += opened.map_or(0, |opened| sum(opened.body));
                received += 1;
            }
        }
    }
    Ok(total)
}

/// The second rank invokes a thread at the first one for each block, and waits for all answers.
fn by_threads(end: &ThreadTransport, block: &[u8], blocks: usize) -> Result<u64, RuntimeError> {
    let mut runtime = Runtime::new(end, 0, Aggregation::default());
    let total = Rc::new(Cell::new(0));
    let all = Rc::clone(&total);
    runtime.register_thread(TAKE, move |_worker, _from, block| {
        all.set(all.get() + sum(&block));
        async { Vec::new() }
    });
    if end.rank() == 1 {
        let taken = Counter::new();
        for _ in 0..blocks {
            runtime.invoke(FIRST, TAKE, block).counted(&taken);
        }
        runtime.run_until(async move { taken.reaches(blocks as u64).await })?;
    }
    runtime.run()?;
    Ok(total.get())
}

/// Nanoseconds per block, if the first rank has got what the second one has sent.
fn cost<E: Send>(
    way: impl Fn(&ThreadTransport, &[u8], usize) -> Result<u64, E> + Sync,
    size: usize,
) -> Option<f64> {
    let (block, blocks) = (vec![1; size], BYTES / size);
    let ends = network(2, 1);
    let started = Instant::now();
    let totals: Vec<_> = thread::scope(|scope| {
        let (way, block) = (&way, &block);
        let start = |end| scope.spawn(move || way(end, block, blocks));
        let ranks: Vec<_> = ends.iter().map(start).collect();
        ranks.into_iter().map(|rank| rank.join().ok()?.ok()).collect()
    });
    let seconds = started.elapsed().as_secs_f64();
    (totals == [Some((blocks * size) as u64), Some(0)]).then_some(1e9 * seconds / blocks as f64)
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() {
    println!("bytes of a block   ns in parcels   ns by threads");
    for size in SIZES {
        let (mut parcels, mut threads) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            parcels.extend(cost(in_parcels, size));
            threads.extend(cost(by_threads, size));
        }
        println!("{size:>16}   {:>13.0}   {:>13.0}", median(parcels), median(threads));
    }
}

//! Measures the cost of an item from one thread to another: through an inbox, through the same
//! blocks behind a lock, and through an inbox with a block for each item.
//!
//! One thread fills blocks and sends them; the other reads every item and returns the blocks, which
//! are filled again. At most as many items are in flight as 64 full blocks have. The variants take
//! turns, and each number is the median of its rounds. Run it on a quiet machine with a core for
//! each thread:
//!
//! ```sh
//! chrt -f 10 cargo run --release -p warpline-memory --example inbox_cost
//! ```

#![expect(clippy::print_stdout, reason = "the program prints a table")]

use std::{
    hint::{black_box, spin_loop},
    sync::{Barrier, Mutex},
    thread,
    time::Instant,
};

use warpline_memory::{BLOCK_ITEMS, Block, CachePadded, Inbox, bind_worker};

/// An item like those of Time Warp: a key, the number of a buffer, a kind.
type Item = [u64; 4];
type Mail = Box<Block<Item>>;

const SIZES: [usize; 4] = [1, 4, 16, BLOCK_ITEMS];
const ITEMS: u64 = 400_000;
const ROUNDS: usize = 15;

/// A list of blocks that one thread fills and another one empties.
trait Channel: Default + Sync {
    const NAME: &'static str;
    fn send(&self, mail: Mail);
    /// Passes all blocks that were sent to `each`.
    fn receive(&self, each: impl FnMut(Mail));
}

impl Channel for Inbox<Item> {
    const NAME: &'static str = "inbox";

    fn send(&self, mail: Mail) {
        self.push(mail);
    }

    fn receive(&self, each: impl FnMut(Mail)) {
        self.drain().for_each(each);
    }
}

/// The same blocks behind a lock.
#[derive(Default)]
struct Locked(Mutex<Vec<Mail>>);

impl Channel for Locked {
    const NAME: &'static str = "lock";

    fn send(&self, mail: Mail) {
        self.0.lock().expect("no panic under the lock").push(mail);
    }

    fn receive(&self, each: impl FnMut(Mail)) {
        let mails = std::mem::take(&mut *self.0.lock().expect("no panic under the lock"));
        mails.into_iter().for_each(each);
    }
}

/// Nanoseconds per item, with `fill` items in a block.
fn cost<C: Channel>(fill: usize) -> f64 {
    let there = CachePadded::new(C::default());
    let back = CachePadded::new(C::default());
    let blocks = 64 * BLOCK_ITEMS / fill;
    // Under a real-time policy a spinning thread never lets others run on its core, so both must
    // be bound before either starts.
    let ready = Barrier::new(2);
    thread::scope(|s| {
        s.spawn(|| {
            let _bound = bind_worker(0, 2);
            let mut empty: Vec<Mail> = (0..blocks).map(|_| Block::new(0)).collect();
            let mut sent = 0;
            ready.wait();
            while sent < ITEMS {
                let Some(mut mail) = empty.pop() else {
                    spin_loop();
                    back.receive(|mail| empty.push(mail));
                    continue;
                };
                mail.items.clear();
                for _ in 0..fill {
                    sent += 1;
                    mail.items.push([sent; 4]);
                }
                there.send(mail);
            }
        });
        let receiver = s.spawn(|| {
            let _bound = bind_worker(1, 2);
            let (mut received, mut sum) = (0, 0);
            ready.wait();
            let start = Instant::now();
            while received < ITEMS {
                spin_loop();
                there.receive(|mail| {
                    received += mail.items.len() as u64;
                    sum = mail.items.iter().fold(sum, |sum, item| sum ^ item[0] ^ item[3]);
                    back.send(mail);
                });
            }
            black_box(sum);
            start.elapsed().as_secs_f64() * 1e9 / received as f64
        });
        receiver.join().expect("no panic")
    })
}

fn main() {
    type Cost = fn(usize) -> f64;
    let channels: [(&str, Cost); 2] =
        [(Inbox::<Item>::NAME, cost::<Inbox<Item>>), (Locked::NAME, cost::<Locked>)];
    let mut rounds = vec![Vec::new(); SIZES.len() * channels.len()];
    for _ in 0..ROUNDS {
        for (n, costs) in rounds.iter_mut().enumerate() {
            costs.push(channels[n % channels.len()].1(SIZES[n / channels.len()]));
        }
    }
    println!("| items per block | {} ns/item | {} ns/item | ratio |", channels[0].0, channels[1].0);
    println!("|---|---|---|---|");
    for (pair, size) in rounds.chunks_mut(channels.len()).zip(SIZES) {
        let median = |costs: &mut Vec<f64>| {
            costs.sort_by(f64::total_cmp);
            costs[costs.len() / 2]
        };
        let (inbox, lock) = (median(&mut pair[0]), median(&mut pair[1]));
        println!("| {size} | {inbox:.1} | {lock:.1} | {:.2} |", lock / inbox);
    }
}

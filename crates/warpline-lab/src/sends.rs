//! The cost of a message between two workers on this machine, for each pool: `warpline bench
//! --sends` calls [`measure`].
//!
//! Two threads, each on a core of its own if there are two, send each other messages as fast as
//! they can: a worker fills buffers for the other one, sends their numbers in blocks through an
//! inbox, reads every word of the messages that it receives, and frees them. This is the whole way
//! of a remote message in Time Warp except for the pending set.

use std::{
    hint::{black_box, spin_loop},
    sync::Barrier,
    thread,
    time::Instant,
};

use warpline::settings::PoolKind;
use warpline_memory::{
    Arena, BLOCK_ITEMS, Block, BufferId, Buffers, CachePadded, Inbox, PoolPlan, bind_worker,
};

use crate::sampling::median;

/// Blocks of messages that a worker sends before it looks into its inbox.
const BLOCKS_PER_TURN: usize = 4;
/// Turns after which a worker redistributes its buffers, as it does at GVT.
const TURNS_PER_GVT: usize = 8;
/// The most blocks that are in transit in one direction.
const BLOCKS_MAX: usize = 64;

/// A message of `WORDS` words.
type Message<const WORDS: usize> = [u64; WORDS];

/// The cost of messages of one size with one pool.
#[derive(Clone, Debug, PartialEq)]
pub struct SendCost {
    /// The pool.
    pub pool: PoolKind,
    /// The size of a message.
    pub bytes: usize,
    /// Nanoseconds per message and worker, one number per round: filling, sending, receiving,
    /// reading and freeing.
    pub nanoseconds: Vec<f64>,
}

impl SendCost {
    /// The median of the rounds.
    #[must_use]
    pub fn median(&self) -> f64 {
        median(self.nanoseconds.iter().copied())
    }
}

/// Measures all pools in turn, with `messages` from each worker in each of `rounds` rounds, for
/// messages of 64 bytes, of 512 and of 4096.
#[must_use]
pub fn measure(messages: usize, rounds: usize) -> Vec<SendCost> {
    let pools = || PoolKind::ALL.iter().copied();
    let mut costs: Vec<_> = [64, 512, 4096]
        .into_iter()
        .flat_map(|bytes| {
            pools().map(move |pool| SendCost { pool, bytes, nanoseconds: Vec::new() })
        })
        .collect();
    for _ in 0..rounds {
        for cost in &mut costs {
            let plan = PoolPlan::new(cost.pool.into(), 2, None);
            cost.nanoseconds.push(match cost.bytes {
                64 => exchange::<8>(plan, messages),
                512 => exchange::<64>(plan, messages / 2),
                _ => exchange::<512>(plan, messages / 8),
            });
        }
    }
    costs
}

/// A block of messages in transit.
type BoxedBlock = Box<Block<BufferId>>;

/// One of the two workers.
struct SendingWorker<'a, const WORDS: usize> {
    me: usize,
    buffers: Buffers<'a, Message<WORDS>>,
    inboxes: &'a [CachePadded<Inbox<BufferId>>; 2],
    /// Emptied blocks on their way back to their senders.
    returned: &'a [CachePadded<Inbox<BufferId>>; 2],
    blank: Vec<BoxedBlock>,
    sent: usize,
    received: usize,
}

impl<const WORDS: usize> SendingWorker<'_, WORDS> {
    /// Sends a block full of messages, unless too many are in transit.
    fn send(&mut self) {
        if self.blank.is_empty() {
            self.blank.extend(self.returned[self.me].drain());
        }
        let Some(mut block) = self.blank.pop() else { return };
        let to = 1 - self.me;
        for _ in 0..BLOCK_ITEMS {
            let number = self.sent as u64;
            let buffer = self.buffers.fill_with(to, || black_box([number; WORDS]));
            block.items.push(buffer.expect("there is no limit"));
            self.sent += 1;
        }
        self.inboxes[to].push(block);
    }

    /// Reads and frees the messages that have arrived.
    fn receive(&mut self) {
        for mut block in self.inboxes[self.me].drain() {
            for buffer in block.items.drain(..) {
                let message = self.buffers.get(buffer);
                black_box(message.iter().fold(0, |sum: u64, word| sum ^ word));
                self.buffers.free(buffer, 1 - self.me);
                self.received += 1;
            }
            self.returned[1 - self.me].push(block);
        }
    }

    /// Goes on until `messages` messages in all were sent, and as many received.
    fn work(&mut self, messages: usize) {
        let mut turns = 0;
        while self.sent < messages || self.received < messages {
            for _ in 0..BLOCKS_PER_TURN {
                if self.sent < messages {
                    self.send();
                }
            }
            let before = self.received;
            self.receive();
            turns += 1;
            if turns % TURNS_PER_GVT == 0 {
                self.buffers.redistribute(false);
            }
            if self.received == before {
                spin_loop();
            }
        }
    }
}

/// Nanoseconds per message of each worker.
fn exchange<const WORDS: usize>(plan: PoolPlan, messages: usize) -> f64 {
    let arena = Arena::<Message<WORDS>>::new(plan);
    let inboxes: [_; 2] = std::array::from_fn(|_| CachePadded::new(Inbox::default()));
    let returned: [_; 2] = std::array::from_fn(|_| CachePadded::new(Inbox::default()));
    let messages = messages.next_multiple_of(BLOCK_ITEMS);
    let ready = Barrier::new(2);
    let work = |me: usize| {
        let _bound = bind_worker(me, 2);
        let blank = (0..BLOCKS_MAX).map(|_| Block::new(me as u32)).collect();
        let buffers = arena.buffers(me);
        let (inboxes, returned) = (&inboxes, &returned);
        let mut worker =
            SendingWorker { me, buffers, inboxes, returned, blank, sent: 0, received: 0 };
        // The first tenth is a warm-up: buffers are allocated, and written for the first time.
        let warm = (messages / 10).next_multiple_of(BLOCK_ITEMS);
        worker.work(warm);
        ready.wait();
        let started = Instant::now();
        worker.work(messages + warm);
        started.elapsed().as_secs_f64() * 1e9 / messages as f64
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| work(1));
        let mine = work(0);
        let other = other.join().expect("a worker of the benchmark does not panic");
        f64::midpoint(mine, other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages of every size are measured with every pool.
    #[test]
    fn every_pool_is_measured() {
        let costs = measure(1_000, 2);
        assert_eq!(costs.len(), 3 * PoolKind::ALL.len());
        assert!(costs.iter().all(|cost| cost.nanoseconds.len() == 2 && cost.median() > 0.0));
    }
}

//! Synthetic traffic of buffers like that of the buffer paper's executive: workers allocate
//! buffers, write, receive and free them.
//!
//! Processed buffers are kept until a pool is empty; then all of them are fossil collected at once.
//! Pools are first-in-first-out, so between two collections every free buffer is used before one is
//! used again. This is the paper's memory traffic without the rest of Time Warp.
//!
//! # References
//!
//! Buffer paper: 3.1 and 3.2 for the pools, 3.4 for the global pool, 4 for neighborhoods, 5 and 6
//! for partitioned pools.

use std::{collections::VecDeque, mem};

use warpline::{LpId, Stream};
use warpline_lab::machine::{Access, AccessKind, Machine};

/// The pool from which a sender takes a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pools {
    /// The receiver's pool, to which the buffer returns.
    Receiver,
    /// The sender's pool; the receiver frees the buffer into its own. A global pool balances them.
    Sender,
    /// `B(sender, receiver)`; the receiver frees the buffer into `B(receiver, sender)`.
    Partitioned,
}

/// The parameters of the traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workload {
    pub(crate) pools: Pools,
    pub(crate) workers: u32,
    pub(crate) memory_bytes: u64,
    pub(crate) buffer_bytes: u32,
    /// The number of bytes of a buffer that the receiver writes: its pointers and flags, or
    /// everything if it fetches the buffer exclusively, as the paper's executive does.
    pub(crate) receiver_writes: u32,
    /// The number of next workers that a worker sends to; `None` is all others.
    pub(crate) neighbors: Option<u32>,
}

/// A message that waits for its receiver, or has been processed.
#[derive(Clone, Copy, Debug)]
struct Message {
    buffer: u32,
    sender: u32,
}

/// The state of the pools.
#[derive(Debug)]
pub(crate) struct Traffic {
    load: Workload,
    random: Stream,
    /// One free list per worker, or per ordered pair of workers when partitioned.
    free: Vec<VecDeque<u32>>,
    /// The number of buffers in each free list at the start.
    fair_share: usize,
    global: VecDeque<u32>,
    waiting: Vec<Vec<Message>>,
    processed: Vec<Vec<Message>>,
}

/// The paper's executive asks for more buffers when this number is left (3.4).
const SENDER_POOL_LOW: usize = 5;
/// Messages in transit for each worker: PHOLD with a population of 1024 on 8 workers.
const WAITING: u32 = 128;

impl Traffic {
    pub(crate) fn new(load: Workload) -> Self {
        let buffers = (load.memory_bytes / u64::from(load.buffer_bytes)) as u32;
        let lists = match load.pools {
            Pools::Receiver | Pools::Sender => load.workers,
            Pools::Partitioned => load.workers * load.workers,
        };
        let shared = if load.pools == Pools::Sender { buffers * 3 / 10 } else { 0 };
        let share = (buffers - shared) / lists;
        let mut traffic = Self {
            load,
            random: Stream::for_lp(20_251, LpId::new(0)),
            free: (0..lists).map(|list| (list * share..(list + 1) * share).collect()).collect(),
            fair_share: share as usize,
            global: (lists * share..buffers).collect(),
            waiting: vec![Vec::new(); load.workers as usize],
            processed: vec![Vec::new(); load.workers as usize],
        };
        for sender in (0..load.workers).flat_map(|sender| vec![sender; WAITING as usize]) {
            let receiver = traffic.receiver(sender);
            let buffer = traffic.allocate(sender, receiver).expect("pools begin full");
            traffic.waiting[receiver as usize].push(Message { buffer, sender });
        }
        traffic
    }

    /// Sends `sends` messages, and receives one before each.
    pub(crate) fn run(&mut self, machine: &mut Machine, sends: u64) {
        for _ in 0..sends {
            let worker = self.busy_worker();
            self.receive(machine, worker);
            self.send(machine, worker);
        }
    }

    fn busy_worker(&mut self) -> u32 {
        loop {
            let worker = self.random.below(self.load.workers.into()) as u32;
            if !self.waiting[worker as usize].is_empty() {
                return worker;
            }
        }
    }

    /// Receives a random message, because time stamps are not in the order of sending.
    fn receive(&mut self, machine: &mut Machine, worker: u32) {
        let waiting = &mut self.waiting[worker as usize];
        let chosen = self.random.below(waiting.len() as u64) as usize;
        let message = waiting.swap_remove(chosen);
        self.processed[worker as usize].push(message);
        self.touch(machine, worker, AccessKind::Read, message.buffer, self.load.buffer_bytes);
        self.touch(machine, worker, AccessKind::Write, message.buffer, self.load.receiver_writes);
    }

    fn send(&mut self, machine: &mut Machine, sender: u32) {
        let (receiver, buffer) = loop {
            let receiver = self.receiver(sender);
            if let Some(buffer) = self.allocate(sender, receiver) {
                break (receiver, buffer);
            }
            self.collect_fossils();
        };
        self.touch(machine, sender, AccessKind::Write, buffer, self.load.buffer_bytes);
        self.waiting[receiver as usize].push(Message { buffer, sender });
    }

    fn touch(&self, machine: &mut Machine, worker: u32, kind: AccessKind, buffer: u32, bytes: u32) {
        let address = u64::from(buffer) * u64::from(self.load.buffer_bytes);
        machine.access(Access { worker, kind, address, bytes }).expect("buffers lie in memory");
    }

    fn receiver(&mut self, sender: u32) -> u32 {
        let workers = self.load.workers;
        let neighbors = self.load.neighbors.unwrap_or(workers - 1);
        (sender + 1 + self.random.below(neighbors.into()) as u32) % workers
    }

    fn pool(&self, sender: u32, receiver: u32) -> usize {
        (match self.load.pools {
            Pools::Receiver => receiver,
            Pools::Sender => sender,
            Pools::Partitioned => sender * self.load.workers + receiver,
        }) as usize
    }

    fn allocate(&mut self, sender: u32, receiver: u32) -> Option<u32> {
        let low = if self.load.pools == Pools::Sender { SENDER_POOL_LOW } else { 0 };
        let pool = self.pool(sender, receiver);
        let free = &mut self.free[pool];
        if free.len() > low { free.pop_front() } else { None }
    }

    fn collect_fossils(&mut self) {
        if self.load.pools == Pools::Sender {
            self.take_from_global();
        }
        for receiver in 0..self.load.workers {
            for Message { buffer, sender } in mem::take(&mut self.processed[receiver as usize]) {
                let pool = match self.load.pools {
                    Pools::Receiver => self.pool(sender, receiver),
                    Pools::Sender | Pools::Partitioned => self.pool(receiver, sender),
                };
                self.free[pool].push_back(buffer);
            }
        }
        match self.load.pools {
            Pools::Receiver => {}
            Pools::Sender => self.give_to_global(),
            Pools::Partitioned => self.share_in_pairs(),
        }
    }

    /// Pools that are nearly empty are restored to their initial size (3.4).
    fn take_from_global(&mut self) {
        for pool in self.free.iter_mut().filter(|pool| pool.len() <= SENDER_POOL_LOW) {
            let wanted = (self.fair_share - pool.len()).min(self.global.len());
            pool.extend(self.global.drain(..wanted));
        }
    }

    /// A pool gives up the buffers beyond its initial size, which are those freed last (3.4).
    fn give_to_global(&mut self) {
        for pool in self.free.iter_mut().filter(|pool| pool.len() > self.fair_share) {
            self.global.extend(pool.split_off(self.fair_share));
        }
    }

    /// A pool that has gained more than a quarter returns the gain to its partner (6).
    fn share_in_pairs(&mut self) {
        for owner in 0..self.load.workers {
            for partner in 0..self.load.workers {
                let gained = self.pool(owner, partner);
                if self.free[gained].len() * 4 > self.fair_share * 5 {
                    let gain = self.free[gained].len() - self.fair_share;
                    let returned: Vec<_> = self.free[gained].drain(..gain).collect();
                    let partner = self.pool(partner, owner);
                    self.free[partner].extend(returned);
                }
            }
        }
    }
}

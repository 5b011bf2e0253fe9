//! Buffers that pass from thread to thread.

use std::{
    collections::BTreeSet,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};

use warpline_memory::{Arena, BLOCK_ITEMS, Block, BufferId, Buffers, Inbox, PoolPlan};

use crate::{arena, plans};

/// Workers that fill all they can at the same time get different buffers, up to the limit
/// (ARENA-A).
///
/// Mutation: red with a load and a store in `draw` instead of `fetch_update`.
#[test]
fn threads_share_the_limit() {
    const LIMIT: u32 = if cfg!(miri) { 60 } else { 5_000 };
    for _ in 0..if cfg!(miri) { 1 } else { 20 } {
        for plan in plans(3, Some(LIMIT)) {
            let arena = Arena::new(plan);
            let start = Barrier::new(3);
            let fill = |worker: usize| {
                let buffers = arena.buffers(worker);
                start.wait();
                (0_u64..).map_while(|n| buffers.fill_with(worker, || n)).collect::<Vec<_>>()
            };
            let ids: Vec<_> = thread::scope(|s| {
                let workers: Vec<_> = (0..3).map(|worker| s.spawn(move || fill(worker))).collect();
                workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
            });
            assert_eq!(ids.len(), LIMIT as usize);
            assert_eq!(ids.into_iter().collect::<BTreeSet<_>>().len(), LIMIT as usize);
        }
    }
}

/// The buffers of a worker can go to another thread, with their messages.
#[test]
fn buffers_change_threads() {
    let arena = arena(2, 8);
    let buffers = arena.buffers(0);
    let id = buffers.fill_with(0, || AtomicU32::new(1)).expect("there are buffers");
    // Ordering: Relaxed; the start of the other thread publishes it.
    buffers.get(id).store(2, Ordering::Relaxed);
    let moved = move || {
        let mut buffers = buffers;
        // Ordering: Relaxed, as above.
        assert_eq!(buffers.get(id).load(Ordering::Relaxed), 2);
        buffers.free(id, 0);
        buffers
    };
    let buffers = thread::scope(|s| s.spawn(moved).join().expect("no panic"));
    assert!(!buffers.owns(id));
}

/// A message between threads, of which every word is checked.
#[derive(Clone, Copy)]
struct Mail([u64; 6]);

impl Mail {
    fn new(number: u64) -> Self {
        Self(std::array::from_fn(|n| number.wrapping_mul(n as u64 + 1)))
    }

    fn number(self) -> u64 {
        assert_eq!(self.0, Self::new(self.0[0]).0, "a message is torn");
        self.0[0]
    }
}

/// Messages go around a ring of workers, each hop in a new buffer, whose number is sent in a block.
/// Every message arrives as it was sent, and each buffer is freed by another worker than filled it.
///
/// Mutations, each red under Miri: the CAS in `Inbox::push` or the swap in `drain` Relaxed. The
/// edge of the inbox covers the messages too; `owner_word_publishes_the_message` tests the arena
/// alone.
#[test]
fn ping_pong() {
    for plan in plans(3, None) {
        ping_pong_with(plan);
    }
}

fn ping_pong_with(plan: PoolPlan) {
    const RING: usize = 3;
    const MAILS: u64 = if cfg!(miri) { 4 } else { 100 };
    const HOPS: u64 = if cfg!(miri) { 6 } else { 1_000 };

    let arena = Arena::new(plan);
    let inboxes: [Inbox<BufferId>; RING] = std::array::from_fn(|_| Inbox::default());
    let work = |worker: usize| {
        let mut buffers = arena.buffers(worker);
        let next = (worker + 1) % RING;
        let mut block = Block::new(worker as u32);
        let send = |buffers: &Buffers<'_, Mail>, block: &mut Block<BufferId>, number| {
            let id = buffers.fill_with(next, || Mail::new(number)).expect("the limit is far off");
            block.items.push(id);
        };
        for n in 0..MAILS {
            send(&buffers, &mut block, n * HOPS);
            if block.items.is_full() {
                inboxes[next].push(std::mem::replace(&mut block, Block::new(worker as u32)));
            }
        }
        inboxes[next].push(block);
        let mut received = 0;
        // By symmetry, each worker receives as many messages as those of one worker make hops.
        while received < MAILS * HOPS {
            for arrived in inboxes[worker].drain() {
                assert!(arrived.items.len() <= BLOCK_ITEMS);
                let mut block = Block::new(worker as u32);
                for &id in &arrived.items {
                    received += 1;
                    let number = buffers.get(id).number();
                    buffers.free(id, (worker + RING - 1) % RING);
                    if (number + 1) % HOPS != 0 {
                        send(&buffers, &mut block, number + 1);
                    }
                }
                if !block.items.is_empty() {
                    inboxes[next].push(block);
                }
            }
            buffers.redistribute(false);
            thread::yield_now();
        }
    };
    thread::scope(|s| {
        for worker in 0..RING {
            s.spawn(move || work(worker));
        }
    });
    // Each worker has at most 100 messages, and each pool as many free buffers.
    assert!(arena.issued() <= 20_000, "{arena:?}");
}

/// Tells the other thread of a test that this thread has failed.
pub(crate) struct Alarm<'a>(pub(crate) &'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            // Ordering: Relaxed; nothing is read through it.
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// A buffer is free only after its message is gone: the worker that then takes it from the pool
/// finds it empty. Messages are boxes, so one that is dropped or read too late is the wrong one.
///
/// Mutation: `disown` puts the buffer into the pool at once; with a receiver pool, red.
#[test]
fn a_message_is_gone_before_its_buffer_is_free() {
    const MAILS: u64 = if cfg!(miri) { 40 } else { 50_000 };

    for plan in plans(2, Some(24)) {
        let arena = Arena::<Box<u64>>::new(plan);
        let mail: [Inbox<(BufferId, u64)>; 2] = std::array::from_fn(|_| Inbox::default());
        let failed = AtomicBool::new(false);
        let work = |me: usize| {
            let _alarm = Alarm(&failed);
            let mut buffers = arena.buffers(me);
            let (mut sent, mut received) = (0, 0);
            // Ordering: Relaxed; nothing is read through it.
            while (sent < MAILS || received < MAILS) && !failed.load(Ordering::Relaxed) {
                let before = (sent, received);
                if sent < MAILS
                    && let Some(id) = buffers.fill_with(1 - me, || Box::new(sent))
                {
                    let mut block = Block::new(me as u32);
                    block.items.push((id, sent));
                    mail[1 - me].push(block);
                    sent += 1;
                }
                for block in mail[me].drain() {
                    for &(id, number) in &block.items {
                        assert_eq!(**buffers.get(id), number);
                        if number % 2 == 0 {
                            buffers.free(id, 1 - me);
                        } else {
                            let taken = buffers.take(id, 1 - me);
                            assert_eq!(**arena.message(&taken), number);
                        }
                        received += 1;
                    }
                }
                if (sent, received) == before {
                    buffers.redistribute(false);
                    thread::yield_now();
                }
            }
        };
        thread::scope(|s| {
            s.spawn(|| work(0));
            s.spawn(|| work(1));
        });
    }
}

/// The owner word alone publishes a message: the number of the buffer reaches the owner without any
/// ordering. The few buffers return to the sender through the spare list.
///
/// Mutations, each red under Miri: the owner store in `fill_with` Relaxed; the owner load in
/// `owned` Relaxed (ARENA-1).
#[test]
fn owner_word_publishes_the_message() {
    const MAILS: u64 = if cfg!(miri) { 20 } else { 100_000 };

    let arena = arena(2, 3);
    // One more than the number of the buffer; 0 once it is free.
    let slots: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
    thread::scope(|s| {
        s.spawn(|| {
            let zero = arena.buffers(0);
            for number in 0..MAILS {
                let slot = &slots[(number % 3) as usize];
                // Ordering: Relaxed, so that only the owner word orders the accesses.
                while slot.load(Ordering::Relaxed) != 0 {
                    thread::yield_now();
                }
                let id = loop {
                    match zero.fill_with(1, || Mail::new(number)) {
                        Some(id) => break id,
                        None => thread::yield_now(),
                    }
                };
                // Ordering: Relaxed, so that only the owner word orders the accesses.
                slot.store(id.get() + 1, Ordering::Relaxed);
            }
        });
        s.spawn(|| {
            let mut one = arena.buffers(1);
            for number in 0..MAILS {
                let slot = &slots[(number % 3) as usize];
                let id = loop {
                    // Ordering: Relaxed, so that only the owner word orders the accesses.
                    match slot.load(Ordering::Relaxed) {
                        0 => thread::yield_now(),
                        id => break BufferId::new(id - 1),
                    }
                };
                while !one.owns(id) {
                    thread::yield_now();
                }
                assert_eq!(one.get(id).number(), number);
                one.free(id, 0);
                one.give_up();
                // Ordering: Relaxed; the sender gets the buffer from the spare list.
                slot.store(0, Ordering::Relaxed);
            }
        });
    });
    assert_eq!(arena.available(), 3);
}

/// Of threads that claim a message, one gets it, and gets all of it.
///
/// Mutation: red under Miri (`-Zmiri-many-seeds=0..16`) with a load and a store instead of the
/// exchange in `claim`.
#[test]
fn one_thread_claims_a_message() {
    const MAILS: u32 = if cfg!(miri) { 5 } else { 500 };
    let arena: Arena<Mail> = arena(3, MAILS).unclaimed(true);
    let (mail, done) = (AtomicU32::new(0), AtomicU32::new(0));
    // Ordering: Relaxed in all of this, so that only the owner word orders the accesses.
    let claim = |worker: usize| {
        let (mut buffers, mut claimed) = (arena.buffers(worker), 0);
        loop {
            if done.load(Ordering::Relaxed) == MAILS {
                break claimed;
            }
            if let Some(id) = mail.load(Ordering::Relaxed).checked_sub(1).map(BufferId::new)
                && buffers.claim(id)
            {
                let number = buffers.get(id).number() as u32;
                buffers.free(id, 0);
                claimed += 1;
                done.store(number + 1, Ordering::Relaxed);
            }
            thread::yield_now();
        }
    };
    let claimed: u32 = thread::scope(|s| {
        let claim = &claim;
        let claimants = [1, 2].map(|worker| s.spawn(move || claim(worker)));
        let zero = arena.buffers(0);
        for number in 0..MAILS {
            let id = zero.fill_with(1, || Mail::new(number.into())).expect("there are buffers");
            mail.store(id.get() + 1, Ordering::Relaxed);
            while done.load(Ordering::Relaxed) == number {
                thread::yield_now();
            }
        }
        claimants.map(|claimant| claimant.join().expect("no panic")).iter().sum()
    });
    assert_eq!(claimed, MAILS);
}

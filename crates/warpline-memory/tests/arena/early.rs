//! Buffers that are returned early, of single workers and between threads.
//!
//! Any operations on one thread are compared with a model in [`model`](crate::model).
//!
//! # Mutations, each seen red
//!
//! - `Early::first` does not look at the horizon (EARLY-A; also in `model`)
//! - `return_early` leaves the owner word as it is: "misuse is not noticed" (ARENA-E; also there)
//! - `give_out` refunds nothing
//! - `free_surplus` does nothing: traffic in one direction takes 4096 buffers
//! - `acquire_early` prefers what was returned early to what is free
//! - `reserve` leaves what was returned early
//! - `Early::find` does not look at the stamp (EARLY-B)

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use warpline_memory::{
    Arena, Block, BufferId, Buffers, Inbox, Pool, PoolPlan, Stamp, Ticket, Worth,
};

use crate::refused;

const fn stamp(time: u64) -> Stamp {
    [time, 7, 0]
}

/// Fills buffers for messages of a worker to itself, and returns them early.
fn return_all(buffers: &mut Buffers<'_, u64>, times: &[u64]) -> Vec<(BufferId, Ticket)> {
    let ids: Vec<_> = times.iter().map(|&time| buffers.fill_with(0, || time)).collect();
    let ids = ids.into_iter().zip(times);
    ids.map(|(id, &time)| {
        let id = id.expect("there are buffers");
        (id, buffers.return_early(id, 0, stamp(time), 0))
    })
    .collect()
}

/// EARLY-A: the first one is given out when the horizon has passed its stamp, and without another
/// buffer any that is below the horizon.
#[test]
fn only_what_is_below_the_horizon_is_given_out() {
    let arena = Arena::new(PoolPlan::new(Pool::PARTITIONED, 1, Some(4)));
    let mut buffers = arena.buffers(0);
    let sent = return_all(&mut buffers, &[5, 9, 3, 4]);
    let mut given_out = |horizon| {
        buffers.set_horizon(horizon);
        let filled = buffers.fill_with(0, || 0);
        filled.and_then(|id| sent.iter().position(|sent| sent.0 == id))
    };
    let horizons = [stamp(0), stamp(3), stamp(4), [5, 7, 1], stamp(6), stamp(9), [10, 0, 0]];
    let order = [None, None, Some(2), Some(0), Some(3), None, Some(1)];
    assert_eq!(horizons.map(&mut given_out), order);
}

/// What is free at once comes first: what is canceled is used again at once.
#[test]
fn free_buffers_come_first() {
    let arena = Arena::new(PoolPlan::new(Pool::PARTITIONED, 2, Some(8)));
    let mut buffers = arena.buffers(0);
    let sent = return_all(&mut buffers, &[1, 2]);
    buffers.set_horizon(stamp(2));
    assert!(buffers.take_back(sent[1].0, sent[1].1, stamp(2)));
    buffers.free(sent[1].0, 0);
    let again = [0, 0].map(|_| buffers.fill_with(0, || 0));
    assert_eq!(again, [Some(sent[1].0), Some(sent[0].0)]);
}

/// ARENA-E and EARLY-B: a buffer that was returned is there as it was, for its worker and nobody
/// else; and a ticket does not find a later message in the same buffer.
#[test]
fn a_buffer_is_taken_back_as_it_was() {
    let arena = Arena::new(PoolPlan::new(Pool::PARTITIONED, 2, Some(8)));
    let (mut zero, mut one) = (arena.buffers(0), arena.buffers(1));
    let id = one.fill_with(0, || String::from("mail")).expect("there are buffers");
    let ticket = zero.return_early(id, 1, stamp(1), 0);
    refused(|| _ = zero.get(id));
    refused(|| _ = one.get_returned(id));
    refused(|| zero.pass_on(id, 1));
    assert_eq!(zero.get_returned(id), "mail");
    assert!(!one.take_back(id, ticket, stamp(1)), "it is not this worker's");
    assert!(zero.take_back(id, ticket, stamp(1)));
    assert_eq!(zero.get(id), "mail");
    let ticket = zero.return_early(id, 1, stamp(1), 0);
    zero.set_horizon(stamp(2));
    assert_eq!(zero.fill_with(1, || String::from("answer")), Some(id));
    let later = one.return_early(id, 0, stamp(3), 0);
    assert_eq!(
        [one.fill_with(0, String::new), zero.fill_with(0, String::new)].map(|id| id.is_some()),
        [true; 2]
    );
    assert!(!zero.take_back(id, ticket, stamp(1)) && one.take_back(id, later, stamp(3)));
}

/// EARLY-B: a ticket does not find the next message in its buffer, returned in the same place.
#[test]
fn a_ticket_is_for_one_message() {
    let arena = Arena::new(PoolPlan::new(Pool::PARTITIONED, 1, Some(1)));
    let mut buffers = arena.buffers(0);
    let [(id, first)] = return_all(&mut buffers, &[1])[..] else { panic!("one was returned") };
    buffers.set_horizon(stamp(2));
    let [(same, second)] = return_all(&mut buffers, &[3])[..] else { panic!("one was returned") };
    assert_eq!(id, same);
    assert!(!buffers.take_back(id, first, stamp(1)) && buffers.take_back(id, second, stamp(3)));
}

/// What a message takes outside of its buffer is in use until the buffer is given out. If that is
/// short, buffers are given out for it.
#[test]
fn what_is_outside_is_in_use_until_the_buffer_is_given_out() {
    let worth = Worth { fresh: 100, used: 60 };
    let plan = PoolPlan { worth, ..PoolPlan::new(Pool::PARTITIONED, 2, Some(8)) };
    let arena = Arena::<u64>::new(plan);
    let mut buffers = arena.buffers(0);
    let id = buffers.fill_with(0, || 7).expect("there are buffers");
    assert!(buffers.ensure_outside(500));
    buffers.charge_outside(500);
    let ticket = buffers.return_early(id, 0, stamp(1), 500);
    assert!(!buffers.ensure_outside(400) && buffers.has_returned(id, ticket, stamp(1)));
    buffers.set_horizon(stamp(2));
    assert!(buffers.ensure_outside(400) && !buffers.has_returned(id, ticket, stamp(1)));
}

/// Buffers that were returned early serve for a reservation.
#[test]
fn a_reservation_takes_what_was_returned() {
    let arena = Arena::new(PoolPlan::new(Pool::PARTITIONED, 1, Some(3)));
    let mut buffers = arena.buffers(0);
    return_all(&mut buffers, &[1, 2, 3]);
    assert!(!buffers.reserve(2));
    buffers.set_horizon(stamp(3));
    assert!(buffers.reserve(2) && buffers.fill_with(0, || 0).is_some());
}

/// Buffers go back to a worker that only sends, as far as the horizon permits, though their
/// receiver never takes one out of its lists.
#[test]
fn one_way_traffic_goes_on() {
    for limit in [None, Some(400)] {
        let arena = Arena::new(PoolPlan::new(Pool::PARTITIONED, 2, limit));
        let (mut sender, mut receiver) = (arena.buffers(0), arena.buffers(1));
        for round in 0..200 {
            sender.redistribute(false);
            for _ in 0..20 {
                let sent = sender.fill_with(1, || round);
                let id = sent.unwrap_or_else(|| panic!("{limit:?}, {round}: {arena:?}"));
                receiver.return_early(id, 0, stamp(round), 0);
            }
            receiver.set_horizon(stamp(round.saturating_sub(2)));
            receiver.redistribute(false);
        }
        assert!(
            receiver.early_count() <= 150 && arena.issued() <= limit.unwrap_or(300),
            "{arena:?}"
        );
    }
}

/// Workers send messages around a ring, and return each buffer before its message is old: every
/// message arrives as it was sent, is still there a while later, and is dropped once.
#[test]
fn threads_return_early() {
    const RING: usize = 3;
    const MAILS: u64 = if cfg!(miri) { 40 } else { 5_000 };
    const BEHIND: u64 = 5;

    let arena = Arena::<Box<u64>>::new(PoolPlan::new(
        Pool::PARTITIONED,
        RING,
        Some(if cfg!(miri) { 96 } else { 960 }),
    ));
    let mail: [Inbox<BufferId>; RING] = std::array::from_fn(|_| Inbox::default());
    let (start, failed) = (Barrier::new(RING), AtomicBool::new(false));
    let work = |me: usize| {
        let _alarm = crate::threads::Alarm(&failed);
        let (mut buffers, from, to) = (arena.buffers(me), (me + RING - 1) % RING, (me + 1) % RING);
        // Each worker has its part before another one takes more.
        buffers.redistribute(false);
        start.wait();
        let (mut sent, mut received, mut last) = (0, 0, std::collections::VecDeque::new());
        // Ordering: Relaxed; nothing is read through it.
        while (sent < MAILS || received < MAILS) && !failed.load(Ordering::Relaxed) {
            let before = (sent, received);
            if sent < MAILS
                && let Some(id) = buffers.fill_with(to, || Box::new(sent))
            {
                let mut block = Block::new(me as u32);
                block.items.push(id);
                mail[to].push(block);
                sent += 1;
            }
            for id in mail[me].drain().flat_map(|block| block.items) {
                let ticket = buffers.return_early(id, from, stamp(received), 0);
                last.push_back((id, ticket, received));
                received += 1;
                buffers.set_horizon(stamp(received.saturating_sub(BEHIND)));
            }
            while last.len() as u64 > BEHIND {
                last.pop_front();
            }
            for &(id, _, _) in &last {
                assert!(buffers.owns(id), "EARLY-A: it was given out");
            }
            // One message is taken back, as a rollback does, and another is read.
            if let Some((id, ticket, number)) = last.pop_back() {
                assert!(buffers.take_back(id, ticket, stamp(number)), "EARLY-B");
                assert_eq!(**buffers.get(id), number);
                let ticket = buffers.return_early(id, from, stamp(number), 0);
                last.push_back((id, ticket, number));
                let first = last[0];
                assert_eq!(**buffers.get_returned(first.0), first.2);
            }
            if (sent, received) == before {
                buffers.redistribute(true);
                thread::yield_now();
            }
        }
    };
    thread::scope(|s| {
        let work = &work;
        for me in 0..RING {
            s.spawn(move || work(me));
        }
    });
}

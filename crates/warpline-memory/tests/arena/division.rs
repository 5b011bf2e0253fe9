//! How pools divide the buffers among the workers.

use std::collections::{BTreeSet, VecDeque};

use warpline_memory::{Arena, BUFFERS_MAX, Parts, Pool, PoolPlan, Quota};

use crate::{arena, plans};

/// POOL-B: an arena fills exactly its limit of buffers, over several chunks and with any batch.
#[test]
fn limit() {
    let limits = if cfg!(miri) { [0, 1, 17, 70] } else { [0, 1, 1025, 9000] };
    for plan in limits.into_iter().flat_map(|limit| plans(2, Some(limit))) {
        let arena = Arena::new(plan);
        let limit = arena.limit();
        let buffers = arena.buffers(0);
        let ids: BTreeSet<_> = (0..).map_while(|n| buffers.fill_with(0, || n)).collect();
        assert_eq!(ids.len(), limit as usize);
        assert!(ids.iter().all(|id| id.get() < limit));
        let sum: u64 = ids.iter().map(|&id| *buffers.get(id)).sum();
        assert_eq!(sum, (0..u64::from(limit)).sum());
        assert_eq!(arena.available(), 0);
    }
    assert_eq!(arena::<()>(1, u32::MAX).limit(), BUFFERS_MAX);
}

/// ARENA-C: a message stays where it is while buffers are filled and freed and chunks are added.
#[test]
fn messages_do_not_move() {
    for plan in plans(2, None) {
        let arena = Arena::new(plan);
        let (mut zero, one) = (arena.buffers(0), arena.buffers(1));
        let first = zero.fill_with(0, || 7_u64).expect("there is no limit");
        let address = std::ptr::from_ref(zero.get(first)).addr();
        // Enough for several chunks.
        let count = if cfg!(miri) { 60 } else { 5_000 };
        let more: Vec<_> = (0..count).map_while(|n| one.fill_with(0, || n)).collect();
        more.into_iter().for_each(|id| zero.free(id, 1));
        zero.give_up();
        assert_eq!((std::ptr::from_ref(zero.get(first)).addr(), *zero.get(first)), (address, 7));
    }
}

/// Before the first redistribution, a worker leaves the buffers that it does not fill to others:
/// one worker may send all first events.
#[test]
fn first_events_leave_the_rest() {
    for plan in plans(2, Some(1_000)) {
        let arena = Arena::new(plan);
        let (first, second) = (arena.buffers(0), arena.buffers(1));
        assert!(first.fill_with(0, || 7_u64).is_some());
        let left = (0_u64..).map_while(|n| second.fill_with(1, || n)).count();
        assert_eq!((first.free_count(), left), (0, 999));
    }
}

/// A worker that sends more than others does not get the buffers that a pool keeps for them. A
/// sender pool gives it all but the allocations of the others, and an adaptive pool all that is not
/// promised to them, which is few as long as they want few.
#[test]
fn a_flood_leaves_the_others_their_buffers() {
    for (plan, left) in plans(2, Some(1_000)).into_iter().zip([500, 500, 350, 250, 32]) {
        let name = format!("{plan:?}");
        let arena = Arena::new(plan);
        let (mut flood, mut other) = (arena.buffers(0), arena.buffers(1));
        flood.redistribute(false);
        other.redistribute(false);
        while flood.fill_with(1, || 0_u64).is_some() {}
        let for_other = (0_u64..).map_while(|n| other.fill_with(0, || n)).count();
        assert!(for_other + 8 >= left && for_other <= left + 8, "{name}: {for_other}, not {left}");
    }
}

/// After a shortage the pools are divided as before.
#[test]
fn a_shortage_does_not_end_the_division() {
    for (plan, left) in plans(2, Some(1_000)).into_iter().zip([500, 500, 350, 250, 32]) {
        let name = format!("{plan:?}");
        let arena = Arena::new(plan);
        let (mut flood, mut other) = (arena.buffers(0), arena.buffers(1));
        for buffers in [&mut flood, &mut other] {
            buffers.redistribute(false);
        }
        for buffers in [&mut flood, &mut other] {
            buffers.give_up();
        }
        // The flood takes all buffers, and the receiver frees them.
        let sent: Vec<_> = (0_u64..).map_while(|n| flood.fill_with(1, || n)).collect();
        sent.into_iter().for_each(|id| other.free(id, 0));
        // The demand decays slowly.
        for _ in 0..40 {
            for buffers in [&mut flood, &mut other] {
                buffers.redistribute(false);
            }
        }
        while flood.fill_with(1, || 0_u64).is_some() {}
        let for_other = (0_u64..).map_while(|n| other.fill_with(0, || n)).count();
        assert!(for_other + 8 >= left, "{name}: {for_other}, not {left}");
    }
}

/// A partitioned pool has the sizes that its user sets for each pair of workers, and again after a
/// shortage.
#[test]
fn a_user_sets_the_sizes_of_pairs() {
    let parts = Parts::Sizes("5 30\n60 5".parse().expect("a table"));
    let pool = Pool::partitioned(parts, false);
    let arena = Arena::new(PoolPlan::new(pool, 2, Some(1_000)));
    let (mut zero, mut one) = (arena.buffers(0), arena.buffers(1));
    for round in 0..2 {
        // The first one after a shortage leaves buffers where they are.
        for _ in 0..2 {
            zero.redistribute(false);
            one.redistribute(false);
        }
        for (from, to, size) in [(0, 0, 50), (0, 1, 300), (1, 0, 600), (1, 1, 50)] {
            let buffers = if from == 0 { &mut zero } else { &mut one };
            let sent: Vec<_> = (0_u64..).map_while(|n| buffers.fill_with(to, || n)).collect();
            assert_eq!(sent.len(), size, "B({from}, {to}) in round {round}");
            // The receiver frees them, and they return.
            let receiver = if to == 0 { &mut zero } else { &mut one };
            sent.into_iter().for_each(|id| receiver.free(id, from));
            receiver.redistribute(true);
        }
        for buffers in [&mut zero, &mut one] {
            buffers.give_up();
        }
    }
}

/// A list that has gained more than the pool allows gives the buffers back; one that has gained
/// less keeps them.
///
/// Red if the pool does not read its `gain`.
#[test]
fn a_list_gains_as_much_as_the_pool_allows() {
    for (gain, left) in [(0.0, 500), (0.25, 440), (1.0, 440)] {
        let parts = Parts::Equal;
        let pool = Pool::Partitioned { parts, on_the_fly: false, gain, sharing: false };
        let arena = Arena::new(PoolPlan::new(pool, 2, Some(2_000)));
        let (mut zero, mut one) = (arena.buffers(0), arena.buffers(1));
        zero.redistribute(false);
        one.redistribute(false);
        for n in 0..60 {
            let sent = zero.fill_with(1, || n).expect("there are more");
            one.free(sent, 0);
        }
        one.redistribute(false);
        zero.redistribute(false);
        let sent = (0_u64..).map_while(|n| zero.fill_with(1, || n)).count();
        assert_eq!(sent, left, "with a gain of {gain}");
    }
}

/// In a sharing pool, a worker whose list for a receiver is empty takes from its other lists, and
/// the buffer goes to another pair of workers. In another one it does not.
#[test]
fn a_sharing_pool_takes_from_other_lists() {
    for (sharing, wanted) in [(false, 250), (true, 500)] {
        let (parts, on_the_fly, gain) = (Parts::Equal, false, 0.25);
        let pool = Pool::Partitioned { parts, on_the_fly, gain, sharing };
        let arena = Arena::new(PoolPlan::new(pool, 2, Some(1_000)));
        let (mut zero, mut one) = (arena.buffers(0), arena.buffers(1));
        zero.redistribute(false);
        one.redistribute(false);
        let sent: Vec<_> = (0_u64..).map_while(|n| zero.fill_with(1, || n)).collect();
        assert_eq!(sent.len(), wanted, "sharing: {sharing}");
        sent.into_iter().for_each(|id| one.free(id, 0));
        let back = (0_u64..).map_while(|n| one.fill_with(0, || n)).count();
        assert_eq!(back, if sharing { 1_000 - 500 + wanted } else { 500 }, "sharing: {sharing}");
    }
}

/// GTW's rule: after fossil collection a worker gives away what it has beyond its quota, and fills
/// up when it has fewer than the quota less the margin. Buffers in use count as free ones do.
///
/// Red if `redistribute` counts free buffers only.
#[test]
fn a_worker_keeps_its_quota() {
    let quota = Some(Quota { buffers: 100, margin: 20 });
    for limit in [None, Some(1_000)] {
        let pool = Pool::Sender { global_share: 0.3, quota };
        let arena = Arena::new(PoolPlan::new(pool, 2, limit));
        let (mut sender, mut receiver) = (arena.buffers(0), arena.buffers(1));
        sender.redistribute(false);
        receiver.redistribute(false);
        for _ in 0..300 {
            let sent = sender.fill_with(1, || 0_u64).expect("there are more");
            receiver.free(sent, 0);
        }
        let mut after = |sends, in_use| {
            for _ in 0..sends {
                assert!(receiver.fill_with(0, || 0_u64).is_some());
            }
            receiver.note_in_use(in_use);
            receiver.redistribute(false);
            receiver.free_count()
        };
        let free =
            [after(0, 0), after(20, 0), after(1, 0), after(0, 30), after(0, 10), after(0, 9)];
        assert_eq!(free, [100, 80, 100, 70, 70, 91], "limit {limit:?}");
        assert_eq!(after(0, 2_000), 0, "what is in use cannot be given");
    }
}

/// The buffer paper's rule: a worker of a sender pool with more than five buffers leaves the global
/// pool alone; one with five fills up to its initial allocation, as far as that pool has buffers.
///
/// Red if `FEW` is 5, 7 or 0.
#[test]
fn a_worker_with_five_buffers_fills_up() {
    let plan = PoolPlan::new(Pool::Sender { global_share: 0.6, quota: None }, 2, Some(1_000));
    let arena = Arena::new(plan);
    let (mut one, mut two) = (arena.buffers(0), arena.buffers(1));
    one.redistribute(false);
    two.redistribute(false);
    let mut after = |sends: usize| {
        (0..sends).for_each(|_| assert!(one.fill_with(1, || 0_u64).is_some()));
        one.redistribute(false);
        one.free_count()
    };
    assert_eq!([after(0), after(194), after(1)], [200, 6, 200]);
}

/// A worker of a partitioned pool keeps what a list has gained while that is up to a quarter of its
/// size, and returns all of it when it is more; in a shortage, at once.
///
/// Red if `GAIN` is 0, 0.2 or 0.3.
#[test]
fn a_quarter_of_a_list_may_be_gained() {
    for (gained, short, returned) in [(62, false, 0), (63, false, 63), (62, true, 62)] {
        let arena = Arena::new(PoolPlan::new(Pool::PARTITIONED, 2, Some(1_000)));
        let (mut sender, mut receiver) = (arena.buffers(0), arena.buffers(1));
        sender.redistribute(false);
        receiver.redistribute(false);
        for _ in 0..gained {
            let sent = sender.fill_with(1, || 0_u64).expect("there are 250");
            receiver.free(sent, 0);
        }
        receiver.redistribute(short);
        assert_eq!(receiver.free_count(), 500 + gained - returned, "{gained}, {short}");
        assert_eq!(sender.free_count(), 500 - gained + returned, "{gained}, {short}");
    }
}

#[test]
fn quotas_have_names() {
    let quota = |buffers, margin| Ok(Quota { buffers, margin });
    assert_eq!("1000".parse(), quota(1_000, 250));
    assert_eq!(Quota { buffers: 9, margin: 2 }.to_string().parse(), quota(9, 2));
    for wrong in ["", "0", "-1", "3:4", "5:", "one", "536870913"] {
        assert!(wrong.parse::<Quota>().is_err_and(|error| error.contains("from 1 to")), "{wrong}");
    }
}

/// With an adaptive pool, a worker that begins to send beside a flood gets half of the buffers once
/// they are free.
#[test]
fn a_new_sender_beside_a_flood_gets_its_part() {
    let arena = Arena::new(PoolPlan::new(Pool::Adaptive, 2, Some(1_000)));
    let (mut flood, mut other) = (arena.buffers(0), arena.buffers(1));
    let (mut floods, mut others) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        // The receiver frees the messages, and the flood sends again.
        floods.drain(..).for_each(|id| other.free(id, 0));
        flood.redistribute(false);
        other.redistribute(false);
        flood.redistribute(false);
        floods.extend((0_u64..).map_while(|n| flood.fill_with(1, || n)));
        others.extend((0_u64..).map_while(|n| other.fill_with(1, || n)));
    }
    let (floods, others) = (floods.len(), others.len());
    assert!(
        floods.abs_diff(others) < 100 && floods + others > 900,
        "{floods} and {others} of 1000"
    );
}

/// With an adaptive pool that knows how many messages may still be canceled, a worker that needs
/// more than an equal part of the buffers gets that beside a flood that runs ahead.
#[test]
fn a_flood_that_runs_ahead_leaves_others_what_they_need() {
    let arena = Arena::new(PoolPlan::new(Pool::Adaptive, 3, Some(1_000)));
    let [mut flood, mut sink, mut other] = [0, 1, 2].map(|worker| arena.buffers(worker));
    let (mut floods, mut others) = (VecDeque::new(), Vec::new());
    for round in 0..60 {
        // The sink frees some of the messages, and the flood sends as many as it can.
        let freed = floods.len().min(40);
        floods.drain(..freed).for_each(|id| sink.free(id, 0));
        sink.note_uncommitted(0);
        sink.redistribute(false);
        flood.note_uncommitted(floods.len().saturating_sub(40));
        flood.redistribute(false);
        other.note_uncommitted(0);
        other.redistribute(false);
        let wanted = if round < 20 { 0 } else { 700 };
        others.extend((others.len()..wanted).map_while(|n| other.fill_with(2, || n)));
        floods.extend((0_usize..).map_while(|n| flood.fill_with(1, || n)));
    }
    let (floods, others) = (floods.len(), others.len());
    assert!(others == 700 && floods > 100, "{floods} and {others} of 1000");
}

/// A worker that begins to send is promised buffers before any of its messages is committed, and
/// more when they are.
#[test]
fn a_new_sender_needs_no_committed_messages() {
    let arena = Arena::new(PoolPlan::new(Pool::Adaptive, 2, Some(1_000)));
    let (mut flood, mut other) = (arena.buffers(0), arena.buffers(1));
    let (mut floods, mut others) = (VecDeque::new(), Vec::new());
    let mut had = Vec::new();
    for round in 0..60 {
        let freed = floods.len().min(40);
        floods.drain(..freed).for_each(|id| other.free(id, 0));
        flood.note_uncommitted(floods.len() / 2);
        flood.redistribute(false);
        floods.extend((0_usize..).map_while(|n| flood.fill_with(1, || n)));
        // For the first rounds, no message of the new sender is committed.
        let uncommitted = if round < 40 { others.len() } else { 0 };
        other.note_uncommitted(uncommitted);
        other.redistribute(false);
        if round >= 20 {
            others.extend((others.len()..400).map_while(|n| other.fill_with(1, || n)));
        }
        had.push(others.len());
    }
    assert!(had[39] >= 30 && had[59] > 300, "{had:?}");
}

/// Two workers still get the buffers that are left when a third has drawn nearly all for its first
/// events.
#[test]
fn promises_do_not_refuse_each_other() {
    let arena = Arena::new(PoolPlan::new(Pool::Adaptive, 3, Some(1_000)));
    let [mut zero, mut one, mut two] = [0, 1, 2].map(|worker| arena.buffers(worker));
    let first = (0..900_u64).map_while(|n| zero.fill_with(0, || n)).count();
    for buffers in [&mut zero, &mut one, &mut two] {
        buffers.redistribute(false);
    }
    let [more, still] =
        [&one, &two].map(|worker| (0..40_u64).map_while(|n| worker.fill_with(0, || n)).count());
    assert_eq!((first, more, still), (900, 40, 40));
}

/// Buffers return to a worker that only sends, so it can go on for ever.
#[test]
fn one_way_traffic_goes_on() {
    for plan in plans(3, Some(300)) {
        let arena = Arena::new(plan);
        let [mut zero, mut one, mut two] = [0, 1, 2].map(|worker| arena.buffers(worker));
        for round in 0..200_u64 {
            for buffers in [&mut zero, &mut one, &mut two] {
                buffers.redistribute(false);
            }
            let sent: Vec<_> = (0..20).map_while(|_| zero.fill_with(1, || round)).collect();
            assert!(sent.len() == 20 || round == 0, "{arena:?}: {} in round {round}", sent.len());
            sent.into_iter().for_each(|id| one.free(id, 0));
        }
    }
}

/// LPs that move take the buffers of their messages along. These come back to their worker, or to
/// the stock, once, and no more of them are drawn with each move.
///
/// Red if the part of the worker that returns a buffer gets it in any case, or if a worker keeps
/// all that it has.
#[test]
fn buffers_of_lps_that_move_are_used_again() {
    let (rounds, each) = if cfg!(miri) { (20, 16) } else { (400, 64) };
    // Whether receivers of their own worker's messages move, whether their senders do, too, and
    // whether they move in both directions.
    let moves = [(true, false, true), (false, false, true), (true, true, false)];
    for (of_own, with_senders, both_ways) in moves {
        let arena = Arena::new(PoolPlan::new(Pool::Adaptive, 2, None));
        let mut sides = [arena.buffers(0), arena.buffers(1)];
        let mut most = 0;
        for round in 0..rounds {
            let sender = if both_ways { round % 2 } else { 0 };
            let to = |n| if n % 2 == 0 { sender } else { 1 - sender };
            let sent: Vec<_> = (0..each)
                .map(|n| (to(n), sides[sender].fill_with(to(n), || n).expect("there is no limit")))
                .collect();
            for (n, (to, id)) in sent.into_iter().enumerate() {
                most = most.max(id.get());
                let has_moved = (to == sender) == of_own && n < each / 2;
                let at = if has_moved { 1 - to } else { to };
                if has_moved {
                    sides[to].pass_on(id, at);
                }
                sides[at].free(id, if has_moved && with_senders { at } else { sender });
            }
            sides.iter_mut().for_each(|side| side.redistribute(false));
        }
        assert!(most < 16 * each as u32, "{most} buffers were drawn, for {each} messages");
        sides[0].redistribute(false);
        let before = sides[0].free_count();
        sides[1].redistribute(false);
        assert_eq!(sides[0].free_count(), before, "buffers go back and forth");
    }
}

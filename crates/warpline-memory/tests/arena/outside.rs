//! Memory outside of buffers, and reserved buffers.
//!
//! # Mutations, each seen red
//!
//! - `Outside::settle` leaves its credit to nobody, or does not take that of others (OUTSIDE-B)
//! - `Outside::enlarge` counts a used buffer as much as a fresh number (OUTSIDE-A)
//! - `Stock::take` does not count the numbers that are set aside (OUTSIDE-A)
//! - `Side::acquire` does not look at the reserved buffers (SIDE-A)

use proptest::prelude::*;
use warpline_memory::{Arena, BufferId, Buffers, PoolPlan, Worth};

use crate::plans;

const WORKERS: usize = 3;
const LIMIT: u32 = 64;
const WORTH: Worth = Worth { fresh: 100, used: 60 };

#[derive(Clone, Copy, Debug)]
enum Op {
    Send { by: usize, to: usize, bytes: usize },
    Free { pick: usize },
    Redistribute { by: usize, short: bool },
    GiveUp,
}

fn op() -> impl Strategy<Value = Op> {
    let worker = 0..WORKERS;
    prop_oneof![
        6 => (worker.clone(), worker.clone(), 0..400_usize)
            .prop_map(|(by, to, bytes)| Op::Send { by, to, bytes }),
        4 => any::<usize>().prop_map(|pick| Op::Free { pick }),
        1 => (worker, any::<bool>()).prop_map(|(by, short)| Op::Redistribute { by, short }),
        1 => Just(Op::GiveUp),
    ]
}

fn plan_with_worth(plan: PoolPlan) -> PoolPlan {
    PoolPlan { worth: WORTH, ..plan }
}

/// Carries out operations; returns the messages that are left, each with the bytes outside.
fn carry_out(workers: &mut [Buffers<'_, u64>], ops: &[Op]) -> Vec<(BufferId, usize, usize, usize)> {
    let mut live = Vec::new();
    let mut filled_once = std::collections::BTreeSet::new();
    for &op in ops {
        match op {
            Op::Send { by, to, bytes } => {
                if workers[by].ensure_outside(bytes)
                    && let Some(id) = workers[by].fill_with(to, || 7)
                {
                    workers[by].charge_outside(bytes);
                    filled_once.insert(id);
                    live.push((id, by, to, bytes));
                }
            }
            Op::Free { pick } if !live.is_empty() => {
                let (id, by, to, bytes) = live.swap_remove(pick % live.len());
                workers[to].free(id, by);
                workers[to].refund_outside(bytes);
            }
            Op::Free { .. } => {}
            Op::Redistribute { by, short } => workers[by].redistribute(short),
            Op::GiveUp => workers.iter_mut().for_each(|worker| worker.give_up()),
        }
        // OUTSIDE-A: a buffer that was filled once keeps its own memory.
        let sticky = filled_once.len() * (WORTH.fresh - WORTH.used);
        let used: usize = live.iter().map(|(.., bytes)| WORTH.used + bytes).sum();
        let limit = LIMIT as usize * WORTH.fresh;
        assert!(sticky + used <= limit, "{sticky} + {used} of {limit} bytes");
    }
    live
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { 128 }, failure_persistence: None, ..Default::default()
    })]

    /// OUTSIDE-A at every step, and OUTSIDE-B at the end, for every pool.
    #[test]
    fn what_is_outside_stays_within_the_limit(ops in prop::collection::vec(op(), 1..400)) {
        for plan in plans(WORKERS, Some(LIMIT)).into_iter().map(plan_with_worth) {
            let arena = Arena::<u64>::new(plan.clone());
            let mut workers: Vec<_> = (0..WORKERS).map(|me| arena.buffers(me)).collect();
            for (id, by, to, bytes) in carry_out(&mut workers, &ops) {
                workers[to].free(id, by);
                workers[to].refund_outside(bytes);
            }
            for _ in 0..2 {
                workers.iter_mut().for_each(|worker| worker.give_up());
            }
            let mut filled = 0;
            while workers[0].fill_with(0, || 1).is_some() {
                filled += 1;
            }
            prop_assert_eq!(filled, LIMIT, "{:?}", plan);
        }
    }
}

/// SIDE-A: reserved buffers are for the worker that reserved them, and come back.
#[test]
fn what_is_reserved_is_there() {
    for plan in plans(2, Some(8)) {
        let arena = Arena::<u64>::new(plan);
        let (mut one, other) = (arena.buffers(0), arena.buffers(1));
        assert!(!one.reserve(9), "there are 8 buffers");
        one.give_up();
        assert!(one.reserve(3));
        let others = (0..2).flat_map(|to| std::iter::from_fn(move || Some(to)).take(8));
        let others = others.filter(|&to| other.fill_with(to, || 1).is_some()).count();
        assert!(others <= 5, "{others} buffers beside those that are reserved");
        let sent: Vec<_> = (0..3).map(|_| one.fill_with(1, || 2).expect("reserved")).collect();
        assert!(sent.iter().all(|&id| other.owns(id)));
        one.end_reserve();
    }
}

//! Which LPs move, and when: decided by the first worker, before it reports.

use std::sync::Arc;

use warpline_core::{LpId, Stream};

use super::{Move, SETTLED};
use crate::{placement::LpPlace, settings::Balance};

/// Decides which LPs move.
#[derive(Debug)]
pub(super) struct Planner {
    balance: Balance,
    dice: Stream,
    /// The first round in which LPs may move again.
    next: u64,
}

impl Planner {
    pub(super) fn new(balance: Balance, seed: u64) -> Self {
        Self { balance, dice: Stream::for_lp(seed, LpId::new(0)), next: 0 }
    }

    /// The LPs that are to move, announced in this round; `places` says where they are.
    pub(super) fn plan(
        &mut self,
        round: u64,
        places: &[LpPlace],
        workers: usize,
    ) -> Option<Arc<[Move]>> {
        if round < self.next {
            return None;
        }
        let batch = match self.balance {
            Balance::Randomly(share) => self.at_random(share, places, workers),
            Balance::On | Balance::Off => return None,
        };
        self.next = round + SETTLED;
        (!batch.is_empty()).then_some(batch)
    }

    fn at_random(&mut self, share: f64, places: &[LpPlace], workers: usize) -> Arc<[Move]> {
        let dice = &mut self.dice;
        let one = |(lp, place): (usize, &LpPlace)| {
            let to = dice.chance(share).then(|| dice.below(workers as u64) as usize)?;
            (to != place.worker.index()).then_some(Move { lp: LpId::from_index(lp), to })
        };
        places.iter().enumerate().filter_map(one).collect()
    }
}

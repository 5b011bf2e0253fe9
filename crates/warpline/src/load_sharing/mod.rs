//! Load sharing: LPs move to other workers where one worker has more to do than the others.
//!
//! Workers measure how long their LPs take ([`Sampler`]), and the first one looks now and then
//! whether the busiest worker has much more to do than the mean ([`LoadSharing::look`]). If that
//! stays so, the stage ends ([`stages`](crate::stages)), and the next one begins with another
//! placement: the LPs keep their order, from the first LP of the first worker to the last one of
//! the last, and only the borders between workers move ([`borders`]). So LPs that were neighbors
//! mostly stay neighbors, and none moves without need.
//!
//! Nothing here knows models or engines, and time is what the caller says, so the tests play runs
//! without running anything.
//!
//! # References
//!
//! Load as processor time by virtual time, and a balance that moves little: Glazer and Tropper, *On
//! process migration and load balancing in Time Warp*, 1993; Carothers and Fujimoto, *Background
//! execution of Time Warp programs*, 1996.

mod balancer;
mod borders;
mod sampler;

use std::sync::Arc;

use warpline_core::{LpId, Stream};

use crate::{Placement, settings::Balance};
pub(crate) use balancer::{Balancer, MoveStatistics};
pub(crate) use sampler::{Gathered, Loads, Measured, Sampler, is_suspicious, most_by_mean};

/// Measured windows of each worker before the first look of a stage, and between two looks.
const SAMPLES_FIRST: u64 = 12;
const SAMPLES_MORE: u64 = 4;
/// The time between two moves at random, in seconds.
const PERIOD_RANDOM: f64 = 1e-3;

/// Decides when LPs move, and where to.
#[derive(Debug)]
pub(crate) struct LoadSharing {
    balance: Balance,
    /// What the workers of this stage measure.
    loads: Option<Arc<Loads>>,
    workers: usize,
    /// When the stage was asked for, and when its first events were committed; in seconds.
    asked: f64,
    began: Option<f64>,
    /// Measured windows at the last look.
    samples: u64,
    balancer: Balancer,
    /// Whether the stage ends so that LPs can move.
    is_due: bool,
    /// By number of workers: the placement in force, if it is not the user's.
    tables: Vec<(usize, Arc<[u32]>)>,
    dice: Stream,
}

impl LoadSharing {
    pub(crate) fn new(balance: Balance, seed: u64) -> Self {
        Self {
            balance,
            loads: None,
            workers: 1,
            asked: 0.0,
            began: None,
            samples: 0,
            balancer: Balancer::default(),
            is_due: false,
            tables: Vec::new(),
            dice: Stream::for_lp(seed, LpId::new(0)),
        }
    }

    pub(crate) const fn statistics(&self) -> MoveStatistics {
        self.balancer.statistics()
    }

    /// A stage begins with this number of workers, at this time. Returns what its workers
    /// fill in, and the placement if it is not the user's.
    pub(crate) fn begin_stage(
        &mut self,
        workers: usize,
        time: f64,
    ) -> (Option<Arc<Loads>>, Option<Placement>) {
        let loads = self.loads.take();
        if workers > 1
            && workers == self.workers
            && let Some(loads) = loads
        {
            self.replace(&loads, time);
        }
        (self.workers, self.asked, self.began) = (workers, time, None);
        (self.samples, self.is_due) = (0, false);
        self.balancer.begin();
        if workers > 1 && self.balance != Balance::Off {
            self.loads = Some(Arc::new(Loads::new(workers)));
        }
        let table = self.tables.iter().find(|(count, _)| *count == workers);
        (self.loads.clone(), table.map(|(_, table)| Placement::Table(Arc::clone(table))))
    }

    /// Called again and again during a stage, when it has committed events. Returns whether it is
    /// to end, so that LPs can move.
    pub(crate) fn look(&mut self, time: f64) -> bool {
        if !self.is_due && self.finds_cause(time) {
            self.end_stage();
        }
        self.is_due
    }

    /// Whether LPs are to move now, and not before.
    fn finds_cause(&mut self, time: f64) -> bool {
        debug_assert!(!self.is_due, "a cause was found");
        let Some(loads) = &self.loads else { return false };
        let Some(began) = self.began else {
            self.began = Some(time);
            self.balancer.note_handover(time - self.asked);
            return false;
        };
        if let Balance::Randomly(_) = self.balance {
            return time > began + PERIOD_RANDOM;
        }
        let samples = loads.samples();
        let more = if self.samples == 0 { SAMPLES_FIRST } else { SAMPLES_MORE };
        if samples < self.samples + more {
            return false;
        }
        self.samples = samples;
        self.balancer.look(loads.unevenness(), 0.0, time)
    }

    /// Ends the stage so that LPs can move.
    pub(crate) fn end_stage(&mut self) {
        self.loads.iter().for_each(|loads| loads.request());
        self.is_due = true;
    }

    /// Finds another placement, from what the workers of the last stage have measured.
    fn replace(&mut self, loads: &Loads, time: f64) {
        let measured = loads.take();
        if !self.is_due || measured.is_empty() {
            return;
        }
        let old: Vec<u32> = measured.iter().map(|lp| lp.worker).collect();
        let new = if let Balance::Randomly(share) = self.balance {
            let (dice, workers) = (&mut self.dice, self.workers as u64);
            let place = |&old: &u32| {
                if dice.chance(share) { dice.below(workers) as u32 } else { old }
            };
            let new: Vec<u32> = old.iter().map(place).collect();
            self.balancer.note_move(borders::moved(&old, &new));
            new
        } else {
            match self.balancer.place(&measured, (self.workers, 0.0), 0.0, time) {
                Some(new) => new,
                None => return,
            }
        };
        debug_assert!(
            new.iter().all(|&worker| (worker as usize) < self.workers),
            "an LP moves to a worker that there is not"
        );
        debug_assert_eq!(old.len(), new.len(), "an LP has no worker to move to");
        let workers = self.workers;
        self.tables.retain(|(count, _)| *count != workers);
        self.tables.push((workers, new.into()));
    }
}

#[cfg(test)]
mod tests;

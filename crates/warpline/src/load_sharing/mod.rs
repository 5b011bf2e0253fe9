//! Load sharing: LPs move to other workers where one worker has more to do than the others.
//!
//! Workers measure how long their LPs take ([`Sampler`]), and the first one looks now and then
//! whether the busiest worker has much more to do than the mean ([`LoadSharing::look`]). If that
//! stays so, the leg ends ([`legs`](crate::legs)), and the next one begins with another placement:
//! the LPs keep their order, from the first LP of the first worker to the last one of the last, and
//! only the borders between workers move ([`borders`]). So LPs that were neighbors mostly stay
//! neighbors, and none moves without need.
//!
//! Nothing here knows models or engines, and time is what the caller says, so the tests play runs
//! without running anything.
//!
//! # References
//!
//! Load as processor time by virtual time, and a balance that moves little: Glazer and Tropper, *On
//! process migration and load balancing in Time Warp*, 1993; Carothers and Fujimoto, *Background
//! execution of Time Warp programs*, 1996.

mod borders;
mod sampler;

use std::sync::Arc;

use warpline_core::{LpId, Stream};

use crate::{Placement, settings::Balance};
pub(crate) use sampler::{Loads, Sampler};

/// The busiest worker may have this number of times the mean to do.
const UNEVEN: f64 = 1.1;
/// How many looks in a row have to find it so.
const LOOKS: u32 = 3;
/// Measured windows of each worker before the first look of a leg, and between two looks.
const SAMPLES_FIRST: u64 = 12;
const SAMPLES_MORE: u64 = 4;
/// A move is worth its while only if it takes this part off the busiest worker's time.
const GAIN: f64 = 0.05;
/// The time between two moves, in seconds: at the least, and as a multiple of what a hand-over
/// takes. It doubles after each move that gains nothing.
const PERIOD_LEAST: f64 = 5e-3;
const PERIOD_HANDOVERS: f64 = 25.0;
const PATIENCE_MOST: f64 = 256.0;
/// The same where LPs move at random.
const PERIOD_RANDOM: f64 = 1e-3;

/// Decides when LPs move, and where to.
#[derive(Debug)]
pub(crate) struct LoadSharing {
    balance: Balance,
    /// What the workers of this leg measure.
    loads: Option<Arc<Loads>>,
    workers: usize,
    /// When the leg was asked for, and when its first events were committed; in seconds.
    asked: f64,
    began: Option<f64>,
    handover: f64,
    /// Measured windows at the last look, and looks in a row that found the load uneven.
    samples: u64,
    uneven: u32,
    /// Whether the leg ends because of that.
    is_due: bool,
    /// When LPs moved last, and by which factor the next time has to wait longer.
    moved_at: f64,
    patience: f64,
    /// By number of workers: the placement in force, if it is not the user's.
    tables: Vec<(usize, Arc<[u32]>)>,
    dice: Stream,
    told: Told,
}

/// What the report says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Told {
    pub(crate) moves: u64,
    pub(crate) moved_lps: u64,
    /// The load of the busiest worker by the mean: before the first move, and as of the last look.
    pub(crate) before: f64,
    pub(crate) after: f64,
}

impl Told {
    /// What the report says, if LPs moved.
    pub(crate) fn remark(&self) -> Option<String> {
        if self.moves == 0 {
            return None;
        }
        let plural = if self.moves == 1 { "" } else { "s" };
        let by_mean = if self.before > 0.0 {
            format!(
                ": the busiest worker had {:.2} times the mean to do before, and {:.2} times at \
                 the end",
                self.before, self.after
            )
        } else {
            String::new()
        };
        let Self { moves, moved_lps, .. } = self;
        Some(format!("load sharing moved {moved_lps} LPs in {moves} step{plural}{by_mean}"))
    }
}

impl LoadSharing {
    pub(crate) fn new(balance: Balance, seed: u64) -> Self {
        Self {
            balance,
            loads: None,
            workers: 1,
            asked: 0.0,
            began: None,
            handover: 0.0,
            samples: 0,
            uneven: 0,
            is_due: false,
            moved_at: 0.0,
            patience: 1.0,
            tables: Vec::new(),
            dice: Stream::for_lp(seed, LpId::new(0)),
            told: Told::default(),
        }
    }

    pub(crate) const fn told(&self) -> Told {
        self.told
    }

    /// A leg begins with this number of workers, at this time. Returns what its workers
    /// fill in, and the placement if it is not the user's.
    pub(crate) fn begin_leg(
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
        (self.samples, self.uneven, self.is_due) = (0, 0, false);
        if workers > 1 && self.balance != Balance::Off {
            self.loads = Some(Arc::new(Loads::new(workers)));
        }
        let table = self.tables.iter().find(|(count, _)| *count == workers);
        (self.loads.clone(), table.map(|(_, table)| Placement::Table(Arc::clone(table))))
    }

    /// Called again and again during a leg, when it has committed events. Returns whether it is to
    /// end, so that LPs can move.
    pub(crate) fn look(&mut self, time: f64) -> bool {
        let Some(loads) = &self.loads else { return false };
        if self.is_due {
            return true;
        }
        let Some(began) = self.began else {
            self.began = Some(time);
            self.handover = time - self.asked;
            return false;
        };
        if let Balance::Randomly(_) = self.balance {
            self.is_due = time > began + PERIOD_RANDOM;
            return self.is_due;
        }
        let samples = loads.samples();
        let more = if self.samples == 0 { SAMPLES_FIRST } else { SAMPLES_MORE };
        if samples < self.samples + more {
            return false;
        }
        self.samples = samples;
        self.told.after = loads.unevenness();
        self.uneven = if self.told.after > UNEVEN { self.uneven + 1 } else { 0 };
        let period = PERIOD_LEAST.max(PERIOD_HANDOVERS * self.handover) * self.patience;
        self.is_due = self.uneven >= LOOKS && time - self.moved_at > period;
        self.is_due
    }

    /// Ends the leg so that LPs can move.
    #[cfg(test)]
    pub(crate) const fn end_leg(&mut self) {
        self.is_due = true;
    }

    /// Finds another placement, from what the workers of the last leg have measured.
    fn replace(&mut self, loads: &Loads, time: f64) {
        let measured = loads.take();
        if !self.is_due || measured.is_empty() {
            return;
        }
        self.moved_at = time;
        let old: Vec<u32> = measured.iter().map(|lp| lp.worker).collect();
        let new = if let Balance::Randomly(share) = self.balance {
            let (dice, workers) = (&mut self.dice, self.workers as u64);
            let place = |&old: &u32| {
                if dice.chance(share) { dice.below(workers) as u32 } else { old }
            };
            old.iter().map(place).collect()
        } else {
            let borders = borders::shift(&measured, self.workers);
            let (before, after) = (
                borders::unevenness(&measured, &old, self.workers),
                borders::unevenness(&measured, &borders, self.workers),
            );
            if after > (1.0 - GAIN) * before {
                self.patience = (2.0 * self.patience).min(PATIENCE_MOST);
                return;
            }
            self.patience = 1.0;
            if self.told.moves == 0 {
                self.told.before = before;
            }
            borders
        };
        self.told.moves += 1;
        self.told.moved_lps += old.iter().zip(&new).filter(|(old, new)| old != new).count() as u64;
        let workers = self.workers;
        self.tables.retain(|(count, _)| *count != workers);
        self.tables.push((workers, new.into()));
    }
}

#[cfg(test)]
mod tests;

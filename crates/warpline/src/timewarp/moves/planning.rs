//! Which LPs move, and when: decided by the first worker, before it reports.
//!
//! With `--balance on`, it looks now and then at what the workers have committed since the last
//! look. If one of them has much more to do than the mean, LPs are measured for a while, hand in
//! what they have done, and move if that gains enough ([`Balancer`]). Each step is announced with a
//! report, as moves are.

use std::{sync::Arc, time::Instant};

use warpline_core::{LpId, Model, Stream};

use super::{HAND_IN, MEASURE, MOVES, Move, SETTLED, SharedMoves};
use crate::{
    load_sharing::{Balancer, Measured, MoveStatistics, most_by_mean},
    placement::LpPlace,
    settings::Balance,
};

/// The busiest worker may have this number of times the mean to do: more than with windows, because
/// LPs that have moved lie scattered in memory, and a worker that waits is behind no barrier.
const EVEN_TO: f64 = 1.2;
/// What it takes to move an LP, in seconds of each worker, as long as none has moved. (Measured:
/// 2.6 us of all workers for a state with a queue; with 76 076 LPs, most of them without an event
/// at the start, a first step of 16 158 LPs took a fifth of a run of 0.2 s.)
const MOVE_FIRST: f64 = 1.3e-6;

/// Decides which LPs move.
#[derive(Debug)]
pub(in crate::timewarp) struct Planner {
    balance: Balance,
    dice: Stream,
    /// The first round in which something is to be decided.
    next: u64,
    balancer: Balancer,
    stage: Stage,
    /// When the stage began, in seconds.
    since: f64,
    /// What each worker had committed then: events, and the nanoseconds that they took.
    seen: Vec<(u64, f64)>,
    /// Nanoseconds that moves had taken before the last one, and LPs that had moved.
    spent: u64,
    moved: u64,
    /// Seconds of each worker that the last move took for an LP.
    each: f64,
    pace: Pace,
}

/// What the planner is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// LPs have just moved, or the run begins.
    Begins,
    /// It looks whether a worker has too much to do.
    Looks,
    /// What LPs have to do is measured.
    Measures,
    /// The LPs' loads are handed in.
    Gathers,
}

/// How much has to be seen before something is decided.
#[derive(Clone, Copy, Debug)]
struct Pace {
    clock: Clock,
    /// Between two looks: events of all workers, and seconds.
    look: (u64, f64),
    /// In a measurement.
    measure: (u64, f64),
    /// Seconds after which fewer events are enough.
    most: f64,
    /// The part that chance adds to the load of a worker with one event, as far as it counts.
    noise: f64,
}

#[derive(Clone, Copy, Debug)]
enum Clock {
    Since(Instant),
    /// A round of GVT is a millisecond, so that a run repeats itself.
    #[cfg(test)]
    Rounds,
}

impl Pace {
    /// Chance lets a load of so many events vary by their square root; twice that is rare, and in
    /// three looks in a row more so.
    fn new() -> Self {
        Self {
            clock: Clock::Since(Instant::now()),
            look: (16_384, 1e-3),
            measure: (32_768, 0.0),
            most: 0.1,
            noise: 2.0,
        }
    }

    fn time(&self, _round: u64) -> f64 {
        match self.clock {
            Clock::Since(start) => start.elapsed().as_secs_f64(),
            #[cfg(test)]
            Clock::Rounds => 1e-3 * _round as f64,
        }
    }

    fn is_enough(&self, (least, seconds): (u64, f64), events: u64, spent: f64) -> bool {
        events > 0 && spent >= seconds && (events >= least || spent >= self.most)
    }
}

/// What the planner decides for a round: the notes of the report, and moves if there are any.
pub(super) type Decision = (u64, Option<Arc<[Move]>>);

impl Planner {
    pub(in crate::timewarp) fn new(balance: Balance, seed: u64) -> Self {
        Self {
            balance,
            dice: Stream::for_lp(seed, LpId::new(0)),
            next: 0,
            balancer: Balancer::beyond(EVEN_TO),
            stage: Stage::Begins,
            since: 0.0,
            seen: Vec::new(),
            spent: 0,
            moved: 0,
            each: MOVE_FIRST,
            pace: Pace::new(),
        }
    }

    /// A planner that moves LPs at the least occasion, in a run that repeats itself.
    #[cfg(test)]
    pub(in crate::timewarp) fn hasty(seed: u64) -> Self {
        let (clock, look, measure) = (Clock::Rounds, (1, 0.0), (1, 0.0));
        let pace = Pace { clock, look, measure, most: 0.0, noise: 0.0 };
        Self { pace, ..Self::new(Balance::On, seed) }
    }

    pub(in crate::timewarp) const fn statistics(&self) -> MoveStatistics {
        self.balancer.statistics()
    }

    /// Decides what this round announces; `places` says where LPs are.
    pub(in crate::timewarp) fn decide<M: Model>(
        &mut self,
        round: u64,
        places: &[LpPlace],
        moves: &SharedMoves<M>,
    ) -> Decision {
        if round < self.next {
            return (0, None);
        }
        match self.balance {
            Balance::Off => (0, None),
            Balance::On => self.share(round, moves),
            Balance::Randomly(share) => {
                let batch = self.at_random(share, places, moves.workers());
                if !batch.is_empty() {
                    self.balancer.note_move(batch.len());
                }
                self.announce(round, batch)
            }
        }
    }

    fn announce(&mut self, round: u64, batch: Vec<Move>) -> Decision {
        debug_assert!(
            batch.is_sorted_by(|one, next| one.lp < next.lp),
            "MOVE-B: an LP would move twice: {batch:?}"
        );
        (self.next, self.stage) = (round + SETTLED, Stage::Begins);
        if batch.is_empty() { (0, None) } else { (MOVES, Some(batch.into())) }
    }

    fn at_random(&mut self, share: f64, places: &[LpPlace], workers: usize) -> Vec<Move> {
        let dice = &mut self.dice;
        let one = |(lp, place): (usize, &LpPlace)| {
            let to = dice.chance(share).then(|| dice.below(workers as u64) as usize)?;
            (to != place.worker.index()).then_some(Move { lp: LpId::from_index(lp), to })
        };
        places.iter().enumerate().filter_map(one).collect()
    }

    /// One step of load sharing.
    fn share<M: Model>(&mut self, round: u64, moves: &SharedMoves<M>) -> Decision {
        let time = self.pace.time(round);
        let (committed, workers) = (moves.committed(), moves.workers());
        debug_assert!(
            self.seen.is_empty() || self.seen.len() == workers,
            "a worker was not looked at"
        );
        let since = committed.zip(&self.seen).map(|(now, seen)| (now.0 - seen.0, now.1 - seen.1));
        let events: u64 = since.clone().map(|(events, _)| events).sum();
        let noise = self.pace.noise * (workers as f64 / events.max(1) as f64).sqrt();
        match self.stage {
            Stage::Begins => {
                self.note_move(moves.spent(), workers);
                self.enter(Stage::Looks, time, moves);
            }
            Stage::Looks if self.pace.is_enough(self.pace.look, events, time - self.since) => {
                let busiest = most_by_mean(since.map(|(_, nanoseconds)| nanoseconds));
                let uneven = self.balancer.look(busiest, noise, time);
                self.enter(if uneven { Stage::Measures } else { Stage::Looks }, time, moves);
                return (if uneven { MEASURE } else { 0 }, None);
            }
            Stage::Measures
                if self.pace.is_enough(self.pace.measure, events, time - self.since) =>
            {
                // All have handed in before they report in the next round.
                (self.next, self.stage) = (round + 2, Stage::Gathers);
                return (HAND_IN, None);
            }
            Stage::Gathers => {
                let batch = self.better_places(&moves.gathered.take(), workers, noise, time);
                return self.announce(round, batch);
            }
            Stage::Looks | Stage::Measures => {}
        }
        (0, None)
    }

    /// The last move is over: moves have taken so many nanoseconds of all workers by now.
    fn note_move(&mut self, spent: u64, workers: usize) {
        let took = (spent - self.spent) as f64 * 1e-9 / workers as f64;
        self.balancer.note_handover(took);
        self.balancer.begin();
        let moved = self.balancer.statistics().moved_lps;
        if moved > self.moved {
            self.each = took / (moved - self.moved) as f64;
        }
        (self.spent, self.moved) = (spent, moved);
    }

    fn enter<M: Model>(&mut self, stage: Stage, time: f64, moves: &SharedMoves<M>) {
        (self.stage, self.since) = (stage, time);
        self.seen.clear();
        self.seen.extend(moves.committed());
    }

    fn better_places(
        &mut self,
        measured: &[Measured],
        workers: usize,
        noise: f64,
        time: f64,
    ) -> Vec<Move> {
        let Some(table) = self.balancer.place(measured, (workers, self.each), noise, time) else {
            return Vec::new();
        };
        debug_assert_eq!(measured.len(), table.len(), "an LP was measured and has no place");
        let moved = |(lp, (old, &new)): (usize, (&Measured, &u32))| {
            (old.worker != new).then_some(Move { lp: LpId::from_index(lp), to: new as usize })
        };
        measured.iter().zip(&table).enumerate().filter_map(moved).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::simulated::model::Toy;

    /// Rounds of a run in which each LP has the same to do in every round. Returns how many LPs
    /// moved in each batch, and the load of the busiest worker by the mean in the end.
    fn play(loads: &[f64], workers: usize, rounds: u64) -> (Vec<usize>, f64) {
        let moves = SharedMoves::<Toy>::new(workers);
        let mut planner = Planner::hasty(1);
        let mut table: Vec<usize> = (0..loads.len()).map(|lp| lp * workers / loads.len()).collect();
        let (mut batches, mut total) = (Vec::new(), vec![0.0; workers]);
        let of = |table: &[usize], worker: usize| {
            let lps = loads.iter().zip(table).filter(|(_, place)| **place == worker);
            lps.map(|(load, _)| load).sum::<f64>()
        };
        for round in 1..=rounds {
            for (worker, total) in total.iter_mut().enumerate() {
                *total += of(&table, worker);
                moves.loads[worker].set(round, *total);
            }
            let (notes, batch) = planner.decide(round, &[], &moves);
            if notes & HAND_IN != 0 {
                for worker in 0..workers {
                    let lps = (0..loads.len()).filter(|&lp| table[lp] == worker);
                    let each = lps.map(|lp| (LpId::from_index(lp), loads[lp]));
                    moves.gathered.put(worker, each);
                }
            }
            if let Some(batch) = batch {
                assert_eq!(notes, MOVES);
                batches.push(batch.len());
                batch.iter().for_each(|one| table[one.lp.index()] = one.to);
            }
        }
        let busiest = (0..workers).map(|worker| of(&table, worker)).collect::<Vec<_>>();
        (batches, most_by_mean(busiest.into_iter()))
    }

    proptest! {
        /// An uneven load becomes even, and what is even stays.
        #[test]
        fn a_load_becomes_even(
            workers in 2_usize..6,
            loads in prop::collection::vec(1.0..20.0_f64, 200..400),
            busy in 1.0..20.0_f64,
        ) {
            let part = loads.len() / 3;
            let load = |(lp, load): (usize, &f64)| if lp < part { busy * load } else { *load };
            let loads: Vec<_> = loads.iter().enumerate().map(load).collect();
            let (batches, busiest) = play(&loads, workers, 400);
            prop_assert!(busiest < 1.25 && batches.len() <= 2, "{}, {:?}", busiest, batches);
        }
    }

    /// A balanced run does not move, and one that cannot be balanced stops trying.
    #[test]
    fn what_moves_would_not_gain_stays() {
        assert!(play(&[1.0; 300], 3, 500).0.is_empty());
        let mut one = [1.0; 100];
        one[0] = 1000.0;
        assert!(play(&one, 2, 3000).0.len() <= 1);
    }
}

//! A set-associative store of numbers, which are lines or pages: which it holds, and which one is
//! evicted.
//!
//! Each worker of a [`Machine`](super::Machine) has one for its pages, and one for the lines of its
//! cache.
//!
//! # Invariants
//!
//! - **SETS-A.** In each set the numbers come first and the empty places last, and no number is
//!   there twice.
//! - **SETS-B.** The numbers of a set are in the order of their last use, the latest first.

use warpline::{LpId, Stream};

use super::{Geometry, Replacement};

/// An empty place. No line has this number: there are fewer of them ([`super::LINES_MAX`]).
const EMPTY: u32 = u32::MAX;

/// The outcome of [`Sets::touch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    /// The number was in its set.
    Present,
    /// It was not, and has taken an empty place.
    Added,
    /// It was not, and has taken the place of this one.
    Replaced(u32),
}

/// Numbers in sets, each set in the order of last use.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    places: Vec<u32>,
    geometry: Geometry,
    /// Chooses which number is evicted; without it, the least recently used one is.
    random: Option<Stream>,
}

impl Sets {
    pub(super) fn new(geometry: Geometry, replacement: Replacement, worker: u32) -> Self {
        let random = match replacement {
            Replacement::Lru => None,
            Replacement::Random(seed) => Some(Stream::for_lp(seed, LpId::new(worker))),
        };
        Self { places: vec![EMPTY; geometry.places() as usize], geometry, random }
    }

    fn set(&mut self, number: u32) -> &mut [u32] {
        let ways = self.geometry.ways as usize;
        let begin = (number % self.geometry.sets) as usize * ways;
        &mut self.places[begin..begin + ways]
    }

    /// Makes `number` the latest in use, and evicts another one if its set is full.
    pub(super) fn touch(&mut self, number: u32) -> Touched {
        let ways = u64::from(self.geometry.ways);
        let set = self.set(number);
        if let Some(place) = set.iter().position(|&other| other == number || other == EMPTY) {
            let touched = if set[place] == number { Touched::Present } else { Touched::Added };
            set.copy_within(..place, 1);
            set[0] = number;
            return touched;
        }
        let place = match &mut self.random {
            None => ways - 1,
            Some(random) => random.below(ways),
        } as usize;
        let set = self.set(number);
        let leaves = set[place];
        set.copy_within(..place, 1);
        set[0] = number;
        Touched::Replaced(leaves)
    }

    /// Removes `number`, if it is in its set.
    pub(super) fn remove(&mut self, number: u32) {
        let set = self.set(number);
        if let Some(place) = set.iter().position(|&other| other == number) {
            set.copy_within(place + 1.., place);
            set[set.len() - 1] = EMPTY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SETS-A and SETS-B, after touches and removals that fill, overflow and empty the sets.
    #[test]
    fn sets_are_in_order_of_use() {
        let mut sets = Sets::new(Geometry { sets: 2, ways: 3 }, Replacement::Lru, 0);
        let mut used: [Vec<u32>; 2] = Default::default();
        let random = Stream::for_lp(1, LpId::new(0));
        for _ in 0..1_000 {
            let number = random.below(10) as u32;
            let model = &mut used[number as usize % 2];
            model.retain(|&other| other != number);
            if random.below(4) == 0 {
                sets.remove(number);
            } else {
                sets.touch(number);
                model.insert(0, number);
                model.truncate(3);
            }
            for (set, numbers) in used.iter().enumerate() {
                let mut places = numbers.clone();
                places.resize(3, EMPTY);
                assert_eq!(sets.set(set as u32), places, "SETS-A, SETS-B: after {number}");
            }
        }
    }
}

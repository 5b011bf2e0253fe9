//! A set-associative store of numbers, of lines or of pages: which are here, and which one leaves.
//!
//! Each worker of a [`Machine`](super::Machine) has one for its pages, and one for the lines of its
//! cache.
//!
//! # Invariants
//!
//! - **SETS-A.** In each set the numbers come first and the empty places last, and a number is
//!   there once.
//! - **SETS-B.** The numbers of a set are in the order of their last use, the latest first.

use warpline::{LpId, Stream};

use super::{Geometry, Replacement};

/// An empty place. No line has this number: there are fewer of them ([`super::LINES_MAX`]).
const EMPTY: u32 = u32::MAX;

/// What [`Sets::touch`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touched {
    /// The number was here.
    Present,
    /// It was not, and has taken an empty place.
    Added,
    /// It was not, and has taken the place of this one.
    Replaced(u32),
}

/// Numbers in sets; see the module.
#[derive(Clone, Debug)]
pub(super) struct Sets {
    places: Vec<u32>,
    geometry: Geometry,
    /// Chooses who leaves; without it, the least recently used does.
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

    /// Makes `number` the latest in use, and says what that took.
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

    /// Removes `number`, if it is here.
    pub(super) fn remove(&mut self, number: u32) {
        let set = self.set(number);
        if let Some(place) = set.iter().position(|&other| other == number) {
            set.copy_within(place + 1.., place);
            set[set.len() - 1] = EMPTY;
        }
    }
}

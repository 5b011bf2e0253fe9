//! Who is tried next, and what that may lose.
//!
//! Called by [`Choice`] after a slice of the incumbent.

use super::{
    Choice, FIRST_ALONE, LIMIT,
    known::{Known, WINDOW_LEAST, WINDOW_NARROW},
};

impl Choice {
    pub(super) fn others(&self) -> impl Iterator<Item = usize> {
        let is_other = |&number: &usize| number != self.incumbent && !self.known[number].is_barred;
        (0..self.known.len()).filter(is_other)
    }

    /// Of the others, the one that was fastest when it ran last; and which rate the incumbent needs
    /// to be as good.
    pub(super) fn fastest_other(&self) -> Option<(usize, f64)> {
        let needed = |number: usize| {
            let Known { rate, density, has_windows, .. } = self.known[number];
            let gain = if has_windows { self.density.gain_since(density) } else { 1.0 };
            rate.map(|rate| (number, gain * rate / self.win(number)))
        };
        self.others().filter_map(needed).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The candidate that is to be tried now, if any, and what that may lose.
    pub(super) fn challenger(&self) -> Option<(usize, f64)> {
        let best = self.known[self.incumbent].rate.filter(|&best| best > 0.0)?;
        if self.prefers_first && self.time < FIRST_ALONE && !self.is_in_a_hurry() {
            return None;
        }
        // If it is faster no more, that will be known.
        if let Some((fastest, _)) = self.fastest_other()
            && self.lag.pays_for(self.way(fastest))
        {
            return Some((fastest, LIMIT * self.cost(fastest, best)));
        }
        let is_untried = |number: usize| self.known[number].rate.is_none();
        // Who has narrow windows comes after all who have not.
        let comes_first = self.able(best, WINDOW_NARROW).any(is_untried);
        let narrow = if comes_first { WINDOW_NARROW } else { WINDOW_LEAST };
        let is_worth = |&number: &usize| {
            let is_due = self.known[number].due <= self.time;
            is_due && self.cost(number, best) < self.worth(number) * self.left_for(number)
        };
        let affordable = self.able(best, narrow).filter(is_worth);
        // One that was never tried has waited longest.
        let due = |number: usize| self.known[number].due;
        let next = affordable.min_by(|&a, &b| due(a).total_cmp(&due(b)))?;
        Some((next, self.limit_of(next, best)))
    }

    /// The others that may be faster than the `best`, with windows that are not too narrow.
    fn able(&self, best: f64, narrow: f64) -> impl Iterator<Item = usize> {
        self.others().filter(move |&number| {
            let known = &self.known[number];
            known.may_reach(best, &self.hints, self.is_alone())
                && !known.is_narrower(narrow, best, self.density.now())
        })
    }
}

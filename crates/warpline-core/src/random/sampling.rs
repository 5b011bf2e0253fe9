//! Draws among things, and orders of them.

use super::Stream;

impl Stream {
    /// One of `items`, each with the same probability; none if there are none.
    #[inline]
    pub fn choice<'a, T>(&self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u64) as usize)
    }

    /// Brings `items` into a random order, each with the same probability.
    ///
    /// # References
    ///
    /// R. Durstenfeld, *Algorithm 235: Random Permutation*, Communications of the ACM 7, 1964.
    pub fn shuffle<T>(&self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end as u64 + 1) as usize);
        }
    }

    /// The numbers from 0 to `n - 1` in a random order: what [`shuffle`](Self::shuffle) makes of
    /// them.
    #[must_use]
    pub fn permutation(&self, n: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..n).collect();
        self.shuffle(&mut numbers);
        numbers
    }
}

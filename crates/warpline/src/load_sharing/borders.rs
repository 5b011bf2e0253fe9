//! A placement whose workers have about the same to do, near to the one before it.

use super::sampler::{Measured, most_by_mean};

/// Moves the borders between workers, in the order of the workers and then of their LPs. An LP goes
/// to the worker in whose share the middle of its load is.
pub(super) fn shift(lps: &[Measured], workers: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..lps.len()).collect();
    // Stable: LPs of a worker stay in the order of their numbers.
    order.sort_by_key(|&lp| lps[lp].worker);
    // An LP that has done nothing so far may do something later.
    debug_assert!(workers > 0, "there is nobody to share the load");
    let total: f64 = lps.iter().map(|lp| lp.load).sum();
    let least = 0.01 * total / lps.len().max(1) as f64;
    let load = |lp: usize| lps[lp].load + least;
    let share = (total + least * lps.len() as f64) / workers as f64;
    let mut table = vec![0; lps.len()];
    let mut before = 0.0;
    for lp in order {
        let middle = before + load(lp) / 2.0;
        before += load(lp);
        let worker = if share > 0.0 { (middle / share) as usize } else { lps[lp].worker as usize };
        table[lp] = worker.min(workers - 1) as u32;
    }
    table
}

/// How many LPs another table places elsewhere.
pub(super) fn moved(old: &[u32], new: &[u32]) -> usize {
    debug_assert_eq!(old.len(), new.len(), "an LP is placed nowhere");
    old.iter().zip(new).filter(|(old, new)| old != new).count()
}

/// The load of the busiest worker by the mean.
pub(super) fn unevenness(lps: &[Measured], table: &[u32], workers: usize) -> f64 {
    debug_assert_eq!(lps.len(), table.len(), "an LP is placed nowhere");
    let mut loads = vec![0.0; workers];
    lps.iter().zip(table).for_each(|(lp, &worker)| loads[worker as usize] += lp.load);
    most_by_mean(loads.iter().copied())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn measured(loads: &[f64], workers: usize) -> Vec<Measured> {
        let place = |lp: usize| (lp * workers / loads.len()) as u32;
        loads.iter().enumerate().map(|(lp, &load)| Measured { worker: place(lp), load }).collect()
    }

    proptest! {
        /// No worker has more than its share and the largest LP, and LPs keep their order.
        #[test]
        fn shares_are_even(
            loads in prop::collection::vec(0.0..100.0_f64, 1..200),
            workers in 1_usize..9,
        ) {
            let lps = measured(&loads, workers);
            let table = shift(&lps, workers);
            prop_assert!(table.is_sorted(), "{:?}", table);
            prop_assert!(table.iter().all(|&worker| (worker as usize) < workers));
            let total: f64 = loads.iter().sum();
            let largest = loads.iter().copied().fold(0.0, f64::max);
            let most = unevenness(&lps, &table, workers) * total / workers as f64;
            let share = total / workers as f64;
            prop_assert!(most <= 1.02 * (share + largest), "{} of {}", most, total);
        }

        /// A placement that is even moves no LP.
        #[test]
        fn what_is_even_stays(each in 1_usize..50, workers in 1_usize..9, load in 0.1..10.0_f64) {
            let lps = measured(&vec![load; each * workers], workers);
            let old: Vec<u32> = lps.iter().map(|lp| lp.worker).collect();
            prop_assert_eq!(shift(&lps, workers), old);
        }
    }

    /// A busy half gives to the other one, and the LPs that move are those at the border.
    #[test]
    fn a_busy_half_gives() {
        let mut loads = [1.0; 100];
        loads[..50].fill(3.0);
        let table = shift(&measured(&loads, 2), 2);
        let first = table.iter().position(|&worker| worker == 1);
        assert_eq!(first, Some(33), "33 of the 50 busy ones are a half of all there is to do");
    }
}

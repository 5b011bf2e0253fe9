//! Where the beginning of a run ends that is not typical of what follows: the *warm-up*.
//!
//! A model begins with empty queues and idle servers, so the results of its first intervals are
//! biased. [`WarmUp::of`] says how many of them to leave out, from the results of successive
//! [`Intervals`](crate::Intervals) of one run, or from the means over several runs, which are
//! smoother. Called by commands and by programs that analyze their output.
//!
//! # References
//!
//! - K. P. White Jr.: *An effective truncation heuristic for bias reduction in simulation output*,
//!   Simulation 69(6), 1997 (MSER).
//! - K. P. White Jr., M. J. Cobb, S. C. Spratt: *A comparison of five steady-state truncation
//!   heuristics for simulation*, Winter Simulation Conference 2000 (batches of five: MSER-5).
//! - K. Hoad, S. Robinson, R. Davies: *Automating warm-up length estimation*, Journal of the
//!   Operational Research Society 61, 2010 (which results to trust).

/// Observations that are taken together: they are less noisy, and depend less on each other.
const BATCH: usize = 5;
/// Batches at the end that are never left out: the spread of fewer is small by chance.
const LAST: usize = 5;

/// The fewest observations that may have a warm-up that can be found.
pub const OBSERVATIONS_MIN: usize = BATCH * 2 * LAST;

/// The beginning of a series of observations that is to be left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmUp {
    /// How many observations to leave out.
    pub left_out: usize,
    /// The mean of the others.
    pub mean: f64,
}

impl WarmUp {
    /// The warm-up of a series by MSER-5: what is left has the narrowest confidence interval of its
    /// mean, by batches of five observations.
    ///
    /// Nothing if the series is too short for that: more than half of it would be left out, or
    /// there are fewer than ten batches. Observations at the beginning that are NaN belong to the
    /// warm-up, and others that are NaN do not count.
    #[must_use]
    pub fn of(observations: &[f64]) -> Option<Self> {
        let nothing = observations.iter().take_while(|observation| observation.is_nan()).count();
        let batches: Vec<f64> = observations[nothing..].chunks_exact(BATCH).map(mean).collect();
        let first = most_precise(&batches)?;
        let is_long_enough = batches.len() >= 2 * LAST && 2 * first <= batches.len();
        let left_out = nothing + first * BATCH;
        is_long_enough.then(|| Self { left_out, mean: mean(&observations[left_out..]) })
    }
}

/// The batch from which on the standard error of the mean is the least, and the first of those: a
/// series that does not vary has no warm-up. Nothing if there are too few.
///
/// From the last batch on, so that each is looked at once: the sum of squares grows by
/// B. P. Welford's formula (*Note on a method for calculating corrected sums of squares and
/// products*, Technometrics 4(3), 1962).
fn most_precise(batches: &[f64]) -> Option<usize> {
    let last = batches.len().checked_sub(LAST)?;
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best: Option<(usize, f64)> = None;
    for (first, &batch) in batches.iter().enumerate().rev() {
        if !batch.is_nan() {
            count += 1.0;
            let before = batch - mean;
            mean += before / count;
            squares += before * (batch - mean);
        }
        let error = squares / (count * count);
        if first <= last && best.is_none_or(|(_, least)| error <= least) {
            best = Some((first, error));
        }
    }
    best.map(|(first, _)| first)
}

/// The mean of those that are numbers; NaN if none is.
#[must_use]
pub fn mean(observations: &[f64]) -> f64 {
    let known = || observations.iter().filter(|observation| !observation.is_nan());
    known().sum::<f64>() / known().count() as f64
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::WarmUp;

    fn left_out(observations: &[f64]) -> Option<usize> {
        WarmUp::of(observations).map(|warm_up| warm_up.left_out)
    }

    /// By hand: batches of 10, 0, 4, 2, 3, 3, 3, 3, 3, 3. Without the first four nothing varies.
    #[test]
    fn warm_up_by_hand() {
        let batches = [10.0, 0.0, 4.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0];
        let observations: Vec<f64> = batches.iter().flat_map(|&batch| [batch; 5]).collect();
        assert_eq!(WarmUp::of(&observations), Some(WarmUp { left_out: 20, mean: 3.0 }));
        // What is missing at the beginning is left out as well.
        let later = [&[f64::NAN; 3][..], &observations].concat();
        assert_eq!(left_out(&later), Some(23));
        // What is missing in between does not count.
        let mut gaps = observations.clone();
        gaps[30..35].fill(f64::NAN);
        gaps[42] = f64::NAN;
        assert_eq!(left_out(&gaps), Some(20));
        // A warm-up that is longer than half the series may as well be longer than the series.
        assert_eq!(left_out(&observations[5..]), None);
        assert_eq!(left_out(&[1.0; 49]), None);
        assert_eq!(left_out(&[]), None);
    }

    /// Each observation is looked at a few times, however many there are.
    #[test]
    fn long_series_are_no_trouble() {
        let mut series: Vec<f64> = (0..1_000_000).map(|n| f64::from(n % 5)).collect();
        series[..5000].fill(1e6);
        assert_eq!(left_out(&series), Some(5000));
    }

    proptest! {
        /// The unit of a result and its sign do not matter.
        #[test]
        fn units_do_not_matter(noise in vec(-8i32..8, 60..90), bias in 0i32..1000) {
            let series = |unit: f64| -> Vec<f64> {
                let biased = noise.iter().enumerate();
                let number = |(n, &noise): (usize, &i32)| noise + bias / (1 << (n / 4).min(20));
                // A power of two changes no digit of any number.
                biased.map(|pair| unit * f64::from(number(pair))).collect()
            };
            prop_assert_eq!(left_out(&series(1.0)), left_out(&series(-4.0)));
        }

        /// A beginning far from what follows is left out.
        #[test]
        fn a_biased_beginning_is_left_out(
            noise in vec(-1.0..1.0f64, 200),
            biased in 1usize..40,
        ) {
            let mut series = noise;
            series[..biased].iter_mut().for_each(|observation| *observation += 50.0);
            let found = left_out(&series);
            prop_assert!(found.is_none_or(|found| found >= biased), "{found:?} of {biased}");
        }
    }
}

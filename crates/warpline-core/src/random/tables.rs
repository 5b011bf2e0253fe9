//! Distributions that are made of numbers given by the model, once, and drawn from in handlers.

use std::hint::select_unpredictable;

use super::{Stream, split};

/// What a uniform number of 53 bits is below with certainty: 2^53 steps.
const WHOLE: u64 = 1 << 53;

/// Numbers of which no distribution can be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// There are none.
    #[error("there are no numbers: a distribution needs one at least")]
    Empty,
    /// One is negative, infinite or NaN.
    #[error("number {index} is {value}, but {must}")]
    Value {
        /// Its place, from 0 on.
        index: usize,
        /// What it is.
        value: f64,
        /// What it must be, in words.
        must: &'static str,
    },
    /// All weights are 0.
    #[error("all weights are 0: one must be above 0")]
    AllZero,
    /// Observations so far apart that their distance is no `f64`.
    #[error("the distance from {least} to {greatest} is infinite")]
    TooFarApart {
        /// The least observation.
        least: f64,
        /// The greatest.
        greatest: f64,
    },
}

/// Any distribution of the numbers from 0 to n - 1, as a table that takes one random number and
/// the same time for any n: [`Stream::discrete`] draws from it.
///
/// ```
/// # use warpline_core::{Discrete, LpId, Stream};
/// let routes = Discrete::new(&[0.5, 0.3, 0.2]).expect("three weights");
/// let route = Stream::for_lp(1, LpId::new(0)).discrete(&routes);
/// assert!(route < 3);
/// ```
///
/// # References
///
/// A. J. Walker, *An Efficient Method for Generating Discrete Random Variables with General
/// Distributions*, ACM Transactions on Mathematical Software 3, 1977, with the table made as by M.
/// D. Vose, *A Linear Algorithm for Generating Random Numbers with a Given Distribution*, IEEE
/// Transactions on Software Engineering 17, 1991, in whole numbers. So what is drawn has the
/// probability of its weight, rounded to a multiple of 2<sup>-53</sup>/n.
#[derive(Clone, Debug, PartialEq)]
pub struct Discrete {
    /// Of each column, the part that is its own, and the number that the rest belongs to.
    columns: Box<[[f64; 2]]>,
}

impl Discrete {
    /// The distribution in which each number has a probability in proportion to its weight.
    ///
    /// # Errors
    ///
    /// There are no weights, one is negative, infinite or NaN, or all are 0.
    pub fn new(weights: &[f64]) -> Result<Self, TableError> {
        let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
        check(weights, is_weight, "a weight is finite and not negative")?;
        let (largest, &maximum) = weights
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .ok_or(TableError::Empty)?;
        if maximum == 0.0 {
            return Err(TableError::AllZero);
        }
        // As multiples of the largest, so that no sum overflows, and no weight is too small.
        let columns = columns(weights.iter().map(|weight| weight / maximum).collect(), largest);
        Ok(Self { columns })
    }

    /// How many numbers there are: from 0 to one less.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// The table: for each column the part that is its own, from 0 to 1, and the number that the
    /// rest belongs to. The high half of 64 random bits times the number of columns is a column;
    /// the highest 53 bits of the low half, as a number below 1, are compared with its own part.
    #[must_use]
    pub fn columns(&self) -> &[[f64; 2]] {
        &self.columns
    }
}

/// The columns of an alias table, for weights of which the `largest` is 1.
fn columns(weights: Vec<f64>, largest: usize) -> Box<[[f64; 2]]> {
    let total = sum(&weights);
    let n = weights.len();
    let steps = n as f64 * WHOLE as f64;
    // In steps, of which each column has `WHOLE`: all that follows is exact.
    let mut steps: Vec<u128> =
        weights.iter().map(|weight| libm::round(weight / total * steps) as u128).collect();
    let missing = n as i128 * i128::from(WHOLE) - steps.iter().sum::<u128>() as i128;
    // The largest has a column at least, and rounding takes half a step of each.
    steps[largest] = steps[largest].saturating_add_signed(missing);
    let whole = u128::from(WHOLE);
    // Else a column might be left over, and be its own though its weight is 0.
    debug_assert_eq!(steps.iter().sum::<u128>(), n as u128 * whole, "all columns are full");
    let is_short = |steps: &[u128], column: &usize| steps[*column] < whole;
    let (mut short, mut long): (Vec<_>, Vec<_>) =
        (0..n).partition(|column| is_short(&steps, column));
    let mut columns: Box<[_]> = (0..n).map(|column| [1.0, column as f64]).collect();
    while let (Some(column), Some(&donor)) = (short.pop(), long.last()) {
        columns[column] = [steps[column] as f64 / WHOLE as f64, donor as f64];
        steps[donor] -= whole - steps[column];
        if is_short(&steps, &donor) {
            short.extend(long.pop());
        }
    }
    columns
}

/// The sum, with the rounding of each addition added at the end (A. Neumaier,
/// *Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen*, 1974).
fn sum(numbers: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for &number in numbers {
        let next: f64 = sum + number;
        lost += if sum >= number { (sum - next) + number } else { (number - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The distribution of observations, with straight lines between them: [`Stream::empirical`] draws
/// from it.
///
/// Of n sorted observations, each interval from one to the next has the probability 1 / (n - 1),
/// and what is drawn is uniform in it. So it lies between the least and the greatest, and is seldom
/// one of them; [`Stream::choice`] draws only what was observed.
///
/// ```
/// # use warpline_core::{Empirical, LpId, Stream};
/// let service = Empirical::new(&[1.5, 0.5, 1.0]).expect("three observations");
/// let drawn = Stream::for_lp(1, LpId::new(0)).empirical(&service);
/// assert!((0.5..=1.5).contains(&drawn));
/// ```
///
/// # References
///
/// A. M. Law, *Simulation Modeling and Analysis*, the continuous piecewise-linear distribution of
/// the section on empirical distributions.
#[derive(Clone, Debug, PartialEq)]
pub struct Empirical {
    sorted: Box<[f64]>,
}

impl Empirical {
    /// The distribution of these observations, in any order. One observation is always drawn.
    ///
    /// # Errors
    ///
    /// There are none, one is infinite or NaN, or the distance between two is.
    pub fn new(observations: &[f64]) -> Result<Self, TableError> {
        check(observations, f64::is_finite, "an observation is finite")?;
        let mut sorted: Box<[f64]> = observations.into();
        sorted.sort_by(f64::total_cmp);
        if let (Some(&least), Some(&greatest)) = (sorted.first(), sorted.last())
            && (greatest - least).is_infinite()
        {
            return Err(TableError::TooFarApart { least, greatest });
        }
        Ok(Self { sorted })
    }

    /// The observations, sorted.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }
}

fn check(
    numbers: &[f64],
    is_right: impl Fn(f64) -> bool,
    must: &'static str,
) -> Result<(), TableError> {
    if numbers.is_empty() {
        return Err(TableError::Empty);
    }
    let wrong = numbers.iter().enumerate().find(|(_, number)| !is_right(**number));
    wrong.map_or(Ok(()), |(index, &value)| Err(TableError::Value { index, value, must }))
}

impl Stream {
    /// One of the numbers from 0 to `table.len() - 1`, with the probabilities of the table.
    #[inline]
    pub fn discrete(&self, table: &Discrete) -> usize {
        let (column, rest) = split(self.bits(), table.columns.len() as u64);
        let [own, other] = table.columns[column as usize];
        select_unpredictable(rest < own, column as usize, other as usize)
    }

    /// A number with the distribution of the observations of the table, in their unit.
    #[inline]
    pub fn empirical(&self, table: &Empirical) -> f64 {
        let (place, part) = split(self.bits(), table.sorted.len() as u64 - 1);
        let from = table.sorted[place as usize];
        // With one observation there is no next one.
        let to = table.sorted.get(place as usize + 1).copied().unwrap_or(from);
        let drawn = from + part * (to - from);
        // Not `min`, which may be either of two zeros.
        if drawn < to { drawn } else { to }
    }
}

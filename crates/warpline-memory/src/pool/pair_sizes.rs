//! The sizes of partitioned pools as their user sets them, for each pair of workers.
//!
//! Fujimoto and Panesar (1995, section 5): "The size of the pool should be proportional to the
//! amount of traffic flowing between the processors"; in their study "the size of each pool is
//! manually set at the beginning of the simulation". [`partitioned`](super::partitioned) divides a
//! limited memory by these weights.

use std::{fmt, str::FromStr, sync::Arc};

/// A weight for each pair of workers: B(*i*, *j*) gets that part of the sum of all.
///
/// As text it has a line for each sender *i*, with a number for each receiver *j*, separated by
/// blanks or commas. What follows a `#` is a comment.
///
/// # Examples
///
/// ```
/// use warpline_memory::PairSizes;
///
/// // Worker 1 sends three times as much to worker 0 as to itself.
/// let sizes: PairSizes = "2 2\n3 1".parse()?;
/// assert_eq!((sizes.workers(), sizes.buffers(1, 0, 800)), (2, 300));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct PairSizes {
    workers: usize,
    weights: Arc<[f64]>,
}

impl PairSizes {
    /// The number of workers that it is for.
    #[must_use]
    pub const fn workers(&self) -> usize {
        self.workers
    }

    /// How many of `limit` buffers B(`from`, `to`) has.
    ///
    /// # Panics
    ///
    /// If there is no such worker.
    #[must_use]
    pub fn buffers(&self, from: usize, to: usize, limit: u32) -> usize {
        assert!(to < self.workers, "there is no worker {to}");
        let sum: f64 = self.weights.iter().sum();
        debug_assert!(sum > 0.0, "a division into nothing");
        debug_assert_eq!(self.weights.len(), self.workers * self.workers, "a row is missing");
        (f64::from(limit) * (self.weights[from * self.workers + to] / sum)) as usize
    }
}

impl FromStr for PairSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut workers, mut rows, mut weights) = (0, 0, Vec::new());
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            let words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
            let before = weights.len();
            for word in words {
                let weight = word.parse().ok().filter(|weight: &f64| (0.0..1e15).contains(weight));
                weights.push(weight.ok_or_else(|| {
                    format!("line {number}: `{word}` must be a number from 0 to 1e15")
                })?);
            }
            let row = weights.len() - before;
            if row == 0 {
                continue;
            }
            workers = if rows == 0 { row } else { workers };
            if row != workers {
                return Err(format!(
                    "line {number} has {row} numbers, but must have {workers}, as the first: a \
                     line has a number for each receiver"
                ));
            }
            rows += 1;
        }
        if rows != workers {
            return Err(format!(
                "there are {rows} lines of {workers} numbers, but there must be as many lines as \
                 numbers in each: a line for each sender, with a number for each receiver"
            ));
        }
        if weights.iter().sum::<f64>() <= 0.0 {
            return Err("at least one number must be above 0".to_owned());
        }
        Ok(Self { workers, weights: weights.into() })
    }
}

/// Row by row.
impl fmt::Debug for PairSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.weights.chunks(self.workers)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_proportion() {
        let sizes: PairSizes =
            "# by hand\n1, 2 1\n\n0 0 4\t# worker 1\n2 3 3\n".parse().expect("fine");
        let all = [0, 1, 2].map(|from| [0, 1, 2].map(|to| sizes.buffers(from, to, 1_607)));
        assert_eq!(all, [[100, 200, 100], [0, 0, 401], [200, 301, 301]]);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("1 2\n3", "line 2 has 1 numbers, but must have 2"),
            ("1 2", "there are 1 lines of 2 numbers"),
            ("1\n2", "there are 2 lines of 1 numbers"),
            ("1 -2\n3 4", "line 1: `-2` must be a number from 0"),
            ("1 2\n3 inf", "line 2: `inf` must be"),
            ("1 2\n3 NaN", "line 2: `NaN` must be"),
            ("0 0\n0 0", "above 0"),
            ("# nothing", "above 0"),
        ] {
            let error = text.parse::<PairSizes>().expect_err(text);
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }
}

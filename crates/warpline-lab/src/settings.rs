//! What a user can choose for all figures, and who watches while they are measured.

use std::{path::PathBuf, sync::atomic::AtomicBool};

use crate::host;

/// What a user can choose. The defaults are the papers'.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory for the results; it is made if it does not exist.
    pub output: PathBuf,
    /// Short runs, few samples and few points: to see that it works, not to learn something.
    pub quick: bool,
    /// Numbers of workers, the least first; more than there are cores are allowed, and marked.
    pub workers: Vec<usize>,
    /// Rounds, each with one sample of every point.
    pub samples: usize,
    /// Bytes that each event of PHOLD carries. Without any, no buffer is touched.
    pub payload: usize,
    /// The seed of all random streams.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            output: PathBuf::from("lab-results"),
            quick: false,
            workers: up_to(host::cores()),
            samples: 9,
            payload: 64,
            seed: 1,
        }
    }
}

impl Settings {
    /// The same with short runs, on at most two workers.
    #[must_use]
    pub fn quick(self) -> Self {
        Self { quick: true, workers: vec![1, 2], samples: 2, ..self }
    }

    /// The greatest number of workers.
    #[must_use]
    pub fn most_workers(&self) -> usize {
        self.workers.iter().copied().max().unwrap_or(1)
    }

    /// The flags that ask for the same again.
    pub(crate) fn flags(&self) -> String {
        let Self { quick, workers, samples, payload, seed, .. } = self;
        let workers: Vec<_> = workers.iter().map(usize::to_string).collect();
        format!(
            "{} --workers {} --samples {samples} --payload {payload} --seed {seed}",
            if *quick { " --quick" } else { "" },
            workers.join(",")
        )
    }

    /// A length of virtual time, or a fiftieth of it for a quick look.
    #[must_use]
    pub fn shortened(&self, end: f64) -> f64 {
        if self.quick { end / 50.0 } else { end }
    }
}

/// 1, 2, … up to `cores`; of more than eight, the powers of two and the last one.
fn up_to(cores: usize) -> Vec<usize> {
    (1..=cores).filter(|&n| n <= 8 || n.is_power_of_two() || n == cores).collect()
}

/// Who watches a laboratory at work.
pub trait Watch {
    /// A figure begins, and will take so many samples.
    fn begins(&self, figure: &str, samples: usize);
    /// The next sample is of this.
    fn samples(&self, what: &str);
    /// Set when the work is to stop.
    fn stop(&self) -> &AtomicBool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_counts_end_with_all_cores() {
        assert_eq!(up_to(1), [1]);
        assert_eq!(up_to(3), [1, 2, 3]);
        assert_eq!(up_to(20), [1, 2, 3, 4, 5, 6, 7, 8, 16, 20]);
    }
}

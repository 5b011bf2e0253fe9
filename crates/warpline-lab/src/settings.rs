//! The settings of all figures, which the command makes from its flags, and the interface through
//! which it shows progress and stops a measurement.

use std::{path::PathBuf, sync::atomic::AtomicBool};

/// The user's choices; the defaults follow the papers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory for the results; it is made if it does not exist.
    pub output: PathBuf,
    /// Short runs, few samples and few points: this shows that everything works, and measures
    /// nothing.
    pub quick: bool,
    /// Numbers of workers, the least first; more than there are cores are allowed, and marked.
    pub workers: Vec<usize>,
    /// Rounds, each with one sample of every point.
    pub samples: usize,
    /// Bytes in each event of PHOLD, where the paper's figure does not decide them; without any,
    /// no buffer would be touched.
    pub payload: usize,
    /// The seed of all random streams.
    pub seed: u64,
    /// The netlist that the runtime paper's figures have for its C2670; `None` generates a
    /// multiplier.
    pub netlist: Option<PathBuf>,
    /// The file for the results of one figure, in the form of published ones
    /// ([`results`](crate::results)); `None` writes none.
    pub results: Option<PathBuf>,
    /// The file for the verdicts of the figures, in the same form; it keeps those of other figures.
    pub claims: Option<PathBuf>,
    /// The command, whose runs on several ranks talk over MPI; `None` takes threads for ranks.
    pub over_mpi: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            output: PathBuf::from("lab-results"),
            quick: false,
            workers: up_to(warpline_memory::cores()),
            samples: 9,
            payload: 64,
            seed: 1,
            netlist: None,
            results: None,
            claims: None,
            over_mpi: None,
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

    /// The flags that repeat the measurement.
    pub(crate) fn flags(&self) -> String {
        let Self { quick, workers, samples, payload, seed, netlist, .. } = self;
        let workers: Vec<_> = workers.iter().map(usize::to_string).collect();
        format!(
            "{} --workers {} --samples {samples} --payload {payload} --seed {seed}{}",
            if *quick { " --quick" } else { "" },
            workers.join(","),
            netlist.as_ref().map_or(String::new(), |file| format!(" --netlist {}", file.display()))
        )
    }

    /// A length of virtual time, or a fiftieth of it for a quick look.
    #[must_use]
    pub fn shortened(&self, end: f64) -> f64 {
        if self.quick { end / 50.0 } else { end }
    }
}

/// 1, 2, … up to `cores`; above eight, the powers of two and the last one.
fn up_to(cores: usize) -> Vec<usize> {
    (1..=cores).filter(|&n| n <= 8 || n.is_power_of_two() || n == cores).collect()
}

/// The progress display of a measurement, and its stop flag.
pub trait Watch {
    /// A figure begins; it takes `samples` samples.
    fn begins(&self, figure: &str, samples: usize);
    /// The next sample begins, a run of `what`.
    fn samples(&self, what: &str);
    /// The flag that is set to stop the measurement.
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

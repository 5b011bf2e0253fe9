//! Independent replications of a run, in parallel, and the estimates that they yield.

use rayon::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};
use warpline_core::Stream;

use crate::{
    ConfigError, Figure, Report, Results, RunError, Runnable, Simulation, simulation::run,
    watch::Watch,
};

/// The most replications of one run: all their reports are kept in memory.
const REPLICATIONS_MAX: usize = 1_000_000;

/// The mean of a quantity over replications, with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean over the replications that yielded a number.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval, by Student's t; infinite below two samples.
    pub half_width: f64,
    /// How many replications yielded a number.
    pub samples: usize,
}

impl Estimate {
    /// Estimates the mean of a quantity from independent samples. NaNs are left out.
    #[must_use]
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Self {
        let samples: Vec<f64> = samples.into_iter().filter(|sample| !sample.is_nan()).collect();
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let half_width = if samples.len() < 2 {
            f64::INFINITY
        } else {
            let squares = samples.iter().map(|sample| (sample - mean) * (sample - mean));
            let deviation = (squares.sum::<f64>() / (n - 1.0)).sqrt();
            // Student's t with n - 1 > 0 degrees of freedom always exists.
            StudentsT::new(0.0, 1.0, n - 1.0)
                .map_or(f64::INFINITY, |t| t.inverse_cdf(0.975) * deviation / n.sqrt())
        };
        Self { mean, half_width, samples: samples.len() }
    }

    /// Whether the confidence interval covers `value`.
    #[must_use]
    pub fn covers(&self, value: f64) -> bool {
        (self.mean - value).abs() <= self.half_width
    }
}

/// The reports of independent replications, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Replications<O> {
    /// One report per replication; after an interruption, of those that were complete.
    pub reports: Vec<Report<O>>,
    /// Whether the replications were stopped before all of them were complete.
    pub interrupted: bool,
}

impl<O: Results> Replications<O> {
    /// The estimate of every figure of the result, with that figure of the first replication.
    #[must_use]
    pub fn estimates(&self) -> Vec<(Figure, Estimate)> {
        let samples: Vec<Vec<Figure>> =
            self.reports.iter().map(|report| report.output.figures()).collect();
        let Some(first) = samples.first() else { return Vec::new() };
        let estimate =
            |position: usize| Estimate::of(samples.iter().map(|figures| figures[position].value));
        first.iter().enumerate().map(|(i, figure)| (figure.clone(), estimate(i))).collect()
    }
}

impl<M: Runnable> Simulation<'_, M> {
    /// Runs `count` replications with independent random streams, in parallel on the threads of
    /// the current `rayon` pool. Calls `done` after each replication, on the thread that ran it.
    ///
    /// Replication 0 has the seed of the simulation, and the same digest as [`run`](Self::run).
    /// The observer is not called. [`stop_when`](Self::stop_when) ends the replications that run
    /// and skips those that have not begun.
    ///
    /// # Errors
    ///
    /// The error of the first replication (by number) that failed; and [`RunError::Config`] for a
    /// count of zero or above a million.
    pub fn replicate(
        self,
        count: usize,
        done: impl Fn(&Report<M::Output>) + Sync,
    ) -> Result<Replications<M::Output>, RunError> {
        let ok = (1..=REPLICATIONS_MAX).contains(&count);
        ConfigError::check(ok, "replications", count, &format!("from 1 to {REPLICATIONS_MAX}"))?;
        let Self { model, settings, watch } = self;
        let stop = watch.stop;
        let outcomes: Vec<_> = (0..count)
            .into_par_iter()
            .map(|number| {
                let mut watch = Watch { stop, ..Watch::default() };
                if watch.stopped() {
                    return None;
                }
                // Otherwise all runs that run at the same time would be bound to the same cores.
                let mut settings = settings.with(settings.engine.clone().unpinned());
                settings.seed = Stream::replication_seed(settings.seed, number as u64);
                Some(run(&model, &settings, &mut watch).inspect(&done))
            })
            .collect();
        let mut reports = outcomes.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
        // An interrupted run covers less time than the others: its figures are not comparable.
        reports.retain(|report| !report.interrupted);
        let interrupted = reports.len() < count;
        Ok(Replications { reports, interrupted })
    }
}

#[cfg(test)]
mod tests {
    use super::Estimate;

    /// By hand: mean 3, sample deviation sqrt(2.5), t(4, 0.975) = 2.7764.
    #[test]
    fn estimate_by_hand() {
        let estimate = Estimate::of([1.0, 2.0, f64::NAN, 3.0, 4.0, 5.0]);
        assert_eq!((estimate.mean, estimate.samples), (3.0, 5));
        assert!((estimate.half_width - 2.776_445 * (2.5_f64 / 5.0).sqrt()).abs() < 1e-5);
        assert!(estimate.covers(4.0) && !estimate.covers(5.0));
    }

    #[test]
    fn one_sample_says_nothing_about_the_spread() {
        assert_eq!(Estimate::of([2.0]).half_width, f64::INFINITY);
    }
}

//! Independent replications of a run, in parallel, and the estimates that they yield.

use std::ops::Range;

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

/// How narrow confidence intervals are to be, for [`Simulation::replicate_to`].
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// The name of the figure that has to be known so well; without one, every figure.
    pub figure: Option<String>,
    /// The largest error by the figure's value, say 0.05.
    pub relative: f64,
}

impl Precision {
    /// The replications before the first decision: fewer say too little about the spread.
    const FIRST: usize = 10;

    /// How many of `samples` replications it would have taken, by these estimates: as many as there
    /// are, or fewer, if the intervals are narrow enough.
    ///
    /// The half width has to be r/(1 + r) of the estimate for an error of at most r of the unknown
    /// value.
    ///
    /// # References
    ///
    /// A. M. Law, *Simulation Modeling and Analysis*, 5th edition, 2015, section 9.4.1.
    fn needed(&self, estimates: &[(Figure, Estimate)], samples: usize) -> f64 {
        debug_assert!(self.relative > 0.0, "a precision of {} is never reached", self.relative);
        let most = self.relative / (1.0 + self.relative);
        let of_one = |(_, estimate): &(Figure, Estimate)| {
            let relative = estimate.half_width / estimate.mean.abs();
            // A figure that does not vary is known, even if it is zero.
            let excess = if estimate.half_width == 0.0 { 0.0 } else { relative / most };
            samples as f64 * excess * excess
        };
        self.chosen(estimates).map(of_one).fold(0.0, f64::max)
    }

    /// Whether these estimates, of so many replications, are as precise as that.
    #[must_use]
    pub fn is_reached(&self, estimates: &[(Figure, Estimate)], samples: usize) -> bool {
        self.needed(estimates, samples) <= samples as f64
    }

    fn chosen<'a>(
        &self,
        estimates: &'a [(Figure, Estimate)],
    ) -> impl Iterator<Item = &'a (Figure, Estimate)> {
        let is_chosen = |figure: &Figure| self.figure.as_ref().is_none_or(|f| *f == *figure.name);
        estimates.iter().filter(move |(figure, _)| is_chosen(figure))
    }

    fn check(&self) -> Result<(), ConfigError> {
        let ok = self.relative > 0.0 && self.relative < 1.0;
        ConfigError::check(ok, "precision", self.relative, "between 0 and 1, both excluded")
    }

    /// Refuses the name of a figure that there is not.
    fn check_name(&self, estimates: &[(Figure, Estimate)]) -> Result<(), ConfigError> {
        let Some(name) = &self.figure else { return Ok(()) };
        let names: Vec<&str> = estimates.iter().map(|(figure, _)| &*figure.name).collect();
        let ok = estimates.is_empty() || names.contains(&name.as_str());
        ConfigError::check(ok, "precision", name, &format!("one of {}", names.join(", ")))
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
        debug_assert!(
            samples.iter().all(|figures| figures.len() == first.len()),
            "`Results::figures` has others in each replication"
        );
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
        check_count(count)?;
        self.replications(0..count, &done)
    }

    /// Runs replications, as [`replicate`](Self::replicate) does, until the confidence intervals
    /// are as narrow as `precision` says, and `most` of them at most. How many that takes depends
    /// on the model and the seed, and not on how many run at one time.
    ///
    /// # Errors
    ///
    /// Those of `replicate`; and [`RunError::Config`] for a precision that is not between 0 and 1,
    /// or of a figure that the model does not have.
    pub fn replicate_to(
        self,
        precision: &Precision,
        most: usize,
        done: impl Fn(&Report<M::Output>) + Sync,
    ) -> Result<Replications<M::Output>, RunError>
    where
        M::Output: Results,
    {
        check_count(most)?;
        precision.check()?;
        let mut all = Replications { reports: Vec::new(), interrupted: false };
        let mut until = Precision::FIRST.min(most);
        loop {
            let from = all.reports.len();
            debug_assert!(from < until, "{from} replications were enough, or {until} are too many");
            let more = self.replications(from..until, &done)?;
            all.reports.extend(more.reports);
            all.interrupted = more.interrupted;
            let (estimates, samples) = (all.estimates(), all.reports.len());
            precision.check_name(&estimates)?;
            let needed = precision.needed(&estimates, samples);
            if all.interrupted || until == most || needed <= samples as f64 {
                return Ok(all);
            }
            // The spread is an estimate itself, so at most twice as many are made at a time.
            let next = needed.min(2.0 * samples as f64).ceil() as usize;
            until = next.clamp(samples + 1, most);
        }
    }

    /// The replications with these numbers.
    fn replications(
        &self,
        numbers: Range<usize>,
        done: &(impl Fn(&Report<M::Output>) + Sync),
    ) -> Result<Replications<M::Output>, RunError> {
        let Self { model, settings, watch, .. } = self;
        let stop = watch.stop;
        let count = numbers.len();
        let outcomes: Vec<_> = numbers
            .into_par_iter()
            .map(|number| {
                let mut watch = Watch { stop, ..Watch::default() };
                if watch.stopped() {
                    return None;
                }
                // Otherwise all runs that run at the same time would be bound to the same cores.
                let mut settings = settings.with(settings.engine.clone().unpinned());
                settings.seed = Stream::replication_seed(settings.seed, number as u64);
                Some(run(model, &settings, &mut watch).inspect(done))
            })
            .collect();
        let mut reports: Vec<_> = outcomes.into_iter().flatten().collect::<Result<_, _>>()?;
        // An interrupted run covers less time than the others: its figures are not comparable.
        reports.retain(|report: &Report<_>| !report.interrupted);
        debug_assert!(reports.len() <= count, "{} reports of {count}", reports.len());
        let interrupted = reports.len() < count;
        Ok(Replications { reports, interrupted })
    }
}

fn check_count(count: usize) -> Result<(), ConfigError> {
    let ok = (1..=REPLICATIONS_MAX).contains(&count);
    ConfigError::check(ok, "replications", count, &format!("from 1 to {REPLICATIONS_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::{Estimate, Figure, Precision};

    /// Four times as many samples halve an interval; a figure that is constant is known.
    #[test]
    fn precision_by_hand() {
        let estimate = |mean, half_width| Estimate { mean, half_width, samples: 10 };
        let estimates = [("wide", 2.0, 0.2), ("narrow", -1.0, 0.01), ("zero", 0.0, 0.0)];
        let estimates = estimates
            .map(|(name, mean, half)| (Figure::new(name, mean, "", ""), estimate(mean, half)));
        let of = |figure: Option<&str>, relative| {
            let precision = Precision { figure: figure.map(str::to_owned), relative };
            precision.needed(&estimates, 10)
        };
        // A relative half width of 0.1 where 0.05 / 1.05 is wanted.
        assert!((of(None, 0.05) - 10.0 * (0.1 * 1.05 / 0.05_f64).powi(2)).abs() < 1e-9);
        assert!(of(Some("wide"), 0.12) <= 10.0 && of(Some("wide"), 0.11) > 10.0);
        assert!(of(Some("narrow"), 0.05) < 1.0);
        assert_eq!(of(Some("zero"), 0.05), 0.0);
    }

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

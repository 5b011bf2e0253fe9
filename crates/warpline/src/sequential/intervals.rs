//! The results of equal intervals of a run: the sequential engine stops at the end of each, and the
//! summaries of copies of the LPs tell, by subtraction, what happened in it.
//!
//! Called by the sequential engine as one of its [executions](super::execution).
//!
//! # Invariants
//!
//! - **INTERVALS-A.** All intervals together are the run: what is counted in one of them is
//!   counted in no other, and the sums of all are those of a run in one piece.

use warpline_core::{Difference, LogicalProcess, Model, VirtualTime};

use crate::{
    ConfigError,
    handling::Lp,
    settings::{Intervals, Settings},
};

type Summary<M> = <<M as Model>::Lp as LogicalProcess>::Summary;

/// The most intervals: all their results are kept in memory.
const INTERVALS_MAX: usize = 1_000_000;

/// Cuts a run into intervals.
pub(super) struct Cutter<M: Model> {
    count: usize,
    end: f64,
    difference: Difference<M>,
    /// The summaries at the end of the interval before.
    before: Vec<Summary<M>>,
    /// The results of the intervals that are over.
    pub(super) outputs: Vec<M::Output>,
}

impl<M: Model> Cutter<M> {
    pub(super) fn new(model: &M, settings: &Settings<Intervals>) -> Result<Self, ConfigError> {
        let (count, end) = (settings.engine.count, settings.end);
        let ok = (1..=INTERVALS_MAX).contains(&count);
        ConfigError::check(ok, "find-warmup", count, &format!("from 1 to {INTERVALS_MAX}"))?;
        let ok = end > 0.0 && end.is_finite();
        ConfigError::check(ok, "end", end, "a virtual time above 0 for a run in intervals")?;
        let Some(difference) = model.difference() else {
            let allowed = "left out for a model that does not say what its summaries of two times \
                           differ in: it has no `Model::difference`";
            return Err(ConfigError::new("find-warmup", count, allowed));
        };
        Ok(Self { count, end, difference, before: Vec::new(), outputs: Vec::new() })
    }

    /// Where the interval ends that is not over; nothing if all are.
    pub(super) fn next_bound(&self) -> Option<f64> {
        debug_assert!(self.outputs.len() <= self.count, "INTERVALS-A: one interval too many");
        let number = self.outputs.len() + 1;
        match self.count.checked_sub(number)? {
            0 => Some(self.end),
            _ => Some(self.end * number as f64 / self.count as f64),
        }
    }

    /// Ends an interval.
    pub(super) fn cut(&mut self, model: &M, lps: &[Lp<M::Lp>], bound: f64) {
        // A bound lies between 0 and the end of the run, which has been checked.
        let at = VirtualTime::new(bound).unwrap_or(VirtualTime::ZERO);
        let summaries = || lps.iter().map(|lp| lp.state.clone().finish(model, at));
        let now: Vec<_> = summaries().collect();
        debug_assert!(
            self.before.is_empty() || self.before.len() == now.len(),
            "INTERVALS-A: an LP is missing"
        );
        self.outputs.push(if self.outputs.is_empty() {
            // What happened at the start belongs to the first interval, which ends with it all.
            model.reduce(summaries())
        } else {
            let pairs = now.iter().zip(&self.before);
            model.reduce(pairs.map(|(now, before)| (self.difference)(now, before)))
        });
        self.before = now;
    }
}

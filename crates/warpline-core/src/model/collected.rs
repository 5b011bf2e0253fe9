//! Where the statistics of a type of LPs are: what a run with a warm-up resets, and what it
//! subtracts.

use std::fmt::{self, Debug};

use super::{Difference, LogicalProcess};
use crate::{VirtualTime, statistics::Statistics};

/// Where an LP has its statistics: [`LogicalProcess::STATISTICS`].
///
/// Engines call it at the end of the warm-up, and where intervals of a run are compared.
pub struct Collected<L: LogicalProcess>(Option<Functions<L>>);

struct Functions<L: LogicalProcess> {
    part: Part<L>,
    since: Difference<L::Model>,
}

/// Lets the statistics of an LP of a model begin anew at a time.
type Reset<L> = fn(&<L as LogicalProcess>::Model, &mut L, VirtualTime);

/// What is reset.
enum Part<L: LogicalProcess> {
    Field { field: fn(&mut L) -> &mut L::Summary, reset: fn(&mut L::Summary, VirtualTime) },
    Whole(Reset<L>),
}

impl<L: LogicalProcess> Collected<L> {
    /// The LP has no statistics that could begin anew.
    pub const NONE: Self = Self(None);

    /// They are in a field of the state, and are its summary:
    /// `Collected::in_field(|branch| &mut branch.statistics)`.
    #[must_use]
    pub const fn in_field(field: fn(&mut L) -> &mut L::Summary) -> Self
    where
        L::Summary: Statistics,
    {
        let part = Part::Field { field, reset: L::Summary::reset };
        Self(Some(Functions { part, since: L::Summary::since }))
    }

    /// These functions: one that begins anew at a time, and one that subtracts from a summary an
    /// earlier one ([`Model::difference`](crate::Model::difference)).
    #[must_use]
    pub const fn by(reset: Reset<L>, since: Difference<L::Model>) -> Self {
        Self(Some(Functions { part: Part::Whole(reset), since }))
    }

    /// Whether there are statistics.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        self.0.is_some()
    }

    /// Lets the statistics of an LP begin anew. Only between two events, when none of them can be
    /// undone any more.
    pub fn reset(&self, model: &L::Model, lp: &mut L, now: VirtualTime) {
        match &self.0 {
            None => {}
            Some(Functions { part: Part::Field { field, reset }, .. }) => reset(field(lp), now),
            Some(Functions { part: Part::Whole(reset), .. }) => reset(model, lp, now),
        }
    }

    /// How two summaries are subtracted.
    #[must_use]
    pub fn difference(&self) -> Option<Difference<L::Model>> {
        self.0.as_ref().map(|functions| functions.since)
    }
}

impl<L: LogicalProcess> Debug for Collected<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_some() { "Collected" } else { "NONE" })
    }
}

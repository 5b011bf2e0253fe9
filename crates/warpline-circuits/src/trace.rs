//! The waveform of a net as far as a picture shows it, as part of the state of a process.
//!
//! Kept by the [model](crate::model) for the nets of a [`Drawing`](crate::drawing::Drawing). It is
//! state, and no output: what a run commits, and its digest, are the same without it.
//!
//! # Invariants
//!
//! - **TRACE-A.** A copy shares all columns with its original and is as cheap as a number, so that
//!   engines can save and restore it for every event. What is shared never changes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    circuit::Sample,
    waveform::{Column, Columns, Cubic},
};

/// The waveform of a net from the start on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Flat", into = "Flat")]
pub(crate) struct Trace {
    pub(crate) net: u32,
    /// The last sample.
    last: Option<Sample>,
    latest: Option<Arc<Latest>>,
}

/// The latest column, and those before it.
#[derive(Clone, Debug)]
struct Latest {
    index: usize,
    column: Column,
    before: Option<Arc<Latest>>,
}

/// A trace as bytes have it: the columns in a row, the first one first.
#[derive(Serialize, Deserialize)]
struct Flat {
    net: u32,
    last: Option<Sample>,
    columns: Vec<(usize, Column)>,
}

impl From<Trace> for Flat {
    fn from(trace: Trace) -> Self {
        Self { net: trace.net, last: trace.last, columns: trace.columns() }
    }
}

impl From<Flat> for Trace {
    fn from(Flat { net, last, columns }: Flat) -> Self {
        let latest = columns
            .into_iter()
            .fold(None, |before, (index, column)| Some(Arc::new(Latest { index, column, before })));
        Self { net, last, latest }
    }
}

impl Trace {
    pub(crate) const fn new(net: u32) -> Self {
        Self { net, last: None, latest: None }
    }

    /// The waveform has come to a sample.
    pub(crate) fn take(&mut self, sample: Sample, columns: Columns) {
        if let Some(last) = self.last.replace(sample) {
            self.follow(&Cubic::between(&last, &sample), columns);
        }
    }

    /// The waveform goes on.
    pub(crate) fn follow(&mut self, piece: &Cubic, columns: Columns) {
        for (index, column) in columns.parts(piece) {
            match &mut self.latest {
                Some(latest) if latest.index == index => {
                    let latest = Arc::make_mut(latest);
                    latest.column = latest.column.and(column);
                }
                latest => *latest = Some(Arc::new(Latest { index, column, before: latest.take() })),
            }
        }
    }

    /// The columns up to a time at which the run ended (s), with their numbers: a net keeps the
    /// voltage of its last sample until then.
    pub(crate) fn finish(mut self, end: f64, columns: Columns) -> Vec<(usize, Column)> {
        if let Some(last) = self.last.filter(|last| last.time < end) {
            let rest = Sample { slope: 0.0, ..last };
            self.follow(&Cubic::between(&rest, &Sample { time: end, ..rest }), columns);
        }
        self.columns()
    }

    fn columns(&self) -> Vec<(usize, Column)> {
        let first = self.latest.as_deref();
        let all = std::iter::successors(first, |latest| latest.before.as_deref());
        let mut all: Vec<_> = all.map(|latest| (latest.index, latest.column)).collect();
        all.reverse();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::NetId;

    const COLUMNS: Columns = Columns { end: 8.0, count: 8 };

    fn sample(time: f64, value: f64) -> Sample {
        Sample { time, net: NetId(1), value, slope: 0.0 }
    }

    /// TRACE-A: what goes on after a copy, in the same column and in others, does not change it.
    #[test]
    fn copies_stay_as_they_were() {
        let mut trace = Trace::new(1);
        trace.take(sample(0.0, 0.0), COLUMNS);
        trace.take(sample(2.5, 1.0), COLUMNS);
        let before = trace.clone();
        trace.take(sample(2.7, 9.0), COLUMNS);
        trace.take(sample(6.0, 3.0), COLUMNS);
        let columns = before.finish(2.5, COLUMNS);
        assert_eq!(columns.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(columns.iter().all(|(_, column)| column.high <= 1.0), "{columns:?}");
        let columns = trace.finish(8.0, COLUMNS);
        assert_eq!(columns.len(), 8);
        assert_eq!((columns[2].1.high, columns[7].1.last), (9.0, 3.0));
    }
}

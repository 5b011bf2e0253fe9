//! The table of crossings: CSV with the columns `net,time,direction`; the recorder calls it.
//!
//! A row for each time that a net goes through the threshold, in the order of time, then of the
//! nets' names: seconds, as short as they can be without loss, and `rise` or `fall`.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use warpline::files::{Mark, PartialFile, cell};

use super::{
    OutputError,
    error::{self, failed},
    reorder::Reorder,
};
use crate::waveform::Edge;

/// How far the table is written, and what waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CrossingsMark {
    file: Mark,
    waiting: Vec<(f64, usize, Edge)>,
}

/// Writes the table of crossings.
#[derive(Debug)]
pub(super) struct CrossingsWriter {
    file: PartialFile,
    /// The nets' names, as they are written.
    names: Vec<String>,
    waiting: Reorder<Edge>,
}

impl CrossingsWriter {
    /// Writes the header; the names are in the order of [`Slots`](super::slots::Slots).
    pub(super) fn create<'a>(
        mut file: PartialFile,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Self, OutputError> {
        let written = writeln!(file, "net,time,direction");
        written.map_err(|error| failed(&file, error))?;
        Ok(Self { file, names: names.map(field).collect(), waiting: Reorder::new() })
    }

    /// A net crosses the threshold.
    pub(super) fn edge(&mut self, slot: usize, time: f64, edge: Edge) {
        self.waiting.push(time, slot, edge);
    }

    /// Writes what happened before a time (s): nothing more comes before it.
    pub(super) fn settle(&mut self, time: f64) -> Result<(), OutputError> {
        while let Some(entry) = self.waiting.pop_before(time) {
            let direction = match entry.what {
                Edge::Rise => "rise",
                Edge::Fall => "fall",
            };
            let name = &self.names[entry.slot];
            let written = writeln!(self.file, "{name},{:e},{direction}", entry.time);
            self.check(written)?;
        }
        Ok(())
    }

    pub(super) fn mark(&mut self) -> Result<CrossingsMark, OutputError> {
        Ok(CrossingsMark { file: error::mark(&mut self.file)?, waiting: self.waiting.waiting() })
    }

    /// Takes what the run before had in memory, and finds out whether its file is there.
    pub(super) fn check_mark(&mut self, mark: &CrossingsMark) -> Result<(), OutputError> {
        let CrossingsMark { file, waiting } = mark;
        self.waiting = Reorder::of(waiting, self.names.len())?;
        let checked = self.file.check(*file, 0, &[]);
        checked.map_err(|source| error::not_gone_on(&self.file, source))
    }

    pub(super) fn go_on(&mut self) -> Result<(), OutputError> {
        self.file.go_on().map_err(|source| error::not_gone_on(&self.file, source))
    }

    /// Writes the rest.
    pub(super) fn finish(&mut self) -> Result<(), OutputError> {
        self.settle(f64::INFINITY)?;
        let completed = self.file.complete();
        self.check(completed)
    }

    fn check(&self, result: io::Result<()>) -> Result<(), OutputError> {
        result.map_err(|error| failed(&self.file, error))
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

/// A name as a field: in quotes where it has commas or quotes (RFC 4180).
fn field(name: &str) -> String {
    let name = cell(name);
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into_owned()
    }
}

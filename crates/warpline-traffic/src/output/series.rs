//! A time series of the whole network, as CSV.
//!
//! LPs report in the order of the times, so a row is complete when a report of a later time comes.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use serde::{Deserialize, Serialize};
use warpline::files::Mark;

use super::{Output, not_gone_on};
use crate::error::FileError;

/// What an LP has at a time; counts are from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Cars on the road.
    pub cars: u32,
    /// Those of them that stand: stopped, or behind an accident.
    pub standing: u32,
    /// Cars that joined the network.
    pub joined: u32,
    /// Cars that left the network.
    pub left: u32,
    /// Accidents.
    pub accidents: u32,
}

/// The sums of the samples of a time.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Row {
    time: f64,
    cars: u64,
    standing: u64,
    longest: u32,
    joined: u64,
    left: u64,
    accidents: u64,
    is_empty: bool,
}

/// How far the file is written, and the row that is not complete yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SeriesMark {
    file: Mark,
    row: Row,
}

/// The file.
#[derive(Debug)]
pub(super) struct Series {
    output: Output,
    row: Row,
    failure: Option<FileError>,
}

const EMPTY: Row = Row {
    time: 0.0,
    cars: 0,
    standing: 0,
    longest: 0,
    joined: 0,
    left: 0,
    accidents: 0,
    is_empty: true,
};

impl Series {
    pub(super) fn begin(mut output: Output) -> Result<Self, FileError> {
        output.with(|writer| {
            writeln!(writer, "time_s,cars,cars_standing,longest_queue,cars_in,cars_out,accidents")
        })?;
        Ok(Self { output, row: EMPTY, failure: None })
    }

    pub(super) fn mark(&mut self) -> Result<SeriesMark, FileError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        Ok(SeriesMark { file: self.output.mark()?, row: self.row })
    }

    pub(super) fn go_on(&mut self, mark: Option<SeriesMark>) -> Result<(), FileError> {
        let Some(SeriesMark { file, row }) = mark else {
            let none = io::Error::other("the checkpoint is of a run that did not write it");
            return Err(not_gone_on(self.output.0.path(), &none));
        };
        self.row = row;
        self.output.go_on(file)
    }

    pub(super) fn add(&mut self, time: f64, sample: Sample) {
        if time != self.row.time {
            self.write_row();
            self.row = EMPTY;
        }
        let row = &mut self.row;
        row.is_empty = false;
        row.time = time;
        row.cars += u64::from(sample.cars);
        row.standing += u64::from(sample.standing);
        row.longest = row.longest.max(sample.cars);
        row.joined += u64::from(sample.joined);
        row.left += u64::from(sample.left);
        row.accidents += u64::from(sample.accidents);
    }

    /// Writes the row, unless there is none or writing has failed before.
    fn write_row(&mut self) {
        let Row { time, cars, standing, longest, joined, left, accidents, is_empty } = self.row;
        if is_empty || self.failure.is_some() {
            return;
        }
        let written = self.output.with(|writer| {
            writeln!(writer, "{time},{cars},{standing},{longest},{joined},{left},{accidents}")
        });
        self.failure = written.err();
    }

    pub(super) fn finish(mut self) -> Result<PathBuf, FileError> {
        self.write_row();
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.output.complete()
    }
}

//! A binary raw file, as ngspice writes and loads it; the recorder calls it.
//!
//! A header of lines, and then a row of doubles (little-endian) for each point of time: the time
//! and the voltages of all nets, from the cubics between their samples. The header has the number
//! of points, so it is written anew at the end.

use std::{
    collections::VecDeque,
    io::{self, Write},
};

use serde::{Deserialize, Serialize};
use warpline::files::{Mark, PartialFile};

use super::{
    OutputError,
    error::{self, failed},
};
use crate::{circuit::Sample, waveform::Cubic};

/// At which times a raw file has points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Points {
    /// Every so many seconds, from 0 on.
    Every(f64),
    /// At all samples of the nets that are written: exact, and large.
    Samples,
}

/// Writes a raw file.
#[derive(Debug)]
pub(super) struct RawWriter {
    file: PartialFile,
    /// Where the number of points is in the file.
    count_at: u64,
    /// Rows that are written.
    count: u64,
    /// For each net, the last sample that is not later than the last row, and all after it.
    nets: Vec<VecDeque<Sample>>,
    times: Times,
    row: Vec<u8>,
}

/// How far the file is written, and what waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RawMark {
    file: Mark,
    count: u64,
    nets: Vec<VecDeque<Sample>>,
    times: Times,
}

/// The times of the rows that are not written.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Times {
    /// The length of a step, and the number of the next one.
    Every(f64, u64),
    Samples(VecDeque<f64>),
}

/// The places for the number of points.
const DIGITS: usize = 20;

/// A number of points, as the header has it.
fn count_text(count: u64) -> String {
    format!("{count:<DIGITS$}")
}

impl RawWriter {
    /// Writes the header; the names are in the order of [`Slots`](super::slots::Slots).
    pub(super) fn create<'a>(
        file: PartialFile,
        title: &str,
        names: impl ExactSizeIterator<Item = &'a str>,
        points: Points,
    ) -> Result<Self, OutputError> {
        if !file.is_regular() {
            return Err(OutputError::NotAFile { path: file.path().to_owned() });
        }
        let times = match points {
            Points::Every(step) => Times::Every(step, 0),
            Points::Samples => Times::Samples(VecDeque::new()),
        };
        let nets = vec![VecDeque::new(); names.len()];
        let before = format!(
            "Title: {}\nPlotname: Transient Analysis\nFlags: real\nNo. Variables: {}\nNo. Points: ",
            title.replace(char::is_control, " "),
            nets.len() + 1
        );
        let count_at = before.len() as u64;
        let mut header = format!("{before}{}\nVariables:\n\t0\ttime\ttime\n", count_text(0));
        for (index, name) in (1..).zip(names) {
            let name = name.replace(|c: char| c.is_whitespace() || c.is_control(), "_");
            header += &format!("\t{index}\tv({name})\tvoltage\n");
        }
        header += "Binary:\n";
        let mut writer = Self { file, count_at, count: 0, nets, times, row: Vec::new() };
        let written = writer.file.write_all(header.as_bytes());
        writer.check(written)?;
        Ok(writer)
    }

    /// A net has a sample.
    pub(super) fn sample(&mut self, slot: usize, sample: &Sample) {
        self.nets[slot].push_back(*sample);
        if let Times::Samples(times) = &mut self.times {
            // It comes last, or nearly so.
            let at = times.partition_point(|time| *time < sample.time);
            if times.get(at) != Some(&sample.time) {
                times.insert(at, sample.time);
            }
        }
    }

    /// A net is at rest since its last sample.
    pub(super) fn rest(&mut self, slot: usize) {
        if let Some(sample) = self.nets[slot].back_mut() {
            sample.slope = 0.0;
        }
    }

    /// Writes the rows before a time (s): no samples that matter for them come any more.
    pub(super) fn settle(&mut self, time: f64) -> Result<(), OutputError> {
        while let Some(next) = self.next_time().filter(|next| *next < time) {
            self.write_row(next)?;
            match &mut self.times {
                Times::Every(_, number) => *number += 1,
                Times::Samples(times) => _ = times.pop_front(),
            }
        }
        Ok(())
    }

    pub(super) fn mark(&mut self) -> Result<RawMark, OutputError> {
        let file = error::mark(&mut self.file)?;
        let (nets, times) = (self.nets.clone(), self.times.clone());
        Ok(RawMark { file, count: self.count, nets, times })
    }

    /// Takes what the run before had in memory, and finds out whether its file is there.
    pub(super) fn check_mark(&mut self, mark: &RawMark) -> Result<(), OutputError> {
        let has_same_points = match (&self.times, &mark.times) {
            (Times::Every(step, _), Times::Every(other, _)) => step == other,
            (Times::Samples(_), Times::Samples(_)) => true,
            _ => false,
        };
        if !has_same_points || self.nets.len() != mark.nets.len() {
            return Err(OutputError::Other("the raw file has other points"));
        }
        let RawMark { file, count, nets, times } = mark.clone();
        (self.count, self.nets, self.times) = (count, nets, times);
        // A complete file has another number there.
        let checked = self.file.check(file, self.count_at, count_text(0).as_bytes());
        checked.map_err(|source| error::not_gone_on(&self.file, source))
    }

    pub(super) fn go_on(&mut self) -> Result<(), OutputError> {
        self.file.go_on().map_err(|source| error::not_gone_on(&self.file, source))
    }

    /// Writes the rows up to the end (s), and completes the header.
    pub(super) fn finish(&mut self, end: f64) -> Result<(), OutputError> {
        // Many steps make up the end, but for rounding.
        const ROUNDING: f64 = 1.0 + 1e-12;
        self.settle((end * ROUNDING).next_up())?;
        let completed = self
            .file
            .overwrite(self.count_at, count_text(self.count).as_bytes())
            .and_then(|()| self.file.complete());
        self.check(completed)
    }

    fn next_time(&self) -> Option<f64> {
        match &self.times {
            Times::Every(step, number) => Some(*number as f64 * step),
            Times::Samples(times) => times.front().copied(),
        }
    }

    fn write_row(&mut self, time: f64) -> Result<(), OutputError> {
        self.row.clear();
        self.row.extend(time.to_le_bytes());
        for samples in &mut self.nets {
            while samples.get(1).is_some_and(|next| next.time <= time) {
                samples.pop_front();
            }
            let value = match (samples.front(), samples.get(1)) {
                (Some(last), Some(next)) => Cubic::between(last, next).at(time),
                (Some(last), None) => last.value,
                (None, _) => 0.0,
            };
            self.row.extend(value.to_le_bytes());
        }
        self.count += 1;
        let written = self.file.write_all(&self.row);
        self.check(written)
    }

    fn check(&self, result: io::Result<()>) -> Result<(), OutputError> {
        result.map_err(|error| failed(&self.file, error))
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        let times = if let Times::Samples(times) = &self.times { times.len() } else { 0 };
        self.nets.iter().map(VecDeque::len).sum::<usize>() + times
    }
}

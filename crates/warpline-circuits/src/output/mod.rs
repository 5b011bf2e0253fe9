//! What a run leaves: waveforms (`vcd`, `raw`, `plot`), crossings, and the results of `.measure`.
//!
//! The command describes what it wants in [`Outputs`] and makes a [`Recorder`] of it before the
//! run; the output handler of the model gives it each [`Sample`](crate::circuit::Sample) as the run
//! commits it; the command calls [`Recorder::finish`] after the run. The writers share the order of
//! nets (`slots`), the samples of fixed nets (`fixed`) and files that are complete or called
//! `.partial` ([`PartialFile`](warpline::files::PartialFile)).
//!
//! A handler of outputs cannot end a run. So the recorder keeps the errors,
//! [`Recorder::has_failed`] tells an observer that it may stop the run, and [`Recorder::finish`]
//! returns the error with what was recorded all the same.

mod crossings;
mod error;
mod fixed;
mod measures;
mod plot;
mod raw;
mod recorder;
mod reorder;
mod slots;
mod vcd;
mod writers;

use std::path::PathBuf;

use warpline::files::Files;

pub use error::OutputError;
pub use measures::Measured;
pub use plot::Plot;
pub use raw::Points;
pub use recorder::{Recorder, Recording, RecordingMark, Unwritten};

use crate::circuit::{Circuit, NetId};
use slots::Slots;

/// What is written of a run. Which nets, [`Circuit::saved`] says.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// A VCD file.
    pub vcd: Option<PathBuf>,
    /// A binary raw file, as ngspice has them.
    pub raw: Option<PathBuf>,
    /// At which times the raw file has points.
    pub points: Points,
    /// A table of crossings (CSV).
    pub crossings: Option<PathBuf>,
    /// A plot of some nets, in a build with the feature `plots`.
    pub plot: Option<Plot>,
    /// The voltage (V) that tells high from low, for crossings and for the wires of the VCD file.
    pub threshold: f64,
    /// The most time (s) between two samples of a net whose voltage changes: the longest step of
    /// the simulation. Memory grows with what happens in this time.
    pub longest_step: f64,
}

impl Outputs {
    /// No files; the threshold is half way between the rails, and the raw file would have the
    /// points that the deck asks for.
    #[must_use]
    pub fn none(circuit: &Circuit, longest_step: f64) -> Self {
        let points = if circuit.print_step > 0.0 {
            Points::Every(circuit.print_step)
        } else {
            Points::Samples
        };
        let threshold = circuit.threshold();
        let (vcd, raw, crossings, plot) = (None, None, None, None);
        Self { vcd, raw, points, crossings, plot, threshold, longest_step }
    }

    /// The nets whose samples a [`Recorder`] of these outputs wants. On several ranks it is at rank
    /// 0, and the others send it the samples of these nets.
    #[must_use]
    pub fn nets(&self, circuit: &Circuit) -> Vec<NetId> {
        self.slots(circuit).free().collect()
    }

    fn slots(&self, circuit: &Circuit) -> Slots {
        let drawn = self.plot.as_ref().map_or(&[][..], |plot| &plot.nets);
        Slots::new(circuit, drawn)
    }

    /// The files.
    fn files(&self) -> Files {
        let files = Files::default()
            .writing("vcd", self.vcd.as_deref())
            .writing("raw", self.raw.as_deref())
            .writing("crossings", self.crossings.as_deref());
        let plots = self.plot.iter().flat_map(|plot| &plot.files);
        plots.fold(files, |files, path| files.writing("plot", Some(path)))
    }

    /// Finds numbers that are not allowed, and files that are given twice.
    fn check(&self) -> Result<(), OutputError> {
        let error = |what, value, allowed| Err(OutputError::Number { what, value, allowed });
        if !self.threshold.is_finite() {
            return error("threshold", self.threshold, "a voltage in V");
        }
        let is_time = |time: f64| time > 0.0 && time.is_finite();
        if !is_time(self.longest_step) {
            return error("longest step", self.longest_step, "a time in s, greater than 0");
        }
        if let Points::Every(step) = self.points
            && !is_time(step)
        {
            return error("step of the raw file", step, "a time in s, greater than 0");
        }
        Ok(self.files().check()?)
    }
}

#[cfg(test)]
mod tests;

//! The recorder: takes the samples of a run in order, and fans them out to the files that are asked
//! for. The output handler of the model calls it, behind a mutex.
//!
//! # Invariants
//!
//! - **RECORD-A.** A net that has no sample for longer than `longest_step` has rested, at its last
//!   voltage, until that long before its next sample. So what happened earlier than that is settled
//!   when a sample comes: it is written, and nothing that waits grows with the length of the run.
//! - **RECORD-B.** What is written is a function of the samples of each net. It does not depend on
//!   the order of nets in the netlist, nor on that of samples of different nets at the same time. A
//!   sample may be earlier than that of another net before it, by a thousandth of `longest_step`.
//! - **RECORD-C.** An output that cannot be written is given up, and its error is kept until the
//!   end; the others and the measures go on. After a sample that is no point of a waveform nothing
//!   is taken any more.

use std::{fmt, ops::ControlFlow, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    Measured, OutputError, Outputs,
    fixed::{FixedMark, FixedNets},
    measures::{Measures, ProbeMark},
    slots::Slots,
    writers::{Writers, WritersMark},
};
use crate::{
    circuit::{Circuit, NetId, Sample},
    waveform::{Cubic, Detector},
};

/// The part of the longest step by which steps may be longer, and by which samples of different
/// nets may be out of order: times are rounded.
const SLACK: f64 = 1e-3;

/// Takes the samples of a run in the order of their times (RECORD-B), and writes all that is asked
/// for.
#[derive(Debug)]
pub struct Recorder {
    slots: Slots,
    fixed: FixedNets,
    threshold: f64,
    /// After how long a silent net has rested (s).
    longest_step: f64,
    /// By how much samples may be out of order (s).
    slack: f64,
    /// The last sample of each net.
    last: Vec<Option<Sample>>,
    /// The side of the threshold of each net that is written.
    detectors: Vec<Option<Detector>>,
    now: f64,
    crossings: u64,
    measures: Measures,
    writers: Writers,
    /// A sample that was no point of a waveform.
    failure: Option<OutputError>,
}

/// How far a recording has come: what it has in memory, and how far its files are written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RecordingMark {
    /// The nets, and how many of them are written; the threshold and the longest step.
    nets: Vec<String>,
    written: usize,
    numbers: [f64; 2],
    fixed: FixedMark,
    last: Vec<Option<Sample>>,
    detectors: Vec<Option<Detector>>,
    now: f64,
    crossings: u64,
    measured: Vec<String>,
    measures: Vec<[ProbeMark; 2]>,
    writers: WritersMark,
}

/// What was recorded of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// How often the nets that are written crossed the threshold.
    pub crossings: u64,
    /// The results of `.measure`, in the order of the deck.
    pub measures: Vec<Measured>,
    /// The files that were written.
    pub files: Vec<PathBuf>,
}

/// Outputs that could not be written, and what was recorded all the same.
#[derive(Debug)]
pub struct Unwritten {
    /// The files that are complete, the measures and the crossings.
    pub recording: Recording,
    /// What went wrong; at least one error.
    pub errors: Vec<OutputError>,
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors: Vec<_> = self.errors.iter().map(ToString::to_string).collect();
        f.write_str(&errors.join("\n"))
    }
}

impl std::error::Error for Unwritten {}

impl Recorder {
    /// Creates the files, and finds out before the run whether they can be written.
    ///
    /// # Errors
    ///
    /// [`OutputError`] when a file cannot be created or a number is not allowed.
    pub fn create(circuit: &Circuit, outputs: &Outputs) -> Result<Self, OutputError> {
        Self::open(circuit, outputs, false)
    }

    /// The same for a run that goes on: opens the files that the run before has written, for
    /// [`go_on`](Self::go_on).
    ///
    /// # Errors
    ///
    /// [`OutputError`] when a file is not there, or a number is not allowed.
    pub fn reopen(circuit: &Circuit, outputs: &Outputs) -> Result<Self, OutputError> {
        Self::open(circuit, outputs, true)
    }

    fn open(circuit: &Circuit, outputs: &Outputs, goes_on: bool) -> Result<Self, OutputError> {
        outputs.check()?;
        let slots = outputs.slots(circuit);
        let fixed = FixedNets::new(&slots.recorded, outputs.longest_step);
        let measures = Measures::new(circuit, &slots);
        let writers = Writers::create(circuit, outputs, &slots, goes_on)?;
        Ok(Self {
            fixed,
            threshold: outputs.threshold,
            longest_step: outputs.longest_step * (1.0 + SLACK),
            slack: outputs.longest_step * SLACK,
            last: vec![None; slots.recorded.len()],
            detectors: vec![None; slots.written],
            now: 0.0,
            crossings: 0,
            measures,
            writers,
            failure: None,
            slots,
        })
    }

    /// The nets whose samples are wanted: those that are written, measured or drawn, and not fixed.
    pub fn nets(&self) -> impl Iterator<Item = NetId> {
        self.slots.free()
    }

    /// Takes a sample; samples of nets that are not wanted, or are fixed, do nothing. Breaks if an
    /// output cannot be written: then the run may end, and [`finish`](Self::finish) says why.
    pub fn record(&mut self, sample: &Sample) -> ControlFlow<()> {
        let Some(slot) = self.slots.of(sample.net) else { return self.flow() };
        if self.failure.is_some() || self.slots.recorded[slot].fixed.is_some() {
            return self.flow();
        }
        if let Err(error) = self.take_all(slot, sample) {
            self.failure = Some(error);
        }
        self.flow()
    }

    /// How far it has come. All that is written until now is on the disk then.
    ///
    /// # Errors
    ///
    /// [`OutputError`] when a file could not be written, or is none to which one can append later.
    pub fn mark(&mut self) -> Result<RecordingMark, OutputError> {
        if let Some(error) = self.failure.iter().chain(&self.writers.errors).next() {
            return Err(OutputError::Incomplete(error.to_string()));
        }
        Ok(RecordingMark {
            nets: self.slots.recorded.iter().map(|net| net.name.clone()).collect(),
            written: self.slots.written,
            numbers: [self.threshold, self.longest_step],
            fixed: self.fixed.mark(),
            last: self.last.clone(),
            detectors: self.detectors.clone(),
            now: self.now,
            crossings: self.crossings,
            measured: self.measures.texts(),
            measures: self.measures.marks(),
            writers: self.writers.mark()?,
        })
    }

    /// Goes on where another one was when it made this mark; called before the first sample, after
    /// [`reopen`](Self::reopen).
    ///
    /// # Errors
    ///
    /// [`OutputError`] when that one had other outputs, or a file is not as it has left it.
    pub fn go_on(&mut self, mark: RecordingMark) -> Result<(), OutputError> {
        let nets = self.slots.recorded.iter().map(|net| &net.name);
        let is_same = nets.eq(&mark.nets)
            && self.slots.written == mark.written
            && [self.threshold, self.longest_step] == mark.numbers
            && self.last.len() == mark.last.len()
            && self.detectors.len() == mark.detectors.len()
            && self.measures.texts() == mark.measured;
        if !is_same {
            return Err(OutputError::Other("it recorded or measured something else"));
        }
        self.fixed.go_on(mark.fixed)?;
        (self.last, self.detectors) = (mark.last, mark.detectors);
        (self.now, self.crossings) = (mark.now, mark.crossings);
        self.measures.go_on(&mark.measures);
        self.writers.go_on(&mark.writers)
    }

    /// Whether an output cannot be written: then the run may end.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.failure.is_some() || !self.writers.errors.is_empty()
    }

    /// Completes the files at the time at which the run ended (s). Nets keep the voltages of their
    /// last samples until then.
    ///
    /// # Errors
    ///
    /// Every [`OutputError`] since the beginning, with what was recorded all the same. Files that
    /// are not complete are left with `.partial` at the end of their names.
    pub fn finish(mut self, end: f64) -> Result<Recording, Unwritten> {
        let failure = self.failure.take();
        let files = if failure.is_none() { self.complete(end) } else { Vec::new() };
        let (crossings, measures) = (self.crossings, self.measures.results());
        let recording = Recording { crossings, measures, files };
        let errors: Vec<_> = self.writers.errors.into_iter().chain(failure).collect();
        if errors.is_empty() { Ok(recording) } else { Err(Unwritten { recording, errors }) }
    }

    /// Brings all nets to the end of the run, and completes the files, which it names.
    fn complete(&mut self, end: f64) -> Vec<PathBuf> {
        let end = if end > self.now { end } else { self.now };
        self.take_fixed(end);
        let held = |sample: &Option<Sample>| sample.map(|s| Sample { time: end, slope: 0.0, ..s });
        let mut lasts: Vec<Option<Sample>> = self.last.iter().map(held).collect();
        for (slot, sample) in self.fixed.at(end) {
            lasts[slot] = Some(sample);
        }
        for (slot, sample) in lasts.into_iter().enumerate() {
            if let Some(sample) =
                sample.filter(|s| self.last[slot].is_some_and(|l| l.time < s.time))
            {
                self.rest_before(slot, &sample);
                self.step(slot, sample);
            }
        }
        self.writers.finish(end)
    }

    /// What waits in memory.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.writers.waiting()
    }

    const fn flow(&self) -> ControlFlow<()> {
        if self.has_failed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Takes a sample, and before it those of fixed nets.
    fn take_all(&mut self, slot: usize, sample: &Sample) -> Result<(), OutputError> {
        let Sample { time, value, slope, .. } = *sample;
        let earliest = self.last[slot].map_or(0.0, |last| last.time).max(self.now - self.slack);
        let is_sound = time >= earliest && [time, value, slope].iter().all(|n| n.is_finite());
        if !is_sound {
            let net = self.slots.recorded[slot].name.clone();
            return Err(OutputError::Sample { net, time, value, slope, now: self.now });
        }
        self.take_fixed(time);
        self.take(slot, sample);
        Ok(())
    }

    /// Takes the samples of fixed nets up to a time.
    fn take_fixed(&mut self, time: f64) {
        while let Some((slot, samples)) = self.fixed.pop_up_to(time) {
            for sample in samples.into_iter().flatten() {
                self.take(slot, &sample);
            }
        }
    }

    fn take(&mut self, slot: usize, sample: &Sample) {
        if self.last[slot].is_some() {
            self.rest_before(slot, sample);
            self.step(slot, *sample);
        } else {
            self.begin(slot, *sample);
        }
        if sample.time > self.now {
            self.now = sample.time;
            self.writers.settle(self.now - self.slack - self.longest_step);
        }
    }

    /// The first sample of a net.
    fn begin(&mut self, slot: usize, sample: Sample) {
        self.last[slot] = Some(sample);
        self.measures.begin(slot, sample.value);
        if slot < self.slots.written {
            let detector = Detector::new(self.threshold, sample.value);
            self.detectors[slot] = Some(detector);
            self.writers.begin(slot, &sample, detector.is_above());
        }
    }

    /// Lets a net rest that had no sample for long, up to the longest step before this one
    /// (RECORD-A).
    fn rest_before(&mut self, slot: usize, sample: &Sample) {
        let begin = sample.time - self.longest_step;
        let Some(last) = self.last[slot].as_mut().filter(|last| last.time < begin) else { return };
        let has_rested = [last.slope, sample.slope, last.value - sample.value] == [0.0; 3];
        if !has_rested {
            last.slope = 0.0;
            let rested = Sample { time: begin, ..*last };
            self.writers.rest(slot);
            self.step(slot, rested);
        }
    }

    /// The next sample of a net.
    fn step(&mut self, slot: usize, sample: Sample) {
        let Some(last) = self.last[slot].replace(sample) else { return };
        let piece = Cubic::between(&last, &sample);
        self.measures.follow(slot, &piece);
        self.writers.piece(slot, &piece);
        let Some(Some(detector)) = self.detectors.get_mut(slot) else { return };
        let (side, count) = (detector.is_above(), &mut self.crossings);
        detector.follow(&piece, |time, edge| {
            *count += 1;
            self.writers.edge(slot, time, edge);
        });
        if side.is_none() && detector.is_above().is_some() {
            self.writers.side(slot, piece.from, detector.is_above());
        }
        self.writers.sample(slot, &sample);
    }
}

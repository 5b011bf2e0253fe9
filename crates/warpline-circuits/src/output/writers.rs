//! The files of a recording: each call of the recorder goes to those that are asked for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use warpline::files::PartialFile;

use super::{
    OutputError, Outputs,
    crossings::{CrossingsMark, CrossingsWriter},
    error,
    plot::{Sketch, SketchMark},
    raw::{RawMark, RawWriter},
    slots::Slots,
    vcd::{VcdMark, VcdWriter},
};
use crate::{
    circuit::{Circuit, Sample},
    waveform::{Cubic, Edge},
};

/// How far the files are written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WritersMark {
    vcd: Option<VcdMark>,
    raw: Option<RawMark>,
    crossings: Option<CrossingsMark>,
    sketch: Option<SketchMark>,
}

/// The files that are asked for.
#[derive(Debug)]
pub(super) struct Writers {
    vcd: Wanted<VcdWriter>,
    raw: Wanted<RawWriter>,
    crossings: Wanted<CrossingsWriter>,
    sketch: Wanted<Sketch>,
    /// Why some of them were given up.
    pub(super) errors: Vec<OutputError>,
}

/// A writer with its files, until one of them cannot be written: the others go on without it.
#[derive(Debug)]
struct Wanted<W> {
    paths: Vec<PathBuf>,
    writer: Option<W>,
}

impl<W> Wanted<W> {
    /// Creates the file, and its writer.
    fn create(
        path: Option<&PathBuf>,
        goes_on: bool,
        create: impl FnOnce(PartialFile) -> Result<W, OutputError>,
    ) -> Result<Self, OutputError> {
        let writer = path.map(|path| create(error::open(path, goes_on)?)).transpose()?;
        Ok(Self { paths: path.into_iter().cloned().collect(), writer })
    }

    /// Looks at a mark; the run before has to have written the same files.
    fn check_mark<K>(
        &mut self,
        mark: Option<&K>,
        check: impl FnOnce(&mut W, &K) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        match (&mut self.writer, mark) {
            (None, None) => Ok(()),
            (Some(writer), Some(mark)) => check(writer, mark),
            (Some(_), None) => Err(OutputError::Other("it did not write all of these files")),
            (None, Some(_)) => Err(OutputError::Other("it wrote more files")),
        }
    }

    /// Does this with the writer, if there is one; one that fails is given up.
    fn with(
        &mut self,
        errors: &mut Vec<OutputError>,
        act: impl FnOnce(&mut W) -> Result<(), OutputError>,
    ) {
        if let Some(Err(error)) = self.writer.as_mut().map(act) {
            self.writer = None;
            self.paths.clear();
            errors.push(error);
        }
    }
}

impl Writers {
    pub(super) fn create(
        circuit: &Circuit,
        outputs: &Outputs,
        slots: &Slots,
        goes_on: bool,
    ) -> Result<Self, OutputError> {
        let (title, names, points) = (&circuit.title, || slots.names(), outputs.points);
        Ok(Self {
            vcd: Wanted::create(outputs.vcd.as_ref(), goes_on, |file| {
                VcdWriter::create(file, title, names())
            })?,
            raw: Wanted::create(outputs.raw.as_ref(), goes_on, |file| {
                RawWriter::create(file, title, names(), points)
            })?,
            crossings: Wanted::create(outputs.crossings.as_ref(), goes_on, |file| {
                CrossingsWriter::create(file, names())
            })?,
            sketch: Wanted {
                paths: outputs.plot.iter().flat_map(|plot| plot.files.iter().cloned()).collect(),
                writer: match &outputs.plot {
                    Some(plot) => Some(Sketch::create(circuit, slots, plot)?),
                    None => None,
                },
            },
            errors: Vec::new(),
        })
    }

    pub(super) fn mark(&mut self) -> Result<WritersMark, OutputError> {
        let Self { vcd, raw, crossings, sketch, .. } = self;
        Ok(WritersMark {
            vcd: vcd.writer.as_mut().map(VcdWriter::mark).transpose()?,
            raw: raw.writer.as_mut().map(RawWriter::mark).transpose()?,
            crossings: crossings.writer.as_mut().map(CrossingsWriter::mark).transpose()?,
            sketch: sketch.writer.as_ref().map(Sketch::mark),
        })
    }

    /// Goes on from a mark of a run with the same nets.
    pub(super) fn go_on(&mut self, mark: &WritersMark) -> Result<(), OutputError> {
        // No file is cut off as long as another one may be refused.
        self.vcd.check_mark(mark.vcd.as_ref(), VcdWriter::check_mark)?;
        self.raw.check_mark(mark.raw.as_ref(), RawWriter::check_mark)?;
        self.crossings.check_mark(mark.crossings.as_ref(), CrossingsWriter::check_mark)?;
        self.sketch.check_mark(mark.sketch.as_ref(), Sketch::go_on)?;
        let Self { vcd, raw, crossings, .. } = self;
        vcd.writer.as_mut().map_or(Ok(()), VcdWriter::go_on)?;
        raw.writer.as_mut().map_or(Ok(()), RawWriter::go_on)?;
        crossings.writer.as_mut().map_or(Ok(()), CrossingsWriter::go_on)
    }

    /// The first sample of a net, and its side of the threshold.
    pub(super) fn begin(&mut self, slot: usize, sample: &Sample, is_above: Option<bool>) {
        self.side(slot, sample.time, is_above);
        self.sample(slot, sample);
    }

    /// The waveform of a net goes on.
    pub(super) fn piece(&mut self, slot: usize, piece: &Cubic) {
        if let Some(sketch) = &mut self.sketch.writer {
            sketch.follow(slot, piece);
        }
    }

    /// The next sample of a net.
    pub(super) fn sample(&mut self, slot: usize, sample: &Sample) {
        if let Some(vcd) = &mut self.vcd.writer {
            vcd.voltage(slot, sample.time, sample.value);
        }
        if let Some(raw) = &mut self.raw.writer {
            raw.sample(slot, sample);
        }
    }

    /// A net is at rest since its last sample.
    pub(super) fn rest(&mut self, slot: usize) {
        if let Some(raw) = &mut self.raw.writer {
            raw.rest(slot);
        }
    }

    /// A net is on this side of the threshold from a time on (s), without a crossing.
    pub(super) fn side(&mut self, slot: usize, time: f64, is_above: Option<bool>) {
        if let Some(vcd) = &mut self.vcd.writer {
            vcd.side(slot, time, is_above);
        }
    }

    /// A net crosses the threshold.
    pub(super) fn edge(&mut self, slot: usize, time: f64, edge: Edge) {
        if let Some(vcd) = &mut self.vcd.writer {
            vcd.edge(slot, time, edge);
        }
        if let Some(crossings) = &mut self.crossings.writer {
            crossings.edge(slot, time, edge);
        }
    }

    /// Nothing comes any more from before a time (s).
    pub(super) fn settle(&mut self, time: f64) {
        let errors = &mut self.errors;
        self.vcd.with(errors, |vcd| vcd.settle(time));
        self.raw.with(errors, |raw| raw.settle(time));
        self.crossings.with(errors, |crossings| crossings.settle(time));
    }

    /// The run ended at a time (s). Returns the files that are complete.
    pub(super) fn finish(&mut self, end: f64) -> Vec<PathBuf> {
        let errors = &mut self.errors;
        self.vcd.with(errors, |vcd| vcd.finish(end));
        self.raw.with(errors, |raw| raw.finish(end));
        self.crossings.with(errors, CrossingsWriter::finish);
        self.sketch.with(errors, Sketch::finish);
        let Self { vcd, raw, crossings, sketch, .. } = self;
        [&vcd.paths, &raw.paths, &crossings.paths, &sketch.paths]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    /// What waits in memory.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        let vcd = self.vcd.writer.as_ref().map_or(0, VcdWriter::waiting);
        let raw = self.raw.writer.as_ref().map_or(0, RawWriter::waiting);
        vcd + raw + self.crossings.writer.as_ref().map_or(0, CrossingsWriter::waiting)
    }
}

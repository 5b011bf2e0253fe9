//! The files of a recording: each call of the recorder goes to those that are asked for.

use std::path::PathBuf;

use super::{
    OutputError, Outputs, crossings::CrossingsWriter, file::PartialFile, plot::Sketch,
    raw::RawWriter, slots::Slots, vcd::VcdWriter,
};
use crate::{
    circuit::{Circuit, Sample},
    waveform::{Cubic, Edge},
};

/// The files that are asked for.
#[derive(Debug)]
pub(super) struct Writers {
    vcd: Option<VcdWriter>,
    raw: Option<RawWriter>,
    crossings: Option<CrossingsWriter>,
    sketch: Option<Sketch>,
    pub(super) files: Vec<PathBuf>,
}

impl Writers {
    pub(super) fn create(
        circuit: &Circuit,
        outputs: &Outputs,
        slots: &Slots,
    ) -> Result<Self, OutputError> {
        let mut files = Vec::new();
        let mut create = |path: &Option<PathBuf>| {
            let path = path.as_deref()?;
            files.push(path.to_owned());
            Some(PartialFile::create(path))
        };
        let vcd = create(&outputs.vcd).transpose()?;
        let raw = create(&outputs.raw).transpose()?;
        let crossings = create(&outputs.crossings).transpose()?;
        let sketch = outputs.plot.as_ref().map(|plot| Sketch::create(circuit, slots, plot));
        let sketch = sketch.transpose()?;
        files.extend(outputs.plot.iter().flat_map(|plot| plot.files.iter().cloned()));
        let (title, names) = (&circuit.title, || slots.names());
        let points = outputs.points;
        Ok(Self {
            vcd: vcd.map(|file| VcdWriter::create(file, title, names())).transpose()?,
            raw: raw.map(|file| RawWriter::create(file, title, names(), points)).transpose()?,
            crossings: crossings.map(|f| CrossingsWriter::create(f, names())).transpose()?,
            sketch,
            files,
        })
    }

    /// The first sample of a net, and its side of the threshold.
    pub(super) fn begin(&mut self, slot: usize, sample: &Sample, is_above: Option<bool>) {
        self.side(slot, sample.time, is_above);
        self.sample(slot, sample);
    }

    /// The waveform of a net goes on.
    pub(super) fn piece(&mut self, slot: usize, piece: &Cubic) {
        if let Some(sketch) = &mut self.sketch {
            sketch.follow(slot, piece);
        }
    }

    /// The next sample of a net.
    pub(super) fn sample(&mut self, slot: usize, sample: &Sample) {
        if let Some(vcd) = &mut self.vcd {
            vcd.voltage(slot, sample.time, sample.value);
        }
        if let Some(raw) = &mut self.raw {
            raw.sample(slot, sample);
        }
    }

    /// A net is at rest since its last sample.
    pub(super) fn rest(&mut self, slot: usize) {
        if let Some(raw) = &mut self.raw {
            raw.rest(slot);
        }
    }

    /// A net is on this side of the threshold from a time on (s), without a crossing.
    pub(super) fn side(&mut self, slot: usize, time: f64, is_above: Option<bool>) {
        if let Some(vcd) = &mut self.vcd {
            vcd.side(slot, time, is_above);
        }
    }

    /// A net crosses the threshold.
    pub(super) fn edge(&mut self, slot: usize, time: f64, edge: Edge) {
        if let Some(vcd) = &mut self.vcd {
            vcd.edge(slot, time, edge);
        }
        if let Some(crossings) = &mut self.crossings {
            crossings.edge(slot, time, edge);
        }
    }

    /// Nothing comes any more from before a time (s).
    pub(super) fn settle(&mut self, time: f64) -> Result<(), OutputError> {
        self.vcd.as_mut().map_or(Ok(()), |vcd| vcd.settle(time))?;
        self.raw.as_mut().map_or(Ok(()), |raw| raw.settle(time))?;
        self.crossings.as_mut().map_or(Ok(()), |crossings| crossings.settle(time))
    }

    /// The run ended at a time (s).
    pub(super) fn finish(&mut self, end: f64) -> Result<(), OutputError> {
        self.vcd.as_mut().map_or(Ok(()), |vcd| vcd.finish(end))?;
        self.raw.as_mut().map_or(Ok(()), |raw| raw.finish(end))?;
        self.crossings.as_mut().map_or(Ok(()), CrossingsWriter::finish)?;
        self.sketch.as_mut().map_or(Ok(()), Sketch::finish)
    }

    /// What waits in memory.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        let vcd = self.vcd.as_ref().map_or(0, VcdWriter::waiting);
        let raw = self.raw.as_ref().map_or(0, RawWriter::waiting);
        vcd + raw + self.crossings.as_ref().map_or(0, CrossingsWriter::waiting)
    }
}

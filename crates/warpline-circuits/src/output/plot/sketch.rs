//! What a picture can show of waveforms: the range of voltages in each of its columns.
//!
//! The size of a sketch does not depend on the length of the run (`draw` draws it).

use std::io::Write;

use warpline::files::PartialFile;

use super::{
    Plot, SketchMark, draw, png,
    trace::{COLUMNS, Trace},
};
use crate::{
    circuit::Circuit,
    output::{OutputError, error, slots::Slots},
    waveform::Cubic,
};

/// The most nets that one can tell apart in one picture.
const NETS_MAX: usize = 16;

/// The waveforms of some nets, as far as a picture shows them.
#[derive(Debug)]
pub(in crate::output) struct Sketch {
    title: String,
    /// The time at the right border (s).
    end: f64,
    traces: Vec<Trace>,
    files: Vec<(PartialFile, Kind)>,
}

/// The kind of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Svg,
    Png,
}

impl Sketch {
    /// An empty sketch of the time up to the circuit's end; creates the files.
    pub(in crate::output) fn create(
        circuit: &Circuit,
        slots: &Slots,
        plot: &Plot,
    ) -> Result<Self, OutputError> {
        let trace = |slot: usize| {
            let name = slots.recorded[slot].name.clone();
            Trace { slot, name, columns: vec![None; COLUMNS] }
        };
        let traces: Vec<Trace> =
            plot.nets.iter().filter_map(|net| slots.of(*net)).map(trace).collect();
        if traces.is_empty() || traces.len() > NETS_MAX {
            return Err(OutputError::PlottedNets { count: traces.len(), most: NETS_MAX });
        }
        let end = circuit.end;
        if !(end > 0.0 && end.is_finite()) {
            let (what, allowed) = ("end of the plot", "a time in s, greater than 0");
            return Err(OutputError::Number { what, value: end, allowed });
        }
        let mut files = Vec::new();
        for path in &plot.files {
            let kind = match path.extension().and_then(|extension| extension.to_str()) {
                Some("svg") => Kind::Svg,
                Some("png") => Kind::Png,
                _ => return Err(OutputError::PictureKind { path: path.clone() }),
            };
            files.push((error::open(path, false)?, kind));
        }
        Ok(Self { title: circuit.title.clone(), end, traces, files })
    }

    /// A net's waveform goes on.
    pub(in crate::output) fn follow(&mut self, slot: usize, piece: &Cubic) {
        let end = self.end;
        for trace in self.traces.iter_mut().filter(|trace| trace.slot == slot) {
            trace.follow(piece, end);
        }
    }

    pub(in crate::output) fn mark(&self) -> SketchMark {
        let traces = self.traces.iter().map(|trace| (trace.name.clone(), trace.columns.clone()));
        SketchMark { end: self.end, traces: traces.collect() }
    }

    /// Goes on from a mark of a sketch of the same nets and the same time.
    pub(in crate::output) fn go_on(&mut self, mark: &SketchMark) -> Result<(), OutputError> {
        let names = self.traces.iter().map(|trace| &trace.name);
        let is_same = names.eq(mark.traces.iter().map(|(name, _)| name)) && self.end == mark.end;
        if !is_same || mark.traces.iter().any(|(_, columns)| columns.len() != COLUMNS) {
            return Err(OutputError::Other("it drew other nets, or up to another end"));
        }
        for (trace, (_, columns)) in self.traces.iter_mut().zip(&mark.traces) {
            trace.columns.clone_from(columns);
        }
        Ok(())
    }

    /// Draws the picture and completes the files.
    pub(in crate::output) fn finish(&mut self) -> Result<(), OutputError> {
        let failed = |reason: String| OutputError::Plot { reason };
        let svg = draw::svg(&self.title, &self.traces, self.end)
            .map_err(|error| failed(error.to_string()))?;
        for (file, kind) in &mut self.files {
            let bytes = match kind {
                Kind::Svg => svg.clone().into_bytes(),
                Kind::Png => png::render(&svg).map_err(failed)?,
            };
            let written = file.write_all(&bytes).and_then(|()| file.complete());
            written.map_err(|source| error::failed(file, source))?;
        }
        Ok(())
    }
}

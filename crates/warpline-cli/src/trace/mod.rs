//! The trace of a run (`--trace`): what its workers did over wall time, as a file that Perfetto
//! shows (<https://ui.perfetto.dev>).
//!
//! `run` makes a [`Timeline`], gives it to the simulation, and writes here what it has recorded.
//! Workers are threads of a process for each rank; see `docs/trace.md`.

mod packets;
mod writer;

use std::{io, path::PathBuf};

use serde_json::{Value, json};
use warpline::timeline::{Recording, Timeline};

use crate::{failure::Failure, format::grouped, output::Output, values::Bytes};

/// The trace of a run: where it is recorded, and where it is written.
pub(crate) struct Trace {
    timeline: Timeline,
    path: PathBuf,
    output: Output,
}

/// What was written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    path: PathBuf,
    spans: usize,
    arrows: usize,
    left_out: u64,
    one_of: u64,
}

impl Trace {
    /// Opens the file, without changing it.
    pub(crate) fn open(path: PathBuf, memory: Option<Bytes>) -> Result<Self, Failure> {
        let output = Output::open_for("--trace", Some(&path))?;
        let timeline = memory.map_or_else(Timeline::default, |Bytes(bytes)| Timeline::new(bytes));
        Ok(Self { timeline, path, output })
    }

    pub(crate) const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Writes what was recorded of a run with that name.
    pub(crate) fn write(mut self, run: &str) -> Result<Written, Failure> {
        let recording = self.timeline.recording();
        let written = Written::of(&recording, self.path);
        let chunk = |bytes: &[u8]| self.output.write_part(bytes);
        writer::write(&recording, run, chunk).map_err(|error: io::Error| {
            let path = written.path.display();
            Failure::Run(format!("the trace {path} could not be written: {error}"))
        })?;
        Ok(written)
    }
}

impl Written {
    fn of(recording: &Recording, path: PathBuf) -> Self {
        let spans = recording.tracks.iter().map(|track| track.spans.len()).sum();
        let (arrows, left_out) = (recording.arrows.len(), recording.left_out);
        Self { path, spans, arrows, left_out, one_of: recording.one_of }
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { path, spans, arrows, left_out, one_of } = self;
        json!({
            "file": path, "spans": spans, "flows": arrows, "spans_left_out": left_out,
            "one_slice_of": one_of,
        })
    }

    /// The same for people.
    pub(crate) fn to_text(&self) -> String {
        let spans = grouped(self.spans as u64);
        let file = format!("{}: {spans} spans (open it in ui.perfetto.dev)", self.path.display());
        if self.left_out == 0 {
            return file;
        }
        let left_out = grouped(self.left_out);
        format!("{file}; of {} ms each, one is there: {left_out} spans are not", self.one_of)
    }
}

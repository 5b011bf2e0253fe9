//! The trace of a run (`--trace`): what its workers did over wall time, as a file that Perfetto
//! shows (<https://ui.perfetto.dev>).
//!
//! `run` makes a [`Timeline`], gives it to the simulation, and writes here what it has recorded,
//! with `warpline-trace`; see `docs/trace.md`.

use std::path::PathBuf;

use serde_json::{Value, json};
use warpline::{
    files::PartialFile,
    timeline::{Recording, Timeline},
};

use crate::{failure::Failure, format::grouped, output, values::Bytes};

/// The trace of a run: where it is recorded, and where it is written.
pub(crate) struct Trace {
    timeline: Timeline,
    /// Nothing where another process writes it.
    file: Option<PartialFile>,
}

/// What was written.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    path: PathBuf,
    parts: warpline_trace::Written,
    left_out: u64,
    one_of: u64,
    clock_error: u64,
}

impl Trace {
    /// Opens the file, without changing it, if this process writes it.
    pub(crate) fn open(path: Option<PathBuf>, memory: Option<Bytes>) -> Result<Self, Failure> {
        let file = path.map(|path| output::beside("--trace", &path)).transpose()?;
        let timeline = memory.map_or_else(Timeline::default, |Bytes(bytes)| Timeline::new(bytes));
        Ok(Self { timeline, file })
    }

    pub(crate) const fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Writes what was recorded of a run with that name.
    pub(crate) fn write(self, run: &str) -> Option<Result<Written, Failure>> {
        let recording = self.timeline.recording();
        self.file.map(|file| write_to(file, &recording, run).map_err(Failure::Run))
    }

    /// Writes what was recorded of a run with that name which has failed, and says so: there is no
    /// report. If nothing was recorded, it leaves the file alone.
    pub(crate) fn write_of_failed(self, run: &str) {
        let recording = self.timeline.recording();
        let Some(file) = self.file else { return };
        if recording.tracks.iter().all(|track| track.spans.is_empty()) {
            return;
        }
        match write_to(file, &recording, &format!("{run}, which failed")) {
            Ok(written) => eprintln!("trace of the run that failed: {}", written.to_text()),
            Err(message) => eprintln!("warning: {message}"),
        }
    }
}

fn write_to(file: PartialFile, recording: &Recording, run: &str) -> Result<Written, String> {
    let path = file.path().to_owned();
    let mut parts = warpline_trace::Written::default();
    let filled = file.fill(|file| {
        parts = warpline_trace::write(recording, run, file)?;
        Ok(())
    });
    filled
        .map_err(|error| format!("the trace {} could not be written: {error}", path.display()))?;
    let &Recording { left_out, one_of, clock_error, .. } = recording;
    Ok(Written { path, parts, left_out, one_of, clock_error })
}

impl Written {
    pub(crate) fn to_json(&self) -> Value {
        let Self { path, parts, left_out, one_of, clock_error } = self;
        json!({
            "file": path, "spans": parts.spans, "flows": parts.flows, "spans_left_out": left_out,
            "one_slice_of": one_of, "clock_error_ns": clock_error,
        })
    }

    /// The same for people.
    pub(crate) fn to_text(&self) -> String {
        let spans = grouped(self.parts.spans as u64);
        let file = format!("{}: {spans} spans (open it in ui.perfetto.dev)", self.path.display());
        if self.left_out == 0 {
            return file;
        }
        let left_out = grouped(self.left_out);
        format!("{file}; of {} ms each, one is there: {left_out} spans are not", self.one_of)
    }
}

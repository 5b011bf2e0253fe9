//! Value change dump (IEEE 1364-2001, section 18), as GTKWave and others show it; the recorder
//! calls it.
//!
//! A net `x1.out` is a wire `out` in the scope `x1`, which is 1 above the threshold and 0 below,
//! and beside it a real variable `v(out)`, which has the voltage at each sample. Both keep their
//! values while the net rests. Times are femtoseconds; voltages are rounded to microvolts.

use std::{fmt, io};

use serde::{Deserialize, Serialize};
use vcd::{IdCode, TimescaleUnit, Value, VarType, Writer};
use warpline::files::{Mark, PartialFile};

use super::{
    OutputError,
    error::{self, failed},
    reorder::Reorder,
};
use crate::waveform::Edge;

/// Ticks per second.
const TICKS: f64 = 1e15;
/// The scope around all others: every variable is in one.
const TOP: &str = "circuit";

/// Writes a VCD file.
pub(super) struct VcdWriter {
    file: Writer<PartialFile>,
    /// The variables of each net: the wire and the voltage.
    variables: Vec<[IdCode; 2]>,
    changes: Reorder<Change>,
    /// The tick that was written last.
    tick: Option<u64>,
}

/// How far the file is written, and what waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct VcdMark {
    file: Mark,
    changes: Vec<(f64, usize, Change)>,
    tick: Option<u64>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Change {
    /// Above the threshold, below it, or at it.
    Wire(Option<bool>),
    Voltage(f64),
}

impl VcdWriter {
    /// Writes the header; the names are in the order of [`Slots`](super::slots::Slots).
    pub(super) fn create<'a>(
        file: PartialFile,
        title: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Self, OutputError> {
        let mut writer = Self {
            file: Writer::new(file),
            variables: Vec::new(),
            changes: Reorder::new(),
            tick: None,
        };
        let written = writer.header(title, names);
        writer.check(written)?;
        Ok(writer)
    }

    fn header<'a>(&mut self, title: &str, names: impl Iterator<Item = &'a str>) -> io::Result<()> {
        // A dollar sign may end the comment.
        self.file.comment(&title.replace('$', " "))?;
        self.file.version(concat!("Warpline ", env!("CARGO_PKG_VERSION")))?;
        self.file.timescale(1, TimescaleUnit::FS)?;
        self.file.add_module(TOP)?;
        let mut scopes: Vec<String> = Vec::new();
        for name in names {
            let mut parts = name.split('.').map(word).collect::<Vec<_>>();
            let variable = parts.pop().unwrap_or_default();
            let shared =
                parts.iter().zip(&scopes).take_while(|(part, scope)| part == scope).count();
            for _ in shared..scopes.len() {
                self.file.upscope()?;
            }
            for part in &parts[shared..] {
                self.file.add_module(part)?;
            }
            scopes = parts;
            let wire = self.file.add_wire(1, &variable)?;
            let real = self.file.add_var(VarType::Real, 64, &format!("v({variable})"), None)?;
            self.variables.push([wire, real]);
        }
        for _ in 0..=scopes.len() {
            self.file.upscope()?;
        }
        self.file.enddefinitions()
    }

    /// The side of the threshold on which a net is from a time on (s); `None` while it is at it.
    pub(super) fn side(&mut self, slot: usize, time: f64, is_above: Option<bool>) {
        self.changes.push(time, slot, Change::Wire(is_above));
    }

    /// A net crosses the threshold.
    pub(super) fn edge(&mut self, slot: usize, time: f64, edge: Edge) {
        self.side(slot, time, Some(edge == Edge::Rise));
    }

    /// A net has a sample.
    pub(super) fn voltage(&mut self, slot: usize, time: f64, value: f64) {
        self.changes.push(time, slot, Change::Voltage(value));
    }

    /// Writes what happened before a time (s): nothing more comes before it.
    pub(super) fn settle(&mut self, time: f64) -> Result<(), OutputError> {
        while let Some(entry) = self.changes.pop_before(time) {
            let written = self.write(entry.time, entry.slot, entry.what);
            self.check(written)?;
        }
        Ok(())
    }

    pub(super) fn mark(&mut self) -> Result<VcdMark, OutputError> {
        let file = error::mark(self.file.writer())?;
        Ok(VcdMark { file, changes: self.changes.waiting(), tick: self.tick })
    }

    /// Takes what the run before had in memory, and finds out whether its file is there.
    pub(super) fn check_mark(&mut self, mark: &VcdMark) -> Result<(), OutputError> {
        let VcdMark { file, changes, tick } = mark;
        (self.changes, self.tick) = (Reorder::of(changes, self.variables.len())?, *tick);
        let writer = self.file.writer();
        writer.check(*file, 0, &[]).map_err(|source| error::not_gone_on(writer, source))
    }

    pub(super) fn go_on(&mut self) -> Result<(), OutputError> {
        let writer = self.file.writer();
        writer.go_on().map_err(|source| error::not_gone_on(writer, source))
    }

    /// Writes the rest, and the time at which the run ended (s).
    pub(super) fn finish(&mut self, end: f64) -> Result<(), OutputError> {
        self.settle(f64::INFINITY)?;
        let ended = self.time(end).and_then(|()| self.file.writer().complete());
        self.check(ended)
    }

    fn write(&mut self, time: f64, slot: usize, change: Change) -> io::Result<()> {
        self.time(time)?;
        let [wire, real] = self.variables[slot];
        match change {
            Change::Wire(is_above) => {
                let value = match is_above {
                    None => Value::X,
                    Some(false) => Value::V0,
                    Some(true) => Value::V1,
                };
                self.file.change_scalar(wire, value)
            }
            Change::Voltage(value) => self.file.change_real(real, rounded(value)),
        }
    }

    fn time(&mut self, time: f64) -> io::Result<()> {
        let tick = (time * TICKS).round() as u64;
        if self.tick.replace(tick) == Some(tick) { Ok(()) } else { self.file.timestamp(tick) }
    }

    fn check(&mut self, result: io::Result<()>) -> Result<(), OutputError> {
        result.map_err(|error| failed(self.file.writer(), error))
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.changes.len()
    }
}

impl fmt::Debug for VcdWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nets = &self.variables.len();
        f.debug_struct("VcdWriter")
            .field("nets", nets)
            .field("tick", &self.tick)
            .finish_non_exhaustive()
    }
}

/// A voltage, rounded to microvolts.
fn rounded(volts: f64) -> f64 {
    // Adding zero makes negative zero positive.
    (volts * 1e6).round() / 1e6 + 0.0
}

/// A part of a name, as one word.
fn word(part: &str) -> String {
    let part: String =
        part.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect();
    if part.is_empty() { "_".to_owned() } else { part }
}

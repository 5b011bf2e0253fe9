//! What a picture can show of waveforms: the range of voltages in each of its columns.
//!
//! The size of a sketch does not depend on the length of the run (`draw` draws it).

use std::io::Write;

use super::{Plot, draw, png};
use crate::{
    circuit::Circuit,
    output::{OutputError, file::PartialFile, slots::Slots},
    waveform::Cubic,
};

/// The number of columns: one for each unit of the picture's width.
pub(super) const COLUMNS: usize = 960;
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

/// The waveform of one net.
#[derive(Debug)]
pub(super) struct Trace {
    slot: usize,
    pub(super) name: String,
    pub(super) columns: Vec<Option<Column>>,
}

/// The voltages of a net in one column: at its left and right border, and the extremes (V).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) first: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) last: f64,
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
            files.push((PartialFile::create(path)?, kind));
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
            written.map_err(|error| file.failed(error))?;
        }
        Ok(())
    }
}

impl Trace {
    fn follow(&mut self, piece: &Cubic, end: f64) {
        let width = end / COLUMNS as f64;
        let column = |time: f64| ((time / width) as usize).min(COLUMNS - 1);
        let (from, to) = (piece.from, piece.to.min(end));
        if from > to {
            return;
        }
        let (begin, last) = (column(from), column(to));
        if begin == last {
            let (low, high) = piece.extremes();
            let (first, last) = (piece.at(from), piece.at(to));
            return self.extend(begin, Column { first, low, high, last });
        }
        // Within a column it is nearly straight, but where it turns.
        let mut value = piece.at(from);
        for index in begin..=last {
            let (first, next) = (value, piece.at(to.min((index + 1) as f64 * width)));
            let (low, high) = (first.min(next), first.max(next));
            self.extend(index, Column { first, low, high, last: next });
            value = next;
        }
        for (time, value) in piece.turning_points().filter(|point| point.0 < end) {
            if let Some(column) = &mut self.columns[column(time)] {
                (column.low, column.high) = (column.low.min(value), column.high.max(value));
            }
        }
    }

    fn extend(&mut self, index: usize, new: Column) {
        let column = &mut self.columns[index];
        *column = Some(column.map_or(new, |old| Column {
            first: old.first,
            low: old.low.min(new.low),
            high: old.high.max(new.high),
            last: new.last,
        }));
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::circuit::{NetId, Sample};

    proptest! {
        /// Every voltage of the waveform is within the range of its column, and columns are joined.
        #[test]
        fn columns_hold_the_waveform(
            steps in vec((0.0..0.2, 0.0..3.0, -9.0..9.0), 2..40),
            parts in vec(0.0..1.0, 50),
        ) {
            let mut trace = Trace { slot: 0, name: String::new(), columns: vec![None; COLUMNS] };
            let mut time = 0.0;
            let samples = steps.iter().map(|&(step, value, slope)| {
                time += step;
                Sample { time, net: NetId(1), value, slope }
            }).collect::<Vec<_>>();
            const END: f64 = 3.0;
            for pair in samples.windows(2) {
                let piece = Cubic::between(&pair[0], &pair[1]);
                trace.follow(&piece, END);
                for part in &parts {
                    let time = piece.from + part * (piece.to - piece.from);
                    let index = (time / END * COLUMNS as f64) as usize;
                    let Some(column) = trace.columns.get(index) else { continue };
                    let (value, column) = (piece.at(time), column.expect("it was there"));
                    prop_assert!((column.low - 1e-3..=column.high + 1e-3).contains(&value));
                }
            }
            let first = (samples[0].time / END * COLUMNS as f64) as usize;
            let columns = trace.columns[first..].iter();
            let drawn: Vec<_> = columns.map_while(|column| *column).collect();
            for pair in drawn.windows(2) {
                // A sample at a border belongs to either column.
                let gap = (pair[0].last - pair[1].first).abs();
                prop_assert!(gap < 0.1, "{gap}");
            }
        }
    }
}

//! The waveform of one net, as a picture shows it: a range of voltages in each column.

use crate::waveform::{Column, Columns, Cubic};

/// The number of columns: one for each unit of the picture's width.
pub(super) const COLUMNS: usize = 960;

/// The waveform of one net.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) slot: usize,
    pub(super) name: String,
    pub(super) columns: Vec<Option<Column>>,
}

impl Trace {
    pub(super) fn follow(&mut self, piece: &Cubic, end: f64) {
        for (index, new) in (Columns { end, count: COLUMNS }).parts(piece) {
            let column = &mut self.columns[index];
            *column = Some(column.map_or(new, |old| old.and(new)));
        }
    }
}

//! What a picture can show of waveforms: the range of voltages in each of its columns.
//!
//! Plots in files (`output/plot`) and the pictures of a result (`drawing`) keep columns while a run
//! goes on, so they take no more memory for a longer run.

use serde::{Deserialize, Serialize};

use super::Cubic;

/// Units of time, and how many of them are in a second.
const UNITS: [(&str, f64); 6] =
    [("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9), ("ps", 1e12), ("fs", 1e15)];

/// The voltages of a net in one column: at its left and right border, and the extremes (V).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// At the left border.
    pub first: f64,
    /// The least one.
    pub low: f64,
    /// The greatest one.
    pub high: f64,
    /// At the right border.
    pub last: f64,
}

/// Columns of equal width, from time 0 on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Columns {
    /// The time at the right border of the last one (s).
    pub end: f64,
    /// How many there are.
    pub count: usize,
}

impl Column {
    /// This part of a column and the part to the right of it.
    #[must_use]
    pub const fn and(self, next: Self) -> Self {
        Self {
            first: self.first,
            low: self.low.min(next.low),
            high: self.high.max(next.high),
            last: next.last,
        }
    }

    /// The extremes beyond the voltages at both borders; the nearer one first, so that a line
    /// through them does not run back and forth.
    pub fn beyond(self) -> impl Iterator<Item = f64> {
        let Self { first, low, high, last } = self;
        let (near, far) = if last >= first { (low, high) } else { (high, low) };
        let is_beyond = move |volts: &f64| *volts < first.min(last) || *volts > first.max(last);
        [near, far].into_iter().filter(is_beyond)
    }
}

impl Columns {
    /// A unit in which the end is a number without many zeros, and how many of it are in a second.
    #[must_use]
    pub fn unit(self) -> (&'static str, f64) {
        *UNITS.iter().find(|(_, scale)| self.end * scale >= 1.0).unwrap_or(&UNITS[5])
    }

    /// The width of a column (s).
    #[must_use]
    pub fn width(self) -> f64 {
        self.end / self.count as f64
    }

    /// What each column has of a piece of a waveform, from the left.
    pub fn parts(self, piece: &Cubic) -> impl Iterator<Item = (usize, Column)> {
        let (piece, width) = (*piece, self.width());
        let index = move |time: f64| ((time / width) as usize).min(self.count - 1);
        let to = piece.to.min(self.end);
        let begin = index(piece.from);
        let end = if piece.from <= to { index(to) + 1 } else { begin };
        let mut turns = piece.turning_points().filter(move |point| point.0 < self.end);
        let turns = [turns.next(), turns.next()];
        let mut first = piece.first;
        (begin..end).map(move |column| {
            let border = (column + 1) as f64 * width;
            let last = piece.at(if column + 1 == end { to } else { border.min(to) });
            let here = Column { first, low: first.min(last), high: first.max(last), last };
            first = last;
            let turns = turns.into_iter().flatten().filter(|point| index(point.0) == column);
            let here = turns.fold(here, |here, (_, volts)| Column {
                low: here.low.min(volts),
                high: here.high.max(volts),
                ..here
            });
            (column, here)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::circuit::{NetId, Sample};

    const COLUMNS: Columns = Columns { end: 3.0, count: 960 };

    proptest! {
        /// Every voltage of the waveform is within the range of its column, and columns are joined.
        #[test]
        fn columns_hold_the_waveform(
            steps in vec((0.0..0.2, 0.0..3.0, -9.0..9.0), 2..40),
            parts in vec(0.0..1.0, 50),
        ) {
            let mut columns = vec![None; COLUMNS.count];
            let mut time = 0.0;
            let samples = steps.iter().map(|&(step, value, slope)| {
                time += step;
                Sample { time, net: NetId(1), value, slope }
            }).collect::<Vec<_>>();
            for pair in samples.windows(2) {
                let piece = Cubic::between(&pair[0], &pair[1]);
                for (index, new) in COLUMNS.parts(&piece) {
                    let column: &mut Option<Column> = &mut columns[index];
                    *column = Some(column.map_or(new, |old| old.and(new)));
                }
                for part in &parts {
                    let time = piece.from + part * (piece.to - piece.from);
                    let index = (time / COLUMNS.width()) as usize;
                    let Some(column) = columns.get(index) else { continue };
                    let (value, column) = (piece.at(time), column.expect("it was there"));
                    prop_assert!((column.low - 1e-3..=column.high + 1e-3).contains(&value));
                }
            }
            let first = (samples[0].time / COLUMNS.width()) as usize;
            let drawn: Vec<_> = columns[first..].iter().map_while(|column| *column).collect();
            for pair in drawn.windows(2) {
                // A sample at a border belongs to either column.
                let gap = (pair[0].last - pair[1].first).abs();
                prop_assert!(gap < 0.1, "{gap}");
            }
        }
    }

    /// Of a spike within a column, the line through it shows the top. Mutation, seen red: the
    /// farther extreme is left out.
    #[test]
    fn extremes_are_on_the_way() {
        let column = Column { first: 0.0, low: -1.0, high: 3.0, last: 0.5 };
        assert_eq!(column.beyond().collect::<Vec<_>>(), [-1.0, 3.0]);
        let falling = Column { first: 3.0, last: 0.0, ..column };
        assert_eq!(falling.beyond().collect::<Vec<_>>(), [-1.0]);
    }
}

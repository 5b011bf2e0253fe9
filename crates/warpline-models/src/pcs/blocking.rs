//! Where calls are blocked, as a picture of the cells.
//!
//! Made by the model from what the cells have counted.

use warpline::picture::{Picture, Shape};

use super::Grid;

/// The most squares of the picture in a row or a column; of larger networks a square has several
/// cells.
const SQUARES_MAX: u32 = 64;

/// The calls of the cells, and how many of them found no free channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blocking {
    /// How many cells a row has.
    width: u32,
    /// How many cells a square is wide and high.
    side: u32,
    /// By square: calls, and those of them that were blocked.
    squares: Vec<(u64, u64)>,
}

impl Blocking {
    pub(super) fn new(cells: Grid) -> Self {
        let side = cells.width().max(cells.height()).div_ceil(SQUARES_MAX);
        let squares = cells.width().div_ceil(side) * cells.height().div_ceil(side);
        Self { width: cells.width(), side, squares: vec![(0, 0); squares as usize] }
    }

    pub(super) fn add(&mut self, cell: usize, calls: u64, blocked: u64) {
        let (width, side) = (self.width as usize, self.side as usize);
        let (column, row) = (cell % width / side, cell / width / side);
        let (all, lost) = &mut self.squares[row * width.div_ceil(side) + column];
        *all += calls;
        *lost += blocked;
    }

    /// The probability that a call of a square's cells is blocked.
    pub(super) fn picture(&self) -> Picture {
        let meaning = match self.side {
            1 => "Calls that found no free channel, by calls, in each cell.".into(),
            side => format!("Calls that found no free channel, by calls; {side} by {side} cells.")
                .into(),
        };
        let probability = |&(calls, blocked): &(u64, u64)| blocked as f64 / calls as f64;
        Picture {
            title: "Blocking by cell".into(),
            meaning,
            unit: "".into(),
            shape: Shape::Grid {
                columns: self.width.div_ceil(self.side.max(1)) as usize,
                values: self.squares.iter().map(probability).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each cell is in one square, and no square has cells of two rows' ends.
    #[test]
    fn squares_cover_the_cells() {
        for (width, height) in [(1, 1), (64, 32), (65, 3), (130, 200), (7, 1000)] {
            let cells = Grid::new(width, height).expect("a grid");
            let mut blocking = Blocking::new(cells);
            for cell in 0..cells.cells() {
                // A call is blocked in the first column only.
                let blocked = u64::from((cell as u32).is_multiple_of(width));
                blocking.add(cell, 1, blocked);
            }
            let Shape::Grid { columns, values } = blocking.picture().shape else {
                panic!("not a grid")
            };
            assert!(columns <= 64 && values.len() / columns <= 64, "{width}x{height}");
            let calls: u64 = blocking.squares.iter().map(|(calls, _)| calls).sum();
            assert_eq!(calls, cells.cells() as u64);
            for (square, value) in values.iter().enumerate() {
                let expected = if square % columns == 0 {
                    1.0 / f64::from(blocking.side.min(width))
                } else {
                    0.0
                };
                assert_eq!(*value, expected, "square {square} of {width}x{height}");
            }
        }
    }
}

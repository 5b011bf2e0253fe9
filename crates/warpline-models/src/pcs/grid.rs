//! The grid of cells of a wireless network, and which cells are neighbors.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use warpline::{ConfigError, LpId};

const ALLOWED: &str = "WIDTHxHEIGHT, such as 64x32, each 1 or more and less than 2^32 cells in all";

/// The size of a rectangular grid; written `64x32`, here and in configuration files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Grid {
    width: u32,
    height: u32,
}

/// What lies beyond the border of the grid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(clap::ValueEnum)]
pub enum Topology {
    /// The opposite border: each cell has four neighbors
    #[default]
    Torus,
    /// Nothing: a cell at the border has fewer neighbors
    Bounded,
}

/// The neighbors of a cell. In a small torus a cell may be its own neighbor, or that of another
/// cell twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbors {
    cells: [LpId; 4],
    count: usize,
}

impl Grid {
    /// A grid of `width` by `height` cells.
    ///
    /// # Errors
    ///
    /// When it has no cells, or 2^32 or more of them.
    pub fn new(width: u32, height: u32) -> Result<Self, ConfigError> {
        let cells = width.checked_mul(height).unwrap_or(0);
        ConfigError::check(cells > 0, "cells", format!("{width}x{height}"), ALLOWED)?;
        Ok(Self { width, height })
    }

    pub(super) const fn width(self) -> u32 {
        self.width
    }

    pub(super) const fn height(self) -> u32 {
        self.height
    }

    /// The number of cells.
    #[must_use]
    pub const fn cells(self) -> usize {
        self.width as usize * self.height as usize
    }

    /// The neighbors of a cell that exist, in the order west, east, north, south.
    pub(super) fn neighbors(self, cell: LpId, topology: Topology) -> Neighbors {
        let Self { width, height } = self;
        let (x, y) = (cell.get() % width, cell.get() / width);
        let mut neighbors = Neighbors { cells: [cell; 4], count: 0 };
        let mut add = |exists: bool, x: u32, y: u32| {
            if exists || topology == Topology::Torus {
                neighbors.cells[neighbors.count] = LpId::new(y * width + x);
                neighbors.count += 1;
            }
        };
        add(x > 0, x.checked_sub(1).unwrap_or(width - 1), y);
        add(x + 1 < width, if x + 1 < width { x + 1 } else { 0 }, y);
        add(y > 0, x, y.checked_sub(1).unwrap_or(height - 1));
        add(y + 1 < height, x, if y + 1 < height { y + 1 } else { 0 });
        neighbors
    }
}

impl Neighbors {
    pub(super) fn as_slice(&self) -> &[LpId] {
        &self.cells[..self.count]
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.width, self.height)
    }
}

impl FromStr for Grid {
    type Err = ConfigError;

    fn from_str(size: &str) -> Result<Self, ConfigError> {
        let refusal = || ConfigError::new("cells", size, ALLOWED);
        let (width, height) = size.split_once('x').ok_or_else(refusal)?;
        let side = |digits: &str| digits.parse().map_err(|_| refusal());
        Self::new(side(width)?, side(height)?)
    }
}

impl TryFrom<String> for Grid {
    type Error = ConfigError;

    fn try_from(size: String) -> Result<Self, ConfigError> {
        size.parse()
    }
}

impl From<Grid> for String {
    fn from(grid: Grid) -> Self {
        grid.to_string()
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Torus => "torus",
            Self::Bounded => "bounded",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbors(size: &str, cell: u32, topology: Topology) -> Vec<u32> {
        let grid: Grid = size.parse().expect("a grid");
        let neighbors = grid.neighbors(LpId::new(cell), topology);
        neighbors.as_slice().iter().map(|cell| cell.get()).collect()
    }

    /// By hand, on `0 1 2 / 3 4 5 / 6 7 8` and on small grids.
    #[test]
    fn neighbors_by_hand() {
        use Topology::{Bounded, Torus};
        assert_eq!(neighbors("3x3", 4, Torus), [3, 5, 1, 7]);
        assert_eq!(neighbors("3x3", 4, Bounded), [3, 5, 1, 7]);
        assert_eq!(neighbors("3x3", 0, Torus), [2, 1, 6, 3]);
        assert_eq!(neighbors("3x3", 0, Bounded), [1, 3]);
        assert_eq!(neighbors("3x3", 8, Torus), [7, 6, 5, 2]);
        assert_eq!(neighbors("3x3", 8, Bounded), [7, 5]);
        assert_eq!(neighbors("3x2", 4, Torus), [3, 5, 1, 1]);
        assert_eq!(neighbors("4x1", 3, Torus), [2, 0, 3, 3]);
        assert_eq!(neighbors("4x1", 3, Bounded), [2]);
        assert_eq!(neighbors("1x1", 0, Torus), [0; 4]);
        assert!(neighbors("1x1", 0, Bounded).is_empty());
    }

    #[test]
    fn sizes_are_read_and_written() {
        for size in ["64x32", "1x1", "4294967295x1"] {
            assert_eq!(size.parse::<Grid>().map(|grid| grid.to_string()), Ok(size.to_owned()));
        }
        for bad in ["", "64", "x", "64x", "0x5", "5x0", "-1x2", "1.5x2", "3x3x3", "65536x65536"] {
            let error = bad.parse::<Grid>().expect_err(bad);
            assert_eq!((error.key.as_str(), error.value.as_str()), ("cells", bad));
        }
    }
}
